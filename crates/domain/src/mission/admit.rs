//! The check before persistence: whether an artifact may be added to what a mission has already.
//!
//! The second of three layers (B002-16). The first, the contract, judges an artifact alone; the
//! third is the database's. This one compares: root metadata with the mission's (B002-3, B002-7),
//! references with what they name (B002-5, B002-6, B002-10), ids with those that are taken
//! (B002-15). It knows no storage, and nothing of when a stage may begin: that is the machine's.

mod inventory;
mod references;
mod rules;

use charter_contract::ids::{EvidenceId, TenantId};
use charter_contract::mission::{Artifact, ArtifactKind, MissionRoot, Stored};
use charter_contract::violation::{Report, Stage, Violation};

pub use inventory::{Inventory, Unreadable};

/// The type of the policy decisions that open tools to a mission; the subject is the tool (002 §12).
pub const TOOL_SCOPE: &str = "tool_scope";

/// The type of the policy decisions that allow write-backs without a person; the subject is the
/// proposal's action type (B002-13). This project's word.
pub const WRITEBACK: &str = "writeback";

/// An artifact that may be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmittedArtifact {
    tenant_id: TenantId,
    artifact: Stored<Artifact>,
    payload: String,
}

impl AdmittedArtifact {
    /// Its mission's tenant.
    #[must_use]
    pub fn tenant_id(&self) -> &TenantId {
        &self.tenant_id
    }

    /// The artifact, with its mission's root metadata.
    #[must_use]
    pub fn artifact(&self) -> &Artifact {
        self.artifact.as_ref()
    }

    /// The canonical text that is stored.
    #[must_use]
    pub fn payload(&self) -> &str {
        &self.payload
    }
}

/// What becomes of an artifact that is not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "matched where it is made")]
pub enum Admission {
    /// It is new and may be stored.
    New(AdmittedArtifact),
    /// The mission has it already, the same to the byte; there is nothing to store (B002-15).
    Repeat,
}

/// Why an artifact is not admitted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdmissionRefusal {
    /// The id is taken by something else (B002-15).
    #[error("the mission already has a different {kind} `{id}`")]
    Conflict {
        /// What it would be.
        kind: ArtifactKind,
        /// Its id.
        id: String,
    },
    /// It does not fit to what the mission has.
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
    /// Whether an artifact may be added. Nothing is changed: what is then stored is added with
    /// [`Inventory::hold`].
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

/// Stamps an artifact and writes it down.
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

/// The evidence that an artifact refers to. Which of it exists, only storage can say: the caller
/// looks it up and tells the inventory ([`Inventory::know_evidence`]) before it asks.
#[must_use]
pub fn evidence_named(artifact: &Artifact) -> Vec<EvidenceId> {
    let named = references::references_in(artifact);
    named
        .filter_map(|(_, reference)| EvidenceId::parse(reference).ok())
        .collect()
}

#[cfg(test)]
mod tests;
