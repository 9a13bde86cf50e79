use charter_contract::bounds::{PARAMETERS, TOOL_CREDENTIALS};
use charter_contract::catalogue::tool::{BodyFormat, HttpMethod};
use serde_json::{Value, json};

use super::*;
use crate::api::{Argument, ArgumentLocation, Body, CredentialUse};
use crate::documents::Location;

fn read_text(text: &str, options: &ReadOptions) -> Api {
    let documents = DocumentSet::open(Location::file("api.yaml"), text, []).unwrap();
    read(&documents, options).unwrap()
}

fn read_value(document: &Value) -> Api {
    let options = ReadOptions {
        prefix: "pets".to_owned(),
        ..ReadOptions::default()
    };
    read_text(&document.to_string(), &options)
}

/// An OpenAPI document of one path.
fn with_path(path: &str, item: &Value) -> Value {
    json!({
        "openapi": "3.0.3", "info": {"title": "Pets", "version": "1"},
        "servers": [{"url": "https://api.example/v1"}], "paths": {path: item},
    })
}

/// Name, name in the request, location and whether it is required, of each argument.
fn arguments(operation: &Operation) -> Vec<(&str, &str, ArgumentLocation, bool)> {
    let arguments = operation.arguments.iter();
    arguments
        .map(|argument| {
            let Argument {
                name,
                wire_name,
                location,
                required,
                ..
            } = argument;
            (name.as_str(), wire_name.as_str(), *location, *required)
        })
        .collect()
}

const PET_SHOP: &str = r#"
openapi: 3.1.0
info: { title: Pet shop, version: 2.0.0 }
tags: [{ name: pets, description: All pets }]
servers:
  - url: https://{region}.api.example/{version}
    variables:
      region: { default: eu, enum: [eu, us] }
      version: { default: v1 }
security: [{ token: [] }]
components:
  securitySchemes:
    token: { type: http, scheme: bearer }
  parameters:
    id: { name: pet-id, in: path, required: true, schema: { type: string } }
  schemas:
    Pet:
      type: object
      required: [name]
      properties:
        id: { type: integer, readOnly: true }
        name: { type: string, description: "The  name\nof the pet" }
paths:
  /pets/{pet-id}:
    parameters: [{ $ref: '#/components/parameters/id' }]
    put:
      operationId: replacePet
      tags: [pets]
      summary: Replace a pet
      parameters:
        - { name: dry, in: query, schema: { type: boolean } }
        - { name: X-Trace, in: header, schema: { type: string } }
        - { name: session, in: cookie, required: true, schema: { type: string } }
      requestBody:
        required: true
        content: { application/json: { schema: { $ref: '#/components/schemas/Pet' } } }
      responses:
        200: { description: ok, content: { application/json: { schema: { $ref: '#/components/schemas/Pet' } } } }
        404: { description: none }
"#;

#[test]
fn an_openapi_3_document_is_read() {
    let api = read_text(
        PET_SHOP,
        &ReadOptions {
            prefix: "pets".to_owned(),
            ..ReadOptions::default()
        },
    );
    assert_eq!(
        (api.title.as_str(), api.format.as_str()),
        ("Pet shop", "OpenAPI 3.1.0")
    );
    let [operation] = api.operations.as_slice() else {
        panic!("{api:?}");
    };
    assert_eq!(operation.method, HttpMethod::Put);
    assert_eq!(operation.pointer, "/paths/~1pets~1{pet-id}/put");
    assert_eq!(operation.base, "https://eu.api.example/v1");
    assert_eq!(operation.host, "eu.api.example");
    assert_eq!(
        arguments(operation),
        [
            ("pet_id", "pet-id", ArgumentLocation::Path, true),
            ("dry", "dry", ArgumentLocation::Query, false),
            ("X_Trace", "X-Trace", ArgumentLocation::Header, false),
            ("session", "session", ArgumentLocation::Cookie, true),
            ("name", "name", ArgumentLocation::BodyField, true),
        ]
    );
    assert_eq!(
        operation.arguments[4].schema["description"],
        "The name of the pet"
    );
    assert_eq!(
        operation.body,
        Some(Body {
            format: BodyFormat::Json,
            content_type: None
        })
    );
    assert_eq!(operation.credentials, ["PETS_TOKEN"]);
    let CredentialUse::Header { name, prefix } = &api.credentials["PETS_TOKEN"].sent else {
        panic!("{:?}", api.credentials);
    };
    assert_eq!((name.as_str(), *prefix), ("authorization", "Bearer "));
    let output = operation.output.as_ref().unwrap();
    assert_eq!(
        output["properties"]["id"],
        json!({"type": ["integer", "null"]})
    );
    assert_eq!(api.server_variables["region"], "eu");
    assert_eq!(api.tags["pets"], "All pets");
}

