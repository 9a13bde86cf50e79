//! `charter doctor`

mod four_eyes;
mod mcp_servers;

use charter_effects::CapabilityState;
use charter_store::agent_skills::SkillsModel;
use charter_store::skill_index::SkillIndex;
use charter_store_sql::postgres::{self, Examination, PostgresOptions, VectorExtension, examine};
use charter_store_sql::sqlite::{migrations_pending, newest_schema_version, schema_version};
use serde_json::{Value, json};

use crate::boot::{self, MAX_SKEW_MS, OpenStore};
use crate::config::Config;
use crate::evidence_key;
use crate::failure::{EXIT_NEGATIVE, EXIT_OK};
use crate::output::{self, Format};
use crate::telemetry::Collector;
use four_eyes::StoredKeys;

/// One check.
struct Check {
    name: &'static str,
    /// The finding; an error if the check failed.
    found: Result<String, String>,
}

pub(crate) async fn run(config: &Config, format: Format) -> anyhow::Result<u8> {
    let (mut checks, keys) = stored(config).await;
    checks.extend(four_eyes::checks(config, &keys));
    checks.extend([
        model(config).await,
        skill_index(config).await,
        models(config),
        search(config),
        webhooks(config),
        channels(config),
        telemetry(config).await,
    ]);
    checks.extend(tools(config).await);
    let mut rows: Vec<Row> = checks.into_iter().map(Row::from).collect();
    rows.extend(mcp_servers::rows(config).await);
    let shown: Vec<Value> = rows.iter().map(Row::shown).collect();
    output::print(format, &Value::Array(shown), |checks| {
        output::rows(checks, &["state", "check", "found"])
    })?;
    let failed = rows.iter().any(|row| row.state == State::Wrong);
    Ok(if failed { EXIT_NEGATIVE } else { EXIT_OK })
}

/// The outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ok,
    /// Worth attention, but does not fail the check.
    Warning,
    Wrong,
}

/// A row of the report.
struct Row {
    state: State,
    check: &'static str,
    found: String,
}

impl From<Check> for Row {
    fn from(check: Check) -> Self {
        let (state, found) = match check.found {
            Ok(found) => (State::Ok, found),
            Err(wrong) => (State::Wrong, wrong),
        };
        Self {
            state,
            check: check.name,
            found,
        }
    }
}

impl Row {
    fn shown(&self) -> Value {
        let state = match self.state {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Wrong => "wrong",
        };
        json!({"state": state, "check": self.check, "found": self.found})
    }
}

