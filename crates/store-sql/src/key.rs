//! API keys.

use async_trait::async_trait;
use charter_contract::ids::{KeyId, TenantId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::key::{KeyHash, KeyPresence, KeyRecord, Keys, Revocation};
use charter_store::outbox::NewMessage;
use charter_store::page::{Page, PageRequest};

use crate::column::{self, Cursor};
use crate::outbox;
use crate::row::{Columns, field};
use crate::store::{Access, RowScope, SqlEngine, SqlStore};
use crate::tx::{Tx, execute, params, row};

const READING: &str = "reading a key";
const WRITING: &str = "writing a key";

/// The columns of [`record`].
const RECORD: &str = "tenant_id, key_id, name, hash, user_id, rights, created_by, created_at, expires_at, \
     last_used_at, revoked_at, revoked_by, rotated_from, makers";

fn record(row: &dyn Columns) -> Result<KeyRecord, StoreError> {
    let id: String = field(row, 1)?;
    let time = |index| -> Result<_, StoreError> {
        let micros: Option<i64> = field(row, index)?;
        micros.map(column::parse_micros).transpose()
    };
    let revoked_by: Option<&str> = field(row, 11)?;
    let revoked = match (time(10)?, revoked_by) {
        (Some(at), Some(by)) => Some(Revocation {
            at,
            by: column::parse("user id", by)?,
        }),
        (None, _) | (_, None) => None,
    };
    let rotated_from: Option<&str> = field(row, 12)?;
    Ok(KeyRecord {
        tenant_id: column::parse("tenant id", field(row, 0)?)?,
        key_id: column::parse("key id", &id)?,
        name: column::parse("name of a key", field(row, 2)?)?,
        hash: KeyHash(column::parse_hash("hash of a key", field(row, 3)?)?),
        user_id: column::parse("user id", field(row, 4)?)?,
        rights: column::parse_json("key", &id, field(row, 5)?)?,
        created_by: column::parse("user id", field(row, 6)?)?,
        makers: column::parse_json("makers of a key", &id, field(row, 13)?)?,
        created_at: column::parse_micros(field(row, 7)?)?,
        expires_at: time(8)?,
        last_used_at: time(9)?,
        revoked,
        rotated_from: rotated_from
            .map(|id| column::parse("key id", id))
            .transpose()?,
    })
}

fn unknown(key: &KeyId) -> StoreError {
    StoreError::NotFound {
        what: "key",
        id: key.to_string(),
    }
}

fn refused(key: &KeyId, detail: &str) -> StoreError {
    StoreError::Refused {
        what: "key",
        id: key.to_string(),
        detail: detail.to_owned(),
    }
}

async fn insert(tx: &mut Tx<'_>, key: &KeyRecord) -> Result<u64, StoreError> {
    execute(
        WRITING,
        tx,
        "INSERT INTO api_key (tenant_id, key_id, name, hash, user_id, rights, created_by, created_at,
                              expires_at, rotated_from, makers)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING",
        params![
            key.tenant_id.as_str(),
            key.key_id.as_str(),
            key.name.as_str(),
            &key.hash.0[..],
            key.user_id.as_str(),
            column::json("key", key.key_id.as_str(), &key.rights)?,
            key.created_by.as_str(),
            column::micros(key.created_at),
            key.expires_at.map(column::micros),
            key.rotated_from.as_ref().map(KeyId::as_str),
            column::json("makers of a key", key.key_id.as_str(), &key.makers)?
        ],
    )
    .await
}

async fn create(
    tx: &mut Tx<'_>,
    key: &KeyRecord,
    messages: &[NewMessage],
) -> Result<(), StoreError> {
    if insert(tx, key).await? == 0 {
        return Err(StoreError::AlreadyExists {
            what: "key",
            id: key.key_id.to_string(),
        });
    }
    outbox::insert(tx, messages).await
}

async fn find(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    key: &KeyId,
    lock: &str,
) -> Result<Option<KeyRecord>, StoreError> {
    let sql = format!("SELECT {RECORD} FROM api_key WHERE tenant_id = $1 AND key_id = $2{lock}");
    let values = params![tenant.as_str(), key.as_str()];
    row(READING, tx, &sql, values, record).await
}

async fn rotate(
    tx: &mut Tx<'_>,
    new: &KeyRecord,
    end: i64,
    messages: &[NewMessage],
) -> Result<(), StoreError> {
    let old = new.rotated_from.as_ref();
    let old = old.ok_or_else(|| unknown(&new.key_id))?;
    let lock = tx.dialect().for_update();
    let found = find(tx, &new.tenant_id, old, lock).await?;
    let found = found.ok_or_else(|| unknown(old))?;
    if !found.is_live(new.created_at) {
        return Err(refused(old, "it has ended"));
    }
    if insert(tx, new).await? == 0 {
        return Err(refused(old, "another key replaced it"));
    }
    execute(
        WRITING,
        tx,
        "UPDATE api_key SET expires_at = CASE WHEN expires_at < $3 THEN expires_at ELSE $3 END
         WHERE tenant_id = $1 AND key_id = $2",
        params![new.tenant_id.as_str(), old.as_str(), end],
    )
    .await?;
    outbox::insert(tx, messages).await
}

