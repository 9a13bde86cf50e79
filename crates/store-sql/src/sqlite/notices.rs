//! Notices in SQLite: one process owns the data directory, so there are no other publishers.

use async_trait::async_trait;
use charter_store::notices::Notices;

use super::SqliteStore;

#[async_trait]
impl Notices for SqliteStore {
    fn is_shared(&self) -> bool {
        false
    }

    async fn notice(&self) {
        std::future::pending::<()>().await;
    }
}
