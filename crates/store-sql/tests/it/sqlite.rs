//! The storage contract, run against SQLite with a separate directory per case.

use std::sync::Arc;

use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
use charter_testkit::store_suite::Fixture;

pub(crate) async fn fresh_store() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path(), &SqliteOptions::default()).unwrap();
    Fixture {
        store: Arc::new(store),
        keep: Box::new(dir),
    }
}

charter_testkit::store_suite!(crate::sqlite::fresh_store);
