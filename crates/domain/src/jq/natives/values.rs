//! Functions of values of every type.

use jaq_core::native::{bome, unary, v};

use super::Plain;
use crate::jq::value::{Error, Fields, JqValue, Number, Outcome, fault, unfit};

pub(super) fn filters() -> Box<[Plain]> {
    Box::new([
        ("true", v(0), |_| bome(Ok(JqValue::Bool(true)))),
        ("false", v(0), |_| bome(Ok(JqValue::Bool(false)))),
        ("null", v(0), |_| bome(Ok(JqValue::Null))),
        ("not", v(0), |cv| bome(Ok(JqValue::Bool(!cv.1.is_truthy())))),
        ("type", v(0), |cv| bome(Ok(JqValue::text(cv.1.kind())))),
        ("length", v(0), |cv| bome(length(cv.1))),
        ("keys", v(0), |cv| bome(keys(&cv.1, Order::Sorted))),
        ("keys_unsorted", v(0), |cv| bome(keys(&cv.1, Order::Added))),
        ("has", v(1), |cv| unary(cv, |value, key| has(&value, &key))),
        ("contains", v(1), |cv| {
            unary(cv, |value, part| contained(&value, &part))
        }),
        ("indices", v(1), |cv| {
            unary(cv, |value, part| indices(&value, &part))
        }),
        ("reverse", v(0), |cv| bome(reversed(cv.1))),
        ("sort", v(0), |cv| bome(sorted(cv.1))),
        ("bsearch", v(1), |cv| {
            unary(cv, |value, item| searched(&value, &item))
        }),
        ("_flatten", v(1), |cv| {
            unary(cv, |value, levels| flattened(value, &levels))
        }),
        ("tojson", v(0), |cv| {
            bome(Ok(JqValue::text(cv.1.to_string())))
        }),
        ("tostring", v(0), |cv| {
            bome(Ok(jaq_core::ValT::into_string(cv.1)))
        }),
    ])
}

fn length(value: JqValue) -> Outcome {
    match &value {
        JqValue::Null => Ok(JqValue::count(0)),
        JqValue::Number(number) if number.is_negative() => Ok(JqValue::Number(number.negated())),
        JqValue::Number(_) => Ok(value),
        JqValue::Text(text) => Ok(JqValue::count(text.chars().count())),
        JqValue::List(items) => Ok(JqValue::count(items.len())),
        JqValue::Object(fields) => Ok(JqValue::count(fields.len())),
        JqValue::Bool(_) => Err(unfit(&value, "has no length")),
    }
}

/// The order of the keys of an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Sorted,
    Added,
}

fn keys(value: &JqValue, order: Order) -> Outcome {
    match value {
        JqValue::List(items) => Ok((0..items.len()).map(JqValue::count).collect()),
        JqValue::Object(fields) => {
            let mut names: Vec<&str> = fields.keys().map(|name| &**name).collect();
            if order == Order::Sorted {
                names.sort_unstable();
            }
            Ok(names.into_iter().map(JqValue::text).collect())
        }
        JqValue::Null | JqValue::Bool(_) | JqValue::Number(_) | JqValue::Text(_) => {
            Err(unfit(value, "has no keys"))
        }
    }
}

fn has(value: &JqValue, key: &JqValue) -> Outcome {
    let found = match (value, key) {
        (JqValue::Null, _) => false,
        (JqValue::Object(fields), JqValue::Text(name)) => fields.contains_key(name.as_str()),
        (JqValue::List(items), JqValue::Number(index)) => {
            let index = index
                .truncated()
                .and_then(|index| usize::try_from(index).ok());
            index.is_some_and(|index| index < items.len())
        }
        (value, key) => {
            return Err(fault(format!(
                "Cannot check whether {} has a {} key",
                value.kind(),
                key.kind()
            )));
        }
    };
    Ok(JqValue::Bool(found))
}

fn contained(value: &JqValue, part: &JqValue) -> Outcome {
    if value.kind() != part.kind() {
        return Err(fault(format!(
            "{} and {} cannot have their containment checked",
            value.described(),
            part.described()
        )));
    }
    Ok(JqValue::Bool(contains(value, part)))
}

