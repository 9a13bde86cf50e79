//! Questions that a person must answer before work continues: how they are asked, and how answers are applied.

mod forms;
mod waits;

use std::sync::Arc;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{ApprovalId, Label, RunId, SkillId};
use charter_contract::parameter::Parameter;
use charter_contract::run_status::RunStatus;
use charter_engine::{
    AccessScope, Approval, ApprovalAnswer, ApprovalDecision, Caller, Confirmation, CredentialId,
    Engine, EngineError, RunView,
};
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub(super) use forms::{Choice, Choosable, chosen, typed_values};
pub(super) use waits::{WaitHint, wait_hint_of};

use forms::{
    APPROVE, CHOICE, CONFIRM, REASON, TYPED, approval, choice, confirmation, fields, plan_of,
    with_reasons,
};

/// The error for an answer to another tool's question.
pub(super) fn foreign_state() -> EngineError {
    EngineError::new(
        ErrorCode::InvalidRequest,
        "the requestState belongs to another tool",
    )
}

/// Whether an answer through a caller's client counts as a person's decision. A client can answer without its user, so
/// the credential must name the scope; `*`, the default of every key, is not enough. The local user has no credential
/// that could name it.
fn may_decide(caller: &Caller) -> bool {
    match caller.credential {
        CredentialId::Local => true,
        CredentialId::Key(_) | CredentialId::Configured(_) | CredentialId::Token { .. } => {
            caller.scopes.names(AccessScope::ApprovalsWrite)
        }
    }
}

fn must_decide(caller: &Caller) -> Result<(), EngineError> {
    if may_decide(caller) {
        return Ok(());
    }
    let scope = AccessScope::ApprovalsWrite;
    let message = format!(
        "an answer through an MCP client counts as a decision only if the credential has the scope `{scope}`: decide \
         by the command line, the console or the REST API, or use a key created with that scope"
    );
    let error = EngineError::new(ErrorCode::PermissionDenied, message);
    Err(error.with_details(json!({"scope": scope})))
}

/// A question for a person.
#[derive(Debug, Clone)]
pub(super) enum Question {
    /// Values for parameters of a skill, before any run starts.
    Skill {
        skill: SkillId,
        missing: Vec<Parameter>,
    },
    /// Which of several candidates is meant, before any run starts.
    Choose {
        question: String,
        options: Vec<Choice>,
    },
    /// Values for parameters of a run.
    Give { run: RunId, missing: Vec<Parameter> },
    /// Whether to execute exactly this plan.
    Confirm {
        run: RunId,
        digest: String,
        typed: Option<Label>,
        plan: String,
    },
    /// Whether to make exactly this call.
    Approve { approval: Box<Approval> },
}

/// A question that was asked, as the client keeps it until the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "for", rename_all = "snake_case")]
pub(super) enum PendingQuestion {
    Skill {
        skill: SkillId,
    },
    Choose,
    Give {
        run: RunId,
    },
    Confirm {
        run: RunId,
        digest: String,
    },
    Approve {
        run: RunId,
        approval: ApprovalId,
        digest: String,
    },
    /// Questions of an MCP server, by its own keys.
    Server {
        run: RunId,
        keys: Vec<String>,
    },
    /// Whether the user opens the page for connecting an account.
    Connect {
        credential: Label,
    },
}

/// The outcome of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AnswerOutcome {
    /// The work continues.
    Acted,
    /// The person declined to answer, or answered no.
    Declined,
    /// Values to start with.
    Values(Map<String, Value>),
}

impl Question {
    /// The question of a run, even if the caller may not answer it. Of several approvals, one that the caller may
    /// decide.
    pub(super) async fn of_run(
        engine: &Arc<Engine>,
        caller: &Caller,
        run: &RunView,
    ) -> Result<Option<Self>, EngineError> {
        let id = run.summary.run_id.clone();
        Ok(match run.summary.status {
            RunStatus::AwaitingParameters => {
                let missing = engine
                    .run_management()
                    .missing_parameters(caller, &id)
                    .await?;
                let missing = with_reasons(missing, run);
                Some(Self::Give { run: id, missing })
            }
            RunStatus::AwaitingConfirmation => Some(Self::Confirm {
                run: id,
                digest: run.state.plan_digest.to_string(),
                typed: run.state.typed.clone(),
                plan: plan_of(run),
            }),
            RunStatus::AwaitingApproval => {
                let mut approvals = run.approvals.iter();
                let own = approvals.find(|approval| caller.can_approve(approval));
                own.or(run.approvals.first()).map(|approval| Self::Approve {
                    approval: Box::new(approval.clone()),
                })
            }
            RunStatus::Working
            | RunStatus::Paused
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
        })
    }

    /// Whether the caller may answer it through a client.
    pub(super) fn is_for(&self, caller: &Caller) -> bool {
        match self {
            Self::Skill { .. } | Self::Choose { .. } | Self::Give { .. } => true,
            Self::Confirm { .. } => may_decide(caller),
            Self::Approve { approval } => may_decide(caller) && caller.can_approve(approval),
        }
    }

    /// The question as the client keeps it.
    pub(super) fn pending(&self) -> PendingQuestion {
        match self {
            Self::Skill { skill, .. } => PendingQuestion::Skill {
                skill: skill.clone(),
            },
            Self::Choose { .. } => PendingQuestion::Choose,
            Self::Give { run, .. } => PendingQuestion::Give { run: run.clone() },
            Self::Confirm { run, digest, .. } => PendingQuestion::Confirm {
                run: run.clone(),
                digest: digest.clone(),
            },
            Self::Approve { approval } => PendingQuestion::Approve {
                run: approval.call.run_id.clone(),
                approval: approval.approval_id.clone(),
                digest: approval.digest.to_string(),
            },
        }
    }

