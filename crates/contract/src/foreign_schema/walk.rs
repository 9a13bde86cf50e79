//! Collects the subschemas of a schema and resolves its references. Must not know their cost.

use std::collections::{BTreeSet, HashMap, VecDeque};

use serde_json::{Map, Value};

use super::fault::{CONSTANTS, POINTER, REFERENCES, SUBSCHEMAS, SchemaFault};
use super::keywords::{Applies, DYNAMIC, Holder, holder, is_data};
use crate::schema::is_plain;

/// Weight of a compiled subschema, in parts.
const SUBSCHEMA_PARTS: usize = 8;
/// Weight of a name or a value in a schema, in parts.
const VALUE_PARTS: usize = 4;
/// Memory of one value of a schema, in bytes, estimated.
const VALUE_BYTES: usize = 128;
/// Maximum length of a reference in a message, in characters.
const MAX_QUOTED: usize = 200;

/// Drafts that ignore the siblings of a reference.
const REFERENCES_STAND_ALONE: [&str; 3] = ["draft-04", "draft-06", "draft-07"];

/// A subschema inside another.
#[derive(Debug, Clone, Copy)]
pub(super) struct NestedSubschema {
    /// Index of the subschema.
    pub(super) at: usize,
    pub(super) applies: Applies,
    /// Whether `unevaluatedProperties` and `unevaluatedItems` compile it again.
    pub(super) marked: bool,
}

/// A subschema.
#[derive(Debug)]
pub(super) struct Subschema {
    pub(super) pointer: String,
    pub(super) parts: Vec<NestedSubschema>,
    /// Index of the subschema that it refers to.
    pub(super) reference: Option<usize>,
    /// Weight without nested subschemas, in parts.
    pub(super) weight: usize,
    /// Number of name patterns.
    pub(super) name_patterns: usize,
    /// Number of `unevaluatedProperties` and `unevaluatedItems` keywords.
    pub(super) unevaluated: usize,
    /// Index of the subschema that `#` refers to.
    resource: usize,
}

/// The aspects of a schema that determine the cost of validation.
#[derive(Debug)]
pub(super) struct Structure<'s> {
    /// Every subschema; the first is the schema itself.
    pub(super) subschemas: Vec<Subschema>,
    pub(super) patterns: BTreeSet<&'s str>,
    /// Whether numbers may be divided by one of a very different size.
    pub(super) divides_unevenly: bool,
    /// Whether `unevaluatedItems` iterates over lists.
    pub(super) marks_items: bool,
    /// Memory of the largest subschema under `not`, which each of its faults holds.
    pub(super) largest_not: usize,
    /// The keyword for a schema's id in its draft.
    pub(super) id: &'static str,
}

impl<'s> Structure<'s> {
    /// Reads a schema of limited size.
    pub(super) fn parse(root: &'s Value) -> Result<Self, SchemaFault> {
        let mut walk = Walk::new(root);
        walk.add(root, String::new(), 0)?;
        while let Some((from, reference)) = walk.references.pop_front() {
            let target = walk.target(from, reference)?;
            walk.structure.subschemas[from].reference = Some(target);
        }
        Ok(walk.structure)
    }
}

