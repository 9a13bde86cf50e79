//! Test support, as a dev-dependency only: a simulated clock, seeded ids, an HTTP stub, the contract suites that every
//! storage and search engine must pass, servers for these suites, an observed store, scripted language models, an
//! identity provider, a mail server, hostile inputs, and the fuzz targets for them.

pub mod clock;
pub mod corpus;
#[cfg(feature = "fuzz")]
pub mod fuzz_targets;
pub mod hostile;
#[cfg(feature = "http")]
pub mod http_stub;
pub mod ids;
#[cfg(feature = "issuer")]
pub mod issuer;
pub mod mail_server;
#[cfg(feature = "fuzz")]
pub mod measured;
#[cfg(feature = "fuzz")]
pub mod mutation;
pub mod ports;
pub mod postgres_server;
#[cfg(feature = "models")]
pub mod scripted_models;
pub mod search_server;
pub mod search_suite;
mod server_process;
pub mod store_suite;
pub mod watched_store;
