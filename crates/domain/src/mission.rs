//! Missions as decisions over their artifacts (seed 002): what is admitted beside what is there
//! ([`admit`]), a mission as one text that proves itself ([`bundle`]), and what two of them differ in
//! ([`diff`]). Nothing here knows where artifacts are kept.

pub mod admit;
pub mod bundle;
pub mod diff;
