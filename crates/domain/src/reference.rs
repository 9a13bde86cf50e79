//! `${…}` references in step parameters. They are resolved as data and never spliced into source.
//!
//! `${user.x}` is the declared parameter `x`; `${step.path}` is a part of an earlier step's output (ruling 12). A text
//! that is exactly one reference becomes the referenced value with its type. A reference inside a longer text is
//! written out: a text unchanged, any other value as JSON. Inserted values are never parsed again, so a value cannot
//! contain references. `$${` is the text `${`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use charter_contract::bounds::{JSON_MEMORY, PLACEHOLDERS};
use charter_contract::filling::{FillBudget, FillBudgetExceeded};
use charter_contract::ids::StepId;
use charter_contract::placeholder::{
    ITEM, Placeholder, PlaceholderError, Segment, is_plain, segments,
};
use serde_json::{Map, Value};

/// The target of a reference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reference {
    /// A declared parameter.
    Parameter(String),
    /// A part of an earlier step's output, or all of it if the path is empty.
    Output {
        /// The step.
        step: StepId,
        /// Field names and array indexes, outermost first.
        path: Vec<String>,
    },
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter(name) => write!(f, "${{user.{name}}}"),
            Self::Output { step, path } => {
                write!(f, "${{{step}")?;
                path.iter().try_for_each(|part| write!(f, ".{part}"))?;
                f.write_str("}")
            }
        }
    }
}

/// The reason why a reference cannot be parsed or resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// It is not a reference.
    #[error(transparent)]
    Malformed(#[from] PlaceholderError),
    /// The parameter has no value.
    #[error("the parameter `{name}` has no value")]
    NoParameter {
        /// Its name.
        name: String,
    },
    /// The step has no output, or the output lacks this part.
    #[error("`{reference}` has no value: {detail}")]
    NoOutput {
        /// The reference.
        reference: String,
        /// The part of the path that could be followed.
        detail: String,
    },
    /// The values are too large, or nested too deeply at their location.
    #[error(transparent)]
    Overfull(#[from] FillBudgetExceeded),
}

/// The possible targets of references.
#[derive(Debug, Clone, Copy)]
pub struct Bindings<'a> {
    /// Values of the declared parameters.
    pub parameters: &'a Map<String, Value>,
    /// Outputs of finished steps.
    pub outputs: &'a BTreeMap<StepId, Value>,
    /// The item of a step that is repeated for each item of a list.
    pub item: Option<ItemBinding<'a>>,
}

/// The item that a step, or its reversal, is for.
#[derive(Debug, Clone, Copy)]
pub struct ItemBinding<'a> {
    /// The target of `${item}`.
    pub value: &'a Value,
    /// For a reversal: the repeated step, and the output of the reversed item, which that step's name refers to.
    pub reversed: Option<(&'a StepId, Option<&'a Value>)>,
}

impl<'a> Bindings<'a> {
    /// Returns the output that the name of a step refers to.
    fn output_of(&self, step: &StepId) -> Option<&'a Value> {
        match self.item {
            Some(item) if step.as_str() == ITEM => Some(item.value),
            Some(ItemBinding {
                reversed: Some((repeated, output)),
                ..
            }) if repeated == step => output,
            Some(_) | None => self.outputs.get(step),
        }
    }
}

/// Returns every reference in a value, in reading order; at most [`PLACEHOLDERS`].
///
/// # Errors
/// The first `${` that does not begin a reference.
pub fn references(value: &Value) -> Result<Vec<Reference>, ReferenceError> {
    let mut found = Vec::new();
    collect(value, &mut found)?;
    Ok(found)
}

