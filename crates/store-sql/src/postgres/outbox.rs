//! Numbers the messages of the outbox.
//!
//! Transactions commit in a different order than they began, so a number that a writer chose could become visible after
//! a larger one, and a reader would skip it. Hence writers assign none: a reader numbers a message, under a lock, after
//! its transaction has committed. Writers never wait for each other, nor readers for a writer, and nothing depends on
//! the server's other load (a test against the oldest running transaction, `pg_snapshot_xmin`, waits for every long one
//! of the whole cluster).

use charter_store::StoreError;

use super::PostgresEngine;
use crate::column;
use crate::row::field;
use crate::store::{Access, RowScope, SqlEngine};
use crate::tx::{Tx, execute, params, row};

const READING: &str = "reading outbox messages";
const NUMBERING: &str = "numbering outbox messages";

/// Messages that one transaction numbers.
const BATCH: i64 = 10_000;

/// Whether there are messages without a number.
async fn any_unnumbered(tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT FROM outbox WHERE message_id IS NULL)";
    let found = row(READING, tx, sql, params![], |row| field(row, 0)).await?;
    Ok(found.unwrap_or(false))
}

/// Numbers committed messages in the order of writing; returns their count.
async fn number(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    let sql = "SELECT last FROM outbox_numbers FOR UPDATE";
    let last: Option<i64> = row(NUMBERING, tx, sql, params![], |row| field(row, 0)).await?;
    let last = last.unwrap_or(0);
    // Read only after the lock, so that numbers from concurrent readers are visible.
    let numbered = execute(
        NUMBERING,
        tx,
        "UPDATE outbox SET message_id = new.message_id
         FROM (SELECT tenant_id, entry, $1::bigint + row_number() OVER (ORDER BY entry) AS message_id
               FROM outbox WHERE message_id IS NULL ORDER BY entry LIMIT $2) AS new
         WHERE outbox.tenant_id = new.tenant_id AND outbox.entry = new.entry",
        params![last, BATCH],
    )
    .await?;
    let numbered = column::integer("number of messages", numbered)?;
    let sql = "UPDATE outbox_numbers SET last = $1";
    execute(NUMBERING, tx, sql, params![last + numbered]).await?;
    Ok(numbered)
}

/// Numbers all committed messages.
pub(super) async fn number_messages(engine: &PostgresEngine) -> Result<(), StoreError> {
    let scope = RowScope::Everyone;
    loop {
        let unnumbered = engine.run(Access::Read, scope, (), |tx, ()| {
            Box::pin(any_unnumbered(tx))
        });
        if !unnumbered.await? {
            return Ok(());
        }
        let numbered = engine.run(Access::Write, scope, (), |tx, ()| Box::pin(number(tx)));
        if numbered.await? < BATCH {
            return Ok(());
        }
    }
}
