//! Fills the values of a proposal into the parameters of its write-back. A placeholder that is a whole string becomes
//! the value with its type; a value is never scanned for placeholders again.

use std::borrow::Cow;

use charter_contract::bounds::JSON_MEMORY;
use charter_contract::filling::FillBudget;
use charter_contract::mission::writeback_proposal::WritebackProposal;
use charter_contract::placeholder::{Placeholder, Segment, segments};
use serde_json::{Map, Value};

/// Fills `${target_entity_id}` and `${payload.…}`.
///
/// # Errors
/// A placeholder without a value, by name; values that are too large together.
pub(super) fn fill(
    written: &Map<String, Value>,
    proposal: &WritebackProposal,
) -> Result<Map<String, Value>, String> {
    fields(
        written,
        proposal,
        &mut FillBudget::with_limit(JSON_MEMORY),
        0,
    )
}

fn fields(
    written: &Map<String, Value>,
    proposal: &WritebackProposal,
    filling: &mut FillBudget,
    level: usize,
) -> Result<Map<String, Value>, String> {
    let names = written.keys().map(String::as_str);
    let level = filling
        .take_object(level, names)
        .map_err(|over| over.to_string())?;
    let each = written.iter();
    each.map(|(name, value)| Ok((name.clone(), filled(value, proposal, filling, level)?)))
        .collect()
}

fn filled(
    value: &Value,
    proposal: &WritebackProposal,
    filling: &mut FillBudget,
    level: usize,
) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => string(text, proposal, filling, level)?,
        Value::Array(items) => {
            let level = filling.take_list(level).map_err(|over| over.to_string())?;
            let items = items
                .iter()
                .map(|item| filled(item, proposal, filling, level));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Object(written) => Value::Object(fields(written, proposal, filling, level)?),
        Value::Null | Value::Bool(_) | Value::Number(_) => filling
            .copy(value, level)
            .map_err(|over| over.to_string())?,
    })
}

fn string(
    text: &str,
    proposal: &WritebackProposal,
    filling: &mut FillBudget,
    level: usize,
) -> Result<Value, String> {
    let parts = segments(text).map_err(|error| error.to_string())?;
    if let [Segment::Placeholder(placeholder)] = parts.as_slice() {
        let value = value_of(*placeholder, proposal)?;
        return filling.copy(&value, level).map_err(|over| over.to_string());
    }
    filling.take_text(0).map_err(|over| over.to_string())?;
    let mut whole = String::with_capacity(text.len());
    for part in parts {
        let wrote = match part {
            Segment::Text(plain) => filling.write(&mut whole, plain),
            Segment::Placeholder(placeholder) => {
                let value = value_of(placeholder, proposal)?;
                filling.write_value(&mut whole, &value, Value::to_string)
            }
        };
        wrote.map_err(|over| over.to_string())?;
    }
    Ok(Value::String(whole))
}

fn value_of<'p>(
    placeholder: Placeholder<'_>,
    proposal: &'p WritebackProposal,
) -> Result<Cow<'p, Value>, String> {
    match placeholder {
        Placeholder::Step {
            step: "target_entity_id",
            path: "",
        } => Ok(Cow::Owned(Value::String(
            proposal.target_entity_id.to_string(),
        ))),
        Placeholder::Step {
            step: "payload",
            path: "",
        } => Ok(Cow::Owned(Value::Object(proposal.payload.clone()))),
        Placeholder::Step {
            step: "payload",
            path,
        } => {
            let (first, rest) = path.split_once('.').unwrap_or((path, ""));
            let field = proposal.payload.get(first);
            let value = match rest {
                "" => field,
                rest => {
                    let pointer = format!("/{}", rest.replace('.', "/"));
                    field.and_then(|field| field.pointer(&pointer))
                }
            };
            let value = value.ok_or_else(|| format!("the payload has no `{path}`"))?;
            Ok(Cow::Borrowed(value))
        }
        Placeholder::Step { step, .. } | Placeholder::User(step) => {
            Err(format!("`{step}` does not belong to a proposal"))
        }
    }
}
