//! Root metadata (002 §2.2). An artifact may arrive without tenant and actor; a
//! stored one always has them, equal to its mission's (B002-3, ruling 21).

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

/// The root metadata that an artifact states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RootMetadata<'a> {
    /// Its mission.
    pub mission_id: &'a MissionId,
    /// The mission's tenant, if stated.
    pub tenant_id: Option<&'a TenantId>,
    /// The mission's actor, if stated.
    pub actor_id: Option<&'a ActorId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub producer: &'a Label,
}

/// What a mission says of itself: the measure of all its artifacts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissionRoot {
    /// The mission.
    pub mission_id: MissionId,
    /// Its tenant.
    pub tenant_id: TenantId,
    /// Its actor.
    pub actor_id: ActorId,
    /// When it was created; no artifact is older (B002-7).
    pub created_at: Timestamp,
}

/// One of the ten artifacts, or any of them.
pub trait MissionArtifact {
    /// The root metadata it states.
    fn root(&self) -> RootMetadata<'_>;

    /// Fills in tenant and actor where they are not stated.
    fn fill_owner(&mut self, tenant: &TenantId, actor: &ActorId);
}

/// An artifact whose root metadata is complete and equal to its mission's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Stored<T>(T);

impl<T: MissionArtifact> Stored<T> {
    /// Stamps an artifact with its mission's root metadata.
    ///
    /// # Errors
    /// A violation of the stage `consistency` for each field that says something else
    /// than the mission, and for an artifact older than its mission.
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

    /// The artifact.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T: Serialize> Stored<T> {
    /// The artifact as it is stored, hashed and compared: JSON with keys in order and no spaces.
    ///
    /// # Errors
    /// When the artifact cannot be written as JSON; no artifact of a contract is such.
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
    /// The root metadata of the mission that this envelope opens.
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

    // The envelope always states both.
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
