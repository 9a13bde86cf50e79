//! Imports again into files that people may have edited: compares what was made last time, what is there now, and what
//! is made now. An edited file stays as it is.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::hex;
use charter_contract::json::{Profile, decode_text};
use charter_contract::text::Version;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::package::MANIFEST;

/// The record of an import in its package.
pub const RECORD: &str = "docs/import.json";

/// The files that an import made last, with their digests.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ImportRecord {
    /// The document that was imported.
    pub source: String,
    /// Digests of the files as they were made, by path.
    pub files: BTreeMap<String, String>,
}

/// The difference of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    /// The file is new.
    Added,
    /// The file is replaced.
    Changed,
    /// The file is removed, because nothing makes it any more.
    Removed,
    /// The file was edited and stays; what is made now is what was made last time.
    KeptEdited,
    /// The file was edited and stays, although something else would be made now.
    KeptOutdated,
    /// The file was removed by a person and stays removed.
    KeptRemoved,
}

/// The result of importing again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// Changes by path; files that stay and were not edited are left out.
    pub changes: BTreeMap<String, FileChange>,
    /// Files to write, by path.
    pub write: BTreeMap<String, String>,
    /// Files to remove.
    pub remove: BTreeSet<String>,
}

impl Merged {
    /// Returns whether a change is written.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        !self.write.is_empty() || !self.remove.is_empty()
    }
}

/// Merges the files of a package. A changed package gets the next version, because the content of a version is fixed.
#[must_use]
pub fn merge(
    source: &str,
    current: &BTreeMap<String, String>,
    made: &BTreeMap<String, String>,
) -> Merged {
    let last = current
        .get(RECORD)
        .map(String::as_str)
        .and_then(read_record);
    let last = last.unwrap_or_default();
    let mut merged = Merged {
        changes: BTreeMap::new(),
        write: BTreeMap::new(),
        remove: BTreeSet::new(),
    };
    let paths: BTreeSet<&String> = made.keys().chain(last.files.keys()).collect();
    for path in paths.into_iter().filter(|path| path.as_str() != MANIFEST) {
        let change = change(
            last.files.get(path).map(String::as_str),
            current.get(path).map(String::as_str),
            made.get(path).map(String::as_str),
        );
        let Some(change) = change else { continue };
        merged.changes.insert(path.clone(), change);
        match (change, made.get(path)) {
            (FileChange::Added | FileChange::Changed, Some(text)) => {
                merged.write.insert(path.clone(), text.clone());
            }
            (FileChange::Removed, _) => {
                merged.remove.insert(path.clone());
            }
            (
                FileChange::Added
                | FileChange::Changed
                | FileChange::KeptEdited
                | FileChange::KeptOutdated
                | FileChange::KeptRemoved,
                _,
            ) => {}
        }
    }
    merge_manifest(current, made, &mut merged);
    let digests = made.iter().filter(|(path, _)| path.as_str() != MANIFEST);
    let record = ImportRecord {
        source: source.to_owned(),
        files: digests
            .map(|(path, text)| (path.clone(), digest(text)))
            .collect(),
    };
    if merged.is_changed() || record != last {
        let text = serde_json::to_string_pretty(&record).unwrap_or_default();
        merged.write.insert(RECORD.to_owned(), text + "\n");
    }
    merged
}

fn read_record(text: &str) -> Option<ImportRecord> {
    decode_text(text, Profile::FILE).ok()
}

/// Returns the difference of a file: `last` is the digest of what was made last time.
fn change(last: Option<&str>, current: Option<&str>, made: Option<&str>) -> Option<FileChange> {
    match (last, current, made) {
        (None, None, Some(_)) => Some(FileChange::Added),
        (Some(_), None, Some(_)) => Some(FileChange::KeptRemoved),
        (_, Some(current), Some(made)) if current == made => None,
        (Some(last), Some(current), Some(made)) => Some(if digest(current) == last {
            FileChange::Changed
        } else if digest(made) == last {
            FileChange::KeptEdited
        } else {
            FileChange::KeptOutdated
        }),
        // A person's own file with the name of one that would be made.
        (None, Some(_), Some(_)) => Some(FileChange::KeptOutdated),
        (Some(last), Some(current), None) => Some(if digest(current) == last {
            FileChange::Removed
        } else {
            FileChange::KeptOutdated
        }),
        (_, None, None) | (None, Some(_), None) => None,
    }
}

