//! Translates the schemas of API descriptions (OpenAPI 3.0 and 3.1, Swagger 2.0) to JSON Schema 2020-12, within bounds.
//!
//! References are replaced by their targets. A part that is too deep, that repeats itself or that cannot be found
//! accepts every value. Keywords that are malformed, or that only restrict further (`not`, `if`), are left out: the API
//! checks what it receives. Must not know operations.

mod keywords;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use charter_contract::bounds::{IMPORT_REFERENCE_CHAIN, IMPORT_SCHEMA_LEVELS, IMPORT_STEPS};
use serde_json::{Map, Value, json};

use crate::documents::{DocumentSet, Part, REFERENCE, Target};
use keywords::{add_null, annotations, merged_all_of, restrictions, without_null};

/// The use of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Values that are sent: what the API only reads is left out.
    Input,
    /// As [`Self::Input`], in a body of parts: a binary value is a file.
    Parts,
    /// Values that are received. Descriptions of APIs are often stricter than the APIs, so only types and names are
    /// kept, and every value may be absent or null.
    Output,
}

/// All schemas of an import have used up the work that is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the schemas up to here take more work than the limit IMPORT_STEPS, {IMPORT_STEPS}")]
pub(crate) struct StepsExceeded;

/// Translates schemas, and counts the work.
#[derive(Debug)]
pub(crate) struct SchemaTranslator<'d> {
    documents: &'d DocumentSet,
    steps: Cell<usize>,
    /// Problems of the schemas that were translated since the notes were last taken.
    notes: RefCell<BTreeSet<String>>,
    /// Regular expressions that were compiled, and whether they can be used.
    patterns: RefCell<BTreeMap<String, bool>>,
}

/// Regular expressions of one import that are compiled; further ones are left out.
const MAX_PATTERNS: usize = 2_000;

/// The nesting of the attempts to translate a schema, from flat to deep.
const ATTEMPTS: [usize; 7] = [1, 2, 3, 4, 6, 9, IMPORT_SCHEMA_LEVELS];

impl<'d> SchemaTranslator<'d> {
    pub(crate) fn new(documents: &'d DocumentSet) -> Self {
        Self {
            documents,
            steps: Cell::new(IMPORT_STEPS),
            notes: RefCell::default(),
            patterns: RefCell::default(),
        }
    }

    /// Whether a regular expression can be used here.
    fn is_usable(&self, pattern: &str) -> bool {
        let mut patterns = self.patterns.borrow_mut();
        if let Some(known) = patterns.get(pattern) {
            return *known;
        }
        if patterns.len() >= MAX_PATTERNS {
            return false;
        }
        let usable = keywords::is_usable_pattern(pattern);
        patterns.insert(pattern.to_owned(), usable);
        usable
    }

    /// Returns the notes since the last call.
    pub(crate) fn take_notes(&self) -> BTreeSet<String> {
        self.notes.take()
    }

    /// Translates a schema with at most `most_values` values: as deep as it fits, and every part to the same depth.
    pub(crate) fn translate(
        &self,
        schema: Part<'d>,
        direction: Direction,
        most_values: usize,
    ) -> Result<Map<String, Value>, StepsExceeded> {
        let mut best = Map::new();
        for levels in ATTEMPTS {
            let mut attempt = Attempt {
                translator: self,
                direction,
                levels,
                values_left: most_values,
                trail: Vec::new(),
                is_cut: false,
            };
            match attempt.schema(schema, 0) {
                Ok(translated) => {
                    best = object(translated);
                    if !attempt.is_cut {
                        break;
                    }
                }
                Err(Stop::Values) => {
                    self.note("a schema is larger than an import keeps; its inner parts accept every value");
                    break;
                }
                Err(Stop::Steps) => return Err(StepsExceeded),
            }
        }
        Ok(best)
    }

    fn note(&self, note: impl Into<String>) {
        self.notes.borrow_mut().insert(note.into());
    }
}