struct Walk<'s> {
    root: &'s Value,
    structure: Structure<'s>,
    by_pointer: HashMap<String, usize>,
    by_id: HashMap<&'s str, usize>,
    by_anchor: HashMap<(usize, &'s str), usize>,
    /// References that are not resolved yet.
    references: VecDeque<(usize, &'s str)>,
    referred: usize,
    references_stand_alone: bool,
}

impl<'s> Walk<'s> {
    fn new(root: &'s Value) -> Self {
        let draft = root
            .get("$schema")
            .and_then(Value::as_str)
            .unwrap_or_default();
        Self {
            root,
            structure: Structure {
                subschemas: Vec::new(),
                patterns: BTreeSet::new(),
                divides_unevenly: false,
                marks_items: false,
                largest_not: 0,
                id: if draft.contains("draft-04") {
                    "id"
                } else {
                    "$id"
                },
            },
            by_pointer: HashMap::new(),
            by_id: HashMap::new(),
            by_anchor: HashMap::new(),
            references: VecDeque::new(),
            referred: 0,
            references_stand_alone: REFERENCES_STAND_ALONE
                .iter()
                .any(|known| draft.contains(known)),
        }
    }

    fn add(
        &mut self,
        schema: &'s Value,
        pointer: String,
        resource: usize,
    ) -> Result<usize, SchemaFault> {
        let at = self.structure.subschemas.len();
        POINTER.check(pointer.len(), "")?;
        SUBSCHEMAS.check(at + 1, "")?;
        self.by_pointer.insert(pointer.clone(), at);
        self.structure.subschemas.push(Subschema {
            pointer,
            parts: Vec::new(),
            reference: None,
            weight: SUBSCHEMA_PARTS,
            name_patterns: 0,
            unevaluated: 0,
            resource,
        });
        if let Value::Object(fields) = schema {
            self.add_fields(at, fields)?;
        }
        Ok(at)
    }

    fn add_fields(&mut self, at: usize, fields: &'s Map<String, Value>) -> Result<(), SchemaFault> {
        let pointer = self.structure.subschemas[at].pointer.clone();
        if let Some(keyword) = DYNAMIC
            .iter()
            .find(|keyword| fields.contains_key(**keyword))
        {
            let what = format!("uses `{keyword}`, which is not supported here: use `$ref`");
            return Err(SchemaFault::unsupported(&pointer, what));
        }
        let reference = fields.get("$ref").and_then(Value::as_str);
        if let Some(reference) = reference {
            self.referred += 1;
            REFERENCES.check(self.referred, &pointer)?;
            self.references.push_back((at, reference));
        }
        if reference.is_none() || !self.references_stand_alone {
            self.name(at, fields);
        }
        for (keyword, value) in fields {
            match holder(keyword) {
                Some(holder) => self.add_subschemas(at, &pointer, keyword, holder, value)?,
                None => self.add_keyword(at, keyword, value),
            }
        }
        Ok(())
    }

    /// Records the names by which references can find a subschema.
    fn name(&mut self, at: usize, fields: &'s Map<String, Value>) {
        let text = |keyword: &str| fields.get(keyword).and_then(Value::as_str);
        let id = text(self.structure.id);
        let anchor_id = id
            .and_then(|id| id.strip_prefix('#'))
            .filter(|anchor| !anchor.is_empty());
        if let Some(id) = id.filter(|_| anchor_id.is_none()) {
            self.structure.subschemas[at].resource = at;
            self.by_id.insert(without_fragment(id), at);
        }
        let resource = self.structure.subschemas[at].resource;
        for anchor in [anchor_id, text("$anchor")].into_iter().flatten() {
            self.by_anchor.insert((resource, anchor), at);
        }
    }

    fn add_subschemas(
        &mut self,
        at: usize,
        pointer: &str,
        keyword: &'s str,
        holder: Holder,
        value: &'s Value,
    ) -> Result<(), SchemaFault> {
        let found = holder.subschemas(keyword, value);
        if holder.applies == Applies::Here {
            let constants = found.iter().filter(|(_, schema)| schema.is_boolean());
            CONSTANTS.check(constants.count(), pointer)?;
        }
        let structure = &mut self.structure;
        let subschema = &mut structure.subschemas[at];
        let resource = subschema.resource;
        subschema.weight += VALUE_PARTS * (found.len() + names_in(value));
        match keyword {
            "patternProperties" => {
                let patterns = value.as_object().into_iter().flatten();
                structure
                    .patterns
                    .extend(patterns.map(|(pattern, _)| pattern.as_str()));
                subschema.name_patterns += found.len();
            }
            "not" => structure.largest_not = structure.largest_not.max(bytes_of(value)),
            "unevaluatedProperties" => subschema.unevaluated += 1,
            "unevaluatedItems" => {
                subschema.unevaluated += 1;
                structure.marks_items = true;
            }
            _ => {}
        }
        for (suffix, schema) in found {
            let part = self.add(schema, format!("{pointer}{suffix}"), resource)?;
            self.structure.subschemas[at].parts.push(NestedSubschema {
                at: part,
                applies: holder.applies,
                marked: holder.marked,
            });
        }
        Ok(())
    }

    fn add_keyword(&mut self, at: usize, keyword: &str, value: &'s Value) {
        self.structure.subschemas[at].weight += VALUE_PARTS * values_in(value);
        match (keyword, value) {
            ("pattern", Value::String(pattern)) => {
                self.structure.patterns.insert(pattern);
            }
            ("multipleOf", Value::Number(number)) => {
                self.structure.divides_unevenly |= !number.as_f64().is_some_and(is_plain);
            }
            _ => {}
        }
    }

    fn target(&mut self, from: usize, reference: &'s str) -> Result<usize, SchemaFault> {
        let quoted: String = reference.chars().take(MAX_QUOTED).collect();
        let pointer = self.structure.subschemas[from].pointer.clone();
        let unfit = |why: &str| {
            SchemaFault::unsupported(&pointer, format!("refers to `{quoted}`, which {why}"))
        };
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = if uri.is_empty() {
            self.structure.subschemas[from].resource
        } else {
            let known = self.by_id.get(uri).copied();
            known.ok_or_else(|| unfit("is outside of the schema: copy it to `$defs`"))?
        };
        let nowhere = || unfit("does not exist: correct the reference");
        let fragment = decoded(fragment).ok_or_else(nowhere)?;
        if fragment.is_empty() {
            return Ok(resource);
        }
        if !fragment.starts_with('/') {
            let known = self.by_anchor.get(&(resource, fragment.as_str()));
            return known.copied().ok_or_else(nowhere);
        }
        let wanted = format!("{}{fragment}", self.structure.subschemas[resource].pointer);
        POINTER.check(wanted.len(), &pointer)?;
        if let Some(known) = self.by_pointer.get(&wanted) {
            return Ok(*known);
        }
        // A subschema under an unknown keyword, such as `components`.
        let (inside, keyword) = self.enclosing(&wanted);
        let schema = self.root.pointer(&wanted).ok_or_else(nowhere)?;
        if is_data(keyword) || !(schema.is_object() || schema.is_boolean()) {
            return Err(unfit("is data, not a schema: refer to a schema"));
        }
        let resource = self.structure.subschemas[inside].resource;
        self.add(schema, wanted, resource)
    }

    /// Returns the last known subschema on the path of a pointer, and the keyword at which the pointer leaves it.
    fn enclosing<'p>(&self, pointer: &'p str) -> (usize, &'p str) {
        for (at, _) in pointer.rmatch_indices('/') {
            if let Some(known) = self.by_pointer.get(&pointer[..at]) {
                let keyword = pointer[at + 1..].split('/').next();
                return (*known, keyword.unwrap_or_default());
            }
        }
        (0, "")
    }
}

