//! Console sessions.

use async_trait::async_trait;
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::connected_account::SealedSecret;
use charter_store::console_session::{ConsoleSession, ConsoleSessionHash, ConsoleSessions};

use crate::column;
use crate::row::{Columns, field};
use crate::store::{Access, RowScope, SqlEngine, SqlStore, sweep};
use crate::tx::{Tx, execute, params, row, rows};

const READING: &str = "reading a console session";
const WRITING: &str = "writing a console session";
const VERSION: &str = "version of a console session";

/// The columns of [`record`].
const RECORD: &str =
    "hash, tenant_id, user_id, key_id, sealed, created_at, ends_at, expires_at, version";

fn record(row: &dyn Columns) -> Result<ConsoleSession, StoreError> {
    Ok(ConsoleSession {
        hash: ConsoleSessionHash(column::parse_hash(
            "hash of a console session",
            field(row, 0)?,
        )?),
        tenant_id: column::parse("tenant id", field(row, 1)?)?,
        user_id: column::parse("user id", field(row, 2)?)?,
        secret: SealedSecret {
            key_id: field(row, 3)?,
            sealed: field(row, 4)?,
        },
        created_at: column::parse_micros(field(row, 5)?)?,
        ends_at: column::parse_micros(field(row, 6)?)?,
        expires_at: column::parse_micros(field(row, 7)?)?,
        version: column::parse_integer(VERSION, field(row, 8)?)?,
    })
}

async fn open(
    tx: &mut Tx<'_>,
    session: &ConsoleSession,
    most: i64,
) -> Result<Vec<ConsoleSession>, StoreError> {
    let added = execute(
        WRITING,
        tx,
        "INSERT INTO console_session (tenant_id, hash, user_id, key_id, sealed, created_at, ends_at, expires_at,
                                      version)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1) ON CONFLICT DO NOTHING",
        params![
            session.tenant_id.as_str(),
            &session.hash.0[..],
            session.user_id.as_str(),
            session.secret.key_id.as_str(),
            &session.secret.sealed[..],
            column::micros(session.created_at),
            column::micros(session.ends_at),
            column::micros(session.expires_at)
        ],
    )
    .await?;
    if added == 0 {
        return Err(StoreError::AlreadyExists {
            what: "console session",
            id: "of this hash".to_owned(),
        });
    }
    let sql = format!(
        "DELETE FROM console_session WHERE tenant_id = $1 AND user_id = $2 AND hash IN
         (SELECT hash FROM console_session WHERE tenant_id = $1 AND user_id = $2
          ORDER BY created_at DESC, hash DESC LIMIT 1000 OFFSET $3)
         RETURNING {RECORD}"
    );
    let values = params![session.tenant_id.as_str(), session.user_id.as_str(), most];
    rows(WRITING, tx, &sql, values, record).await
}

async fn renew(
    tx: &mut Tx<'_>,
    session: &ConsoleSession,
    secret: &SealedSecret,
) -> Result<(), StoreError> {
    let lock = tx.dialect().for_update();
    let sql =
        format!("SELECT version FROM console_session WHERE tenant_id = $1 AND hash = $2{lock}");
    let of_session = params![session.tenant_id.as_str(), &session.hash.0[..]];
    let found: Option<i64> = row(READING, tx, &sql, of_session, |row| field(row, 0)).await?;
    let found = column::parse_integer(VERSION, found.unwrap_or(0))?;
    if found != session.version {
        return Err(StoreError::VersionConflict {
            what: "console session",
            id: session.user_id.to_string(),
            expected: session.version,
            found,
        });
    }
    execute(
        WRITING,
        tx,
        "UPDATE console_session SET key_id = $3, sealed = $4, version = version + 1
         WHERE tenant_id = $1 AND hash = $2",
        params![
            session.tenant_id.as_str(),
            &session.hash.0[..],
            secret.key_id.as_str(),
            &secret.sealed[..]
        ],
    )
    .await
    .map(|_| ())
}

async fn end(tx: &mut Tx<'_>, session: &ConsoleSession) -> Result<u64, StoreError> {
    execute(
        WRITING,
        tx,
        "DELETE FROM console_session WHERE tenant_id = $1 AND hash = $2",
        params![session.tenant_id.as_str(), &session.hash.0[..]],
    )
    .await
}

#[async_trait]
impl<E: SqlEngine> ConsoleSessions for SqlStore<E> {
    async fn open_console_session(
        &self,
        session: &ConsoleSession,
        most: usize,
    ) -> Result<Vec<ConsoleSession>, StoreError> {
        let scope = RowScope::Tenant(&session.tenant_id);
        let most = column::limit(most);
        self.engine
            .run(Access::Write, scope, session.clone(), move |tx, session| {
                Box::pin(open(tx, session, most))
            })
            .await
    }

    async fn console_session(
        &self,
        hash: &ConsoleSessionHash,
    ) -> Result<Option<ConsoleSession>, StoreError> {
        let sql = format!("SELECT {RECORD} FROM console_session WHERE hash = $1");
        let values = params![&hash.0[..]];
        self.engine
            .row(RowScope::Everyone, READING, &sql, values, record)
            .await
    }

    async fn renew_console_session(
        &self,
        session: &ConsoleSession,
        secret: &SealedSecret,
    ) -> Result<(), StoreError> {
        let scope = RowScope::Tenant(&session.tenant_id);
        let values = (session.clone(), secret.clone());
        self.engine
            .run(Access::Write, scope, values, |tx, (session, secret)| {
                Box::pin(renew(tx, session, secret))
            })
            .await
    }

    async fn extend_console_session(
        &self,
        session: &ConsoleSession,
        ends_at: Timestamp,
    ) -> Result<(), StoreError> {
        let ends_at = column::micros(ends_at);
        self.engine
            .execute(
                RowScope::Tenant(&session.tenant_id),
                WRITING,
                "UPDATE console_session SET ends_at = $3 WHERE tenant_id = $1 AND hash = $2 AND ends_at < $3",
                params![session.tenant_id.as_str(), &session.hash.0[..], ends_at],
            )
            .await
            .map(|_| ())
    }

    async fn end_console_session(&self, session: &ConsoleSession) -> Result<bool, StoreError> {
        let scope = RowScope::Tenant(&session.tenant_id);
        let deleted = self
            .engine
            .run(Access::Removal, scope, session.clone(), |tx, session| {
                Box::pin(end(tx, session))
            })
            .await?;
        Ok(deleted > 0)
    }

    async fn sweep_console_sessions(&self, now: Timestamp) -> Result<u64, StoreError> {
        sweep(
            &self.engine,
            "DELETE FROM console_session WHERE (tenant_id, hash) IN
             (SELECT tenant_id, hash FROM console_session WHERE ends_at <= $1 LIMIT $2)",
            column::micros(now),
        )
        .await
    }
}
