//! The engine for several replicas: PostgreSQL, from version 15 on.
//!
//! Every method is one statement, or one transaction at READ COMMITTED that first locks the row that serialises its
//! writers: the run, the lease, the tenant's log, the catalogue. Several reads use one snapshot. Deadlocks and failed
//! serialisations are retried here (`connection`). Nouns have their statements beside it, for both engines; here
//! is what only PostgreSQL has.

mod address;
mod appends;
mod backup;
mod connection;
mod evidence;
mod examine;
mod export;
mod layout;
mod notices;
mod options;
mod outbox;
mod pgvector;
mod schema;
mod standby;
mod tls;

use std::time::Duration;

use charter_store::StoreError;
use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime, TimeoutType,
};
use futures_util::future::BoxFuture;
use tokio_postgres::Config;
use tokio_postgres_rustls::MakeRustlsConnect;

pub use backup::{back_up, restore};
pub use examine::{Examination, VectorExtension, examine};
pub use export::export_tenant;
pub use options::{PostgresOptions, StandbyOptions, TrustedRoots};

use crate::store::{Access, SqlEngine, SqlStore};
use crate::tx::Tx;
use address::DatabaseAddress;
use appends::GroupAppend;
use connection::{RowScope, in_snapshot, in_transaction};
use evidence::Gathering;
use notices::Announcer;
use schema::Pgvector;
use standby::Standby;

/// Connections for time-critical statements, beside those of the options: one for renewals, one for claims.
const EXTRA_CONNECTIONS: usize = 2;

/// Longest wait for a free connection, except for time-critical statements.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// Most calls that wait for each connection of the pool.
const WAITING_PER_CONNECTION: usize = 16;

/// An open database. Implements every trait of `charter-store`.
pub type PostgresStore = SqlStore<PostgresEngine>;

/// The connections to one database.
pub struct PostgresEngine {
    pool: Pool,
    /// Connections for time-critical statements: renewing leases, and claims.
    in_time: Pool,
    /// The source of listings while its lag is small enough.
    standby: Option<Standby>,
    gathering: Gathering,
    appends: GroupAppend,
    place: DatabaseAddress,
    announcer: Announcer,
    /// Whether pgvector is available for searches.
    pgvector: bool,
}

impl std::fmt::Debug for PostgresEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresEngine")
            .field("place", &self.place.to_string())
            .finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Connects and brings the schema up to date. With several concurrent callers, one migrates and the others wait for
    /// it.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for invalid options; [`StoreError::Engine`] with host and database when the server does
    /// not answer or rejects the user; [`StoreError::NewerSchema`] when only a newer Charter may open the database,
    /// [`StoreError::EarlierLayout`] when it has an unreleased layout.
    pub async fn connect(options: &PostgresOptions) -> Result<Self, StoreError> {
        let config = options.parse()?;
        let place = DatabaseAddress::of(&config);
        let tls = tls::connector(options)?;
        let migrating = options.unbounded(&config);
        let pgvector = schema::migrate(&migrating, &tls, &place, &schema::known()).await?;
        let announcer = Announcer::start(options.bounded(&config), tls.clone());
        let limits = PoolLimits {
            connections: options.connections.max(1),
            connect: options.connect_timeout,
            wait: options.connect_timeout.min(MAX_WAIT),
        };
        let extra = |connections| PoolLimits {
            connections,
            wait: options.connect_timeout,
            ..limits
        };
        let bounded = options.bounded(&config);
        let in_time = pool(bounded.clone(), &tls, &place, extra(EXTRA_CONNECTIONS))?;
        let appending = options.appending(&config);
        let appends = pool(appending, &tls, &place, extra(appends::WRITERS))?;
        let appends = GroupAppend::new(appends, place.clone());
        let pool = self::pool(bounded, &tls, &place, limits)?;
        let standby = match &options.standby {
            Some(standby) => {
                let options = options.of_standby(standby);
                let config = options.parse()?;
                let place = DatabaseAddress::of(&config);
                let reads = self::pool(options.bounded(&config), &tls, &place, limits)?;
                Some(Standby::follow(pool.clone(), reads, standby.may_lag))
            }
            None => None,
        };
        let engine = PostgresEngine {
            pool,
            in_time,
            standby,
            gathering: Gathering::default(),
            appends,
            place,
            announcer,
            pgvector: pgvector == Pgvector::Used,
        };
        let store = Self { engine };
        if store.engine.pgvector {
            store.bring_over_memories().await?;
            store.bring_over_passages().await?;
        }
        Ok(store)
    }

    /// Returns the address of the store: `host:port/database`, without user and password.
    #[must_use]
    pub fn place(&self) -> String {
        self.engine.place.to_string()
    }

    /// Closes idle connections; later calls get [`StoreError::Closed`].
    pub fn close(&self) {
        self.engine.pool.close();
        self.engine.in_time.close();
        self.engine.appends.close();
        if let Some(standby) = &self.engine.standby {
            standby.close();
        }
        self.engine.announcer.stop();
    }
}

