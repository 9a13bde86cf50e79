//! Measures the actual cost of limits that are estimates: time and memory of the largest expressions (`CEL_STEPS`),
//! stack of the deepest policies (`CEDAR_LEVELS`), and memory of JSON compared with its estimate. Prints tables in
//! Markdown.
//!
//! `cargo run --release -p charter-testkit --example measure_limits` measures everything; `cel`, `cedar` or `json`
//! after `--` measures that part. It takes some minutes, and needs an otherwise idle machine.

mod cedar;
mod cel;
mod json;

use std::error::Error;
use std::time::Duration;

use charter_testkit::measured::{CountingAllocator, is_counted};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Measures one part and prints its table.
type Measurement = fn() -> Result<(), Failure>;

/// The parts, by name.
const PARTS: [(&str, Measurement); 3] = [
    ("cel", cel::measure),
    ("cedar", cedar::measure),
    ("json", json::measure),
];

/// The reason why a part could not be measured.
type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    if !is_counted() {
        return Err("memory is not counted".into());
    }
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_known = |name: &String| PARTS.iter().any(|(part, _)| part == name);
    if let Some(unknown) = wanted.iter().find(|name| !is_known(name)) {
        return Err(format!("there is no part `{unknown}`: cel, cedar, json").into());
    }
    for (name, measure) in PARTS {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            measure()?;
        }
    }
    Ok(())
}

/// Prints the head of a table with names in the first column and numbers in the others.
fn head(title: &str, columns: &[&str]) {
    println!("\n## {title}\n\n| {} |", columns.join(" | "));
    println!("|---|{}", "--:|".repeat(columns.len().saturating_sub(1)));
}

/// Prints a row of a table.
fn row(cells: &[String]) {
    println!("| {} |", cells.join(" | "));
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
}

fn kibibytes(bytes: usize) -> String {
    format!("{} KiB", bytes.div_ceil(1 << 10))
}

/// Returns the largest number up to `limit` for which `is_so` holds for it and all smaller ones; 0 if it holds for
/// none.
fn most(limit: usize, is_so: impl Fn(usize) -> bool) -> usize {
    let mut beyond = 1;
    while beyond <= limit && is_so(beyond) {
        beyond *= 2;
    }
    let (mut fits, mut beyond) = (beyond / 2, beyond.min(limit + 1));
    while fits + 1 < beyond {
        let middle = fits.midpoint(beyond);
        if is_so(middle) {
            fits = middle;
        } else {
            beyond = middle;
        }
    }
    fits
}
