//! The tools, one file each.

pub(super) mod ask_lens;
pub(super) mod call;
pub(super) mod cancel;
pub(super) mod claim_assignment;
pub(super) mod find;
pub(super) mod open;
pub(super) mod recall;
pub(super) mod remember;
pub(super) mod run;
pub(super) mod start_mission;
pub(super) mod status;
pub(super) mod submit_assignment;