async fn revoke(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    key: &KeyId,
    revocation: &Revocation,
    messages: &[NewMessage],
) -> Result<bool, StoreError> {
    let revoked = execute(
        WRITING,
        tx,
        "UPDATE api_key SET revoked_at = $3, revoked_by = $4
         WHERE tenant_id = $1 AND key_id = $2 AND revoked_at IS NULL",
        params![
            tenant.as_str(),
            key.as_str(),
            column::micros(revocation.at),
            revocation.by.as_str()
        ],
    )
    .await?;
    if revoked > 0 {
        return outbox::insert(tx, messages).await.map(|()| true);
    }
    let found = find(tx, tenant, key, "").await?;
    found.map(|_| false).ok_or_else(|| unknown(key))
}

#[async_trait]
impl<E: SqlEngine> Keys for SqlStore<E> {
    async fn create_key(
        &self,
        key: &KeyRecord,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError> {
        let count = messages.len();
        let scope = RowScope::Tenant(&key.tenant_id);
        let values = (key.clone(), messages);
        self.engine
            .run(Access::Write, scope, values, |tx, (key, messages)| {
                Box::pin(create(tx, key, messages))
            })
            .await?;
        self.engine.announce(count);
        Ok(())
    }

    async fn key(&self, tenant: &TenantId, key: &KeyId) -> Result<Option<KeyRecord>, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), key.clone());
        self.engine
            .run(Access::Read, scope, values, |tx, (tenant, key)| {
                Box::pin(find(tx, tenant, key, ""))
            })
            .await
    }

    async fn key_of_hash(&self, hash: &KeyHash) -> Result<Option<KeyRecord>, StoreError> {
        let sql = format!("SELECT {RECORD} FROM api_key WHERE hash = $1");
        let values = params![&hash.0[..]];
        self.engine
            .row(RowScope::Everyone, READING, &sql, values, record)
            .await
    }

    async fn keys(
        &self,
        tenant: &TenantId,
        page: &PageRequest,
    ) -> Result<Page<KeyRecord>, StoreError> {
        let (at, id) = column::after(page)?;
        let entries = self
            .engine
            .rows(
                RowScope::Tenant(tenant),
                "listing keys",
                &format!(
                    "SELECT {RECORD} FROM api_key
                     WHERE tenant_id = $1 AND (created_at, key_id) < ($2, $3)
                     ORDER BY created_at DESC, key_id DESC LIMIT $4"
                ),
                params![tenant.as_str(), at, id, column::limit(page.limit() + 1)],
                record,
            )
            .await?;
        Ok(column::page(entries, page, |key| Cursor {
            at: column::micros(key.created_at),
            id: key.key_id.to_string(),
        }))
    }

    async fn rotate_key(
        &self,
        new: &KeyRecord,
        end: Timestamp,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError> {
        let count = messages.len();
        let scope = RowScope::Tenant(&new.tenant_id);
        let values = (new.clone(), messages);
        let end = column::micros(end);
        self.engine
            .run(Access::Write, scope, values, move |tx, (new, messages)| {
                Box::pin(rotate(tx, new, end, messages))
            })
            .await?;
        self.engine.announce(count);
        Ok(())
    }

    async fn revoke_key(
        &self,
        tenant: &TenantId,
        key: &KeyId,
        revocation: &Revocation,
        messages: Vec<NewMessage>,
    ) -> Result<bool, StoreError> {
        let count = messages.len();
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), key.clone(), revocation.clone(), messages);
        let revoked = self
            .engine
            .run(
                Access::Write,
                scope,
                values,
                |tx, (tenant, key, revocation, messages)| {
                    Box::pin(revoke(tx, tenant, key, revocation, messages))
                },
            )
            .await?;
        if revoked {
            self.engine.announce(count);
        }
        Ok(revoked)
    }

    async fn note_key_use(
        &self,
        tenant: &TenantId,
        key: &KeyId,
        at: Timestamp,
        unless_after: Timestamp,
    ) -> Result<(), StoreError> {
        let (at, unless_after) = (column::micros(at), column::micros(unless_after));
        self.engine
            .execute(
                RowScope::Tenant(tenant),
                WRITING,
                "UPDATE api_key SET last_used_at = $3 WHERE tenant_id = $1 AND key_id = $2
                 AND (last_used_at IS NULL OR last_used_at < $3 AND last_used_at <= $4)",
                params![tenant.as_str(), key.as_str(), at, unless_after],
            )
            .await
            .map(|_| ())
    }

    async fn key_tenants(&self) -> Result<Vec<TenantId>, StoreError> {
        self.engine
            .rows(
                RowScope::Everyone,
                "listing tenants that have keys",
                "SELECT DISTINCT tenant_id FROM api_key ORDER BY tenant_id",
                params![],
                |row| column::parse("tenant id", field(row, 0)?),
            )
            .await
    }

    async fn keys_kept(&self, now: Timestamp) -> Result<KeyPresence, StoreError> {
        let found = self
            .engine
            .row(
                RowScope::Everyone,
                READING,
                "SELECT EXISTS (SELECT 1 FROM api_key),
                        EXISTS (SELECT 1 FROM api_key WHERE revoked_at IS NULL
                                AND (expires_at IS NULL OR expires_at > $1))",
                params![column::micros(now)],
                |row| Ok((field::<bool>(row, 0)?, field::<bool>(row, 1)?)),
            )
            .await?;
        Ok(match found {
            Some((_, true)) => KeyPresence::Live,
            Some((true, false)) => KeyPresence::Ended,
            Some((false, false)) | None => KeyPresence::None,
        })
    }
}
