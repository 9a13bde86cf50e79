//! Checks values against schemas of documents without blocking a shared thread. Must not know the document, or the
//! consequences of a violation.

use std::sync::Arc;

use charter_contract::foreign_schema::{ForeignSchema, SchemaFault};
use charter_contract::violation::{Stage, Violation};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Concurrent slow checks, beside those that complete at once. A check cannot be interrupted.
const MAX_AT_ONCE: usize = 2;

/// Permits of these checks, shared by the whole process.
static PLACES: Semaphore = Semaphore::const_new(MAX_AT_ONCE);

/// Returns every violation of a schema in a value, with the value.
pub async fn check_against(schema: &ForeignSchema, value: Value) -> (Value, Vec<Violation>) {
    if schema.accepts_at_once(&value) {
        return (value, Vec::new());
    }
    let value = Arc::new(value);
    let (of, checked) = (schema.clone(), Arc::clone(&value));
    let violations = in_turn(move || of.violations(&checked)).await;
    let violations = violations.unwrap_or_else(|fault| {
        vec![Violation {
            stage: Stage::Structure,
            pointer: String::new(),
            keyword: "schema".to_owned(),
            message: fault,
            suggestion: None,
        }]
    });
    (Arc::unwrap_or_clone(value), violations)
}

/// Returns why a schema is unusable, if it is.
pub(crate) async fn fault(schema: &ForeignSchema) -> Option<SchemaFault> {
    let schema = schema.clone();
    let found = in_turn(move || schema.fault()).await;
    found.unwrap_or_else(|fault| Some(SchemaFault::NotASchema(fault)))
}

/// Compiles a schema on its own thread, so that checks of small values then complete at once.
pub async fn compile_schema(schema: &ForeignSchema) {
    drop(fault(schema).await);
}

/// Runs work on its own thread when a permit is free. The permit is released when the work ends, even if the caller is
/// gone.
async fn in_turn<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let place = PLACES.acquire().await;
    let place = place.map_err(|error| format!("the check did not start: {error}"))?;
    let done = spawn_blocking(move || {
        let done = work();
        drop(place);
        done
    });
    done.await
        .map_err(|error| format!("the check did not end: {error}"))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use serde_json::json;

    use super::*;

    fn schema(json: &Value) -> ForeignSchema {
        ForeignSchema::from(json.as_object().unwrap().clone())
    }

    #[tokio::test]
    async fn first_and_long_checks_run_on_another_thread() {
        let numbers = schema(&json!({"items": {"type": "integer"}}));
        let mut first = Box::pin(check_against(&numbers, json!([1])));
        assert_eq!(first.as_mut().now_or_never(), None);
        assert_eq!(first.await, (json!([1]), Vec::new()));
        let again = check_against(&numbers, json!([2])).now_or_never();
        assert_eq!(again, Some((json!([2]), Vec::new())));
        let many: Value = (0..100_000).collect();
        let mut long = Box::pin(check_against(&numbers, many.clone()));
        assert_eq!(long.as_mut().now_or_never(), None);
        assert_eq!(long.await, (many, Vec::new()));
    }

    #[tokio::test]
    async fn violations_are_named_and_the_value_is_returned() {
        let numbers = schema(&json!({"items": {"type": "integer"}}));
        let (value, violations) = check_against(&numbers, json!([1, "a"])).await;
        assert_eq!(value, json!([1, "a"]));
        let places: Vec<&str> = violations
            .iter()
            .map(|wrong| wrong.pointer.as_str())
            .collect();
        assert_eq!(places, ["/1"]);
        assert_eq!(fault(&numbers).await, None);
        let broken = schema(&json!({"$ref": "#/nothing"}));
        assert_eq!(
            fault(&broken).await.unwrap().to_string(),
            "the schema refers to `#/nothing`, which does not exist: correct the reference"
        );
    }
}
