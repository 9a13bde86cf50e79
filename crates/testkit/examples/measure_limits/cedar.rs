//! Measures the stack that the deepest policies use: each is registered, evaluated and explained on a thread with a
//! stack so large that none is added, and the touched pages of the stack are counted.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::thread;

use charter_contract::bounds::{CEDAR_LEVELS, CEDAR_OPERATORS};
use charter_testkit::fuzz_targets::{FuzzTarget, Verdict};
use charter_testkit::measured::Cost;

use super::{Failure, head, kibibytes, milliseconds, most, row};

/// Stack of a measured thread, in bytes: 64 MiB. The server adds 16 MiB to threads with less than that left.
const STACK: usize = 64 << 20;

/// Size of a memory page, in bytes.
const PAGE: usize = 4 << 10;

/// Entry size, in bytes, and the bit that marks a page as present in memory (`/proc/self/pagemap`).
const ENTRY: usize = 8;
const PRESENT: u64 = 1 << 63;

/// Builds a condition with the given nesting.
type Deep = fn(usize) -> String;

/// The ways in which rules can nest.
const DEEP: [(&str, Deep); 10] = [
    ("brackets", |n| nested("(", n, "true", ")")),
    ("if", |n| nested("if ", n, "true", " then true else true")),
    ("else if", |n| "if true then true else ".repeat(n) + "true"),
    ("sets", |n| {
        let set = nested("[", n, "1", "]");
        format!("{set} == {set}")
    }),
    ("records", |n| {
        let record = nested("{a: ", n, "1", "}");
        format!("{record} == {record}")
    }),
    ("calls", |n| nested("[true].contains(", n, "true", ")")),
    ("&&", |n| "true && ".repeat(n) + "true"),
    ("+", |n| format!("{}1 == {}", "1 + ".repeat(n), n + 1)),
    ("not", |n| nested("!(", n, "true", ")")),
    ("conditions", |n| "true } when { ".repeat(n) + "true"),
];

fn nested(open: &str, levels: usize, within: &str, close: &str) -> String {
    open.repeat(levels) + within + &close.repeat(levels)
}

pub(super) fn measure() -> Result<(), Failure> {
    let target = FuzzTarget::find("cedar").ok_or("there is no target `cedar`")?;
    let title = format!("The stack of policies at CEDAR_LEVELS = {CEDAR_LEVELS}");
    head(&title, &["Rule", "Nesting", "Stack", "Time", "Memory"]);
    for (name, deep) in DEEP {
        let rule = |levels: usize| {
            let condition = deep(levels);
            format!("@id(\"a\") permit (principal, action, resource) when {{ {condition} }};")
        };
        let measured = |levels: usize| touched_by(target, &rule(levels));
        // Rules that Cedar parses without nesting are limited by their operators.
        let levels = most(CEDAR_OPERATORS, |levels| {
            measured(levels).is_ok_and(|measured| measured.is_some())
        });
        let Some(Measured { stack, cost }) = measured(levels)? else {
            row(&[name.to_owned(), "refused".to_owned()]);
            continue;
        };
        row(&[
            name.to_owned(),
            levels.to_string(),
            kibibytes(stack),
            milliseconds(cost.time),
            kibibytes(cost.heap),
        ]);
    }
    Ok(())
}

struct Measured {
    /// Bytes of the stack that were touched.
    stack: usize,
    cost: Cost,
}

/// Returns the cost of an accepted policy; `None` for a refused one.
fn touched_by(target: &FuzzTarget, text: &str) -> Result<Option<Measured>, Failure> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK);
        let measuring = thread.spawn_scoped(scope, || -> Result<Option<Measured>, Failure> {
            let trial = target.try_input(text.as_bytes());
            if trial.verdict == Verdict::Refused {
                return Ok(None);
            }
            let stack = touched()?;
            Ok(Some(Measured {
                stack,
                cost: trial.cost,
            }))
        })?;
        let measured = measuring.join();
        measured.map_err(|_| Failure::from("a measured thread panicked"))?
    })
}

/// Returns the bytes between this position in the thread's stack and the deepest touched page. A stack this large is
/// new memory in each thread.
fn touched() -> Result<usize, Failure> {
    let here = 0_u8;
    let mut page = std::ptr::from_ref(&here).addr() / PAGE;
    let pages = File::open("/proc/self/pagemap")?;
    let mut count = 0;
    loop {
        let mut entry = [0; ENTRY];
        pages.read_exact_at(&mut entry, u64::try_from(page * ENTRY)?)?;
        if u64::from_ne_bytes(entry) & PRESENT == 0 {
            return Ok(count * PAGE);
        }
        count += 1;
        page -= 1;
    }
}
