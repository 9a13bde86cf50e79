//! Requests: from a question to an answer with findings and evidence.
//!
//! A request is recorded before anything happens and closed with its answer. Each stage in between is recorded once and
//! found again when the request is resumed after a crash: the verdict, the runs (whose ids follow from the request's),
//! the evidence (whose ids follow from the runs'). So a retry resumes where the request stopped, and a repeated request
//! gets the recorded answer.
//!
//! The classification (`classify`) determines the course (`course`): run skills, open or only offer a change, explain a
//! rule, ask one question back, or list the possible questions.

mod analyse;
mod answer;
mod ask_back;
mod cancel;
mod change;
mod classification;
mod classify;
mod confirm;
mod consult;
mod course;
mod decline;
mod exclusions;
mod execute;
mod explain;
mod explanation_service;
mod follow;
mod follow_up;
mod foresee;
mod guard;
mod in_hand;
mod left_out;
mod list;
mod notices;
mod offer;
mod offered;
mod parameters;
mod propose;
mod recalled;
mod recorded;
mod respond;
mod result;
mod run_ids;
mod run_service;
mod service;
mod session_reply;
mod view;
mod words;

use charter_contract::agentic::request::AgentRequest;
use charter_contract::ids::RequestId;
use charter_contract::registry::read_typed;
use serde_json::Value;

use crate::{Caller, EngineError, LensFilter, Tier};

pub(crate) use ask_back::{CLARIFICATION, Clarification};
pub use cancel::RequestManagementService;
pub(crate) use classification::Classification;
pub use classify::RequestClassificationService;
pub(crate) use classify::{ClassificationParts, ClassificationSettings};
pub use confirm::{RequestConfirmationResult, RouteConfirmationService};
pub use course::Course;
pub(crate) use explanation_service::ExplanationService;
pub use follow::RequestEvent;
pub use foresee::RequestPreview;
pub(crate) use guard::AnswerGuardService;
pub use list::{FindingCount, RequestPage, RequestState, RequestSummary};
pub(crate) use offer::OfferService;
pub(crate) use parameters::ParameterService;
pub use parameters::ParameterView;
pub use respond::ResponseService;
pub(crate) use result::{RequestResultParts, RequestResultService};
pub(crate) use run_service::{RequestRunParts, RequestRunService};
pub use service::RequestService;
pub(crate) use service::{RequestParts, RequestPorts};
pub(crate) use view::runs_of;
pub use view::{RequestView, RequestViewService};
pub(crate) use words::analysis_run_id;

/// Options that a client may pass in a request's `metadata` (this project).
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub(crate) struct RequestOptions {
    /// Values for skill parameters.
    pub(crate) parameters: serde_json::Map<String, Value>,
    /// The persona to answer for.
    pub(crate) persona: Option<charter_contract::ids::Label>,
    /// The flow, when the client knows it.
    pub(crate) flow: Option<charter_contract::catalogue::tags::Flow>,
    /// The skill, when the client knows it.
    pub(crate) skill_id: Option<charter_contract::ids::SkillId>,
    /// Whether a change is only a dry run.
    pub(crate) dry_run: bool,
    /// Whether a change waits for confirmation even if its document does not require that.
    pub(crate) confirm: bool,
    /// The playbook, when the client knows it.
    pub(crate) playbook_id: Option<charter_contract::ids::PlaybookId>,
    /// The tier of the answer.
    pub(crate) tier: Option<Tier>,
    /// Whether a memory's value is used for a missing parameter, rather than proposed.
    pub(crate) use_memory: bool,
    /// The filter for lenses, for the flows of the reference library.
    pub(crate) rag_params: LensFilter,
}

impl RequestOptions {
    fn of(request: &AgentRequest) -> Result<Self, EngineError> {
        let Some(metadata) = &request.metadata else {
            return Ok(Self::default());
        };
        read_typed(&Value::Object(metadata.extra.clone())).map_err(|violations| {
            let violations = violations.into_iter();
            let violations: Vec<_> = violations.map(|found| found.below("/metadata")).collect();
            EngineError::unfit("the request", &violations)
        })
    }
}

/// A request in progress, with its caller.
#[derive(Debug, Clone)]
pub(crate) struct ActiveRequest {
    pub(crate) caller: Caller,
    pub(crate) request: AgentRequest,
    pub(crate) wishes: RequestOptions,
}

impl ActiveRequest {
    pub(crate) fn new(caller: &Caller, request: AgentRequest) -> Result<Self, EngineError> {
        let wishes = RequestOptions::of(&request)?;
        let mut caller = caller.clone();
        if let Some(tier) = wishes.tier {
            caller.must_have(tier, "the request asks for a higher tier than the caller's")?;
            // All work for the request uses the requested tier.
            caller.tier = tier;
        }
        Ok(Self {
            caller,
            wishes,
            request,
        })
    }

    /// Returns the tier of the answer: the requested one, or the caller's.
    pub(crate) fn tier(&self) -> Tier {
        self.caller.tier
    }

    pub(crate) fn id(&self) -> &RequestId {
        &self.request.id
    }
}
