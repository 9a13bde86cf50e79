//! Test support: a simulated clock, seeded ids, and the contract suite that every storage engine
//! passes. A dev-dependency only.

pub mod clock;
pub mod ids;
pub mod store_suite;
