//! Renders tool outputs for people: the number of items, a table of the most informative columns, and a short form of
//! nested values. The layout follows the value's shape, and the tool's declared schema if there is one. Every part is
//! bounded; omitted parts are counted.

mod brief;
mod columns;
mod table;

use charter_contract::foreign_schema::ForeignSchema;
use serde_json::{Map, Value};

use self::brief::{brief, brief_field, plain};
use self::table::table;

/// The maximum number of lists in one output that are shown as tables.
const TABLES: usize = 3;
/// The maximum number of fields in one output that are shown beside its lists.
const FIELDS: usize = 20;
/// The maximum number of characters of such a field.
const FIELD: usize = 120;
/// The maximum number of values that are shown of a list without fields.
const VALUES: usize = 20;

/// Renders an output as lines of text, under the name of the request that it answers.
#[must_use]
pub fn outline(name: &str, output: &Value, schema: Option<&ForeignSchema>) -> String {
    let schema = schema.map(ForeignSchema::json);
    let name = plain(name);
    let name = name.trim_end_matches(['.', ':']);
    match output {
        Value::Array(items) => list(name, items, schema),
        Value::Object(fields) => object(name, fields, schema),
        Value::Null => format!("{name}: nothing."),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            format!("{name}: {}", brief(output, FIELD))
        }
    }
}

/// Renders a list: a table of its objects, or its values in a row.
fn list(name: &str, items: &[Value], schema: Option<&Map<String, Value>>) -> String {
    let count = counted(items.len());
    if items.is_empty() {
        return format!("{name}: {count}.");
    }
    let items_schema = schema.and_then(|schema| schema.get("items")?.as_object());
    if let Some(table) = table(items, items_schema) {
        return format!("{name}: {count}.\n\n{table}");
    }
    let shown = items.iter().take(VALUES);
    let shown: Vec<String> = shown.map(|item| brief(item, FIELD)).collect();
    let more = match items.len().saturating_sub(VALUES) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!("{name}: {count}: {}{more}", shown.join(", "))
}

/// Renders an object: its fields in a row, and each list of objects as a table.
fn object(name: &str, fields: &Map<String, Value>, schema: Option<&Map<String, Value>>) -> String {
    let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
    let ordered = in_order(fields, properties);
    let is_table = |value: &Value| {
        let items = value.as_array();
        items.is_some_and(|items| items.iter().any(Value::is_object))
    };
    let (lists, others): (Vec<_>, Vec<_>) =
        ordered.into_iter().partition(|(_, value)| is_table(value));
    let others: Vec<&(&str, &Value)> = others
        .iter()
        .filter(|(_, value)| says(value) || is_none(value))
        .collect();
    let mut parts = Vec::new();
    let shown = others.iter().take(FIELDS);
    let shown: Vec<String> = shown
        .map(|(key, value)| match is_none(value) {
            true => none_of(key),
            false => format!("{} {}", plain(key), brief_field(value, FIELD)),
        })
        .collect();
    let mut head = name.to_owned();
    match (shown.is_empty(), lists.is_empty()) {
        (true, true) => head.push_str(": nothing."),
        (true, false) => head.push(':'),
        (false, _) => head.push_str(&format!(": {}", shown.join(", "))),
    }
    if let Some(more @ 1..) = others.len().checked_sub(FIELDS) {
        head.push_str(&format!(", and {more} more fields"));
    }
    parts.push(head);
    for (key, value) in lists.iter().take(TABLES) {
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let schema = properties.and_then(|properties| properties.get(*key)?.as_object());
        parts.push(list(&plain(key), items, schema));
    }
    for (key, value) in lists.iter().skip(TABLES) {
        let count = counted(value.as_array().map_or(0, Vec::len));
        parts.push(format!("{}: {count}.", plain(key)));
    }
    parts.join("\n\n")
}

/// Returns the fields; those that the schema declares come first, in its order.
fn in_order<'v>(
    fields: &'v Map<String, Value>,
    declared: Option<&Map<String, Value>>,
) -> Vec<(&'v str, &'v Value)> {
    let places: Vec<&str> = declared
        .into_iter()
        .flat_map(|declared| declared.keys().map(String::as_str))
        .collect();
    let place = |name: &str| {
        let known = places.iter().position(|known| *known == name);
        known.unwrap_or(places.len())
    };
    let mut ordered: Vec<(&str, &Value)> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), value))
        .collect();
    ordered.sort_by_key(|(name, _)| place(name));
    ordered
}

/// Returns whether a value carries information.
fn says(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

/// Returns whether a value is an empty list, which is a result too.
fn is_none(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty)
}

fn none_of(name: &str) -> String {
    format!("no {}", plain(name))
}

fn counted(count: usize) -> String {
    match count {
        0 => "no items".to_owned(),
        1 => "1 item".to_owned(),
        count => format!("{count} items"),
    }
}

#[cfg(test)]
mod tests;
