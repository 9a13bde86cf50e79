//! The packages on disk that scripts run from.
//!
//! Must not know tools, processes or where packages come from.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use charter_contract::package_file::bytes_of;

use crate::package::PackageFiles;
use crate::rubbish::{self, TrashFolder};

/// Number of packages that stay on disk across restarts.
const MAX_KEPT_PACKAGES: usize = 512;

/// Packages on disk, one folder per digest, written once and then only read.
#[derive(Debug)]
pub(super) struct PackageStore {
    root: PathBuf,
    present: Mutex<HashSet<String>>,
    rubbish: Arc<TrashFolder>,
}

impl PackageStore {
    /// Opens `root`, creating it, and deletes the least recently used packages.
    pub(super) fn open(root: PathBuf, rubbish: Arc<TrashFolder>) -> io::Result<Self> {
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
    pub(super) fn materialise(&self, files: &PackageFiles) -> io::Result<PathBuf> {
        let folder = self.root.join(files.digest());
        if self.lock().contains(files.digest()) {
            return Ok(folder);
        }
        if !folder.is_dir() {
            self.write(files, &folder)?;
        }
        // The modification time is the time of last use, for `longest_unused`.
        fs::File::open(&folder)?.set_modified(SystemTime::now())?;
        self.lock().insert(files.digest().to_owned());
        Ok(folder)
    }

    fn write(&self, files: &PackageFiles, folder: &Path) -> io::Result<()> {
        let staging = self.rubbish.folder_in(&self.root, ".staging-")?;
        fs::create_dir_all(staging.path().join("scripts"))?;
        for (path, content) in files.files() {
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

    #[test]
    fn a_package_is_written_once_and_read_back_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let rubbish = Arc::new(TrashFolder::new(dir.path().join("rubbish")).unwrap());
        let open =
            || PackageStore::open(dir.path().join("packages"), Arc::clone(&rubbish)).unwrap();
        let store = open();
        let files = [
            ("scripts/a.py", "x\n'\"é"),
            ("data/b.txt", "b"),
            ("docs/c.pdf", "JVBERi3/"),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let package = PackageFiles::new(files.into()).unwrap();
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
