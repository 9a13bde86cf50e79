//! Reads the parameters of a tool from the JSON Schema of its arguments.
//!
//! A parameter has types, allowed values, a default, an example, a pattern, and the schema of its values with all their
//! rules. A subschema is visited a bounded number of times, so that reading ends for every schema. Must not know
//! servers or tools.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::cut::Cutter;
use super::names::{FurtherNames, parameter_name, shown};
use super::properties::{Arguments, CHOICES, Demands, Schemas, the_other_of_null};
use super::shape::{Field, Shape};
use super::types::{Kinds, Types};
use super::{OmittedArgument, UnfitDefault};
use crate::bounds::{INPUT_FIELDS, INPUT_LEVELS};
use crate::foreign_schema::pattern_fault;
use crate::ids::Label;
use crate::parameter::{Parameter, ParameterType};
use crate::text::ShortText;
use crate::visible::clean;

/// Most characters of a parameter's description that are kept, without the names of its fields.
pub(super) const MAX_DESCRIPTION: usize = 500;
/// Most fields of an object that a description names.
const MAX_NAMED_FIELDS: usize = 20;
/// Most subschemas that are visited for one tool; beyond them a parameter accepts any value.
const MAX_LOOKS: usize = 50_000;
/// Most levels of references and combinations.
const MAX_DEPTH: usize = 32;

/// The parameters of a schema.
#[derive(Debug, Clone, Default)]
pub(super) struct Reading {
    pub(super) parameters: Vec<Parameter>,
    /// Shapes by the names of the parameters.
    pub(super) shapes: BTreeMap<String, Shape>,
    pub(super) further: FurtherNames,
    /// Names of required arguments that may be null.
    pub(super) null_when_absent: Vec<String>,
    pub(super) omitted: Vec<OmittedArgument>,
    pub(super) unfit_defaults: Vec<UnfitDefault>,
}

/// Reads the parameters that a schema describes at its top level.
pub(super) fn read(schema: &Map<String, Value>) -> Reading {
    let root = Value::Object(schema.clone());
    let reader = Reader::new(&root);
    let arguments = reader.arguments(&[&root], Demands::Count);
    let valid = arguments.names().filter(|name| Label::parse(name).is_ok());
    let mut taken: BTreeSet<String> = valid.map(str::to_owned).collect();
    let mut cutter = Cutter::new(schema);
    let mut reading = Reading {
        further: arguments.further.clone(),
        null_when_absent: reader.null_when_absent(&arguments),
        ..Reading::default()
    };
    for name in arguments.names() {
        let property = arguments.property(name);
        let types = reader.types_of(&property);
        // An argument that allows no value, or only null, cannot be set; a call sends null if it is required.
        let Some(kinds) = types.of_parameter() else {
            continue;
        };
        let required = arguments.required.contains(name) && !types.name_null();
        let kinds = kinds.with_first(reader.first_named_of(&property));
        let read = Property {
            name,
            required,
            kinds,
            schemas: property,
        };
        reading.add(&reader, read, &mut taken, &mut cutter);
    }
    reading
}

/// Returns the required arguments of a schema that may be null.
pub(super) fn null_when_absent(schema: &Map<String, Value>) -> Vec<String> {
    let root = Value::Object(schema.clone());
    let reader = Reader::new(&root);
    reader.null_when_absent(&reader.arguments(&[&root], Demands::Count))
}

/// A property of the arguments object.
struct Property<'s> {
    name: &'s str,
    /// Whether each call needs a value other than null.
    required: bool,
    kinds: Kinds,
    schemas: Schemas<'s>,
}

