//! Why a stage fails that is not a model's fault.

use charter_contract::error_code::ErrorCode;
use charter_domain::run::{ErrorKind, StepFailure};

use crate::execution::runs::{StageFailure, failure};

/// A defect: the journal holds something else than the machine wrote.
pub(super) fn lost(what: &str) -> StepFailure {
    let message = format!("the mission has no {what}");
    failure(ErrorKind::SystemError, ErrorCode::Internal, message)
}

/// The end of a stage that the shutdown of the server cut off.
pub(super) fn stopped() -> StageFailure {
    let message = "the server is stopping; this continues after its restart";
    failure(ErrorKind::SystemError, ErrorCode::Unavailable, message).into()
}

/// Something that does not fit, and that asking again does not mend.
pub(super) fn unfit(message: impl Into<String>) -> StepFailure {
    failure(
        ErrorKind::ExecutionError,
        ErrorCode::InvalidDocument,
        message,
    )
}
