//! Opening the configured store: the file in the data directory, or a PostgreSQL database.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use charter_contract::error_code::ErrorCode;
use charter_domain::clock::{Clock, SystemClock};
use charter_store::{SharedStore, StoreError};
use charter_store_sql::DirectoryLock;
use charter_store_sql::postgres::{
    Examination, PostgresOptions, PostgresStore, StandbyOptions, TrustedRoots, examine,
};
use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};

use crate::config::Config;
use crate::evidence_key;
use crate::failure::ReportedFailure;
use crate::messages;

/// How far the clocks of replicas and database may be apart: leases end by the clock of whoever looks.
pub(crate) const MAX_SKEW_MS: u64 = 2_000;

/// An open store, with the data directory that no other process uses meanwhile.
pub(crate) enum OpenStore {
    /// The file in the data directory.
    Sqlite(Arc<SqliteStore>),
    /// A database on a server. The data directory still holds keys, the model and the sandbox.
    Postgres {
        store: Arc<PostgresStore>,
        directory: DirectoryLock,
    },
}

impl OpenStore {
    /// Opens what the configuration names and brings its schema up to date. Says when that makes a new store: a
    /// directory that was mistyped looks like an empty one. A data directory that another process holds has a code of
    /// its own.
    pub(crate) async fn open(config: &Config) -> anyhow::Result<Self> {
        let is_new = !evidence_key::was_used(config);
        std::fs::create_dir_all(&config.data_dir).with_context(|| {
            format!("creating the data directory {}", config.data_dir.display())
        })?;
        evidence_key::keep(config)?;
        let holder = format!("pid {}", std::process::id());
        let Some(options) = postgres(config) else {
            let options = SqliteOptions {
                holder,
                max_bytes: config.limits.storage_bytes,
                ..SqliteOptions::default()
            };
            let store = SqliteStore::open(&config.data_dir, &options).map_err(reported)?;
            if is_new {
                note_new_store(&whole(&config.data_dir).display().to_string());
            }
            return Ok(Self::Sqlite(Arc::new(store)));
        };
        let directory = DirectoryLock::take(&config.data_dir, &holder).map_err(reported)?;
        let examined = examine(&options).await.map_err(reported)?;
        let apart = skew_ms(&examined)?;
        if apart > MAX_SKEW_MS {
            bail!(
                "this machine's clock differs by {apart} ms from that of {}; leases need less than {MAX_SKEW_MS} ms: \
                 synchronise the clocks",
                examined.place
            );
        }
        if examined.bypasses_row_security {
            tracing::warn!(
                user = examined.user,
                "the database user bypasses row-level security; use a non-superuser role"
            );
        }
        let store = PostgresStore::connect(&options).await.map_err(reported)?;
        if examined.schema_version == 0 {
            note_new_store(&format!("the database {}", examined.place));
        }
        Ok(Self::Postgres {
            store: Arc::new(store),
            directory,
        })
    }

    /// The store, for the use cases.
    pub(crate) fn shared(&self) -> SharedStore {
        match self {
            Self::Sqlite(store) => Arc::<SqliteStore>::clone(store),
            Self::Postgres { store, .. } => Arc::<PostgresStore>::clone(store),
        }
    }

    /// Tells those who find the data directory locked who holds it.
    pub(crate) fn describe_holder(&self, holder: &str) -> anyhow::Result<()> {
        match self {
            Self::Sqlite(store) => store.describe_holder(holder),
            Self::Postgres { directory, .. } => directory.describe(holder),
        }
        .context("writing the lock file")
    }

    /// Where everything is, for people: never with a password.
    pub(crate) fn place(&self, config: &Config) -> String {
        let data = config.data_dir.display();
        match self {
            Self::Sqlite(_) => format!("data in {data}"),
            Self::Postgres { store, .. } => {
                format!("data on PostgreSQL at {}, files in {data}", store.place())
            }
        }
    }

    /// Looks for damage; nothing is said of a sound store. A server looks after its database itself.
    pub(crate) async fn check_integrity(&self) -> Result<Vec<String>, StoreError> {
        match self {
            Self::Sqlite(store) => store.check_integrity().await,
            Self::Postgres { .. } => Ok(Vec::new()),
        }
    }

    /// Ends what is open.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        match self {
            Self::Sqlite(store) => store.close().await.context("closing the store"),
            Self::Postgres { store, directory } => {
                store.close();
                directory.release();
                Ok(())
            }
        }
    }
}

/// Says that a store was made.
fn note_new_store(place: &str) {
    messages::note(&format!("created a new store in {place}"));
}

/// A path with the working directory that it is relative to.
fn whole(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// How far this machine's clock is from the database's.
pub(crate) fn skew_ms(examined: &Examination) -> anyhow::Result<u64> {
    let clock = SystemClock::start().context("reading the clock")?;
    let apart = clock.now().as_micros().abs_diff(examined.now.as_micros());
    Ok(apart / 1_000)
}

/// How to reach the configured database; `None` where everything is in the data directory.
pub(crate) fn postgres(config: &Config) -> Option<PostgresOptions> {
    let store = &config.store;
    let mut options = PostgresOptions::new(store.url.as_ref()?);
    options.connections = store.connections;
    options.statement_timeout = Duration::from_millis(store.statement_timeout_ms);
    options.standby = store.standby_url.clone().map(|url| StandbyOptions {
        url,
        may_lag: Duration::from_millis(store.standby_lag_ms),
    });
    if let Some(file) = &store.certificates {
        options.roots = TrustedRoots::File(file.clone());
    }
    Some(options)
}

fn reported(error: StoreError) -> anyhow::Error {
    match error {
        StoreError::Locked { .. } => {
            ReportedFailure::new(ErrorCode::DataDirectoryLocked, error.to_string()).into()
        }
        StoreError::Full { .. } => {
            ReportedFailure::new(ErrorCode::StorageFull, error.to_string()).into()
        }
        other => anyhow::Error::new(other).context("opening the store"),
    }
}
