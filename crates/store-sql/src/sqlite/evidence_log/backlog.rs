//! Writes the leaves of evidence from before the log existed, once, when the store opens.

use std::collections::BTreeSet;

use charter_contract::catalogue::evidence::{Attachment, EvidenceRecord};
use charter_contract::ids::TenantId;
use charter_domain::evidence_log::{LogEntry, SealedRecord};
use charter_store::StoreError;
use rusqlite::{Connection, params};

use super::super::failure::during;
use super::super::statement::{execute, row, rows};
use super::append;
use crate::column;
use crate::row::field;

const DOING: &str = "logging evidence of an earlier version";

/// Appends the leaves of every record that `V2__evidence_log.sql` found, in one transaction.
pub(in super::super) fn log_what_is_unlogged(
    connection: &mut Connection,
) -> Result<(), StoreError> {
    let sql = "SELECT 1 FROM evidence_unlogged LIMIT 1";
    if row(DOING, connection, sql, [], |row| field::<i64>(row, 0))?.is_none() {
        return Ok(());
    }
    let transaction = connection.transaction().map_err(during(DOING))?;
    let sql = "SELECT evidence_key FROM evidence_unlogged ORDER BY evidence_key";
    for key in rows(DOING, &transaction, sql, [], |row| field::<i64>(row, 0))? {
        log_record(&transaction, key)?;
    }
    execute(DOING, &transaction, "DELETE FROM evidence_unlogged", [])?;
    transaction.commit().map_err(during(DOING))
}

/// Appends the record's leaf, and one for each attachment that its body does not contain.
fn log_record(connection: &Connection, key: i64) -> Result<(), StoreError> {
    let sql = "SELECT tenant_id, body, payload, payload_salt FROM evidence WHERE evidence_key = ?1";
    let found = row(DOING, connection, sql, [key], |row| {
        let tenant: String = field(row, 0)?;
        let salt: Vec<u8> = field(row, 3)?;
        let sealed = SealedRecord {
            record: field(row, 1)?,
            payload: field(row, 2)?,
            salt: column::parse_hash("salt of a payload", &salt)?,
        };
        Ok((column::parse::<TenantId>("tenant", &tenant)?, sealed))
    })?;
    let Some((tenant, sealed)) = found else {
        return Ok(());
    };
    let record: EvidenceRecord =
        column::parse_json("evidence record", &key.to_string(), &sealed.record)?;
    append(connection, &tenant, key, &sealed.entry(record.id.clone()))?;
    let of_capture = record.attached_to.iter().filter_map(Attachment::target);
    let of_capture: BTreeSet<(&str, &str)> = of_capture.collect();
    let sql = "SELECT json_object(target_kind, target_id), at FROM evidence_attachment
               WHERE evidence_key = ?1 ORDER BY attachment_key";
    let attachments = rows(DOING, connection, sql, params![key], |row| {
        let attachment: String = field(row, 0)?;
        let at = column::parse_micros(field(row, 1)?)?;
        let what = "attachment of evidence";
        let attachment: Attachment = column::parse_json(what, record.id.as_str(), &attachment)?;
        Ok((attachment, at))
    })?;
    for (attached_to, at) in attachments {
        if attached_to
            .target()
            .is_some_and(|target| of_capture.contains(&target))
        {
            continue;
        }
        let entry = LogEntry::Attachment {
            evidence_id: record.id.clone(),
            attached_to,
            at,
        };
        append(connection, &tenant, key, &entry)?;
    }
    Ok(())
}
