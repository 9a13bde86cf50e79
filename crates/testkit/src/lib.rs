//! Test support: a simulated clock, seeded ids, the contract suite that every storage engine passes,
//! a store that is watched, scripted language models, and a server that answers as their providers
//! do. A dev-dependency only.

pub mod clock;
pub mod ids;
pub mod model_server;
pub mod postgres_server;
#[cfg(feature = "models")]
pub mod scripted_models;
pub mod store_suite;
pub mod watched_store;
