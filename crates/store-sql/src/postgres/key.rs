//! API keys in PostgreSQL. A change of a key locks its row first.

use async_trait::async_trait;
use charter_contract::ids::{KeyId, TenantId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::key::{KeyHash, KeyPresence, KeyRecord, Keys, Revocation};
use charter_store::outbox::NewMessage;
use charter_store::page::{Page, PageRequest};
use deadpool_postgres::{GenericClient, Transaction};

use super::connection::{RowScope, in_transaction};
use super::statement::{execute, params, row, rows};
use super::{PostgresStore, outbox};
use crate::column::{self, Cursor};
use crate::record::key::{
    RECORD, exists, kept, makers, record, refused, replaced, rights, unknown,
};
use crate::row::field;

const READING: &str = "reading a key";
const WRITING: &str = "writing a key";

async fn insert(connection: &Transaction<'_>, key: &KeyRecord) -> Result<u64, StoreError> {
    execute(
        WRITING,
        connection,
        "INSERT INTO api_key (tenant_id, key_id, name, hash, user_id, rights, created_by, created_at,
                              expires_at, rotated_from, makers)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING",
        params![
            key.tenant_id.as_str(),
            key.key_id.as_str(),
            key.name.as_str(),
            &key.hash.0[..],
            key.user_id.as_str(),
            rights(key)?,
            key.created_by.as_str(),
            column::micros(key.created_at),
            key.expires_at.map(column::micros),
            key.rotated_from.as_ref().map(KeyId::as_str),
            makers(key)?
        ],
    )
    .await
}

async fn create(
    connection: &Transaction<'_>,
    key: &KeyRecord,
    messages: &[NewMessage],
) -> Result<(), StoreError> {
    if insert(connection, key).await? == 0 {
        return Err(exists(key));
    }
    outbox::insert(connection, messages).await
}

/// The purpose of a key's look-up.
enum For {
    Reading,
    Changing,
}

async fn find(
    connection: &impl GenericClient,
    why: For,
    tenant: &TenantId,
    key: &KeyId,
) -> Result<Option<KeyRecord>, StoreError> {
    let lock = match why {
        For::Reading => "",
        For::Changing => "FOR UPDATE",
    };
    let sql = format!("SELECT {RECORD} FROM api_key WHERE tenant_id = $1 AND key_id = $2 {lock}");
    let values = params![tenant.as_str(), key.as_str()];
    row(READING, connection, &sql, values, record).await
}

async fn rotate(
    connection: &Transaction<'_>,
    new: &KeyRecord,
    end: Timestamp,
    messages: &[NewMessage],
) -> Result<(), StoreError> {
    let old = replaced(new)?;
    let found = find(connection, For::Changing, &new.tenant_id, old).await?;
    let found = found.ok_or_else(|| unknown(old))?;
    if !found.is_live(new.created_at) {
        return Err(refused(old, "it has ended"));
    }
    if insert(connection, new).await? == 0 {
        return Err(refused(old, "another key replaced it"));
    }
    execute(
        WRITING,
        connection,
        "UPDATE api_key SET expires_at = least(coalesce(expires_at, $3), $3)
         WHERE tenant_id = $1 AND key_id = $2",
        params![new.tenant_id.as_str(), old.as_str(), column::micros(end)],
    )
    .await?;
    outbox::insert(connection, messages).await
}

async fn revoke(
    connection: &Transaction<'_>,
    tenant: &TenantId,
    key: &KeyId,
    revocation: &Revocation,
    messages: &[NewMessage],
) -> Result<bool, StoreError> {
    let found = find(connection, For::Changing, tenant, key).await?;
    if found.ok_or_else(|| unknown(key))?.revoked.is_some() {
        return Ok(false);
    }
    execute(
        WRITING,
        connection,
        "UPDATE api_key SET revoked_at = $3, revoked_by = $4 WHERE tenant_id = $1 AND key_id = $2",
        params![
            tenant.as_str(),
            key.as_str(),
            column::micros(revocation.at),
            revocation.by.as_str()
        ],
    )
    .await?;
    outbox::insert(connection, messages).await.map(|()| true)
}

#[async_trait]
impl Keys for PostgresStore {
    async fn create_key(
        &self,
        key: &KeyRecord,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError> {
        in_transaction!(self, RowScope::Tenant(&key.tenant_id), tx => create(&tx, key, &messages))?;
        self.announce(messages.len());
        Ok(())
    }

    async fn key(&self, tenant: &TenantId, key: &KeyId) -> Result<Option<KeyRecord>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        find(&client, For::Reading, tenant, key).await
    }

    async fn key_of_hash(&self, hash: &KeyHash) -> Result<Option<KeyRecord>, StoreError> {
        let client = self.client(RowScope::Everyone).await?;
        row(
            READING,
            &client,
            &format!("SELECT {RECORD} FROM api_key WHERE hash = $1"),
            params![&hash.0[..]],
            record,
        )
        .await
    }

    async fn keys(
        &self,
        tenant: &TenantId,
        page: &PageRequest,
    ) -> Result<Page<KeyRecord>, StoreError> {
        let (at, id) = column::after(page)?;
        let client = self.client(RowScope::Tenant(tenant)).await?;
        let entries = rows(
            "listing keys",
            &client,
            &format!(
                "SELECT {RECORD} FROM api_key WHERE tenant_id = $1 AND (created_at, key_id) < ($2, $3)
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
        in_transaction!(self, RowScope::Tenant(&new.tenant_id), tx => rotate(&tx, new, end, &messages))?;
        self.announce(messages.len());
        Ok(())
    }

    async fn revoke_key(
        &self,
        tenant: &TenantId,
        key: &KeyId,
        revocation: &Revocation,
        messages: Vec<NewMessage>,
    ) -> Result<bool, StoreError> {
        let revoked = in_transaction!(self, RowScope::Tenant(tenant), tx => revoke(&tx, tenant, key, revocation, &messages))?;
        if revoked {
            self.announce(messages.len());
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
        let client = self.client(RowScope::Tenant(tenant)).await?;
        execute(
            WRITING,
            &client,
            "UPDATE api_key SET last_used_at = $3 WHERE tenant_id = $1 AND key_id = $2
             AND (last_used_at IS NULL OR last_used_at < $3 AND last_used_at <= $4)",
            params![
                tenant.as_str(),
                key.as_str(),
                column::micros(at),
                column::micros(unless_after)
            ],
        )
        .await
        .map(|_| ())
    }

    async fn key_tenants(&self) -> Result<Vec<TenantId>, StoreError> {
        let client = self.client(RowScope::Everyone).await?;
        rows(
            "listing tenants that have keys",
            &client,
            "SELECT DISTINCT tenant_id FROM api_key ORDER BY tenant_id",
            params![],
            |row| column::parse("tenant id", field(row, 0)?),
        )
        .await
    }

    async fn keys_kept(&self, now: Timestamp) -> Result<KeyPresence, StoreError> {
        let client = self.client(RowScope::Everyone).await?;
        let found = row(
            READING,
            &client,
            "SELECT EXISTS (SELECT FROM api_key),
                    EXISTS (SELECT FROM api_key WHERE revoked_at IS NULL
                            AND (expires_at IS NULL OR expires_at > $1))",
            params![column::micros(now)],
            kept,
        )
        .await?;
        Ok(found.unwrap_or_default())
    }
}
