//! The check before persistence: whether an artifact may be added to a mission.
//!
//! This is the second of three layers (B002-16). The first layer, the contract, validates an artifact alone; the third
//! is the database. This layer compares root metadata with the mission's (B002-3, B002-7), references with their
//! targets (B002-5, B002-6, B002-10), and ids with existing ones (B002-15). It knows no storage. It does not know when
//! a stage may begin: the run machine decides that.

mod inventory;
mod references;
mod rules;

use charter_contract::ids::{EvidenceId, TenantId};
use charter_contract::mission::{Artifact, ArtifactKind, MissionRoot, Stored};
use charter_contract::violation::{Report, Stage, Violation};

pub use inventory::{Inventory, Unreadable};

/// The type of policy decisions that allow tools to a mission; the subject is the tool (002 §12).
pub const TOOL_SCOPE: &str = "tool_scope";

/// The type of policy decisions that allow write-backs without an approval; the subject is the proposal's action type
/// (B002-13). The name is Charter's own.
pub const WRITEBACK: &str = "writeback";

/// An artifact that may be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmittedArtifact {
    tenant_id: TenantId,
    artifact: Stored<Artifact>,
    payload: String,
}

impl AdmittedArtifact {
    /// Returns the tenant of the mission.
    #[must_use]
    pub fn tenant_id(&self) -> &TenantId {
        &self.tenant_id
    }

    /// Returns the artifact, with its mission's root metadata.
    #[must_use]
    pub fn artifact(&self) -> &Artifact {
        self.artifact.as_ref()
    }

    /// Returns the canonical text to store.
    #[must_use]
    pub fn payload(&self) -> &str {
        &self.payload
    }
}

/// The result for an artifact that is not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "matched where it is made")]
pub enum Admission {
    /// The artifact is new and may be stored.
    New(AdmittedArtifact),
    /// The mission has an equal artifact, byte for byte; nothing needs to be stored (B002-15).
    Repeat,
}

/// The reason for refusing an artifact.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdmissionRefusal {
    /// Another artifact has the id (B002-15).
    #[error("the mission already has a different {kind} `{id}`")]
    Conflict {
        /// The kind of the artifact.
        kind: ArtifactKind,
        /// Its id.
        id: String,
    },
    /// The artifact is inconsistent with the mission.
    #[error("the artifact contradicts its mission: {}", first(.0))]
    Violations(Vec<Violation>),
}

fn first(violations: &[Violation]) -> String {
    let more = match violations.len() {
        0 | 1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let first = violations.first().map(ToString::to_string);
    first.unwrap_or_default() + &more
}

impl Inventory {
    /// Decides whether an artifact may be added, without changing the inventory. Add the artifact with
    /// [`Inventory::hold`] once it is stored.
    ///
    /// # Errors
    /// [`AdmissionRefusal`], with every violation.
    pub fn admit(&self, artifact: Artifact) -> Result<Admission, AdmissionRefusal> {
        let mut report = Report::new();
        rules::check(self, &artifact, &mut report);
        let (kind, id) = (artifact.kind(), artifact.id().to_owned());
        let admitted = admitted(artifact, self.root());
        match (admitted, self.payload_of(kind, &id)) {
            (Ok(new), Some(held)) if held.is(&new.payload) => Ok(Admission::Repeat),
            (Ok(_), Some(_)) => Err(AdmissionRefusal::Conflict { kind, id }),
            (Ok(new), None) if report.violations.is_empty() => Ok(Admission::New(new)),
            (Ok(_), None) => Err(AdmissionRefusal::Violations(report.violations)),
            (Err(mut root), _) => {
                root.extend(report.violations);
                Err(AdmissionRefusal::Violations(root))
            }
        }
    }
}

/// Stamps and serializes an artifact.
fn admitted(artifact: Artifact, root: &MissionRoot) -> Result<AdmittedArtifact, Vec<Violation>> {
    let artifact = Stored::stamp(artifact, root)?;
    let payload = artifact.canonical().map_err(|error| {
        vec![Violation {
            stage: Stage::Structure,
            pointer: String::new(),
            keyword: "json".to_owned(),
            message: error.to_string(),
            suggestion: None,
        }]
    })?;
    Ok(AdmittedArtifact {
        tenant_id: root.tenant_id.clone(),
        artifact,
        payload,
    })
}

/// Returns the evidence that an artifact refers to. Only storage knows which of it exists: the caller looks it up and
/// adds it to the inventory ([`Inventory::know_evidence`]) before the check.
#[must_use]
pub fn evidence_named(artifact: &Artifact) -> Vec<EvidenceId> {
    let named = references::references_in(artifact);
    named
        .filter_map(|(_, reference)| EvidenceId::parse(reference).ok())
        .collect()
}

#[cfg(test)]
mod tests;
