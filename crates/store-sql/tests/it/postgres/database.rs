//! A separate database for each case of a test binary.

use charter_store_sql::postgres::{PostgresOptions, PostgresStore};
use charter_testkit::postgres_server::{Database, PostgresServer};
use tokio::sync::OnceCell;
use tokio_postgres::{Client, NoTls};

/// Returns the options for a database.
pub(crate) fn options(database: &Database) -> PostgresOptions {
    PostgresOptions::new(database.url())
}

/// Returns a database with the newest schema and no rows: a copy of one that was migrated once.
pub(crate) async fn migrated() -> Database {
    static TEMPLATE: OnceCell<Database> = OnceCell::const_new();
    let server = PostgresServer::shared();
    let template = TEMPLATE.get_or_init(|| async {
        let template = server.database();
        store(&template).await.close();
        template
    });
    server.copy_of(template.await.name())
}

/// Opens a store on a database.
pub(crate) async fn store(database: &Database) -> PostgresStore {
    PostgresStore::connect(&options(database)).await.unwrap()
}

/// Connects to the database without the store.
pub(crate) async fn raw(database: &Database) -> Client {
    raw_at(&database.superusers_url()).await
}

/// Connects to the database at a URL without the store.
pub(crate) async fn raw_at(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}
