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
use crate::platform;

/// The largest clock difference of a replica and the database: each replica checks leases by its own clock.
pub(crate) const MAX_SKEW_MS: u64 = 2_000;

/// An open store, with a lock on the data directory against other processes.
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
    /// Opens the configured store and migrates its schema. Notes on standard error if that creates a new store, because
    /// a mistyped directory looks like an empty one. A data directory that another process holds fails with
    /// `data_directory_locked`.
    pub(crate) async fn open(config: &Config) -> anyhow::Result<Self> {
        platform::require_engine_system()?;
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
        examined.must_be_openable().map_err(reported)?;
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
        directory.record_layout().map_err(reported)?;
        if examined.layout.version == 0 {
            note_new_store(&format!("the database {}", examined.place));
        }
        Ok(Self::Postgres {
            store: Arc::new(store),
            directory,
        })
    }

    /// The store, as the use cases take it.
    pub(crate) fn shared(&self) -> SharedStore {
        match self {
            Self::Sqlite(store) => Arc::<SqliteStore>::clone(store),
            Self::Postgres { store, .. } => Arc::<PostgresStore>::clone(store),
        }
    }

    /// Records the holder's address in the lock, for processes that find the data directory locked.
    pub(crate) fn describe_holder(&self, holder: &str) -> anyhow::Result<()> {
        match self {
            Self::Sqlite(store) => store.describe_holder(holder),
            Self::Postgres { directory, .. } => directory.describe(holder),
        }
        .context("writing the lock file")
    }

    /// The location of the store for display, without any password.
    pub(crate) fn place(&self, config: &Config) -> String {
        let data = config.data_dir.display();
        match self {
            Self::Sqlite(_) => format!("data in {data}"),
            Self::Postgres { store, .. } => {
                format!("data on PostgreSQL at {}, files in {data}", store.place())
            }
        }
    }

    /// Looks for damage; the list is empty if there is none. A database server checks itself.
    pub(crate) async fn check_integrity(&self) -> Result<Vec<String>, StoreError> {
        match self {
            Self::Sqlite(store) => store.check_integrity().await,
            Self::Postgres { .. } => Ok(Vec::new()),
        }
    }

    /// Closes the store.
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

/// Notes that a new store was created.
fn note_new_store(place: &str) {
    messages::note(&format!("created a new store in {place}"));
}

/// The absolute form of a path, which is relative to the working directory.
fn whole(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The difference between this machine's clock and the database's.
pub(crate) fn skew_ms(examined: &Examination) -> anyhow::Result<u64> {
    let clock = SystemClock::start().context("reading the clock")?;
    let apart = clock.now().as_micros().abs_diff(examined.now.as_micros());
    Ok(apart / 1_000)
}

/// The connection options of the configured database; `None` if the store is in the data directory.
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
