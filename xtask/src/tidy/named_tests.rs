//! Checks that tests named in documents as `server/src/limits.rs::a_test`, below `crates/`, exist.

use std::collections::{HashMap, HashSet};

use crate::finding::Finding;
use crate::workspace::TextFile;

/// The functions of each Rust file, by path below `crates/`.
#[derive(Debug)]
pub(crate) struct Functions<'w>(HashMap<&'w str, HashSet<&'w str>>);

impl<'w> Functions<'w> {
    pub(crate) fn new(files: impl Iterator<Item = &'w TextFile>) -> Self {
        let functions = files.filter_map(|file| {
            let path = file.path.strip_prefix("crates/")?;
            let names = file.text.lines().filter_map(function_name);
            Some((path, names.collect()))
        });
        Self(functions.collect())
    }

    fn contains(&self, path: &str, name: &str) -> bool {
        self.0.get(path).is_some_and(|names| names.contains(name))
    }

    /// Whether a function's name starts with `prefix`.
    pub(super) fn any_begins_with(&self, prefix: &str) -> bool {
        let mut names = self.0.values().flatten();
        names.any(|name| name.starts_with(prefix))
    }
}

/// Returns the name of the function that a line declares.
pub(super) fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_modifier = |word| {
        matches!(
            word,
            "pub" | "pub(crate)" | "pub(super)" | "async" | "const"
        )
    };
    if !before.split_whitespace().all(is_modifier) {
        return None;
    }
    after.split(['(', '<']).next()
}

/// Reports tests that a Markdown file names and that do not exist.
pub(crate) fn check(file: &TextFile, functions: &Functions<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, line) in file.text.lines().enumerate() {
        let code = line.split('`').skip(1).step_by(2);
        let named = code.filter_map(|code| code.split_once(".rs::"));
        for (path, name) in named {
            let path = format!("{path}.rs");
            if !functions.contains(&path, name) {
                let message = format!("`crates/{path}` has no function `{name}`");
                findings.push(Finding::error(&file.path, at + 1, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_is_named_has_to_exist_in_its_file() {
        let code = [
            TextFile::new(
                "crates/a/src/lib.rs",
                "    async fn it_works() {\n// fn not_this()\n",
            ),
            TextFile::new("crates/a/src/other.rs", "fn elsewhere() {}\n"),
        ];
        let functions = Functions::new(code.iter());
        let page = TextFile::new(
            "docs/a.md",
            "`a/src/lib.rs::it_works`\n`a/src/lib.rs::elsewhere`\n`a/src/lib.rs::not_this` `x::y`\n",
        );
        let lines: Vec<usize> = check(&page, &functions).iter().map(|f| f.line).collect();
        assert_eq!(lines, [2, 3]);
    }
}
