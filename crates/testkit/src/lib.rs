//! Test support: a simulated clock, seeded ids, the contract suite that every storage engine passes,
//! and a store that is watched. A dev-dependency only.

pub mod clock;
pub mod ids;
pub mod store_suite;
pub mod watched_store;
