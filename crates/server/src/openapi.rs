//! The OpenAPI 3.1 document: operations from the handlers' annotations, schemas from the contracts and the types of
//! bodies, and each operation's failures, derived from its properties.

use charter_contract::{canonical, registry};
use serde_json::{Value, json};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::json::Json;
use crate::routes::{self, COMPONENTS};
use crate::state::AppState;

mod failures;
mod plain;
mod streams;

#[derive(OpenApi)]
#[openapi(
    info(title = "Charter", description = "The contract-first context engine and mission runtime for AI agents.", license(name = "Apache-2.0", identifier = "Apache-2.0")),
    security(("api_key" = []), ())
)]
struct Api;

/// The API, with the address of its own description.
pub(crate) fn api() -> OpenApiRouter<AppState> {
    routes::api().routes(utoipa_axum::routes!(show))
}

/// This description of the API.
#[utoipa::path(get, path = "/v1/openapi.json", tag = "schemas", operation_id = "get_openapi",
    responses((status = 200, description = "OpenAPI 3.1", body = Object)))]
async fn show() -> Json<Value> {
    Json(document())
}

/// The whole document as JSON.
#[must_use]
pub fn document() -> Value {
    let (_, operations) = api().split_for_parts();
    let mut api = Api::openapi();
    api.merge(operations);
    let mut document = serde_json::to_value(&api).unwrap_or_default();
    name_rests(&mut document);
    let contracts =
        registry::all().map(|entry| (entry.name.as_str().to_owned(), embedded(entry.written())));
    let bodies = routes::body_schemas();
    let bodies = bodies.map(|(name, schema)| (name.to_owned(), schema));
    let described = contracts.chain(bodies).chain(routes::answer_schemas());
    document["components"]["schemas"] = Value::Object(described.collect());
    failures::describe(&mut document);
    streams::describe(&mut document);
    if let Some(components) = document["components"]["schemas"].as_object_mut() {
        plain::write(components);
    }
    require_bodies(&mut document);
    document["servers"] =
        json!([{"url": "/", "description": "The server that serves this document"}]);
    document["components"]["securitySchemes"]["api_key"] =
        json!({"type": "http", "scheme": "bearer", "description": "An API key"});
    canonical::sorted(document)
}

/// Renames a parameter for the rest of a path, which OpenAPI cannot express: `{*path}` becomes `{path}`.
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

/// Marks required bodies; a body with only optional members may be omitted, but not an arbitrary object.
fn require_bodies(document: &mut Value) {
    let schemas = document["components"]["schemas"].clone();
    for operation in operations(document) {
        let Some(body) = operation.get_mut("requestBody") else {
            continue;
        };
        let contents = body["content"].as_object().into_iter().flatten();
        let named = contents.map(|(_, content)| &content["schema"]);
        let mut bodies = named.filter_map(|schema| referenced(schema, &schemas));
        if bodies.any(|body| needs_members(body, &schemas) || is_arbitrary(body)) {
            body["required"] = true.into();
        }
    }
}

/// The component that a schema refers to.
fn referenced<'s>(schema: &Value, schemas: &'s Value) -> Option<&'s Value> {
    let name = schema["$ref"].as_str()?;
    schemas.get(name.strip_prefix(COMPONENTS)?)
}

/// Whether a schema refuses an object without members.
fn needs_members(schema: &Value, schemas: &Value) -> bool {
    let requires = |schema: &Value| {
        let schema = referenced(schema, schemas).unwrap_or(schema);
        let names = schema["required"].as_array();
        names.is_some_and(|names| !names.is_empty())
    };
    let all_require = |choice: &str| {
        let forms = schema[choice].as_array();
        forms.is_some_and(|forms| forms.iter().all(requires))
    };
    requires(schema) || ["oneOf", "anyOf"].into_iter().any(all_require)
}

/// Whether a schema accepts any object.
fn is_arbitrary(schema: &Value) -> bool {
    schema["additionalProperties"] == true && schema.get("properties").is_none()
}

