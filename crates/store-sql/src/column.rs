//! Converts records to column values and back, for every SQL engine: times to microseconds, scopes to text, hashes to
//! 32 bytes, closed sets to words.
//!
//! This file knows no engine. Values are read through the types' own parsers, so a damaged value is detected here, and
//! the error names it.

use std::fmt::Display;
use std::str::FromStr;

use charter_contract::bounds::PAGE_BYTES;
use charter_contract::ids::{TenantId, UserId};
use charter_contract::json::{decode_stored, to_stored};
use charter_contract::scope::Scope;
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::approval::ApprovalState;
use charter_store::catalogue::Change;
use charter_store::journal::RunPhase;
use charter_store::page::{Page, PageRequest};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Returns the value of a scope: the tenant's id, or an empty text for global (a tenant's id is never empty).
pub(crate) fn scope(scope: &Scope) -> &str {
    match scope {
        Scope::Global => "",
        Scope::Tenant(tenant) => tenant.as_str(),
    }
}

/// Parses a value of [`scope`].
pub(crate) fn parse_scope(text: &str) -> Result<Scope, StoreError> {
    if text.is_empty() {
        return Ok(Scope::Global);
    }
    parse::<TenantId>("scope", text).map(Scope::Tenant)
}

/// Returns microseconds since the Unix epoch, UTC.
pub(crate) fn micros(time: Timestamp) -> i64 {
    time.as_micros()
}

/// Parses a value of [`micros`].
pub(crate) fn parse_micros(micros: i64) -> Result<Timestamp, StoreError> {
    Timestamp::from_micros(micros).map_err(|e| damaged("time", &micros.to_string(), &e))
}

/// Parses an id or a word of a closed set.
pub(crate) fn parse<T>(what: &'static str, text: &str) -> Result<T, StoreError>
where
    T: FromStr,
    T::Err: Display,
{
    text.parse().map_err(|e| damaged(what, text, &e))
}

/// Returns the value of a user; empty if the user is unknown (a user's id is never empty).
pub(crate) fn user(user: Option<&UserId>) -> &str {
    user.map_or("", UserId::as_str)
}

/// Parses a value of [`user`].
pub(crate) fn parse_user(text: &str) -> Result<Option<UserId>, StoreError> {
    if text.is_empty() {
        return Ok(None);
    }
    parse("user id", text).map(Some)
}

/// Parses a hash; any length but 32 bytes is damage.
pub(crate) fn parse_hash(what: &'static str, bytes: &[u8]) -> Result<[u8; 32], StoreError> {
    bytes
        .try_into()
        .map_err(|_| damaged(what, &format!("{} bytes", bytes.len()), &"not 32 bytes"))
}

/// Converts a count or a position to a column's signed integer.
pub(crate) fn integer(what: &'static str, number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(|e| StoreError::Refused {
        what,
        id: number.to_string(),
        detail: e.to_string(),
    })
}

/// Parses a value of [`integer`].
pub(crate) fn parse_integer(what: &'static str, number: i64) -> Result<u64, StoreError> {
    u64::try_from(number).map_err(|e| damaged(what, &number.to_string(), &e))
}

/// Converts a limit on rows. A number that does not fit exceeds every possible count.
pub(crate) fn limit(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

/// Serialises a record as JSON.
pub(crate) fn json<T: Serialize>(
    what: &'static str,
    id: &str,
    record: &T,
) -> Result<String, StoreError> {
    to_stored(record).map_err(|e| StoreError::Refused {
        what,
        id: id.to_owned(),
        detail: e.to_string(),
    })
}

/// Parses a value of [`json`].
pub(crate) fn parse_json<T: DeserializeOwned>(
    what: &'static str,
    id: &str,
    body: &str,
) -> Result<T, StoreError> {
    decode_stored(body).map_err(|e| damaged(what, id, &e))
}

/// Returns the word for a change.
pub(crate) fn change(change: Change) -> &'static str {
    match change {
        Change::Registered => "registered",
        Change::RolledBack => "rolled_back",
        Change::Unregistered => "unregistered",
    }
}

/// Parses the word for a change.
pub(crate) fn parse_change(word: &str) -> Result<Change, StoreError> {
    [Change::Registered, Change::RolledBack, Change::Unregistered]
        .into_iter()
        .find(|candidate| change(*candidate) == word)
        .ok_or_else(|| damaged("change", word, &"unknown word"))
}

/// Returns the word for a phase.
pub(crate) fn phase(phase: RunPhase) -> &'static str {
    match phase {
        RunPhase::Runnable => "runnable",
        RunPhase::Waiting => "waiting",
        RunPhase::Finished => "finished",
    }
}

