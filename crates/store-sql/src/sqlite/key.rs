//! API keys in SQLite.

use async_trait::async_trait;
use charter_contract::ids::{KeyId, TenantId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::key::{KeyHash, KeyPresence, KeyRecord, Keys, Revocation};
use charter_store::outbox::NewMessage;
use charter_store::page::{Page, PageRequest};
use rusqlite::{Connection, params};

use super::statement::{execute, row, rows};
use super::{SqliteStore, outbox};
use crate::column::{self, Cursor};
use crate::record::key::{
    RECORD, exists, kept, makers, record, refused, replaced, rights, unknown,
};
use crate::row::field;

const READING: &str = "reading a key";
const WRITING: &str = "writing a key";

fn insert(connection: &Connection, key: &KeyRecord) -> Result<usize, StoreError> {
    execute(
        WRITING,
        connection,
        "INSERT INTO api_key (tenant_id, key_id, name, hash, user_id, rights, created_by, created_at,
                              expires_at, rotated_from, makers)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT DO NOTHING",
        params![
            key.tenant_id.as_str(),
            key.key_id.as_str(),
            key.name.as_str(),
            key.hash.0,
            key.user_id.as_str(),
            rights(key)?,
            key.created_by.as_str(),
            column::micros(key.created_at),
            key.expires_at.map(column::micros),
            key.rotated_from.as_ref().map(KeyId::as_str),
            makers(key)?
        ],
    )
}

fn find(
    connection: &Connection,
    tenant: &TenantId,
    key: &KeyId,
) -> Result<Option<KeyRecord>, StoreError> {
    row(
        READING,
        connection,
        &format!("SELECT {RECORD} FROM api_key WHERE tenant_id = ?1 AND key_id = ?2"),
        [tenant.as_str(), key.as_str()],
        record,
    )
}

fn rotate(
    connection: &Connection,
    new: &KeyRecord,
    end: Timestamp,
    messages: &[NewMessage],
) -> Result<(), StoreError> {
    let old = replaced(new)?;
    let found = find(connection, &new.tenant_id, old)?.ok_or_else(|| unknown(old))?;
    if !found.is_live(new.created_at) {
        return Err(refused(old, "it has ended"));
    }
    if insert(connection, new)? == 0 {
        return Err(refused(old, "another key replaced it"));
    }
    execute(
        WRITING,
        connection,
        "UPDATE api_key SET expires_at = min(coalesce(expires_at, ?3), ?3)
         WHERE tenant_id = ?1 AND key_id = ?2",
        params![new.tenant_id.as_str(), old.as_str(), column::micros(end)],
    )?;
    outbox::insert(connection, messages)
}

fn revoke(
    connection: &Connection,
    tenant: &TenantId,
    key: &KeyId,
    revocation: &Revocation,
    messages: &[NewMessage],
) -> Result<bool, StoreError> {
    let revoked = execute(
        WRITING,
        connection,
        "UPDATE api_key SET revoked_at = ?3, revoked_by = ?4
         WHERE tenant_id = ?1 AND key_id = ?2 AND revoked_at IS NULL",
        params![
            tenant.as_str(),
            key.as_str(),
            column::micros(revocation.at),
            revocation.by.as_str()
        ],
    )?;
    if revoked > 0 {
        return outbox::insert(connection, messages).map(|()| true);
    }
    match find(connection, tenant, key)? {
        Some(_) => Ok(false),
        None => Err(unknown(key)),
    }
}

#[async_trait]
impl Keys for SqliteStore {
    async fn create_key(
        &self,
        key: &KeyRecord,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError> {
        let key = key.clone();
        self.write(move |connection| {
            if insert(connection, &key)? == 0 {
                return Err(exists(&key));
            }
            outbox::insert(connection, &messages)
        })
        .await
    }

    async fn key(&self, tenant: &TenantId, key: &KeyId) -> Result<Option<KeyRecord>, StoreError> {
        let (tenant, key) = (tenant.clone(), key.clone());
        self.read(move |connection| find(connection, &tenant, &key))
            .await
    }

    async fn key_of_hash(&self, hash: &KeyHash) -> Result<Option<KeyRecord>, StoreError> {
        let hash = *hash;
        self.read(move |connection| {
            row(
                READING,
                connection,
                &format!("SELECT {RECORD} FROM api_key WHERE hash = ?1"),
                [hash.0],
                record,
            )
        })
        .await
    }

    async fn keys(
        &self,
        tenant: &TenantId,
        page: &PageRequest,
    ) -> Result<Page<KeyRecord>, StoreError> {
        let (tenant, page) = (tenant.clone(), page.clone());
        self.read(move |connection| {
            let (at, id) = column::after(&page)?;
            let entries = rows(
                "listing keys",
                connection,
                &format!(
                    "SELECT {RECORD} FROM api_key WHERE tenant_id = ?1 AND (created_at, key_id) < (?2, ?3)
                     ORDER BY created_at DESC, key_id DESC LIMIT ?4"
                ),
                params![tenant.as_str(), at, id, column::limit(page.limit() + 1)],
                record,
            )?;
            Ok(column::page(entries, &page, place))
        })
        .await
    }

    async fn rotate_key(
        &self,
        new: &KeyRecord,
        end: Timestamp,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError> {
        let new = new.clone();
        self.write(move |connection| rotate(connection, &new, end, &messages))
            .await
    }

    async fn revoke_key(
        &self,
        tenant: &TenantId,
        key: &KeyId,
        revocation: &Revocation,
        messages: Vec<NewMessage>,
    ) -> Result<bool, StoreError> {
        let (tenant, key, revocation) = (tenant.clone(), key.clone(), revocation.clone());
        self.write(move |connection| revoke(connection, &tenant, &key, &revocation, &messages))
            .await
    }

    async fn note_key_use(
        &self,
        tenant: &TenantId,
        key: &KeyId,
        at: Timestamp,
        unless_after: Timestamp,
    ) -> Result<(), StoreError> {
        let (tenant, key) = (tenant.clone(), key.clone());
        self.write(move |connection| {
            execute(
                WRITING,
                connection,
                "UPDATE api_key SET last_used_at = ?3 WHERE tenant_id = ?1 AND key_id = ?2
                 AND (last_used_at IS NULL OR last_used_at < ?3 AND last_used_at <= ?4)",
                params![
                    tenant.as_str(),
                    key.as_str(),
                    column::micros(at),
                    column::micros(unless_after)
                ],
            )
            .map(|_| ())
        })
        .await
    }

    async fn key_tenants(&self) -> Result<Vec<TenantId>, StoreError> {
        self.read(|connection| {
            rows(
                "listing tenants that have keys",
                connection,
                "SELECT DISTINCT tenant_id FROM api_key ORDER BY tenant_id",
                [],
                |row| column::parse("tenant id", field(row, 0)?),
            )
        })
        .await
    }

    async fn keys_kept(&self, now: Timestamp) -> Result<KeyPresence, StoreError> {
        self.read(move |connection| {
            let found = row(
                READING,
                connection,
                "SELECT EXISTS (SELECT 1 FROM api_key),
                        EXISTS (SELECT 1 FROM api_key WHERE revoked_at IS NULL
                                AND (expires_at IS NULL OR expires_at > ?1))",
                [column::micros(now)],
                kept,
            )?;
            Ok(found.unwrap_or_default())
        })
        .await
    }
}

fn place(key: &KeyRecord) -> Cursor {
    Cursor {
        at: column::micros(key.created_at),
        id: key.key_id.to_string(),
    }
}