fn without_fragment(uri: &str) -> &str {
    uri.split_once('#').map_or(uri, |(uri, _)| uri)
}

/// Decodes the percent escapes of a reference's fragment.
fn decoded(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            let digits = std::str::from_utf8(digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = after;
        } else {
            bytes.push(*byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Counts names in lists in place of subschemas, as in `dependencies`.
fn names_in(value: &Value) -> usize {
    let lists = value.as_object().into_iter().flatten();
    lists
        .filter_map(|(_, list)| list.as_array().map(Vec::len))
        .sum()
}

/// Counts a value and all nested values.
fn values_in(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(values_in).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(values_in).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

/// Estimates the memory of a value, in bytes.
fn bytes_of(value: &Value) -> usize {
    VALUE_BYTES
        + match value {
            Value::Array(items) => items.iter().map(bytes_of).sum(),
            Value::Object(fields) => fields
                .iter()
                .map(|(name, value)| name.len() + bytes_of(value))
                .sum(),
            Value::String(text) => text.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the pointer of each referring subschema and the pointer of its target.
    fn references(schema: &Value) -> Vec<(String, String)> {
        let structure = Structure::parse(schema).unwrap();
        let found = structure.subschemas.iter().filter_map(|subschema| {
            let target = structure.subschemas[subschema.reference?].pointer.clone();
            Some((subschema.pointer.clone(), target))
        });
        found.collect()
    }

    fn refers(schema: &Value, from: &str, to: &str) {
        let expected = [(from.to_owned(), to.to_owned())];
        assert_eq!(references(schema), expected, "{schema}");
    }

    #[test]
    fn references_lead_to_subschemas_by_pointer_anchor_and_id() {
        let at = |reference: &str| {
            json!({"$id": "https://a.example/s", "items": {"$ref": reference},
            "$defs": {"a b": {"$anchor": "x", "type": "null"}, "c": {"$id": "c.json", "not": {}}}})
        };
        for (reference, target) in [
            ("#", ""),
            ("#/$defs/a%20b", "/$defs/a b"),
            ("#/%24defs/c/not", "/$defs/c/not"),
            ("#x", "/$defs/a b"),
            ("c.json", "/$defs/c"),
            ("c.json#/not", "/$defs/c/not"),
            ("https://a.example/s", ""),
            ("https://a.example/s#x", "/$defs/a b"),
        ] {
            refers(&at(reference), "/items", target);
        }
        let inner = json!({"$defs": {"c": {"$id": "c", "items": {"$ref": "#/not"}, "not": {}}}});
        refers(&inner, "/$defs/c/items", "/$defs/c/not");
        let unknown = json!({"components": {"x": {"items": {"$ref": "#/components/y"}}, "y": {}},
            "$ref": "#/components/x"});
        assert_eq!(
            references(&unknown),
            [
                (String::new(), "/components/x".to_owned()),
                ("/components/x/items".to_owned(), "/components/y".to_owned())
            ]
        );
        let old = json!({"$schema": "http://json-schema.org/draft-04/schema#", "id": "s",
            "properties": {"id": {"id": "#i"}, "b": {"$ref": "s#i"}}});
        refers(&old, "/properties/b", "/properties/id");
    }

    #[test]
    fn a_reference_that_leads_to_no_schema_is_refused() {
        let at = |reference: &str| json!({"const": {"a": {}}, "items": {"$ref": reference}});
        for (reference, why) in [
            ("#/nothing", "does not exist: correct the reference"),
            ("#nothing", "does not exist: correct the reference"),
            ("#/%zz", "does not exist: correct the reference"),
            ("#/const/a", "is data, not a schema: refer to a schema"),
            (
                "https://a.example",
                "is outside of the schema: copy it to `$defs`",
            ),
            (
                "file:///etc/passwd",
                "is outside of the schema: copy it to `$defs`",
            ),
        ] {
            let fault = Structure::parse(&at(reference)).unwrap_err();
            let expected = format!("`/items` refers to `{reference}`, which {why}");
            assert_eq!(fault.to_string(), expected);
        }
        for keyword in DYNAMIC {
            let schema = json!({"items": {keyword: "#x"}});
            let fault = Structure::parse(&schema).unwrap_err();
            assert_eq!(fault.pointer(), "/items", "{keyword}");
        }
    }

    /// Each place at which such a reference could leave the known subschemas would be looked up.
    #[test]
    fn a_reference_of_megabytes_is_refused_at_once() {
        let schema = json!({"items": {"$ref": format!("#{}", "/a".repeat(500_000))}});
        let began = std::time::Instant::now();
        let fault = Structure::parse(&schema).unwrap_err();
        assert_eq!(fault.pointer(), "/items");
        assert!(fault.to_string().contains("SCHEMA_POINTER"), "{fault}");
        assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
    }

    #[test]
    fn a_field_named_like_a_keyword_is_not_a_keyword() {
        let schema = json!({"properties": {"$ref": {"type": "string"}, "$id": {"type": "string"},
            "allOf": {"items": {}}}, "enum": [{"$ref": "#/x"}]});
        let structure = Structure::parse(&schema).unwrap();
        assert!(references(&schema).is_empty());
        let pointers: Vec<&str> = structure
            .subschemas
            .iter()
            .map(|subschema| subschema.pointer.as_str())
            .collect();
        assert_eq!(
            pointers,
            [
                "",
                "/properties/$ref",
                "/properties/$id",
                "/properties/allOf",
                "/properties/allOf/items"
            ]
        );
    }
}
