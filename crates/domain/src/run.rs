//! The run machine: the possible transitions of a run, and its history.
//!
//! [`Run::decide`] turns a command into events, or refuses it without changing anything. [`Run::advance`] returns the
//! events that follow from the state alone. [`Run::apply`] folds one event into the state. [`Run::next`] returns what a
//! worker does now. [`RunSteps`] has the state of each step. The journal of events is the source of truth: replaying it
//! yields the same state, byte for byte, without any effect.
//!
//! An effect is journaled before it starts, with its idempotency key, and again after it ended. If a worker finds a
//! step that began and did not end, the step was interrupted. A step that only reads, or whose tool declares repeats
//! harmless, begins again with the same key. Any other step needs an approval first, in which a person may also report
//! that the call happened (B000-18, B003-5 to B003-9).

mod account;
mod advance;
mod awaited_run;
mod command;
mod confirmation;
mod content;
mod decide;
mod event;
mod fold_error;
mod granted;
mod next;
mod readiness;
mod replay;
mod requesters;
mod rollback;
mod same_call;
mod standing;
mod state;
mod steps;
mod waits;
mod work_time;
mod writes;

pub mod chain;

pub use account::{ChangeState, RunAccount, RunChange, UndoneReason, UndoneStep};
pub use awaited_run::AwaitedRun;
pub use command::{Command, IllegalTransition, Report, RunOrder, StepStart};
pub use content::content_references;
pub use event::{
    ApprovalRequest, DocumentPin, EffectStart, ErrorKind, MissingAccount, ResultSource, RunEvent,
    RunPrerequisites, RunStart, SkipReason, StepFailure, StepYield, StopCause, TokenUsage,
};
pub use fold_error::FoldError;
pub use next::Next;
pub use replay::{Divergence, StrictReplay};
pub use requesters::Requesters;
pub use rollback::{Unreversible, rolling_back};
pub use standing::{RunOutcome, StepState};
pub use state::Run;
pub use steps::RunSteps;
pub use waits::StepWait;

#[cfg(test)]
mod tests;
