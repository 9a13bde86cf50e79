//! Missions (seed 002): the order of stages ([`after_plan`] and similar functions), a mission's state ([`state`]), the
//! admission of artifacts ([`admit`]), a mission as a self-verifying text ([`bundle`]), and the differences of two
//! missions ([`diff`]).
//!
//! A mission is a run: it uses the run's journal, gate and approvals, and this module has only the parts that are
//! specific to missions. It calls no model and knows no storage.

pub mod admit;
pub mod bundle;
pub mod diff;
mod layout;
mod output;
mod requested;
mod standing;
mod tools;

pub use layout::{
    MAX_TURNS, ProposedWriteBack, after_plan, after_review, after_turn, call_step, change_step,
    ends_of, opening, own_steps, pass_step, prompt_step, turn_step,
};
pub use output::{RequestedCall, StageOutput};
pub use requested::{artifact_of, gap_of, requested_outputs, unknown_outputs};
pub use standing::{ProposalState, TARGET_CHANGED, may_follow, state, state_of};
pub use tools::stage_tools;
