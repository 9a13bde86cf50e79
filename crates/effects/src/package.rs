//! The files of a package, and their copy on disk for scripts.
//!
//! Must not know tools, processes or where packages come from.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use charter_contract::bounds::{PACKAGE_BYTES, PACKAGE_FILES};
use charter_contract::hex;
use charter_contract::package_file::bytes_of;
use sha2::{Digest, Sha256};

use crate::rubbish::{self, TrashFolder};

/// Number of packages that stay on disk across restarts.
const MAX_KEPT_PACKAGES: usize = 512;

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

/// Packages on disk, one folder per digest, written once and then only read.
#[derive(Debug)]
pub(crate) struct PackageStore {
    root: PathBuf,
    present: Mutex<HashSet<String>>,
    rubbish: Arc<TrashFolder>,
}

impl PackageStore {
    /// Opens `root`, creating it, and deletes the least recently used packages.
    pub(crate) fn open(root: PathBuf, rubbish: Arc<TrashFolder>) -> io::Result<Self> {
        rubbish::create_private(&root)?;
        for folder in longest_unused(&root)? {
            rubbish.discard(&folder);
        }
        Ok(Self {
            root,
            present: Mutex::new(HashSet::new()),
            rubbish,
        })
    }

    /// Returns the folder that holds `files`, and writes it first if it is absent.
    ///
    /// Atomic: a folder under its final name is complete, even when several calls write it.
    pub(crate) fn materialise(&self, files: &PackageFiles) -> io::Result<PathBuf> {
        let folder = self.root.join(&files.digest);
        if self.lock().contains(&files.digest) {
            return Ok(folder);
        }
        if !folder.is_dir() {
            self.write(files, &folder)?;
        }
        // The modification time is the time of last use, for `longest_unused`.
        fs::File::open(&folder)?.set_modified(SystemTime::now())?;
        self.lock().insert(files.digest.clone());
        Ok(folder)
    }

    fn write(&self, files: &PackageFiles, folder: &Path) -> io::Result<()> {
        let staging = self.rubbish.folder_in(&self.root, ".staging-")?;
        fs::create_dir_all(staging.path().join("scripts"))?;
        for (path, content) in &files.files {
            let file = staging.path().join(path);
            if let Some(parent) = file.parent() {
                fs::create_dir_all(parent)?;
            }
            let bytes = bytes_of(path, content);
            let bytes =
                bytes.map_err(|malformed| io::Error::other(format!("{path}: {malformed}")))?;
            fs::write(file, bytes)?;
        }
        match fs::rename(staging.path(), folder) {
            // A concurrent call was faster; its copy is identical.
            Err(_) if folder.is_dir() => Ok(()),
            renamed => renamed,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the packages beyond the retained number, the least recently used.
fn longest_unused(root: &Path) -> io::Result<impl Iterator<Item = PathBuf>> {
    let mut kept = Vec::new();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        kept.push((entry.metadata()?.modified()?, entry.path()));
    }
    kept.sort();
    let excess = kept.len().saturating_sub(MAX_KEPT_PACKAGES);
    Ok(kept.into_iter().take(excess).map(|(_, folder)| folder))
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

    #[test]
    fn a_package_is_written_once_and_read_back_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let rubbish = Arc::new(TrashFolder::new(dir.path().join("rubbish")).unwrap());
        let open =
            || PackageStore::open(dir.path().join("packages"), Arc::clone(&rubbish)).unwrap();
        let store = open();
        let package = files(&[
            ("scripts/a.py", "x\n'\"é"),
            ("data/b.txt", "b"),
            ("docs/c.pdf", "JVBERi3/"),
        ])
        .unwrap();
        let folder = store.materialise(&package).unwrap();
        assert_eq!(fs::read(folder.join("docs/c.pdf")).unwrap(), b"%PDF-\xff");
        assert_eq!(
            fs::read_to_string(folder.join("scripts/a.py")).unwrap(),
            "x\n'\"é"
        );
        fs::write(folder.join("data/b.txt"), "kept").unwrap();
        let again = open();
        assert_eq!(again.materialise(&package).unwrap(), folder);
        assert_eq!(
            fs::read_to_string(folder.join("data/b.txt")).unwrap(),
            "kept"
        );
        assert_eq!(
            fs::read_dir(dir.path().join("packages")).unwrap().count(),
            1
        );
    }
}
