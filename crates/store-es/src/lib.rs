//! The port [`SkillIndex`](charter_store::skill_index::SkillIndex) on Elasticsearch and on OpenSearch, which
//! share an API and differ in what a field of vectors and a search by one are called: who answers is asked
//! first ([`product`]).
//!
//! An index is made under a name of its own and found by an alias, the configured name, so that one that is
//! made anew takes the place of the one before in one step. It is written through another alias that is its
//! alone and goes with it. Must not know the engine, SQL or the configuration.

// The command line alone writes to the terminal, by writers that end quietly when a reader has gone.
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
