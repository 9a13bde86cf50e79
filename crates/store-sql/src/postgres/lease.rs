//! Leases in PostgreSQL. Acquiring or checking a lease locks its row, so that a fenced write and a takeover are
//! serialised.

use std::collections::HashSet;

use async_trait::async_trait;
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::lease::{Fence, Lease, Leases};
use deadpool_postgres::{GenericClient, Transaction};

use super::PostgresStore;
use super::connection::RowScope;
use super::statement::{execute, params, row, rows};
use crate::column;
use crate::row::{Columns, field};

const READING: &str = "reading a lease";
const WRITING: &str = "writing a lease";

/// Refuses a write under any fence but the current one (0 when the resource was never leased), and keeps it current
/// until the transaction ends.
pub(super) async fn check_fence(
    connection: &Transaction<'_>,
    resource: &str,
    fence: Fence,
) -> Result<(), StoreError> {
    if fence == Fence(0) {
        // A row that does not exist cannot be locked, so create one with fence 0 and no holder, which is equivalent.
        execute(
            WRITING,
            connection,
            "INSERT INTO lease (resource, holder, fence, expires_at) VALUES ($1, NULL, 0, 0)
             ON CONFLICT DO NOTHING",
            params![resource],
        )
        .await?;
    }
    let current = row(
        READING,
        connection,
        "SELECT fence FROM lease WHERE resource = $1 FOR UPDATE",
        params![resource],
        first_fence,
    )
    .await?
    .unwrap_or(Fence(0));
    if current == fence {
        Ok(())
    } else {
        Err(fenced_off(resource, fence, current))
    }
}

fn first_fence(row: &dyn Columns) -> Result<Fence, StoreError> {
    column::parse_integer("fence", field(row, 0)?).map(Fence)
}

fn fenced_off(resource: &str, held: Fence, current: Fence) -> StoreError {
    StoreError::FencedOff {
        resource: resource.to_owned(),
        held: held.0,
        current: current.0,
    }
}

/// Releases the lease that a write was made under, in the same transaction.
pub(super) async fn release_fence(
    connection: &Transaction<'_>,
    resource: &str,
    fence: Fence,
) -> Result<(), StoreError> {
    execute(
        WRITING,
        connection,
        "UPDATE lease SET holder = NULL WHERE resource = $1 AND fence = $2",
        params![resource, column::integer("fence", fence.0)?],
    )
    .await
    .map(|_| ())
}

/// Acquires a resource unless another holder's lease on it is live: one statement, which decides by the row's state
/// when it gets the lock.
pub(super) async fn acquire(
    connection: &impl GenericClient,
    resource: &str,
    holder: &str,
    now: Timestamp,
    expires_at: Timestamp,
) -> Result<Option<Lease>, StoreError> {
    let fence = row(
        WRITING,
        connection,
        "INSERT INTO lease AS held (resource, holder, fence, expires_at) VALUES ($1, $2, 1, $4)
         ON CONFLICT (resource) DO UPDATE SET
             fence = held.fence + CASE WHEN held.holder = $2 AND held.expires_at > $3 THEN 0 ELSE 1 END,
             holder = excluded.holder, expires_at = excluded.expires_at
         WHERE held.holder IS NULL OR held.expires_at <= $3 OR held.holder = $2
         RETURNING fence",
        params![resource, holder, column::micros(now), column::micros(expires_at)],
        first_fence,
    )
    .await?;
    Ok(fence.map(|fence| Lease {
        resource: resource.to_owned(),
        holder: holder.to_owned(),
        fence,
        expires_at,
    }))
}

#[async_trait]
impl Leases for PostgresStore {
    async fn acquire(
        &self,
        resource: &str,
        holder: &str,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<Option<Lease>, StoreError> {
        let client = self.client(RowScope::Everyone).await?;
        acquire(&client, resource, holder, now, expires_at).await
    }

    async fn renew(
        &self,
        holder: &str,
        resources: &[String],
        expires_at: Timestamp,
    ) -> Result<Vec<String>, StoreError> {
        let client = self.client_in_time().await?;
        // Locked in one order, so that two concurrent renewals do not deadlock.
        let held: Vec<String> = rows(
            WRITING,
            &client,
            "WITH held AS (
                 SELECT resource FROM lease WHERE holder = $1 AND resource = ANY($2)
                 ORDER BY resource FOR UPDATE
             )
             UPDATE lease SET expires_at = $3 FROM held
             WHERE lease.resource = held.resource RETURNING lease.resource",
            params![holder, resources, column::micros(expires_at)],
            |row| field(row, 0),
        )
        .await?;
        let held: HashSet<String> = held.into_iter().collect();
        let lost = resources
            .iter()
            .filter(|resource| !held.contains(*resource));
        Ok(lost.cloned().collect())
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let client = self.client(RowScope::Everyone).await?;
        execute(
            WRITING,
            &client,
            "UPDATE lease SET holder = NULL WHERE resource = $1 AND fence = $2 AND holder = $3",
            params![
                lease.resource,
                column::integer("fence", lease.fence.0)?,
                lease.holder
            ],
        )
        .await
        .map(|_| ())
    }
}
