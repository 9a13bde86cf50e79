//! Leases in SQLite.

use async_trait::async_trait;
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::lease::{Fence, Lease, Leases};
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::statement::{execute, row};
use crate::column;
use crate::row::field;

const READING: &str = "reading a lease";
const WRITING: &str = "writing a lease";

/// The fence of a resource's first lease.
pub(super) const FIRST: Fence = Fence(1);

/// A stored lease; a released one has no holder.
struct StoredLease {
    holder: Option<String>,
    fence: Fence,
    expires_at: i64,
}

fn held(connection: &Connection, resource: &str) -> Result<Option<StoredLease>, StoreError> {
    row(
        READING,
        connection,
        "SELECT holder, fence, expires_at FROM lease WHERE resource = ?1",
        [resource],
        |row| {
            Ok(StoredLease {
                holder: field(row, 0)?,
                fence: Fence(column::parse_integer("fence", field(row, 1)?)?),
                expires_at: field(row, 2)?,
            })
        },
    )
}

/// Refuses a write under any fence but the current one (0 when the resource was never leased).
pub(super) fn check_fence(
    connection: &Connection,
    resource: &str,
    fence: Fence,
) -> Result<(), StoreError> {
    let current = held(connection, resource)?.map_or(Fence(0), |held| held.fence);
    if current == fence {
        Ok(())
    } else {
        Err(fenced_off(resource, fence, current))
    }
}

fn fenced_off(resource: &str, held: Fence, current: Fence) -> StoreError {
    StoreError::FencedOff {
        resource: resource.to_owned(),
        held: held.0,
        current: current.0,
    }
}

fn store(connection: &Connection, lease: &Lease) -> Result<(), StoreError> {
    execute(
        WRITING,
        connection,
        "INSERT INTO lease (resource, holder, fence, expires_at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (resource) DO UPDATE
         SET holder = excluded.holder, fence = excluded.fence, expires_at = excluded.expires_at",
        params![
            lease.resource,
            lease.holder,
            column::integer("fence", lease.fence.0)?,
            column::micros(lease.expires_at)
        ],
    )
    .map(|_| ())
}

/// Releases every lease, of resources and of requests. Fences stay, so the next holder's fence rejects an old holder
/// that is still alive.
pub(super) fn release_all(connection: &Connection) -> Result<(), StoreError> {
    let sql = "UPDATE lease SET holder = NULL WHERE holder IS NOT NULL";
    execute(WRITING, connection, sql, [])?;
    let sql = "UPDATE request SET holder = NULL, held_until = NULL
               WHERE answer IS NULL AND holder IS NOT NULL";
    execute(WRITING, connection, sql, []).map(|_| ())
}

/// Releases the lease that a write was made under, in the same transaction.
pub(super) fn release_fence(
    connection: &Connection,
    resource: &str,
    fence: Fence,
) -> Result<(), StoreError> {
    execute(
        WRITING,
        connection,
        "UPDATE lease SET holder = NULL WHERE resource = ?1 AND fence = ?2",
        params![resource, column::integer("fence", fence.0)?],
    )
    .map(|_| ())
}

/// Acquires a resource unless another holder's lease on it is live; `wanted` has the first fence.
pub(super) fn acquire(
    connection: &Connection,
    mut wanted: Lease,
    now: i64,
) -> Result<Option<Lease>, StoreError> {
    if let Some(held) = held(connection, &wanted.resource)? {
        let live = held.holder.is_some() && held.expires_at > now;
        let own = held.holder.as_deref() == Some(wanted.holder.as_str());
        wanted.fence = match (live, own) {
            (true, true) => held.fence,
            (true, false) => return Ok(None),
            (false, true | false) => Fence(held.fence.0 + 1),
        };
    }
    store(connection, &wanted)?;
    Ok(Some(wanted))
}

#[async_trait]
impl Leases for SqliteStore {
    async fn acquire(
        &self,
        resource: &str,
        holder: &str,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<Option<Lease>, StoreError> {
        let wanted = Lease {
            resource: resource.to_owned(),
            holder: holder.to_owned(),
            fence: FIRST,
            expires_at,
        };
        self.write(move |connection| acquire(connection, wanted, column::micros(now)))
            .await
    }

    async fn renew(
        &self,
        holder: &str,
        resources: &[String],
        expires_at: Timestamp,
    ) -> Result<Vec<String>, StoreError> {
        let (holder, resources) = (holder.to_owned(), resources.to_vec());
        let expires_at = column::micros(expires_at);
        self.write(move |connection| {
            let mut lost = Vec::new();
            for resource in resources {
                let renewed = execute(
                    WRITING,
                    connection,
                    "UPDATE lease SET expires_at = ?3 WHERE resource = ?1 AND holder = ?2",
                    params![resource, holder, expires_at],
                )?;
                if renewed == 0 {
                    lost.push(resource);
                }
            }
            Ok(lost)
        })
        .await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let lease = lease.clone();
        self.write(move |connection| {
            execute(
                WRITING,
                connection,
                "UPDATE lease SET holder = NULL
                 WHERE resource = ?1 AND fence = ?2 AND holder = ?3",
                params![
                    lease.resource,
                    column::integer("fence", lease.fence.0)?,
                    lease.holder
                ],
            )
            .map(|_| ())
        })
        .await
    }
}
