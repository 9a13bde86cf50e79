//! Checks sizes, module pages, names and markers of unfinished work in Rust files.
//!
//! clippy checks the length of functions (`too_many_lines` in `clippy.toml`).

use crate::finding::Finding;
use crate::workspace::TextFile;

/// Maximum number of lines in a file, except tests; a longer file must be split.
const MOST_LINES: usize = 700;

/// Number of lines above which a file should be reviewed.
const MANY_LINES: usize = 400;

/// Meaningless names.
const EMPTY_NAMES: [&str; 8] = [
    "manager", "managers", "helper", "helpers", "util", "utils", "common", "misc",
];

/// Keywords that introduce a name.
const INTRODUCTIONS: [&str; 6] = ["mod ", "fn ", "struct ", "enum ", "trait ", "type "];

/// Markers of unfinished work and of ignored tests.
const MARKS: [&str; 4] = ["todo!", "unimplemented!", "FIXME", "#[ignore"];

/// Exempt: an ignored test that another test starts as a process to kill.
const STARTED_BY: &str = "#[ignore = \"started by";

/// Returns the lines of a file with their numbers, up to its inline tests.
pub(crate) fn product_lines(file: &TextFile) -> impl Iterator<Item = (usize, &str)> {
    let lines: Vec<&str> = file.text.lines().collect();
    let tests = lines.windows(2).position(|pair| {
        let module = pair[1].starts_with("mod ") && pair[1].ends_with('{');
        pair[0] == "#[cfg(test)]" && module
    });
    let end = if is_test(&file.path) {
        0
    } else {
        tests.unwrap_or(lines.len())
    };
    lines
        .into_iter()
        .take(end)
        .enumerate()
        .map(|(at, line)| (at + 1, line))
}

/// Whether a file contains only tests.
pub(crate) fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// Checks size, module page and names.
pub(crate) fn check(file: &TextFile) -> Vec<Finding> {
    let mut findings = names(file);
    findings.extend(size(file));
    let own = file.path.contains("/src/") && !is_test(&file.path);
    if own && !file.text.starts_with("//!") {
        let message = "a file opens with `//!`: what it is for, and what it must not know";
        findings.push(Finding::error(&file.path, 1, message));
    }
    findings
}

fn size(file: &TextFile) -> Option<Finding> {
    let lines = product_lines(file).count();
    let message = format!("{lines} lines");
    if lines > MOST_LINES {
        let message = format!("{message}; the limit is {MOST_LINES}, tests apart");
        Some(Finding::error(&file.path, MOST_LINES + 1, message))
    } else if lines > MANY_LINES {
        let message = format!("{message}; aim at {MANY_LINES} at most, tests apart");
        Some(Finding::warning(&file.path, MANY_LINES + 1, message))
    } else {
        None
    }
}

fn names(file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let path = file.path.trim_end_matches(".rs").split('/');
    if let Some(name) = path.clone().find(|part| is_empty_name(part)) {
        let message = format!("`{name}` says nothing: name the file for what it holds");
        findings.push(Finding::error(&file.path, 1, message));
    }
    for (number, line) in file.text.lines().enumerate() {
        if let Some(name) = introduced_name(line).filter(|name| is_empty_name(name)) {
            let message = format!("`{name}` says nothing: name it for what it does");
            findings.push(Finding::error(&file.path, number + 1, message));
        }
    }
    findings
}

/// Returns the name that a line introduces, if any.
fn introduced_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let mut rest = line;
    loop {
        if let Some(name) = INTRODUCTIONS
            .iter()
            .find_map(|intro| rest.strip_prefix(intro))
        {
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
            return Some(&name[..end.unwrap_or(name.len())]);
        }
        let (word, after) = rest.split_once(' ')?;
        let modifier = word.starts_with("pub")
            || matches!(word, "async" | "const" | "unsafe" | "in" | "extern");
        if !modifier {
            return None;
        }
        rest = after;
    }
}

/// Whether a name is meaningless, or its last word is.
fn is_empty_name(name: &str) -> bool {
    let snake = name.rsplit('_').next().unwrap_or(name);
    let camel = name
        .rfind(char::is_uppercase)
        .map_or(name, |at| &name[at..]);
    let last = if name.contains(char::is_uppercase) {
        camel
    } else {
        snake
    };
    let last = last.to_lowercase();
    // `in_common` and a trait `Common` are meaningful; a file or function `common` is not.
    EMPTY_NAMES.contains(&last.as_str()) && (last != "common" || name == "common")
}

/// Reports markers of unfinished work and ignored tests.
pub(crate) fn check_markers(file: &TextFile) -> Vec<Finding> {
    let lines = file.text.lines().enumerate();
    lines
        .filter(|(_, line)| !line.contains(STARTED_BY))
        .filter_map(|(at, line)| {
            let mark = MARKS.iter().find(|mark| line.contains(**mark))?;
            let message = format!("`{mark}`: finish it, or leave it out");
            Some(Finding::error(&file.path, at + 1, message))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::FindingSeverity;

    fn sized(lines: usize, tests: usize) -> Option<(usize, FindingSeverity)> {
        let mut text = "//! x\n".repeat(lines);
        text.push_str("#[cfg(test)]\nmod tests {\n");
        text.push_str(&"x\n".repeat(tests));
        size(&TextFile::new("crates/x/src/a.rs", &text))
            .map(|finding| (finding.line, finding.severity))
    }

    #[test]
    fn a_long_file_is_found_and_its_tests_do_not_count() {
        assert_eq!(sized(400, 900), None);
        assert_eq!(sized(401, 0), Some((401, FindingSeverity::Warning)));
        assert_eq!(sized(701, 0), Some((701, FindingSeverity::Error)));
    }

    #[test]
    fn a_test_file_may_be_long_and_needs_no_page() {
        let text = "x\n".repeat(2_000);
        assert_eq!(check(&TextFile::new("crates/x/src/a/tests.rs", &text)), []);
        assert_eq!(check(&TextFile::new("crates/x/tests/a.rs", &text)), []);
    }

    #[test]
    fn a_file_without_a_page_is_found() {
        let found = |path: &str| check(&TextFile::new(path, "use a;\n")).len();
        assert_eq!(found("crates/x/src/a.rs"), 1);
        assert_eq!(found("crates/x/benches/a.rs"), 0);
    }

    #[test]
    fn meaningless_names_are_found() {
        let lines = |text: &str| -> Vec<usize> {
            let findings = names(&TextFile::new("crates/x/src/a.rs", text));
            findings.iter().map(|finding| finding.line).collect()
        };
        let text = "mod utils;\npub(crate) async fn common() {}\nfn in_common() {}\nstruct RunManager;\ntrait Common {}\nlet manager = 1;\nfn helper_text() {}\n    pub fn path_helper() {}\n";
        assert_eq!(lines(text), [1, 2, 4, 8]);
        assert_eq!(names(&TextFile::new("crates/x/src/utils.rs", "")).len(), 1);
        assert_eq!(
            names(&TextFile::new("crates/x/src/common/a.rs", "")).len(),
            1
        );
    }

    #[test]
    fn unfinished_work_is_found() {
        let text = "fn a() { todo!() }\n#[ignore]\n#[ignore = \"slow\"]\n#[ignore = \"started by b\"]\nfn b() {}\n";
        let found = check_markers(&TextFile::new("crates/x/src/a.rs", text));
        let lines: Vec<usize> = found.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [1, 2, 3]);
    }
}
