//! Derives the parameters of a tool from the JSON Schema of its arguments.
//!
//! The catalogue's parameters are a list with types and allowed values; the schema may contain more. It is passed on in
//! full, and its server enforces it. This module determines the parameters, their allowed values, and which are
//! required. A schema is not refused because of rules that a list cannot express. Must not know servers.

mod types;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use charter_contract::canonical;
use charter_contract::ids::Label;
use charter_contract::parameter::ParameterType;
use serde_json::{Map, Value, json};

use super::hash;
use crate::text::clean;
use types::{Kinds, Types};

/// Most characters of a parameter's description that are kept, without its further rules.
pub(super) const MAX_DESCRIPTION: usize = 500;
/// Most characters of a parameter's rules that its document cannot express.
pub(super) const MAX_RULES: usize = 1_000;
/// Longest name of a parameter, in characters.
const MAX_NAME: usize = 200;
/// Characters of an invalid name that remain in its replacement.
const KEPT_OF_NAME: usize = 100;
/// Most subschemas that are visited for one tool; beyond them a parameter accepts any value.
const MAX_LOOKS: usize = 20_000;
/// Most levels of references and combinations.
const MAX_DEPTH: usize = 32;
/// Keywords of a property that a parameter of the catalogue can express.
const KNOWN_KEYWORDS: [&str; 6] = ["type", "description", "title", "default", "enum", "const"];

/// Parameters in the catalogue's form, and those that are left out: their names with the reasons.
pub(super) struct Parameters {
    pub(super) written: Vec<Value>,
    pub(super) left_out: Vec<(String, String)>,
}

/// Returns the parameters of a tool.
///
/// # Errors
/// When a call requires a parameter that the catalogue cannot express.
pub(super) fn parameters(schema: &Map<String, Value>) -> Result<Parameters, String> {
    let root = Value::Object(schema.clone());
    let reader = Reader::new(&root);
    let mut arguments = Arguments::default();
    reader.gather(&root, Demands::Count, 0, &mut arguments);
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let plain = |name: &&str| Label::parse(name).is_ok();
    taken.extend(arguments.names().filter(plain).map(str::to_owned));
    let mut parameters = Parameters {
        written: Vec::new(),
        left_out: Vec::new(),
    };
    for name in arguments.names() {
        let property = arguments.properties.get(name).copied();
        let required = arguments.required.contains(name);
        let types = property.map_or(Types::ANY, |property| reader.types(property, 0));
        // A parameter that allows no value, or only null, cannot be set; a call sends null if it is required.
        let Some(kinds) = types.of_parameter() else {
            continue;
        };
        let needed = required && !types.name_null();
        let written = match (parameter_name(name, &taken), needed) {
            (Ok(written), _) => written,
            (Err(reason), false) => {
                parameters.left_out.push((name.to_owned(), reason));
                continue;
            }
            (Err(reason), true) => {
                let shown = clean(name, MAX_NAME);
                return Err(format!("it needs the parameter `{shown}`: {reason}"));
            }
        };
        taken.insert(written.clone());
        let first = property.and_then(|property| reader.first_named(property, 0));
        let kinds = kinds.with_first(first);
        let described = reader.described(property, &kinds);
        let mut parameter = json!({
            "name": written,
            "type": kinds.first,
            "required": needed,
            "description": described.description,
        });
        if written != name {
            parameter["wire_name"] = name.into();
        }
        if !kinds.others.is_empty() {
            parameter["other_types"] = json!(kinds.others);
        }
        if let Some(default) = described.default {
            parameter["default"] = default;
        }
        if let Some(allowed) = described.allowed {
            parameter["enum"] = Value::Array(allowed);
        }
        parameters.written.push(parameter);
    }
    Ok(parameters)
}

/// Returns the required arguments that may be null.
pub(crate) fn null_when_absent(schema: &Map<String, Value>) -> Vec<String> {
    let root = Value::Object(schema.clone());
    let reader = Reader::new(&root);
    let mut arguments = Arguments::default();
    reader.gather(&root, Demands::Count, 0, &mut arguments);
    let nullable = |name: &&str| {
        let property = arguments.properties.get(*name).copied();
        property.is_some_and(|property| reader.types(property, 0).name_null())
    };
    let names = arguments.required.iter().copied().filter(nullable);
    names.map(str::to_owned).collect()
}

/// Returns the name of a parameter here: its own if valid, else a unique one derived from it.
fn parameter_name(name: &str, taken: &BTreeSet<String>) -> Result<String, String> {
    if Label::parse(name).is_ok() {
        return Ok(name.to_owned());
    }
    if name.is_empty() || clean(name, MAX_NAME) != name {
        return Err(format!(
            "its name must have 1 to {MAX_NAME} visible characters"
        ));
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let bare = name.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let made: String = bare
        .chars()
        .take(KEPT_OF_NAME)
        .map(|c| if fits(c) { c } else { '_' })
        .collect();
    let made = if made.is_empty() {
        "p".to_owned()
    } else {
        made
    };
    if !taken.contains(&made) {
        return Ok(made);
    }
    let digest = hash(name);
    let digits = digest.trim_start_matches("sha256:").get(..8);
    Ok(format!("{made}-{}", digits.unwrap_or_default()))
}

/// Whether requirements of a subschema apply to every call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Demands {
    Count,
    DoNot,
}

