//! Cuts the schema of one property out of a larger schema, with the definitions that it refers to. Must not know the
//! meaning of keywords other than references.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::bounds::SCHEMA_TEXT;

/// Memory of one value of a schema, in bytes, estimated.
const VALUE_BYTES: usize = 64;
/// Names of the keywords that hold definitions.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];
/// Keywords that name schemas, or refer to them by name. A part with them has another meaning elsewhere.
const NAMED: [&str; 6] = [
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$recursiveAnchor",
    "$recursiveRef",
];

/// Cuts schemas out of one schema. All copies together are bounded.
pub(super) struct Cutter<'s> {
    root: &'s Map<String, Value>,
    left: usize,
}

impl<'s> Cutter<'s> {
    pub(super) fn new(root: &'s Map<String, Value>) -> Self {
        Self {
            root,
            left: SCHEMA_TEXT,
        }
    }

    /// Returns the schema of a property with these schemas, combined by `keyword` if there are several. `None` if a
    /// part refers to something other than a definition, or the copies would become too large.
    pub(super) fn cut(&mut self, parts: &[&Value], keyword: &str) -> Option<Map<String, Value>> {
        let mut used = References::default();
        let mut left = self.left;
        for part in parts {
            used.collect(part, &mut left)?;
        }
        let mut schema = match parts {
            [Value::Object(only)] => only.clone(),
            several => Map::from_iter([(keyword.to_owned(), json!(several))]),
        };
        if DEFINITIONS.iter().any(|name| schema.contains_key(*name)) {
            return None;
        }
        let mut definitions: Map<String, Value> = Map::new();
        let mut copied: BTreeSet<(&'static str, String)> = BTreeSet::new();
        while let Some((holder, name)) = used.waiting.pop() {
            if !copied.insert((holder, name.clone())) {
                continue;
            }
            let definition = self.root.get(holder)?.get(&name)?;
            used.collect(definition, &mut left)?;
            let held = definitions.entry(holder).or_insert_with(|| json!({}));
            held.as_object_mut()?.insert(name, definition.clone());
        }
        schema.extend(definitions);
        if let Some(draft) = self.root.get("$schema") {
            schema.insert("$schema".to_owned(), draft.clone());
        }
        self.left = left;
        Some(schema)
    }
}

/// The definitions that parts of a schema refer to.
#[derive(Default)]
struct References {
    waiting: Vec<(&'static str, String)>,
}

impl References {
    /// Collects references; `None` at the first that leads to something other than a definition, or when `left`, the
    /// memory for copies, is used up.
    fn collect(&mut self, value: &Value, left: &mut usize) -> Option<()> {
        *left = left.checked_sub(VALUE_BYTES)?;
        match value {
            Value::Object(fields) => fields.iter().try_for_each(|(keyword, value)| {
                *left = left.checked_sub(keyword.len())?;
                if NAMED.contains(&keyword.as_str()) {
                    return None;
                }
                if keyword == "$ref" {
                    self.waiting.push(definition(value.as_str()?)?);
                }
                self.collect(value, left)
            }),
            Value::Array(items) => items.iter().try_for_each(|item| self.collect(item, left)),
            Value::String(text) => {
                *left = left.checked_sub(text.len())?;
                Some(())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Some(()),
        }
    }
}

/// Returns the definition that a reference leads into.
fn definition(reference: &str) -> Option<(&'static str, String)> {
    let path = reference.strip_prefix("#/")?;
    let mut segments = path.split('/');
    let (holder, name) = (segments.next()?, segments.next()?);
    let holder = DEFINITIONS.into_iter().find(|known| *known == holder)?;
    let name = name.replace("~1", "/").replace("~0", "~");
    (!name.contains('%')).then_some((holder, name))
}
