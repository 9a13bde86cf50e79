//! The outbox. SQLite numbers a message when it is written, PostgreSQL when it is first read (`postgres/outbox.rs`).

use std::borrow::Borrow;

use async_trait::async_trait;
use charter_contract::ids::{TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::outbox::{Message, NewMessage, Outbox};

use crate::column;
use crate::row::{Columns, field};
use crate::store::{Access, RowScope, SqlEngine, SqlStore, sweep};
use crate::tx::{Dialect, SqlValue, Tx, execute_many, params, row, rows};

const READING: &str = "reading outbox messages";

/// Reads `message_id, topic, tenant_id, at, payload, user_id`.
fn message(row: &dyn Columns) -> Result<Message, StoreError> {
    let user: Option<&str> = field(row, 5)?;
    Ok(Message {
        id: column::parse_integer("message id", field(row, 0)?)?,
        message: NewMessage {
            topic: field(row, 1)?,
            tenant: field(row, 2)?,
            at: column::parse_micros(field(row, 3)?)?,
            payload: field(row, 4)?,
            user_id: column::parse_user(user.unwrap_or_default())?,
        },
    })
}

/// Inserts messages as part of another change.
pub(crate) async fn insert<M: Borrow<NewMessage> + Sync>(
    tx: &mut Tx<'_>,
    messages: &[M],
) -> Result<(), StoreError> {
    let mut rows = Vec::with_capacity(messages.len());
    for message in messages {
        let message: &NewMessage = message.borrow();
        let values = params![
            message.tenant.as_deref().unwrap_or(""),
            &message.topic,
            column::micros(message.at),
            &message.payload,
            message.user_id.as_ref().map(UserId::as_str)
        ];
        rows.push(values.to_vec());
    }
    execute_many(
        "writing an outbox message",
        tx,
        "INSERT INTO outbox (tenant_id, topic, at, payload, user_id) VALUES ($1, $2, $3, $4, $5)",
        &rows,
    )
    .await
    .map(|_| ())
}

async fn newer_of_tenant(
    tx: &mut Tx<'_>,
    values: &[SqlValue<'_>],
) -> Result<Vec<Message>, StoreError> {
    let own = match tx.dialect() {
        Dialect::Sqlite => "tenant_id = $3 AND message_id > $1",
        // Only an index that leads with the tenant provides the order of these rows. For the rows of an equal tenant,
        // PostgreSQL may scan the index of the numbers, over all tenants' messages.
        Dialect::Postgres => "(tenant_id, message_id) > ($3, $1) AND tenant_id <= $3",
    };
    // Messages about the global catalogue have their own index.
    let sql = format!(
        "SELECT message_id, topic, nullif(tenant_id, ''), at, payload, user_id FROM (
             SELECT * FROM (
                 SELECT message_id, topic, tenant_id, at, payload, user_id FROM outbox
                 WHERE {own} ORDER BY tenant_id, message_id LIMIT $2) AS own
             UNION ALL
             SELECT * FROM (
                 SELECT message_id, topic, tenant_id, at, payload, user_id FROM outbox
                 WHERE tenant_id = '' AND topic = 'catalogue.changed' AND message_id > $1
                 ORDER BY message_id LIMIT $2) AS of_the_catalogue) AS told
         ORDER BY message_id LIMIT $2"
    );
    rows(READING, tx, &sql, values, message).await
}

#[async_trait]
impl<E: SqlEngine> Outbox for SqlStore<E> {
    async fn publish(&self, messages: Vec<NewMessage>) -> Result<(), StoreError> {
        let count = messages.len();
        self.engine
            .run(
                Access::Write,
                RowScope::Everyone,
                messages,
                |tx, messages| Box::pin(insert(tx, messages)),
            )
            .await?;
        self.engine.announce(count);
        Ok(())
    }

    async fn messages(&self, after: u64, limit: usize) -> Result<Vec<Message>, StoreError> {
        self.engine.number_messages().await?;
        self.engine
            .rows(
                RowScope::Everyone,
                READING,
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
        self.engine.number_messages().await?;
        let after = column::integer("message id", after)?;
        let values = params![after, column::limit(limit), tenant.to_string()].to_vec();
        let scope = RowScope::Tenant(tenant);
        self.engine
            .run(Access::Read, scope, values, |tx, values| {
                Box::pin(newer_of_tenant(tx, values))
            })
            .await
    }

    async fn last_message(&self) -> Result<u64, StoreError> {
        self.engine.number_messages().await?;
        let last = self
            .engine
            .run(Access::Read, RowScope::Everyone, (), |tx, ()| {
                let sql = match tx.dialect() {
                    Dialect::Sqlite => "SELECT seq FROM sqlite_sequence WHERE name = 'outbox'",
                    Dialect::Postgres => "SELECT last FROM outbox_numbers",
                };
                Box::pin(async move {
                    row(READING, tx, sql, params![], |row| field::<i64>(row, 0)).await
                })
            });
        column::parse_integer("message id", last.await?.unwrap_or(0))
    }

    async fn sweep_messages(&self, before: Timestamp) -> Result<u64, StoreError> {
        // Unread messages are numbered too, so that the last number includes them.
        self.engine.number_messages().await?;
        sweep(
            &self.engine,
            "DELETE FROM outbox WHERE (tenant_id, message_id) IN
             (SELECT tenant_id, message_id FROM outbox WHERE at < $1 ORDER BY at LIMIT $2)",
            column::micros(before),
        )
        .await
    }
}
