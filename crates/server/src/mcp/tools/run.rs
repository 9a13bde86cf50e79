//! `run`: answers a question, or runs a skill or a playbook, as `POST /v1/requests` does.

use charter_contract::agentic::request::AgentRequest;
use charter_contract::agentic::response::AgentResponse;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{PlaybookId, RequestId, SkillId};
use charter_contract::run_status::RunStatus;
use charter_contract::validate::{Contract, read_value};
use charter_engine::EngineError;
use rmcp::model::ToolAnnotations;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::mcp::call::Call;
use crate::mcp::question::{
    AnswerOutcome, Choice, Choosable, PendingQuestion, Question, chosen, foreign_state,
    typed_values,
};
use crate::mcp::settle::QuestionOutcome;
use crate::mcp::tool::{McpTool, ToolReply, arguments_of};
use crate::mcp::work::{WorkReport, WorkSubject};

/// The most rounds for missing parameters in one call.
const MAX_ROUNDS: usize = 4;

pub(in crate::mcp) struct Run;

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Input {
    /// The question or task, in the user's own words. It is routed to the right skill or playbook unless one is named.
    question: Option<String>,
    /// A skill's exact id.
    skill_id: Option<String>,
    /// A playbook's exact id.
    playbook_id: Option<String>,
    /// Values for parameters, by name.
    #[serde(default)]
    parameters: Map<String, Value>,
    /// Show what a change would do, and change nothing.
    #[serde(default)]
    dry_run: bool,
    /// Use memories' values for missing parameters.
    #[serde(default)]
    use_memory: bool,
    /// The session to continue.
    session_id: Option<String>,
    /// Make a change wait for a confirmation, even if its document permits it without one.
    #[serde(default)]
    confirm: bool,
}

impl McpTool for Run {
    const NAME: &'static str = "run";
    const TITLE: &'static str = "Ask a question, run a skill or a playbook";
    const DESCRIPTION: &'static str = "Answers a question, or runs a skill or playbook by id. Skills only read and \
        return findings with evidence; playbooks change something, and wait for a person to confirm the plan and \
        approve each write. Long work continues: call `status` with the id.";
    type Input = Input;
    type Output = WorkReport;

    fn annotations() -> ToolAnnotations {
        let hints = ToolAnnotations::new().read_only(false).destructive(true);
        hints.idempotent(false).open_world(true)
    }

    async fn call(call: &Call, mut input: Input) -> Result<ToolReply<WorkReport>, EngineError> {
        if let Some((pending, applied)) = call.answered().await? {
            match pending {
                PendingQuestion::Skill { skill } => match applied {
                    AnswerOutcome::Values(values) => input.take(call, &skill, values),
                    AnswerOutcome::Acted | AnswerOutcome::Declined => {
                        return Err(parameters_declined(&skill));
                    }
                },
                PendingQuestion::Choose => match applied {
                    AnswerOutcome::Values(content) => input.choose(&content),
                    AnswerOutcome::Acted | AnswerOutcome::Declined => {
                        return Err(no_option_chosen());
                    }
                },
                // Its answer was taken before the call.
                PendingQuestion::Connect { .. } => return Err(foreign_state()),
                PendingQuestion::Give { run }
                | PendingQuestion::Confirm { run, .. }
                | PendingQuestion::Approve { run, .. }
                | PendingQuestion::Server { run, .. } => {
                    // The request of the first round, whose result is the answer.
                    let started = call.started_before.clone();
                    let subject = started.unwrap_or(WorkSubject::Run(run));
                    return subject.resume(call, &applied).await;
                }
            }
        }
        for _ in 0..MAX_ROUNDS {
            match start(call, &input).await? {
                StartOutcome::Goes(subject) => return subject.run_until_settled(call).await,
                StartOutcome::Asks(subject, question) => match call.ask(&question).await? {
                    QuestionOutcome::Applied(AnswerOutcome::Values(content)) => {
                        input.choose(&content);
                    }
                    QuestionOutcome::Applied(AnswerOutcome::Acted | AnswerOutcome::Declined)
                    | QuestionOutcome::Nobody => {
                        let settled = subject.run_until_settled(call).await?;
                        return Ok(with_waits(settled, &question));
                    }
                    QuestionOutcome::Later(asks) => return Ok(ToolReply::Asks(asks)),
                },
                StartOutcome::Lacks(question) => {
                    let Question::Skill { skill, missing } = &question else {
                        return Err(EngineError::internal(
                            "asking for parameters",
                            "another question",
                        ));
                    };
                    match call.ask(&question).await? {
                        QuestionOutcome::Applied(AnswerOutcome::Values(values)) => {
                            input.take(call, skill, typed_values(missing, values));
                        }
                        QuestionOutcome::Applied(
                            AnswerOutcome::Acted | AnswerOutcome::Declined,
                        ) => {
                            return Err(parameters_declined(skill));
                        }
                        QuestionOutcome::Later(asks) => return Ok(ToolReply::Asks(asks)),
                        QuestionOutcome::Nobody => {
                            return Ok(ToolReply::Failed(missing_parameters_report(&question)));
                        }
                    }
                }
            }
        }
        Err(EngineError::new(
            ErrorCode::MissingParameters,
            "parameters are still missing",
        ))
    }
}