impl Reading {
    fn add<'s>(
        &mut self,
        reader: &Reader<'s>,
        property: Property<'s>,
        taken: &mut BTreeSet<String>,
        cutter: &mut Cutter<'_>,
    ) {
        let wire_name = property.name;
        let name = match parameter_name(wire_name, taken) {
            Ok(name) => name,
            Err(reason) => {
                self.omitted.push(OmittedArgument {
                    name: shown(wire_name),
                    required: property.required,
                    reason,
                });
                return;
            }
        };
        taken.insert(name.to_string());
        let shape = reader.shape(&property.schemas, &property.kinds, 0);
        let values = reader.values(&property);
        if let Some(value) = values.unfit_default {
            let name = wire_name.to_owned();
            self.unfit_defaults.push(UnfitDefault { name, value });
        }
        let is_plain = property.schemas.is_plain(values.pattern.is_some());
        let schema = match is_plain {
            true => None,
            false => property.schemas.cut(cutter),
        };
        let renamed = name.as_str() != wire_name;
        self.shapes.insert(name.to_string(), shape.clone());
        self.parameters.push(Parameter {
            wire_name: renamed.then(|| ShortText::parse(wire_name).ok()).flatten(),
            name,
            kind: property.kinds.first,
            other_types: property.kinds.others,
            required: property.required,
            description: description(reader.description_of(&property.schemas), &shape),
            example: values.example,
            default: values.default,
            allowed: values.allowed,
            synonyms: BTreeMap::new(),
            pattern: values.pattern,
            schema: schema.map(Into::into),
        });
    }
}

/// The values that a parameter names.
#[derive(Default)]
struct NamedValues {
    default: Option<Value>,
    unfit_default: Option<Value>,
    example: Option<Value>,
    allowed: Option<Vec<Value>>,
    pattern: Option<String>,
}

/// Reads one schema, with references into itself.
struct Reader<'s> {
    root: &'s Value,
    looks: Cell<usize>,
    fields: Cell<usize>,
}

