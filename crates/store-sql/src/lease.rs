//! Leases. Acquiring or checking a lease locks its row, so that a fenced write and a takeover are serialised.

use std::collections::HashSet;

use async_trait::async_trait;
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::lease::{Fence, Lease, Leases};

use crate::column;
use crate::row::{Columns, field};
use crate::store::{Access, RowScope, SqlEngine, SqlStore};
use crate::tx::{Tx, execute, execute_many, params, row, row_each, rows};

const READING: &str = "reading a lease";
const WRITING: &str = "writing a lease";

/// Reads `fence`.
fn fence(row: &dyn Columns) -> Result<Fence, StoreError> {
    column::parse_integer("fence", field(row, 0)?).map(Fence)
}

/// Refuses a fence that is not the current one.
pub(crate) fn check_fence(resource: &str, held: Fence, current: Fence) -> Result<(), StoreError> {
    if current == held {
        return Ok(());
    }
    Err(StoreError::FencedOff {
        resource: resource.to_owned(),
        held: held.0,
        current: current.0,
    })
}

/// Locks the leases of resources in this order until the transaction ends. Refuses each fence that is not the current
/// one; the current fence of a resource that was never leased is 0.
pub(crate) async fn check_fences(
    tx: &mut Tx<'_>,
    leases: &[(&str, Fence)],
) -> Result<Vec<Result<(), StoreError>>, StoreError> {
    let mut resources = Vec::with_capacity(leases.len());
    let mut never_leased = Vec::new();
    for (resource, held) in leases {
        resources.push(params![*resource].to_vec());
        if *held == Fence(0) {
            never_leased.push(params![*resource].to_vec());
        }
    }
    // A row that does not exist cannot be locked, so create one with fence 0 and no holder, which is equivalent.
    execute_many(
        WRITING,
        tx,
        "INSERT INTO lease (resource, holder, fence, expires_at) VALUES ($1, NULL, 0, 0)
         ON CONFLICT DO NOTHING",
        &never_leased,
    )
    .await?;
    let for_update = tx.dialect().for_update();
    let sql = format!("SELECT fence FROM lease WHERE resource = $1{for_update}");
    let fences = row_each(READING, tx, &sql, &resources, fence).await?;
    let checked = leases
        .iter()
        .zip(fences)
        .map(|((resource, held), current)| {
            check_fence(resource, *held, current.unwrap_or(Fence(0)))
        });
    Ok(checked.collect())
}

/// Releases the leases that writes were made under, in the same transaction.
pub(crate) async fn release_fences(
    tx: &mut Tx<'_>,
    leases: &[(&str, Fence)],
) -> Result<(), StoreError> {
    let mut released = Vec::with_capacity(leases.len());
    for (resource, fence) in leases {
        released.push(params![*resource, column::integer("fence", fence.0)?].to_vec());
    }
    execute_many(
        WRITING,
        tx,
        "UPDATE lease SET holder = NULL WHERE resource = $1 AND fence = $2",
        &released,
    )
    .await
    .map(|_| ())
}

/// Releases every lease, of resources and of requests. Fences stay, so the next holder's fence rejects an old holder
/// that is still alive.
pub(crate) async fn release_all(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let sql = "UPDATE lease SET holder = NULL WHERE holder IS NOT NULL";
    execute(WRITING, tx, sql, params![]).await?;
    let sql = "UPDATE request SET holder = NULL, held_until = NULL
               WHERE answer IS NULL AND holder IS NOT NULL";
    execute(WRITING, tx, sql, params![]).await.map(|_| ())
}

/// Acquires a resource unless another holder's lease on it is live: one statement, which decides by the row's state
/// when it gets the lock.
pub(crate) async fn acquire(
    tx: &mut Tx<'_>,
    resource: &str,
    holder: &str,
    now: Timestamp,
    expires_at: Timestamp,
) -> Result<Option<Lease>, StoreError> {
    let fence = row(
        WRITING,
        tx,
        "INSERT INTO lease AS held (resource, holder, fence, expires_at) VALUES ($1, $2, 1, $4)
         ON CONFLICT (resource) DO UPDATE SET
             fence = held.fence + CASE WHEN held.holder = $2 AND held.expires_at > $3 THEN 0 ELSE 1 END,
             holder = excluded.holder, expires_at = excluded.expires_at
         WHERE held.holder IS NULL OR held.expires_at <= $3 OR held.holder = $2
         RETURNING fence",
        params![resource, holder, column::micros(now), column::micros(expires_at)],
        fence,
    )
    .await?;
    Ok(fence.map(|fence| Lease {
        resource: resource.to_owned(),
        holder: holder.to_owned(),
        fence,
        expires_at,
    }))
}

/// Extends a holder's leases on these resources; returns the resources that it does not hold.
async fn renew(
    tx: &mut Tx<'_>,
    holder: &str,
    resources: &[String],
    expires_at: i64,
) -> Result<Vec<String>, StoreError> {
    let list: Vec<&str> = resources.iter().map(String::as_str).collect();
    // Locked in one order, so that two concurrent renewals do not deadlock.
    let sql = format!(
        "WITH held AS (
             SELECT resource FROM lease WHERE holder = $1 AND resource {} ORDER BY resource{}
         )
         UPDATE lease SET expires_at = $3 FROM held
         WHERE lease.resource = held.resource RETURNING lease.resource",
        tx.dialect().one_of("$2"),
        tx.dialect().for_update()
    );
    let held: HashSet<String> = rows(
        WRITING,
        tx,
        &sql,
        params![holder, list, expires_at],
        |row| field::<String>(row, 0),
    )
    .await?
    .into_iter()
    .collect();
    let lost = resources
        .iter()
        .filter(|resource| !held.contains(*resource));
    Ok(lost.cloned().collect())
}

#[async_trait]
impl<E: SqlEngine> Leases for SqlStore<E> {
    async fn acquire(
        &self,
        resource: &str,
        holder: &str,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<Option<Lease>, StoreError> {
        let values = (resource.to_owned(), holder.to_owned());
        self.engine
            .run(
                Access::Statement,
                RowScope::Everyone,
                values,
                move |tx, (resource, holder)| {
                    Box::pin(acquire(tx, resource, holder, now, expires_at))
                },
            )
            .await
    }

    async fn renew(
        &self,
        holder: &str,
        resources: &[String],
        expires_at: Timestamp,
    ) -> Result<Vec<String>, StoreError> {
        let values = (holder.to_owned(), resources.to_vec());
        let expires_at = column::micros(expires_at);
        self.engine
            .run(
                Access::InTime,
                RowScope::Everyone,
                values,
                move |tx, (holder, resources)| Box::pin(renew(tx, holder, resources, expires_at)),
            )
            .await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.engine
            .execute(
                RowScope::Everyone,
                WRITING,
                "UPDATE lease SET holder = NULL WHERE resource = $1 AND fence = $2 AND holder = $3",
                params![
                    &lease.resource,
                    column::integer("fence", lease.fence.0)?,
                    &lease.holder
                ],
            )
            .await
            .map(|_| ())
    }
}
