//! Operations of the OpenAPI document.

use std::collections::BTreeSet;

use charter_testkit::corpus;
use charter_testkit::hostile::Hostile;
use serde_json::{Value, json};

use super::{Body, Hostility, PLACE, endures, long, places, short};
use crate::isolation::document::{self, Document, Operation, escaped_bytes};
use crate::isolation::estate::KnownIds;

/// The length of a shape in a path or a query, in bytes; escaped it is up to three times as long.
const IN_HEAD: usize = 1_000;

/// Operations whose bodies are read in different ways.
const LONG: [&str; 6] = [
    "/v1/requests",
    "/v1/packages/validate",
    "/v1/runs",
    "/v1/agent-skills/import",
    "/a2a/v1/message:send",
    "/v1/missions/import",
];

/// Files of a package that are read in different ways.
const FILES: [&str; 4] = [
    "package.yaml",
    "tools/one.json",
    "expert_graph/one.yaml",
    "scripts/one.py",
];

/// Ids for bodies; none of them exists.
fn known() -> KnownIds {
    [
        ("memories", "mem-01930000-0000-7000-8000-000000000001"),
        ("missions", "m-1"),
        ("mission_type", "review"),
        ("tool", "vault.list_backups"),
        ("tool_definition", "tool-ask-the-porter"),
        ("skill", "reliability.find_stale_backups"),
        ("request_id", "req_01930000000070008000000000000001"),
        ("tasks", "req-01930000-0000-7000-8000-000000000001"),
        ("contextId", "sess-01930000-0000-7000-8000-000000000001"),
        (
            "assignment_lease",
            "lease-01930000-0000-7000-8000-000000000001",
        ),
        ("agent-skills", "sql"),
        ("candidate_run", "run-01930000-0000-7000-8000-000000000001"),
    ]
    .map(|(place, id)| (place, vec![id.to_owned()]))
    .into()
}

/// A request of an operation. The version header is for A2A; the others ignore it.
fn request(what: &str, method: &str, path: &str, body: Body) -> Hostility {
    Hostility::new(what, [method, path], &[("a2a-version", "1.0")], body)
}

/// The path of an operation with the same id for each parameter.
fn path(operation: &Operation, id: &str) -> String {
    let places = document::places(&operation.path);
    let named = places.iter().map(|(parameter, _)| parameter);
    named.fold(operation.path.clone(), |path, parameter| {
        path.replace(parameter, id)
    })
}

/// The hostile requests of one operation.
fn requests(document: &Document, operation: &Operation, shape: Hostile) -> Vec<Hostility> {
    let method = operation.method.as_str();
    let plain = path(operation, "x");
    let in_head = escaped_bytes(&shape.value(IN_HEAD));
    let mut all = Vec::new();
    if plain != operation.path {
        let what = format!("{shape:?} in the path");
        let path = path(operation, &in_head);
        all.push(request(&what, method, &path, Body::Plain(json!({}))));
    }
    let query = operation.query_names();
    let query: Vec<String> = query.map(|name| format!("{name}={in_head}")).collect();
    if !query.is_empty() {
        let what = format!("{shape:?} in the query");
        let path = format!("{plain}?{}", query.join("&"));
        all.push(request(&what, method, &path, Body::Empty));
    }
    if method != "get" {
        let whole = Body::Whole(shape, short(shape));
        all.push(request(
            &format!("{shape:?} as the body"),
            method,
            &plain,
            whole,
        ));
        let bodies = document.bodies(operation, &known());
        let bodies: Vec<Value> = bodies.into_iter().flatten().collect();
        let fields = fields(&bodies, shape).into_iter();
        all.extend(fields.map(|body| {
            let what = format!("{shape:?} in {body:.200}");
            request(
                &what,
                method,
                &plain,
                Body::Filled(body, shape, short(shape)),
            )
        }));
    }
    all
}

/// Valid bodies with placeholders: in all fields at once, and for the deep shape in each field alone.
fn fields(bodies: &[Value], shape: Hostile) -> Vec<Value> {
    let mut names = BTreeSet::new();
    let objects = bodies.iter().filter_map(Value::as_object);
    let unlike = objects.filter(|body| names.insert(body.keys().collect::<Vec<_>>()));
    let mut all: Vec<Value> = unlike.map(|body| places(body.keys())).collect();
    // The last one has every known field.
    if let Some(last) = bodies.last().filter(|_| shape == Hostile::Deep) {
        for name in last.as_object().into_iter().flat_map(|body| body.keys()) {
            let mut body = last.clone();
            body[name] = json!(PLACE);
            all.push(body);
        }
    }
    all
}

/// Packages with hostile files, and the corpus of packages.
fn packages() -> Vec<Hostility> {
    let mut all = Vec::new();
    let validate = "/v1/packages/validate";
    for shape in Hostile::ALL {
        let text = String::from_utf8_lossy(&shape.value(short(shape))).into_owned();
        for file in FILES {
            let what = format!("{shape:?} in {file}");
            let body = json!({"files": {file: text}});
            all.push(request(&what, "post", validate, Body::Plain(body)));
        }
    }
    for input in corpus::inputs("package") {
        let files = corpus::package_files(&String::from_utf8_lossy(&input.bytes));
        for path in [validate, "/v1/packages/diff"] {
            let body = json!({ "files": files });
            all.push(request(&input.name, "post", path, Body::Plain(body)));
        }
    }
    all
}

/// Long bodies, and long values in bodies that hold any.
fn long_bodies() -> Vec<Hostility> {
    let ask = json!({
        "id": "req-01930000-0000-7000-8000-000000000002", "timestamp": "2026-04-14T12:00:00Z", "input": "look",
        "metadata": {"parameters": {"vault": PLACE}},
    });
    let validate = json!({"files": {"docs/a.txt": PLACE}});
    let mut all = Vec::new();
    for shape in Hostile::ALL {
        let what = format!("{shape:?}, long");
        for path in LONG {
            let whole = Body::Whole(shape, long(shape));
            all.push(request(&what, "post", path, whole));
        }
        for (path, body) in [("/v1/requests", &ask), ("/v1/packages/validate", &validate)] {
            let filled = Body::Filled(body.clone(), shape, long(shape));
            all.push(request(&what, "post", path, filled));
        }
    }
    all
}

#[test]
fn every_operation_endures_hostile_shapes() {
    let document = Document::read();
    let mut all = Vec::new();
    for operation in document.operations() {
        for shape in Hostile::ALL {
            all.extend(requests(&document, &operation, shape));
        }
    }
    assert!(all.len() > 1_500, "{}", all.len());
    all.extend(packages());
    all.extend(long_bodies());
    endures(&all);
}
