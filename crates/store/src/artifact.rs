//! Artifacts of missions, as appends to a run's journal carry them.

use charter_contract::ids::{Label, MissionId, TaskId, TenantId};
use charter_contract::mission::upcast::{read_stored, version_of};
use charter_contract::mission::{
    Artifact, ArtifactKind, MissionRoot, MissionSchemaVersion, Stored,
};
use charter_contract::time::Timestamp;
use charter_contract::violation::Violation;
use charter_domain::mission::admit::AdmittedArtifact;

/// An artifact to write, or as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactRecord {
    /// Its mission's tenant.
    pub tenant_id: TenantId,
    /// Its mission.
    pub mission_id: MissionId,
    /// Which of the ten it is.
    pub kind: ArtifactKind,
    /// Its id, unique among those of its kind and mission; the mission's for envelope and task graph.
    pub artifact_id: String,
    /// The task that it was made for.
    pub task_id: Option<TaskId>,
    /// The version that it was written in.
    pub schema_version: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub producer: Label,
    /// The canonical text.
    pub payload: String,
}

impl ArtifactRecord {
    /// The artifact in the present form, whatever version it was written in (B002-1).
    ///
    /// # Errors
    /// Every violation; `unsupported_version` for a version that is not known.
    pub fn read(&self, mission: &MissionRoot) -> Result<Stored<Artifact>, Vec<Violation>> {
        read_stored(&self.payload, mission)
    }

    /// The record of an artifact's canonical text, in whatever version that was written.
    ///
    /// # Errors
    /// As [`ArtifactRecord::read`].
    pub fn of_payload(payload: String, mission: &MissionRoot) -> Result<Self, Vec<Violation>> {
        let read = read_stored(&payload, mission)?;
        // What was read has a version.
        let version = version_of(&payload).unwrap_or_default();
        let tenant = &mission.tenant_id;
        Ok(Self::new(read.as_ref(), tenant, &version, payload))
    }

    fn new(artifact: &Artifact, tenant: &TenantId, version: &str, payload: String) -> Self {
        let root = artifact.root();
        Self {
            tenant_id: tenant.clone(),
            mission_id: root.mission_id.clone(),
            kind: artifact.kind(),
            artifact_id: artifact.id().to_owned(),
            task_id: artifact.task_id().cloned(),
            schema_version: version.to_owned(),
            created_at: root.created_at,
            producer: root.producer.clone(),
            payload,
        }
    }
}

/// What was admitted may be written, in the present form.
impl From<&AdmittedArtifact> for ArtifactRecord {
    fn from(admitted: &AdmittedArtifact) -> Self {
        let version = MissionSchemaVersion::default();
        let payload = admitted.payload().to_owned();
        Self::new(
            admitted.artifact(),
            admitted.tenant_id(),
            version.as_str(),
            payload,
        )
    }
}
