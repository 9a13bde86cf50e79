//! Refuses unknown query parameters on every route. Otherwise a misspelled parameter would count as absent, and the
//! caller would not notice.
//!
//! Which parameters an operation takes is read from its description, the one that clients get. The typed values are
//! read by [`QueryParams`](crate::extract::QueryParams).

use std::collections::BTreeSet;

use axum::extract::Query;
use axum::http::Uri;
use charter_contract::validate::nearest;
use charter_contract::violation::{Stage, Violation, pointer_segment};
use charter_engine::EngineError;
use utoipa::openapi::RefOr;
use utoipa::openapi::path::{Operation, ParameterIn};

/// The query parameters of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum QueryNames {
    /// Only these.
    Known(BTreeSet<String>),
    /// Any: the A2A protocol ignores parameters of its newer versions (section 5.7).
    Any,
}

/// The most unknown parameters that an error lists.
const MOST_NAMED: usize = 20;

/// The tag of the operations of the A2A protocol.
const A2A: &str = "a2a";

impl QueryNames {
    /// The names that the description of an operation lists.
    pub(crate) fn from_operation(operation: &Operation) -> Self {
        let mut tags = operation.tags.iter().flatten();
        if tags.any(|tag| tag == A2A) {
            return Self::Any;
        }
        let parameters = operation.parameters.iter().flatten();
        let names = parameters.filter_map(|parameter| match parameter {
            RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Query => {
                Some(parameter.name.clone())
            }
            RefOr::T(_) | RefOr::Ref(_) => None,
        });
        Self::Known(names.collect())
    }

    /// Refuses a URI with unknown parameters; the error lists each of them, and the allowed names.
    pub(crate) fn check(&self, uri: &Uri) -> Result<(), EngineError> {
        let Self::Known(known) = self else {
            return Ok(());
        };
        if uri.query().is_none_or(str::is_empty) {
            return Ok(());
        }
        // The reader of the values refuses an unreadable query.
        let Ok(Query(given)) = Query::<Vec<(String, String)>>::try_from_uri(uri) else {
            return Ok(());
        };
        let names: BTreeSet<String> = given.into_iter().map(|(name, _)| name).collect();
        let unknown = names.iter().filter(|name| !known.contains(*name));
        let violations: Vec<Violation> = unknown
            .take(MOST_NAMED)
            .map(|name| Violation {
                stage: Stage::Schema,
                pointer: format!("/{}", pointer_segment(name)),
                keyword: "unknown".to_owned(),
                message: format!("unknown query parameter `{}`", pointer_segment(name)),
                suggestion: Some(suggestion(name, known)),
            })
            .collect();
        if violations.is_empty() {
            return Ok(());
        }
        Err(EngineError::unfit("the query", &violations))
    }
}

/// The probably intended name, and all names of the operation.
fn suggestion(name: &str, known: &BTreeSet<String>) -> String {
    let of_it = |known: &&String| {
        let rest = known.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with('_'))
    };
    let meant = nearest(name, known.iter().map(String::as_str));
    let meant = meant.or_else(|| {
        let longer = known.iter().find(of_it)?;
        Some(format!("did you mean `{longer}`?"))
    });
    let all: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    let all = match all.as_slice() {
        [] => "this takes no query parameters".to_owned(),
        all => format!("this takes {}", all.join(", ")),
    };
    match meant {
        Some(meant) => format!("{meant} {all}"),
        None => all,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Method;
    use charter_contract::error_code::ErrorCode;

    use super::*;
    use crate::router::operations;

    fn refusal(method: &Method, path: &str, query: &str) -> Option<EngineError> {
        let operations = operations();
        let names = operations.query(method, path).unwrap();
        let uri: Uri = format!("{path}{query}").parse().unwrap();
        names.check(&uri).err()
    }

    fn suggested(path: &str, query: &str) -> Vec<String> {
        let refused = refusal(&Method::GET, path, query).unwrap();
        assert_eq!(refused.code, ErrorCode::InvalidRequest);
        let violations = refused.violations_found().into_iter();
        violations
            .map(|found| format!("{} {}", found.pointer, found.suggestion.unwrap()))
            .collect()
    }

    #[test]
    fn an_unknown_parameter_is_refused_with_a_suggestion() {
        let guardrails = "/v1/resolve/guardrails";
        let all = "this takes `agent_id`, `domain`, `persona`, `skill_id`";
        assert_eq!(
            suggested(guardrails, "?skill=x.y&domian=x&domain=x&q=1"),
            [
                format!("/domian did you mean `domain`? {all}"),
                format!("/q {all}"),
                format!("/skill did you mean `skill_id`? {all}"),
            ]
        );
        assert_eq!(
            suggested("/v1/keys", "?x"),
            ["/x this takes `after`, `limit`"]
        );
        assert_eq!(
            suggested("/v1/caller", "?%73cope=all"),
            ["/scope this takes no query parameters"]
        );
    }

    #[test]
    fn known_parameters_and_an_empty_query_pass() {
        for (method, path, query) in [
            (
                Method::GET,
                "/v1/resolve/guardrails",
                "?skill_id=a&persona=b",
            ),
            (Method::GET, "/v1/keys", ""),
            (Method::GET, "/v1/keys", "?"),
            (Method::HEAD, "/v1/keys", "?limit=1"),
            (Method::GET, "/v1/evidence", "?type=config_snapshot"),
            (Method::DELETE, "/v1/agent-skills/search", "?force=true"),
            (Method::GET, "/a2a/v1/tasks", "?pageSize=1&newer=1"),
        ] {
            let refused = refusal(&method, path, query);
            assert!(refused.is_none(), "{method} {path}{query}: {refused:?}");
        }
        let searched = refusal(&Method::GET, "/v1/agent-skills/search", "?force=true");
        assert!(
            searched.is_some(),
            "a skill that is called `search` is read"
        );
    }
}
