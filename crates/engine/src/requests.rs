//! Requests: from a question to an answer with findings and evidence.
//!
//! A request is recorded before anything happens and closed with its answer. Each stage in between
//! is recorded once and found again when the request is taken up after a crash: the verdict, the
//! runs (whose ids follow from the request's), the evidence (whose ids follow from the runs'). So
//! answering again goes on where it stopped, and a repeated request gets the recorded answer.
//!
//! A request is classified by what it asks for (`classify`), which decides what is done (`course`): skills are run, a
//! change is opened or only offered, a rule is explained, one question is asked back, or it is said what can be asked.

mod analyse;
mod answer;
mod ask_back;
mod cancel;
mod change;
mod classify;
mod confirm;
mod consult;
mod course;
mod decline;
mod exclusions;
mod execute;
mod explain;
mod follow;
mod follow_up;
mod foresee;
mod guard;
mod in_hand;
mod left_out;
mod notices;
mod offer;
mod parameters;
mod progress;
mod propose;
mod respond;
mod result;
mod served;
mod session_reply;
mod words;

use charter_contract::agentic::request::AgentRequest;
use charter_contract::ids::RequestId;
use charter_contract::registry::read_typed;
use serde_json::Value;

use crate::{Caller, EngineError, LensFilter, Tier};

pub(crate) use analyse::{ExaminedRun, values};
pub use answer::RequestView;
pub(crate) use ask_back::{CLARIFICATION, Clarification};
pub(crate) use cancel::runs_of;
pub(crate) use classify::Classification;
pub use confirm::RequestConfirmed;
pub use course::Course;
pub(crate) use decline::can_ask;
pub use follow::RequestEvent;
pub use follow_up::FollowUpReference;
pub use foresee::RequestPreview;
pub(crate) use in_hand::ActiveRequests;
pub use parameters::ParameterView;
pub use progress::{Progress, ProgressEvent};
pub(crate) use words::analysis_run_id;

/// Settings that a client may pass in a request's `metadata` (this project).
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
    /// Whether a change is only to be shown, not made.
    pub(crate) dry_run: bool,
    /// Whether a change waits to be confirmed, also where its document does not ask for that.
    pub(crate) confirm: bool,
    /// The playbook, when the client knows it.
    pub(crate) playbook_id: Option<charter_contract::ids::PlaybookId>,
    /// The tier to answer on.
    pub(crate) tier: Option<Tier>,
    /// Whether a memory's value is used for a parameter that is missing, rather than proposed.
    pub(crate) use_memory: bool,
    /// Which lenses to look in, for the flows of the reference library.
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

/// A request under way, with who asked it.
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
            // All work for the request is done on the tier that it asks for.
            caller.tier = tier;
        }
        Ok(Self {
            caller,
            wishes,
            request,
        })
    }

    /// The tier to answer on: the one asked for, or the caller's.
    pub(crate) fn tier(&self) -> Tier {
        self.caller.tier
    }

    pub(crate) fn id(&self) -> &RequestId {
        &self.request.id
    }
}
