//! Operations for tests.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::api::{Api, Argument, ArgumentLocation, Operation};

/// An operation without arguments.
pub(crate) fn operation(method: &str, path: &str, id: Option<&str>) -> Operation {
    Operation {
        pointer: String::new(),
        operation_id: id.map(str::to_owned),
        method: method.parse().unwrap(),
        path: path.to_owned(),
        tags: vec!["pets".to_owned()],
        summary: String::new(),
        description: String::new(),
        arguments: Vec::new(),
        body: None,
        output: None,
        credentials: Vec::new(),
        base: "https://api.example".to_owned(),
        host: "api.example".to_owned(),
        deprecated: false,
        pagination: None,
        notes: Vec::new(),
    }
}

/// A required argument.
pub(crate) fn argument(name: &str, location: ArgumentLocation, schema: &Value) -> Argument {
    Argument {
        name: name.to_owned(),
        wire_name: name.to_owned(),
        location,
        required: true,
        schema: schema.as_object().unwrap().clone(),
        separator: None,
    }
}

/// A required text in the path.
pub(crate) fn in_path(name: &str) -> Argument {
    argument(name, ArgumentLocation::Path, &json!({"type": "string"}))
}

/// An API of operations.
pub(crate) fn api(operations: Vec<Operation>) -> Api {
    Api {
        title: "Pets".to_owned(),
        version: "1".to_owned(),
        description: String::new(),
        format: "OpenAPI 3.1.0".to_owned(),
        operations,
        left_out: Vec::new(),
        left_out_count: 0,
        credentials: BTreeMap::new(),
        unused_credentials: BTreeMap::new(),
        server_variables: BTreeMap::new(),
        tags: BTreeMap::new(),
        notes: Vec::new(),
    }
}
