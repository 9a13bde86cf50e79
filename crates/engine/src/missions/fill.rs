//! The values of a proposal in the parameters of what carries it out. A placeholder that is a whole
//! string becomes the value with its type; a value is never read for placeholders again.

use charter_contract::mission::writeback_proposal::WritebackProposal;
use charter_contract::placeholder::{Placeholder, Segment, segments};
use serde_json::{Map, Value};

/// Fills `${target_entity_id}` and `${payload.…}`.
///
/// # Errors
/// A placeholder without a value, by name.
pub(super) fn fill(
    written: &Map<String, Value>,
    proposal: &WritebackProposal,
) -> Result<Map<String, Value>, String> {
    let each = written.iter();
    each.map(|(name, value)| Ok((name.clone(), filled(value, proposal)?)))
        .collect()
}

fn filled(value: &Value, proposal: &WritebackProposal) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => string(text, proposal)?,
        Value::Array(items) => {
            let items = items.iter().map(|item| filled(item, proposal));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => Value::Object(fill(fields, proposal)?),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}

fn string(text: &str, proposal: &WritebackProposal) -> Result<Value, String> {
    let parts = segments(text).map_err(|error| error.to_string())?;
    if let [Segment::Placeholder(placeholder)] = parts.as_slice() {
        return value_of(*placeholder, proposal);
    }
    let mut whole = String::with_capacity(text.len());
    for part in parts {
        match part {
            Segment::Text(plain) => whole.push_str(plain),
            Segment::Placeholder(placeholder) => match value_of(placeholder, proposal)? {
                Value::String(value) => whole.push_str(&value),
                other => whole.push_str(&other.to_string()),
            },
        }
    }
    Ok(Value::String(whole))
}

fn value_of(placeholder: Placeholder<'_>, proposal: &WritebackProposal) -> Result<Value, String> {
    match placeholder {
        Placeholder::Step {
            step: "target_entity_id",
            path: "",
        } => Ok(Value::String(proposal.target_entity_id.to_string())),
        Placeholder::Step {
            step: "payload",
            path,
        } => {
            let payload = Value::Object(proposal.payload.clone());
            let pointer = format!("/{}", path.replace('.', "/"));
            let value = if path.is_empty() {
                Some(&payload)
            } else {
                payload.pointer(&pointer)
            };
            value
                .cloned()
                .ok_or_else(|| format!("the payload has no `{path}`"))
        }
        Placeholder::Step { step, .. } | Placeholder::User(step) => {
            Err(format!("`{step}` is not of a proposal"))
        }
    }
}
