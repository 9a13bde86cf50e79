//! `charter call TOOL`

use anyhow::Context as _;
use charter_contract::agentic::tool_result::ToolStatus;
use charter_contract::catalogue::vocabulary::PermissionLevel;
use charter_contract::ids::InvocationId;
use charter_contract::run_status::RunStatus;
use charter_domain::clock::{Clock, SystemClock};
use clap::Args;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{encoded, read_field, runs};
use crate::client::Client;
use crate::config::Config;
use crate::failure::{EXIT_ERROR, EXIT_NEGATIVE, EXIT_OK};
use crate::messages;
use crate::output::{self, Format};

/// Call one tool, and print its result.
///
/// A call that changes something waits for a confirmation and an approval: it prints its run, and ends with exit
/// code 3. Exit code 1 if the call was denied, 2 if it failed.
#[derive(Debug, Args)]
pub(crate) struct Call {
    /// The tool's id: that of the catalogue, or `tool-…`.
    tool: String,
    /// A value for a parameter: NAME=VALUE, as JSON if it is valid JSON.
    #[arg(long = "param", short = 'p', value_name = "NAME=VALUE", value_parser = super::parameter)]
    parameters: Vec<(String, Value)>,
    /// Show what it would do, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// The time limit of the call, in milliseconds.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout_ms: Option<u64>,
}

pub(crate) async fn run(command: &Call, config: &Config, format: Format) -> anyhow::Result<u8> {
    let client = Client::connect(config).await?;
    let found = command.send(&client).await;
    client.close().await?;
    let found = found?;
    if is_run(&found) {
        advise(&found);
        output::print(format, &found, runs::table)?;
        return runs::code_of(&found);
    }
    output::print(format, &found, shown)?;
    let status: ToolStatus = read_field(&found, "status")?;
    Ok(match status {
        ToolStatus::Success => EXIT_OK,
        ToolStatus::Denied => EXIT_NEGATIVE,
        ToolStatus::Error | ToolStatus::Timeout => EXIT_ERROR,
    })
}

impl Call {
    /// Returns the result, or the run if it waits for a person.
    async fn send(&self, client: &Client) -> anyhow::Result<Value> {
        let path = format!("/v1/tools/{}", encoded(&self.tool));
        let definition = client.get(&path).await?;
        let invocation = self.invocation(&definition)?;
        let path = format!("{path}/invoke");
        loop {
            // The same invocation finds the call that it started.
            let found = client.post(&path, Some(&invocation)).await?;
            if !is_run(&found) {
                return Ok(found);
            }
            let status: RunStatus = read_field(&found, "status")?;
            if !status.is_active() {
                return Ok(found);
            }
        }
    }

    fn invocation(&self, definition: &Value) -> anyhow::Result<Value> {
        let level = definition.get("permission_level").cloned();
        let level = level.unwrap_or_else(|| PermissionLevel::default().as_str().into());
        let parameters: Map<String, Value> = self.parameters.iter().cloned().collect();
        let mut invocation = json!({
            "id": InvocationId::from_uuid(Uuid::now_v7()),
            "tool": definition["id"],
            "parameters": parameters,
            "timestamp": SystemClock::start().context("reading the clock")?.now(),
            "dry_run": self.dry_run,
            "permission_level": level,
        });
        if let Some(limit) = self.timeout_ms {
            invocation["timeout_ms"] = limit.into();
        }
        Ok(invocation)
    }
}

/// Whether an answer is a run and not a result.
fn is_run(answer: &Value) -> bool {
    answer.get("run_id").is_some()
}

/// Names the command that continues a waiting run.
fn advise(run: &Value) {
    let text = |field: &str| run[field].as_str().unwrap_or_default();
    if text("status") == RunStatus::AwaitingConfirmation.as_str() {
        messages::note(&format!(
            "note: the call waits; `charter runs confirm {} --digest {}` starts it",
            text("run_id"),
            text("plan_digest")
        ));
    }
}

/// The output of the tool, or the failure of the call.
fn shown(result: &Value) -> String {
    match (&result["error"], &result["result"]) {
        (Value::Null, Value::String(text)) => text.clone(),
        (Value::Null, output) => format!("{output:#}"),
        (error, _) => output::fields(error),
    }
}

#[cfg(test)]
mod tests {
    use charter_contract::registry::validate;
    use charter_contract::schema::SchemaName;

    use super::*;

    #[test]
    fn a_call_is_a_valid_invocation_at_the_level_of_its_tool() {
        let call = Call {
            tool: "vault.purge".to_owned(),
            parameters: vec![("vault".to_owned(), json!("main"))],
            dry_run: true,
            timeout_ms: Some(500),
        };
        let definition = json!({"id": "tool-vault-purge", "permission_level": "admin"});
        let invocation = call.invocation(&definition).unwrap();
        assert_eq!(validate(SchemaName::ToolInvocation, &invocation), []);
        assert_eq!(invocation["permission_level"], "admin");
        assert_eq!(invocation["parameters"], json!({"vault": "main"}));
        assert_eq!(invocation["timeout_ms"], 500);
    }

    #[test]
    fn a_text_is_printed_as_it_is_and_other_output_as_json() {
        for (result, expected) in [
            (json!({"result": "a\nb"}), "a\nb"),
            (json!({"result": [1]}), "[\n  1\n]"),
            (json!({}), "null"),
        ] {
            assert_eq!(shown(&result), expected);
        }
        let failed = json!({"error": {"message": "not at night"}});
        assert!(shown(&failed).contains("not at night"));
    }
}
