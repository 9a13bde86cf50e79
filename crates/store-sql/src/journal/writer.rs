//! Writes to journals, as an engine makes them durable: each call in a transaction of its own, or several together.

use charter_store::StoreError;
use charter_store::journal::{Append, NewLeasedRun};
use charter_store::lease::Lease;

use super::{append, create};
use crate::store::{Access, RowScope, SqlEngine};

/// An engine that appends to journals and creates leased runs.
pub(crate) trait JournalWriter: SqlEngine + Sized {
    /// As [`Journal::append`](charter_store::journal::Journal::append), without announcing the messages.
    fn append(&self, append: Append) -> impl Future<Output = Result<u64, StoreError>> + Send {
        append_alone(self, append)
    }

    /// As [`Journal::create_held_run`](charter_store::journal::Journal::create_held_run), without announcing the
    /// messages.
    fn create(&self, new: NewLeasedRun) -> impl Future<Output = Result<Lease, StoreError>> + Send {
        create_alone(self, new)
    }
}

/// Appends to one journal in a transaction of its own.
pub(crate) async fn append_alone<E: SqlEngine>(
    engine: &E,
    append: Append,
) -> Result<u64, StoreError> {
    let tenant = append.tenant_id.clone();
    let scope = RowScope::Tenant(&tenant);
    engine
        .run(Access::Write, scope, [append], |tx, appends| {
            Box::pin(async move { append::append(tx, appends).await?.remove(0) })
        })
        .await
}

/// Creates one run in a transaction of its own.
pub(crate) async fn create_alone<E: SqlEngine>(
    engine: &E,
    new: NewLeasedRun,
) -> Result<Lease, StoreError> {
    let tenant = new.run.tenant_id.clone();
    let scope = RowScope::Tenant(&tenant);
    engine
        .run(Access::Write, scope, new, |tx, new| {
            Box::pin(create::held(tx, new))
        })
        .await
}