#[test]
fn a_swagger_2_document_is_read() {
    let api = read_value(&json!({
        "swagger": "2.0", "info": {"title": "Pets", "version": "1"},
        "host": "api.example:8443", "basePath": "/v1", "schemes": ["http", "https"], "consumes": ["application/json"],
        "securityDefinitions": {"api_key": {"type": "apiKey", "in": "query", "name": "key"}},
        "paths": {
            "/pets": {
                "get": {
                    "security": [{"api_key": []}],
                    "parameters": [
                        {"name": "ids", "in": "query", "type": "array", "items": {"type": "string"}},
                        {"name": "tags", "in": "query", "type": "array", "items": {"type": "string"},
                         "collectionFormat": "multi"},
                        {"name": "limit", "in": "query", "type": "integer", "maximum": 10, "exclusiveMaximum": true},
                    ],
                    "responses": {"200": {"schema": {"type": "array", "items": {"type": "object"}}}},
                },
                "post": {"parameters": [
                    {"name": "pet", "in": "body", "required": true, "schema": {"type": "object", "required": ["a"],
                     "properties": {"a": {"type": "string"}}}},
                ]},
            },
            "/photos": {"post": {"parameters": [
                {"name": "photo", "in": "formData", "type": "file", "required": true},
                {"name": "title", "in": "formData", "type": "string"},
            ]}},
            "/form": {"post": {"parameters": [{"name": "n", "in": "formData", "type": "integer"}]}},
        },
    }));
    let [list, create, photo, form] = api.operations.as_slice() else {
        panic!("{api:?}");
    };
    assert_eq!(list.base, "https://api.example:8443/v1");
    assert_eq!(list.host, "api.example:8443");
    let separators: Vec<_> = list
        .arguments
        .iter()
        .map(|argument| argument.separator)
        .collect();
    assert_eq!(separators, [Some(","), None, None]);
    assert_eq!(
        list.arguments[2].schema,
        *json!({"type": "integer", "exclusiveMaximum": 10})
            .as_object()
            .unwrap()
    );
    assert_eq!(list.credentials, ["PETS_API_KEY"]);
    assert!(list.output.is_some());
    assert_eq!(
        arguments(create),
        [("a", "a", ArgumentLocation::BodyField, true)]
    );
    assert_eq!(photo.body.as_ref().unwrap().format, BodyFormat::Multipart);
    assert_eq!(
        photo.arguments[0].schema["properties"]["base64"]["type"],
        "string"
    );
    assert_eq!(form.body.as_ref().unwrap().format, BodyFormat::Form);
}

