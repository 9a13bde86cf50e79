//! `charter route …`

mod intent;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use charter_engine::Caller;
use charter_search::calibrate;
use charter_search::eval::{EvalOptions, EvalSet, Offer, Trial};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::query;
use crate::boot;
use crate::client::Client;
use crate::config::Config;
use crate::failure::{EXIT_OK, Reported};
use crate::output::{self, Format};
use crate::terminal;

/// Route a query without acting, measure routing, or fit it.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub(crate) struct Route {
    /// What to route.
    query: Option<String>,
    /// `request` (what the intent of the query asks for), `skills`, `playbooks` or `agents`.
    #[arg(long)]
    purpose: Option<String>,
    /// How many candidates.
    #[arg(long)]
    top_k: Option<usize>,
    /// The floor to try, 0 to 1; the one in force when absent.
    #[arg(long)]
    floor: Option<f32>,
    /// The narrow threshold to try, 0 to 1.
    #[arg(long)]
    narrow: Option<f32>,
    /// The margin to try, 0 to 1.
    #[arg(long)]
    margin: Option<f32>,
    #[command(subcommand)]
    command: Option<RouteCommand>,
}

#[derive(Debug, Subcommand)]
enum RouteCommand {
    /// Measure routing on labelled queries, or the reading of intent on labelled sentences.
    Eval(Eval),
    /// Fit weights and thresholds to labelled queries and keep them with the index.
    Calibrate(Calibrate),
}

#[derive(Debug, Args)]
struct Eval {
    /// Sentences {text, intent, also, relevant: [id], may_start_change, tags}, as JSON lines: what each would come to over
    /// the registered catalogue is measured, and nothing is begun.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["queries", "catalogue", "out_of_scope", "parts"])]
    intent: Option<PathBuf>,
    /// Queries {query, relevant: [id], part}.
    #[arg(long, value_name = "FILE", required_unless_present = "intent")]
    queries: Option<PathBuf>,
    #[command(flatten)]
    labelled: Labelled,
}

#[derive(Debug, Args)]
struct Calibrate {
    /// Queries {query, relevant: [id], part}.
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    #[command(flatten)]
    labelled: Labelled,
}

/// Labelled queries over a catalogue, as JSON lines, plain or gzipped.
#[derive(Debug, Args)]
struct Labelled {
    /// Entries {id, name, description, params, body, examples}; the registered catalogue when absent.
    #[arg(long, value_name = "FILE")]
    catalogue: Option<PathBuf>,
    /// Queries that nothing answers.
    #[arg(long, value_name = "FILE")]
    out_of_scope: Option<PathBuf>,
    /// Examples for each entry: its own first ones, or held-out queries that only it answers.
    #[arg(long, value_name = "N")]
    examples: Option<usize>,
    /// Rank each query against its own candidates, where it names any.
    #[arg(long)]
    candidates: bool,
    /// Only queries of these parts.
    #[arg(long, value_delimiter = ',', value_name = "PART,…")]
    parts: Vec<String>,
}

impl Route {
    /// The words of a subcommand that uses no server.
    pub(super) const fn serverless(&self) -> Option<&'static str> {
        match &self.command {
            Some(RouteCommand::Eval(_)) => Some("route eval"),
            Some(RouteCommand::Calibrate(_)) => Some("route calibrate"),
            None => None,
        }
    }
}

pub(crate) async fn run(command: &Route, config: &Config, format: Format) -> anyhow::Result<u8> {
    match &command.command {
        Some(RouteCommand::Eval(of)) => match (&of.intent, &of.queries) {
            (Some(sentences), _) => intent::eval(sentences, config, format).await,
            (None, Some(queries)) => eval(queries, &of.labelled, config, format).await,
            (None, None) => {
                bail!("name the labelled queries with --queries, or sentences with --intent")
            }
        },
        Some(RouteCommand::Calibrate(of)) => fit(&of.queries, &of.labelled, config, format).await,
        None => route(command, config, format).await,
    }
}

async fn route(command: &Route, config: &Config, format: Format) -> anyhow::Result<u8> {
    let client = Client::connect(config).await?;
    let top_k = command.top_k.map(|k| k.to_string());
    let tried = [command.floor, command.narrow, command.margin];
    let [floor, narrow, margin] = tried.map(|tried| tried.map(|tried| tried.to_string()));
    let query = query(&[
        ("query", command.query.as_deref()),
        ("purpose", command.purpose.as_deref()),
        ("top_k", top_k.as_deref()),
        ("floor", floor.as_deref()),
        ("narrow", narrow.as_deref()),
        ("margin", margin.as_deref()),
    ]);
    let verdict = client.get(&format!("/v1/route{query}")).await;
    client.close().await?;
    output::print(format, &verdict?, |verdict| {
        let candidates = output::rows(
            &verdict["candidates"],
            &["kind", "id", "scope", "score", "fused", "lexical", "cosine"],
        );
        let text = |field: &str| verdict[field].as_str().unwrap_or("words only").to_owned();
        let limits = &verdict["thresholds"];
        format!(
            "{}{}: {}\n\n{candidates}\n\nfloor {:.3}, narrow {:.3}, margin {:.3}, model {}",
            intent_of(verdict),
            text("kind"),
            text("reason"),
            limits["floor"].as_f64().unwrap_or_default(),
            limits["narrow"].as_f64().unwrap_or_default(),
            limits["margin"].as_f64().unwrap_or_default(),
            text("model")
        )
    })?;
    Ok(EXIT_OK)
}

