//! Cancels missions.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::MissionId;

use super::{MissionService, MissionView};
use crate::{Caller, EngineError, RollBack};

impl MissionService {
    /// Stops a mission, and closes its assignments; its artifacts stay.
    ///
    /// # Errors
    /// `not_found`, also for a mission that is not visible to the caller; `illegal_transition` for one that is over.
    pub async fn cancel(
        &self,
        caller: &Caller,
        mission: &MissionId,
        reason: String,
    ) -> Result<MissionView, EngineError> {
        let record = self.views.record(caller, mission).await?;
        if record.imported_at.is_some() {
            let message = "an imported mission is read-only";
            return Err(EngineError::new(ErrorCode::IllegalTransition, message));
        }
        self.management
            .abort(caller, &record.run_id, reason, RollBack::No)
            .await?;
        self.assignments.close_all(&caller.tenant, mission).await?;
        self.views.show(caller, mission).await
    }
}
