//! Connected accounts.

use async_trait::async_trait;
use charter_contract::ids::{Label, TenantId, UserId};
use charter_store::StoreError;
use charter_store::connected_account::{
    AccountKey, AccountRenewal, ConnectedAccount, ConnectedAccounts, SealedSecret,
};
use charter_store::outbox::NewMessage;
use charter_store::page::{Page, PageRequest};

use crate::column::{self, Cursor};
use crate::outbox;
use crate::row::{Columns, field};
use crate::store::{Access, RowScope, SqlEngine, SqlStore};
use crate::tx::{Tx, execute, params, row};

const READING: &str = "reading a connected account";
const WRITING: &str = "writing a connected account";
const VERSION: &str = "version of a connected account";

/// The columns of [`record`].
const RECORD: &str =
    "tenant_id, credential, user_id, key_id, sealed, connected_at, changed_at, expires_at, version";

fn record(row: &dyn Columns) -> Result<ConnectedAccount, StoreError> {
    let expires_at: Option<i64> = field(row, 7)?;
    Ok(ConnectedAccount {
        key: AccountKey {
            tenant_id: column::parse("tenant id", field(row, 0)?)?,
            credential: column::parse("name of a credential", field(row, 1)?)?,
            user_id: column::parse("user id", field(row, 2)?)?,
        },
        secret: SealedSecret {
            key_id: field(row, 3)?,
            sealed: field(row, 4)?,
        },
        connected_at: column::parse_micros(field(row, 5)?)?,
        changed_at: column::parse_micros(field(row, 6)?)?,
        expires_at: expires_at.map(column::parse_micros).transpose()?,
        version: column::parse_integer(VERSION, field(row, 8)?)?,
    })
}

async fn connect(
    tx: &mut Tx<'_>,
    account: &ConnectedAccount,
    messages: &[NewMessage],
) -> Result<u64, StoreError> {
    let key = &account.key;
    let version: Option<i64> = row(
        WRITING,
        tx,
        "INSERT INTO connected_account (tenant_id, credential, user_id, key_id, sealed, connected_at, changed_at,
                                        expires_at, version)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1)
         ON CONFLICT (tenant_id, user_id, credential) DO UPDATE
         SET key_id = excluded.key_id, sealed = excluded.sealed, connected_at = excluded.connected_at,
             changed_at = excluded.changed_at, expires_at = excluded.expires_at,
             version = connected_account.version + 1
         RETURNING version",
        params![
            key.tenant_id.as_str(),
            key.credential.as_str(),
            key.user_id.as_str(),
            account.secret.key_id.as_str(),
            &account.secret.sealed[..],
            column::micros(account.connected_at),
            column::micros(account.changed_at),
            account.expires_at.map(column::micros)
        ],
        |row| field(row, 0),
    )
    .await?;
    outbox::insert(tx, messages).await?;
    column::parse_integer(VERSION, version.unwrap_or(1))
}

async fn renew(
    tx: &mut Tx<'_>,
    key: &AccountKey,
    renewal: &AccountRenewal,
) -> Result<(), StoreError> {
    let lock = tx.dialect().for_update();
    let sql = format!(
        "SELECT version FROM connected_account WHERE tenant_id = $1 AND credential = $2 AND user_id = $3{lock}"
    );
    let of_account = params![
        key.tenant_id.as_str(),
        key.credential.as_str(),
        key.user_id.as_str()
    ];
    let found: Option<i64> = row(READING, tx, &sql, of_account, |row| field(row, 0)).await?;
    let found = column::parse_integer(VERSION, found.unwrap_or(0))?;
    if found != renewal.expected {
        return Err(StoreError::VersionConflict {
            what: "connected account",
            id: key.credential.to_string(),
            expected: renewal.expected,
            found,
        });
    }
    execute(
        WRITING,
        tx,
        "UPDATE connected_account
         SET key_id = $4, sealed = $5, changed_at = $6, expires_at = $7, version = version + 1
         WHERE tenant_id = $1 AND credential = $2 AND user_id = $3",
        params![
            key.tenant_id.as_str(),
            key.credential.as_str(),
            key.user_id.as_str(),
            renewal.secret.key_id.as_str(),
            &renewal.secret.sealed[..],
            column::micros(renewal.at),
            renewal.expires_at.map(column::micros)
        ],
    )
    .await
    .map(|_| ())
}

