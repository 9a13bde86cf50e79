//! Schemas as generators of clients read them. They know JSON Schema in part: `true` as a schema, a list without items
//! and a class for each place of any object stop them, though validators take all three.

use serde_json::{Map, Value, json};

use super::COMPONENTS;

/// Keywords whose value is a schema.
pub(super) const ONE: [&str; 9] = [
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
];

/// Keywords whose value is a list of schemas.
pub(super) const LISTED: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];

/// Keywords whose value has schemas by name.
pub(super) const NAMED: [&str; 4] = [
    "$defs",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

/// What a place of any object says beside its type.
const WORDS: [&str; 2] = ["default", "description"];

/// The component of any object.
const OBJECT: &str = "json_object";

/// Rewrites the components, which accept and refuse what they did before.
pub(super) fn write(components: &mut Map<String, Value>) {
    for schema in components.values_mut() {
        // A contract has an id of its own, to which references inside of it are relative.
        let refers = schema.get("$id").is_none();
        each(schema, &mut |part: &mut Value| {
            spell_out(part);
            if refers {
                refer_to_object(part);
            }
        });
    }
    let any = json!({"type": "object", "additionalProperties": true, "description": "Any object."});
    components.insert(OBJECT.to_owned(), any);
}

/// Does something with every schema inside of a schema, and with the schema itself last.
fn each(schema: &mut Value, act: &mut impl FnMut(&mut Value)) {
    if let Value::Object(keywords) = schema {
        for (keyword, value) in keywords {
            let keyword = keyword.as_str();
            match value {
                Value::Array(parts) if LISTED.contains(&keyword) => {
                    parts.iter_mut().for_each(|part| each(part, act));
                }
                Value::Object(parts) if NAMED.contains(&keyword) => {
                    parts.values_mut().for_each(|part| each(part, act));
                }
                Value::Object(_) if keyword == "additionalProperties" => each(value, act),
                value if ONE.contains(&keyword) => each(value, act),
                _ => {}
            }
        }
    }
    act(schema);
}

/// Writes what accepts anything, or nothing, as an object, and says of a list that it may hold anything.
fn spell_out(schema: &mut Value) {
    match schema {
        Value::Bool(true) => *schema = json!({}),
        Value::Bool(false) => *schema = json!({"not": {}}),
        Value::Object(keywords) => {
            if is_list(keywords.get("type")) && !keywords.contains_key("prefixItems") {
                keywords.entry("items").or_insert_with(|| json!({}));
            }
        }
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {}
    }
}

fn is_list(types: Option<&Value>) -> bool {
    match types {
        Some(Value::Array(types)) => types.iter().any(|one| one == "array"),
        Some(one) => one == "array",
        None => false,
    }
}

/// Has what takes any object refer to the component of it.
fn refer_to_object(schema: &mut Value) {
    let Some(keywords) = schema.as_object_mut() else {
        return;
    };
    let any = keywords.get("additionalProperties") == Some(&Value::Bool(true));
    let other = |keyword: &String| {
        !WORDS.contains(&keyword.as_str()) && keyword != "type" && keyword != "additionalProperties"
    };
    if !any || keywords.keys().any(other) {
        return;
    }
    let reference = format!("{COMPONENTS}{OBJECT}");
    let types = keywords.get("type").cloned();
    if types == Some(json!("object")) {
        keywords.insert("$ref".to_owned(), json!(reference));
    } else if types == Some(json!(["object", "null"])) {
        let either = json!([{"$ref": reference}, {"type": "null"}]);
        keywords.insert("anyOf".to_owned(), either);
    } else {
        return;
    }
    keywords.remove("type");
    keywords.remove("additionalProperties");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(schema: Value) -> Value {
        let mut components = Map::from_iter([("one".to_owned(), schema)]);
        write(&mut components);
        components["one"].clone()
    }

    #[test]
    fn schemas_are_objects_and_lists_have_items() {
        let schema = json!({"properties": {
            "any": true, "none": false, "list": {"type": "array", "items": true},
            "maybe": {"type": ["array", "null"]}, "pair": {"type": "array", "prefixItems": [true]},
        }, "additionalProperties": false, "oneOf": [true], "default": true});
        let expected = json!({"properties": {
            "any": {}, "none": {"not": {}}, "list": {"type": "array", "items": {}},
            "maybe": {"type": ["array", "null"], "items": {}}, "pair": {"type": "array", "prefixItems": [{}]},
        }, "additionalProperties": false, "oneOf": [{}], "default": true});
        assert_eq!(written(schema), expected);
    }

    #[test]
    fn any_object_has_one_name_but_not_in_contracts() {
        let any = json!({"type": "object", "additionalProperties": true});
        let maybe =
            json!({"type": ["object", "null"], "additionalProperties": true, "description": "d"});
        let more = json!({"type": "object", "additionalProperties": true, "properties": {"a": {}}});
        let schema = json!({"properties": {"any": any, "maybe": maybe, "more": more}});
        let object = json!({"$ref": "#/components/schemas/json_object"});
        let expected = json!({"properties": {
            "any": object, "maybe": {"anyOf": [object, {"type": "null"}], "description": "d"}, "more": more,
        }});
        assert_eq!(written(schema.clone()), expected);
        let mut contract = schema;
        contract["$id"] = json!("urn:charter:schema:one");
        assert_eq!(written(contract.clone()), contract);
    }
}
