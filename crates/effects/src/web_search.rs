//! The search provider that the operator configured, and what it is asked.
//!
//! The provider's answer is untrusted: it is read within a bound, and each result is rebuilt from checked texts and a
//! checked link. Entries that do not look like results are left out. Must not know the caller, or how results are used.

mod brave;
mod exchange;
mod hit;
mod options;
mod searxng;

use serde::Deserialize;

pub use options::{SearchOptions, SearchProvider, SearchSetupError, WebSearch};

/// Maximum age of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Freshness {
    Day,
    Week,
    Month,
    Year,
}

/// The search query.
#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) text: String,
    pub(crate) count: usize,
    pub(crate) freshness: Option<Freshness>,
    pub(crate) language: Option<String>,
}
