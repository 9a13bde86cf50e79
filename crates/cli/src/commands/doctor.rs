//! `charter doctor`

use std::sync::Arc;

use charter_effects::{CapabilityState, McpServerState};
use charter_store_sql::sqlite::{migrations_pending, newest_schema_version, schema_version};
use serde_json::{Value, json};

use crate::boot;
use crate::config::Config;
use crate::failure::{EXIT_NEGATIVE, EXIT_OK};
use crate::output::{self, Format};

/// One thing looked at.
struct Check {
    name: &'static str,
    /// What was found; an error when it is wrong.
    found: Result<String, String>,
}

pub(crate) async fn run(config: &Config, format: Format) -> anyhow::Result<u8> {
    let mut checks = vec![
        layout(config),
        store(config).await,
        model(config).await,
        models(config),
        search(config),
        webhooks(config),
    ];
    checks.extend(tools(config).await);
    checks.extend(mcp_servers(config).await);
    let shown: Vec<Value> = checks.iter().map(shown).collect();
    output::print(format, &Value::Array(shown), |checks| {
        output::rows(checks, &["state", "check", "found"])
    })?;
    let failed = checks.iter().any(|check| check.found.is_err());
    Ok(if failed { EXIT_NEGATIVE } else { EXIT_OK })
}

fn shown(check: &Check) -> Value {
    let (state, found) = match &check.found {
        Ok(found) => ("ok", found),
        Err(wrong) => ("wrong", wrong),
    };
    json!({"state": state, "check": check.name, "found": found})
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

async fn store(config: &Config) -> Check {
    let found = match boot::open_store(config) {
        Err(error) => match crate::client::Client::holder(&error) {
            Some(address) => Ok(format!("served by {address}")),
            None => Err(format!("{error:#}")),
        },
        Ok(store) => match store.check_integrity().await {
            Ok(findings) if findings.is_empty() => Ok("opens, and is intact".to_owned()),
            Ok(findings) => Err(findings.join("; ")),
            Err(error) => Err(error.to_string()),
        },
    };
    Check {
        name: "store",
        found,
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

/// Whether the language models are set up so that they can be asked; `charter models test` asks them.
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
                "{providers} provider(s), {routes} route(s); not asked"
            ))
        }
    };
    Check {
        name: "language models",
        found,
    }
}

/// Whether the web can be searched, as far as can be told without asking anybody.
fn search(config: &Config) -> Check {
    let found = match boot::search(config) {
        Err(error) => Err(format!("{error:#}")),
        Ok(None) => Ok("none configured: `charter.web.search` is refused".to_owned()),
        Ok(Some(search)) => {
            let key = search
                .key_source()
                .map_or("no key".to_owned(), |source| format!("key from {source}"));
            Ok(format!(
                "{} at {}, {key}; not asked",
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

/// Which systems of record proposals of missions may be sent to; nothing is sent to them.
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

/// What the sandbox enforces here. Partial confinement is said, and is no failure by itself.
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

/// What each registered MCP server offers now, asked here and now. One that cannot be reached is wrong;
/// a tool that cannot be imported is said, and is no failure by itself.
async fn mcp_servers(config: &Config) -> Vec<Check> {
    let check = |found| Check {
        name: "mcp server",
        found,
    };
    if config.mcp.servers.is_empty() {
        return Vec::new();
    }
    let connected = match boot::sandbox(config, "doctor").await {
        Ok(sandbox) => boot::connect_mcp(config, &Arc::new(sandbox)).await,
        Err(error) => Err(error),
    };
    let servers = match connected {
        Ok(Some(servers)) => servers,
        Ok(None) => return Vec::new(),
        Err(error) => return vec![check(Err(format!("{error:#}")))],
    };
    let imports = servers.imports().borrow().clone();
    let mut checks = Vec::new();
    for (name, imported) in &imports.servers {
        checks.push(check(match &imported.state {
            McpServerState::Connected => {
                Ok(format!("{name}: {} tools imported", imported.tools.len()))
            }
            McpServerState::Failed { reason } => Err(format!("{name}: {reason}")),
            McpServerState::Connecting => Err(format!("{name}: no answer yet")),
        }));
        let left_out = imported.left_out.iter();
        checks.extend(left_out.map(|left| {
            let found = format!("{name}: not imported: {}: {}", left.tool, left.reason);
            check(Ok(found))
        }));
    }
    checks
}
