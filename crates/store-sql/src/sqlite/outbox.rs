//! The outbox in SQLite.

use async_trait::async_trait;
use charter_contract::ids::{TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::catalogue::CATALOGUE_CHANGED;
use charter_store::outbox::{Message, NewMessage, Outbox};
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::statement::{execute, row, rows};
use crate::column;
use crate::record::outbox::message;
use crate::row::field;

const READING: &str = "reading outbox messages";

/// Inserts messages as part of another change.
pub(super) fn insert(connection: &Connection, messages: &[NewMessage]) -> Result<(), StoreError> {
    for message in messages {
        execute(
            "writing an outbox message",
            connection,
            "INSERT INTO outbox (topic, tenant_id, at, payload, user_id) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                message.topic,
                message.tenant,
                column::micros(message.at),
                message.payload,
                message.user_id.as_ref().map(UserId::as_str)
            ],
        )?;
    }
    Ok(())
}

#[async_trait]
impl Outbox for SqliteStore {
    async fn publish(&self, messages: Vec<NewMessage>) -> Result<(), StoreError> {
        self.write(move |connection| insert(connection, &messages))
            .await
    }

    async fn messages(&self, after: u64, limit: usize) -> Result<Vec<Message>, StoreError> {
        let after = column::integer("message id", after)?;
        self.read(move |connection| {
            rows(
                READING,
                connection,
                "SELECT message_id, topic, tenant_id, at, payload, user_id FROM outbox
                 WHERE message_id > ?1 ORDER BY message_id LIMIT ?2",
                params![after, column::limit(limit)],
                message,
            )
        })
        .await
    }

    async fn messages_of(
        &self,
        tenant: &TenantId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Message>, StoreError> {
        let after = column::integer("message id", after)?;
        let tenant = tenant.clone();
        self.read(move |connection| {
            rows(
                READING,
                connection,
                "SELECT message_id, topic, tenant_id, at, payload, user_id FROM outbox
                 WHERE message_id > ?1
                   AND (tenant_id = ?2 OR (tenant_id IS NULL AND topic = ?3))
                 ORDER BY message_id LIMIT ?4",
                params![
                    after,
                    tenant.as_str(),
                    CATALOGUE_CHANGED,
                    column::limit(limit)
                ],
                message,
            )
        })
        .await
    }

    async fn last_message(&self) -> Result<u64, StoreError> {
        self.read(|connection| {
            let last = row(
                READING,
                connection,
                "SELECT seq FROM sqlite_sequence WHERE name = 'outbox'",
                [],
                |row| column::parse_integer("message id", field(row, 0)?),
            )?;
            Ok(last.unwrap_or(0))
        })
        .await
    }

    async fn sweep_messages(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.sweep(
            "DELETE FROM outbox WHERE message_id IN
             (SELECT message_id FROM outbox WHERE at < ?1 ORDER BY at LIMIT ?2)",
            column::micros(before),
        )
        .await
    }
}
