//! The properties of an object that a JSON Schema describes, each with the subschemas that describe it. Must not know
//! the meaning of these subschemas, other than that null counts as absent.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::cut::Cutter;
use super::names::FurtherNames;

/// Most subschemas that describe one property.
const MAX_PARTS: usize = 32;
/// Keywords of a property that a parameter expresses without a schema of its own.
const KNOWN_KEYWORDS: [&str; 8] = [
    "type",
    "description",
    "title",
    "default",
    "enum",
    "const",
    "examples",
    "pattern",
];

/// Keywords of alternatives.
pub(super) const CHOICES: [&str; 2] = ["anyOf", "oneOf"];

/// Whether requirements of a subschema apply to every call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Demands {
    Count,
    DoNot,
}

/// The subschemas that describe one property.
#[derive(Clone, Default)]
pub(super) struct Schemas<'s> {
    /// They apply to every call.
    pub(super) always: Vec<&'s Value>,
    /// They apply in some branches of the schema.
    pub(super) sometimes: Vec<&'s Value>,
}

impl<'s> Schemas<'s> {
    pub(super) fn add(&mut self, schema: &'s Value, demands: Demands) {
        let list = match demands {
            Demands::Count => &mut self.always,
            Demands::DoNot => &mut self.sometimes,
        };
        let is_known = list.iter().any(|known| std::ptr::eq(*known, schema));
        if !is_known && list.len() < MAX_PARTS {
            list.push(schema);
        }
    }

    /// Returns the subschemas that determine the parameter: those of branches count only if there are no others.
    pub(super) fn known(&self) -> &[&'s Value] {
        match self.always.as_slice() {
            [] => &self.sometimes,
            always => always,
        }
    }

    /// Whether a parameter without a schema of its own has all the rules.
    pub(super) fn is_plain(&self, has_pattern: bool) -> bool {
        let is_known = |keyword: &String| {
            KNOWN_KEYWORDS.contains(&keyword.as_str()) && (keyword != "pattern" || has_pattern)
        };
        let is_known_but_for_null = |keyword: &String, value: &Value| {
            let choices = value
                .as_array()
                .filter(|_| CHOICES.contains(&keyword.as_str()));
            let other = choices.and_then(|choices| the_other_of_null(choices));
            let other = other.and_then(Value::as_object);
            other.is_some_and(|fields| fields.keys().all(is_known))
        };
        match (self.always.as_slice(), self.sometimes.as_slice()) {
            ([], []) => true,
            ([Value::Object(fields)], _) => fields
                .iter()
                .all(|(keyword, value)| is_known(keyword) || is_known_but_for_null(keyword, value)),
            ([only], _) => only.is_boolean(),
            _ => false,
        }
    }

    pub(super) fn cut(&self, cutter: &mut Cutter<'_>) -> Option<Map<String, Value>> {
        match self.always.as_slice() {
            [] => cutter.cut(&self.sometimes, "anyOf"),
            always => cutter.cut(always, "allOf"),
        }
    }
}

/// The properties of an object.
#[derive(Default)]
pub(super) struct Arguments<'s> {
    pub(super) properties: BTreeMap<&'s str, Schemas<'s>>,
    pub(super) required: BTreeSet<&'s str>,
    pub(super) further: FurtherNames,
}

impl<'s> Arguments<'s> {
    /// Returns the names that are described or required.
    pub(super) fn names(&self) -> impl Iterator<Item = &'s str> {
        let described = self.properties.keys().copied();
        let all: BTreeSet<&'s str> = described.chain(self.required.iter().copied()).collect();
        all.into_iter()
    }

    pub(super) fn property(&self, name: &str) -> Schemas<'s> {
        self.properties.get(name).cloned().unwrap_or_default()
    }

    /// Adds the names that a subschema allows beside its properties.
    pub(super) fn add_further(&mut self, fields: &'s Map<String, Value>) {
        let open = ["additionalProperties", "unevaluatedProperties"];
        let mut open = open.iter().filter_map(|keyword| fields.get(*keyword));
        self.further.any |= open.any(|allowed| *allowed != Value::Bool(false));
        if let Some(Value::Object(patterns)) = fields.get("patternProperties") {
            self.further.patterns.extend(patterns.keys().cloned());
        }
    }
}

/// Returns the schema of two that is not the null schema.
pub(super) fn the_other_of_null(parts: &[Value]) -> Option<&Value> {
    let null = json!({"type": "null"});
    match parts {
        [part, other] if *other == null => Some(part),
        [other, part] if *other == null => Some(part),
        _ => None,
    }
}
