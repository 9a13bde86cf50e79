//! A running API is imported by its own description and driven: a question, a write with an approval, its undoing.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::{Value, json};

use crate::home::{Home, project, request, target};
use crate::playbooks::{KEYS, decide, path_of, settled};
use crate::shared::Tenants;
use crate::watched::Watched;

/// The program with the API.
struct NotesApi {
    program: Watched,
    port: u64,
}

impl NotesApi {
    /// Starts the API, whose calls need this key, if any.
    fn start(key: Option<&str>) -> Self {
        let mut command = Command::new(target().join("quickstart-venv/bin/python"));
        command.arg(project().join("crates/cli/tests/api/notes.py"));
        command.args(key);
        let program = Watched::start(command);
        let port = program.next()["port"].as_u64().unwrap();
        Self { program, port }
    }

    fn document(&self) -> String {
        format!("http://127.0.0.1:{}/openapi.json", self.port)
    }

    /// The next call that the API received.
    fn next(&self) -> (String, String, Value) {
        let call = self.program.next();
        let text = |field: &str| call[field].as_str().unwrap().to_owned();
        (text("method"), text("path"), call["body"].clone())
    }
}

fn call(method: &str, path: &str, body: Value) -> (String, String, Value) {
    (method.to_owned(), path.to_owned(), body)
}

/// A home that may fetch descriptions from this machine.
fn importing() -> Home {
    Home::new().with("CHARTER_LENSES__EGRESS", "127.0.0.1:*")
}

#[test]
fn an_imported_api_answers_changes_and_is_undone() {
    let api = NotesApi::start(None);
    let server = Tenants::with_keys(&KEYS);
    let ann = server.key("ann");
    let home = importing()
        .with("CHARTER_SERVER", &ann.base)
        .with("CHARTER_API_KEY", ann.key.as_deref().unwrap());
    let package = home.path("notes");
    let package = package.to_str().unwrap();
    let document = api.document();
    let arguments = [
        "import",
        "openapi",
        &document,
        "--package",
        package,
        "--output",
        "json",
    ];
    let imported = home.run(&arguments).json(0);
    assert_eq!(
        (&imported["operations"], &imported["writes"]),
        (&json!(6), &json!(2))
    );
    let validated = home.run(&["package", "validate", package]);
    assert_eq!(validated.code, Some(0), "{validated:?}");
    let registered = home.run(&["package", "register", package]);
    assert_eq!(registered.code, Some(0), "{registered:?}");

    let answer = ann.ask(&request("List all notes of the team")).expect(200);
    let used = json!(["notes.api.list_notes"]);
    assert_eq!(answer["metadata"]["tools_used"], used, "{answer:#}");
    assert_eq!(api.next(), call("GET", "/notes", Value::Null));

    let note = json!({"text": "buy milk"});
    let started = ann.post(
        "/v1/playbooks/notes.create_note/runs",
        &json!({"parameters": note}),
    );
    let run = started.expect(201);
    let waiting = settled(&ann, &run, "awaiting_approval");
    decide(&ann, &waiting["approvals"][0], "approve").expect(200);
    let done = settled(&ann, &run, "completed");
    assert_eq!(api.next(), call("POST", "/notes", note));

    let undoing = ann
        .post(&path_of(&done, "/rollback"), &json!({}))
        .expect(201);
    let waiting = settled(&ann, &undoing, "awaiting_approval");
    decide(&ann, &waiting["approvals"][0], "approve").expect(200);
    settled(&ann, &undoing, "completed");
    assert_eq!(api.next(), call("DELETE", "/notes/2", Value::Null));
}

/// The trial has the grants of the configuration, here a credential and this machine.
#[test]
fn a_trial_asks_three_questions_of_the_import() {
    let api = NotesApi::start(Some("k3y"));
    let home = importing();
    let package = home.path("notes");
    let package = package.to_str().unwrap();
    let document = api.document();
    let run = |home: &Home, more: &[&str]| {
        let arguments = [
            "import",
            "openapi",
            &document,
            "--package",
            package,
            "--output",
            "json",
        ];
        home.run(&[&arguments[..], more].concat())
    };
    let imported = run(&home, &["--dry-run"]).json(0);
    let variable = imported["credentials"][0].as_str().unwrap();
    let granted = importing()
        .with(variable, "k3y")
        .with("CHARTER_TOOLS__ENVIRONMENT", variable);
    let tried = run(&granted, &["--try"]).json(0);
    let tried = tried["tried"].as_array().unwrap();
    assert_eq!(tried.len(), 3, "{tried:#?}");
    let questions = tried.iter().map(|one| one["question"].as_str().unwrap());
    assert_eq!(
        questions.collect::<BTreeSet<_>>(),
        BTreeSet::from([
            "List all notes of the team",
            "Count how much each author has written",
            "Check whether the service is healthy"
        ])
    );
    assert!(tried.iter().all(|one| one["right"] == true), "{tried:#?}");
    for _ in 0..3 {
        assert_eq!(api.next().0, "GET");
    }
}

/// The operator names another address for the server of the document: here one on this machine, which the tools may
/// reach by it.
#[test]
fn a_server_of_the_configuration_replaces_that_of_the_document() {
    let api = NotesApi::start(None);
    let address = format!("http://127.0.0.1:{}/", api.port);
    let home = importing()
        .with("CHARTER_TOOLS__EGRESS", "unused.example")
        .with(
            "CHARTER_TOOLS__SERVERS__NOTES__URL",
            "https://notes.example/v1",
        )
        .with("CHARTER_TOOLS__SERVERS__NOTES__ADDRESS", &address);
    let package = home.path("notes");
    let document = api.document();
    let arguments = [
        "import",
        "openapi",
        &document,
        "--package",
        package.to_str().unwrap(),
        "--base-url",
        "https://notes.example/v1",
        "--try",
        "--output",
        "json",
    ];
    let tried = home.run(&arguments).json(0);
    assert_eq!(tried["hosts"], json!(["notes.example"]));
    for one in tried["tried"].as_array().unwrap() {
        assert_eq!(one["right"], true, "{one:#}");
        assert_eq!(api.next().0, "GET");
    }
}
