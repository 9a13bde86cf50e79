//! `charter lens …`

use std::time::Duration;

use anyhow::Context;
use charter_contract::catalogue::vocabulary::Status;
use clap::Subcommand;
use serde_json::{Value, json};

use super::{encoded, query, read_field};
use crate::client::Client;
use crate::config::Config;
use crate::failure::{EXIT_NEGATIVE, EXIT_OK};
use crate::output::{self, Format};
use crate::terminal;

/// Time between two queries of the indexing progress.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Search, list, show and reindex the reference library.
#[derive(Debug, Subcommand)]
pub(crate) enum Lens {
    /// List lenses, with their passages and the time of the last check of their sources.
    List {
        /// Only lenses of this domain.
        #[arg(long)]
        domain: Option<String>,
    },
    /// Show a lens: its index, the indexing progress, and the outcome of the last indexing.
    Show {
        /// The lens's id.
        id: String,
    },
    /// Find the passages that are closest to a question.
    Ask {
        /// The question.
        question: String,
        /// Only in this lens; may be repeated.
        #[arg(long, value_name = "ID")]
        lens: Vec<String>,
        /// Only in lenses of this domain.
        #[arg(long)]
        domain: Option<String>,
        /// Only in lenses with this tag; may be repeated.
        #[arg(long)]
        tag: Vec<String>,
        /// The number of passages, at most 50.
        #[arg(long)]
        top_k: Option<usize>,
    },
    /// Check the source again, and index it if it changed; without an id, for every lens. Exit code 1 when one failed.
    Reindex {
        /// The lens's id.
        id: Option<String>,
    },
}

pub(crate) async fn run(command: &Lens, config: &Config, format: Format) -> anyhow::Result<u8> {
    let client = Client::connect(config).await?;
    let found = execute(command, &client).await;
    client.close().await?;
    let found = found?;
    let failed = match command {
        Lens::Reindex { .. } => found
            .as_array()
            .into_iter()
            .flatten()
            .any(|lens| lens["last"].get("failed").is_some()),
        Lens::List { .. } | Lens::Show { .. } | Lens::Ask { .. } => false,
    };
    output::print(format, &found, |found| match command {
        Lens::List { .. } => listed(found),
        Lens::Show { .. } => output::fields(found),
        Lens::Ask { .. } => passages(found),
        Lens::Reindex { .. } => reindexed(found),
    })?;
    Ok(if failed { EXIT_NEGATIVE } else { EXIT_OK })
}

async fn execute(command: &Lens, client: &Client) -> anyhow::Result<Value> {
    match command {
        Lens::List { domain } => {
            let asked = query(&[("domain", domain.as_deref())]);
            client.get(&format!("/v1/lenses{asked}")).await
        }
        Lens::Show { id } => client.get(&path(id)).await,
        Lens::Ask {
            question,
            lens,
            domain,
            tag,
            top_k,
        } => {
            let mut asked = json!({"query": question, "lens_ids": lens, "tags": tag});
            if let Some(domain) = domain {
                asked["domain"] = json!(domain);
            }
            if let Some(top_k) = top_k {
                asked["top_k"] = json!(top_k);
            }
            client.post("/v1/lenses/search", Some(&asked)).await
        }
        Lens::Reindex { id: Some(id) } => Ok(json!([reindex(id, client).await?])),
        Lens::Reindex { id: None } => {
            let lenses = client.get("/v1/lenses").await?;
            let mut done = Vec::new();
            for lens in lenses.as_array().into_iter().flatten() {
                if read_field::<Status>(lens, "status")? == Status::Active {
                    let id = lens["lens_id"].as_str().context("a lens without an id")?;
                    done.push(reindex(id, client).await?);
                }
            }
            Ok(Value::Array(done))
        }
    }
}

/// Starts indexing, and waits for its end.
async fn reindex(id: &str, client: &Client) -> anyhow::Result<Value> {
    let bar = terminal::spinner(id);
    let mut lens = client.post(&format!("{}/reindex", path(id)), None).await;
    while let Ok(found) = &lens {
        let stage = &found["indexing"];
        if stage.is_null() {
            break;
        }
        bar.set_message(match (stage["done"].as_u64(), stage["of"].as_u64()) {
            (Some(done), Some(of)) => format!("{id}: embedded {done} of {of}"),
            (None, _) | (_, None) => {
                format!("{id}: {}", stage["stage"].as_str().unwrap_or_default())
            }
        });
        tokio::time::sleep(POLL_INTERVAL).await;
        lens = client.get(&path(id)).await;
    }
    bar.finish_and_clear();
    lens
}

fn path(id: &str) -> String {
    format!("/v1/lenses/{}", encoded(id))
}

fn listed(lenses: &Value) -> String {
    let columns = [
        "lens_id",
        "domain",
        "scope",
        "status",
        "index.chunks",
        "index.model",
        "index.fetched_at",
        "source.ref",
    ];
    output::rows(lenses, &columns)
}

fn reindexed(lenses: &Value) -> String {
    let columns = [
        "lens_id",
        "last.outcome",
        "last.embedded",
        "index.chunks",
        "last.failed",
    ];
    output::rows(lenses, &columns)
}

/// Each passage under its title, position and source.
fn passages(answer: &Value) -> String {
    let found: Vec<&Value> = answer["passages"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    if found.is_empty() {
        return "no passage is close enough".to_owned();
    }
    let parts = found.iter().enumerate().map(|(number, passage)| {
        let text = |field: &str| passage[field].as_str().unwrap_or_default();
        let headings = passage["position"]["headings"].as_array();
        let headings = headings.into_iter().flatten().filter_map(Value::as_str);
        let under: Vec<&str> = std::iter::once(text("title")).chain(headings).collect();
        let place = passage["position"]["file"].as_str();
        let place = place
            .or(passage["source"]["ref"].as_str())
            .unwrap_or_default();
        format!(
            "[{}] {} ({:.3})\n    {place}, characters {} to {}\n\n{}",
            number + 1,
            under.join(" › "),
            passage["score"].as_f64().unwrap_or_default(),
            passage["position"]["start_char"],
            passage["position"]["end_char"],
            text("text")
        )
    });
    parts.collect::<Vec<_>>().join("\n\n")
}
