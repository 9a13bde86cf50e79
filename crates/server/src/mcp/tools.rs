//! The tools, one file each.

pub(super) mod call;
pub(super) mod cancel;
pub(super) mod find;
pub(super) mod open;
pub(super) mod run;
pub(super) mod status;
