//! Arguments as Cedar values, in the types that [`super::schema`] declares.
//!
//! Cedar has no floating-point numbers: a number is a decimal with at most four places. A value that Cedar cannot
//! represent has no form here, and a request with such a value is denied. Policies do not see arguments and fields that
//! the tool does not describe.

use std::collections::BTreeSet;

use cedar_policy::RestrictedExpression;
use charter_contract::bounds::CEDAR_VALUES;
use charter_contract::catalogue::tool::Tool;
use charter_contract::input_schema::{Field, Shape};
use charter_contract::parameter::ParameterType;
use serde_json::{Map, Value};

/// Returns the record of a tool's arguments, without absent and null ones.
///
/// # Errors
/// An argument is not allowed, or cannot be represented in Cedar.
pub(super) fn arguments(
    tool: &Tool,
    given: &Map<String, Value>,
) -> Result<RestrictedExpression, String> {
    let (declared, input) = (tool.parameters(), tool.input());
    let is_open = input.takes_any_name() || !input.name_patterns().is_empty();
    let known = |name: &str| is_open || declared.iter().any(|p| p.name.as_ref() == name);
    if let Some(name) = given.keys().find(|name| !known(name)) {
        return Err(format!("the argument `{name}` is not declared"));
    }
    let mut fields = Vec::with_capacity(given.len());
    for parameter in declared {
        let name = parameter.name.as_ref();
        let Some(value) = given.get(name).filter(|value| !value.is_null()) else {
            continue;
        };
        let shape = input.shape(parameter).unwrap_or(&Shape::Mixed);
        let value = argument(shape, value).map_err(|limits| {
            format!("the argument `{name}` cannot be passed to policies: {limits}")
        })?;
        fields.push((name.to_owned(), value));
    }
    record(fields)
}

/// Counts the values and names in the arguments.
///
/// # Errors
/// When that exceeds the limit for policies.
pub(super) fn count_of(given: &Map<String, Value>) -> Result<usize, String> {
    let count: usize = given.values().map(leaves).sum();
    if count > CEDAR_VALUES {
        return Err(format!(
            "the arguments have {count} values; at most {CEDAR_VALUES} can be passed to policies (CEDAR_VALUES): \
             pass fewer"
        ));
    }
    Ok(count)
}

fn leaves(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(leaves).sum(),
        Value::Object(fields) => fields.values().map(|field| 1 + leaves(field)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

/// Creates a record.
///
/// # Errors
/// When a name occurs twice.
pub(super) fn record(
    fields: impl IntoIterator<Item = (String, RestrictedExpression)>,
) -> Result<RestrictedExpression, String> {
    RestrictedExpression::new_record(fields).map_err(|error| error.to_string())
}

/// A set of texts.
pub(super) fn texts<'t>(texts: impl IntoIterator<Item = &'t str>) -> RestrictedExpression {
    let texts = texts.into_iter().map(text);
    RestrictedExpression::new_set(texts)
}

/// A text.
pub(super) fn text(text: &str) -> RestrictedExpression {
    RestrictedExpression::new_string(text.to_owned())
}

/// Converts a count; larger counts become Cedar's maximum.
pub(super) fn count(count: u64) -> RestrictedExpression {
    RestrictedExpression::new_long(i64::try_from(count).unwrap_or(i64::MAX))
}

/// A value of another type. For a parameter of a list with several types, policies see the first one.
const DIFFERS: &str = "its type differs from the parameter's type in policies";

/// Returns the reason why a value has no form in Cedar.
fn limits(shape: &Shape, value: &Value) -> &'static str {
    match shape {
        Shape::Number if ParameterType::Number.fits(value) => {
            "a number has at most 15 digits and four decimal places"
        }
        Shape::Integer if ParameterType::Integer.fits(value) => "an integer has at most 63 bits",
        Shape::Text
        | Shape::Number
        | Shape::Integer
        | Shape::Boolean
        | Shape::List
        | Shape::Object
        | Shape::Record(_)
        | Shape::Mixed => DIFFERS,
    }
}