fn contains(value: &JqValue, part: &JqValue) -> bool {
    match (value, part) {
        (JqValue::Text(text), JqValue::Text(part)) => text.contains(part.as_str()),
        (JqValue::List(items), JqValue::List(parts)) => {
            let mut parts = parts.iter();
            parts.all(|part| items.iter().any(|item| contains(item, part)))
        }
        (JqValue::Object(fields), JqValue::Object(parts)) => {
            let mut parts = parts.iter();
            parts.all(|(name, part)| fields.get(name).is_some_and(|field| contains(field, part)))
        }
        (value, part) => value == part,
    }
}

/// Returns the positions of a text in a text, or of an element or a list in a list.
fn indices(value: &JqValue, part: &JqValue) -> Outcome {
    match (value, part) {
        (JqValue::Text(text), JqValue::Text(part)) => Ok(occurrences(text, part)),
        (JqValue::List(_), JqValue::List(_)) => value.at(part),
        (JqValue::List(items), part) => {
            let found = items.iter().enumerate().filter(|(_, item)| *item == part);
            Ok(found.map(|(at, _)| JqValue::count(at)).collect())
        }
        (value, part) => value.at(part),
    }
}

/// Returns the positions of a text in another, including overlaps, in characters.
fn occurrences(text: &str, part: &str) -> JqValue {
    if part.is_empty() {
        return JqValue::list(Vec::new());
    }
    let found = text.char_indices().enumerate();
    let found =
        found.filter(|(_, (at, _))| text.get(*at..).is_some_and(|rest| rest.starts_with(part)));
    found.map(|(at, _)| JqValue::count(at)).collect()
}

fn reversed(value: JqValue) -> Outcome {
    match value {
        JqValue::List(items) => Ok(items.iter().rev().cloned().collect()),
        JqValue::Null => Ok(JqValue::list(Vec::new())),
        JqValue::Text(text) if text.is_empty() => Ok(JqValue::list(Vec::new())),
        JqValue::Object(fields) if fields.is_empty() => Ok(JqValue::list(Vec::new())),
        other => Err(unfit(&other, "cannot be reversed, as it is not an array")),
    }
}

/// The elements of a list.
fn items(value: JqValue) -> Result<Vec<JqValue>, Error> {
    match value {
        JqValue::List(items) => Ok(std::rc::Rc::unwrap_or_clone(items)),
        other => Err(unfit(&other, "cannot be sorted, as it is not an array")),
    }
}

fn sorted(value: JqValue) -> Outcome {
    let mut items = items(value)?;
    items.sort();
    Ok(JqValue::list(items))
}

fn searched(value: &JqValue, item: &JqValue) -> Outcome {
    let JqValue::List(items) = value else {
        return Err(unfit(value, "cannot be searched from"));
    };
    Ok(match items.binary_search(item) {
        Ok(at) => JqValue::count(at),
        Err(at) => JqValue::Number(Number::Int(-1).minus(&index(at))),
    })
}

fn index(at: usize) -> Number {
    Number::from(i64::try_from(at).unwrap_or(i64::MAX))
}

/// Flattens a list by this number of levels, or completely if the number is negative.
fn flattened(value: JqValue, levels: &JqValue) -> Outcome {
    let JqValue::Number(levels) = levels else {
        return Err(unfit(levels, "is no depth"));
    };
    let mut flat = Vec::new();
    flatten(
        value.elements()?,
        levels.truncated().unwrap_or(-1),
        &mut flat,
    );
    Ok(JqValue::list(flat))
}

fn flatten(items: Vec<JqValue>, levels: i64, flat: &mut Vec<JqValue>) {
    for item in items {
        match item {
            JqValue::List(items) if levels != 0 => {
                let items = std::rc::Rc::unwrap_or_clone(items);
                flatten(items, levels.saturating_sub(1), flat);
            }
            other => flat.push(other),
        }
    }
}

/// Creates an object with these fields.
pub(super) fn object<const N: usize>(fields: [(&str, JqValue); N]) -> JqValue {
    let fields = fields.map(|(name, value)| (name.into(), value));
    JqValue::object(Fields::from_iter(fields))
}
