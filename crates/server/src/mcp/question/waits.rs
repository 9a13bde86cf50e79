//! What is told of a question to a client that cannot ask.

use charter_contract::ids::RunId;
use charter_contract::parameter::Parameter;
use charter_engine::{Approval, RunView};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Question;

/// What somebody has to say, for a client that cannot ask.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(in crate::mcp) struct WaitHint {
    /// `parameters`, `choice`, `confirmation`, `approval` or `resume`.
    pub(in crate::mcp) kind: String,
    /// The run that waits; absent where nothing was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::mcp) run_id: Option<String>,
    /// The values that are missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in crate::mcp) parameters: Vec<MissingParameter>,
    /// What exactly is confirmed or approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::mcp) digest: Option<String>,
    /// The approval that is waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::mcp) approval_id: Option<String>,
    /// How it goes on.
    pub(in crate::mcp) hint: String,
}

/// A value that is missing.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(in crate::mcp) struct MissingParameter {
    /// The parameter's name.
    name: String,
    /// Its type.
    #[serde(rename = "type")]
    kind: String,
    /// What it is for.
    description: String,
    /// The values it may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed: Option<Vec<Value>>,
}

impl Question {
    /// What a client reads that cannot ask.
    pub(in crate::mcp) fn waits(&self) -> WaitHint {
        let waits = |kind: &str, run: Option<&RunId>, hint: String| WaitHint {
            kind: kind.to_owned(),
            run_id: run.map(ToString::to_string),
            parameters: Vec::new(),
            digest: None,
            approval_id: None,
            hint,
        };
        match self {
            Self::Skill { skill, missing } => WaitHint {
                parameters: missing.iter().map(MissingParameter::of).collect(),
                ..waits(
                    "parameters",
                    None,
                    format!("call `run` again with skill_id `{skill}` and these parameters"),
                )
            },
            Self::Choose { options, .. } => {
                let ids: Vec<String> = options
                    .iter()
                    .map(|option| format!("{}_id `{}`", option.kind, option.id))
                    .collect();
                let hint = format!("call `run` again with {}", ids.join(" or "));
                waits("choice", None, hint)
            }
            Self::Give { run, missing } => WaitHint {
                parameters: missing.iter().map(MissingParameter::of).collect(),
                ..waits(
                    "parameters",
                    Some(run),
                    format!(
                        "a person gives them: charter runs set {run} NAME=VALUE; or call `run` again with all of them"
                    ),
                )
            },
            Self::Confirm { run, digest, .. } => WaitHint {
                digest: Some(digest.clone()),
                ..waits(
                    "confirmation",
                    Some(run),
                    format!(
                        "a person confirms the plan: charter runs confirm {run} --digest {digest}"
                    ),
                )
            },
            Self::Approve { approval } => approval_waits(approval),
        }
    }
}

/// What a run waits for, whoever may say it.
pub(in crate::mcp) fn wait_hint_of(question: Option<&Question>, run: &RunView) -> Option<WaitHint> {
    if let Some(question) = question {
        let mut waits = question.waits();
        for note in &run.notes {
            waits.hint += &format!("; {note}");
        }
        return Some(waits);
    }
    let id = run.summary.run_id.to_string();
    match run.summary.status.as_str() {
        "paused" => Some(WaitHint {
            kind: "resume".to_owned(),
            hint: format!("a person lets it go on: charter runs resume {id}"),
            run_id: Some(id),
            parameters: Vec::new(),
            digest: None,
            approval_id: None,
        }),
        _ => None,
    }
}

fn approval_waits(approval: &Approval) -> WaitHint {
    let id = &approval.approval_id;
    WaitHint {
        kind: "approval".to_owned(),
        run_id: Some(approval.call.run_id.to_string()),
        parameters: Vec::new(),
        digest: Some(approval.digest.to_string()),
        approval_id: Some(id.to_string()),
        hint: format!(
            "an operator decides{}: charter approvals approve {id}",
            if approval.four_eyes {
                ", and did not ask for it"
            } else {
                ""
            }
        ),
    }
}

impl MissingParameter {
    fn of(parameter: &Parameter) -> Self {
        Self {
            name: parameter.name.to_string(),
            kind: parameter.kind.as_str().to_owned(),
            description: parameter.description.clone(),
            allowed: parameter.allowed.clone(),
        }
    }
}