/// The intent of a query and its reason; empty where only a ranking was asked for.
fn intent_of(verdict: &Value) -> String {
    let text = |field: &str| verdict[field].as_str();
    match (text("intent"), text("intent_reason")) {
        (Some(intent), Some(reason)) => format!("{intent}: {reason}\n"),
        _ => String::new(),
    }
}

async fn eval(
    queries: &Path,
    labelled: &Labelled,
    config: &Config,
    format: Format,
) -> anyhow::Result<u8> {
    let (settings, trial) = match &labelled.catalogue {
        Some(catalogue) => {
            let set = EvalSet::read(catalogue, queries, labelled.out_of_scope.as_deref())?;
            (Default::default(), prepare(set, labelled, config).await?)
        }
        None => {
            let running = boot::start(config).await?;
            let entries = running.engine.routed_entries(&Caller::local()?);
            let settings = running.engine.live().settings;
            running.stop().await?;
            let set = EvalSet::over(entries, queries, labelled.out_of_scope.as_deref())?;
            (settings, prepare(set, labelled, config).await?)
        }
    };
    let report = serde_json::to_value(trial.evaluate(&settings)?)?;
    output::print(format, &report, figures)?;
    Ok(EXIT_OK)
}

async fn fit(
    queries: &Path,
    labelled: &Labelled,
    config: &Config,
    format: Format,
) -> anyhow::Result<u8> {
    let running = boot::start(config).await?;
    let set = match &labelled.catalogue {
        Some(catalogue) => EvalSet::read(catalogue, queries, labelled.out_of_scope.as_deref())?,
        None => {
            let entries = running.engine.routed_entries(&Caller::local()?);
            EvalSet::over(entries, queries, labelled.out_of_scope.as_deref())?
        }
    };
    let trial = prepare(set, labelled, config).await?;
    let base = running.engine.live().settings;
    let calibration = calibrate(&trial, &base).context("fitting")?;
    let before = trial.evaluate(&base)?;
    let after = trial.evaluate(&calibration.settings)?;
    let adopted = running
        .engine
        .adopt_calibration(&calibration)
        .await
        .map_err(Reported::from);
    running.stop().await?;
    adopted?;
    let report = json!({"calibration": calibration, "before": before, "after": after});
    output::print(format, &report, |report| {
        format!(
            "before\n{}\n\nafter\n{}",
            figures(&report["before"]),
            figures(&report["after"])
        )
    })?;
    Ok(EXIT_OK)
}

async fn prepare(mut set: EvalSet, labelled: &Labelled, config: &Config) -> anyhow::Result<Trial> {
    if !labelled.parts.is_empty() {
        set.queries.retain(|query| {
            query
                .part
                .as_ref()
                .is_some_and(|part| labelled.parts.contains(part))
        });
    }
    let embedder = boot::embedder(config).await?;
    let options = EvalOptions {
        examples: labelled.examples,
        offer: if labelled.candidates {
            Offer::Candidates
        } else {
            Offer::Catalogue
        },
        ..EvalOptions::default()
    };
    let bar = terminal::spinner("embedding the catalogue and the queries");
    let trial = Trial::prepare(set, embedder.as_deref(), &options).await;
    bar.finish_and_clear();
    trial.context("preparing the evaluation")
}

fn figures(report: &Value) -> String {
    let line = |name: &str, of: &Value| {
        let figure = |field: &str| {
            of[field]
                .as_f64()
                .map_or("-".to_owned(), |figure| format!("{figure:.4}"))
        };
        format!(
            "{name:<16} {:>7} {:>8} {:>8} {:>8} {:>8}",
            of["queries"],
            figure("acc@1"),
            figure("recall@5"),
            figure("ndcg@10"),
            figure("mrr@10")
        )
    };
    let mut lines = vec![format!(
        "{:<16} {:>7} {:>8} {:>8} {:>8} {:>8}",
        "", "queries", "acc@1", "recall@5", "ndcg@10", "mrr@10"
    )];
    lines.push(line("all", report));
    let parts = report["by_part"].as_object().into_iter().flatten();
    lines.extend(parts.map(|(part, of)| line(part, of)));
    lines.push(line("rank fusion", &report["rrf"]));
    if let Some(auroc) = report["auroc"].as_f64() {
        lines.push(format!(
            "auroc {auroc:.4} over {} queries out of scope",
            report["misses"]
        ));
    }
    lines.join("\n")
}
