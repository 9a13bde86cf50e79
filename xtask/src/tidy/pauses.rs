//! Checks fixed pauses in test code. A test must wait for an event, or poll a condition until a deadline: a fixed
//! pause is too short on a busy machine and too long on any other.
//!
//! The check counts calls of `sleep` in files that contain only tests. It ignores tests inside product files, and
//! knows no other way to pause.

use super::rust_code::{blanked, tokens};
use super::sources::is_test;
use crate::finding::Finding;
use crate::workspace::TextFile;

/// Maximum number of pauses per file: between two polls of a condition, as part of the load, or in simulated time. The
/// numbers may only decrease.
const PAUSES: [(&str, usize); 13] = [
    ("crates/cli/tests/suite/chaos.rs", 9),
    ("crates/cli/tests/suite/home.rs", 1),
    ("crates/cli/tests/suite/replicas.rs", 2),
    ("crates/effects/src/mcp/tests.rs", 2),
    ("crates/effects/src/mcp/tests/linked.rs", 1),
    ("crates/effects/tests/it/processes.rs", 1),
    ("crates/effects/tests/stampede.rs", 1),
    ("crates/engine/src/engine/tests.rs", 1),
    ("crates/engine/src/execution/runs/tests/confined.rs", 1),
    ("crates/engine/src/execution/runs/tests/crash/play.rs", 1),
    ("crates/engine/src/missions/tests/proposals.rs", 1),
    ("crates/store-sql/tests/it/postgres/several.rs", 1),
    ("crates/store-sql/tests/it/postgres/standby.rs", 6),
];

/// File with the limits.
const BOUNDS: &str = "xtask/src/tidy/pauses.rs";

/// Functions that pause.
const SLEEPS: [&str; 2] = ["sleep", "sleep_until"];

/// Reports files whose number of pauses differs from their limit.
pub(crate) fn check<'f>(files: impl Iterator<Item = &'f TextFile>) -> Vec<Finding> {
    compare(files, &PAUSES)
}

fn compare<'f>(
    files: impl Iterator<Item = &'f TextFile>,
    bounds: &[(&str, usize)],
) -> Vec<Finding> {
    let mut left: Vec<(&str, usize)> = bounds.to_vec();
    let mut findings = Vec::new();
    for file in files.filter(|file| is_test(&file.path)) {
        let at = left.iter().position(|(path, _)| *path == file.path);
        let most = at.map_or(0, |at| left.swap_remove(at).1);
        let lines = pauses(&file.text);
        let count = lines.len();
        if count > most {
            let message = format!(
                "calls of `sleep`: {count}, allowed: {most}; wait for an event, or use `eventually`"
            );
            findings.push(Finding::error(&file.path, lines[count - 1], message));
        } else if count < most {
            findings.push(lower_bound(&file.path, most, count));
        }
    }
    findings.extend(left.iter().map(|(path, most)| lower_bound(path, *most, 0)));
    findings
}

fn lower_bound(path: &str, most: usize, count: usize) -> Finding {
    let message =
        format!("calls of `sleep` in {path}: {count}; lower its number in `PAUSES` from {most}");
    Finding::error(BOUNDS, 1, message)
}

/// Returns the lines with a pause.
fn pauses(text: &str) -> Vec<usize> {
    if SLEEPS.iter().all(|sleep| !text.contains(sleep)) {
        return Vec::new();
    }
    let code = blanked(text);
    let tokens = tokens(&code);
    let called = tokens.windows(3).filter(|three| {
        let own = matches!(three[0].text, "fn" | ".");
        !own && SLEEPS.contains(&three[1].text) && three[2].text == "("
    });
    let line = |at: usize| 1 + code[..at].matches('\n').count();
    called.map(|three| line(three[1].at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_a_call_of_sleep() {
        let text = "use std::thread::sleep;
            fn a() { sleep(A); std::thread::sleep(B) }
            // sleep(C)
            async fn b() { tokio::time::sleep(D).await; x.sleep(E); \"time.sleep(600)\" }
            fn sleep(f: F) {}
            fn c() { tokio::time::sleep_until(g); }";
        assert_eq!(pauses(text), [2, 2, 4, 6]);
    }

    #[test]
    fn each_file_of_tests_has_the_pauses_of_its_bound() {
        let pause = "fn a() {\n    sleep(A);\n}\n";
        let files = [
            TextFile::new("crates/x/src/a.rs", pause),
            TextFile::new("crates/x/src/a/tests.rs", pause),
            TextFile::new("crates/x/tests/it/as_bound.rs", pause),
            TextFile::new("crates/x/tests/it/below.rs", pause),
            TextFile::new("crates/x/tests/it/none.rs", ""),
        ];
        let bounds = [
            ("crates/x/tests/it/as_bound.rs", 1),
            ("crates/x/tests/it/below.rs", 2),
            ("crates/x/tests/it/none.rs", 1),
            ("crates/x/tests/it/gone.rs", 1),
        ];
        assert_eq!(
            compare(files.iter(), &bounds),
            [
                Finding::error(
                    "crates/x/src/a/tests.rs",
                    2,
                    "calls of `sleep`: 1, allowed: 0; wait for an event, or use `eventually`"
                ),
                Finding::error(
                    BOUNDS,
                    1,
                    "calls of `sleep` in crates/x/tests/it/below.rs: 1; lower its number in `PAUSES` from 2"
                ),
                Finding::error(
                    BOUNDS,
                    1,
                    "calls of `sleep` in crates/x/tests/it/none.rs: 0; lower its number in `PAUSES` from 1"
                ),
                Finding::error(
                    BOUNDS,
                    1,
                    "calls of `sleep` in crates/x/tests/it/gone.rs: 0; lower its number in `PAUSES` from 1"
                ),
            ]
        );
    }
}
