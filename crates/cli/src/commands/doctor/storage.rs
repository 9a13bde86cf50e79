//! Checks of storage: the data directory, or the database on a server.

use charter_store_sql::postgres::{self, Examination, PostgresOptions, VectorExtension, examine};
use charter_store_sql::{StoreLayout, sqlite};

use super::Check;
use super::four_eyes::StoredKeys;
use crate::boot::{self, MAX_SKEW_MS, OpenStore};
use crate::config::Config;
use crate::evidence_key;

/// Checks the store, which is a database on a server or the data directory, and reads its keys if it could be opened.
pub(super) async fn checks(config: &Config) -> (Vec<Check>, StoredKeys) {
    let Some(options) = boot::postgres(config) else {
        let (store, keys) = store(config).await;
        return (vec![layout(config), store], keys);
    };
    // A database is examined without a migration.
    (database_checks(&options).await, StoredKeys::NotRead)
}

async fn database_checks(options: &PostgresOptions) -> Vec<Check> {
    let examined = match examine(options).await {
        Ok(examined) => examined,
        Err(error) => {
            let found = Err(format!("{:#}", anyhow::Error::new(error)));
            return vec![Check {
                name: "database",
                found,
            }];
        }
    };
    vec![
        database(&examined),
        Check {
            name: "row-level security",
            found: row_security(&examined),
        },
        Check {
            name: "clock",
            found: clock(&examined),
        },
    ]
}

fn database(examined: &Examination) -> Check {
    let newest = postgres::newest_schema_version();
    let text = format!(
        "PostgreSQL {} at {}: layout {} of {newest}, {}",
        examined.server,
        examined.place,
        examined.layout.version,
        match &examined.vector {
            VectorExtension::Installed(version) => {
                format!("extension vector {version} finds memories and passages (0.8 or newer)")
            }
            VectorExtension::Available(version) => format!(
                "memories are searched in the process: the extension vector {version} is available but not installed \
                 (`CREATE EXTENSION vector` as a superuser, then restart)"
            ),
            VectorExtension::Absent => {
                "memories are searched in the process: no extension vector".to_owned()
            }
        }
    );
    Check {
        name: "database",
        found: readable(&examined.layout, newest, text),
    }
}

/// Adds to a text about a store whether this version may open it, if a newer version wrote it.
fn readable(found: &StoreLayout, newest: u32, text: String) -> Result<String, String> {
    let charter = &found.charter;
    if !found.opens_in(newest) {
        Err(format!("{text}; only Charter {charter} or later opens it"))
    } else if found.version > newest {
        Ok(format!(
            "{text}; the layout of Charter {charter}, which this version opens too"
        ))
    } else {
        Ok(text)
    }
}

fn row_security(examined: &Examination) -> Result<String, String> {
    let user = &examined.user;
    if examined.bypasses_row_security {
        return Err(format!(
            "the user `{user}` is a superuser or has BYPASSRLS: only Charter's queries separate tenants; connect as \
             a user that owns the database and is neither"
        ));
    }
    Ok(format!("binds the user `{user}`"))
}

/// Replicas check leases by their own clocks, so these must agree with the database's.
fn clock(examined: &Examination) -> Result<String, String> {
    let apart = boot::skew_ms(examined).map_err(|error| format!("{error:#}"))?;
    let said = format!("{apart} ms from the database's clock");
    if apart > MAX_SKEW_MS {
        return Err(format!(
            "{said}; leases need less than {MAX_SKEW_MS} ms: synchronise the clocks"
        ));
    }
    Ok(said)
}

fn layout(config: &Config) -> Check {
    let newest = sqlite::newest_schema_version();
    let found = sqlite::layout(&config.data_dir).map_err(|error| error.to_string());
    let found = found.and_then(|found| {
        let pending = newest.saturating_sub(found.version);
        let text = format!(
            "{}: layout {} of {newest}, {pending} migration(s) pending",
            config.data_dir.display(),
            found.version,
        );
        readable(&found, newest, text)
    });
    Check {
        name: "data directory",
        found,
    }
}

async fn store(config: &Config) -> (Check, StoredKeys) {
    if !evidence_key::was_used(config) {
        let found =
            Ok("nothing is stored yet; the first command that needs a store creates it".to_owned());
        let keys = StoredKeys::Read {
            live: Vec::new(),
            made: false,
        };
        return (
            Check {
                name: "store",
                found,
            },
            keys,
        );
    }
    let mut keys = StoredKeys::NotRead;
    let found = match OpenStore::open(config).await {
        Err(error) => match crate::client::Client::holder(&error) {
            Some(address) => Ok(format!("served by {address}")),
            None => Err(format!("{error:#}")),
        },
        Ok(store) => match store.check_integrity().await {
            Ok(findings) if findings.is_empty() => {
                keys = StoredKeys::read(&store.shared()).await;
                Ok("opens and is intact".to_owned())
            }
            Ok(findings) => Err(findings.join("; ")),
            Err(error) => Err(error.to_string()),
        },
    };
    let check = Check {
        name: "store",
        found,
    };
    (check, keys)
}
