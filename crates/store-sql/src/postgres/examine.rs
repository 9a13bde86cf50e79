//! Examines a database without changing it, for `charter doctor` and a dry-run migration.

use charter_contract::time::Timestamp;
use charter_store::StoreError;
use tokio_postgres::Client;

use super::address::DatabaseAddress;
use super::options::PostgresOptions;
use super::{schema, tls};
use crate::failure::postgres::during;
use crate::schema::StoreLayout;

/// Properties of a database, read before it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examination {
    /// `host:port/database`.
    pub place: String,
    /// The server's version, e.g. `18.1`.
    pub server: String,
    /// The layout, with the version 0 for an empty database.
    pub layout: StoreLayout,
    /// The user that Charter connects as.
    pub user: String,
    /// Whether this user is a superuser or may bypass row-level security.
    pub bypasses_row_security: bool,
    /// The extension pgvector.
    pub vector: VectorExtension,
    /// The current time by the server's clock.
    pub now: Timestamp,
}

impl Examination {
    /// Refuses a database that this build may not open.
    ///
    /// # Errors
    /// [`StoreError::NewerSchema`].
    pub fn must_be_openable(&self) -> Result<(), StoreError> {
        self.layout.must_open_in(schema::newest(), &self.place)
    }
}

/// Whether a database can search vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VectorExtension {
    /// Yes, with this version.
    Installed(String),
    /// Not yet: the server has this version, and a superuser may install it.
    Available(String),
    /// No: the server does not have the extension.
    Absent,
}

/// Examines a database.
///
/// # Errors
/// [`StoreError::Refused`] for invalid options; [`StoreError::Engine`] when the server does not answer or rejects the
/// user.
pub async fn examine(options: &PostgresOptions) -> Result<Examination, StoreError> {
    let config = options.parse()?;
    let place = DatabaseAddress::of(&config);
    let tls = tls::connector(options)?;
    let connected = options.bounded(&config).connect(tls).await;
    let (client, connection) = connected.map_err(|error| place.not_reached(error))?;
    let driven = tokio::spawn(connection);
    let examined = look(&client, &place).await;
    drop(client);
    // The examination itself reports the connection's error.
    drop(driven.await);
    examined
}

async fn look(client: &Client, place: &DatabaseAddress) -> Result<Examination, StoreError> {
    let doing = "examining the database";
    let sql = "SELECT current_setting('server_version'), current_user::text,
                      (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user),
                      (SELECT installed_version FROM pg_available_extensions WHERE name = 'vector'),
                      (SELECT default_version FROM pg_available_extensions WHERE name = 'vector'),
                      (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
    let row = client.query_one(sql, &[]).await.map_err(during(doing))?;
    let corrupt = |detail: String| StoreError::Corrupt {
        what: "clock of the database",
        id: place.to_string(),
        detail,
    };
    Ok(Examination {
        place: place.to_string(),
        server: row.get(0),
        layout: schema::layout(client, place).await?,
        user: row.get(1),
        bypasses_row_security: row.get(2),
        vector: match (row.get(3), row.get(4)) {
            (Some(version), _) => VectorExtension::Installed(version),
            (None, Some(version)) => VectorExtension::Available(version),
            (None, None) => VectorExtension::Absent,
        },
        now: Timestamp::from_micros(row.get(5)).map_err(|error| corrupt(error.to_string()))?,
    })
}
