//! The corpus of the fuzz targets: a folder below `fuzz/corpus` for each target. A file with the extension `.shape`
//! describes an input ([`expand`](crate::hostile::expand())); any other file is the input itself.
//!
//! Inputs that are packages combine all files in one text, each after a line with its path: `-- tools/list.yaml --`.

#![allow(
    clippy::panic,
    reason = "a corpus that cannot be read is a defect of the repository"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::hostile::expand;

/// File extension of descriptions.
const SHAPE: &str = ".shape";

/// One input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Name of the file.
    pub name: String,
    /// Input bytes.
    pub bytes: Vec<u8>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

/// Returns the names of the targets that have a folder, sorted.
///
/// # Panics
/// If the corpus cannot be read.
#[must_use]
pub fn targets() -> Vec<String> {
    names(&folder())
}

/// Returns the inputs of a target, by name.
///
/// # Panics
/// If an input cannot be read or has an invalid description.
#[must_use]
pub fn inputs(target: &str) -> Vec<Input> {
    let folder = folder().join(target);
    let read = |name: String| {
        let file = folder.join(&name);
        let bytes = fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let bytes = match name.ends_with(SHAPE) {
            true => expand(&String::from_utf8_lossy(&bytes))
                .unwrap_or_else(|error| panic!("{}: {error}", file.display())),
            false => bytes,
        };
        Input { name, bytes }
    };
    names(&folder).into_iter().map(read).collect()
}

/// Splits a text into the files of a package. Lines before the first path are ignored.
#[must_use]
pub fn package_files(text: &str) -> BTreeMap<String, String> {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let mut path = None;
    for line in text.split_inclusive('\n') {
        let marked = line.trim_end().strip_prefix("-- ");
        if let Some(next) = marked.and_then(|rest| rest.strip_suffix(" --")) {
            files.entry(next.to_owned()).or_default();
            path = Some(next.to_owned());
        } else if let Some(file) = path.as_ref().and_then(|path| files.get_mut(path)) {
            file.push_str(line);
        }
    }
    files
}

fn names(folder: &Path) -> Vec<String> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let name = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        entry.file_name().to_string_lossy().into_owned()
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_into_the_files_of_a_package() {
        let text = "for readers\n-- package.yaml --\nname: a\n\n-- b/c.yaml --\nd\n-- e --\n";
        let files = package_files(text);
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        assert_eq!(
            files,
            [
                ("b/c.yaml", "d\n"),
                ("e", ""),
                ("package.yaml", "name: a\n\n")
            ]
        );
    }
}