#[test]
fn one_bad_operation_does_not_refuse_the_others() {
    let mut document = with_path("/ok", &json!({"get": {"responses": {}}}));
    document["paths"]["/open/{id"] = json!({"get": {}});
    document["paths"]["/trace"] = json!({"trace": {}});
    document["paths"]["/text"] = json!({"get": "text"});
    document["paths"]["/dangling"] = json!({"$ref": "#/nothing"});
    document["paths"]["/body"] = json!({"post": {"requestBody": {"$ref": "../../secret.yaml"}}});
    document["paths"]["/server"] = json!({"get": {"servers": [{"url": "ftp://files.example"}]}});
    let api = read_value(&document);
    let read: Vec<String> = api.operations.iter().map(Operation::heading).collect();
    assert_eq!(read, ["GET /ok"]);
    let left_out: Vec<(&str, &str)> = api
        .left_out
        .iter()
        .map(|left| (left.operation.as_str(), left.reason.as_str()))
        .collect();
    assert_eq!(
        left_out,
        [
            ("GET /open/{id", "the braces of the path do not match"),
            ("TRACE /trace", "HTTP tools do not send the method TRACE"),
            ("GET /text", "the operation is no object"),
            ("* /dangling", "`#/nothing` leads to nothing"),
            (
                "POST /body",
                "the body: `../../secret.yaml`: outside of the document's folder"
            ),
            (
                "GET /server",
                "the server `ftp://files.example` is not an http or https URL of a host, without a password"
            ),
        ]
    );
    assert_eq!(api.left_out[0].pointer, "/paths/~1open~1{id/get");
}

#[test]
fn names_of_arguments_are_valid_and_unique() {
    let parameters = json!([
        {"name": "id", "in": "path", "schema": {"type": "string"}},
        {"name": "id", "in": "query", "schema": {"type": "string"}},
        {"name": "filter", "in": "query", "style": "deepObject", "schema": {"type": "object", "properties": {
            "name": {"type": "string"}, "in": {"type": "array", "items": {"type": "string"}}}}},
        {"name": "$top", "in": "query", "schema": {"type": "integer"}},
        {"name": "2fa", "in": "query", "schema": {"type": "string"}},
        {"name": "日本", "in": "query", "schema": {"type": "string"}},
        {"name": "${env.SECRET}", "in": "header", "schema": {"type": "string"}},
        {"name": "Host", "in": "header", "schema": {"type": "string"}},
        {"name": "bad", "in": "nowhere"},
    ]);
    let api = read_value(&with_path(
        "/a/{id}/{undeclared}",
        &json!({"get": {"parameters": parameters}}),
    ));
    let [operation] = api.operations.as_slice() else {
        panic!("{api:?}");
    };
    let names: Vec<(&str, &str)> = arguments(operation)
        .into_iter()
        .map(|(name, wire_name, _, _)| (name, wire_name))
        .collect();
    assert_eq!(
        names,
        [
            ("id", "id"),
            ("id_query", "id"),
            ("filter_name", "filter[name]"),
            ("filter_in", "filter[in]"),
            ("top", "$top"),
            ("p_2fa", "2fa"),
            ("value", "日本"),
            ("undeclared", "undeclared"),
        ]
    );
    assert_eq!(operation.notes.len(), 2, "{:?}", operation.notes);
}

#[test]
fn bodies_of_other_formats_are_read() {
    let body = |media_type: &str, schema: Value| {
        let item = json!({"post": {"requestBody": {"content": {media_type: {"schema": schema}}}}});
        let api = read_value(&with_path("/a", &item));
        let operation = api.operations.into_iter().next().unwrap();
        let names: Vec<String> = operation
            .arguments
            .into_iter()
            .map(|argument| argument.name)
            .collect();
        (operation.body.unwrap(), names)
    };
    let object = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let formatted = |format, content_type: Option<&str>| Body {
        format,
        content_type: content_type.map(str::to_owned),
    };
    for (media_type, schema, expected, names) in [
        (
            "application/x-www-form-urlencoded",
            object.clone(),
            formatted(BodyFormat::Form, None),
            ["a"],
        ),
        (
            "multipart/form-data",
            object.clone(),
            formatted(BodyFormat::Multipart, None),
            ["a"],
        ),
        (
            "application/vnd.api+json",
            object.clone(),
            formatted(BodyFormat::Json, Some("application/vnd.api+json")),
            ["a"],
        ),
        (
            "application/xml",
            object,
            formatted(BodyFormat::Text, Some("application/xml")),
            ["body"],
        ),
        (
            "application/json",
            json!({"type": "array"}),
            formatted(BodyFormat::Json, None),
            ["body"],
        ),
    ] {
        let (found, found_names) = body(media_type, schema);
        assert_eq!(found, expected, "{media_type}");
        assert_eq!(found_names, names, "{media_type}");
    }
}