#[derive(Default)]
struct Arguments<'s> {
    properties: BTreeMap<&'s str, &'s Value>,
    required: BTreeSet<&'s str>,
}

impl<'s> Arguments<'s> {
    /// Returns the names that are described or required.
    fn names(&self) -> impl Iterator<Item = &'s str> {
        let described = self.properties.keys().copied();
        let all: BTreeSet<&'s str> = described.chain(self.required.iter().copied()).collect();
        all.into_iter()
    }
}

/// The fields of a parameter's document beside name and types.
struct Described {
    description: String,
    default: Option<Value>,
    allowed: Option<Vec<Value>>,
}

/// Reads one schema, with references into itself.
struct Reader<'s> {
    root: &'s Value,
    looks: Cell<usize>,
}

impl<'s> Reader<'s> {
    fn new(root: &'s Value) -> Self {
        Self {
            root,
            looks: Cell::new(MAX_LOOKS),
        }
    }

    /// Whether another visit at this depth is allowed; counts it.
    fn looks(&self, depth: usize) -> bool {
        let left = self.looks.get();
        self.looks.set(left.saturating_sub(1));
        left > 0 && depth < MAX_DEPTH
    }

    /// Returns the target of a reference. References elsewhere, or to an anchor, are unknown.
    fn target(&self, schema: &Map<String, Value>) -> Option<&'s Value> {
        let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        self.root.pointer(pointer)
    }

    /// Collects the properties of the object that a schema describes, and those of its parts.
    fn gather(&self, schema: &'s Value, demands: Demands, depth: usize, into: &mut Arguments<'s>) {
        let Value::Object(fields) = schema else {
            return;
        };
        if !self.looks(depth) {
            return;
        }
        if let Some(Value::Object(properties)) = fields.get("properties") {
            for (name, property) in properties {
                into.properties.entry(name).or_insert(property);
            }
        }
        if demands == Demands::Count
            && let Some(Value::Array(names)) = fields.get("required")
        {
            into.required.extend(names.iter().filter_map(Value::as_str));
        }
        if let Some(target) = self.target(fields) {
            self.gather(target, demands, depth + 1, into);
        }
        for (keyword, demands) in [
            ("allOf", demands),
            ("anyOf", Demands::DoNot),
            ("oneOf", Demands::DoNot),
        ] {
            if let Some(Value::Array(parts)) = fields.get(keyword) {
                for part in parts {
                    self.gather(part, demands, depth + 1, into);
                }
            }
        }
        for keyword in ["then", "else"] {
            if let Some(part) = fields.get(keyword) {
                self.gather(part, Demands::DoNot, depth + 1, into);
            }
        }
    }

    /// Returns the types that a schema allows, as far as they are decidable without a value.
    fn types(&self, schema: &'s Value, depth: usize) -> Types {
        let fields = match schema {
            Value::Bool(false) => return Types::NONE,
            Value::Object(fields) if self.looks(depth) => fields,
            _ => return Types::ANY,
        };
        let mut types = match fields.get("type") {
            Some(Value::String(word)) => Types::from_name(word),
            Some(Value::Array(words)) => {
                Types::any_of(words.iter().filter_map(Value::as_str).map(Types::from_name))
            }
            _ => Types::ANY,
        };
        if let Some(value) = fields.get("const") {
            types = types.and(Types::from_schema(value));
        }
        if let Some(Value::Array(values)) = fields.get("enum") {
            types = types.and(Types::any_of(values.iter().map(Types::from_schema)));
        }
        if let Some(target) = self.target(fields) {
            types = types.and(self.types(target, depth + 1));
        }
        if let Some(Value::Array(parts)) = fields.get("allOf") {
            for part in parts {
                types = types.and(self.types(part, depth + 1));
            }
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(parts)) = fields.get(keyword) {
                let parts = parts.iter().map(|part| self.types(part, depth + 1));
                types = types.and(Types::any_of(parts));
            }
        }
        // Authors who omit the type imply it with their other keywords.
        if types == Types::ANY && fields.contains_key("properties") {
            types = Types::from_name("object");
        }
        if types == Types::ANY && fields.contains_key("items") {
            types = Types::from_name("array");
        }
        types
    }

    /// Returns the first type that a schema names.
    fn first_named(&self, schema: &'s Value, depth: usize) -> Option<ParameterType> {
        let Value::Object(fields) = schema else {
            return None;
        };
        if !self.looks(depth) {
            return None;
        }
        match fields.get("type") {
            Some(Value::String(word)) => return word.parse().ok(),
            Some(Value::Array(words)) => {
                let mut words = words.iter().filter_map(Value::as_str);
                return words.find_map(|word| word.parse().ok());
            }
            _ => {}
        }
        if let Some(target) = self.target(fields) {
            return self.first_named(target, depth + 1);
        }
        let mut keywords = ["anyOf", "oneOf", "allOf"].into_iter();
        let parts = keywords.find_map(|keyword| fields.get(keyword)?.as_array())?;
        parts
            .iter()
            .find_map(|part| self.first_named(part, depth + 1))
    }

    /// Returns the only values that a schema allows, except null; `None` if it also allows others.
    fn allowed(&self, schema: &'s Value, depth: usize) -> Option<Vec<Value>> {
        let Value::Object(fields) = schema else {
            return None;
        };
        if !self.looks(depth) {
            return None;
        }
        if let Some(value) = fields.get("const") {
            return Some(vec![value.clone()]);
        }
        if let Some(Value::Array(values)) = fields.get("enum") {
            return Some(values.clone());
        }
        if let Some(target) = self.target(fields) {
            return self.allowed(target, depth + 1);
        }
        if let Some(Value::Array(parts)) = fields.get("allOf") {
            let mut found = parts
                .iter()
                .filter_map(|part| self.allowed(part, depth + 1));
            return found.next();
        }
        let parts = fields.get("anyOf").or_else(|| fields.get("oneOf"))?;
        let mut all: Vec<Value> = Vec::new();
        for part in parts.as_array()? {
            if part.get("type").is_some_and(|kind| kind == "null") {
                continue;
            }
            for value in self.allowed(part, depth + 1)? {
                if !all.contains(&value) {
                    all.push(value);
                }
            }
        }
        Some(all)
    }

    /// Appends rules that a document cannot express to the description: the server enforces them, so callers need to
    /// know them.
    fn described(&self, property: Option<&'s Value>, kinds: &Kinds) -> Described {
        let Some(property) = property else {
            return Described {
                description: String::new(),
                default: None,
                allowed: None,
            };
        };
        let allowed = self.allowed(property, 0).map(|mut allowed| {
            allowed.retain(|value| kinds.fit(value));
            allowed
        });
        let allowed = allowed.filter(|allowed| !allowed.is_empty());
        let fits = |value: &Value| {
            kinds.fit(value) && allowed.as_ref().is_none_or(|all| all.contains(value))
        };
        let default = property.get("default").filter(|value| fits(value)).cloned();
        Described {
            description: description(self.description_of(property, 0), property, kinds),
            default,
            allowed,
        }
    }

    /// Returns the description of a property, or of its reference's target.
    fn description_of(&self, property: &'s Value, depth: usize) -> &'s str {
        let Value::Object(fields) = property else {
            return "";
        };
        if let Some(Value::String(text)) = fields.get("description") {
            return text;
        }
        match self.target(fields) {
            Some(target) if self.looks(depth) => self.description_of(target, depth + 1),
            Some(_) | None => "",
        }
    }
}

