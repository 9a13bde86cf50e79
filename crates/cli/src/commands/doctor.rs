//! `charter doctor`

mod four_eyes;
mod mcp_servers;
mod storage;

use charter_effects::CapabilityState;
use charter_store::agent_skills::SkillsModel;
use charter_store::skill_index::SkillIndex;
use serde_json::{Value, json};

use crate::boot;
use crate::config::Config;
use crate::failure::{EXIT_NEGATIVE, EXIT_OK};
use crate::output::{self, Format};
use crate::platform;
use crate::telemetry::Collector;

/// One check.
struct Check {
    name: &'static str,
    /// The finding; an error if the check failed.
    found: Result<String, String>,
}

pub(crate) async fn run(config: &Config, format: Format) -> anyhow::Result<u8> {
    platform::require_engine_system()?;
    let (mut checks, keys) = storage::checks(config).await;
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