impl<'s> Reader<'s> {
    fn new(root: &'s Value) -> Self {
        Self {
            root,
            looks: Cell::new(MAX_LOOKS),
            fields: Cell::new(INPUT_FIELDS),
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

    /// Returns the properties of the object that these schemas describe together.
    fn arguments(&self, schemas: &[&'s Value], demands: Demands) -> Arguments<'s> {
        let mut arguments = Arguments::default();
        for schema in schemas.iter().copied() {
            self.gather(schema, demands, 0, &mut arguments);
        }
        arguments
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
                let known = into.properties.entry(name).or_default();
                known.add(property, demands);
            }
        }
        if demands == Demands::Count {
            if let Some(Value::Array(names)) = fields.get("required") {
                into.required.extend(names.iter().filter_map(Value::as_str));
            }
            into.add_further(fields);
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

    fn null_when_absent(&self, arguments: &Arguments<'s>) -> Vec<String> {
        let required = arguments.required.iter().copied();
        let nullable = required.filter(|name| {
            let property = arguments.property(name);
            self.types_of(&property).name_null()
        });
        nullable.map(str::to_owned).collect()
    }

    /// Returns the types that the schemas of a property allow: all of them apply, or one branch does.
    fn types_of(&self, schemas: &Schemas<'s>) -> Types {
        match (schemas.always.as_slice(), schemas.sometimes.as_slice()) {
            ([], []) => Types::ANY,
            ([], branches) => {
                let branches = branches.iter().copied();
                Types::any_of(branches.map(|branch| self.types(branch, 0)))
            }
            (always, _) => {
                let always = always.iter().copied();
                let types = always.map(|schema| self.types(schema, 0));
                types.fold(Types::ANY, Types::and)
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
        for keyword in CHOICES {
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

    fn first_named_of(&self, schemas: &Schemas<'s>) -> Option<ParameterType> {
        let mut schemas = schemas.known().iter().copied();
        schemas.find_map(|schema| self.first_named(schema, 0))
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

    /// Returns the only values that the schemas of a property allow, except null; `None` if they also allow others.
    fn allowed_of(&self, schemas: &Schemas<'s>) -> Option<Vec<Value>> {
        if !schemas.always.is_empty() {
            let mut always = schemas.always.iter().copied();
            return always.find_map(|schema| self.allowed(schema, 0));
        }
        let branches = schemas.sometimes.iter().copied();
        let branches: Vec<Vec<Value>> = branches
            .map(|branch| self.allowed(branch, 0))
            .collect::<Option<_>>()?;
        let mut all = Vec::new();
        branches.into_iter().flatten().for_each(|value| {
            if !all.contains(&value) {
                all.push(value);
            }
        });
        Some(all)
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

    /// Returns the values that a property names, as far as they fit its types.
    fn values(&self, property: &Property<'s>) -> NamedValues {
        let (schemas, kinds) = (&property.schemas, &property.kinds);
        let allowed = self.allowed_of(schemas).map(|mut allowed| {
            allowed.retain(|value| kinds.fit(value));
            allowed
        });
        let allowed = allowed.filter(|allowed| !allowed.is_empty());
        let fits = |value: &Value| {
            kinds.fit(value) && allowed.as_ref().is_none_or(|all| all.contains(value))
        };
        let note = |keyword: &str| {
            let mut known = schemas.known().iter().copied();
            known.find_map(|schema| self.note(schema, keyword, 0))
        };
        let default = note("default").filter(|value| !value.is_null());
        let (default, unfit_default) = match default {
            Some(value) if fits(value) => (Some(value.clone()), None),
            other => (None, other.cloned()),
        };
        let examples = note("examples").and_then(Value::as_array);
        let mut examples = examples.into_iter().flatten();
        let is_text = kinds.first == ParameterType::String && kinds.others.is_empty();
        let pattern = note("pattern").and_then(Value::as_str);
        let pattern = pattern.filter(|pattern| {
            is_text && !schemas.always.is_empty() && pattern_fault(pattern).is_none()
        });
        NamedValues {
            example: examples.find(|value| fits(value)).cloned(),
            default,
            unfit_default,
            pattern: pattern.map(str::to_owned),
            allowed,
        }
    }

    fn description_of(&self, schemas: &Schemas<'s>) -> &'s str {
        let text = |keyword: &str| {
            let mut known = schemas.known().iter().copied();
            let found = known.find_map(|schema| self.note(schema, keyword, 0));
            found.and_then(Value::as_str)
        };
        let description = text("description").filter(|text| !text.is_empty());
        description.or_else(|| text("title")).unwrap_or_default()
    }

    /// Returns a keyword of a schema, of the target of its reference, of a part that always applies, or of the only
    /// alternative to null.
    fn note(&self, schema: &'s Value, keyword: &str, depth: usize) -> Option<&'s Value> {
        let fields = schema.as_object().filter(|_| self.looks(depth))?;
        if let Some(value) = fields.get(keyword) {
            return Some(value);
        }
        let within = |part: &'s Value| self.note(part, keyword, depth + 1);
        if let Some(found) = self.target(fields).and_then(within) {
            return Some(found);
        }
        let parts = fields.get("allOf").and_then(Value::as_array);
        if let Some(found) = parts.into_iter().flatten().find_map(within) {
            return Some(found);
        }
        let mut choices = CHOICES.into_iter();
        let choices = choices.find_map(|keyword| fields.get(keyword)?.as_array())?;
        the_other_of_null(choices).and_then(within)
    }

    /// Returns the shape of the values that the schemas of a property allow.
    fn shape(&self, schemas: &Schemas<'s>, kinds: &Kinds, level: usize) -> Shape {
        if !kinds.others.is_empty() {
            return Shape::Mixed;
        }
        if kinds.first != ParameterType::Object || level >= INPUT_LEVELS {
            return Shape::of_type(kinds.first);
        }
        let demands = match schemas.always.is_empty() {
            true => Demands::DoNot,
            false => Demands::Count,
        };
        let arguments = self.arguments(schemas.known(), demands);
        let names: Vec<&'s str> = arguments.names().collect();
        let Some(left) = self.fields.get().checked_sub(names.len()) else {
            return Shape::Object;
        };
        self.fields.set(left);
        let fields = names.into_iter().filter_map(|name| {
            let property = arguments.property(name);
            let types = self.types_of(&property);
            let kinds = types.of_parameter()?;
            Some(Field {
                name: name.to_owned(),
                required: arguments.required.contains(name) && !types.name_null(),
                shape: self.shape(&property, &kinds, level + 1),
            })
        });
        let fields: Vec<Field> = fields.collect();
        match fields.is_empty() {
            true => Shape::Object,
            false => Shape::Record(fields),
        }
    }
}

/// Returns a description, with the names of an object's fields.
fn description(text: &str, shape: &Shape) -> String {
    let text = clean(text, MAX_DESCRIPTION);
    match shape.fields_in_words(MAX_NAMED_FIELDS) {
        Some(fields) => {
            let fields = clean(&fields, MAX_DESCRIPTION);
            format!("{text} (an object with {fields})")
                .trim_start()
                .to_owned()
        }
        None => text,
    }
}
