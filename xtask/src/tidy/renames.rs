//! Names that were renamed before the first release do not come back: in code, schemas, clients and documents.
//!
//! `docs/dev/renames.toml` has the table. It marks the old names that have no other meaning as `unique`.

use std::fs;
use std::ops::Range;

use anyhow::{Context, bail};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::finding::Finding;
use crate::workspace::{TextFile, Workspace};

/// The table of renames.
const TABLE: &str = "docs/dev/renames.toml";

/// The OpenAPI document, which is generated: titles of Rust types become names of schemas.
const OPENAPI: &str = "schemas/openapi.json";

/// Files that may name what was renamed: the history, and this rule.
const EXEMPT: [&str; 2] = ["CHANGELOG.md", "xtask/src/tidy/renames.rs"];

/// A rename whose old name has no other meaning.
#[derive(Debug, PartialEq, Eq)]
struct Rename {
    old: String,
    new: String,
}

/// Old names in the repository's texts and in the OpenAPI document.
///
/// # Errors
/// When the table or the OpenAPI document cannot be read, or the table marks no name: the check would pass for nothing.
pub(crate) fn check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let read = |path: &str| {
        let text = fs::read_to_string(workspace.root.join(path));
        text.with_context(|| format!("reading {path}"))
    };
    let renames = unique(&read(TABLE)?)?;
    let openapi = TextFile {
        path: OPENAPI.to_owned(),
        text: read(OPENAPI)?,
    };
    let files = workspace.files.iter().chain([&openapi]);
    Ok(files.flat_map(|file| old_names(file, &renames)).collect())
}

/// The renames of the table that are marked as unique.
fn unique(table: &str) -> anyhow::Result<Vec<Rename>> {
    let parsed = DeTable::parse(table).context(TABLE)?.into_inner();
    let entries = parsed
        .get("rename")
        .and_then(|entries| entries.get_ref().as_array());
    let mut renames = Vec::new();
    for entry in entries.into_iter().flat_map(|entries| entries.iter()) {
        let entry = entry.get_ref();
        let text = |key: &str| {
            let value = entry.get(key).and_then(|value| value.get_ref().as_str());
            value.with_context(|| format!("{TABLE}: an entry without `{key}`"))
        };
        let (old, new) = (text("old")?, text("new")?);
        let unique = entry.get("unique").map(Spanned::get_ref);
        if unique.and_then(DeValue::as_bool) == Some(true) {
            renames.push(Rename {
                old: old.to_owned(),
                new: new.to_owned(),
            });
        }
    }
    if renames.is_empty() {
        bail!("{TABLE} marks no name as unique");
    }
    Ok(renames)
}

/// Each line of a file that has an old name.
fn old_names(file: &TextFile, renames: &[Rename]) -> Vec<Finding> {
    if EXEMPT.contains(&file.path.as_str()) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let present = renames
        .iter()
        .filter(|rename| file.text.contains(&rename.old));
    for Rename { old, new } in present {
        for (at, line) in file.text.lines().enumerate() {
            if has_word(line, old) {
                let message = format!("`{old}` was renamed to `{new}` ({TABLE})");
                findings.push(Finding::error(&file.path, at + 1, message));
            }
        }
    }
    findings
}

/// Whether a line has a name that is no part of a longer one.
fn has_word(line: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_whole = |Range { start, end }: Range<usize>| {
        !line[..start].ends_with(is_part) && !line[end..].starts_with(is_part)
    };
    let found = line.match_indices(name);
    found
        .map(|(start, _)| start..start + name.len())
        .any(is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RENAMES: &str = r#"
        [[rename]]
        kind = "field"
        old = "old_name"
        new = "new_name"
        unique = true

        [[rename]]
        kind = "field"
        old = "left"
        new = "remaining"
        in = ["crates/a/src/lib.rs"]
    "#;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let renames = unique(RENAMES).unwrap();
        let findings = old_names(&TextFile::new(path, text), &renames);
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn an_old_name_is_found_as_a_whole_word() {
        let text = "let old_name = 1;\nlet old_names = 2;\nlet an_old_name = 3;\n`old_name`\n";
        assert_eq!(lines("crates/a/src/lib.rs", text), [1, 4]);
        assert_eq!(lines("docs/a.md", "{\"old_name\": \"left\"}"), [1]);
        assert_eq!(lines("docs/a.md", "new_name, and what is left"), [0; 0]);
    }

    #[test]
    fn the_history_may_name_what_was_renamed() {
        assert_eq!(lines("CHANGELOG.md", "old_name"), [0; 0]);
    }

    #[test]
    fn a_table_without_unique_names_is_an_error() {
        assert!(unique("").is_err());
        let incomplete = "[[rename]]\nold = \"a\"\nunique = true\n";
        assert!(unique(incomplete).is_err());
    }
}
