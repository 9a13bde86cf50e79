//! The search provider that the operator configured, and what it is asked.
//!
//! Whatever a provider answers is hostile: it is read within a bound, each result is made anew from
//! texts and a link that were looked at, and what does not look like a result is left out. Must not
//! know who asks, or what becomes of results.

mod brave;
mod exchange;
mod hit;
mod options;
mod searxng;

use serde::Deserialize;

pub use options::{SearchOptions, SearchProvider, SearchSetupError, WebSearch};

/// How old a page may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Freshness {
    Day,
    Week,
    Month,
    Year,
}

/// What is looked for.
#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) text: String,
    pub(crate) count: usize,
    pub(crate) freshness: Option<Freshness>,
    pub(crate) language: Option<String>,
}
