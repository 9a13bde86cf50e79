//! The contents of a mission that the check of a further artifact needs.

use std::collections::BTreeMap;

use charter_contract::ids::{EvidenceId, TaskId};
use charter_contract::mission::envelope::MissionEnvelope;
use charter_contract::mission::policy_decision::Decision;
use charter_contract::mission::review_packet::ReviewStatus;
use charter_contract::mission::task_graph::Task;
use charter_contract::mission::upcast::read_stored;
use charter_contract::mission::worker_result::CitationKind;
use charter_contract::mission::{Artifact, ArtifactKind, MissionRoot};
use charter_contract::validate::parse_stored;
use charter_contract::violation::Violation;
use serde_json::Value;

use super::{AdmissionRefusal, AdmittedArtifact, admitted};
use crate::evidence_log::Hash;

/// A stored artifact that cannot be parsed, or a first artifact that is not an envelope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("artifact {place} of the mission cannot be read")]
pub struct Unreadable {
    /// The artifact's position in the mission, from 1.
    pub place: usize,
    /// The violations.
    pub violations: Vec<Violation>,
}

/// The digest of a stored payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Payload(Hash);

impl Payload {
    fn from_text(text: &str) -> Self {
        Self(Hash::sha256(&[text.as_bytes()]))
    }

    pub(super) fn is(self, text: &str) -> bool {
        self == Self::from_text(text)
    }
}

/// The sides on which the target of a reference exists. The same text may name a target on both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sides {
    pub(super) inside: bool,
    pub(super) outside: bool,
}

impl Sides {
    const INSIDE: Self = Self {
        inside: true,
        outside: false,
    };
    const OUTSIDE: Self = Self {
        inside: false,
        outside: true,
    };
    const BOTH: Self = Self {
        inside: true,
        outside: true,
    };
}

/// The contents of a mission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inventory {
    root: MissionRoot,
    held: BTreeMap<(ArtifactKind, String), Payload>,
    tasks: BTreeMap<TaskId, Task>,
    /// Whether a task must cite its sources, for tasks that have a package.
    cites: BTreeMap<TaskId, bool>,
    /// The latest decision by type and subject.
    decisions: BTreeMap<(String, String), Decision>,
    review: Option<ReviewStatus>,
    named: BTreeMap<String, Sides>,
}

impl Inventory {
    /// Begins a mission.
    ///
    /// # Errors
    /// [`AdmissionRefusal::Violations`] when the envelope cannot be written as JSON.
    pub fn open(envelope: MissionEnvelope) -> Result<(Self, AdmittedArtifact), AdmissionRefusal> {
        let mut inventory = Self::for_envelope(&envelope);
        let root = inventory.root.clone();
        let opening = admitted(envelope.into(), &root).map_err(AdmissionRefusal::Violations)?;
        inventory.hold(opening.artifact(), opening.payload());
        Ok((inventory, opening))
    }