async fn disconnect(
    tx: &mut Tx<'_>,
    key: &AccountKey,
    messages: &[NewMessage],
) -> Result<bool, StoreError> {
    let deleted = execute(
        WRITING,
        tx,
        "DELETE FROM connected_account WHERE tenant_id = $1 AND credential = $2 AND user_id = $3",
        params![
            key.tenant_id.as_str(),
            key.credential.as_str(),
            key.user_id.as_str()
        ],
    )
    .await?;
    if deleted == 0 {
        return Ok(false);
    }
    outbox::insert(tx, messages).await?;
    Ok(true)
}

#[async_trait]
impl<E: SqlEngine> ConnectedAccounts for SqlStore<E> {
    async fn connect_account(
        &self,
        account: &ConnectedAccount,
        messages: Vec<NewMessage>,
    ) -> Result<u64, StoreError> {
        let count = messages.len();
        let scope = RowScope::Tenant(&account.key.tenant_id);
        let values = (account.clone(), messages);
        let version = self
            .engine
            .run(Access::Write, scope, values, |tx, (account, messages)| {
                Box::pin(connect(tx, account, messages))
            })
            .await?;
        self.engine.announce(count);
        Ok(version)
    }

    async fn account(&self, key: &AccountKey) -> Result<Option<ConnectedAccount>, StoreError> {
        let sql = format!(
            "SELECT {RECORD} FROM connected_account WHERE tenant_id = $1 AND credential = $2 AND user_id = $3"
        );
        let values = params![
            key.tenant_id.as_str(),
            key.credential.as_str(),
            key.user_id.as_str()
        ];
        let scope = RowScope::Tenant(&key.tenant_id);
        self.engine.row(scope, READING, &sql, values, record).await
    }

    async fn accounts_of_user(
        &self,
        tenant: &TenantId,
        user: &UserId,
    ) -> Result<Vec<ConnectedAccount>, StoreError> {
        let sql = format!(
            "SELECT {RECORD} FROM connected_account WHERE tenant_id = $1 AND user_id = $2 ORDER BY credential"
        );
        let values = params![tenant.as_str(), user.as_str()];
        let scope = RowScope::Tenant(tenant);
        self.engine.rows(scope, READING, &sql, values, record).await
    }

    async fn accounts_of_credential(
        &self,
        tenant: &TenantId,
        credential: &Label,
        page: &PageRequest,
    ) -> Result<Page<ConnectedAccount>, StoreError> {
        let (at, id) = column::after(page)?;
        let entries = self
            .engine
            .rows(
                RowScope::Tenant(tenant),
                "listing connected accounts",
                &format!(
                    "SELECT {RECORD} FROM connected_account
                     WHERE tenant_id = $1 AND credential = $2 AND (connected_at, user_id) < ($3, $4)
                     ORDER BY connected_at DESC, user_id DESC LIMIT $5"
                ),
                params![
                    tenant.as_str(),
                    credential.as_str(),
                    at,
                    id,
                    column::limit(page.limit() + 1)
                ],
                record,
            )
            .await?;
        Ok(column::page(entries, page, |account| Cursor {
            at: column::micros(account.connected_at),
            id: account.key.user_id.to_string(),
        }))
    }

    async fn renew_account(
        &self,
        key: &AccountKey,
        renewal: &AccountRenewal,
    ) -> Result<(), StoreError> {
        let scope = RowScope::Tenant(&key.tenant_id);
        let values = (key.clone(), renewal.clone());
        self.engine
            .run(Access::Write, scope, values, |tx, (key, renewal)| {
                Box::pin(renew(tx, key, renewal))
            })
            .await
    }

    async fn disconnect_account(
        &self,
        key: &AccountKey,
        messages: Vec<NewMessage>,
    ) -> Result<bool, StoreError> {
        let count = messages.len();
        let scope = RowScope::Tenant(&key.tenant_id);
        let values = (key.clone(), messages);
        let deleted = self
            .engine
            .run(Access::Removal, scope, values, |tx, (key, messages)| {
                Box::pin(disconnect(tx, key, messages))
            })
            .await?;
        if deleted {
            self.engine.announce(count);
        }
        Ok(deleted)
    }

    async fn accounts_sealed_otherwise(
        &self,
        key_id: &str,
        limit: usize,
    ) -> Result<Vec<ConnectedAccount>, StoreError> {
        let sql = format!(
            "SELECT {RECORD} FROM connected_account WHERE key_id < $1 OR key_id > $1
             ORDER BY key_id LIMIT $2"
        );
        let values = params![key_id, column::limit(limit)];
        self.engine
            .rows(RowScope::Everyone, READING, &sql, values, record)
            .await
    }
}
