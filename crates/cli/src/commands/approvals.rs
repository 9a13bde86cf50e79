//! `charter approvals …`: the decisions that wait for people. Approvals of calls and confirmations of plans are one queue.

mod card;
mod dialogue;
mod find;
mod queue;

use std::path::Path;

use charter_contract::json::decode_stored;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{encoded, runs};
use crate::client::Client;
use crate::config::Config;
use crate::failure::{EXIT_OK, EXIT_WAITING};
use crate::output::{self, Format};
use crate::screen;
use dialogue::Dialogue;
use find::Decision;

/// Decide on calls and plans that wait for a person.
///
/// On a terminal and without a command, shows each call or plan that waits with its arguments and reason, and asks
/// whether to approve it; otherwise lists them. An id may be shortened to its first characters. Exit code 3 if
/// decisions, or the run of a decision, still wait.
#[derive(Debug, Args)]
pub(crate) struct Approvals {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List approvals, newest first; by default, those without a decision.
    ///
    /// Plans that wait for a confirmation are listed with them, by the ids of their runs.
    List(queue::List),
    /// Show an approval with the exact call that it is for.
    Show {
        /// The approval's id, or that of a run whose plan waits for a confirmation.
        id: String,
    },
    /// Approve exactly the call, or the list of calls, that you saw, or confirm the plan.
    Approve {
        #[command(flatten)]
        answer: Answer,
        #[command(flatten)]
        choice: Choice,
    },
    /// Report that the call has already happened: its step succeeds, and the tool is not called again.
    Report {
        #[command(flatten)]
        answer: Answer,
        /// The tool's result: JSON, or a file that holds it. Omit it if the result is unknown.
        #[arg(long, value_name = "JSON|FILE")]
        result: Option<String>,
    },
    /// Reject the call; its step fails. The run of a plan is aborted.
    Reject(Answer),
    /// Hand an approval on to the next group of approvers.
    Escalate {
        /// The approval's id.
        id: String,
    },
}

/// The answer to one decision.
#[derive(Debug, Args)]
struct Answer {
    /// The approval's id, or that of a run whose plan waits for a confirmation.
    id: String,
    /// The digest of the call, or of the list, that you saw. Without it, a terminal shows the call and asks.
    #[arg(long)]
    digest: Option<String>,
    /// The reason.
    #[arg(long)]
    reason: Option<String>,
}

/// The calls of a list that are approved.
#[derive(Debug, Clone, Default, PartialEq, Args)]
struct Choice {
    /// A step whose call is excluded from the list; may be repeated.
    #[arg(long, value_name = "STEP")]
    exclude: Vec<String>,
    /// The number of calls that you approve; required for a list of a destructive playbook.
    #[arg(long, value_name = "NUMBER")]
    count: Option<u64>,
}

/// A person's word on a call or plan.
#[derive(Debug, Clone, PartialEq)]
enum Word {
    Approve(Choice),
    Reject,
    /// It happened before; with its result, if known.
    Report(Option<Value>),
}

/// A word with the digest that the person saw.
#[derive(Debug, Clone, PartialEq)]
struct Verdict {
    word: Word,
    digest: String,
    reason: Option<String>,
    /// The text that a destructive plan asks for.
    typed: Option<String>,
}

pub(crate) async fn run(
    command: &Approvals,
    config: &Config,
    format: Format,
) -> anyhow::Result<u8> {
    let client = Client::connect(config).await?;
    let ran = dispatch(command, &client, format).await;
    client.close().await?;
    ran
}

async fn dispatch(command: &Approvals, client: &Client, format: Format) -> anyhow::Result<u8> {
    let (answer, word) = match &command.command {
        None if Dialogue::is_possible(format) => return dialogue::decide_all(client).await,
        None => {
            let list = queue::List::default();
            return list.run_as_question(client, format).await;
        }
        Some(Command::List(list)) => return list.run(client, format).await,
        Some(Command::Show { id }) => {
            let found = find::find(client, id).await?;
            return show(client, &found, format).await;
        }
        Some(Command::Escalate { id }) => return escalate(client, id, format).await,
        Some(Command::Approve { answer, choice }) => (answer, Word::Approve(choice.clone())),
        Some(Command::Reject(answer)) => (answer, Word::Reject),
        Some(Command::Report { answer, result }) => {
            let result = result.as_deref().map(value).transpose()?;
            (answer, Word::Report(result))
        }
    };
    let found = find::find(client, &answer.id).await?;
    let asked = (&found, word, answer);
    let Some(verdict) = verdict(client, asked, format).await? else {
        return Ok(EXIT_WAITING);
    };
    let run = decide(client, &found, &verdict).await?;
    output::print(format, &run, runs::table)?;
    runs::code_of(&run)
}

