//! Every answer that a test gets is what the OpenAPI document says that the operation answers.

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

/// Fails when an answer is not of the form that the document has for it.
#[track_caller]
pub(crate) fn check(method: &str, path: &str, status: u16, body: &Value) {
    let path = path.split('?').next().unwrap_or(path);
    let operation = DOCUMENT["paths"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(template, _)| fits(template, path))
        .filter(|(_, operations)| !operations[method.to_lowercase()].is_null())
        .min_by_key(|(template, _)| template.matches('{').count());
    let Some((_, operations)) = operation else {
        return;
    };
    let operation = &operations[method.to_lowercase()];
    let answer = &operation["responses"][status.to_string()];
    assert!(!answer.is_null(), "{method} {path} answered {status}");
    let schema = &answer["content"]["application/json"]["schema"];
    if let Some(reference) = schema["$ref"].as_str() {
        let problems = validator(reference);
        let problems = problems.iter_errors(body);
        let problems: Vec<String> = problems
            .map(|problem| format!("{}: {problem}", problem.instance_path()))
            .collect();
        assert!(
            problems.is_empty(),
            "{method} {path}: {problems:#?} in {body:#}"
        );
    }
}

fn validator(reference: &str) -> Arc<Validator> {
    let mut compiled = COMPILED.lock().unwrap();
    let found = compiled.entry(reference.to_owned()).or_insert_with(|| {
        let schema = json!({"$ref": reference, "components": DOCUMENT["components"]});
        Arc::new(jsonschema::draft202012::new(&schema).unwrap())
    });
    Arc::clone(found)
}

/// Whether a path is of a template, in which a name stands for one segment.
fn fits(template: &str, path: &str) -> bool {
    let (wanted, found) = (template.split('/'), path.split('/'));
    wanted.clone().count() == found.clone().count()
        && wanted
            .zip(found)
            .all(|(wanted, found)| wanted == found || wanted.starts_with('{'))
}