/// The media type that the tool sends, and the type of the argument that is the whole body.
fn patch_body(content: &Value) -> (Option<String>, Option<Value>) {
    let item = json!({"patch": {"requestBody": {"required": true, "content": content}}});
    let api = read_value(&with_path("/a", &item));
    let operation = api.operations.into_iter().next().unwrap();
    let body = operation.body.unwrap();
    let mut arguments = operation.arguments.into_iter();
    let whole = arguments.find(|argument| argument.location == ArgumentLocation::Body);
    let kind = whole.map(|argument| argument.schema["type"].clone());
    (body.content_type, kind)
}

#[test]
fn the_media_type_of_a_patch_fits_the_schema_of_its_body() {
    let object = json!({"schema": {"type": "object"}});
    let list = json!({"schema": {"type": "array", "items": {"type": "object"}}});
    let [patch, merge, json] = [
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/json",
    ];
    let strategic = "application/strategic-merge-patch+json";
    for (content, media_type, kind) in [
        (
            json!({patch: object, merge: object, json: object}),
            None,
            "object",
        ),
        (
            json!({patch: object, merge: object, strategic: object}),
            Some(merge),
            "object",
        ),
        (
            json!({patch: list, strategic: object}),
            Some(patch),
            "array",
        ),
        (
            json!({patch: object, strategic: object}),
            Some(strategic),
            "object",
        ),
        (json!({patch: object}), Some(patch), "array"),
        (json!({patch: list}), Some(patch), "array"),
    ] {
        let (found, found_kind) = patch_body(&content);
        assert_eq!(found.as_deref(), media_type, "{content}");
        assert_eq!(found_kind, Some(json!(kind)), "{content}");
    }
}

/// As Kubernetes describes it: one schema for all media types.
#[test]
fn the_media_type_of_a_swagger_patch_fits_the_schema_of_its_body() {
    let api = read_value(&json!({
        "swagger": "2.0", "info": {"title": "Pods", "version": "1"}, "host": "api.example",
        "definitions": {"Patch": {"type": "object"}},
        "paths": {"/pods/{name}": {"patch": {
            "consumes": ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"],
            "parameters": [
                {"name": "body", "in": "body", "required": true, "schema": {"$ref": "#/definitions/Patch"}},
                {"name": "name", "in": "path", "required": true, "type": "string"},
            ],
        }}},
    }));
    let operation = &api.operations[0];
    let expected = Body {
        format: BodyFormat::Json,
        content_type: Some("application/merge-patch+json".to_owned()),
    };
    assert_eq!(operation.body.as_ref(), Some(&expected));
    let whole = operation.arguments.iter().find(|one| one.name == "body");
    assert_eq!(whole.unwrap().schema["type"], "object");
}

#[test]
fn servers_are_resolved_and_can_be_replaced() {
    let mut document = with_path("/a", &json!({"get": {}}));
    let base = |document: &Value, options: &ReadOptions| {
        let api = read_text(&document.to_string(), options);
        let bases = api.operations.into_iter().map(|operation| operation.base);
        (bases.collect::<Vec<_>>(), api.notes.len())
    };
    let given = ReadOptions {
        base_url: Some("http://127.0.0.1:5000/x/".to_owned()),
        ..ReadOptions::default()
    };
    assert_eq!(
        base(&document, &given),
        (vec!["http://127.0.0.1:5000/x".to_owned()], 0)
    );
    document["servers"] = json!([{"url": "https://{tenant}.example"}]);
    let unset = ReadOptions::default();
    assert_eq!(base(&document, &unset), (Vec::new(), 0));
    let set = ReadOptions {
        server_variables: [("tenant".to_owned(), "acme".to_owned())].into(),
        ..ReadOptions::default()
    };
    assert_eq!(
        base(&document, &set),
        (vec!["https://acme.example".to_owned()], 0)
    );
    document["servers"] = json!([{"url": "/v2"}]);
    assert_eq!(
        base(&document, &unset),
        (vec!["http://localhost/v2".to_owned()], 1)
    );
}