/// Parses the word for a phase.
pub(crate) fn parse_phase(word: &str) -> Result<RunPhase, StoreError> {
    [RunPhase::Runnable, RunPhase::Waiting, RunPhase::Finished]
        .into_iter()
        .find(|candidate| phase(*candidate) == word)
        .ok_or_else(|| damaged("phase", word, &"unknown word"))
}

/// Parses the word for an approval's state.
pub(crate) fn parse_approval_state(word: &str) -> Result<ApprovalState, StoreError> {
    ApprovalState::parse(word).ok_or_else(|| damaged("approval state", word, &"unknown word"))
}

/// A position in a listing that is ordered by a time and an id: `1705312800000000.run-1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// Microseconds.
    pub(crate) at: i64,
    /// The id, for entries of the same time.
    pub(crate) id: String,
}

impl Cursor {
    /// Encodes the cursor for the client.
    pub(crate) fn encode(&self) -> String {
        format!("{}.{}", self.at, self.id)
    }

    /// Decodes a cursor from the client.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for text that `encode` does not produce.
    pub(crate) fn decode(text: &str) -> Result<Self, StoreError> {
        text.split_once('.')
            .and_then(|(at, id)| {
                let at = at.parse().ok()?;
                let id = id.to_owned();
                Some(Self { at, id })
            })
            .ok_or_else(|| StoreError::Refused {
                what: "page cursor",
                id: text.chars().take(80).collect(),
                detail: "it does not come from a previous page".to_owned(),
            })
    }
}

/// Returns the time and id before which a page of a newest-first listing begins.
pub(crate) fn after(request: &PageRequest) -> Result<(i64, String), StoreError> {
    let after = request.after.as_deref().map(Cursor::decode).transpose()?;
    Ok(after.map_or((i64::MAX, String::new()), |cursor| (cursor.at, cursor.id)))
}

fn damaged(what: &'static str, id: &str, detail: &dyn Display) -> StoreError {
    StoreError::Corrupt {
        what,
        id: id.chars().take(80).collect(),
        detail: detail.to_string(),
    }
}

/// Builds a page from rows that were read with a limit of one more than the page size.
pub(crate) fn page<T>(
    mut entries: Vec<T>,
    request: &PageRequest,
    cursor: impl FnOnce(&T) -> Cursor,
) -> Page<T> {
    let more = entries.len() > request.limit();
    entries.truncate(request.limit());
    let last = entries.last().filter(|_| more);
    let next = last.map(|entry| cursor(entry).encode());
    Page { entries, next }
}

/// Rows of a listing with large entries: at least one, and at most `PAGE_BYTES` beyond it.
#[derive(Debug)]
pub(crate) struct BoundedRows<T> {
    pub(crate) rows: Vec<T>,
    bytes: usize,
    is_cut: bool,
}

impl<T> Default for BoundedRows<T> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            bytes: 0,
            is_cut: false,
        }
    }
}

impl<T> BoundedRows<T> {
    /// Whether the next row, of `bytes` bytes, fits the page; the first row that does not ends the page.
    pub(crate) fn takes(&mut self, bytes: usize) -> bool {
        if !self.rows.is_empty() {
            self.bytes = self.bytes.saturating_add(bytes);
        }
        self.is_cut = self.bytes > PAGE_BYTES;
        !self.is_cut
    }

    /// Builds a page from rows that were read with a limit of one more than the page size.
    pub(crate) fn page(
        mut self,
        request: &PageRequest,
        cursor: impl FnOnce(&T) -> Cursor,
    ) -> Page<T> {
        let more = self.is_cut || self.rows.len() > request.limit();
        self.rows.truncate(request.limit());
        let last = self.rows.last().filter(|_| more);
        let next = last.map(|entry| cursor(entry).encode());
        Page {
            entries: self.rows,
            next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_large_entries_ends_before_its_bytes_are_too_many_and_has_one_at_least() {
        let cursor = |row: &usize| Cursor {
            at: 0,
            id: row.to_string(),
        };
        let read = |sizes: &[usize]| {
            let mut listed = BoundedRows::default();
            for (row, size) in sizes.iter().enumerate() {
                if !listed.takes(*size) {
                    break;
                }
                listed.rows.push(row);
            }
            listed
        };
        let half = PAGE_BYTES / 2;
        for (sizes, most, entries, next) in [
            (vec![10, 10, 10], 3, 3, None),
            (vec![10, 10, 10], 2, 2, Some("0.1")),
            (vec![100 * PAGE_BYTES, 10], 9, 2, None),
            (vec![100 * PAGE_BYTES, 100 * PAGE_BYTES], 9, 1, Some("0.0")),
            (vec![10, half, half, 1], 9, 3, Some("0.2")),
        ] {
            let page = read(&sizes).page(&PageRequest::new(None, most), cursor);
            assert_eq!(page.entries.len(), entries, "{sizes:?}");
            assert_eq!(page.next.as_deref(), next, "{sizes:?}");
        }
    }
}
