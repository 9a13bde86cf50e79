//! Where a request was sent, as it is recorded and found again after a crash.

use std::collections::BTreeMap;

use charter_contract::catalogue::tags::Flow;
use charter_contract::ids::{AgentId, PlaybookId, RunId, SkillId};
use charter_domain::parameters::ValueSource;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ActiveRequest;
use super::course::Course;
use super::left_out::LeftOut;
use super::offered::Offer;
use crate::registry::routing::RoutedVerdict;

/// Where a request was sent, as it is recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Classification {
    /// The flow of seed 000 §2.10.
    pub(crate) flow: Flow,
    /// The verdict over the skills.
    pub(crate) verdict: RoutedVerdict,
    /// The skills that will run.
    pub(crate) skills: Vec<SkillId>,
    /// The playbook, for a request to write.
    pub(crate) playbook: Option<PlaybookId>,
    /// The parts inherited from an earlier request of its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) follow_up: Option<FollowUp>,
    /// Active agents whose capabilities come near, on a miss only (B000-5).
    pub(crate) agents: Vec<AgentId>,
    /// The course of the request; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) course: Option<Course>,
    /// Why nothing is begun, for people, where nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) because: Option<String>,
    /// Whether the text asks for a trial that changes nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) dry_run: bool,
    /// Parts of the request that are not answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) left_out: Vec<LeftOut>,
    /// The reply to the answer before it in its session, where the reply names more than a skill or playbook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reply: Option<SessionReply>,
}

impl Classification {
    /// The ids of the skills that will run, and of the playbook.
    pub(super) fn chosen(&self) -> Vec<&str> {
        let skills = self.skills.iter().map(AsRef::<str>::as_ref);
        let playbook = self.playbook.iter().map(AsRef::<str>::as_ref);
        skills.chain(playbook).collect()
    }

    /// A request of this flow and course, with nothing chosen.
    pub(super) fn new(flow: Flow, course: Course, verdict: RoutedVerdict) -> Self {
        Self {
            flow,
            verdict,
            skills: Vec::new(),
            playbook: None,
            follow_up: None,
            agents: Vec::new(),
            course: Some(course),
            because: None,
            dry_run: false,
            left_out: Vec::new(),
            reply: None,
        }
    }

    /// Offers the change that would be opened, for a reason.
    pub(super) fn offer_only(&mut self, because: String) {
        self.course = Some(Course::Offer);
        self.because = Some(because);
    }

    /// The course of the request.
    pub(crate) fn course(&self) -> Course {
        self.course.unwrap_or_else(|| Course::of_flow(self.flow))
    }

    /// The text that answers to questions are looked up by: the request's, or its translation.
    pub(super) fn text<'a>(&'a self, asked: &'a ActiveRequest) -> &'a str {
        let gateway = self.verdict.gateway.as_ref();
        let translation = gateway.and_then(|gateway| gateway.translation.as_deref());
        translation.unwrap_or(asked.request.input.as_str())
    }
}

/// The parts that a request inherits from an earlier one, as recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FollowUp {
    /// The first question of the row, which is complete by itself.
    pub(super) question: String,
    /// Values of the parameters that the text does not state, by the id of each skill or playbook that will run.
    pub(super) parameters: BTreeMap<String, Map<String, Value>>,
    /// The values of a reply; absent where the text is read when parameters are collected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reply: Option<ReplyValues>,
}

/// The values of a reply, read when the text was classified as a reply.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReplyValues {
    /// The values, by parameter.
    pub(super) values: Map<String, Value>,
    /// Where each comes from.
    pub(super) sources: BTreeMap<String, ValueSource>,
    /// Whether it has words that name a value and do not give it, which are reported.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_unclear: bool,
}

/// The recorded reply, where it names more than a skill or playbook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SessionReply {
    /// These changes are offered again.
    Offers(Vec<Offer>),
    /// The question asked for these changes beside the one that was chosen.
    Beside(Vec<Offer>),
    /// A run that an earlier request of the session opened.
    Run {
        /// The run.
        run_id: RunId,
        /// The order for it.
        reply: RunReply,
    },
    /// The question or offer is declined, or not answered.
    Closed,
}

/// The order of a reply for a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RunReply {
    /// It is shown.
    Show,
    /// It is aborted before it changes anything more.
    Cancel,
    /// It gets values for parameters that it waits for.
    Give {
        /// The values, by parameter.
        values: Map<String, Value>,
        /// Where each comes from.
        sources: BTreeMap<String, ValueSource>,
        /// Why words of the reply give no value.
        unclear: Vec<String>,
    },
}

/// The text that gives a change its parameters: where it was chosen in answer to a question that was asked back, what was
/// asked for before belongs to it.
pub(super) fn change_text(asked: &ActiveRequest, classified: &Classification) -> String {
    let text = asked.request.input.as_str();
    match &classified.follow_up {
        Some(before) => format!("{}\n{text}", before.question),
        None => text.to_owned(),
    }
}
