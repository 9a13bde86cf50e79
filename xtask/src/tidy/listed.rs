//! Lists of files that are exempt from a rule, without unnecessary entries.

use crate::finding::Finding;
use crate::workspace::TextFile;

/// The test kit, which is for tests only.
const TEST_KIT: &str = "crates/testkit/";

/// A rule with a list of exempt files.
pub(super) struct AllowList {
    /// Returns the lines of a file that break the rule.
    pub(super) lines: fn(&TextFile) -> Vec<usize>,
    /// Advice in a finding.
    pub(super) instead: &'static str,
    /// Message for a listed file that complies and need not be listed.
    pub(super) keeps: &'static str,
    /// File with the list.
    pub(super) list: &'static str,
}

impl AllowList {
    /// Reports lines that break the rule in unlisted files, and listed files that comply.
    pub(super) fn compare<'f>(
        &self,
        files: impl Iterator<Item = &'f TextFile>,
        allowed: &[(&str, &str)],
    ) -> Vec<Finding> {
        let mut unused: Vec<&str> = allowed.iter().map(|(path, _)| *path).collect();
        let mut findings = Vec::new();
        for file in files.filter(|file| is_looked_at(&file.path)) {
            let lines = (self.lines)(file);
            let listed = unused.iter().position(|path| *path == file.path);
            match listed {
                Some(at) if !lines.is_empty() => {
                    unused.swap_remove(at);
                }
                Some(_) | None => findings.extend(
                    lines
                        .into_iter()
                        .map(|line| Finding::error(&file.path, line, self.instead)),
                ),
            }
        }
        findings.extend(unused.into_iter().map(|path| {
            let message = format!("{path} {}: take it off `ALLOWED`", self.keeps);
            Finding::error(self.list, 1, message)
        }));
        findings
    }
}

fn is_looked_at(path: &str) -> bool {
    path.contains("/src/") && !path.starts_with(TEST_KIT)
}