/// Returns a description, with the rules that the types do not express.
fn description(told: &str, property: &Value, kinds: &Kinds) -> String {
    let told = clean(told, MAX_DESCRIPTION);
    let mut rules = match property {
        Value::Object(fields) => fields.clone(),
        _ => Map::new(),
    };
    rules.retain(|keyword, _| !KNOWN_KEYWORDS.contains(&keyword.as_str()));
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(parts)) = rules.get(keyword)
            && let Some(inner) = the_other_of_null(parts)
        {
            let inner = inner.clone();
            rules.remove(keyword);
            let inner = inner.into_iter();
            rules.extend(inner.filter(|(keyword, _)| !KNOWN_KEYWORDS.contains(&keyword.as_str())));
        }
    }
    let only_types = rules.values().all(|rule| has_only_types(rule, kinds));
    if rules.is_empty() || only_types {
        return told;
    }
    let rules = clean(&canonical::text(Value::Object(rules)), MAX_RULES);
    format!("{told} (JSON Schema: {rules})")
        .trim_start()
        .to_owned()
}

/// Returns the schema of two that is not the null schema.
fn the_other_of_null(parts: &[Value]) -> Option<&Map<String, Value>> {
    let null = json!({"type": "null"});
    match parts {
        [part, other] if *other == null => part.as_object(),
        [other, part] if *other == null => part.as_object(),
        _ => None,
    }
}

/// Whether a rule is a choice of bare types, which the parameter's types already express.
fn has_only_types(rule: &Value, kinds: &Kinds) -> bool {
    let bare = |part: &Value| {
        let fields = part.as_object();
        fields.is_some_and(|fields| fields.len() == 1 && fields.contains_key("type"))
    };
    let parts = rule.as_array();
    !kinds.others.is_empty() && parts.is_some_and(|parts| parts.iter().all(bare))
}

#[cfg(test)]
mod tests;