fn collect(value: &Value, found: &mut Vec<Reference>) -> Result<(), ReferenceError> {
    match value {
        Value::String(text) => {
            for part in parts(text)? {
                if let Part::Reference(reference) = part {
                    found.push(reference);
                }
            }
            if found.len() > PLACEHOLDERS {
                return Err(PlaceholderError::TooMany.into());
            }
            Ok(())
        }
        Value::Array(items) => items.iter().try_for_each(|item| collect(item, found)),
        Value::Object(fields) => fields.values().try_for_each(|field| collect(field, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// The value of a template without references; `None` if it has references or is malformed.
pub(crate) fn literal(template: &Value) -> Option<Cow<'_, Value>> {
    if !references(template).is_ok_and(|found| found.is_empty()) {
        return None;
    }
    if !has_escapes(template) {
        return Some(Cow::Borrowed(template));
    }
    let bindings = Bindings {
        parameters: &Map::new(),
        outputs: &BTreeMap::new(),
        item: None,
    };
    let value = resolve(template, bindings, &mut FillBudget::with_limit(JSON_MEMORY));
    value.ok().map(Cow::Owned)
}

/// Whether a template has a text with `${`, so that its value may differ from its text.
fn has_escapes(template: &Value) -> bool {
    match template {
        Value::String(text) => !is_plain(text),
        Value::Array(items) => items.iter().any(has_escapes),
        Value::Object(fields) => fields.values().any(has_escapes),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Replaces every reference in a value by its target. Values that are filled together, such as the parameters of one
/// step, share one `filling`.
///
/// # Errors
/// The first reference that is malformed, has no value, or exceeds a limit.
pub fn resolve(
    value: &Value,
    bindings: Bindings<'_>,
    filling: &mut FillBudget,
) -> Result<Value, ReferenceError> {
    resolve_within(value, bindings, filling, 0)
}

fn resolve_within(
    value: &Value,
    bindings: Bindings<'_>,
    filling: &mut FillBudget,
    level: usize,
) -> Result<Value, ReferenceError> {
    Ok(match value {
        Value::String(text) => resolve_text(text, bindings, filling, level)?,
        Value::Array(items) => {
            let level = filling.take_list(level)?;
            let items = items.iter();
            items
                .map(|item| resolve_within(item, bindings, filling, level))
                .collect::<Result<_, _>>()?
        }
        Value::Object(fields) => {
            let level = filling.take_object(level, fields.keys().map(String::as_str))?;
            let fields = fields.iter().map(|(key, field)| {
                let field = resolve_within(field, bindings, filling, level)?;
                Ok::<_, ReferenceError>((key.clone(), field))
            });
            Value::Object(fields.collect::<Result<_, _>>()?)
        }
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => filling.copy(plain, level)?,
    })
}

fn resolve_text(
    text: &str,
    bindings: Bindings<'_>,
    filling: &mut FillBudget,
    level: usize,
) -> Result<Value, ReferenceError> {
    let parts = parts(text)?;
    if let [Part::Reference(reference)] = parts.as_slice() {
        return Ok(filling.copy(follow(reference, bindings)?, level)?);
    }
    filling.take_text(0)?;
    let mut written = String::with_capacity(text.len());
    for part in &parts {
        match part {
            Part::Text(text) => filling.write(&mut written, text)?,
            Part::Reference(reference) => {
                let value = follow(reference, bindings)?;
                filling.write_value(&mut written, value, Value::to_string)?;
            }
        }
    }
    Ok(Value::String(written))
}

fn follow<'a>(reference: &Reference, bindings: Bindings<'a>) -> Result<&'a Value, ReferenceError> {
    match reference {
        Reference::Parameter(name) => bindings
            .parameters
            .get(name)
            .ok_or_else(|| ReferenceError::NoParameter { name: name.clone() }),
        Reference::Output { step, path } => {
            let absent = |detail: String| ReferenceError::NoOutput {
                reference: reference.to_string(),
                detail,
            };
            let output = bindings
                .output_of(step)
                .ok_or_else(|| absent(format!("the step `{step}` has no output")))?;
            path.iter().try_fold(output, |value, key| {
                part_of(value, key).ok_or_else(|| absent(format!("there is no `{key}`")))
            })
        }
    }
}

/// Returns a part of a value: a field by its name, or an item by its index.
pub(crate) fn part_of<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => fields.get(key),
        Value::Array(items) => key.parse::<usize>().ok().and_then(|index| items.get(index)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

enum Part<'t> {
    Text(&'t str),
    Reference(Reference),
}

fn parts(text: &str) -> Result<Vec<Part<'_>>, ReferenceError> {
    segments(text)?
        .into_iter()
        .map(|segment| match segment {
            Segment::Text(text) => Ok(Part::Text(text)),
            Segment::Placeholder(placeholder) => reference(placeholder).map(Part::Reference),
        })
        .collect()
}

fn reference(placeholder: Placeholder<'_>) -> Result<Reference, ReferenceError> {
    match placeholder {
        Placeholder::User(name) => Ok(Reference::Parameter(name.to_owned())),
        Placeholder::Step { step, path } => {
            let step =
                StepId::parse(step).map_err(|_| PlaceholderError::BadName(step.to_owned()))?;
            let path = path.split('.').filter(|key| !key.is_empty());
            Ok(Reference::Output {
                step,
                path: path.map(str::to_owned).collect(),
            })
        }
    }
}

#[cfg(test)]
mod tests;
