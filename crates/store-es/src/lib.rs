//! The port [`SkillIndex`](charter_store::skill_index::SkillIndex) on Elasticsearch and on OpenSearch. They share an
//! API but have different names for a vector field and a vector search, so the first request detects the product
//! ([`product`]).
//!
//! An index has a unique name and is found by an alias, the configured name, so that a rebuilt one replaces it
//! atomically. Writes go through another alias that belongs to that index and is deleted with it. Must not know the
//! engine, SQL or the configuration.
//! alone and goes with it. Must not know the engine, SQL or the configuration.

// Only the command line writes to the terminal, through writers that end quietly when a reader has gone.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod bulk;
mod client;
mod index;
mod mapping;
mod options;
mod product;
mod search;

pub use index::EsSkillIndex;
pub use options::{Credentials, EsOptions, SetupError};
