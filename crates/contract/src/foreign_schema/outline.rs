//! Measures a schema before compilation, and prepares the form that is compiled. Must not know values.

use serde_json::{Map, Value, json};

use super::fault::{LEVELS, SchemaFault, TEXT, VALUES};
use super::graph::Total;
use super::keywords::is_note;
use super::patterns::Patterns;
use super::walk::{Structure, Subschema};
use crate::deeply::deeply;
use crate::schema::{Costs, LONG_DIVISION};

/// Pattern memory that weighs as much as one compiled part, in bytes.
pub(super) const PATTERN_PART: usize = 64;

/// A schema within the limits.
#[derive(Debug)]
pub(super) struct Outline {
    /// The schema in the form that is compiled.
    pub(super) prepared: Value,
    /// Costs of examining a value.
    pub(super) costs: Costs,
    /// Number of compiled parts.
    pub(super) parts: usize,
    /// Size of the schema itself.
    pub(super) size: Size,
}

impl Outline {
    /// Measures and prepares a schema.
    pub(super) fn parse(schema: &Map<String, Value>) -> Result<Self, SchemaFault> {
        let size = Size::measure(schema)?;
        deeply(|| Self::of_bounded(schema, size))
    }

    fn of_bounded(schema: &Map<String, Value>, size: Size) -> Result<Self, SchemaFault> {
        let given = Value::Object(schema.clone());
        let structure = Structure::parse(&given)?;
        let total = Total::measure(&structure)?;
        let patterns = Patterns::measure(&structure.patterns)?;
        let mut prepared = given.clone();
        for subschema in &structure.subschemas {
            Change::new(subschema, &structure).apply(&mut prepared, structure.id);
        }
        Ok(Self {
            prepared,
            costs: costs(&structure, &total, &patterns),
            parts: total.parts + patterns.memory / PATTERN_PART,
            size,
        })
    }
}

fn costs(structure: &Structure<'_>, total: &Total, patterns: &Patterns) -> Costs {
    let longest_reference = structure
        .subschemas
        .iter()
        .filter(|subschema| subschema.reference.is_some())
        .map(|subschema| subschema.pointer.len())
        .max();
    Costs {
        text: patterns.steps,
        names: 1 + total.most.name_patterns as u64,
        fraction: if structure.divides_unevenly {
            LONG_DIVISION
        } else {
            1
        },
        marks_items: structure.marks_items,
        fault: patterns.longest + structure.largest_not,
        fault_level: longest_reference.map_or(0, |longest| longest * total.most.chain),
    }
}

/// The size of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Size {
    pub(super) values: usize,
    pub(super) text: usize,
}

impl Size {
    fn measure(schema: &Map<String, Value>) -> Result<Self, SchemaFault> {
        let mut size = Self { values: 1, text: 0 };
        for (name, value) in schema {
            size.text += name.len();
            size.add(value, 2)?;
        }
        Ok(size)
    }

    fn add(&mut self, value: &Value, level: usize) -> Result<(), SchemaFault> {
        self.values += 1;
        if let Value::String(text) = value {
            self.text += text.len();
        }
        VALUES.check(self.values, "")?;
        TEXT.check(self.text, "")?;
        match value {
            Value::Array(_) | Value::Object(_) => LEVELS.check(level, "")?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.add(item, level + 1)),
            Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
                self.text += name.len();
                self.add(value, level + 1)
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }
}

/// The change to a subschema in the compiled form.
struct Change {
    pointer: String,
    reference: Option<String>,
}

impl Change {
    fn new(subschema: &Subschema, structure: &Structure<'_>) -> Self {
        let reference = subschema.reference;
        let reference = reference.map(|at| fragment(&structure.subschemas[at].pointer));
        Self {
            pointer: subschema.pointer.clone(),
            reference,
        }
    }