/// The outcome of starting a request.
enum StartOutcome {
    /// The request or run can be followed.
    Goes(WorkSubject),
    /// Nothing runs before this question is answered.
    Lacks(Question),
    /// The answer is a question.
    Asks(WorkSubject, Question),
}

async fn start(call: &Call, input: &Input) -> Result<StartOutcome, EngineError> {
    let request = input.request(call)?;
    let id = request.id.clone();
    call.started(WorkSubject::Request(id.clone()));
    let answering = call.with_progress(async |progress| {
        let answering = call
            .engine()
            .requests()
            .handle_request(&call.caller, request, progress);
        tokio::time::timeout(call.answer_timeout(), answering).await
    });
    match answering.await {
        // The caller reads the recorded answer, or the status.
        Ok(Ok(answer)) => Ok(match asked_back(&answer) {
            Some(question) => StartOutcome::Asks(WorkSubject::Request(id), question),
            None => StartOutcome::Goes(WorkSubject::Request(id)),
        }),
        Err(_) => Ok(StartOutcome::Goes(WorkSubject::Request(id))),
        Ok(Err(error)) => match error.code {
            ErrorCode::ApprovalRequired => Ok(StartOutcome::Goes(WorkSubject::Request(id))),
            ErrorCode::MissingParameters => {
                let question = parameters_question(call, input, &id, &error).await?;
                question.map(StartOutcome::Lacks).ok_or(error)
            }
            _ => Err(error),
        },
    }
}

/// The question for a skill's missing parameters; `None` if the error is not one skill's missing parameters.
async fn parameters_question(
    call: &Call,
    input: &Input,
    request: &RequestId,
    error: &EngineError,
) -> Result<Option<Question>, EngineError> {
    let skill = match &input.skill_id {
        Some(named) => Some(named.clone()),
        None => {
            let views = call.engine().request_views();
            let recorded = views.request(&call.caller, request).await?;
            let verdict = recorded.verdict.unwrap_or_default();
            match verdict["skills"].as_array().map(Vec::as_slice) {
                Some([one]) => one.as_str().map(str::to_owned),
                _ => None,
            }
        }
    };
    let Some(skill) = skill else {
        return Ok(None);
    };
    let skill = SkillId::parse(&skill).map_err(|_| EngineError::not_found("skill", &skill))?;
    let declared = call
        .engine()
        .run_starts()
        .skill_parameters(&call.caller, &skill)?;
    let names = error
        .details
        .as_ref()
        .and_then(|details| details["missing"].as_array());
    let names: Vec<&str> = names
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let missing = declared.into_iter();
    let missing = missing.filter(|parameter| names.contains(&parameter.name.as_ref()));
    Ok(Some(Question::Skill {
        missing: missing.collect(),
        skill,
    }))
}

/// The question in an answer, if several different documents fit the request.
fn asked_back(answer: &AgentResponse) -> Option<Question> {
    #[derive(Deserialize)]
    struct Clarification {
        question: String,
        options: Vec<Choice>,
    }
    let asked = answer.metadata.as_ref()?.extra.get("clarification")?;
    let Clarification { question, options } = Clarification::deserialize(asked).ok()?;
    Some(Question::Choose { question, options })
}

