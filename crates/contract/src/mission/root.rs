//! Root metadata (002 §2.2). An artifact may arrive without tenant and actor; a stored artifact always has them, equal
//! to its mission's (B002-3, ruling 21).

use serde::Serialize;

use super::aggregation_packet::AggregationPacket;
use super::envelope::MissionEnvelope;
use super::librarian_pass::LibrarianPass;
use super::policy_decision::PolicyDecision;
use super::prompt_package::PromptPackage;
use super::research_artifact::ResearchArtifact;
use super::review_packet::ReviewPacket;
use super::task_graph::MissionTaskGraph;
use super::worker_result::WorkerResult;
use super::writeback_proposal::WritebackProposal;
use crate::canonical;
use crate::ids::{ActorId, Label, MissionId, TenantId};
use crate::time::Timestamp;
use crate::violation::{Report, Violation};

/// The root metadata of an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RootMetadata<'a> {
    /// Id of the mission.
    pub mission_id: &'a MissionId,
    /// Tenant of the mission, if stated.
    pub tenant_id: Option<&'a TenantId>,
    /// Actor of the mission, if stated.
    pub actor_id: Option<&'a ActorId>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Producer of the artifact.
    pub producer: &'a Label,
}

/// The root metadata of a mission, which all its artifacts must match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissionRoot {
    /// Id of the mission.
    pub mission_id: MissionId,
    /// Tenant of the mission.
    pub tenant_id: TenantId,
    /// Actor of the mission.
    pub actor_id: ActorId,
    /// Creation time; no artifact is older (B002-7).
    pub created_at: Timestamp,
}

/// An artifact of one kind, or of any kind.
pub trait MissionArtifact {
    /// Returns the root metadata that it states.
    fn root(&self) -> RootMetadata<'_>;

    /// Sets tenant and actor if they are absent.
    fn fill_owner(&mut self, tenant: &TenantId, actor: &ActorId);
}

/// An artifact whose root metadata is complete and equal to its mission's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Stored<T>(T);

impl<T: MissionArtifact> Stored<T> {
    /// Adds its mission's root metadata to an artifact.
    ///
    /// # Errors
    /// A violation of the stage `consistency` for each field that differs from the mission's, and for an artifact
    /// older than its mission.
    pub fn stamp(mut artifact: T, mission: &MissionRoot) -> Result<Self, Vec<Violation>> {
        let mut report = Report::new();
        let root = artifact.root();
        let mut must_equal = |field: &str, stated: Option<&str>, wanted: &str| {
            if let Some(stated) = stated.filter(|stated| *stated != wanted) {
                let message = format!("`{stated}` differs from the mission's {field}, `{wanted}`");
                report.consistency(format!("/{field}"), "root_metadata", message);
            }
        };
        must_equal(
            "mission_id",
            Some(root.mission_id.as_str()),
            mission.mission_id.as_str(),
        );
        must_equal(
            "tenant_id",
            root.tenant_id.map(TenantId::as_str),
            mission.tenant_id.as_str(),
        );
        must_equal(
            "actor_id",
            root.actor_id.map(ActorId::as_str),
            mission.actor_id.as_str(),
        );
        if root.created_at < mission.created_at {
            let message = format!(
                "{} is before the mission's start, {}",
                root.created_at, mission.created_at
            );
            report.consistency("/created_at", "root_metadata", message);
        }
        if !report.violations.is_empty() {
            return Err(report.violations);
        }
        artifact.fill_owner(&mission.tenant_id, &mission.actor_id);
        Ok(Self(artifact))
    }

    /// Returns the artifact.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T: Serialize> Stored<T> {
    /// Returns the text that is stored, hashed and compared: JSON with sorted keys and no spaces.
    ///
    /// # Errors
    /// If the artifact cannot be serialised as JSON, which no contract's artifact causes.
    pub fn canonical(&self) -> Result<String, serde_json::Error> {
        serde_json::to_value(&self.0).map(canonical::text)
    }
}

impl<T> AsRef<T> for Stored<T> {
    fn as_ref(&self) -> &T {
        &self.0
    }
}

impl MissionEnvelope {
    /// Returns the root metadata of the mission that this envelope opens.
    #[must_use]
    pub fn mission_root(&self) -> MissionRoot {
        MissionRoot {
            mission_id: self.mission_id.clone(),
            tenant_id: self.tenant_id.clone(),
            actor_id: self.actor_id.clone(),
            created_at: self.created_at,
        }
    }
}

impl MissionArtifact for MissionEnvelope {
    fn root(&self) -> RootMetadata<'_> {
        RootMetadata {
            mission_id: &self.mission_id,
            tenant_id: Some(&self.tenant_id),
            actor_id: Some(&self.actor_id),
            created_at: self.created_at,
            producer: &self.producer,
        }
    }

    // The envelope always contains both.
    fn fill_owner(&mut self, _: &TenantId, _: &ActorId) {}
}

macro_rules! artifact_roots {
    ($($type:ident),+) => { $(
        impl MissionArtifact for $type {
            fn root(&self) -> RootMetadata<'_> {
                RootMetadata {
                    mission_id: &self.mission_id,
                    tenant_id: self.tenant_id.as_ref(),
                    actor_id: self.actor_id.as_ref(),
                    created_at: self.created_at,
                    producer: &self.producer,
                }
            }

            fn fill_owner(&mut self, tenant: &TenantId, actor: &ActorId) {
                self.tenant_id.get_or_insert_with(|| tenant.clone());
                self.actor_id.get_or_insert_with(|| actor.clone());
            }
        }
    )+ };
}

artifact_roots!(
    MissionTaskGraph,
    PromptPackage,
    ResearchArtifact,
    LibrarianPass,
    WorkerResult,
    AggregationPacket,
    ReviewPacket,
    PolicyDecision,
    WritebackProposal
);
