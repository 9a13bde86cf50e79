//! Checks that every answer in the tests, and every event of a stream, conforms to the OpenAPI document.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::home::project;

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let text = std::fs::read_to_string(project().join("schemas/openapi.json")).unwrap();
    serde_json::from_str(&text).unwrap()
});

/// Validators by reference; each is compiled once for all tests.
static COMPILED: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);

/// Fails if an answer does not match its schema in the document.
#[track_caller]
pub(crate) fn check(method: &str, path: &str, status: u16, body: &Value) {
    let Some(operation) = operation(method, path) else {
        return;
    };
    let answer = &operation["responses"][status.to_string()];
    assert!(!answer.is_null(), "{method} {path} answered {status}");
    let schema = &answer["content"]["application/json"]["schema"];
    if let Some(reference) = schema["$ref"].as_str() {
        fits_schema(&format!("{method} {path}"), reference, body);
    }
}

/// Fails if a failure that the document lists does not match its schema, or has a code of another status.
#[track_caller]
pub(crate) fn check_failure(method: &str, path: &str, status: u16, body: &Value) {
    let schema = operation(method, path)
        .map(|operation| &operation["responses"][status.to_string()]["content"])
        .map(|content| &content["application/json"]["schema"]);
    if let Some(reference) = schema.and_then(|schema| schema["$ref"].as_str()) {
        fits_schema(&format!("{method} {path}"), reference, body);
    }
}

/// Fails if an event of a stream does not match any schema of the document for it.
#[track_caller]
pub(crate) fn check_stream(method: &str, path: &str, text: &str) {
    let schema = operation(method, path)
        .map(|operation| &operation["responses"]["200"]["content"]["text/event-stream"]["schema"]);
    let Some(reference) = schema.and_then(|schema| schema["$ref"].as_str()) else {
        return;
    };
    let stream = DOCUMENT.pointer(&reference[1..]).unwrap();
    // A stream with one kind of event has no choice.
    let forms: Vec<(String, &Value)> = match stream["oneOf"].as_array() {
        Some(forms) => {
            let forms = forms.iter().enumerate();
            forms
                .map(|(at, form)| (format!("{reference}/oneOf/{at}"), form))
                .collect()
        }
        None => vec![(reference.to_owned(), stream)],
    };
    for event in text.split("\n\n") {
        let field = |name| event.lines().find_map(|line| line.strip_prefix(name));
        let (Some(name), Some(data)) = (field("event: "), field("data: ")) else {
            continue;
        };
        let names = |form: &Value| form["properties"]["event"]["enum"].clone();
        let is_called = |form: &Value| names(form).as_array().unwrap().contains(&json!(name));
        let form = forms.iter().find(|(_, form)| is_called(form));
        let (form, _) = form.unwrap_or_else(|| panic!("{method} {path} sent an event `{name}`"));
        let held = format!("{form}/properties/data/contentSchema");
        let of = format!("the event `{name}` of {method} {path}");
        fits_schema(&of, &held, &serde_json::from_str(data).unwrap());
    }
}

/// The document's operation for a path; of several matches, the one with the fewest parameters.
fn operation(method: &str, path: &str) -> Option<&'static Value> {
    let path = path.split('?').next().unwrap_or(path);
    let path = path.trim_end_matches('/');
    let found = DOCUMENT["paths"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(template, _)| fits(template, path))
        .filter(|(_, operations)| !operations[method.to_lowercase()].is_null())
        .min_by_key(|(template, _)| template.matches('{').count());
    found.map(|(_, operations)| &operations[method.to_lowercase()])
}

#[track_caller]
fn fits_schema(of: &str, reference: &str, value: &Value) {
    let validator = validator(reference);
    let problems = validator.iter_errors(value);
    let problems: Vec<String> = problems
        .map(|problem| format!("{}: {problem}", problem.instance_path()))
        .collect();
    assert!(problems.is_empty(), "{of}: {problems:#?} in {value:#}");
}

fn validator(reference: &str) -> Arc<Validator> {
    let mut compiled = COMPILED.lock().unwrap();
    let found = compiled.entry(reference.to_owned()).or_insert_with(|| {
        let schema = json!({"$ref": reference, "components": DOCUMENT["components"]});
        Arc::new(jsonschema::draft202012::new(&schema).unwrap())
    });
    Arc::clone(found)
}

/// Whether a path matches a template, in which a parameter matches one segment.
fn fits(template: &str, path: &str) -> bool {
    let (wanted, found) = (template.split('/'), path.split('/'));
    wanted.clone().count() == found.clone().count()
        && wanted
            .zip(found)
            .all(|(wanted, found)| wanted == found || wanted.starts_with('{'))
}
