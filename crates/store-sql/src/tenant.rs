//! Counts, exports and erases all data of one tenant.
//!
//! The schema determines a tenant's rows: those of tables with a column `tenant_id` or `scope`, and in SQLite those
//! that refer to such a row. So a new table is exported and erased automatically.
//!
//! An export is a directory like that of a backup (`backup`), with the manifest written last:
//!
//! ```text
//! manifest.json   as a backup's, with the tenant
//! TABLE.jsonl     a JSON object for each row, by column; bytes as "\x" and hexadecimal digits
//! ```
//!
//! `charter_store::tenant` documents the effects of an erasure.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::ids::TenantId;
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::outbox::NewMessage;
use charter_store::tenant::{ERASED_TOPIC, RowCounts};
use serde_json::json;

const WHAT: &str = "tenant";

/// Most unfinished runs that are counted.
pub(crate) const MOST_RUNS: u64 = 1_000_000;

/// Tables whose rows stay after a tenant's erasure.
const KEPT: [&str; 3] = ["evidence_log", "evidence_node", "evidence_checkpoint"];

/// Refuses the erasure of a tenant with unfinished runs.
pub(crate) fn must_rest(tenant: &TenantId, unfinished: u64) -> Result<(), StoreError> {
    match unfinished {
        0 => Ok(()),
        runs => Err(refused(
            tenant,
            format!("{runs} of its runs have not ended: abort them, or wait until they end"),
        )),
    }
}

fn refused(tenant: &TenantId, detail: String) -> StoreError {
    StoreError::Refused {
        what: WHAT,
        id: tenant.to_string(),
        detail,
    }
}

/// Returns the message that makes every process drop its in-memory data of the tenant.
pub(crate) fn erased(tenant: &TenantId, at: Timestamp) -> NewMessage {
    NewMessage {
        topic: ERASED_TOPIC.to_owned(),
        tenant: None,
        user_id: None,
        payload: json!({"tenant_id": tenant}).to_string(),
        at,
    }
}

/// Separates deleted from retained rows.
pub(crate) fn parted(rows: RowCounts) -> (RowCounts, RowCounts) {
    rows.into_iter().partition(|(table, _)| !is_kept(table))
}

pub(crate) fn is_kept(table: &str) -> bool {
    KEPT.contains(&table)
}

/// A reference from rows of one table to rows of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) from: String,
    pub(crate) to: String,
    /// Whether deletes cascade.
    pub(crate) goes_along: bool,
}

/// Returns tables, each before those that it refers to.
pub(crate) fn referring_first(
    tables: impl IntoIterator<Item = String>,
    references: &[Reference],
) -> Result<Vec<String>, StoreError> {
    let mut waiting: BTreeSet<String> = tables.into_iter().collect();
    let mut ordered = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let free = waiting.iter().find(|table| {
            let mut to_it = references.iter().filter(|known| known.to == **table);
            !to_it.any(|known| known.from != **table && waiting.contains(&known.from))
        });
        let Some(free) = free.cloned() else {
            return Err(StoreError::Corrupt {
                what: "layout of the database",
                id: waiting.into_iter().collect::<Vec<_>>().join(", "),
                detail: "these tables have circular references".to_owned(),
            });
        };
        waiting.remove(&free);
        ordered.push(free);
    }
    Ok(ordered)
}

/// Returns the tables whose rows have to be deleted, in a valid order. Tables whose rows are deleted by a cascade are
/// left out.
pub(crate) fn deletions(
    tables: impl IntoIterator<Item = String>,
    references: &[Reference],
) -> Result<Vec<String>, StoreError> {
    let goes_with: BTreeMap<&str, &str> = references
        .iter()
        .filter(|known| known.goes_along)
        .map(|known| (&*known.from, &*known.to))
        .collect();
    let first = |table: &str| {
        let mut first = table;
        while let Some(next) = goes_with.get(first) {
            first = next;
        }
        first.to_owned()
    };
    let among: Vec<Reference> = references
        .iter()
        .map(|known| Reference {
            from: first(&known.from),
            to: first(&known.to),
            goes_along: false,
        })
        .collect();
    let alone = tables.into_iter().filter(|table| first(table) == *table);
    referring_first(alone, &among)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references(of: &[(&str, &str, bool)]) -> Vec<Reference> {
        let reference = |(from, to, goes_along): &(&str, &str, bool)| Reference {
            from: (*from).to_owned(),
            to: (*to).to_owned(),
            goes_along: *goes_along,
        };
        of.iter().map(reference).collect()
    }

    /// A file is deleted by a cascade from its skill and refers to its content, so the content is deleted after the
    /// skill.
    #[test]
    fn what_others_refer_to_is_deleted_after_them() {
        let tables = ["content", "file", "skill"].map(str::to_owned);
        let known = references(&[("file", "skill", true), ("file", "content", false)]);
        assert_eq!(deletions(tables, &known).unwrap(), ["skill", "content"]);
    }

    #[test]
    fn a_circle_has_no_order() {
        let tables = ["a", "b"].map(str::to_owned);
        let known = references(&[("a", "b", false), ("b", "a", false)]);
        assert!(referring_first(tables, &known).is_err());
    }
}
