//! Cancels missions.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::MissionId;

use super::MissionView;
use crate::{Caller, Engine, EngineError, RollBack};

impl Engine {
    /// Stops a mission; its artifacts stay.
    ///
    /// # Errors
    /// `not_found`, also for a mission that is not visible to the caller; `illegal_transition` for one that is over.
    pub async fn cancel_mission(
        &self,
        caller: &Caller,
        mission: &MissionId,
        reason: String,
    ) -> Result<MissionView, EngineError> {
        let record = self.mission_views().record(caller, mission).await?;
        if record.imported_at.is_some() {
            let message = "an imported mission is read-only";
            return Err(EngineError::new(ErrorCode::IllegalTransition, message));
        }
        self.run_management()
            .abort(caller, &record.run_id, reason, RollBack::No)
            .await?;
        self.mission_views().show(caller, mission).await
    }
}
