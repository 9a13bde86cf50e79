//! The OpenAPI 3.1 document: operations from the handlers' annotations, schemas from the contract and
//! from the types of bodies, and the failures that an operation has by what it is.

use charter_contract::{canonical, schema};
use serde_json::Value;
use utoipa::OpenApi;

use crate::routes;

mod failures;
mod streams;

#[derive(OpenApi)]
#[openapi(
    info(title = "Charter", description = "The contract-first context engine and mission runtime for AI agents.", license(name = "Apache-2.0")),
    security(("api_key" = []), ())
)]
struct Api;

/// The whole document as JSON.
#[must_use]
pub fn document() -> Value {
    let (_, operations) = routes::api().split_for_parts();
    let mut api = Api::openapi();
    api.merge(operations);
    let mut document = serde_json::to_value(&api).unwrap_or_default();
    name_rests(&mut document);
    let contracts =
        schema::all().map(|entry| (entry.name.as_str().to_owned(), embedded(entry.written())));
    let bodies = routes::body_schemas();
    let bodies = bodies.map(|(name, schema)| (name.to_owned(), schema));
    let described = contracts.chain(bodies).chain(routes::answer_schemas());
    document["components"]["schemas"] = Value::Object(described.collect());
    failures::describe(&mut document);
    streams::describe(&mut document);
    document["components"]["securitySchemes"]["api_key"] =
        serde_json::json!({"type": "http", "scheme": "bearer", "description": "An API key"});
    canonical::sorted(document)
}

/// A parameter that takes the rest of a path has no form of its own in OpenAPI: `{*path}` is `{path}`.
fn name_rests(document: &mut Value) {
    if let Some(paths) = document["paths"].as_object_mut() {
        let named = std::mem::take(paths).into_iter();
        paths.extend(named.map(|(path, operations)| (path.replace("{*", "{"), operations)));
    }
}

/// Every operation of the document.
fn operations(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    let paths = document["paths"].as_object_mut();
    let paths = paths.into_iter().flat_map(|paths| paths.values_mut());
    paths
        .filter_map(Value::as_object_mut)
        .flat_map(|path| path.values_mut())
}

/// A schema as a part of the document: its own definitions are found inside it.
fn embedded(mut schema: Value) -> Value {
    let Some(fields) = schema.as_object_mut() else {
        return schema;
    };
    // With an `$id` of its own, `#/$defs/…` inside the schema means this schema.
    if !fields.contains_key("$id")
        && let Some(title) = fields.get("title").and_then(Value::as_str)
    {
        let id = format!("urn:charter:schema:{title}");
        fields.insert("$id".to_owned(), Value::String(id));
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references<'d>(part: &'d Value, found: &mut Vec<&'d str>) {
        match part {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|field| references(field, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Annotations and types name schemas by text.
    #[test]
    fn every_reference_leads_to_a_schema() {
        let document = document();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 100, "{}", found.len());
        for reference in found {
            let pointer = reference.strip_prefix('#');
            let target = pointer.and_then(|pointer| document.pointer(pointer));
            assert!(target.is_some(), "{reference}");
        }
    }

    #[test]
    fn a_sent_plan_is_of_exactly_one_kind() {
        let document = document();
        let order = &document["components"]["schemas"]["plan_order"];
        assert_eq!(order["required"], Value::Null);
        let kinds = order["oneOf"].as_array().unwrap().iter();
        let kinds: Vec<_> = kinds.map(|kind| kind["required"][0].as_str()).collect();
        assert_eq!(
            kinds,
            ["execution_plan", "pipeline", "decision_tree"].map(Some)
        );
    }

    /// Documents of other specifications, and what is any JSON.
    const OF_OTHERS: [&str; 6] = [
        "a2a_call",
        "agent_card",
        "agent_skills_mapping",
        "card_keys",
        "openapi",
        "show_schema",
    ];

    /// What says nothing about itself cannot be checked, neither by clients nor by tests.
    #[test]
    fn every_body_and_every_answer_is_described() {
        let document = document();
        let operations = document["paths"].as_object().unwrap().values();
        for operation in operations.flat_map(|path| path.as_object().unwrap().values()) {
            let id = operation["operationId"].as_str().unwrap();
            let answers = operation["responses"].as_object().unwrap().values();
            let answers = answers.filter(|_| !OF_OTHERS.contains(&id));
            for body in answers.chain([&operation["requestBody"]]) {
                let body = &body["content"]["application/json"];
                let described = body.is_null() || !body["schema"]["$ref"].is_null();
                assert!(described || body["schema"]["anyOf"].is_array(), "{id}");
            }
        }
    }

    /// Contracts, bodies and answers are named in one place.
    #[test]
    fn no_two_schemas_have_one_name() {
        let contracts = schema::all().map(|entry| entry.name.as_str().to_owned());
        let bodies = routes::body_schemas().map(|(name, _)| name.to_owned());
        let answers = routes::answer_schemas().into_iter().map(|(name, _)| name);
        let mut names: Vec<_> = contracts.chain(bodies).chain(answers).collect();
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|two| two[0] == two[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }
}