    /// The form for a person.
    pub(super) fn form(&self) -> Result<ElicitRequestParams, EngineError> {
        let schema = match self {
            Self::Skill { missing, .. } | Self::Give { missing, .. } => fields(missing),
            Self::Choose { options, .. } => choice(options),
            Self::Confirm { typed, .. } => confirmation(typed.as_ref()),
            Self::Approve { .. } => approval(),
        };
        let requested_schema = ElicitationSchema::from_json_schema(schema)
            .map_err(|error| EngineError::internal("making a form", error))?;
        Ok(ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: self.message(),
            requested_schema,
        })
    }

    /// The form as a part of a result.
    pub(super) fn request(&self) -> Result<InputRequest, EngineError> {
        Ok(InputRequest::Elicitation(ElicitRequest::new(self.form()?)))
    }

    fn message(&self) -> String {
        match self {
            Self::Skill { skill, .. } => format!("{skill} needs more parameters."),
            Self::Choose { question, .. } => question.clone(),
            Self::Give { run, .. } => format!("{run} needs more parameters."),
            Self::Confirm { plan, digest, .. } => {
                format!(
                    "Nothing has been changed yet. Execute exactly this plan?\n{plan}\nPlan digest: {digest}"
                )
            }
            Self::Approve { approval } if !approval.list.is_empty() => {
                let calls = approval.list.iter().map(|call| {
                    let with = Value::Object(call.parameters.clone());
                    format!("{}: {} with {with}", call.step, call.tool)
                });
                let calls: Vec<String> = calls.collect();
                format!(
                    "{} requests {} calls. Approve exactly these calls?\n{}\nDigest of the list: {}",
                    approval.requested_by,
                    calls.len(),
                    calls.join("\n"),
                    approval.digest
                )
            }
            Self::Approve { approval } => {
                let with = Value::Object(approval.call.parameters.clone());
                format!(
                    "{} requests a call of {} with {with}. Approve exactly this call?\nCall digest: {}",
                    approval.requested_by, approval.call.tool, approval.digest
                )
            }
        }
    }
}

impl PendingQuestion {
    /// The key of the question among those of a result.
    pub(super) fn key(&self) -> String {
        match self {
            Self::Skill { .. } | Self::Give { .. } => "parameters".to_owned(),
            Self::Choose => CHOICE.to_owned(),
            Self::Confirm { digest, .. } => format!("confirm {digest}"),
            Self::Approve { approval, .. } => format!("approve {approval}"),
            Self::Server { run, .. } => format!("answer {run}"),
            Self::Connect { credential } => format!("connect {credential}"),
        }
    }

    /// The run of the question. One without a run belongs to another tool.
    pub(super) fn run(&self) -> Result<&RunId, EngineError> {
        match self {
            Self::Skill { .. } | Self::Choose | Self::Connect { .. } => Err(foreign_state()),
            Self::Give { run }
            | Self::Confirm { run, .. }
            | Self::Approve { run, .. }
            | Self::Server { run, .. } => Ok(run),
        }
    }

    /// Applies the person's answer on behalf of the caller.
    pub(super) async fn apply(
        &self,
        engine: &Arc<Engine>,
        caller: &Caller,
        answer: ElicitResult,
    ) -> Result<AnswerOutcome, EngineError> {
        if answer.action != ElicitationAction::Accept {
            return Ok(AnswerOutcome::Declined);
        }
        let Some(Value::Object(content)) = answer.content else {
            let message = "the form was returned without its fields";
            return Err(EngineError::new(ErrorCode::InvalidRequest, message));
        };
        if let Self::Confirm { .. } | Self::Approve { .. } = self {
            must_decide(caller)?;
        }
        match self {
            Self::Skill { .. } | Self::Choose => Ok(AnswerOutcome::Values(content)),
            // The call takes these answers itself.
            Self::Server { .. } | Self::Connect { .. } => Err(foreign_state()),
            Self::Give { run } => {
                let missing = engine
                    .run_management()
                    .missing_parameters(caller, run)
                    .await?;
                let given = typed_values(&missing, content);
                engine
                    .run_management()
                    .give_parameters(caller, run, &given)
                    .await?;
                Ok(AnswerOutcome::Acted)
            }
            Self::Confirm { run, digest } => {
                if content.get(CONFIRM) != Some(&Value::Bool(true)) {
                    return Ok(AnswerOutcome::Declined);
                }
                let typed = content.get(TYPED).and_then(Value::as_str);
                let confirmation = Confirmation {
                    digest: digest.clone(),
                    typed: typed.map(str::to_owned),
                };
                engine
                    .run_management()
                    .confirm(caller, run, confirmation)
                    .await?;
                Ok(AnswerOutcome::Acted)
            }
            Self::Approve {
                approval, digest, ..
            } => {
                let approve = match content.get(APPROVE) {
                    Some(Value::Bool(approve)) => *approve,
                    _ => return Ok(AnswerOutcome::Declined),
                };
                let reason = content.get(REASON).and_then(Value::as_str);
                let say = ApprovalDecision {
                    answer: if approve {
                        ApprovalAnswer::Approve
                    } else {
                        ApprovalAnswer::Reject
                    },
                    digest: digest.clone(),
                    reason: reason.filter(|text| !text.is_empty()).map(str::to_owned),
                };
                engine.approvals().decide(caller, approval, say).await?;
                Ok(AnswerOutcome::Acted)
            }
        }
    }
}
