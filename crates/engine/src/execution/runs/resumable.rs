//! A run that is to be carried on: its folded journal, with memory for its values.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::bounds::RUN_MEMORY;
use charter_contract::ids::{RunId, TenantId};

use super::journal::{FoldedRun, JournalService};
use crate::EngineError;
use crate::execution::outputs::{RunMemory, RunMemoryShare, VALUES_TIMEOUT};

/// A run that is to be carried on, with the memory of its values.
#[derive(Debug)]
pub(crate) struct ResumableRun {
    pub(super) folded: FoldedRun,
    pub(super) room: Arc<RunMemory>,
    pub(super) part: Option<RunMemoryShare>,
}

impl JournalService {
    /// Folds a run's whole journal, to carry the run on.
    ///
    /// # Errors
    /// `overloaded` when there is no memory for its values for too long.
    pub(super) async fn fold_for_resume(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<ResumableRun, EngineError> {
        let room = self.memory.for_run(tenant);
        let folded = self.fold(tenant, run).await?;
        let memory = folded.run.memory().min(RUN_MEMORY);
        if let Ok(part) = room.take(memory, Duration::ZERO).await {
            return Ok(ResumableRun { folded, room, part });
        }
        // A run that waits is not in memory.
        drop(folded);
        let part = room.take(memory, VALUES_TIMEOUT).await?;
        let folded = self.fold(tenant, run).await?;
        Ok(ResumableRun { folded, room, part })
    }
}
