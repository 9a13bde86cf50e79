//! Artifacts of missions, as appends to a run's journal carry them.

use charter_contract::ids::{Label, MissionId, TaskId, TenantId};
use charter_contract::mission::upcast::{read_stored, version_of};
use charter_contract::mission::{
    Artifact, ArtifactKind, MissionRoot, MissionSchemaVersion, Stored,
};
use charter_contract::time::Timestamp;
use charter_contract::violation::Violation;
use charter_domain::mission::admit::AdmittedArtifact;

/// An artifact, stored or to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactRecord {
    /// Its mission's tenant.
    pub tenant_id: TenantId,
    /// Its mission.
    pub mission_id: MissionId,
    /// Its kind, among ten.
    pub kind: ArtifactKind,
    /// Its id, unique within its kind and mission; the mission's id for envelope and task graph.
    pub artifact_id: String,
    /// The task that produced it.
    pub task_id: Option<TaskId>,
    /// The version of its schema.
    pub schema_version: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// Its producer.
    pub producer: Label,
    /// The canonical text.
    pub payload: String,
}

impl ArtifactRecord {
    /// Parses the artifact and converts it from any known version to the current one (B002-1).
    ///
    /// # Errors
    /// Every violation; `unsupported_version` for an unknown version.
    pub fn read(&self, mission: &MissionRoot) -> Result<Stored<Artifact>, Vec<Violation>> {
        read_stored(&self.payload, mission)
    }

    /// Builds the record from an artifact's canonical text, in any known version.
    ///
    /// # Errors
    /// As [`ArtifactRecord::read`].
    pub fn of_payload(payload: String, mission: &MissionRoot) -> Result<Self, Vec<Violation>> {
        let read = read_stored(&payload, mission)?;
        // A text that was parsed has a version.
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

/// Builds the record of an admitted artifact, in the current version.
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
