//! Finds the differences of two JSON values, leaf by leaf.

use std::collections::BTreeSet;

use charter_contract::violation::pointer_segment;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The maximum number of reported differences per artifact; the last one then covers the whole artifact.
const MAX_CHANGES: usize = 100;

/// One difference of two values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FieldChange {
    /// The location, as a JSON pointer.
    pub pointer: String,
    /// The left value; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<Value>,
    /// The right value; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right: Option<Value>,
}

/// Returns every difference of two values, ordered by the parts of their pointers.
pub(super) fn changes(left: &Value, right: &Value) -> Vec<FieldChange> {
    let mut found = Vec::new();
    compare("", Some(left), Some(right), &mut found);
    if found.len() > MAX_CHANGES {
        found.truncate(MAX_CHANGES - 1);
        found.push(FieldChange {
            pointer: String::new(),
            left: Some(left.clone()),
            right: Some(right.clone()),
        });
    }
    found
}

fn compare(
    pointer: &str,
    left: Option<&Value>,
    right: Option<&Value>,
    found: &mut Vec<FieldChange>,
) {
    if left == right || found.len() > MAX_CHANGES {
        return;
    }
    match (left, right) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let fields: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for field in fields {
                let pointer = format!("{pointer}/{}", pointer_segment(field));
                compare(&pointer, left.get(field), right.get(field), found);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            for at in 0..left.len().max(right.len()) {
                let pointer = format!("{pointer}/{at}");
                compare(&pointer, left.get(at), right.get(at), found);
            }
        }
        (left, right) => found.push(FieldChange {
            pointer: pointer.to_owned(),
            left: left.cloned(),
            right: right.cloned(),
        }),
    }
}
