//! SearxNG ("SearXNG documentation: Search API"): builds requests and reads answers.

use reqwest::Url;
use serde_json::Value;

use super::hit::Hit;
use super::{Freshness, Query};

/// The path of searches.
pub(super) const PATH: &[&str] = &["search"];

/// An instance's answer.
#[derive(Debug)]
pub(super) struct SearxngResponse {
    pub(super) hits: Vec<Hit>,
    /// Number of its engines that did not answer.
    pub(super) silent_engines: usize,
}

/// Returns the address with the query. The API has no parameter for the number of results.
pub(super) fn address(base: &Url, query: &Query) -> Url {
    let mut url = base.clone();
    let mut pairs = url.query_pairs_mut();
    pairs
        .append_pair("q", &query.text)
        .append_pair("format", "json")
        .append_pair("categories", "general");
    if let Some(freshness) = query.freshness {
        pairs.append_pair("time_range", age(freshness));
    }
    if let Some(language) = &query.language {
        pairs.append_pair("language", language);
    }
    drop(pairs);
    url
}

fn age(freshness: Freshness) -> &'static str {
    match freshness {
        Freshness::Day => "day",
        Freshness::Week => "week",
        Freshness::Month => "month",
        Freshness::Year => "year",
    }
}

/// Returns the results, or `None` if the answer is not one of this API.
pub(super) fn parse_response(answer: &Value) -> Option<SearxngResponse> {
    let results = answer.get("results")?.as_array()?.iter();
    let silent = answer.get("unresponsive_engines").and_then(Value::as_array);
    Some(SearxngResponse {
        hits: results
            .filter_map(|result| Hit::from_result(result, "content", "publishedDate"))
            .collect(),
        silent_engines: silent.map_or(0, Vec::len),
    })
}