/// The reason why an attempt ends.
#[derive(Debug, Clone, Copy)]
enum Stop {
    Values,
    Steps,
}

/// One translation of a schema to a fixed depth.
struct Attempt<'t, 'd> {
    translator: &'t SchemaTranslator<'d>,
    direction: Direction,
    levels: usize,
    values_left: usize,
    /// The references that lead to the current part.
    trail: Vec<Target>,
    /// Whether a part was too deep.
    is_cut: bool,
}

impl<'d> Attempt<'_, 'd> {
    fn schema(&mut self, part: Part<'d>, level: usize) -> Result<Value, Stop> {
        self.count(1)?;
        let Some(fields) = part.value.as_object() else {
            return Ok(match part.value {
                Value::Bool(false) => Value::Bool(false),
                _ => json!({}),
            });
        };
        if let Some(reference) = fields.get(REFERENCE).and_then(Value::as_str) {
            return self.reference(part, reference, level);
        }
        let mut written = self.plain(part)?;
        if level >= self.levels {
            self.is_cut |= has_parts(fields);
            return Ok(Value::Object(written));
        }
        self.parts(part, level, &mut written)?;
        if part.is_true("nullable") {
            add_null(&mut written);
        }
        Ok(Value::Object(written))
    }

    /// The keywords without subschemas.
    fn plain(&mut self, part: Part<'d>) -> Result<Map<String, Value>, Stop> {
        let mut written = Map::new();
        if self.direction == Direction::Parts && keywords::is_binary(part) {
            written = file_schema();
            if let Some(description) = keywords::description(part) {
                written.insert("description".to_owned(), description.into());
            }
            self.count(written.len() + 8)?;
            return Ok(written);
        }
        keywords::put_types(part, &mut written);
        annotations(part, self.direction, &mut written);
        if self.direction != Direction::Output {
            restrictions(
                part,
                |pattern| self.translator.is_usable(pattern),
                &mut written,
            );
        }
        let lists = written.values().filter_map(Value::as_array).map(Vec::len);
        self.count(written.len() + lists.sum::<usize>())?;
        Ok(written)
    }

    /// The keywords with subschemas.
    fn parts(
        &mut self,
        part: Part<'d>,
        level: usize,
        written: &mut Map<String, Value>,
    ) -> Result<(), Stop> {
        self.properties(part, level, written)?;
        if let Some(items) = part.member("items") {
            let items = match items.value {
                // A list of schemas is the form of older drafts for the first items.
                Value::Array(_) => json!({}),
                _ => self.schema(items, level + 1)?,
            };
            written.insert("items".to_owned(), items);
        }
        match part.member("additionalProperties") {
            Some(further) if further.value.is_object() => {
                let further = self.schema(further, level + 1)?;
                written.insert("additionalProperties".to_owned(), further);
            }
            Some(further)
                if further.value == &Value::Bool(false) && self.direction != Direction::Output =>
            {
                written.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
            Some(_) | None => {}
        }
        for keyword in ["oneOf", "anyOf"] {
            let Some(choices) = part.member(keyword) else {
                continue;
            };
            let mut translated = Vec::new();
            for choice in choices.items() {
                translated.push(self.schema(choice, level + 1)?);
            }
            if !translated.is_empty() {
                // A value that fits two choices is for the API to judge.
                written.insert("anyOf".to_owned(), translated.into());
            }
        }
        if let Some(all) = part.member("allOf") {
            let mut translated = Vec::new();
            for each in all.items() {
                translated.push(self.schema(each, level + 1)?);
            }
            merged_all_of(translated, written);
            if self.direction != Direction::Output {
                self.require_of_all(part, all, written);
            }
        }
        Ok(())
    }

    /// Requires the properties that any of the merged schemas requires, also one that another of them describes.
    fn require_of_all(&self, part: Part<'d>, all: Part<'d>, written: &mut Map<String, Value>) {
        let mut required: BTreeSet<&str> = part.texts("required").collect();
        for each in all.items() {
            if let Ok(each) = self.translator.documents.follow(each) {
                required.extend(each.texts("required"));
            }
        }
        let properties = written.get("properties").and_then(Value::as_object);
        required.retain(|name| properties.is_some_and(|known| known.contains_key(*name)));
        if !required.is_empty() {
            written.insert("required".to_owned(), json!(required));
        }
    }

    fn properties(
        &mut self,
        part: Part<'d>,
        level: usize,
        written: &mut Map<String, Value>,
    ) -> Result<(), Stop> {
        let Some(properties) = part.member("properties") else {
            return Ok(());
        };
        let mut translated = Map::new();
        for (name, property) in properties.members() {
            let is_hidden = match self.direction {
                Direction::Input | Direction::Parts => property.is_true("readOnly"),
                Direction::Output => property.is_true("writeOnly"),
            };
            if is_hidden {
                continue;
            }
            let mut schema = self.schema(property, level + 1)?;
            if self.direction == Direction::Output
                && let Some(schema) = schema.as_object_mut()
            {
                add_null(schema);
            }
            translated.insert(name.to_owned(), schema);
        }
        if self.direction != Direction::Output {
            let required = part.texts("required");
            let required = required.filter(|name| translated.contains_key(*name));
            let required: BTreeSet<&str> = required.collect();
            if !required.is_empty() {
                self.count(required.len())?;
                written.insert("required".to_owned(), json!(required));
            }
        }
        if !translated.is_empty() {
            written.insert("properties".to_owned(), Value::Object(translated));
        }
        Ok(())
    }

    fn reference(&mut self, part: Part<'d>, reference: &str, level: usize) -> Result<Value, Stop> {
        let (target, found) = match self.translator.documents.target(part.document, reference) {
            Ok(found) => found,
            Err(error) => {
                self.translator
                    .note(format!("a reference was not followed: {error}"));
                return Ok(json!({}));
            }
        };
        if self.trail.contains(&target) {
            self.translator.note(format!(
                "the schema `{reference}` contains itself; the inner one accepts every value"
            ));
            return Ok(json!({ "description": "The same again, nested." }));
        }
        if self.trail.len() >= IMPORT_REFERENCE_CHAIN {
            self.is_cut = true;
            return Ok(json!({}));
        }
        self.trail.push(target);
        let translated = self.schema(found, level);
        self.trail.pop();
        let Value::Object(mut written) = translated? else {
            return Ok(json!({}));
        };
        // Siblings of a reference describe its use.
        if let Some(description) = keywords::description(part) {
            written.insert("description".to_owned(), description.into());
        }
        if part.is_true("nullable") {
            add_null(&mut written);
        }
        Ok(Value::Object(written))
    }

    fn count(&mut self, values: usize) -> Result<(), Stop> {
        let steps = &self.translator.steps;
        let left = steps.get().checked_sub(values).ok_or(Stop::Steps)?;
        steps.set(left);
        self.values_left = self.values_left.checked_sub(values).ok_or(Stop::Values)?;
        Ok(())
    }
}

/// Whether a schema has subschemas that are translated.
fn has_parts(fields: &Map<String, Value>) -> bool {
    let keywords = [
        "properties",
        "items",
        "additionalProperties",
        "oneOf",
        "anyOf",
        "allOf",
    ];
    keywords.iter().any(|keyword| fields.contains_key(*keyword))
}

/// A file in a body of parts, as HTTP tools send it.
fn file_schema() -> Map<String, Value> {
    let schema = json!({
        "type": "object",
        "properties": {
            "filename": { "type": "string" },
            "text": { "type": "string", "description": "The content, if it is text" },
            "base64": { "type": "string", "description": "The content in base64" },
            "content_type": { "type": "string" },
        },
    });
    object(schema)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}

/// Returns the types of a translated schema, without `null`.
pub(crate) fn value_types(schema: &Map<String, Value>) -> Vec<&str> {
    without_null(schema)
}

#[cfg(test)]
mod tests;
