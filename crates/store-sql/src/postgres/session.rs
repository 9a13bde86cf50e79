//! Sessions and their turns in PostgreSQL.

use async_trait::async_trait;
use charter_contract::ids::{SessionId, TenantId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::session::{SessionRecord, Sessions, Turn};
use deadpool_postgres::Transaction;

use super::PostgresStore;
use super::connection::{RowScope, in_transaction};
use super::statement::{execute, params, row, rows};
use crate::column;
use crate::record::session::{record, turn};

const READING: &str = "reading a session";
const WRITING: &str = "writing a session";

async fn append(
    connection: &Transaction<'_>,
    (tenant, session): (&str, &str),
    turn: &Turn,
    expires_at: i64,
    keep: usize,
) -> Result<(), StoreError> {
    row(
        READING,
        connection,
        "SELECT FROM session WHERE tenant_id = $1 AND session_id = $2 AND expires_at > $3
         FOR UPDATE",
        params![tenant, session, column::micros(turn.at)],
        |_| Ok(()),
    )
    .await?
    .ok_or_else(|| StoreError::NotFound {
        what: "session",
        id: session.to_owned(),
    })?;
    execute(
        WRITING,
        connection,
        "INSERT INTO turn (tenant_id, session_id, request_id, at, input, output)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (tenant_id, session_id, request_id) DO UPDATE
         SET at = excluded.at, input = excluded.input, output = excluded.output",
        params![
            tenant,
            session,
            turn.request_id.as_str(),
            column::micros(turn.at),
            turn.input,
            turn.output
        ],
    )
    .await?;
    execute(
        WRITING,
        connection,
        "UPDATE session SET expires_at = greatest(expires_at, $3)
         WHERE tenant_id = $1 AND session_id = $2",
        params![tenant, session, expires_at],
    )
    .await?;
    execute(
        WRITING,
        connection,
        "DELETE FROM turn WHERE tenant_id = $1 AND session_id = $2 AND position IN
         (SELECT position FROM turn WHERE tenant_id = $1 AND session_id = $2
          ORDER BY position DESC OFFSET $3)",
        params![tenant, session, column::limit(keep)],
    )
    .await
    .map(|_| ())
}

#[async_trait]
impl Sessions for PostgresStore {
    async fn open_session(&self, session: &SessionRecord) -> Result<(), StoreError> {
        let client = self.client(RowScope::Tenant(&session.tenant_id)).await?;
        let added = execute(
            WRITING,
            &client,
            "INSERT INTO session (tenant_id, session_id, user_id, created_at, expires_at)
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
            params![
                session.tenant_id.as_str(),
                session.session_id.as_str(),
                session.user_id.as_str(),
                column::micros(session.created_at),
                column::micros(session.expires_at)
            ],
        )
        .await?;
        if added == 0 {
            return Err(StoreError::AlreadyExists {
                what: "session",
                id: session.session_id.to_string(),
            });
        }
        Ok(())
    }

    async fn session(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        now: Timestamp,
    ) -> Result<Option<SessionRecord>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        row(
            READING,
            &client,
            "SELECT user_id, created_at, expires_at FROM session
             WHERE tenant_id = $1 AND session_id = $2 AND expires_at > $3",
            params![tenant.as_str(), session.as_str(), column::micros(now)],
            |row| record(row, tenant, session),
        )
        .await
    }

    async fn append_turn(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        turn: &Turn,
        expires_at: Timestamp,
        keep: usize,
    ) -> Result<(), StoreError> {
        let of = (tenant.as_str(), session.as_str());
        let expires_at = column::micros(expires_at);
        in_transaction!(self, RowScope::Tenant(tenant), tx => append(&tx, of, turn, expires_at, keep))
    }

    async fn turns(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        limit: usize,
    ) -> Result<Vec<Turn>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        let mut newest_first = rows(
            "reading the turns of a session",
            &client,
            "SELECT request_id, at, input, output FROM turn
             WHERE tenant_id = $1 AND session_id = $2 ORDER BY position DESC LIMIT $3",
            params![tenant.as_str(), session.as_str(), column::limit(limit)],
            turn,
        )
        .await?;
        newest_first.reverse();
        Ok(newest_first)
    }

    async fn sweep_sessions(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.sweep(
            "DELETE FROM session WHERE (tenant_id, session_id) IN
             (SELECT tenant_id, session_id FROM session WHERE expires_at <= $1 LIMIT $2)",
            column::micros(now),
        )
        .await
    }
}
