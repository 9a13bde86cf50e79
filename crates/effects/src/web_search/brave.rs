//! The Brave Search API ("Brave Search API reference: Web search"; version of 2026-03): builds requests and reads
//! answers.

use reqwest::Url;
use serde_json::Value;

use super::hit::Hit;
use super::{Freshness, Query};

/// Brave's own address.
pub(super) const URL: &str = "https://api.search.brave.com";
/// The path of web searches.
pub(super) const PATH: &[&str] = &["res", "v1", "web", "search"];
/// The header with the key.
pub(super) const KEY_HEADER: &str = "x-subscription-token";

/// Returns the address with the query.
pub(super) fn address(base: &Url, query: &Query) -> Url {
    let mut url = base.clone();
    let mut pairs = url.query_pairs_mut();
    pairs
        .append_pair("q", &query.text)
        .append_pair("count", &query.count.to_string())
        .append_pair("result_filter", "web")
        .append_pair("text_decorations", "false")
        .append_pair("extra_snippets", "false");
    if let Some(freshness) = query.freshness {
        pairs.append_pair("freshness", age(freshness));
    }
    if let Some(language) = &query.language {
        pairs.append_pair("search_lang", search_language(language));
    }
    drop(pairs);
    url
}

fn age(freshness: Freshness) -> &'static str {
    match freshness {
        Freshness::Day => "pd",
        Freshness::Week => "pw",
        Freshness::Month => "pm",
        Freshness::Year => "py",
    }
}

/// Brave's codes that differ from ISO 639-1 or are finer.
fn search_language(language: &str) -> &str {
    match language {
        "ja" => "jp",
        "zh" => "zh-hans",
        "pt" => "pt-br",
        other => other,
    }
}

/// Returns the results, or `None` if the answer is not one of this API. An answer without web results has no `web`.
pub(super) fn hits(answer: &Value) -> Option<Vec<Hit>> {
    if answer.get("type")?.as_str()? != "search" {
        return None;
    }
    let results = match answer.get("web") {
        None | Some(Value::Null) => return Some(Vec::new()),
        Some(web) => web.get("results")?.as_array()?,
    };
    let hits = results
        .iter()
        .filter_map(|result| Hit::from_result(result, "description", "page_age"));
    Some(hits.collect())
}

/// Returns the error code in the body of a refusal.
pub(super) fn refusal(body: &Value) -> Option<&str> {
    body.get("error")?.get("code")?.as_str()
}
