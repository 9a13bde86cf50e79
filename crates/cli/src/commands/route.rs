//! `charter route …`

mod calibrate;
mod examples;
mod intent;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use charter_engine::Caller;
use charter_search::eval::{EvalOptions, EvalSet, Offer, Trial};
use clap::{Args, Subcommand};
use serde_json::Value;

use super::query;
use crate::boot;
use crate::client::Client;
use crate::config::Config;
use crate::failure::EXIT_OK;
use crate::output::{self, Format};
use crate::terminal;

/// Route a query without acting, measure or fit routing, and manage route examples.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub(crate) struct Route {
    /// The query to route.
    query: Option<String>,
    /// `request` (what the query's intent requires), `skills`, `playbooks` or `agents`.
    #[arg(long)]
    purpose: Option<String>,
    /// The largest number of candidates.
    #[arg(long)]
    top_k: Option<usize>,
    /// The floor to try, 0 to 1; the one in force if absent.
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
    /// Confirm the answer to a request, which suggests its sentence as a route example.
    Confirm(examples::Confirm),
    /// List and decide on route examples.
    #[command(subcommand)]
    Examples(examples::Examples),
}

#[derive(Debug, Args)]
struct Eval {
    /// Sentences {text, intent, also, relevant: [id], may_start_change, tags}, as JSON lines. Measures the outcome of
    /// each over the registered catalogue; nothing is started.
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
    #[arg(long, value_name = "FILE", required_unless_present = "sets")]
    queries: Option<PathBuf>,
    /// A set to fit to, with its own catalogue: a folder with `catalogue.jsonl`, `queries.jsonl` and optionally
    /// `no_match.jsonl`, plain or `.gz`; may be repeated.
    #[arg(long = "set", value_name = "DIR")]
    sets: Vec<PathBuf>,
    #[command(flatten)]
    labelled: Labelled,
}

/// Labelled queries over a catalogue, as JSON lines, plain or gzipped.
#[derive(Debug, Args)]
struct Labelled {
    /// Entries {id, name, description, params, body, examples}; the registered catalogue if absent.
    #[arg(long, value_name = "FILE", requires = "queries")]
    catalogue: Option<PathBuf>,
    /// Queries without an answer in the catalogue.
    #[arg(long, value_name = "FILE", requires = "queries")]
    out_of_scope: Option<PathBuf>,
    /// Examples for each entry: its own first ones, or held-out queries that only it answers.
    #[arg(long, value_name = "N")]
    examples: Option<usize>,
    /// Rank each query against its own candidates, if it names any.
    #[arg(long)]
    candidates: bool,
    /// Only queries of these parts.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "PART,…",
        requires = "queries"
    )]
    parts: Vec<String>,
}

impl Route {
    /// The words of a subcommand that uses no server.
    pub(super) const fn serverless(&self) -> Option<&'static str> {
        match &self.command {
            Some(RouteCommand::Eval(_)) => Some("route eval"),
            Some(RouteCommand::Calibrate(_)) => Some("route calibrate"),
            Some(RouteCommand::Confirm(_) | RouteCommand::Examples(_)) | None => None,
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
        Some(RouteCommand::Calibrate(of)) => calibrate::run(of, config, format).await,
        Some(RouteCommand::Confirm(of)) => examples::confirm(of, config, format).await,
        Some(RouteCommand::Examples(command)) => examples::run(command, config, format).await,
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
            "{}{}: {}\n{}\n{candidates}\n\nfloor {:.3}, narrow {:.3}, margin {:.3}, model {}",
            intent_of(verdict),
            text("kind"),
            text("reason"),
            as_compared(verdict),
            limits["floor"].as_f64().unwrap_or_default(),
            limits["narrow"].as_f64().unwrap_or_default(),
            limits["margin"].as_f64().unwrap_or_default(),
            text("model")
        )
    })?;
    Ok(EXIT_OK)
}

/// One line for each change to a query before it was compared: corrections, pieces set aside, and each of its clauses
/// with its best candidate.
fn as_compared(verdict: &Value) -> String {
    let list = |field: &str| verdict[field].as_array().into_iter().flatten();
    let text = |of: &Value, field: &str| of[field].as_str().unwrap_or_default().to_owned();
    let corrections = list("corrections").map(|one| {
        format!(
            "`{}` is read as `{}`\n",
            text(one, "typed"),
            text(one, "corrected")
        )
    });
    let aside = list("set_aside")
        .filter_map(Value::as_str)
        .map(|piece| format!("low weight: {piece}\n"));
    let clauses = list("clauses").map(|clause| {
        let best = text(&clause["candidates"][0], "id");
        format!("asks for: {} → {best}\n", text(clause, "text"))
    });
    corrections.chain(aside).chain(clauses).collect()
}

/// The intent of a query and its reason; empty if only a ranking was requested.
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
            let set = of_parts(set, labelled);
            (Default::default(), prepare(set, labelled, config).await?)
        }
        None => {
            let running = boot::start(config).await?;
            let entries = running.engine.indexes().routed_entries(&Caller::local()?);
            let settings = running.engine.live().settings;
            running.stop().await?;
            let set = EvalSet::over(entries, queries, labelled.out_of_scope.as_deref())?;
            let set = of_parts(set, labelled);
            (settings, prepare(set, labelled, config).await?)
        }
    };
    let report = serde_json::to_value(trial.evaluate(&settings)?)?;
    output::print(format, &report, figures)?;
    Ok(EXIT_OK)
}

/// The set with only the queries of the requested parts.
fn of_parts(mut set: EvalSet, labelled: &Labelled) -> EvalSet {
    if !labelled.parts.is_empty() {
        set.queries.retain(|query| {
            query
                .part
                .as_ref()
                .is_some_and(|part| labelled.parts.contains(part))
        });
    }
    set
}

async fn prepare(set: EvalSet, labelled: &Labelled, config: &Config) -> anyhow::Result<Trial> {
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
    lines.extend(trust(report));
    lines.join("\n")
}

/// How reliable verdicts and scores are, one line each; figures without a divisor are omitted.
fn trust(report: &Value) -> impl Iterator<Item = String> {
    let of = &report["trust"];
    let shown = [
        ("narrow coverage", &of["narrow_coverage"]),
        ("narrow precision", &of["narrow_precision"]),
        ("out of scope called narrow", &of["misses_narrow"]),
        ("calibration error", &of["ece"]),
        ("each of several requests @5", &report["several"]["each@5"]),
    ];
    let line = |(name, figure): (&str, &Value)| Some(format!("{name:<28} {:.4}", figure.as_f64()?));
    shown.into_iter().filter_map(line)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_that_nothing_could_be_divided_by_are_left_out() {
        let report = json!({
            "trust": {"narrow_coverage": 0.5, "narrow_precision": null, "misses_narrow": null, "ece": 0.125},
            "several": {"queries": 0, "each@5": null},
        });
        let lines: Vec<String> = trust(&report).collect();
        let words: Vec<Vec<&str>> = lines
            .iter()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(
            words,
            [
                vec!["narrow", "coverage", "0.5000"],
                vec!["calibration", "error", "0.1250"]
            ]
        );
    }
}