#[test]
fn security_that_calls_cannot_express_is_noted() {
    let mut document = with_path("/a", &json!({"get": {"security": [{"cert": []}]}}));
    document["paths"]["/b"] =
        json!({"get": {"security": [{"cert": []}, {"basic": [], "cookie": []}]}});
    document["paths"]["/c"] = json!({"get": {"security": []}});
    document["security"] = json!([{"basic": []}]);
    document["components"] = json!({"securitySchemes": {
        "cert": {"type": "mutualTLS"}, "basic": {"type": "http", "scheme": "Basic"},
        "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
    }});
    let api = read_value(&document);
    let credentials: Vec<&[String]> = api
        .operations
        .iter()
        .map(|one| one.credentials.as_slice())
        .collect();
    assert_eq!(credentials[0], [""; 0]);
    assert_eq!(credentials[1], ["PETS_BASIC", "PETS_COOKIE"]);
    assert_eq!(credentials[2], [""; 0]);
    assert_eq!(
        api.operations[0].notes,
        ["calls cannot authenticate by `cert`: its type `mutualTLS` is not supported"]
    );
}

/// Many schemes and parameters may have one name in Charter.
#[test]
fn hostile_numbers_of_parameters_and_schemes_are_bounded() {
    let parameter = |number| json!({"in": "query", "name": "ä".repeat(number), "schema": {}});
    let parameters: Vec<Value> = (1..=PARAMETERS + 1).map(parameter).collect();
    let mut document = with_path("/a", &json!({"get": {"parameters": parameters}}));
    let names = (1..=2_000).map(|number| "ä".repeat(number % 50) + &"ö".repeat(number / 50));
    let schemes: BTreeMap<String, Value> = names
        .map(|name| (name, json!({"type": "http", "scheme": "basic"})))
        .collect();
    let together: BTreeMap<&String, Value> = schemes
        .keys()
        .take(TOOL_CREDENTIALS + 1)
        .map(|name| (name, json!([])))
        .collect();
    document["paths"]["/b"] = json!({"get": {"security": [together]}});
    document["components"] = json!({"securitySchemes": schemes});
    let api = read_value(&document);
    let reason = api.left_out[0].reason.as_str();
    assert_eq!(
        reason,
        "it has 1001 arguments; the limit PARAMETERS is 1000"
    );
    assert_eq!(api.operations[0].credentials, [""; 0]);
    let note = api.operations[0].notes[0].as_str();
    assert!(note.contains("TOOL_CREDENTIALS"), "{note}");
}

#[test]
fn pages_are_noted() {
    let described = |parameters: Value| {
        let api = read_value(&with_path(
            "/a",
            &json!({"get": {"parameters": parameters}}),
        ));
        api.operations.into_iter().next().unwrap().pagination
    };
    let query = |name: &str| json!({"name": name, "in": "query", "schema": {"type": "integer"}});
    assert_eq!(described(json!([])), None);
    assert_eq!(
        described(json!([query("page"), query("per_page")])).as_deref(),
        Some("Returns pages, by the number `page`, `per_page` entries each.")
    );
    assert_eq!(
        described(json!([query("pageToken")])).as_deref(),
        Some("Returns pages: `pageToken` is the mark of the last page.")
    );
}

#[test]
fn other_documents_are_refused() {
    for (document, expected) in [
        (
            json!({"openapi": "4.0.0", "paths": {}}),
            "not an OpenAPI 3.0 or 3.1 or Swagger 2.0 document: `openapi` is \"4.0.0\", `swagger` is absent",
        ),
        (json!({"openapi": "3.0.0"}), "the document has no `paths`"),
    ] {
        let documents =
            DocumentSet::open(Location::file("a.json"), &document.to_string(), []).unwrap();
        let refused = read(&documents, &ReadOptions::default()).unwrap_err();
        assert_eq!(refused.to_string(), expected);
    }
    let unquoted = "swagger: 2.0\npaths: {}\nhost: api.example\n";
    let api = read_text(unquoted, &ReadOptions::default());
    assert_eq!(api.format, "Swagger 2.0");
}

