//! Maps PostgreSQL's errors to [`StoreError`].

use charter_store::StoreError;
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

/// Adds the current activity to an engine error: `.map_err(during("reading tags"))`.
pub(crate) fn during(doing: &'static str) -> impl Fn(Error) -> StoreError {
    move |error| classify(doing, error)
}

fn classify(doing: &'static str, error: Error) -> StoreError {
    let state = error.code();
    if state == Some(&SqlState::DISK_FULL) {
        return StoreError::Full {
            doing,
            source: Box::new(error),
        };
    }
    if state.is_some_and(|state| {
        *state == SqlState::DATA_CORRUPTED || *state == SqlState::INDEX_CORRUPTED
    }) {
        return StoreError::Corrupt {
            what: "database",
            id: "database".to_owned(),
            detail: error.to_string(),
        };
    }
    match refusal(&error) {
        Some(detail) => StoreError::Refused {
            what: "record",
            id: of_table(&error),
            detail,
        },
        None => StoreError::Engine {
            doing,
            source: Box::new(error),
        },
    }
}

/// Returns why the database permanently refuses a value or a change, in its own words.
pub(crate) fn refusal(error: &Error) -> Option<String> {
    let said = error.as_db_error()?;
    let code = said.code();
    if *code == SqlState::CHARACTER_NOT_IN_REPERTOIRE || *code == SqlState::UNTRANSLATABLE_CHARACTER
    {
        // UTF-8 has the character U+0000, but PostgreSQL cannot store it.
        return Some("it has the character U+0000, which PostgreSQL cannot hold".to_owned());
    }
    let refused = code.code().starts_with("23") || *code == SqlState::INVALID_TEXT_REPRESENTATION;
    refused.then(|| words(said))
}

fn words(said: &DbError) -> String {
    said.message().to_owned()
}

fn of_table(error: &Error) -> String {
    let table = error.as_db_error().and_then(DbError::table);
    table.unwrap_or("database").to_owned()
}

/// Whether a transaction failed only because of a concurrent one.
pub(crate) fn lost_to_another(error: &StoreError) -> bool {
    let StoreError::Engine { source, .. } = error else {
        return false;
    };
    let state = source.downcast_ref::<Error>().and_then(Error::code);
    state.is_some_and(|state| {
        *state == SqlState::T_R_SERIALIZATION_FAILURE || *state == SqlState::T_R_DEADLOCK_DETECTED
    })
}
