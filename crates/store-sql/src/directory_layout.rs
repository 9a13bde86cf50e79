//! The layout of a data directory: the names and formats of the files beside the database, which both engines use.
//!
//! The file `layout.json` has its number, and which builds may use the directory. A version that changes these files
//! raises the number, brings an older directory up to date in [`record`], and raises the oldest reader if earlier
//! versions could not use the result.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use charter_contract::json::decode_stored;
use charter_store::StoreError;

use crate::backup::during;
use crate::failure::with_path;
use crate::schema::StoreLayout;

const FILE: &str = "layout.json";

/// The layout of this build.
const NUMBER: u32 = 1;

/// The oldest layout whose builds may use a directory with the layout of this build.
const OLDEST_READER: u32 = 1;

/// The first version of Charter with this layout.
const CHARTER: &str = "0.1.0";

const READING: &str = "reading the layout of the data directory";
const WRITING: &str = "writing the layout of the data directory";

/// Refuses a directory that only newer builds may use; does not change it.
///
/// # Errors
/// [`StoreError::NewerSchema`]; [`StoreError::Corrupt`] when the file is damaged; [`StoreError::Engine`] when it cannot
/// be read.
pub(crate) fn check(dir: &Path) -> Result<(), StoreError> {
    match read(dir)? {
        Some(found) => found.must_open_in(NUMBER, &dir.display().to_string()),
        None => Ok(()),
    }
}

/// Records the layout of this build in a new or older directory. The caller holds the directory's lock.
///
/// # Errors
/// As [`check`]; [`StoreError::Full`].
pub(crate) fn record(dir: &Path) -> Result<(), StoreError> {
    if read(dir)?.is_some_and(|found| found.version >= NUMBER) {
        return Ok(());
    }
    let own = StoreLayout {
        version: NUMBER,
        oldest_reader: OLDEST_READER,
        charter: CHARTER.to_owned(),
    };
    let text = serde_json::to_string(&own).map_err(|source| StoreError::Engine {
        doing: WRITING,
        source: Box::new(source),
    })?;
    let written = write(dir, &text).map_err(with_path(&dir.join(FILE)));
    written.map_err(during(WRITING))
}

/// Returns the recorded layout; `None` if there is none.
fn read(dir: &Path) -> Result<Option<StoreLayout>, StoreError> {
    let path = dir.join(FILE);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(with_path(&path)).map_err(during(READING))?,
    };
    let found = decode_stored(&text).map_err(|error| StoreError::Corrupt {
        what: "layout of the data directory",
        id: path.display().to_string(),
        detail: error.to_string(),
    })?;
    Ok(Some(found))
}

/// Replaces the file: after a crash it is the old one or the new one.
fn write(dir: &Path, text: &str) -> io::Result<()> {
    let partial = dir.join(format!("{FILE}.partial"));
    let mut file = File::create(&partial)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&partial, dir.join(FILE))?;
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::DirectoryLock;

    const WRITTEN: &str = r#"{"version":1,"oldest_reader":1,"charter":"0.1.0"}"#;

    /// Takes the lock of a directory with this layout, and records the layout of this build.
    fn use_directory(text: Option<&str>) -> (Result<(), StoreError>, Option<String>) {
        let dir = tempfile::tempdir().unwrap();
        if let Some(text) = text {
            fs::write(dir.path().join(FILE), text).unwrap();
        }
        let taken = DirectoryLock::take(dir.path(), "test");
        let used = taken.and_then(|lock| lock.record_layout());
        (used, fs::read_to_string(dir.path().join(FILE)).ok())
    }

    #[test]
    fn a_new_and_an_older_directory_get_the_layout_of_this_build() {
        let older = r#"{"version":0,"oldest_reader":0,"charter":"0.0.1"}"#;
        for text in [None, Some(older), Some(WRITTEN)] {
            let (used, left) = use_directory(text);
            assert!(used.is_ok(), "{used:?}");
            assert_eq!(left.as_deref(), Some(WRITTEN));
        }
    }

    /// A later version may add fields.
    #[test]
    fn a_newer_layout_stays_as_it_is_and_is_refused_if_it_names_a_newer_reader() {
        let open = r#"{"version":2,"oldest_reader":1,"charter":"0.2.0","more":true}"#;
        let (used, left) = use_directory(Some(open));
        assert!(used.is_ok(), "{used:?}");
        assert_eq!(left.as_deref(), Some(open));
        let closed = r#"{"version":3,"oldest_reader":2,"charter":"0.3.0"}"#;
        let (used, left) = use_directory(Some(closed));
        let refused = matches!(
            &used,
            Err(StoreError::NewerSchema { found: 3, supported: 1, charter, .. }) if charter == "0.3.0"
        );
        assert!(refused, "{used:?}");
        assert_eq!(left.as_deref(), Some(closed));
    }

    /// The operator has to know the file whose rights are wrong.
    #[test]
    fn a_file_that_cannot_be_opened_is_named() {
        for file in [FILE, crate::lock::FILE] {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir(dir.path().join(file)).unwrap();
            let taken = DirectoryLock::take(dir.path(), "test");
            let Err(StoreError::Engine { source, .. }) = &taken else {
                panic!("{taken:?}")
            };
            let text = source.to_string();
            assert!(text.contains(file), "{text}");
        }
    }

    #[test]
    fn a_damaged_layout_is_refused_and_left_alone() {
        let (used, left) = use_directory(Some("{"));
        assert!(matches!(used, Err(StoreError::Corrupt { .. })), "{used:?}");
        assert_eq!(left.as_deref(), Some("{"));
    }
}