/// The manifest is written once. Then only its version changes.
fn merge_manifest(
    current: &BTreeMap<String, String>,
    made: &BTreeMap<String, String>,
    merged: &mut Merged,
) {
    let (Some(current), is_changed) = (current.get(MANIFEST), merged.is_changed()) else {
        if let Some(made) = made.get(MANIFEST) {
            merged
                .changes
                .insert(MANIFEST.to_owned(), FileChange::Added);
            merged.write.insert(MANIFEST.to_owned(), made.clone());
        }
        return;
    };
    if is_changed && let Some(text) = with_next_version(current) {
        merged
            .changes
            .insert(MANIFEST.to_owned(), FileChange::Changed);
        merged.write.insert(MANIFEST.to_owned(), text);
    }
}

/// Returns a manifest with the next version in its line `version: …`.
fn with_next_version(manifest: &str) -> Option<String> {
    let line = manifest.lines().find(|line| line.starts_with("version:"))?;
    let written = line.strip_prefix("version:")?;
    let written = written.split('#').next().unwrap_or_default().trim();
    let version = Version::parse(written.trim_matches(['"', '\''])).ok()?;
    let (major, minor, patch) = version.numbers();
    let next = format!("version: {major}.{minor}.{}", patch.saturating_add(1));
    Some(manifest.replacen(line, &next, 1))
}

fn digest(text: &str) -> String {
    format!("sha256:{}", hex::encode(&Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::FIRST_VERSION;

    fn files(files: &[(&str, &str)]) -> BTreeMap<String, String> {
        let files = files.iter();
        files
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect()
    }

    fn manifest() -> String {
        format!("name: pets\nversion: {FIRST_VERSION}\n")
    }

    /// The files after a merge.
    fn applied(current: &BTreeMap<String, String>, merged: &Merged) -> BTreeMap<String, String> {
        let mut files = current.clone();
        files.retain(|path, _| !merged.remove.contains(path));
        files.extend(merged.write.clone());
        files
    }

    #[test]
    fn the_first_import_adds_every_file_and_the_second_nothing() {
        let made = files(&[(MANIFEST, &manifest()), ("tools/a.yaml", "a: 1\n")]);
        let first = merge("a.yaml", &BTreeMap::new(), &made);
        assert_eq!(
            first.changes,
            [
                (MANIFEST.to_owned(), FileChange::Added),
                ("tools/a.yaml".to_owned(), FileChange::Added)
            ]
            .into()
        );
        let current = applied(&BTreeMap::new(), &first);
        let second = merge("a.yaml", &current, &made);
        assert!(!second.is_changed(), "{second:?}");
        assert_eq!(second.changes, BTreeMap::new());
    }

    #[test]
    fn edits_are_kept_and_everything_else_follows_the_document() {
        let made = files(&[
            (MANIFEST, &manifest()),
            ("a", "1"),
            ("b", "1"),
            ("c", "1"),
            ("d", "1"),
            ("e", "1"),
            ("f", "1"),
        ]);
        let mut current = applied(&BTreeMap::new(), &merge("x", &BTreeMap::new(), &made));
        for edited in ["c", "d", "f"] {
            current.insert(edited.to_owned(), "edited".to_owned());
        }
        current.remove("e");
        current.insert("own".to_owned(), "mine".to_owned());
        // `a` changes, `b` is no longer made, `c` stays, `d` changes, `e` stays, `f` is no longer made, `g` and `own`
        // are new.
        let made = files(&[
            (MANIFEST, &manifest()),
            ("a", "2"),
            ("c", "1"),
            ("d", "2"),
            ("e", "1"),
            ("g", "1"),
            ("own", "made"),
        ]);
        let merged = merge("x", &current, &made);
        let changes: Vec<(&str, FileChange)> = merged
            .changes
            .iter()
            .map(|(path, change)| (path.as_str(), *change))
            .collect();
        assert_eq!(
            changes,
            [
                ("a", FileChange::Changed),
                ("b", FileChange::Removed),
                ("c", FileChange::KeptEdited),
                ("d", FileChange::KeptOutdated),
                ("e", FileChange::KeptRemoved),
                ("f", FileChange::KeptOutdated),
                ("g", FileChange::Added),
                ("own", FileChange::KeptOutdated),
                (MANIFEST, FileChange::Changed),
            ]
        );
        let after = applied(&current, &merged);
        assert_eq!(after[MANIFEST], "name: pets\nversion: 0.1.1\n");
        assert_eq!((after["a"].as_str(), after["d"].as_str()), ("2", "edited"));
        assert!(!after.contains_key("b") && !after.contains_key("e"));
        assert_eq!(after["own"], "mine");
        let again = merge("x", &after, &made);
        assert!(!again.is_changed(), "{again:?}");
    }

    #[test]
    fn a_manifest_without_a_plain_version_stays() {
        assert_eq!(with_next_version("name: a\n"), None);
        assert_eq!(
            with_next_version("version: '1.2.9' # by hand\nname: a\n").as_deref(),
            Some("version: 1.2.10\nname: a\n")
        );
    }
}
