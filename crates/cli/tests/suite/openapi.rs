//! The API against its own description: schemathesis makes valid and invalid calls from the OpenAPI document, and
//! compares the answers with the document.
//!
//! The calls are equal in every run. `CHARTER_TEST_FUZZ_SEED` makes others, `CHARTER_TEST_FUZZ_EXAMPLES` more.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use crate::home::{Home, project, target};
use crate::isolation::document::{Document, places};
use crate::isolation::estate::{Estate, KnownIds};
use crate::packages::backups;

/// The checks of every answer.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";

/// Generated calls of each operation, in addition to those at every boundary.
const EXAMPLES: &str = "8";

/// The share of path parameters with an existing id.
const KNOWN_ONES: &str = "0.8";

/// The folder in which `make test` installs schemathesis.
fn schemathesis() -> PathBuf {
    let venv = target().join("api-venv");
    assert!(
        venv.join(".ready").is_file(),
        "this test needs schemathesis in {}: `make ready` installs it",
        venv.display()
    );
    venv.join("bin/schemathesis")
}

/// Runs it on a server, with a key if the server has keys, and with existing ids.
#[track_caller]
fn holds(home: &Home, base: &str, key: Option<&str>, known: &KnownIds) {
    let config = home.path("schemathesis.toml");
    std::fs::write(&config, configuration(known)).unwrap();
    let mut command = Command::new(schemathesis());
    command.current_dir(home.path("")).env_remove("PYTHONPATH");
    command
        .env("SCHEMATHESIS_HOOKS", "hooks")
        .env("PYTHONPATH", project().join("crates/cli/tests/api"));
    command.args(["--config-file", config.to_str().unwrap(), "run"]);
    command.arg(format!("{base}/v1/openapi.json"));
    command.args(["--checks", CHECKS, "--phases", "coverage,fuzzing"]);
    // One thread: in Python 3.11 two that parse Python at once break each other's parser, as hypothesis does.
    command.args(["--workers", "1"]);
    command.args(["--request-timeout", "60", "--no-color", "--warnings", "off"]);
    // This check is not about the API: paths of files leave the generator too few names.
    command.args(["--suppress-health-check", "filter_too_much"]);
    command.args(["--max-examples"]);
    command
        .arg(std::env::var("CHARTER_TEST_FUZZ_EXAMPLES").unwrap_or_else(|_| EXAMPLES.to_owned()));
    match std::env::var("CHARTER_TEST_FUZZ_SEED") {
        Ok(seed) => command.args(["--seed", &seed, "--generation-database", "none"]),
        Err(_) => command.args(["--seed", "1", "--generation-deterministic"]),
    };
    command.args(key.map(|key| format!("--header=Authorization: Bearer {key}")));
    let ran = command.output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success(),
        "{}{said}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let generated = said.lines().find_map(|line| line.split_once(" generated"));
    let count = generated.and_then(|(count, _)| count.trim().parse::<usize>().ok());
    assert!(
        count.is_some_and(|count| count > 1_000),
        "hardly anything was tried: {said}"
    );
    println!("{count:?} calls");
}

/// Parameters of paths draw from the existing ids.
fn configuration(known: &KnownIds) -> String {
    let mut text = String::new();
    let mut dictionaries = BTreeMap::new();
    for operation in Document::read().operations() {
        let places = places(&operation.path);
        let bound = places
            .iter()
            .filter(|(_, place)| known.contains_key(place.as_str()));
        let bound: Vec<String> = bound
            .map(|(parameter, place)| {
                dictionaries.insert(place.clone(), known[place.as_str()].clone());
                let name = parameter.trim_matches(['{', '}']);
                format!(
                    "\"path.{name}\" = {{dictionary = \"{place}\", probability = {KNOWN_ONES}}}"
                )
            })
            .collect();
        if !bound.is_empty() {
            text += &format!(
                "[[operations]]\ninclude-operation-id = {:?}\nparameters = {{{}}}\n",
                operation.id,
                bound.join(", ")
            );
        }
    }
    for (place, values) in dictionaries {
        text += &format!("[dictionaries.{place:?}]\nvalues = {values:?}\n");
    }
    text
}

/// A server of one person, with only one package.
#[test]
fn answers_keep_what_the_document_promises() {
    let home = Home::new();
    let server = home.serve();
    server.api.register(&backups());
    holds(&home, &server.api.base, None, &KnownIds::new());
}

/// A server with tenants, one of which has data of every kind, which most calls are about.
#[test]
fn answers_about_what_is_there_keep_what_the_document_promises() {
    let estate = Estate::new();
    let base = estate.server.api.base.clone();
    holds(&estate.home, &base, Some("ann"), &estate.known);
}