    /// Restores the inventory from a mission's stored artifacts, in the order of storing. Older versions are converted
    /// to the current one. Their admission is not checked again.
    ///
    /// # Errors
    /// [`Unreadable`] for the first artifact that cannot be parsed, or for a first artifact that is not an envelope.
    pub fn restore<'p>(payloads: impl IntoIterator<Item = &'p str>) -> Result<Self, Unreadable> {
        let mut payloads = (1..).zip(payloads);
        let opening = payloads.next().map_or("", |(_, payload)| payload);
        let envelope: MissionEnvelope = parse_stored(opening).map_err(|violations| Unreadable {
            place: 1,
            violations,
        })?;
        let mut inventory = Self::for_envelope(&envelope);
        inventory.hold(&envelope.into(), opening);
        for (place, payload) in payloads {
            let read = read_stored(payload, &inventory.root)
                .map_err(|violations| Unreadable { place, violations })?;
            inventory.hold(read.as_ref(), payload);
        }
        Ok(inventory)
    }

    /// Creates the inventory of a mission without any artifact, not even its envelope.
    fn for_envelope(envelope: &MissionEnvelope) -> Self {
        Self {
            root: envelope.mission_root(),
            held: BTreeMap::new(),
            tasks: BTreeMap::new(),
            cites: BTreeMap::new(),
            decisions: BTreeMap::new(),
            review: None,
            named: BTreeMap::new(),
        }
    }

    /// Adds a stored artifact, with its stored text.
    pub fn hold(&mut self, artifact: &Artifact, payload: &str) {
        let key = (artifact.kind(), artifact.id().to_owned());
        self.held.insert(key, Payload::from_text(payload));
        match artifact {
            Artifact::MissionEnvelope(envelope) => {
                let entities = envelope.context_refs.values().flat_map(entities);
                let entities: Vec<String> = entities.map(ToOwned::to_owned).collect();
                for entity in entities {
                    self.name(entity, Sides::INSIDE);
                }
            }
            Artifact::MissionTaskGraph(graph) => {
                let tasks = graph.tasks.iter().cloned();
                self.tasks = tasks.map(|task| (task.task_id.clone(), task)).collect();
            }
            Artifact::PromptPackage(package) => {
                let must = package.constraints.must_cite_sources;
                let cites = self.cites.entry(package.task_id.clone()).or_default();
                *cites |= must;
            }
            Artifact::ResearchArtifact(research) => {
                self.name(research.artifact_id.to_string(), Sides::BOTH);
                for result in &research.results {
                    self.name(result.url.to_string(), Sides::OUTSIDE);
                }
            }
            Artifact::LibrarianPass(pass) => {
                for preview in &pass.cached_previews {
                    self.name(preview.entity_id.to_string(), Sides::INSIDE);
                }
            }
            Artifact::WorkerResult(result) => {
                self.name(result.result_id.to_string(), Sides::INSIDE);
            }
            Artifact::ReviewPacket(review) => self.review = Some(review.review_status),
            Artifact::PolicyDecision(decided) => {
                let question = (
                    decided.decision_type.to_string(),
                    decided.subject.to_string(),
                );
                self.decisions.insert(question, decided.decision);
            }
            Artifact::AggregationPacket(_) | Artifact::WritebackProposal(_) => {}
        }
    }

    /// Adds evidence that exists in the mission's tenant.
    pub fn know_evidence(&mut self, evidence: &EvidenceId) {
        self.name(evidence.to_string(), Sides::INSIDE);
    }

    /// Adds a tool call from the mission's journal, under the text that results use for it in their `tool_trace_refs`.
    pub fn know_call(&mut self, reference: &str) {
        self.name(reference.to_owned(), Sides::INSIDE);
    }

    fn name(&mut self, reference: String, sides: Sides) {
        let known = self.named.entry(reference).or_default();
        known.inside |= sides.inside;
        known.outside |= sides.outside;
    }

    /// Returns the mission's root metadata.
    #[must_use]
    pub fn root(&self) -> &MissionRoot {
        &self.root
    }

    /// Returns the task with this id.
    #[must_use]
    pub fn task(&self, task: &TaskId) -> Option<&Task> {
        self.tasks.get(task)
    }

    /// Returns the ids of all tasks.
    pub(super) fn task_ids(&self) -> impl Iterator<Item = &TaskId> {
        self.tasks.keys()
    }

    /// Returns the latest decision of a type on a subject.
    #[must_use]
    pub fn latest_decision(&self, decision_type: &str, subject: &str) -> Option<Decision> {
        let question = (decision_type.to_owned(), subject.to_owned());
        self.decisions.get(&question).copied()
    }

    /// Returns whether the mission has an artifact of this kind.
    #[must_use]
    pub fn has(&self, kind: ArtifactKind) -> bool {
        self.held.keys().any(|(held, _)| *held == kind)
    }

    /// Returns the result of the review, if it is finished.
    #[must_use]
    pub fn review(&self) -> Option<ReviewStatus> {
        self.review
    }

    /// Returns whether a task must cite its sources: one of its packages requires it, or the task has no package,
    /// because the requirement is the default.
    #[must_use]
    pub fn must_cite(&self, task: &TaskId) -> bool {
        self.cites.get(task).copied().unwrap_or(true)
    }

    /// Returns the citation kinds that are allowed for a reference; none if its target does not exist.
    pub fn citable(&self, reference: &str) -> impl Iterator<Item = CitationKind> + use<> {
        let sides = self.sides(reference).unwrap_or_default();
        let inside = sides.inside.then_some(CitationKind::Internal);
        let outside = sides.outside.then_some(CitationKind::External);
        inside.into_iter().chain(outside)
    }

    /// Returns the sides on which the target of a reference exists; `None` if it does not exist.
    pub(super) fn sides(&self, reference: &str) -> Option<Sides> {
        self.named.get(reference).copied()
    }

    /// Returns every possible target of a reference.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }

    pub(super) fn payload_of(&self, kind: ArtifactKind, id: &str) -> Option<Payload> {
        self.held.get(&(kind, id.to_owned())).copied()
    }
}

/// Returns the ids in an entry of `context_refs`: one, a list, or none.
fn entities(value: &Value) -> impl Iterator<Item = &str> {
    let several = value.as_array().into_iter().flatten();
    several.chain(Some(value)).filter_map(Value::as_str)
}
