//! What a person has to say before work goes on: how it is asked, and what becomes of the answer.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{ApprovalId, Label, RunId, SkillId};
use charter_contract::parameter::{Parameter, ParameterType};
use charter_engine::{Answer, Approval, Confirmation, EngineError, Role, RunShown, Say};
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::call::Call;

/// A question that somebody may answer.
#[derive(Debug, Clone)]
pub(super) enum Question {
    /// Values for parameters of a skill, before anything runs.
    Skill {
        skill: SkillId,
        missing: Vec<Parameter>,
    },
    /// Values for parameters of a run.
    Give { run: RunId, missing: Vec<Parameter> },
    /// Whether exactly this plan is to be carried out.
    Confirm {
        run: RunId,
        digest: String,
        typed: Option<Label>,
        plan: String,
    },
    /// Whether exactly this call is to be made.
    Approve { approval: Box<Approval> },
}

/// A question that was put, as the client keeps it until the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "for", rename_all = "snake_case")]
pub(super) enum Pending {
    Skill {
        skill: SkillId,
    },
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
}

/// What became of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Applied {
    /// The work goes on.
    Acted,
    /// The person does not want to say it, or said no.
    Declined,
    /// Values to start with.
    Values(Map<String, Value>),
}

/// What somebody has to say, for a client that cannot ask.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(super) struct Waits {
    /// `parameters`, `confirmation`, `approval` or `resume`.
    pub(super) kind: String,
    /// The run that waits; absent where nothing was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) run_id: Option<String>,
    /// The values that are missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) parameters: Vec<Wanted>,
    /// What exactly is confirmed or approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<String>,
    /// The approval that is waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) approval_id: Option<String>,
    /// How it goes on.
    pub(super) hint: String,
}

