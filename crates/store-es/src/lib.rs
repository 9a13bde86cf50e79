//! The port [`SkillIndex`](charter_store::skill_index::SkillIndex) on Elasticsearch and on OpenSearch. They share an
//! API but have different names for a vector field and a vector search, so the first request detects the product
//! ([`product`]).
//!
//! Each scope has an index of its own, with the mapping of seed 001, in which an entry's id is that of its skill. The
//! indexes have unique names and are found by aliases ([`names`]), so that rebuilt ones replace them atomically. Writes
//! go through another alias that belongs to one index and is deleted with it. Must not know the engine, SQL or the
//! configuration.

// Only the command line writes to the terminal, through writers that end quietly when a reader has gone.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod bulk;
mod client;
mod index;
mod mapping;
mod names;
mod options;
mod product;
mod search;

pub use index::EsSkillIndex;
pub use options::{Credentials, EsOptions, SetupError};
