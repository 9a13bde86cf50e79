//! JSON values in the form that the validator reads when its work is counted: each access costs steps of the
//! [`meter`], and once the budget is spent, values appear empty. Must not know schemas.

use std::borrow::Cow;
use std::slice;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object};
use serde_json::{Map, Number, Value};

use super::meter::{self, LONG_DIVISION, is_plain, spend};
use super::sameness;

/// Number of list items, or of bytes of a text, that one step covers if they are only counted.
const LENGTH_UNIT: usize = 64;
/// Number of parts up to which a fault shows a value in full.
const SHOWN_PARTS: usize = 16;
/// Number of characters that a fault shows of a longer text, and of a field's name.
const SHOWN_CHARACTERS: usize = 100;

/// The representation of JSON for the validator.
#[derive(Debug)]
pub(crate) struct Counted;

/// A value, or a part of one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountedValue<'a>(pub(super) &'a Value);

impl Json for Counted {
    type Node<'a> = CountedValue<'a>;
    type PreparedKey = String;
    type StringBuffer = Value;

    const KEYS_PER_LOOKUP: usize = 2;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(
        buffer: &mut Value,
        string: &str,
        f: impl FnOnce(CountedValue<'_>) -> T,
    ) -> T {
        *buffer = Value::String(string.to_owned());
        f(CountedValue(buffer))
    }
}

impl<'a> CountedValue<'a> {
    /// Returns the value if the budget allows an access.
    fn charged_value(self) -> Option<&'a Value> {
        spend(1).then_some(self.0)
    }
}

impl<'a> Node<'a, Counted> for CountedValue<'a> {
    type Object = Fields<'a>;
    type Array = Items<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<Fields<'a>> {
        self.charged_value()?.as_object().map(Fields)
    }

    fn as_array(&self) -> Option<Items<'a>> {
        self.charged_value()?.as_array().map(|items| Items(items))
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        let text = self.charged_value()?.as_str()?;
        // The type remains a string, but text beyond the budget is not read.
        let paid = spend(meter::costs().of_text(text.len()));
        Some(Cow::Borrowed(if paid { text } else { "" }))
    }

    fn as_number(&self) -> Option<&'a Number> {
        let number = self.charged_value()?.as_number()?;
        spend(cost_of(number)).then_some(number)
    }

    fn as_boolean(&self) -> Option<bool> {
        self.charged_value()?.as_bool()
    }

    fn is_null(&self) -> bool {
        self.charged_value().is_some_and(Value::is_null)
    }

    fn is_number(&self) -> bool {
        self.charged_value().is_some_and(Value::is_number)
    }

    fn json_type(&self) -> JsonType {
        // The type is known without reading the value, but the access must count towards the budget.
        spend(1);
        JsonType::from(self.0)
    }

    fn string_length(&self) -> Option<u64> {
        let text = self.charged_value()?.as_str()?;
        let paid = spend((text.len() / LENGTH_UNIT) as u64);
        Some(if paid { text.chars().count() as u64 } else { 0 })
    }

    fn equals_value(&self, expected: &Value) -> bool {
        sameness::are_equal(self.0, expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        if meter::spend_fault() {
            shortened(self.0)
        } else {
            Cow::Owned(Value::Null)
        }
    }

    fn identity(&self) -> Option<NodeIdentity> {
        let items = match self.0 {
            Value::Array(items) if meter::costs().marks_items => items.len(),
            _ => 0,
        };
        spend(1 + (items / LENGTH_UNIT) as u64);
        Some(NodeIdentity::new(std::ptr::from_ref(self.0).addr()))
    }
}

/// The fields of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Object<'a, Counted> for Fields<'a> {
    type Node = CountedValue<'a>;
    type MemberName = &'a str;
    type MembersIter = FieldsIter<'a>;

    fn len(&self) -> usize {
        spend_length(self.0.len());
        self.0.len()
    }

    fn get(&self, key: &String) -> Option<CountedValue<'a>> {
        if !spend(1 + (key.len() / LENGTH_UNIT) as u64) {
            return None;
        }
        self.0.get(key).map(CountedValue)
    }

    fn members(&self) -> FieldsIter<'a> {
        if !meter::is_sorted() {
            return FieldsIter::AsStored(self.0.iter());
        }
        spend_length(self.0.len());
        let mut fields: Vec<(&'a String, &'a Value)> = self.0.iter().collect();
        fields.sort_unstable_by_key(|(name, _)| *name);
        FieldsIter::Sorted(fields.into_iter())
    }
}

