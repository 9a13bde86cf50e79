//! Describes a question to a client that cannot ask its user.

use charter_contract::ids::RunId;
use charter_contract::parameter::Parameter;
use charter_contract::run_status::RunStatus;
use charter_engine::{Approval, RunView};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Question;

/// The input that the work waits for, for a client that cannot ask its user.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(in crate::mcp) struct WaitHint {
    /// `parameters`, `choice`, `confirmation`, `approval` or `resume`; `run` if the work waits for another run.
    pub(in crate::mcp) kind: String,
    /// The waiting run, or the other run that it waits for; absent if nothing was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::mcp) run_id: Option<String>,
    /// The missing parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in crate::mcp) parameters: Vec<MissingParameter>,
    /// The digest of the plan or call to confirm or approve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::mcp) digest: Option<String>,
    /// The id of the pending approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::mcp) approval_id: Option<String>,
    /// How to continue.
    pub(in crate::mcp) hint: String,
}

/// A missing parameter.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(in crate::mcp) struct MissingParameter {
    /// The parameter's name.
    name: String,
    /// Its type.
    #[serde(rename = "type")]
    kind: String,
    /// Its description.
    description: String,
    /// The allowed values.
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed: Option<Vec<Value>>,
}

impl Question {
    /// The hint for a client that cannot ask its user.
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
                parameters: missing.iter().map(MissingParameter::new).collect(),
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
                parameters: missing.iter().map(MissingParameter::new).collect(),
                ..waits(
                    "parameters",
                    Some(run),
                    format!(
                        "a person provides them: charter runs set {run} NAME=VALUE; or call `run` again with all of \
                         them"
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

/// The input that a run waits for, also if the caller may not give it.
pub(in crate::mcp) fn wait_hint_of(question: Option<&Question>, run: &RunView) -> Option<WaitHint> {
    if let Some(question) = question {
        let mut waits = question.waits();
        for note in &run.notes {
            waits.hint += &format!("; {note}");
        }
        return Some(waits);
    }
    let id = run.summary.run_id.to_string();
    if let Some(awaited) = &run.state.awaited_run {
        return Some(WaitHint {
            kind: "run".to_owned(),
            hint: awaited.reason.clone(),
            run_id: Some(awaited.run_id.to_string()),
            parameters: Vec::new(),
            digest: None,
            approval_id: None,
        });
    }
    match run.summary.status {
        RunStatus::Paused => Some(WaitHint {
            kind: "resume".to_owned(),
            hint: format!("a person resumes it: charter runs resume {id}"),
            run_id: Some(id),
            parameters: Vec::new(),
            digest: None,
            approval_id: None,
        }),
        RunStatus::AwaitingParameters
        | RunStatus::AwaitingConfirmation
        | RunStatus::Working
        | RunStatus::AwaitingApproval
        | RunStatus::Stopping
        | RunStatus::RollingBack
        | RunStatus::Completed
        | RunStatus::Incomplete
        | RunStatus::Failed
        | RunStatus::Aborted
        | RunStatus::Rejected
        | RunStatus::Denied
        | RunStatus::BudgetExceeded
        | RunStatus::RolledBack
        | RunStatus::RollbackFailed => None,
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
                " who did not request it"
            } else {
                ""
            }
        ),
    }
}

impl MissingParameter {
    fn new(parameter: &Parameter) -> Self {
        Self {
            name: parameter.name.to_string(),
            kind: parameter.kind.as_str().to_owned(),
            description: parameter.description.clone(),
            allowed: parameter.allowed.clone(),
        }
    }
}