/// A value that is missing.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(super) struct Wanted {
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
    /// What a run waits for that this caller may say.
    pub(super) async fn of_run(call: &Call, run: &RunShown) -> Result<Option<Self>, EngineError> {
        let id = run.summary.run_id.clone();
        Ok(match run.summary.status.as_str() {
            "awaiting_parameters" => {
                let missing = call.engine().missing_parameters(&call.caller, &id).await?;
                Some(Self::Give { run: id, missing })
            }
            "awaiting_confirmation" => Some(Self::Confirm {
                run: id,
                digest: run.state.plan_digest.to_string(),
                typed: run.state.typed.clone(),
                plan: plan_of(run),
            }),
            "awaiting_approval" => {
                let may = |approval: &&Approval| {
                    let own = approval.requested_by == call.caller.user;
                    call.caller.role >= Role::Operator && !(approval.four_eyes && own)
                };
                let first = run.approvals.iter().find(may);
                first.map(|approval| Self::Approve {
                    approval: Box::new(approval.clone()),
                })
            }
            _ => None,
        })
    }

    /// What the client keeps.
    pub(super) fn pending(&self) -> Pending {
        match self {
            Self::Skill { skill, .. } => Pending::Skill {
                skill: skill.clone(),
            },
            Self::Give { run, .. } => Pending::Give { run: run.clone() },
            Self::Confirm { run, digest, .. } => Pending::Confirm {
                run: run.clone(),
                digest: digest.clone(),
            },
            Self::Approve { approval } => Pending::Approve {
                run: approval.call.run_id.clone(),
                approval: approval.approval_id.clone(),
                digest: approval.digest.to_string(),
            },
        }
    }

    /// The form that is put to a person.
    pub(super) fn form(&self) -> Result<ElicitRequestParams, EngineError> {
        let schema = match self {
            Self::Skill { missing, .. } | Self::Give { missing, .. } => fields(missing),
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

    /// The form, as it stands in a result that asks.
    pub(super) fn request(&self) -> Result<InputRequest, EngineError> {
        Ok(InputRequest::Elicitation(ElicitRequest::new(self.form()?)))
    }

    fn message(&self) -> String {
        match self {
            Self::Skill { skill, .. } => format!("{skill} needs more to go on."),
            Self::Give { run, .. } => format!("{run} needs more to go on."),
            Self::Confirm { plan, digest, .. } => {
                format!(
                    "Nothing has been changed yet. Carry out exactly this plan?\n{plan}\nPlan digest: {digest}"
                )
            }
            Self::Approve { approval } => {
                let with = Value::Object(approval.call.parameters.clone());
                format!(
                    "{} asks to call {} with {with}. Approve exactly this call?\nCall digest: {}",
                    approval.requested_by, approval.call.tool, approval.digest
                )
            }
        }
    }

    /// What a client reads that cannot ask.
    pub(super) fn waits(&self) -> Waits {
        let waits = |kind: &str, run: Option<&RunId>, hint: String| Waits {
            kind: kind.to_owned(),
            run_id: run.map(ToString::to_string),
            parameters: Vec::new(),
            digest: None,
            approval_id: None,
            hint,
        };
        match self {
            Self::Skill { skill, missing } => Waits {
                parameters: missing.iter().map(Wanted::of).collect(),
                ..waits(
                    "parameters",
                    None,
                    format!("call `run` again with skill_id `{skill}` and these parameters"),
                )
            },
            Self::Give { run, missing } => Waits {
                parameters: missing.iter().map(Wanted::of).collect(),
                ..waits(
                    "parameters",
                    Some(run),
                    format!(
                        "a person gives them: charter runs give {run} NAME=VALUE; or call `run` again with all of them"
                    ),
                )
            },
            Self::Confirm { run, digest, .. } => Waits {
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
pub(super) async fn waits_of(call: &Call, run: &RunShown) -> Result<Option<Waits>, EngineError> {
    if let Some(question) = Question::of_run(call, run).await? {
        return Ok(Some(question.waits()));
    }
    let id = run.summary.run_id.to_string();
    Ok(match run.summary.status.as_str() {
        "awaiting_approval" => run.approvals.first().map(approval_waits),
        "paused" => Some(Waits {
            kind: "resume".to_owned(),
            hint: format!("a person lets it go on: charter runs resume {id}"),
            run_id: Some(id),
            parameters: Vec::new(),
            digest: None,
            approval_id: None,
        }),
        _ => None,
    })
}

fn approval_waits(approval: &Approval) -> Waits {
    let id = &approval.approval_id;
    Waits {
        kind: "approval".to_owned(),
        run_id: Some(approval.call.run_id.to_string()),
        parameters: Vec::new(),
        digest: Some(approval.digest.to_string()),
        approval_id: Some(id.to_string()),
        hint: format!(
            "an operator decides{}: charter approvals approve {id}",
            if approval.four_eyes {
                ", not whoever asked"
            } else {
                ""
            }
        ),
    }
}

impl Pending {
    /// What the question is called among the questions of a result.
    pub(super) fn key(&self) -> String {
        match self {
            Self::Skill { .. } | Self::Give { .. } => "parameters".to_owned(),
            Self::Confirm { digest, .. } => format!("confirm {digest}"),
            Self::Approve { approval, .. } => format!("approve {approval}"),
        }
    }

    /// The run that it is about.
    pub(super) fn run(&self) -> Option<&RunId> {
        match self {
            Self::Skill { .. } => None,
            Self::Give { run } | Self::Confirm { run, .. } | Self::Approve { run, .. } => Some(run),
        }
    }

    /// Does what the person said, in the caller's name.
    pub(super) async fn apply(
        &self,
        call: &Call,
        answer: ElicitResult,
    ) -> Result<Applied, EngineError> {
        if answer.action != ElicitationAction::Accept {
            return Ok(Applied::Declined);
        }
        let Some(Value::Object(content)) = answer.content else {
            let message = "the form came back without its fields";
            return Err(EngineError::new(ErrorCode::InvalidRequest, message));
        };
        let (engine, caller) = (call.engine(), &call.caller);
        match self {
            Self::Skill { .. } => Ok(Applied::Values(content)),
            Self::Give { run } => {
                let missing = engine.missing_parameters(caller, run).await?;
                let given = typed_values(&missing, content);
                engine.give_parameters(caller, run, &given).await?;
                Ok(Applied::Acted)
            }
            Self::Confirm { run, digest } => {
                if content.get(CONFIRM) != Some(&Value::Bool(true)) {
                    return Ok(Applied::Declined);
                }
                let typed = content.get(TYPED).and_then(Value::as_str);
                let confirmation = Confirmation {
                    digest: digest.clone(),
                    typed: typed.map(str::to_owned),
                };
                engine.confirm_run(caller, run, confirmation).await?;
                Ok(Applied::Acted)
            }
            Self::Approve {
                approval, digest, ..
            } => {
                let approve = match content.get(APPROVE) {
                    Some(Value::Bool(approve)) => *approve,
                    _ => return Ok(Applied::Declined),
                };
                let reason = content.get(REASON).and_then(Value::as_str);
                let say = Say {
                    answer: if approve {
                        Answer::Approve
                    } else {
                        Answer::Reject
                    },
                    digest: digest.clone(),
                    reason: reason.filter(|text| !text.is_empty()).map(str::to_owned),
                };
                engine.decide_approval(caller, approval, say).await?;
                Ok(Applied::Acted)
            }
        }
    }
}

const CONFIRM: &str = "confirm";
const TYPED: &str = "typed";
const APPROVE: &str = "approve";
const REASON: &str = "reason";

impl Wanted {
    fn of(parameter: &Parameter) -> Self {
        Self {
            name: parameter.name.to_string(),
            kind: parameter.kind.as_str().to_owned(),
            description: parameter.description.clone(),
            allowed: parameter.allowed.clone(),
        }
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// A form has flat fields only (elicitation, 2025-11-25): lists and objects are written as JSON.
fn fields(missing: &[Parameter]) -> Map<String, Value> {
    let mut properties = Map::new();
    for parameter in missing {
        let mut field = json!({"title": parameter.name, "description": parameter.description});
        let (kind, note) = match parameter.kind {
            ParameterType::String => ("string", ""),
            ParameterType::Number => ("number", ""),
            ParameterType::Integer => ("integer", ""),
            ParameterType::Boolean => ("boolean", ""),
            ParameterType::Array => ("string", " (a JSON array)"),
            ParameterType::Object => ("string", " (a JSON object)"),
        };
        field["type"] = json!(kind);
        field["description"] = json!(format!("{}{note}", parameter.description));
        let texts = parameter
            .allowed
            .as_ref()
            .filter(|values| values.iter().all(Value::is_string));
        if let (Some(allowed), ParameterType::String) = (texts, parameter.kind) {
            field["enum"] = json!(allowed);
        }
        properties.insert(parameter.name.to_string(), field);
    }
    let required: Vec<&str> = missing
        .iter()
        .map(|parameter| parameter.name.as_ref())
        .collect();
    object(json!({"type": "object", "properties": properties, "required": required}))
}

/// The values of a form in the types that are declared.
pub(super) fn typed_values(
    missing: &[Parameter],
    content: Map<String, Value>,
) -> Map<String, Value> {
    let typed = content.into_iter().map(|(name, value)| {
        let declared = missing
            .iter()
            .find(|parameter| parameter.name.as_ref() == name);
        let as_json = declared.is_some_and(|parameter| {
            matches!(parameter.kind, ParameterType::Array | ParameterType::Object)
        });
        // What is no JSON stays text, and is refused as a wrong type with the parameter's name.
        let read = value
            .as_str()
            .filter(|_| as_json)
            .and_then(|text| serde_json::from_str(text).ok());
        (name, read.unwrap_or(value))
    });
    typed.collect()
}

fn confirmation(typed: Option<&Label>) -> Map<String, Value> {
    let mut properties = json!({
        CONFIRM: {"type": "boolean", "title": "Carry it out", "description": "Carry out exactly this plan"},
    });
    let mut required = vec![CONFIRM];
    if let Some(name) = typed {
        let description = format!("Type the value of {name}, because this cannot be undone");
        properties[TYPED] = json!({"type": "string", "title": name, "description": description});
        required.push(TYPED);
    }
    object(json!({"type": "object", "properties": properties, "required": required}))
}

fn approval() -> Map<String, Value> {
    object(json!({
        "type": "object",
        "properties": {
            APPROVE: {"type": "boolean", "title": "Approve", "description": "Yes: the call is made. No: it is refused for good"},
            REASON: {"type": "string", "title": "Reason", "description": "Why; kept with the decision"},
        },
        "required": [APPROVE],
    }))
}

fn plan_of(run: &RunShown) -> String {
    let steps = run
        .state
        .steps
        .iter()
        .filter(|step| step.reverses.is_none());
    let lines = steps.map(|step| {
        let tool = step.tool.as_ref().map_or("", AsRef::as_ref);
        let kind = if step.writes { "write" } else { "read" };
        format!("- {} ({kind}, {tool})", step.step)
    });
    let mut lines: Vec<String> = lines.collect();
    let with = Value::Object(run.state.parameters.clone());
    lines.insert(0, format!("{} with {with}", run.summary.title));
    lines.join("\n")
}
