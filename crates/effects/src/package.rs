//! The files of a package.
//!
//! Must not know tools, processes or where packages come from.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use charter_contract::bounds::{PACKAGE_BYTES, PACKAGE_FILES};
use charter_contract::hex;
use sha2::{Digest, Sha256};

/// The files of one package version, by relative path, and their digest: texts, and PDFs in base64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageFiles {
    files: BTreeMap<String, String>,
    digest: String,
}

/// Why files cannot be a package.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackageError {
    /// A path is absolute, empty, or climbs out of the package.
    #[error("the package file path {path:?} is not a plain relative path")]
    Path {
        /// The path as given.
        path: String,
    },
    /// Too many files.
    #[error("the package has {count} files, more than {PACKAGE_FILES} (PACKAGE_FILES)")]
    TooManyFiles {
        /// The number of files.
        count: usize,
    },
    /// Too much text.
    #[error("the package files have {bytes} bytes, more than {PACKAGE_BYTES} (PACKAGE_BYTES)")]
    TooLarge {
        /// The number of bytes.
        bytes: usize,
    },
}

impl PackageFiles {
    /// Takes files by path relative to the package's root, such as
    /// `scripts/list_groups.py`.
    ///
    /// # Errors
    /// A path that is not plain and relative, or more files or bytes than
    /// [`PACKAGE_FILES`] and [`PACKAGE_BYTES`].
    pub fn new(files: BTreeMap<String, String>) -> Result<Self, PackageError> {
        if files.len() > PACKAGE_FILES {
            return Err(PackageError::TooManyFiles { count: files.len() });
        }
        let bytes = files
            .iter()
            .map(|(path, text)| path.len() + text.len())
            .sum();
        if bytes > PACKAGE_BYTES {
            return Err(PackageError::TooLarge { bytes });
        }
        for path in files.keys() {
            if !is_plain(path) {
                return Err(PackageError::Path { path: path.clone() });
            }
        }
        let digest = digest(&files);
        Ok(Self { files, digest })
    }

    /// SHA-256 over every path and text, in hexadecimal.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Every file by its path.
    #[must_use]
    pub fn files(&self) -> &BTreeMap<String, String> {
        &self.files
    }

    /// The text of one file.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }
}

impl Default for PackageFiles {
    /// No files.
    fn default() -> Self {
        let files = BTreeMap::new();
        Self {
            digest: digest(&files),
            files,
        }
    }
}

fn is_plain(path: &str) -> bool {
    !path.is_empty()
        && !path.contains('\0')
        && !path.ends_with('/')
        && Path::new(path)
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
}

fn digest(files: &BTreeMap<String, String>) -> String {
    let mut hash = Sha256::new();
    for (path, text) in files {
        for part in [path, text] {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(part.as_bytes());
        }
    }
    hex::encode(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(entries: &[(&str, &str)]) -> Result<PackageFiles, PackageError> {
        PackageFiles::new(
            entries
                .iter()
                .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
                .collect(),
        )
    }

    #[test]
    fn a_path_outside_the_package_is_refused() {
        for path in ["../x", "/etc/passwd", "a/../../b", "", "a/", "./a", "a\0b"] {
            assert_eq!(
                files(&[(path, "")]),
                Err(PackageError::Path { path: path.into() }),
                "{path:?}"
            );
        }
    }

    #[test]
    fn the_digest_separates_paths_from_contents() {
        let one = files(&[("ab", "c")]).unwrap();
        let other = files(&[("a", "bc")]).unwrap();
        assert_ne!(one.digest(), other.digest());
    }
}
