//! Sessions and their turns.

use async_trait::async_trait;
use charter_contract::ids::{RequestId, SessionId, TenantId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::session::{SessionRecord, Sessions, Turn};

use crate::column;
use crate::row::{Columns, field};
use crate::store::{Access, RowScope, SqlEngine, SqlStore, sweep};
use crate::tx::{Tx, execute, params, row, rows};

const READING: &str = "reading a session";
const WRITING: &str = "writing a session";

/// Reads `request_id, at, input, output`.
fn turn(row: &dyn Columns) -> Result<Turn, StoreError> {
    Ok(Turn {
        request_id: column::parse::<RequestId>("request id", field(row, 0)?)?,
        at: column::parse_micros(field(row, 1)?)?,
        input: field(row, 2)?,
        output: field(row, 3)?,
    })
}

/// Reads `user_id, created_at, expires_at`.
fn record(
    row: &dyn Columns,
    tenant: &TenantId,
    session: &SessionId,
) -> Result<SessionRecord, StoreError> {
    Ok(SessionRecord {
        session_id: session.clone(),
        tenant_id: tenant.clone(),
        user_id: column::parse("user id", field(row, 0)?)?,
        created_at: column::parse_micros(field(row, 1)?)?,
        expires_at: column::parse_micros(field(row, 2)?)?,
    })
}

async fn insert(tx: &mut Tx<'_>, session: &SessionRecord) -> Result<(), StoreError> {
    let added = execute(
        WRITING,
        tx,
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

async fn find(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    session: &SessionId,
    now: i64,
) -> Result<Option<SessionRecord>, StoreError> {
    row(
        READING,
        tx,
        "SELECT user_id, created_at, expires_at FROM session
         WHERE tenant_id = $1 AND session_id = $2 AND expires_at > $3",
        params![tenant.as_str(), session.as_str(), now],
        |row| record(row, tenant, session),
    )
    .await
}

async fn append(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    session: &SessionId,
    turn: &Turn,
    expires_at: i64,
) -> Result<(), StoreError> {
    let at = column::micros(turn.at);
    let live = format!(
        "SELECT 1 FROM session WHERE tenant_id = $1 AND session_id = $2 AND expires_at > $3{}",
        tx.dialect().for_update()
    );
    let values = params![tenant.as_str(), session.as_str(), at];
    row(READING, tx, &live, values, |_| Ok(()))
        .await?
        .ok_or_else(|| StoreError::NotFound {
            what: "session",
            id: session.to_string(),
        })?;
    execute(
        WRITING,
        tx,
        "INSERT INTO turn (tenant_id, session_id, request_id, at, input, output)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (tenant_id, session_id, request_id) DO UPDATE
         SET at = excluded.at, input = excluded.input, output = excluded.output",
        params![
            tenant.as_str(),
            session.as_str(),
            turn.request_id.as_str(),
            at,
            &turn.input,
            turn.output.as_deref()
        ],
    )
    .await?;
    execute(
        WRITING,
        tx,
        "UPDATE session SET expires_at = CASE WHEN expires_at < $3 THEN $3 ELSE expires_at END
         WHERE tenant_id = $1 AND session_id = $2",
        params![tenant.as_str(), session.as_str(), expires_at],
    )
    .await
    .map(|_| ())
}

/// Deletes the oldest turns beyond `keep`.
async fn trim(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    session: &SessionId,
    keep: i64,
) -> Result<(), StoreError> {
    execute(
        WRITING,
        tx,
        "DELETE FROM turn WHERE tenant_id = $1 AND session_id = $2 AND position <=
         (SELECT position FROM turn WHERE tenant_id = $1 AND session_id = $2
          ORDER BY position DESC LIMIT 1 OFFSET $3)",
        params![tenant.as_str(), session.as_str(), keep],
    )
    .await
    .map(|_| ())
}

async fn newest_turns(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    session: &SessionId,
    limit: i64,
) -> Result<Vec<Turn>, StoreError> {
    let mut turns = rows(
        "reading the turns of a session",
        tx,
        "SELECT request_id, at, input, output FROM turn
         WHERE tenant_id = $1 AND session_id = $2 ORDER BY position DESC LIMIT $3",
        params![tenant.as_str(), session.as_str(), limit],
        turn,
    )
    .await?;
    turns.reverse();
    Ok(turns)
}

#[async_trait]
impl<E: SqlEngine> Sessions for SqlStore<E> {
    async fn open_session(&self, session: &SessionRecord) -> Result<(), StoreError> {
        let scope = RowScope::Tenant(&session.tenant_id);
        self.engine
            .run(Access::Statement, scope, session.clone(), |tx, session| {
                Box::pin(insert(tx, session))
            })
            .await
    }

    async fn session(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        now: Timestamp,
    ) -> Result<Option<SessionRecord>, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), session.clone());
        let now = column::micros(now);
        self.engine
            .run(Access::Read, scope, values, move |tx, (tenant, session)| {
                Box::pin(find(tx, tenant, session, now))
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
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), session.clone(), turn.clone());
        let (expires_at, keep) = (column::micros(expires_at), column::limit(keep));
        self.engine
            .run(
                Access::Write,
                scope,
                values,
                move |tx, (tenant, session, turn)| {
                    Box::pin(async move {
                        append(tx, tenant, session, turn, expires_at).await?;
                        trim(tx, tenant, session, keep).await
                    })
                },
            )
            .await
    }

    async fn turns(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        limit: usize,
    ) -> Result<Vec<Turn>, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), session.clone());
        let limit = column::limit(limit);
        self.engine
            .run(Access::Read, scope, values, move |tx, (tenant, session)| {
                Box::pin(newest_turns(tx, tenant, session, limit))
            })
            .await
    }

    async fn sweep_sessions(&self, now: Timestamp) -> Result<u64, StoreError> {
        sweep(
            &self.engine,
            "DELETE FROM session WHERE (tenant_id, session_id) IN
             (SELECT tenant_id, session_id FROM session WHERE expires_at <= $1 LIMIT $2)",
            column::micros(now),
        )
        .await
    }
}