/// Adds the hint of a question to an answer.
fn with_waits(settled: ToolReply<WorkReport>, question: &Question) -> ToolReply<WorkReport> {
    match settled {
        ToolReply::Done(work) => ToolReply::Done(WorkReport {
            waits_for: Some(question.waits()),
            ..work
        }),
        other => other,
    }
}

fn no_option_chosen() -> EngineError {
    let message = "the request is ambiguous, and no option was chosen";
    EngineError::new(ErrorCode::MissingParameters, message)
}

fn missing_parameters_report(question: &Question) -> WorkReport {
    WorkReport {
        content: Some("Nothing was run: values are missing.".to_owned()),
        failure: Some("parameters are missing".to_owned()),
        waits_for: Some(question.waits()),
        ..WorkReport::new(RunStatus::AwaitingParameters, "")
    }
}

fn parameters_declined(skill: &SkillId) -> EngineError {
    let message = format!("`{skill}` needs parameters that were not given");
    EngineError::new(ErrorCode::MissingParameters, message)
}

impl Input {
    /// Runs a skill with these values.
    pub(in crate::mcp) fn of_skill(id: &SkillId, parameters: Map<String, Value>) -> Self {
        Self {
            skill_id: Some(id.to_string()),
            parameters,
            ..Self::default()
        }
    }

    /// Runs a playbook with these values.
    pub(in crate::mcp) fn of_playbook(id: &PlaybookId, parameters: Map<String, Value>) -> Self {
        Self {
            playbook_id: Some(id.to_string()),
            parameters,
            ..Self::default()
        }
    }

    /// Continues with the choice among several documents, as its kind and id. A chosen change is shown before it
    /// begins.
    fn choose(&mut self, content: &Map<String, Value>) {
        match chosen(content) {
            Some((Choosable::Skill, id)) => self.skill_id = Some(id.to_owned()),
            Some((Choosable::Playbook, id)) => {
                self.playbook_id = Some(id.to_owned());
                self.confirm = true;
            }
            None => {}
        }
    }

    /// Continues with one skill and more values.
    fn take(&mut self, call: &Call, skill: &SkillId, values: Map<String, Value>) {
        let declared = call
            .engine()
            .run_starts()
            .skill_parameters(&call.caller, skill);
        let values = match &declared {
            Ok(declared) => typed_values(declared, values),
            Err(_) => values,
        };
        self.parameters.extend(values);
        self.skill_id = Some(skill.to_string());
    }

    fn request(&self, call: &Call) -> Result<AgentRequest, EngineError> {
        let named = self.skill_id.as_ref().or(self.playbook_id.as_ref());
        let question = match (&self.question, named) {
            (Some(question), _) => question.clone(),
            (None, Some(id)) => format!("run {id}"),
            (None, None) => {
                let message = "nothing to run: pass a question, a skill_id or a playbook_id";
                return Err(EngineError::new(ErrorCode::InvalidRequest, message));
            }
        };
        let mut metadata = Map::from_iter([("parameters".to_owned(), json!(self.parameters))]);
        let wishes = [
            ("skill_id", self.skill_id.as_ref().map(|id| json!(id))),
            ("playbook_id", self.playbook_id.as_ref().map(|id| json!(id))),
            ("dry_run", self.dry_run.then_some(Value::Bool(true))),
            ("use_memory", self.use_memory.then_some(Value::Bool(true))),
            ("confirm", self.confirm.then_some(Value::Bool(true))),
        ];
        let wishes = wishes
            .into_iter()
            .filter_map(|(name, wish)| Some((name.to_owned(), wish?)));
        metadata.extend(wishes);
        let mut request = json!({
            "id": RequestId::from_uuid(Uuid::now_v7()),
            "timestamp": call.engine().now(),
            "input": question,
            "metadata": metadata,
        });
        if let Some(session) = &self.session_id {
            request["session_id"] = json!(session);
        }
        let read = read_value::<AgentRequest>(&request);
        read.map(|(request, _)| request).map_err(|violations| {
            EngineError::violations(AgentRequest::NAME.as_str(), &violations)
                .as_sent(&arguments_of(Run::NAME), argument)
        })
    }
}

/// The argument for `pointer` of a request.
fn argument(pointer: &str) -> String {
    match pointer {
        "/input" => "/question".to_owned(),
        other => other.strip_prefix("/metadata").unwrap_or(other).to_owned(),
    }
}
