//! Replies about the run that waits in a session: set its parameters, cancel it or show it.

use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::run_status::RunStatus;

use super::super::ActiveRequest;
use super::super::classification::{Classification, RunReply, SessionReply};
use super::super::classify::RequestClassificationService;
use super::super::run_service::RequestRunService;
use super::LastAnswer;
use crate::execution::runs::RunView;
use crate::{EngineError, RollBack};

/// How long to wait for a cancellation, because a driver ends the run.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// The reason of a cancelled run, as its journal has it.
const REASON: &str = "a reply in its session declined the plan";

impl RequestClassificationService {
    /// Returns the run of the session's last answer, unless it has ended or no longer exists.
    pub(super) async fn open_run(
        &self,
        asked: &ActiveRequest,
        last: &LastAnswer,
    ) -> Result<Option<RunView>, EngineError> {
        let Some(run) = last.run() else {
            return Ok(None);
        };
        match self.run_views.show(&asked.caller, run).await {
            Ok(run) => Ok(Some(run).filter(|run| run.state.outcome.is_none())),
            Err(error) if error.code == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl RequestRunService {
    /// Applies a reply to a run. A repeat has no further effect.
    ///
    /// # Errors
    /// `not_found` for a run that is no longer stored; `invalid_parameters` for invalid values.
    pub(in super::super) async fn reply_to_open_run(
        &self,
        asked: &ActiveRequest,
        classified: &Classification,
    ) -> Result<RunView, EngineError> {
        let Some(SessionReply::Run { run_id, reply }) = &classified.reply else {
            let cause = "no run was named";
            return Err(EngineError::internal("replying to a run", cause));
        };
        let caller = &asked.caller;
        let mut notes = Vec::new();
        let mut patience = Duration::ZERO;
        match reply {
            RunReply::Show => {}
            RunReply::Cancel => {
                patience = CANCEL_TIMEOUT;
                let aborted =
                    self.run_management
                        .abort(caller, run_id, REASON.to_owned(), RollBack::No);
                match aborted.await {
                    Ok(_) => {}
                    // It has ended since the reply was read.
                    Err(error) if error.code == ErrorCode::IllegalTransition => {}
                    Err(error) => return Err(error),
                }
            }
            RunReply::Give {
                values,
                sources,
                unclear,
            } => {
                notes.clone_from(unclear);
                let waits = self.run_views.show(caller, run_id).await?;
                if waits.summary.status == RunStatus::AwaitingParameters && !values.is_empty() {
                    self.run_management
                        .give_from(caller, run_id, values, sources)
                        .await?;
                }
            }
        }
        let mut shown = self.run_views.wait(caller, run_id, patience).await?;
        shown.notes.extend(notes);
        Ok(shown)
    }
}