/// Embeds a schema in the document; its own definitions stay inside it.
fn embedded(mut schema: Value) -> Value {
    let Some(fields) = schema.as_object_mut() else {
        return schema;
    };
    // With its own `$id`, `#/$defs/…` inside the schema means this schema.
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
    use super::plain::{LISTED, NAMED, ONE};
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
        let order = &document["components"]["schemas"]["plan_run_request"];
        assert_eq!(order["required"], Value::Null);
        let kinds = order["oneOf"].as_array().unwrap().iter();
        let kinds: Vec<_> = kinds.map(|kind| kind["required"][0].as_str()).collect();
        assert_eq!(
            kinds,
            ["execution_plan", "pipeline", "decision_tree"].map(Some)
        );
    }

    /// Generated clients omit optional bodies.
    #[test]
    fn a_body_with_required_members_is_required() {
        let document = document();
        let required = |path: &str| &document["paths"][path]["post"]["requestBody"]["required"];
        for path in [
            "/v1/requests",
            "/v1/runs",
            "/v1/packages",
            "/v1/missions",
            "/v1/missions/import",
        ] {
            assert_eq!(required(path), true, "{path}");
        }
        for path in ["/v1/runs/{id}/abort", "/v1/playbooks/{id}/runs"] {
            assert_ne!(required(path), true, "{path}");
        }
    }

    /// Documents of other specifications.
    const OF_OTHERS: [&str; 6] = [
        "a2a_call",
        "get_agent_card",
        "get_agent_skills_mapping",
        "get_agent_card_keys",
        "get_openapi",
        "get_schema",
    ];

    /// Neither clients nor tests can check an undescribed schema.
    #[test]
    fn every_body_and_every_answer_is_described() {
        let document = document();
        let operations = document["paths"].as_object().unwrap().values();
        for operation in operations.flat_map(|path| path.as_object().unwrap().values()) {
            let id = operation["operationId"].as_str().unwrap();
            let answers = operation["responses"].as_object().unwrap().values();
            let bodies = answers.chain([&operation["requestBody"]]);
            for body in bodies.filter(|_| !OF_OTHERS.contains(&id)) {
                let body = &body["content"]["application/json"];
                let described = body.is_null() || !body["schema"]["$ref"].is_null();
                assert!(described || body["schema"]["anyOf"].is_array(), "{id}");
            }
        }
    }

    /// Collects a schema and every schema inside it, with their positions.
    fn within<'d>(schema: &'d Value, place: String, found: &mut Vec<(String, &'d Value)>) {
        for keyword in ONE.into_iter().chain(["additionalProperties"]) {
            if let Some(part) = schema.get(keyword) {
                within(part, format!("{place}/{keyword}"), found);
            }
        }
        for keyword in LISTED {
            let parts = schema.get(keyword).and_then(Value::as_array);
            for (at, part) in parts.into_iter().flatten().enumerate() {
                within(part, format!("{place}/{keyword}/{at}"), found);
            }
        }
        for keyword in NAMED {
            let parts = schema.get(keyword).and_then(Value::as_object);
            for (name, part) in parts.into_iter().flatten() {
                within(part, format!("{place}/{keyword}/{name}"), found);
            }
        }
        found.push((place, schema));
    }

    /// Collects the schemas of parameters, bodies and answers.
    fn of_operations<'d>(part: &'d Value, place: &str, found: &mut Vec<(String, &'d Value)>) {
        let parts: Vec<(String, &Value)> = match part {
            Value::Object(fields) => fields
                .iter()
                .map(|(name, part)| (name.clone(), part))
                .collect(),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items.map(|(at, part)| (at.to_string(), part)).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
        };
        for (name, part) in parts {
            let place = format!("{place}/{name}");
            if name == "schema" {
                within(part, place, found);
            } else {
                of_operations(part, &place, found);
            }
        }
    }

    /// Client generators fail on `true`, and on a list without an item schema.
    #[test]
    fn no_schema_is_a_boolean_and_every_list_has_items() {
        let document = document();
        let mut found = Vec::new();
        of_operations(&document["paths"], "/paths", &mut found);
        let of_answers = found.len();
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            within(schema, name.clone(), &mut found);
        }
        assert!(of_answers > 200, "{of_answers}");
        assert!(found.len() > 2_000, "{}", found.len());
        for (place, schema) in found {
            assert!(
                schema.is_object() || place.ends_with("/additionalProperties"),
                "{place}"
            );
            let types = [&schema["type"], &schema["type"][0], &schema["type"][1]];
            let said = !schema["items"].is_null() || !schema["prefixItems"].is_null();
            assert!(said || types.iter().all(|one| **one != "array"), "{place}");
        }
    }

    /// An answer would have two members of one name: serde writes the fields of a flattened choice beside the others.
    #[test]
    fn no_variant_of_a_choice_has_a_field_of_the_same_name_beside_it() {
        let document = document();
        let mut found = Vec::new();
        of_operations(&document["paths"], "/paths", &mut found);
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            within(schema, name.clone(), &mut found);
        }
        let mut doubled = Vec::new();
        for (place, schema) in found {
            let Some(beside) = schema["properties"].as_object() else {
                continue;
            };
            let variants = ["anyOf", "oneOf"].map(|choice| schema[choice].as_array());
            for variant in variants.into_iter().flatten().flatten() {
                let fields = variant["properties"].as_object().into_iter().flatten();
                let fields = fields.filter(|(name, _)| beside.contains_key(*name));
                doubled.extend(fields.map(|(name, _)| format!("{place}/{name}")));
            }
        }
        assert_eq!(doubled, [""; 0]);
    }

    /// A generator that reads a choice twice creates its classes twice, and then drops the form.
    #[test]
    fn no_variant_of_a_choice_has_an_unnamed_object() {
        let document = document();
        let components = document["components"]["schemas"].as_object().unwrap();
        let own = components
            .iter()
            .filter(|(_, schema)| schema["$id"].is_null());
        let mut unnamed = Vec::new();
        for (name, schema) in own {
            let forms = ["anyOf", "oneOf"].map(|choice| schema[choice].as_array());
            let forms = forms.into_iter().flatten().flatten();
            for properties in forms.filter_map(|form| form["properties"].as_object()) {
                for (property, place) in properties {
                    let mut found = Vec::new();
                    within(place, format!("{name}/{property}"), &mut found);
                    // A document inside a string does not become a class.
                    found.retain(|(place, part)| {
                        part["type"] == "object" && !place.contains("/contentSchema")
                    });
                    unnamed.extend(found.into_iter().map(|(place, _)| place));
                }
            }
        }
        assert_eq!(unnamed, [""; 0]);
    }

    /// Titles become the names of clients' classes, and operation ids those of methods.
    #[test]
    fn duplicate_schema_names_are_refused() {
        fn taken_twice(mut names: Vec<&str>) -> Vec<&str> {
            names.sort_unstable();
            let twice = names.windows(2).filter(|two| two[0] == two[1]);
            twice.map(|two| two[0]).collect()
        }
        let document = document();
        let components = document["components"]["schemas"]
            .as_object()
            .unwrap()
            .values();
        let titles = components.filter_map(|schema| schema["title"].as_str());
        assert_eq!(taken_twice(titles.collect()), [""; 0]);
        let operations = document["paths"].as_object().unwrap().values();
        let operations = operations.flat_map(|path| path.as_object().unwrap().values());
        let ids = operations.map(|operation| operation["operationId"].as_str().unwrap());
        assert_eq!(taken_twice(ids.collect()), [""; 0]);
    }

    #[test]
    fn the_document_names_its_server_and_licence() {
        let document = document();
        assert_eq!(document["servers"][0]["url"], "/");
        assert_eq!(document["info"]["license"]["identifier"], "Apache-2.0");
    }

    #[test]
    fn every_operation_has_a_success_a_failure_and_its_path_parameters() {
        let document = document();
        for (path, item) in document["paths"].as_object().unwrap() {
            let mut named: Vec<&str> = path.split(['{', '}']).skip(1).step_by(2).collect();
            named.sort_unstable();
            for (method, operation) in item.as_object().unwrap() {
                let of = format!("{method} {path}");
                let answers = operation["responses"].as_object().unwrap();
                for class in ["2", "4"] {
                    assert!(
                        answers.keys().any(|status| status.starts_with(class)),
                        "{of}"
                    );
                }
                let parameters = operation["parameters"].as_array();
                let parameters = parameters.map(Vec::as_slice).unwrap_or_default().iter();
                let parameters = parameters.filter(|parameter| parameter["in"] == "path");
                let mut declared: Vec<_> = parameters
                    .map(|parameter| parameter["name"].as_str().unwrap())
                    .collect();
                declared.sort_unstable();
                assert_eq!(declared, named, "{of}");
            }
        }
    }

    /// Contracts, bodies and answers share one namespace.
    #[test]
    fn schema_names_are_unique() {
        let contracts = registry::all().map(|entry| entry.name.as_str().to_owned());
        let bodies = routes::body_schemas().map(|(name, _)| name.to_owned());
        let answers = routes::answer_schemas().into_iter().map(|(name, _)| name);
        let mut names: Vec<_> = contracts.chain(bodies).chain(answers).collect();
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|two| two[0] == two[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }
}