    /// References become pointers from the root, so that no name has to be resolved. Annotations are omitted, because
    /// the validator would keep them. Each subschema states a type, if only any type: the first check of a subschema
    /// pays for it.
    fn apply(self, schema: &mut Value, id: &str) {
        let Some(Value::Object(fields)) = schema.pointer_mut(&self.pointer) else {
            return;
        };
        fields.retain(|keyword, _| !is_note(keyword) && keyword != id);
        if let Some(reference) = self.reference {
            fields.insert("$ref".to_owned(), reference.into());
        }
        if !fields.contains_key("type") {
            fields.insert("type".to_owned(), any_type());
        }
    }
}

fn any_type() -> Value {
    json!([
        "null", "boolean", "object", "array", "number", "integer", "string"
    ])
}

/// Converts a pointer to a reference.
fn fragment(pointer: &str) -> String {
    let mut reference = String::from("#");
    for byte in pointer.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(&byte) {
            reference.push(char::from(byte));
        } else {
            reference.push_str(&format!("%{byte:02X}"));
        }
    }
    reference
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(schema: &Value) -> Result<Outline, SchemaFault> {
        Outline::parse(schema.as_object().unwrap())
    }

    #[test]
    fn compiled_schemas_have_root_references_and_a_type_everywhere() {
        let schema = json!({"$id": "https://a.example", "title": "A", "properties": {"title": {"$ref": "#n"}},
            "$defs": {"a b": {"$anchor": "n", "type": "null", "default": 1}}, "not": false});
        let expected = json!({"properties": {"title": {"$ref": "#/$defs/a%20b", "type": any_type()}},
            "$defs": {"a b": {"type": "null"}}, "not": false, "type": any_type()});
        assert_eq!(outline(&schema).unwrap().prepared, expected);
    }

    #[test]
    fn size_is_bounded_before_anything_else() {
        let limit = |schema: &Value| match outline(schema).unwrap_err() {
            SchemaFault::OverLimit { limit, .. } => limit,
            SchemaFault::Unsupported { .. } | SchemaFault::NotASchema(_) => "none",
        };
        let deep = (0..1_000).fold(json!({}), |inside, _| json!({ "not": inside }));
        assert_eq!(limit(&deep), "JSON_LEVELS");
        let many: Value = (0..20_000).collect();
        assert_eq!(limit(&json!({ "enum": many })), "SCHEMA_VALUES");
        let long = "x".repeat(1 << 20);
        assert_eq!(limit(&json!({ "title": long })), "SCHEMA_TEXT");
        let long = json!({"properties": {"n".repeat(3_000): {"minLength": 1}}});
        assert_eq!(limit(&long), "SCHEMA_POINTER");
        let wide = (0..2_000).map(|at| (at.to_string(), json!({})));
        let wide: Map<String, Value> = wide.collect();
        assert_eq!(limit(&json!({ "properties": wide })), "SCHEMA_SUBSCHEMAS");
        let constants = vec![Value::Bool(true); 65];
        assert_eq!(limit(&json!({ "allOf": constants })), "SCHEMA_CONSTANTS");
        let references = vec![json!({"$ref": "#/$defs/a"}); 501];
        let references = json!({"$defs": {"a": {}}, "prefixItems": references});
        assert_eq!(limit(&references), "SCHEMA_REFERENCES");
    }

    #[test]
    fn costs_follow_from_the_schema() {
        assert_eq!(outline(&json!({})).unwrap().costs, Costs::PLAIN);
        let all = json!({"unevaluatedItems": false, "multipleOf": 1e-300, "not": {"const": "x"},
            "patternProperties": {"^a$": {}, "^b$": {}},
            "allOf": [{"patternProperties": {"^a$": {}}}, {"$ref": "#/$defs/d"}], "$defs": {"d": {}}});
        let costs = outline(&all).unwrap().costs;
        assert_eq!(
            (costs.names, costs.fraction, costs.marks_items),
            (4, LONG_DIVISION, true)
        );
        assert!(costs.fault > 100 && costs.fault_level == 3 * "/allOf/1".len());
    }
}