impl PostgresEngine {
    /// Returns a connection for a statement or a transaction, restricted to a row scope.
    async fn client(&self, scope: RowScope<'_>) -> Result<Object, StoreError> {
        self.client_of(&self.pool, scope).await
    }

    async fn client_of(&self, pool: &Pool, scope: RowScope<'_>) -> Result<Object, StoreError> {
        let pooled = pool.status();
        if pooled.waiting >= pooled.max_size * WAITING_PER_CONNECTION && !pool.is_closed() {
            return Err(address::no_connection(pooled.waiting));
        }
        let client = pool.get().await;
        let client = client.map_err(|error| match error {
            PoolError::Timeout(TimeoutType::Wait) => address::no_connection(pool.status().waiting),
            error => self.place.of_pool(error),
        })?;
        scope.bound(&client);
        Ok(client)
    }
}

impl SqlEngine for PostgresEngine {
    async fn run<V, T, F>(
        &self,
        access: Access,
        scope: RowScope<'_>,
        values: V,
        work: F,
    ) -> Result<T, StoreError>
    where
        V: Send + Sync + 'static,
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx<'_>, &'t V) -> BoxFuture<'t, Result<T, StoreError>>
            + Send
            + Sync
            + 'static,
    {
        match access {
            Access::Read | Access::Statement => {
                let client = self.client(scope).await?;
                let mut tx = Tx::of_client(&client);
                work(&mut tx, &values).await
            }
            Access::Snapshot => {
                in_snapshot!(self, scope, client => work(&mut Tx::of_client(client), &values))
            }
            Access::Listing => loop {
                let reader = self.reader(scope).await?;
                let outcome = work(&mut Tx::of_client(&reader.client), &values).await;
                if !self.reads_again(&reader, &outcome) {
                    break outcome;
                }
            },
            Access::InTime => {
                let client = self.client_of(&self.in_time, scope).await?;
                let mut tx = Tx::of_client(&client);
                work(&mut tx, &values).await
            }
            Access::Write | Access::Removal => {
                in_transaction!(self, scope, tx => work(&mut Tx::of_transaction(&tx), &values))
            }
        }
    }

    fn announce(&self, messages: usize) {
        if messages > 0 {
            self.announcer.announce();
        }
    }

    async fn number_messages(&self) -> Result<(), StoreError> {
        outbox::number_messages(self).await
    }
}

/// Limits of a pool.
#[derive(Debug, Clone, Copy)]
struct PoolLimits {
    /// Number of connections.
    connections: usize,
    /// Timeout of connecting.
    connect: Duration,
    /// Timeout of waiting for a free connection.
    wait: Duration,
}

fn pool(
    config: Config,
    tls: &MakeRustlsConnect,
    place: &DatabaseAddress,
    limits: PoolLimits,
) -> Result<Pool, StoreError> {
    let manager = ManagerConfig {
        recycling_method: RecyclingMethod::Fast,
    };
    let manager = Manager::from_config(config, tls.clone(), manager);
    Pool::builder(manager)
        .max_size(limits.connections)
        .wait_timeout(Some(limits.wait))
        .create_timeout(Some(limits.connect))
        .runtime(Runtime::Tokio1)
        .build()
        .map_err(|source| place.failed("creating the connection pool", source))
}

/// Returns the newest schema version that this build knows.
#[must_use]
pub fn newest_schema_version() -> u32 {
    schema::newest()
}
