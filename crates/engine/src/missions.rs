//! Missions (seed 002): a goal becomes a task graph, prompt packages, results, one review and proposals, each a typed
//! artifact.
//!
//! A mission is a run, driven like any other ([`crate::execution::runs`]); what is a mission's own is here: how it
//! begins, what its stages do, and how it is shown. A stage makes drafts with a model and stamps them;
//! what it made becomes durable with the end of its step.

mod aggregate;
mod artifacts;
mod ask;
mod assignments;
mod begun;
mod by_model;
mod cancel;
mod desk;
mod draft;
mod envelope;
mod exchange;
mod external;
mod failures;
mod fill;
mod follow;
mod offline;
mod outputs;
mod package;
mod pass;
mod plan;
mod previews;
mod prompts;
mod replay;
mod research;
mod review;
mod runner;
mod scope;
mod services;
mod show;
mod stage;
mod start;
mod tools;
mod work;
mod write_back;

use charter_contract::error_code::ErrorCode;
use charter_contract::mission::Artifact;
use charter_domain::mission::admit::{Admission, AdmissionRefusal};
use charter_domain::run::{ErrorKind, StepFailure};
use charter_store::mission::ArtifactRecord;
use serde_json::Value;

use crate::execution::runs::failure;

pub use artifacts::{ArtifactView, MissionArtifactPage};
pub use assignments::{
    AssignmentBrief, AssignmentCall, AssignmentPage, AssignmentService, AssignmentSubmission,
    AssignmentView,
};
pub(crate) use begun::{FirstMessage, MissionStart};
pub use charter_store::mission::ArtifactFilter;
use desk::MissionContext;
pub use exchange::{BundleChecked, BundleFault, MissionImported, check_bundle};
pub use follow::{MissionEvent, MissionEventPage};
pub use offline::Offline;
pub use outputs::CoverageGapView;
pub use replay::MissionReplay;
pub(crate) use services::{
    MissionParts, MissionStageParts, MissionStageService, WriteBackParts, WriteBackService,
};
pub use services::{MissionService, MissionViewService};
pub use show::{MissionPage, MissionSummary, MissionTaskView, MissionView, ProposalView};
pub use start::{Answerer, MissionOrder, MissionStarted};

/// The failure of a call that a pass does not cover (B002-8).
pub(crate) fn pass_refused(message: String) -> StepFailure {
    failure(
        ErrorKind::PermissionError,
        ErrorCode::PermissionDenied,
        message,
    )
}

impl MissionContext {
    /// Adds a stage's artifacts to the mission. Returns the records to write with the step's end.
    fn take(&self, artifacts: &[Value]) -> Result<Vec<ArtifactRecord>, StepFailure> {
        let mut inventory = self.inventory_mut();
        let mut records = Vec::with_capacity(artifacts.len());
        for value in artifacts {
            let artifact = Artifact::from_value(value).map_err(|violations| {
                let first = violations.first().map(ToString::to_string);
                failures::unfit(format!(
                    "an artifact breaks its contract: {}",
                    first.unwrap_or_default()
                ))
            })?;
            match inventory.admit(artifact) {
                Ok(Admission::New(admitted)) => {
                    inventory.hold(admitted.artifact(), admitted.payload());
                    records.push(ArtifactRecord::from(&admitted));
                }
                Ok(Admission::Repeat) => {}
                Err(
                    refusal @ (AdmissionRefusal::Conflict { .. } | AdmissionRefusal::Violations(_)),
                ) => {
                    return Err(failures::unfit(refusal.to_string()));
                }
            }
        }
        Ok(records)
    }
}

#[cfg(test)]
mod tests;
