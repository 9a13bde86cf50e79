//! Maps SQLite's errors to [`StoreError`].

use std::sync::Arc;

use charter_store::StoreError;
use rusqlite::{Error, ErrorCode, ffi};

/// The database's file name within the data directory.
pub(crate) const DATABASE: &str = "charter.db";

/// Adds the current activity to an engine error: `.map_err(during("reading tags"))`.
pub(crate) fn during(doing: &'static str) -> impl Fn(Error) -> StoreError {
    move |error| classify(doing, error)
}

/// As [`during`], for one error that several callers receive.
pub(crate) fn classify_shared(doing: &'static str, error: &Arc<Error>) -> StoreError {
    match kind(error) {
        Kind::Full => StoreError::Full {
            doing,
            source: Box::new(Arc::clone(error)),
        },
        Kind::Corrupt => corrupt(error),
        Kind::Refused => refused(error),
        Kind::Other => StoreError::Engine {
            doing,
            source: Box::new(Arc::clone(error)),
        },
    }
}

fn classify(doing: &'static str, error: Error) -> StoreError {
    match kind(&error) {
        Kind::Full => StoreError::Full {
            doing,
            source: Box::new(error),
        },
        Kind::Corrupt => corrupt(&error),
        Kind::Refused => refused(&error),
        Kind::Other => StoreError::Engine {
            doing,
            source: Box::new(error),
        },
    }
}

enum Kind {
    Full,
    Corrupt,
    /// A violated rule of the schema; a retry violates it again.
    Refused,
    Other,
}

fn kind(error: &Error) -> Kind {
    match error.sqlite_error() {
        // The shared-memory file of the write-ahead log fails to grow only when space is exhausted.
        Some(e) if e.extended_code == ffi::SQLITE_IOERR_SHMSIZE => Kind::Full,
        Some(e) if e.code == ErrorCode::DiskFull => Kind::Full,
        Some(e) if e.code == ErrorCode::DatabaseCorrupt || e.code == ErrorCode::NotADatabase => {
            Kind::Corrupt
        }
        Some(e) if e.code == ErrorCode::ConstraintViolation => Kind::Refused,
        Some(_) | None => Kind::Other,
    }
}

fn refused(error: &Error) -> StoreError {
    StoreError::Refused {
        what: "record",
        id: "database".to_owned(),
        detail: error.to_string(),
    }
}

fn corrupt(error: &Error) -> StoreError {
    StoreError::Corrupt {
        what: "database",
        id: DATABASE.to_owned(),
        detail: error.to_string(),
    }
}
