//! `web.search`: a query to the search provider that the operator configured. Disabled without one.
//!
//! Reads what is asked for, and answers with what was found. Must not know providers.

use charter_contract::agentic::response::ActionType;
use charter_contract::catalogue::builtin::Builtin;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::action::{Action, Content, answer};
use super::parameters::{self, input};
use crate::builtin_grants::{BuiltinGrants, denied};
use crate::call::ToolCall;
use crate::outcome::{Failure, Success};
use crate::web_search::{Freshness, Query};

/// Longest query, in characters and in words: the smallest limit of a provider (Brave Search API, Web search, `q`).
const MAX_QUERY_CHARACTERS: usize = 400;
const MAX_QUERY_WORDS: usize = 50;
/// Most results of one call (Brave Search API, Web search, `count`).
const MAX_RESULTS: u64 = 20;
/// Default number of results.
const RESULTS: u64 = 10;

/// Parameters of a call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    query: String,
    count: Option<u64>,
    freshness: Option<Freshness>,
    language: Option<String>,
}

/// The query that a call asks for.
pub(super) fn parse(given: &Map<String, Value>) -> Result<Query, Failure> {
    let given: Parameters = parameters::typed(Builtin::WebSearch, given)?;
    let text = given.query.trim().to_owned();
    let words = text.split_whitespace().count();
    let characters = text.chars().count();
    if words == 0 || words > MAX_QUERY_WORDS || characters > MAX_QUERY_CHARACTERS {
        let message = format!(
            "`query` must have 1 to {MAX_QUERY_CHARACTERS} characters and at most \
             {MAX_QUERY_WORDS} words; it has {characters} and {words}"
        );
        return Err(input(message));
    }
    if text.chars().any(char::is_control) {
        return Err(input("`query` contains a control character".to_owned()));
    }
    let count = given.count.unwrap_or(RESULTS);
    if !(1..=MAX_RESULTS).contains(&count) {
        return Err(input(format!("`count` must be 1 to {MAX_RESULTS}")));
    }
    let two_letters =
        |code: &String| code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_lowercase());
    if !given.language.as_ref().is_none_or(two_letters) {
        let message = "`language` must be two lower-case letters, such as `en`";
        return Err(input(message.to_owned()));
    }
    Ok(Query {
        text,
        count: usize::try_from(count).unwrap_or(usize::MAX),
        freshness: given.freshness,
        language: given.language,
    })
}

/// Searches, if a provider is configured.
pub(crate) async fn search(
    call: &ToolCall,
    grants: &BuiltinGrants,
    cancel: &CancellationToken,
) -> Result<Success, Failure> {
    let query = parse(&call.parameters)?;
    let Some(search) = &grants.search else {
        let message = "web search is disabled on this server: no search provider is configured (`search.provider`)";
        return Err(denied(message.to_owned()));
    };
    let hits = search.find(&query, call.limits.timeout, cancel).await?;
    let results = search.redactor().apply_to(json!(hits));
    let details = json!({
        "operation": Builtin::WebSearch, "provider": search.provider(), "query": query.text,
        "results": hits.len(), "after": Content::from_bytes(results.to_string().as_bytes()),
    });
    let found = json!({
        "provider": search.provider(), "query": query.text, "results": results,
    });
    answer(&found, &[Action::new(ActionType::Search, &details)?])
}

#[cfg(test)]
mod tests {
    use charter_contract::agentic::error::ErrorType;

    use super::*;

    fn parsed(given: &Value) -> Result<Query, (ErrorType, String)> {
        let given = given.as_object().unwrap();
        parse(given).map_err(|failure| (failure.kind, failure.message))
    }

    #[test]
    fn the_bounds_of_a_query_match_its_document() {
        let long = |word: &str, times: usize| json!({"query": word.repeat(times)});
        for given in [
            long("ä", 400),
            long("a ", 50),
            json!({"query": " q ", "count": 20, "freshness": "year", "language": "de"}),
        ] {
            assert!(parsed(&given).is_ok(), "{given}");
        }
        let query = parsed(&json!({"query": " q "})).unwrap();
        assert_eq!((query.text.as_str(), query.count), ("q", 10));
        let size = "`query` must have 1 to 400 characters and at most 50 words; it has";
        let language = "`language` must be two lower-case letters, such as `en`";
        for (given, said) in [
            (long("ä", 401), format!("{size} 401 and 1")),
            (long("a ", 51), format!("{size} 101 and 51")),
            (json!({"query": " \n "}), format!("{size} 0 and 0")),
            (
                json!({"query": "a\u{0}b"}),
                "`query` contains a control character".to_owned(),
            ),
            (
                json!({"query": "q", "count": 0}),
                "`count` must be 1 to 20".to_owned(),
            ),
            (
                json!({"query": "q", "count": 21}),
                "`count` must be 1 to 20".to_owned(),
            ),
            (json!({"query": "q", "language": "EN"}), language.to_owned()),
            (
                json!({"query": "q", "language": "en&q=x"}),
                language.to_owned(),
            ),
        ] {
            let refused = parsed(&given).map(|_| ());
            assert_eq!(refused, Err((ErrorType::InputError, said)), "{given}");
        }
        for given in [
            json!({"query": "q", "freshness": "pd"}),
            json!({"query": "q", "count": -1}),
            json!({"query": "q", "country": "de"}),
            json!({}),
        ] {
            let kind = parsed(&given).map(|_| ()).map_err(|(kind, _)| kind);
            assert_eq!(kind, Err(ErrorType::InputError), "{given}");
        }
    }
}