async fn show(client: &Client, found: &Decision, format: Format) -> anyhow::Result<u8> {
    let text = match format {
        Format::Table if screen::is_terminal() => card::whole(client, found).await,
        Format::Table | Format::Json | Format::Yaml => String::new(),
    };
    output::print(format, found.value(), |found| match text.as_str() {
        "" => output::fields(found),
        text => text.to_owned(),
    })?;
    Ok(EXIT_OK)
}

async fn escalate(client: &Client, id: &str, format: Format) -> anyhow::Result<u8> {
    let Decision::Approval(approval) = find::find(client, id).await? else {
        anyhow::bail!("a plan's confirmation has no groups of approvers");
    };
    let id = approval["approval_id"].as_str().unwrap_or_default();
    let path = format!("/v1/approvals/{}/escalate", encoded(id));
    let handed_on = client.post(&path, None).await?;
    output::print(format, &handed_on, |handed_on| {
        output::rows(
            &handed_on["escalation"]["steps"],
            &["group", "users", "from"],
        )
    })?;
    Ok(EXIT_WAITING)
}

/// The verdict of a command: bound to its digest, or to that of the call which the terminal shows. `None` if the person
/// decides otherwise there.
async fn verdict(
    client: &Client,
    (found, word, answer): (&Decision, Word, &Answer),
    format: Format,
) -> anyhow::Result<Option<Verdict>> {
    let reason = answer.reason.clone();
    if let Some(digest) = answer.digest.clone() {
        return Ok(Some(Verdict {
            word,
            digest,
            reason,
            typed: None,
        }));
    }
    if !Dialogue::is_possible(format) {
        anyhow::bail!(
            "name the call that you saw: --digest {}; on a terminal, the command shows the call and asks",
            found.digest()
        );
    }
    output::line(&card::whole(client, found).await)?;
    let mut dialogue = Dialogue::new(std::io::stdin().lock());
    dialogue.confirm(found, word, reason)
}

/// Sends a verdict, and returns the run once it no longer advances on its own.
async fn decide(client: &Client, found: &Decision, verdict: &Verdict) -> anyhow::Result<Value> {
    let reason = verdict.reason.as_deref();
    let (path, body) = match (found, &verdict.word) {
        (Decision::Confirmation(_), Word::Approve(choice)) if *choice != Choice::default() => {
            anyhow::bail!("calls are excluded and counted in the approval that follows the plan");
        }
        (Decision::Confirmation(run), Word::Approve(_)) => (
            run_path(run, "confirm"),
            json!({"digest": verdict.digest, "typed": verdict.typed}),
        ),
        (Decision::Confirmation(run), Word::Reject) => (
            run_path(run, "abort"),
            json!({"reason": reason.unwrap_or("the plan was rejected")}),
        ),
        (Decision::Confirmation(_), Word::Report(_)) => {
            anyhow::bail!("nothing of this plan has begun, so nothing can have happened");
        }
        (Decision::Approval(approval), word) => {
            let mut body = json!({"digest": verdict.digest, "reason": reason});
            let verb = match word {
                Word::Approve(choice) => {
                    body["exclude"] = json!(choice.exclude);
                    body["count"] = json!(choice.count);
                    "approve"
                }
                Word::Reject => "reject",
                Word::Report(output) => {
                    if let Some(output) = output {
                        body["output"] = output.clone();
                    }
                    "report"
                }
            };
            let id = approval["approval_id"].as_str().unwrap_or_default();
            (format!("/v1/approvals/{}/{verb}", encoded(id)), body)
        }
    };
    client.post(&path, Some(&body)).await?;
    runs::follow_run(client, found.run()).await
}

fn run_path(run: &Value, what: &str) -> String {
    let id = run["run_id"].as_str().unwrap_or_default();
    format!("/v1/runs/{}/{what}", encoded(id))
}

/// Reads JSON, either from the argument itself or from the file that it names.
fn value(given: &str) -> anyhow::Result<Value> {
    match decode_stored(given) {
        Ok(value) => Ok(value),
        Err(_) => runs::document(Path::new(given)),
    }
}