/// An iterator over the fields of an object.
#[derive(Debug)]
pub(crate) enum FieldsIter<'a> {
    /// In insertion order.
    AsStored(serde_json::map::Iter<'a>),
    /// In order of name.
    Sorted(std::vec::IntoIter<(&'a String, &'a Value)>),
}

impl<'a> Iterator for FieldsIter<'a> {
    type Item = (&'a str, CountedValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = match self {
            Self::AsStored(fields) => fields.next()?,
            Self::Sorted(fields) => fields.next()?,
        };
        spend(meter::costs().of_name(name.len())).then_some((name.as_str(), CountedValue(value)))
    }
}

/// The items of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Items<'a>(&'a [Value]);

impl<'a> Array<'a, Counted> for Items<'a> {
    type Node = CountedValue<'a>;
    type ElementsIter = ItemsIter<'a>;

    fn len(&self) -> usize {
        spend_length(self.0.len());
        self.0.len()
    }

    fn elements(&self) -> ItemsIter<'a> {
        ItemsIter(self.0.iter())
    }

    fn is_unique(&self) -> bool {
        sameness::all_differ(self.0)
    }
}

/// An iterator over the items of a list.
#[derive(Debug)]
pub(crate) struct ItemsIter<'a>(slice::Iter<'a, Value>);

impl<'a> Iterator for ItemsIter<'a> {
    type Item = CountedValue<'a>;

    fn next(&mut self) -> Option<CountedValue<'a>> {
        let item = self.0.next()?;
        spend(1).then_some(CountedValue(item))
    }
}

/// Charges for the memory that the validator reserves per item or field.
fn spend_length(length: usize) {
    spend((length / LENGTH_UNIT) as u64);
}

/// Returns the cost of reading a number: its reader may be `multipleOf`.
fn cost_of(number: &Number) -> u64 {
    match number.as_f64() {
        Some(size) if number.is_f64() && size != 0.0 => {
            if is_plain(size) {
                meter::costs().fraction
            } else {
                LONG_DIVISION
            }
        }
        Some(_) | None => 1,
    }
}

/// Shortens a value for a fault: there may be many faults, and some are copied with their values.
fn shortened(value: &Value) -> Cow<'_, Value> {
    let mut parts = SHOWN_PARTS;
    if is_small(value, &mut parts) {
        return Cow::Borrowed(value);
    }
    Cow::Owned(match value {
        Value::String(text) => Value::String(text.chars().take(SHOWN_CHARACTERS).collect()),
        Value::Array(_) => Value::Array(Vec::new()),
        Value::Object(fields) => Value::Object(first_names(fields)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}

/// Whether a value has few parts and little text.
fn is_small(value: &Value, left: &mut usize) -> bool {
    let weight = match value {
        Value::String(text) => 1 + text.len() / LENGTH_UNIT,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => 1,
    };
    let Some(rest) = left.checked_sub(weight) else {
        return false;
    };
    *left = rest;
    match value {
        Value::Array(items) => items.iter().all(|item| is_small(item, left)),
        Value::Object(fields) => fields
            .iter()
            .all(|(name, value)| name.len() <= LENGTH_UNIT && is_small(value, left)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// Returns the first field names of an object, sorted, without their values.
fn first_names(fields: &Map<String, Value>) -> Map<String, Value> {
    spend((fields.len()) as u64);
    let mut names: Vec<&String> = fields.keys().collect();
    names.sort_unstable();
    let names = names.into_iter().take(SHOWN_PARTS);
    names
        .map(|name| (name.chars().take(SHOWN_CHARACTERS).collect(), Value::Null))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fault_shows_little_of_a_large_value() {
        let small = json!({"a": [1, "two"], "b": null});
        assert_eq!(shortened(&small).as_ref(), &small);
        assert!(matches!(shortened(&small), Cow::Borrowed(_)));
        let text = json!("ä".repeat(2_000));
        assert_eq!(
            shortened(&text).as_ref(),
            &json!("ä".repeat(SHOWN_CHARACTERS))
        );
        let list: Value = (0..100).collect();
        assert_eq!(shortened(&list).as_ref(), &json!([]));
        let names = (0..100).map(|at| (format!("{at:03}"), json!([at])));
        let object = Value::Object(names.collect());
        let first: Map<String, Value> = (0..16)
            .map(|at| (format!("{at:03}"), Value::Null))
            .collect();
        assert_eq!(shortened(&object).as_ref(), &Value::Object(first));
        // Each part is one level.
        let deep = (0..100).fold(json!(1), |inside, _| json!({ "a": inside }));
        assert_eq!(shortened(&deep).as_ref(), &json!({"a": null}));
    }
}
