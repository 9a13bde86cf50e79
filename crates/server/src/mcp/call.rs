//! One call: its caller, the client's capabilities, and the work that it has started.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_engine::{Caller, Engine, EngineError};
use rmcp::model::{
    CallToolResult, ClientCapabilities, ElicitRequestParams, ElicitResult, InputResponses,
    ProtocolVersion, SealOptions,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::Shared;
use super::failure::failed;
use super::question::PendingQuestion;
use super::work::WorkSubject;

/// How long a person may take to answer a question during a call.
pub(super) const ELICITATION_TIMEOUT: Duration = Duration::from_secs(600);

/// How long the state that a client keeps between two rounds stays valid.
const STATE_TTL: Duration = Duration::from_secs(3_600);

/// One call.
pub(super) struct Call {
    pub(super) shared: Arc<Shared>,
    engine: Arc<Engine>,
    pub(super) caller: Caller,
    pub(super) context: RequestContext<RoleServer>,
    /// The least severe log messages that the client wants.
    pub(super) log_level: Option<String>,
    /// Progress notifications that the client received while the engine was loading.
    pub(super) progress_sent: f64,
    /// The client's answers to the questions of the previous round.
    pub(super) answers: InputResponses,
    /// The question that ended the previous round.
    pub(super) pending: Option<PendingQuestion>,
    /// The work that previous rounds started, which continues with the answer.
    pub(super) started_before: Option<WorkSubject>,
    under_way: watch::Sender<Option<WorkSubject>>,
}

/// The state that a client keeps for the server between two rounds.
#[derive(Debug, Serialize, Deserialize)]
struct RoundState {
    /// The question that ended the round.
    pending: PendingQuestion,
    /// The id of the work that the call had started.
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<String>,
}

/// How the client's user can be asked a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ElicitationMode {
    /// By a request of the server during the call (before 2026-07-28).
    Inline,
    /// By a result with a question, and another round (2026-07-28).
    Rounds,
    /// Not at all: the client declares no elicitation.
    No,
}

impl Call {
    /// Starts a call of a caller, as soon as the engine is loaded.
    pub(super) async fn begin(
        shared: Arc<Shared>,
        caller: Caller,
        context: RequestContext<RoleServer>,
        log_level: Option<String>,
    ) -> Result<Self, EngineError> {
        let (engine, progress_sent) = shared.engine.wait(&context).await?;
        Ok(Self {
            shared,
            engine,
            caller,
            context,
            log_level,
            progress_sent,
            answers: InputResponses::new(),
            pending: None,
            started_before: None,
            under_way: watch::Sender::new(None),
        })
    }

    pub(super) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Reads the state and answers that a client sends with the next round of a call.
    pub(super) fn with_round_state(
        mut self,
        answers: Option<&InputResponses>,
        state: Option<&String>,
    ) -> Result<Self, ErrorData> {
        self.answers = answers.cloned().unwrap_or_default();
        if let Some(state) = state {
            let opened = self.shared.seal.open_json_with(state, &self.binding());
            let kept: RoundState = opened.map_err(|error| {
                let message =
                    format!("the requestState cannot be used: {error}; call again without it");
                ErrorData::invalid_params(message, None)
            })?;
            self.pending = Some(kept.pending);
            let started = kept.started.as_deref();
            self.started_before = started.and_then(|id| WorkSubject::parse(id).ok());
        }
        Ok(self)
    }

    /// Seals the state that the client keeps until the next round; it is valid only for this caller.
    pub(super) fn seal(&self, pending: &PendingQuestion) -> Result<String, EngineError> {
        let binding = self.binding();
        let options = SealOptions::new().associated_data(&binding).ttl(STATE_TTL);
        let of = |subject: &WorkSubject| subject.id().to_owned();
        let kept = RoundState {
            pending: pending.clone(),
            started: self.under_way.borrow().as_ref().map(of),
        };
        let sealed = self.shared.seal.seal_json_with(&kept, &options);
        sealed.map_err(|error| EngineError::internal("sealing the state of a call", error))
    }

    fn binding(&self) -> Vec<u8> {
        let user: &str = self.caller.user.as_ref();
        // A tenant's id holds no line break.
        format!("{}\n{user}", self.caller.tenant).into_bytes()
    }

    pub(super) fn capabilities(&self) -> ClientCapabilities {
        self.context.client_capabilities().unwrap_or_default()
    }

    /// Whether the client accepts a task as the answer.
    pub(super) fn takes_tasks(&self) -> bool {
        self.capabilities().supports_tasks()
    }

    /// How the client's user can be asked.
    pub(super) fn elicitation_mode(&self) -> ElicitationMode {
        let elicitation = self.capabilities().elicitation;
        // A capability without form and URL means forms.
        let forms = elicitation.is_some_and(|can| can.form.is_some() || can.url.is_none());
        let version = self.context.protocol_version();
        match (forms, version) {
            (false, _) => ElicitationMode::No,
            (true, Some(version)) if version >= ProtocolVersion::V_2026_07_28 => {
                ElicitationMode::Rounds
            }
            (true, _) => ElicitationMode::Inline,
        }
    }

    /// Shows a form to the client's user and waits for the answer.
    pub(super) async fn elicit(
        &self,
        form: ElicitRequestParams,
    ) -> Result<ElicitResult, EngineError> {
        let peer = &self.context.peer;
        let asked = peer.create_elicitation_with_timeout(form, Some(ELICITATION_TIMEOUT));
        asked.await.map_err(|error| {
            let message = "the client returned no answer from its user";
            EngineError::new(ErrorCode::RequestTimeout, message).caused_by(error)
        })
    }

    /// Records the work that a cancellation of the call must stop.
    pub(super) fn started(&self, subject: WorkSubject) {
        self.under_way.send_replace(Some(subject));
    }

    /// Waits until there is work to stop.
    pub(super) async fn has_started(&self) {
        let mut under_way = self.under_way.subscribe();
        // The call holds the other end.
        let seen = under_way.wait_for(Option::is_some).await;
        debug_assert!(seen.is_ok());
    }

    /// The work that a cancellation stops; nothing the second time.
    pub(super) fn to_stop(&self) -> Option<WorkSubject> {
        self.under_way.send_replace(None)
    }

    pub(super) fn failed(&self, error: &EngineError) -> CallToolResult {
        let request = match &*self.under_way.borrow() {
            Some(WorkSubject::Request(id)) => Some(id.clone()),
            Some(WorkSubject::Run(_) | WorkSubject::Mission(_)) | None => None,
        };
        failed(self.engine(), error, request.as_ref())
    }
}
