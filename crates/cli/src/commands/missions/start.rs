//! `charter mission start`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use super::{code_of, show, text, watch};
use crate::client::Client;
use crate::commands::runs::document;
use crate::commands::{parameter, query};
use crate::failure::EXIT_OK;
use crate::messages;
use crate::output::{self, Format};

/// Units of a duration, in milliseconds.
const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// The arguments that an envelope has instead.
const ENVELOPED: [&str; 7] = [
    "goal",
    "mission_type",
    "id",
    "time_budget",
    "token_budget",
    "context_refs",
    "requested_outputs",
];

/// Start a mission.
///
/// With --wait, the exit code is 0 when the mission is completed or waits for a person, and 1 when it failed, was
/// rejected or cancelled, or used up its budget. Without a server, the command runs the mission itself, and always
/// waits.
#[derive(Debug, Args)]
pub(crate) struct Start {
    /// The mission's goal.
    #[arg(required_unless_present = "envelope")]
    goal: Option<String>,
    /// A file with a `mission_envelope` (JSON or YAML), in place of the goal and the options but `--model` and `--wait`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ENVELOPED)]
    envelope: Option<PathBuf>,
    /// The mission type; `general` if absent.
    #[arg(long = "type", value_name = "TYPE")]
    mission_type: Option<String>,
    /// The model: `offline` calls none, `routes` calls the configured ones.
    #[arg(long, value_enum, default_value_t = Model::Routes)]
    model: Model,
    /// The mission's id: an equal command with the same id returns the mission that it started.
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// The time budget: `45s`, `1500ms`, `2m`, `1h`.
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    time_budget: Option<u64>,
    /// The token budget.
    #[arg(long, value_name = "N")]
    token_budget: Option<u64>,
    /// A reference to the mission's subject: NAME=VALUE, as JSON if it is valid JSON.
    #[arg(long = "context-ref", value_name = "NAME=VALUE", value_parser = parameter)]
    context_refs: Vec<(String, Value)>,
    /// An output to produce; those of the mission type if absent.
    #[arg(long = "requested-output", value_name = "WORD")]
    requested_outputs: Vec<String>,
    /// Wait until it ends or needs a person.
    #[arg(long)]
    wait: bool,
}

/// The models of the roles of a mission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Model {
    /// The offline provider: deterministic and extractive, calls no model.
    Offline,
    /// The models that the prompts' routes lead to.
    Routes,
}

impl Model {
    /// The word of the request; the configured models need none.
    fn word(self) -> Option<&'static str> {
        match self {
            Self::Offline => Some("offline"),
            Self::Routes => None,
        }
    }
}

pub(super) async fn run(command: &Start, client: &Client, format: Format) -> anyhow::Result<u8> {
    let (path, order) = match &command.envelope {
        Some(file) => {
            let model = [("model", command.model.word())];
            (format!("/v1/missions{}", query(&model)), document(file)?)
        }
        None => ("/v1/missions".to_owned(), order(command)),
    };
    let started = client.post(&path, Some(&order)).await?;
    if !command.wait && !client.is_local() {
        output::print(format, &started, show::mission)?;
        return Ok(EXIT_OK);
    }
    let id = text(&started, "mission_id");
    let mission = watch::until_still(client, &id, |event| {
        if event.name == "state" {
            let state = text(&event.data, "mission_state");
            messages::note(&format!("{id}: {state}"));
        }
        Ok(())
    });
    let mission = mission.await?;
    output::print(format, &mission, show::mission)?;
    code_of(&mission)
}

/// The body of the request.
fn order(command: &Start) -> Value {
    let refs: Map<String, Value> = command.context_refs.iter().cloned().collect();
    let model = command.model.word();
    let fields = [
        ("goal", Some(json!(command.goal))),
        (
            "mission_type",
            command.mission_type.as_ref().map(|id| json!(id)),
        ),
        ("mission_id", command.id.as_ref().map(|id| json!(id))),
        ("origin_surface", Some(json!("cli"))),
        ("time_budget_ms", command.time_budget.map(|ms| json!(ms))),
        (
            "token_budget",
            command.token_budget.map(|tokens| json!(tokens)),
        ),
        ("context_refs", Some(json!(refs))),
        ("requested_outputs", Some(json!(command.requested_outputs))),
        ("model", model.map(|word| json!(word))),
    ];
    let given = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(given.collect())
}

/// Parses a duration such as `45s` into milliseconds.
fn milliseconds(text: &str) -> Result<u64, String> {
    let at = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(at.unwrap_or(text.len()));
    let unit = UNITS.iter().find(|(name, _)| *name == unit);
    let number: Option<u64> = number.parse().ok();
    let product = number.zip(unit).and_then(|(n, (_, ms))| n.checked_mul(*ms));
    product.ok_or_else(|| "write a number and `ms`, `s`, `m` or `h`, like 45s".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_has_a_unit() {
        let cases = [
            ("45s", Some(45_000)),
            ("1500ms", Some(1_500)),
            ("2m", Some(120_000)),
            ("1h", Some(3_600_000)),
            ("45", None),
            ("s", None),
            ("4.5s", None),
            ("-1s", None),
            ("99999999999999999999h", None),
            ("18446744073709551615h", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(milliseconds(text).ok(), wanted, "{text}");
        }
    }
}
