//! Claims runs that no worker drives.

mod postgres;
mod sqlite;

use charter_store::StoreError;
use charter_store::journal::{Claim, ClaimedRun};

use crate::tx::{Dialect, Tx};

/// Leases runs to a worker.
pub(super) async fn claim(tx: &mut Tx<'_>, claim: &Claim) -> Result<Vec<ClaimedRun>, StoreError> {
    match tx.dialect() {
        Dialect::Sqlite => sqlite::claim(tx, claim).await,
        Dialect::Postgres => postgres::claim(tx, claim).await,
    }
}
