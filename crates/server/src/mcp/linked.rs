//! A call whose client takes part in it: its messages go to the client, and questions of the tool's server to the
//! client's user. The call itself is a run like any other. Must not know which tool is called, or how the reply looks.

use charter_contract::catalogue::tool::Tool;
use charter_contract::ids::RunId;
use charter_contract::run_status::RunStatus;
use charter_engine::{CallClient, CallEnd, CallLink, EngineError};
use rmcp::model::{
    CreateTaskResult, ElicitResult, InputRequests, InputRequiredResult, InputResponses,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::call::Call;
use super::question::{AnswerOutcome, PendingQuestion};
use super::settle::{MAX_QUESTIONS, QuestionOutcome, WorkStatus, task};
use super::work::{WorkReport, WorkSubject};

/// The key of the server's own description in the metadata of a result.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// How far a call has come.
pub(super) enum LinkedOutcome {
    /// The server answered, and the run has ended.
    Ended(CallEnd),
    /// The run waits for a person or goes on, or it ended without an answer that may be shown.
    Report(Box<WorkReport>),
    /// The client asks its user, and calls again.
    Asks(InputRequiredResult),
    /// It continues; the client follows the task.
    Task(Box<CreateTaskResult>),
}

/// A call of a tool, and the link to its client; without one, the client only gets the result.
pub(super) struct LinkedCall {
    run: RunId,
    link: Option<CallLink>,
}

/// The next event of a call.
enum Watched {
    Status(Box<WorkStatus>),
    Asks(InputRequiredResult),
    Task,
}

/// The outcome of a server's questions.
enum ServerQuestions {
    /// They are answered, or cannot be.
    Settled,
    /// The client asks its user, and calls again.
    Later(InputRequiredResult),
}

impl LinkedCall {
    /// Starts a call of a tool, or continues the call that the previous round started. The inner error is the status of
    /// a run that a person declined.
    pub(super) async fn start_or_resume(
        call: &Call,
        tool: &Tool,
        values: Map<String, Value>,
    ) -> Result<Result<Self, WorkReport>, EngineError> {
        let Some(pending) = &call.pending else {
            return Self::start(call, tool, values).await.map(Ok);
        };
        let resumed = Self {
            run: pending.run()?.clone(),
            link: call
                .engine()
                .linked_calls()
                .link(&call.caller, pending.run()?),
        };
        call.started(resumed.subject());
        if let PendingQuestion::Server { .. } = pending {
            return Ok(Ok(resumed));
        }
        match call.answered().await? {
            Some((_, AnswerOutcome::Declined)) => {
                let subject = resumed.subject();
                let status = subject.status(call, std::time::Duration::ZERO);
                Ok(Err(status.await?.work))
            }
            Some((_, AnswerOutcome::Acted | AnswerOutcome::Values(_))) | None => Ok(Ok(resumed)),
        }
    }

    async fn start(
        call: &Call,
        tool: &Tool,
        values: Map<String, Value>,
    ) -> Result<Self, EngineError> {
        let client = CallClient {
            capabilities: call.passed_capabilities(),
            log_level: call.log_level.clone(),
        };
        let (linked, id) = (call.engine().linked_calls(), tool.tool_id.clone());
        let (run, link) = linked.start(&call.caller, id, values, client).await?;
        let started = Self {
            run,
            link: Some(link),
        };
        call.started(started.subject());
        Ok(started)
    }

    fn subject(&self) -> WorkSubject {
        WorkSubject::Run(self.run.clone())
    }

    /// Follows the call as far as this round can.
    pub(super) async fn follow(&self, call: &Call) -> Result<LinkedOutcome, EngineError> {
        let mut unused = call.answers.clone();
        for _ in 0..MAX_QUESTIONS {
            let standing = match self.watch(call, &mut unused).await? {
                Watched::Status(standing) => standing,
                Watched::Asks(asks) => return Ok(LinkedOutcome::Asks(asks)),
                Watched::Task => return self.task(call).await,
            };
            if standing.work.status == RunStatus::Working && call.takes_tasks() {
                return self.task(call).await;
            }
            let Some(question) = standing.question_for(call) else {
                return Ok(self.outcome(call, standing.work));
            };
            match call.ask(question).await? {
                QuestionOutcome::Applied(AnswerOutcome::Acted | AnswerOutcome::Values(_)) => {}
                QuestionOutcome::Applied(AnswerOutcome::Declined) | QuestionOutcome::Nobody => {
                    return Ok(LinkedOutcome::Report(Box::new(standing.work)));
                }
                QuestionOutcome::Later(asks) => return Ok(LinkedOutcome::Asks(asks)),
            }
        }
        let subject = self.subject();
        let status = subject.status(call, std::time::Duration::ZERO);
        Ok(self.outcome(call, status.await?.work))
    }

    async fn task(&self, call: &Call) -> Result<LinkedOutcome, EngineError> {
        let subject = self.subject();
        let standing = subject.status(call, std::time::Duration::ZERO).await?;
        let created = CreateTaskResult::new(task(&subject, &standing));
        Ok(LinkedOutcome::Task(Box::new(created)))
    }

    /// Passes messages on until the run has ended or waits for a person, or the server asks a question that this round
    /// cannot answer.
    async fn watch(
        &self,
        call: &Call,
        unused: &mut InputResponses,
    ) -> Result<Watched, EngineError> {
        let subject = self.subject();
        let Some(link) = &self.link else {
            let standing = subject.status(call, call.answer_timeout()).await?;
            return Ok(Watched::Status(Box::new(standing)));
        };
        let mut changes = link.changes();
        let mut status = Box::pin(subject.status(call, call.answer_timeout()));
        loop {
            call.forward(link.take_events()).await;
            if link.is_task() && link.end().is_none() && call.takes_tasks() {
                return Ok(Watched::Task);
            }
            let questions = link.questions();
            if !questions.is_empty() {
                match self.put(call, link, questions, unused).await? {
                    ServerQuestions::Later(asks) => return Ok(Watched::Asks(asks)),
                    ServerQuestions::Settled => {
                        // The time in which the person answered does not count.
                        status = Box::pin(subject.status(call, call.answer_timeout()));
                    }
                }
            }
            tokio::select! {
                biased;
                standing = &mut status => {
                    call.forward(link.take_events()).await;
                    return standing.map(|standing| Watched::Status(Box::new(standing)));
                }
                changed = changes.changed() => debug_assert!(changed.is_ok(), "this call holds the link"),
            }
        }
    }

    /// Puts a server's questions to the client.
    async fn put(
        &self,
        call: &Call,
        link: &CallLink,
        questions: Map<String, Value>,
        unused: &mut InputResponses,
    ) -> Result<ServerQuestions, EngineError> {
        if link.answer(&taken(&questions, unused)) && link.questions().is_empty() {
            return Ok(ServerQuestions::Settled);
        }
        let open = link.questions();
        if !open.values().all(|question| call.can_answer(question)) {
            link.refuse();
            return Ok(ServerQuestions::Settled);
        }
        if call.has_rounds() {
            return self.in_rounds(call, open).map(ServerQuestions::Later);
        }
        let mut answers = Map::new();
        for (key, question) in &open {
            match call.put_inline(question).await {
                Some(answer) => answers.insert(key.clone(), answer),
                None => {
                    link.refuse();
                    return Ok(ServerQuestions::Settled);
                }
            };
        }
        link.answer(&answers);
        Ok(ServerQuestions::Settled)
    }

    /// The questions as a result, for a client that calls again with the answers.
    fn in_rounds(
        &self,
        call: &Call,
        open: Map<String, Value>,
    ) -> Result<InputRequiredResult, EngineError> {
        let pending = PendingQuestion::Server {
            run: self.run.clone(),
            keys: open.keys().cloned().collect(),
        };
        let requests = input_requests(open)?;
        let state = call.seal(&pending)?;
        Ok(InputRequiredResult::new(Some(requests), Some(state)))
    }

    /// The outcome of a run that has ended, or waits for another person.
    fn outcome(&self, call: &Call, work: WorkReport) -> LinkedOutcome {
        let end = self.link.as_ref().and_then(CallLink::end);
        let end = end.and_then(|end| accepted(end, work.has_failed()));
        match end {
            Some(end) if work.status != RunStatus::Working && work.waits_for.is_none() => {
                call.engine().linked_calls().forget(&call.caller, &self.run);
                LinkedOutcome::Ended(end)
            }
            Some(_) | None => LinkedOutcome::Report(Box::new(work)),
        }
    }
}

/// Returns the answer of a tool's server as the client gets it, if the run accepted it: a run that failed accepts only
/// failures. Metadata about the server would name another server than this one.
pub(super) fn accepted(end: CallEnd, has_failed: bool) -> Option<CallEnd> {
    match end {
        CallEnd::Error(_) => Some(end),
        CallEnd::Result(result) if has_failed && !is_failure(&result) => None,
        CallEnd::Result(mut result) => {
            if let Some(Value::Object(meta)) = result.get_mut("_meta") {
                meta.remove(SERVER_INFO);
            }
            Some(CallEnd::Result(result))
        }
    }
}

/// Whether a tool's result is a failure of the tool.
fn is_failure(result: &Map<String, Value>) -> bool {
    result.get("isError") == Some(&Value::Bool(true))
}

/// Reads a server's questions for a result.
pub(super) fn input_requests(questions: Map<String, Value>) -> Result<InputRequests, EngineError> {
    InputRequests::deserialize(Value::Object(questions))
        .map_err(|error| EngineError::internal("reading a question of an MCP server", error))
}

/// Takes the answers that a client has sent with its request and that fit the questions. An answer is used once.
fn taken(questions: &Map<String, Value>, unused: &mut InputResponses) -> Map<String, Value> {
    let mut answers = Map::new();
    for (key, question) in questions {
        if let Some(answer) = unused.remove(key)
            && fits(question, &answer)
        {
            answers.insert(key.clone(), answer);
        }
    }
    answers
}

/// The answers that fit the questions; all others are ignored.
pub(super) fn fitting(
    questions: &Map<String, Value>,
    answers: &InputResponses,
) -> Map<String, Value> {
    taken(questions, &mut answers.clone())
}

fn fits(question: &Value, answer: &Value) -> bool {
    match question["method"].as_str() {
        Some("elicitation/create") => ElicitResult::deserialize(answer).is_ok(),
        Some("sampling/createMessage") => answer.get("content").is_some(),
        Some("roots/list") => answer.get("roots").is_some_and(Value::is_array),
        Some(_) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn an_answer_that_the_run_refused_is_not_passed_on_and_names_no_other_server() {
        let result = |value: Value| CallEnd::Result(object(&value));
        let named = json!({"content": [], "_meta": {SERVER_INFO: {"name": "files"}, "a": 1}});
        let shown = json!({"content": [], "_meta": {"a": 1}});
        assert_eq!(accepted(result(named.clone()), false), Some(result(shown)));
        assert_eq!(accepted(result(named), true), None);
        let failure = result(json!({"content": [], "isError": true}));
        assert_eq!(accepted(failure.clone(), true), Some(failure));
    }

    #[test]
    fn only_answers_of_the_right_kind_are_taken_and_each_once() {
        let questions = object(&json!({
            "name": {"method": "elicitation/create"},
            "text": {"method": "sampling/createMessage"},
            "roots": {"method": "roots/list"},
        }));
        let answers = |value: Value| -> InputResponses { object(&value).into_iter().collect() };
        let accepted = json!({"action": "accept", "content": {"name": "Alice"}});
        let mut unused = answers(json!({
            "name": accepted, "text": {"content": {}}, "roots": {"roots": []}, "more": accepted,
        }));
        let given = taken(&questions, &mut unused);
        assert_eq!(given.len(), 3);
        assert_eq!(taken(&questions, &mut unused), Map::new());
        let wrong = answers(json!({"name": 12_345, "text": [], "roots": {}}));
        assert_eq!(fitting(&questions, &wrong), Map::new());
    }
}
