//! The outbox in PostgreSQL.
//!
//! Transactions commit in a different order than they began, so a number that a writer chose could become visible after
//! a larger one, and a reader would skip it. Hence writers assign none: a reader numbers a message, under a lock, after
//! its transaction has committed. Writers never wait for each other, nor readers for a writer, and nothing depends on
//! the server's other load (a test against the oldest running transaction, `pg_snapshot_xmin`, waits for every long one
//! of the whole cluster).

use async_trait::async_trait;
use charter_contract::ids::{TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::outbox::{Message, NewMessage, Outbox};
use deadpool_postgres::{GenericClient, Transaction};

use super::PostgresStore;
use super::connection::{RowScope, in_transaction};
use super::statement::{execute, params, row, rows};
use crate::column;
use crate::record::outbox::message;
use crate::row::field;

const READING: &str = "reading outbox messages";
const NUMBERING: &str = "numbering outbox messages";

/// Messages that one transaction numbers.
const BATCH: i64 = 10_000;

/// Inserts messages as part of another change.
pub(super) async fn insert(
    connection: &Transaction<'_>,
    messages: &[NewMessage],
) -> Result<(), StoreError> {
    if messages.is_empty() {
        return Ok(());
    }
    let tenants = messages.iter().map(|m| m.tenant.as_deref().unwrap_or(""));
    execute(
        "writing an outbox message",
        connection,
        "INSERT INTO outbox (tenant_id, topic, at, payload, user_id)
         SELECT tenant_id, topic, at, payload, user_id
         FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[])
              WITH ORDINALITY AS new (tenant_id, topic, at, payload, user_id, place)
         ORDER BY place",
        params![
            tenants.collect::<Vec<_>>(),
            messages.iter().map(|m| &*m.topic).collect::<Vec<_>>(),
            messages
                .iter()
                .map(|m| column::micros(m.at))
                .collect::<Vec<_>>(),
            messages.iter().map(|m| &*m.payload).collect::<Vec<_>>(),
            messages
                .iter()
                .map(|m| m.user_id.as_ref().map(UserId::as_str))
                .collect::<Vec<_>>(),
        ],
    )
    .await
    .map(|_| ())
}

/// Whether there are messages without a number.
async fn any_unnumbered(connection: &impl GenericClient) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT FROM outbox WHERE message_id IS NULL)";
    let found = row(READING, connection, sql, params![], |row| field(row, 0)).await?;
    Ok(found.unwrap_or(false))
}

/// Numbers committed messages in the order of writing; returns their count.
async fn number(connection: &Transaction<'_>) -> Result<i64, StoreError> {
    let sql = "SELECT last FROM outbox_numbers FOR UPDATE";
    let last: Option<i64> = row(NUMBERING, connection, sql, params![], |row| field(row, 0)).await?;
    let last = last.unwrap_or(0);
    // Read only after the lock, so that numbers from concurrent readers are visible.
    let numbered = execute(
        NUMBERING,
        connection,
        "UPDATE outbox SET message_id = new.message_id
         FROM (SELECT tenant_id, entry, $1::bigint + row_number() OVER (ORDER BY entry) AS message_id
               FROM outbox WHERE message_id IS NULL ORDER BY entry LIMIT $2) AS new
         WHERE outbox.tenant_id = new.tenant_id AND outbox.entry = new.entry",
        params![last, BATCH],
    )
    .await?;
    let numbered = column::integer("number of messages", numbered)?;
    let sql = "UPDATE outbox_numbers SET last = $1";
    execute(NUMBERING, connection, sql, params![last + numbered]).await?;
    Ok(numbered)
}

impl PostgresStore {
    /// Numbers all committed messages.
    async fn number_messages(&self) -> Result<(), StoreError> {
        loop {
            let client = self.client(RowScope::Everyone).await?;
            if !any_unnumbered(&client).await? {
                return Ok(());
            }
            drop(client);
            if in_transaction!(self, RowScope::Everyone, tx => number(&tx))? < BATCH {
                return Ok(());
            }
        }
    }
}

#[async_trait]
impl Outbox for PostgresStore {
    async fn publish(&self, messages: Vec<NewMessage>) -> Result<(), StoreError> {
        in_transaction!(self, RowScope::Everyone, tx => insert(&tx, &messages))?;
        self.announce(messages.len());
        Ok(())
    }

    async fn messages(&self, after: u64, limit: usize) -> Result<Vec<Message>, StoreError> {
        self.number_messages().await?;
        let client = self.client(RowScope::Everyone).await?;
        rows(
            READING,
            &client,
            "SELECT message_id, topic, nullif(tenant_id, ''), at, payload, user_id FROM outbox
             WHERE message_id > $1 ORDER BY message_id LIMIT $2",
            params![column::integer("message id", after)?, column::limit(limit)],
            message,
        )
        .await
    }

    async fn messages_of(
        &self,
        tenant: &TenantId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Message>, StoreError> {
        self.number_messages().await?;
        let client = self.client(RowScope::Tenant(tenant)).await?;
        // Only an index that leads with the tenant provides this order; the index of the numbers would be scanned over
        // all tenants' messages. Messages about the global catalogue have their own index.
        rows(
            READING,
            &client,
            "SELECT message_id, topic, nullif(tenant_id, ''), at, payload, user_id FROM (
                 (SELECT message_id, topic, tenant_id, at, payload, user_id FROM outbox
                  WHERE (tenant_id, message_id) > ($2, $1) AND tenant_id <= $2
                  ORDER BY tenant_id, message_id LIMIT $3)
                 UNION ALL
                 (SELECT message_id, topic, tenant_id, at, payload, user_id FROM outbox
                  WHERE tenant_id = '' AND topic = 'catalogue.changed' AND message_id > $1
                  ORDER BY message_id LIMIT $3)) AS told
             ORDER BY message_id LIMIT $3",
            params![
                column::integer("message id", after)?,
                tenant.as_str(),
                column::limit(limit)
            ],
            message,
        )
        .await
    }

    async fn last_message(&self) -> Result<u64, StoreError> {
        self.number_messages().await?;
        let client = self.client(RowScope::Everyone).await?;
        let sql = "SELECT last FROM outbox_numbers";
        let last = row(READING, &client, sql, params![], |row| {
            column::parse_integer("message id", field(row, 0)?)
        });
        Ok(last.await?.unwrap_or(0))
    }

    async fn sweep_messages(&self, before: Timestamp) -> Result<u64, StoreError> {
        // Unread messages are numbered too, so that the last number includes them.
        self.number_messages().await?;
        self.sweep(
            "DELETE FROM outbox WHERE (tenant_id, entry) IN
             (SELECT tenant_id, entry FROM outbox WHERE at < $1 ORDER BY at LIMIT $2)",
            column::micros(before),
        )
        .await
    }
}