fn argument(shape: &Shape, value: &Value) -> Result<RestrictedExpression, &'static str> {
    match shape {
        Shape::Record(fields) => fields_of(fields, value),
        shape => plain(shape, value).ok_or_else(|| limits(shape, value)),
    }
}

/// Returns the known fields of an object, without absent and null ones.
fn fields_of(fields: &[Field], value: &Value) -> Result<RestrictedExpression, &'static str> {
    let given = value.as_object().ok_or(DIFFERS)?;
    let mut known = Vec::with_capacity(fields.len());
    for field in fields {
        match given.get(&field.name).filter(|value| !value.is_null()) {
            Some(value) => known.push((field.name.clone(), argument(&field.shape, value)?)),
            None if field.required => return Err(DIFFERS),
            None => {}
        }
    }
    record(known).map_err(|_| DIFFERS)
}

fn plain(shape: &Shape, value: &Value) -> Option<RestrictedExpression> {
    match shape {
        Shape::Text => value.as_str().map(text),
        Shape::Boolean => value.as_bool().map(RestrictedExpression::new_bool),
        Shape::Integer => integer(value).map(RestrictedExpression::new_long),
        Shape::Number => decimal(value),
        Shape::List => {
            let items = value.as_array()?;
            let length = RestrictedExpression::new_long(i64::try_from(items.len()).ok()?);
            record(within(value, ("length", length))).ok()
        }
        Shape::Object => {
            let keys = value.as_object()?.keys().map(String::as_str);
            record(within(value, ("keys", texts(keys)))).ok()
        }
        Shape::Mixed => record([]).ok(),
        Shape::Record(_) => None,
    }
}

/// Returns a whole number, also if it is written `3.0`.
fn integer(value: &Value) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let float = || {
        value
            .as_f64()
            .filter(|f| f.fract() == 0.0 && f.abs() < EXACT)
    };
    #[allow(clippy::cast_possible_truncation, reason = "whole and within range")]
    value.as_i64().or_else(|| {
        let unsigned = value.is_u64();
        (!unsigned).then(float)?.map(|float| float as i64)
    })
}

/// Returns a number in Cedar's form; `None` if it would have to be rounded.
fn decimal(value: &Value) -> Option<RestrictedExpression> {
    const MAX_WHOLE: u64 = 922_337_203_685_476;
    let number = value.as_f64()?;
    if number.abs() > MAX_WHOLE as f64 {
        return None;
    }
    let text = match value.as_i64() {
        Some(whole) => format!("{whole}.0"),
        None => {
            let text = format!("{number}");
            if text.contains('.') {
                text
            } else {
                format!("{text}.0")
            }
        }
    };
    let places = text.split_once('.').map_or(0, |(_, places)| places.len());
    (places <= 4).then(|| RestrictedExpression::new_decimal(text))
}

/// Returns a field, and the texts and whole numbers of a value at any depth.
fn within(
    value: &Value,
    (name, field): (&str, RestrictedExpression),
) -> Vec<(String, RestrictedExpression)> {
    let mut leaves = Leaves::default();
    leaves.collect(value);
    let integers = leaves
        .integers
        .into_iter()
        .map(RestrictedExpression::new_long);
    vec![
        (name.to_owned(), field),
        ("texts".to_owned(), texts(leaves.texts)),
        (
            "integers".to_owned(),
            RestrictedExpression::new_set(integers),
        ),
    ]
}

#[derive(Default)]
struct Leaves<'v> {
    texts: BTreeSet<&'v str>,
    integers: BTreeSet<i64>,
}

impl<'v> Leaves<'v> {
    fn collect(&mut self, value: &'v Value) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(_) => self.integers.extend(integer(value)),
            Value::String(text) => {
                self.texts.insert(text);
            }
            Value::Array(items) => items.iter().for_each(|item| self.collect(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.collect(field)),
        }
    }
}
