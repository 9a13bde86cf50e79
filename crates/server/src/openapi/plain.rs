//! Rewrites schemas for client generators, which support JSON Schema only in part. They fail on `true` as a schema, on
//! a list without items, on a class for each position of an arbitrary object, and on an object without a name within a
//! choice. Validators accept all four.

use std::collections::BTreeSet;

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

/// Keywords of a choice.
const CHOICES: [&str; 2] = ["anyOf", "oneOf"];

/// Keywords that describe a position, not its type.
const WORDS: [&str; 2] = ["default", "description"];

/// The component of an arbitrary object.
const OBJECT: &str = "json_object";

/// Rewrites the components; they accept the same values as before.
pub(super) fn write(components: &mut Map<String, Value>) {
    for schema in components.values_mut() {
        // A contract has its own id, to which its internal references are relative.
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
    name_parts(components);
}

/// Applies `act` to every schema inside a schema, and last to the schema itself.
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

/// Replaces a boolean schema by an equivalent object, and adds a schema for arbitrary items to lists.
fn spell_out(schema: &mut Value) {
    match schema {
        Value::Bool(true) => *schema = json!({}),
        Value::Bool(false) => *schema = json!({"not": {}}),
        Value::Object(keywords) => {
            if is_of("array", keywords.get("type")) && !keywords.contains_key("prefixItems") {
                keywords.entry("items").or_insert_with(|| json!({}));
            }
        }
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {}
    }
}

fn is_of(kind: &str, types: Option<&Value>) -> bool {
    match types {
        Some(Value::Array(types)) => types.iter().any(|one| one == kind),
        Some(one) => one == kind,
        None => false,
    }
}

/// Replaces a schema of an arbitrary object by a reference to its component.
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

/// Turns the objects in properties of a choice's forms into components, each named after its component and property. A
/// generator may read a choice twice, and then drops a form whose classes exist already.
fn name_parts(components: &mut Map<String, Value>) {
    let taken: BTreeSet<String> = components.keys().cloned().collect();
    let mut named = Map::new();
    for (component, schema) in components.iter_mut() {
        // References of a contract are relative to its id.
        if schema.get("$id").is_some() {
            continue;
        }
        for (property, place) in properties_of_forms(schema) {
            let name = format!("{component}_{property}");
            let Some(pointer) = unnamed_object(place) else {
                continue;
            };
            let Some(part) = place.pointer_mut(&pointer) else {
                continue;
            };
            let mut own = part.clone();
            if let Some(keywords) = own.as_object_mut() {
                keywords.remove("default");
            }
            if taken.contains(&name) || named.get(&name).is_some_and(|known| *known != own) {
                continue;
            }
            let mut reference = json!({"$ref": format!("{COMPONENTS}{name}")});
            for word in WORDS {
                if let Some(value) = part.get(word) {
                    reference[word] = value.clone();
                }
            }
            *part = reference;
            named.insert(name, own);
        }
    }
    components.extend(named);
}

/// The properties of the forms of a choice.
fn properties_of_forms(schema: &mut Value) -> impl Iterator<Item = (&String, &mut Value)> {
    let keywords = schema.as_object_mut().into_iter().flatten();
    let choices = keywords.filter(|(keyword, _)| CHOICES.contains(&keyword.as_str()));
    let forms = choices.filter_map(|(_, forms)| forms.as_array_mut());
    let properties = forms
        .flatten()
        .filter_map(|form| form.get_mut("properties")?.as_object_mut());
    properties.flatten()
}

/// The pointer to an inline object within a property, or to a choice that contains one.
fn unnamed_object(place: &Value) -> Option<String> {
    if is_of("object", place.get("type")) {
        return Some(String::new());
    }
    if let Some(items) = place.get("items") {
        return unnamed_object(items).map(|pointer| format!("/items{pointer}"));
    }
    let keyword = CHOICES
        .iter()
        .find(|choice| place.get(**choice).is_some())?;
    let forms = place.get(*keyword)?.as_array()?;
    let mut found = forms.iter().enumerate();
    let (at, pointer) = found.find_map(|(at, form)| Some((at, unnamed_object(form)?)))?;
    let is_null = |form: &Value| form.get("type").is_some_and(|kind| kind == "null");
    let mut others = forms.iter().enumerate().filter(|(other, _)| *other != at);
    if others.all(|(_, form)| is_null(form)) {
        return Some(format!("/{keyword}/{at}{pointer}"));
    }
    Some(String::new())
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
    fn any_object_has_one_shared_name_except_in_contracts() {
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

    #[test]
    fn objects_within_a_choice_get_their_own_names() {
        let object =
            json!({"type": "object", "properties": {"n": {"type": "integer"}}, "description": "d"});
        let either = json!({"oneOf": [object, {"const": "none"}]});
        let choice = |maybe: &Value, list: &Value, either: &Value| {
            let properties = json!({"maybe": maybe, "list": list, "either": either, "plain": {"type": "string"}});
            json!({"oneOf": [{"properties": properties, "type": "object"}, {"const": "x"}]})
        };
        let before = choice(
            &json!({"anyOf": [object, {"type": "null"}], "default": null}),
            &json!({"type": "array", "items": object}),
            &either,
        );
        let mut components = Map::from_iter([("one".to_owned(), before)]);
        write(&mut components);
        let reference = |name: &str| json!({"$ref": format!("#/components/schemas/one_{name}")});
        let described = |name: &str| json!({"$ref": reference(name)["$ref"], "description": "d"});
        let after = choice(
            &json!({"anyOf": [described("maybe"), {"type": "null"}], "default": null}),
            &json!({"type": "array", "items": described("list")}),
            &reference("either"),
        );
        assert_eq!(components["one"], after);
        let named = ["one_maybe", "one_list", "one_either"].map(|name| components[name].clone());
        assert_eq!(named, [object.clone(), object, either]);
    }

    #[test]
    fn a_part_with_a_name_in_use_stays_inline() {
        let object = json!({"type": "object", "default": {}});
        let choice = json!({"oneOf": [{"properties": {"part": object}}]});
        let other = json!({"type": "string"});
        let parts = [
            ("one".to_owned(), choice.clone()),
            ("one_part".to_owned(), other.clone()),
        ];
        let mut components = Map::from_iter(parts);
        write(&mut components);
        assert_eq!(components["one"], choice);
        assert_eq!(components["one_part"], other);
    }
}
