//! `charter ask`

use anyhow::{Context, bail};
use charter_contract::run_status::RunStatus;
use clap::Args;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::client::Client;
use crate::config::Config;
use crate::failure::{EXIT_OK, EXIT_WAITING};
use crate::output::{self, Format};
use crate::screen;
use crate::{messages, terminal};

/// Ask a question and see the answer.
///
/// Shows the progress on standard error if that is a terminal. Exit code 3 if the answer is a change that waits for a
/// person.
#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// The question.
    question: String,
    /// A value for a skill's parameter: NAME=VALUE, as JSON if it is valid JSON.
    #[arg(long = "param", short = 'p', value_name = "NAME=VALUE", value_parser = super::parameter)]
    parameters: Vec<(String, Value)>,
    /// The skill to use instead of routing.
    #[arg(long, value_name = "ID")]
    skill: Option<String>,
    /// The playbook to run instead of routing.
    #[arg(long, value_name = "ID", conflicts_with = "skill")]
    playbook: Option<String>,
    /// Show what a change would do, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// The persona to answer for.
    #[arg(long)]
    persona: Option<String>,
    /// The session to continue.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Use memories' values for missing parameters.
    #[arg(long)]
    use_memory: bool,
}

impl Ask {
    /// Whether memories' values are used for missing parameters.
    pub(super) fn uses_memory(&self) -> bool {
        self.use_memory
    }
}

pub(crate) async fn run(command: &Ask, config: &Config, format: Format) -> anyhow::Result<u8> {
    let client = Client::connect(config).await?;
    let answered = ask(command, &client).await;
    client.close().await?;
    let answered = answered?;
    output::print(format, &answered, table)?;
    Ok(code_of(&answered))
}

/// The exit code for an answer: whether the run that it started waits for a person.
fn code_of(answer: &Value) -> u8 {
    let status = answer["metadata"]["status"].as_str();
    let status: Option<RunStatus> = status.and_then(|status| status.parse().ok());
    match status.is_some_and(RunStatus::awaits_answer) {
        true => EXIT_WAITING,
        false => EXIT_OK,
    }
}

async fn ask(command: &Ask, client: &Client) -> anyhow::Result<Value> {
    let bar = terminal::spinner("routing");
    let mut told = String::new();
    let answer = client
        .ask(&request(command)?, |event| match sentence(event) {
            // The answer repeats the sentence: a terminal shows it until then, other outputs note it as it arrives.
            Some(sentence) if bar.is_hidden() => messages::note(sentence),
            Some(sentence) => bar.set_message(with_sentence(&mut told, sentence)),
            None => {
                let shown = screen::plain(&progress_text(event));
                // Milestones stay above the spinner; nothing is shown where there is no terminal.
                if is_milestone(event) {
                    bar.println(format!("  {shown}"));
                }
                if told.is_empty() {
                    bar.set_message(shown);
                }
            }
        })
        .await;
    bar.finish_and_clear();
    answer
}

/// Appends a sentence; returns the sentences so far.
fn with_sentence(told: &mut String, sentence: &str) -> String {
    if !told.is_empty() {
        told.push(' ');
    }
    told.push_str(sentence);
    told.clone()
}

fn request(command: &Ask) -> anyhow::Result<Value> {
    let parameters: Map<String, Value> = command.parameters.iter().cloned().collect();
    let mut metadata = json!({"parameters": parameters});
    if let Some(skill) = &command.skill {
        metadata["skill_id"] = json!(skill);
    }
    if let Some(playbook) = &command.playbook {
        metadata["playbook_id"] = json!(playbook);
    }
    if command.dry_run {
        metadata["dry_run"] = json!(true);
    }
    if command.use_memory {
        metadata["use_memory"] = json!(true);
    }
    if let Some(persona) = &command.persona {
        metadata["persona"] = json!(persona);
    }
    let mut request = new_request(&command.question, &metadata)?;
    if let Some(session) = &command.session {
        request["session_id"] = json!(session);
    }
    if command.question.trim().is_empty() {
        bail!("the question is empty");
    }
    Ok(request)
}

/// A request with a new id.
pub(super) fn new_request(question: &str, metadata: &Value) -> anyhow::Result<Value> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let micros = i64::try_from(now.context("reading the clock")?.as_micros())
        .context("reading the clock")?;
    let timestamp = charter_contract::time::Timestamp::from_micros(micros)?;
    Ok(json!({
        "id": format!("req-{}", Uuid::now_v7()), "timestamp": timestamp,
        "input": question, "metadata": metadata,
    }))
}

/// The sentence of a progress event, if it carries one.
fn sentence(event: &Value) -> Option<&str> {
    let is_sentence = event["stage"].as_str() == Some("sentence");
    event["text"].as_str().filter(|_| is_sentence)
}

/// Whether a progress event reports a result, and not the start of something.
fn is_milestone(event: &Value) -> bool {
    matches!(
        event["stage"].as_str(),
        Some("routed" | "step_finished" | "analysed")
    )
}

/// A progress event as a short text.
fn progress_text(event: &Value) -> String {
    let text = |field: &str| {
        event
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    match text("stage").as_str() {
        "routed" => format!("{}: {}", text("verdict"), text("reason")),
        "skill_started" => format!("running {}", text("skill")),
        "step_started" => format!("calling {}", text("tool")),
        "step_waiting" => format!("waiting for the rate limit of {}", text("tool")),
        "step_finished" => format!("{} {}", text("step"), text("outcome")),
        "analysed" => format!("{}: {} finding(s)", text("skill"), event["findings"]),
        other => other.to_owned(),
    }
}

/// The answer as a table, with its sources.
fn table(answer: &Value) -> String {
    let metadata = &answer["metadata"];
    let count = |field: &str| metadata[field].as_array().map_or(0, Vec::len);
    let verdict = metadata
        .pointer("/verdict/kind")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let reason = metadata
        .pointer("/verdict/reason")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let tools: Vec<&str> = metadata["tools_used"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    format!(
        "{}\n\nrouted     {verdict}: {reason}\ntools      {}\nfindings   {}\nevidence   {}\ntook       {} ms",
        answer["content"].as_str().unwrap_or_default(),
        tools.join(", "),
        count("findings"),
        count("evidence_ids"),
        metadata["execution_time_ms"],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_tells_that_a_change_waits_for_a_person() {
        let code = |status: &str| code_of(&json!({"metadata": {"status": status}}));
        assert_eq!(code("awaiting_confirmation"), EXIT_WAITING);
        assert_eq!(code("awaiting_parameters"), EXIT_WAITING);
        assert_eq!(code("completed"), EXIT_OK);
        assert_eq!(code_of(&json!({"metadata": {}})), EXIT_OK);
    }
}