#[test]
fn a_document_of_many_operations_is_read_up_to_the_limit() {
    let paths: serde_json::Map<String, Value> = (0..100_000)
        .map(|at| (format!("/p{at}"), json!({"get": {}})))
        .collect();
    let mut document = with_path("/", &json!({}));
    document["paths"] = Value::Object(paths);
    let api = read_value(&document);
    assert_eq!(api.operations.len(), IMPORT_OPERATIONS);
    assert_eq!(api.left_out_count, 100_000 - IMPORT_OPERATIONS);
    assert_eq!(api.left_out.len(), IMPORT_LEFT_OUT);
}

#[test]
fn a_part_of_the_operations_can_be_selected() {
    let mut document = with_path(
        "/pets",
        &json!({"get": {"tags": ["pets"]}, "post": {"tags": ["pets"]}}),
    );
    document["paths"]["/toys"] = json!({"get": {"tags": ["toys"]}});
    let selection = Selection {
        include: vec!["tag:pets".parse().unwrap()],
        exclude: vec!["method:POST".parse().unwrap()],
    };
    let options = ReadOptions {
        selection,
        ..ReadOptions::default()
    };
    let api = read_text(&document.to_string(), &options);
    let read: Vec<String> = api.operations.iter().map(Operation::heading).collect();
    assert_eq!(
        (read.as_slice(), api.left_out_count),
        (&["GET /pets".to_owned()][..], 0)
    );
}

#[test]
fn one_operation_of_a_path_can_be_selected() {
    let document = with_path(
        "/pets/{id}",
        &json!({
            "get": {"operationId": "pets/get"}, "put": {"operationId": "pets/replace"},
            "delete": {"operationId": "pets/delete"},
        }),
    );
    for (include, expected) in [
        ("path:/pets/{id}", 3),
        ("path:GET /pets/{id}", 1),
        ("operation:pets/get", 1),
        ("operation:pets/*", 3),
        ("operation:pets", 0),
    ] {
        let options = ReadOptions {
            selection: Selection {
                include: vec![include.parse().unwrap()],
                exclude: Vec::new(),
            },
            ..ReadOptions::default()
        };
        let api = read_text(&document.to_string(), &options);
        assert_eq!(api.operations.len(), expected, "{include}");
    }
}

#[test]
fn streams_of_kubernetes_are_left_out() {
    let query = |name: &str, kind: &str| json!({"name": name, "in": "query", "type": kind, "uniqueItems": true});
    let mut document = json!({
        "swagger": "2.0", "info": {"title": "Pods", "version": "1"}, "host": "api.example",
        "parameters": {"watch": query("watch", "boolean")},
        "paths": {
            "/pods": {
                "get": {"operationId": "listPods", "x-kubernetes-action": "list"},
                "parameters": [query("limit", "integer"), {"$ref": "#/parameters/watch"}],
            },
            "/pods/{name}/log": {"get": {
                "operationId": "readLog", "x-kubernetes-action": "get",
                "parameters": [query("follow", "boolean"), query("container", "string")],
            }},
            "/watch/pods": {"get": {"operationId": "watchPods", "x-kubernetes-action": "watchlist"}},
        },
    });
    let names = |document: &Value| -> Vec<Vec<String>> {
        let operations = read_value(document).operations.into_iter();
        let names = operations.map(|operation| {
            let arguments = operation.arguments.into_iter();
            arguments.map(|argument| argument.name).collect()
        });
        names.collect()
    };
    assert_eq!(names(&document), [vec!["limit"], vec!["container", "name"]]);
    let api = read_value(&document);
    assert_eq!(
        api.operations[0].notes,
        ["the parameter `watch` is left out: the answer would not end"]
    );
    assert_eq!(api.left_out_count, 1);
    assert_eq!(
        api.left_out[0].reason,
        "its answer would not end (`x-kubernetes-action: watchlist`)"
    );
    // Another API may have a parameter of this name.
    let log = &mut document["paths"]["/pods/{name}/log"]["get"];
    log.as_object_mut().unwrap().remove("x-kubernetes-action");
    assert_eq!(names(&document)[1], ["follow", "container", "name"]);
}