/// Checks the store, which is a database on a server or the data directory, and reads its keys if it could be opened.
async fn stored(config: &Config) -> (Vec<Check>, StoredKeys) {
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
    let (found, newest) = (examined.schema_version, postgres::newest_schema_version());
    let said = format!(
        "PostgreSQL {} at {}: layout {found} of {newest}, {}",
        examined.server,
        examined.place,
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
        found: if found > newest {
            Err(said + "; written by a newer version of Charter")
        } else {
            Ok(said)
        },
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
    let found = migrations_pending(&config.data_dir)
        .and_then(|pending| Ok((pending.len(), schema_version(&config.data_dir)?)))
        .map(|(pending, version)| {
            format!(
                "{}: layout {version} of {}, {pending} migration(s) pending",
                config.data_dir.display(),
                newest_schema_version()
            )
        });
    Check {
        name: "data directory",
        found: found.map_err(|error| error.to_string()),
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

async fn model(config: &Config) -> Check {
    let found = match boot::embedder(config).await {
        Ok(Some(embedder)) => Ok(format!(
            "{} ({} dims)",
            embedder.model(),
            embedder.model().dims
        )),
        Ok(None) => Ok("none configured: routing compares words only".to_owned()),
        Err(error) => Err(format!("{error:#}")),
    };
    Check {
        name: "embedding model",
        found,
    }
}

/// Checks the search node of the skill index, and whether its index fits. Does not report indexing progress, which a
/// server's `/readyz` does.
async fn skill_index(config: &Config) -> Check {
    let found = match boot::skill_index(config) {
        Err(error) => Err(format!("{error:#}")),
        Ok(None) => Ok("in memory".to_owned()),
        Ok(Some(index)) => describe_index(config, index.as_ref())
            .await
            .map_err(|error| format!("{error:#}")),
    };
    Check {
        name: "skill index",
        found,
    }
}

async fn describe_index(config: &Config, index: &dyn SkillIndex) -> anyhow::Result<String> {
    let server = index.server().await?;
    let place = index.place();
    let Some(embedder) = boot::embedder(config).await? else {
        return Ok(format!("{server} at {place}"));
    };
    let model = SkillsModel {
        name: embedder.model().to_string(),
        dims: embedder.model().dims,
    };
    Ok(match index.current(&model).await? {
        None => format!("{server} at {place}: no index yet; the server creates it"),
        Some(current) => {
            let revision = current.position.revision.0;
            format!("{server} at {place}: skills up to revision {revision}")
        }
    })
}

/// Whether the language models are set up correctly; `charter model test` calls them.
fn models(config: &Config) -> Check {
    let found = match boot::models(config) {
        Err(error) => Err(format!("{error:#}")),
        Ok(_) if config.models.providers.is_empty() => Ok("none configured".to_owned()),
        Ok(_) => {
            let own = config.models.tenants.values();
            let routes =
                config.models.routes.len() + own.map(|own| own.routes.len()).sum::<usize>();
            let providers = config.models.providers.len();
            Ok(format!(
                "{providers} provider(s), {routes} route(s); not tested"
            ))
        }
    };
    Check {
        name: "language models",
        found,
    }
}

/// Whether web search is set up correctly; sends no request.
fn search(config: &Config) -> Check {
    let found = match boot::search(config) {
        Err(error) => Err(format!("{error:#}")),
        Ok(None) => Ok("none configured: `charter.web.search` is refused".to_owned()),
        Ok(Some(search)) => {
            let key = search
                .key_source()
                .map_or("no key".to_owned(), |source| format!("key from {source}"));
            Ok(format!(
                "{} at {}, {key}; not tested",
                search.provider().as_str(),
                search.address()
            ))
        }
    };
    Check {
        name: "web search",
        found,
    }
}

/// The systems of record to which proposals of missions may be sent; sends nothing.
fn webhooks(config: &Config) -> Check {
    let found = boot::webhooks(config).map(|webhooks| {
        let systems: Vec<String> = webhooks.described().collect();
        if systems.is_empty() {
            "none configured".to_owned()
        } else {
            format!("{}; nothing sent", systems.join("; "))
        }
    });
    Check {
        name: "systems of record",
        found: found.map_err(|error| format!("{error:#}")),
    }
}

/// The channels that reach people; sends nothing.
fn channels(config: &Config) -> Check {
    let found = boot::channels(config).map(|channels| {
        let described: Vec<String> = channels.described().collect();
        if described.is_empty() {
            "none configured".to_owned()
        } else {
            format!(
                "{}; nothing sent (`charter notify test NAME` sends a message)",
                described.join("; ")
            )
        }
    });
    Check {
        name: "channels",
        found: found.map_err(|error| format!("{error:#}")),
    }
}

/// Whether the collector accepts an empty export.
async fn telemetry(config: &Config) -> Check {
    let found = match Collector::configured(config) {
        Err(error) => Err(format!("{error:#}")),
        Ok(None) => Ok("off".to_owned()),
        Ok(Some(collector)) => {
            let address = collector.address();
            let taken = collector.probe().await;
            taken
                .map(|()| format!("{address} accepts traces and metrics"))
                .map_err(|error| format!("{address}: {error:#}"))
        }
    };
    Check {
        name: "telemetry",
        found,
    }
}

/// The confinement that the sandbox enforces here. Partial confinement is reported, and is not a failure.
async fn tools(config: &Config) -> Vec<Check> {
    match boot::sandbox(config, "sandbox").await {
        Err(error) => vec![Check {
            name: "tools",
            found: Err(format!("{error:#}")),
        }],
        Ok(sandbox) => {
            let capabilities = sandbox.capabilities().await;
            let check = |capability: charter_effects::Capability| Check {
                name: "tools",
                found: Ok(match &capability.state {
                    CapabilityState::Enforced => {
                        format!("{}: {}", capability.name, capability.guarantee)
                    }
                    CapabilityState::Partial { gap } => {
                        format!("{}: partly: {gap}", capability.name)
                    }
                    CapabilityState::Missing { reason } => {
                        format!("{}: missing: {reason}", capability.name)
                    }
                }),
            };
            capabilities.into_iter().map(check).collect()
        }
    }
}
