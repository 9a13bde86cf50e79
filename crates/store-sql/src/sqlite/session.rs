//! Sessions and their turns in SQLite.

use async_trait::async_trait;
use charter_contract::ids::{SessionId, TenantId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::session::{SessionRecord, Sessions, Turn};
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::statement::{execute, insert, row, rows};
use crate::column;
use crate::record::session::{record, turn};
use crate::row::field;

const READING: &str = "reading a session";
const WRITING: &str = "writing a session";

fn live_key(
    connection: &Connection,
    tenant: &TenantId,
    session: &SessionId,
    now: i64,
) -> Result<Option<i64>, StoreError> {
    row(
        READING,
        connection,
        "SELECT session_key FROM session
         WHERE tenant_id = ?1 AND session_id = ?2 AND expires_at > ?3",
        params![tenant.as_str(), session.as_str(), now],
        |row| field(row, 0),
    )
}

fn append(
    connection: &Connection,
    key: i64,
    turn: &Turn,
    expires_at: i64,
    keep: usize,
) -> Result<(), StoreError> {
    execute(
        WRITING,
        connection,
        "INSERT INTO turn (session_key, request_id, at, input, output) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (session_key, request_id) DO UPDATE
         SET at = excluded.at, input = excluded.input, output = excluded.output",
        params![
            key,
            turn.request_id.as_str(),
            column::micros(turn.at),
            turn.input,
            turn.output
        ],
    )?;
    execute(
        WRITING,
        connection,
        "UPDATE session SET expires_at = max(expires_at, ?2) WHERE session_key = ?1",
        params![key, expires_at],
    )?;
    execute(
        WRITING,
        connection,
        "DELETE FROM turn WHERE turn_key IN
         (SELECT turn_key FROM turn WHERE session_key = ?1
          ORDER BY turn_key DESC LIMIT -1 OFFSET ?2)",
        params![key, column::limit(keep)],
    )
    .map(|_| ())
}

#[async_trait]
impl Sessions for SqliteStore {
    async fn open_session(&self, session: &SessionRecord) -> Result<(), StoreError> {
        let session = session.clone();
        self.write(move |connection| {
            insert(
                WRITING,
                connection,
                "INSERT INTO session (tenant_id, session_id, user_id, created_at, expires_at)
                 VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
                params![
                    session.tenant_id.as_str(),
                    session.session_id.as_str(),
                    session.user_id.as_str(),
                    column::micros(session.created_at),
                    column::micros(session.expires_at)
                ],
            )?
            .map(|_| ())
            .ok_or_else(|| StoreError::AlreadyExists {
                what: "session",
                id: session.session_id.to_string(),
            })
        })
        .await
    }

    async fn session(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        now: Timestamp,
    ) -> Result<Option<SessionRecord>, StoreError> {
        let (tenant, session) = (tenant.clone(), session.clone());
        self.read(move |connection| {
            row(
                READING,
                connection,
                "SELECT user_id, created_at, expires_at FROM session
                 WHERE tenant_id = ?1 AND session_id = ?2 AND expires_at > ?3",
                params![tenant.as_str(), session.as_str(), column::micros(now)],
                |row| record(row, &tenant, &session),
            )
        })
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
        let (tenant, session, turn) = (tenant.clone(), session.clone(), turn.clone());
        self.write(move |connection| {
            let key = live_key(connection, &tenant, &session, column::micros(turn.at))?
                .ok_or_else(|| StoreError::NotFound {
                    what: "session",
                    id: session.to_string(),
                })?;
            append(connection, key, &turn, column::micros(expires_at), keep)
        })
        .await
    }

    async fn turns(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        limit: usize,
    ) -> Result<Vec<Turn>, StoreError> {
        let (tenant, session) = (tenant.clone(), session.clone());
        self.read(move |connection| {
            let mut newest_first = rows(
                "reading the turns of a session",
                connection,
                "SELECT request_id, at, input, output
                 FROM turn JOIN session USING (session_key)
                 WHERE tenant_id = ?1 AND session_id = ?2
                 ORDER BY turn_key DESC LIMIT ?3",
                params![tenant.as_str(), session.as_str(), column::limit(limit)],
                turn,
            )?;
            newest_first.reverse();
            Ok(newest_first)
        })
        .await
    }

    async fn sweep_sessions(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.sweep(
            "DELETE FROM session WHERE session_key IN
             (SELECT session_key FROM session WHERE expires_at <= ?1 LIMIT ?2)",
            column::micros(now),
        )
        .await
    }
}
