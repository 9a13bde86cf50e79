//! Storage on a real PostgreSQL server: the contract of every engine, and the interaction of several processes on one
//! database.

mod batches;
pub(crate) mod database;
mod distribution;
mod filled;
mod histories;
mod near;
mod opening;
mod passages;
mod plans;
mod records;
mod refusals;
mod several;
mod standby;
mod tenants;
mod tls;
mod wall;

use std::sync::Arc;

use charter_testkit::store_suite::Fixture;

pub(crate) async fn fresh_store() -> Fixture {
    let database = database::migrated().await;
    Fixture {
        store: Arc::new(database::store(&database).await),
        keep: Box::new(database),
    }
}

charter_testkit::store_suite!(crate::postgres::fresh_store);
