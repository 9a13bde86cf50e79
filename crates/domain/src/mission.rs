//! Missions (seed 002): which stages follow which ([`after_plan`] and its like), where a mission stands
//! ([`state`]), what is admitted beside what is there ([`admit`]), a mission as one text that proves
//! itself ([`bundle`]), and what two of them differ in ([`diff`]).
//!
//! A mission is a run: its journal, its gate and its approvals are the run's, and this module says only
//! what is a mission's own. It asks no model and knows no storage.

pub mod admit;
pub mod bundle;
pub mod diff;
mod layout;
mod output;
mod standing;
mod tools;

pub use layout::{
    MAX_TURNS, ProposedWriteBack, after_plan, after_review, after_turn, call_step, change_step,
    ends_of, opening, own_steps, pass_step, prompt_step, turn_step,
};
pub use output::{RequestedCall, StageOutput};
pub use standing::{ProposalState, TARGET_CHANGED, may_follow, state, state_of};
pub use tools::stage_tools;
