//! The identity of an artifact within a mission: its kind, and its id within the kind (B002-15).

use super::Artifact;
use crate::ids::TaskId;

impl Artifact {
    /// Returns the artifact's id, unique within its kind and mission. The envelope and the task graph have no id of
    /// their own, because a mission has one of each: theirs is the mission's.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::MissionEnvelope(envelope) => envelope.mission_id.as_str(),
            Self::MissionTaskGraph(graph) => graph.mission_id.as_str(),
            Self::PromptPackage(package) => package.package_id.as_str(),
            Self::ResearchArtifact(research) => research.artifact_id.as_str(),
            Self::LibrarianPass(pass) => pass.pass_id.as_str(),
            Self::WorkerResult(result) => result.result_id.as_str(),
            Self::AggregationPacket(packet) => packet.packet_id.as_str(),
            Self::ReviewPacket(packet) => packet.packet_id.as_str(),
            Self::PolicyDecision(decision) => decision.decision_id.as_str(),
            Self::WritebackProposal(proposal) => proposal.proposal_id.as_str(),
        }
    }

    /// Returns the task that the artifact belongs to, if it names one.
    #[must_use]
    pub const fn task_id(&self) -> Option<&TaskId> {
        match self {
            Self::PromptPackage(package) => Some(&package.task_id),
            Self::ResearchArtifact(research) => Some(&research.task_id),
            Self::LibrarianPass(pass) => Some(&pass.task_id),
            Self::WorkerResult(result) => Some(&result.task_id),
            Self::MissionEnvelope(_)
            | Self::MissionTaskGraph(_)
            | Self::AggregationPacket(_)
            | Self::ReviewPacket(_)
            | Self::PolicyDecision(_)
            | Self::WritebackProposal(_) => None,
        }
    }
}
