//! The first hour of a package's author: create, change and try a package.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::home::{Home, project, request_of};
use crate::watched::Watched;

/// A package as `charter init` creates it.
fn begun(home: &Home) -> String {
    let dir = home.path("service-owners");
    let dir = dir.to_str().unwrap().to_owned();
    home.run(&["init", "service-owners", "--dir", &dir, "--output", "json"])
        .json(0);
    dir
}

/// A running `charter dev` over the home's data.
fn working(home: &Home, dir: &str) -> Watched {
    let data = home.data();
    let over = ["--data-dir", data.to_str().unwrap(), "--output", "json"];
    let dev = ["dev", dir, "--listen", "127.0.0.1:0"];
    home.watch(&[over, dev].concat())
}

fn edit(file: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{text}");
    std::fs::write(file, text.replace(from, to)).unwrap();
}

/// A new package passes its own tests and answers; a second `init` overwrites nothing.
#[test]
fn a_new_package_is_sound_and_answers() {
    let home = Home::new();
    let dir = begun(&home);
    let report = home
        .run(&["package", "validate", &dir, "--output", "json"])
        .json(0);
    assert_eq!(
        report["problems"].as_array().unwrap().len(),
        0,
        "{report:#}"
    );
    let tests = report["tests"].as_array().unwrap();
    assert!(
        tests.len() > 3 && tests.iter().all(|test| test["passed"] == true),
        "{report:#}"
    );
    let loaded = home
        .run(&["dev", &dir, "--once", "--output", "json"])
        .json(0);
    assert_eq!(loaded["in_force"], true, "{loaded:#}");
    let server = home.serve();
    let request = request_of(
        "service_owners.who_owns",
        serde_json::json!({"service": "payments"}),
    );
    let answer = server.api.ask(&request).expect(200);
    assert!(answer.to_string().contains("Team Ledger"), "{answer:#}");
    let again = home.run(&["init", "service-owners", "--dir", &dir]);
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.err.contains("is already a package"), "{again:?}");
}

/// Each change is checked and served; after an error, the last valid draft stays in force.
#[test]
fn a_change_is_in_force_when_it_is_sound() {
    let home = Home::new();
    let dir = begun(&home);
    let dev = working(&home, &dir);
    let first = dev.next();
    assert_eq!(first["in_force"], true, "{first:#}");
    let version = first["version"].as_str().unwrap();
    assert!(version.starts_with("0.1.0+draft."), "{version}");
    let tests = Path::new(&dir).join("tests/routing.yaml");
    edit(
        &tests,
        "the weather in Paris",
        "the owner of the payments service",
    );
    let failing = dev.next();
    assert_eq!(failing["in_force"], false, "{failing:#}");
    let failed: Vec<&Value> = failing["tests"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|test| test["passed"] == false)
        .collect();
    assert_eq!(failed.len(), 1, "{failing:#}");
    assert_eq!(failed[0]["reached"], "service_owners.who_owns");
    let listed = home.run(&["package", "list", "--output", "json"]).json(0);
    assert_eq!(listed[0]["version"], version);
    edit(
        &tests,
        "the owner of the payments service",
        "the weather in Rome",
    );
    let mended = dev.next();
    assert_eq!(mended["in_force"], true, "{mended:#}");
    let listed = home.run(&["package", "list", "--output", "json"]).json(0);
    assert_eq!(listed[0]["version"], mended["version"]);
    assert_ne!(mended["version"], version);
    edit(
        &Path::new(&dir).join("package.yaml"),
        "name: service-owners",
        "name: [",
    );
    assert_eq!(dev.next()["in_force"], false);
}

/// If a server holds the data, that server gets the package.
#[test]
fn a_server_that_runs_is_worked_with() {
    let home = Home::new();
    let dir = begun(&home);
    let server = home.serve();
    let dev = working(&home, &dir);
    assert_eq!(dev.next()["in_force"], true);
    let packages = server.api.get("/v1/packages").expect(200);
    assert_eq!(packages[0]["package"], "service-owners", "{packages:#}");
}

/// Editors find the schema that a file names, and it accepts the file.
#[test]
fn every_file_names_a_schema_that_takes_it() {
    let home = Home::new();
    let dir = begun(&home);
    let folders = [
        "",
        "domains",
        "guardrails",
        "skills",
        "templates",
        "tests",
        "tools",
    ];
    let mut seen = 0;
    for folder in folders {
        for file in std::fs::read_dir(Path::new(&dir).join(folder)).unwrap() {
            let path = file.unwrap().path();
            let Ok(text) = std::fs::read_to_string(&path) else {
                continue;
            };
            let Some(named) = text
                .lines()
                .find_map(|line| line.strip_prefix("# yaml-language-server: $schema="))
            else {
                assert!(
                    path.is_dir() || path.extension().is_some_and(|ending| ending == "py"),
                    "{path:?}"
                );
                continue;
            };
            let schema = path.parent().unwrap().join(named);
            let schema: Value =
                serde_json::from_str(&std::fs::read_to_string(schema).unwrap()).unwrap();
            let document: Value = charter_domain::source::read(&text).unwrap().value;
            let validator = jsonschema::validator_for(&schema).unwrap();
            let faults: Vec<String> = validator
                .iter_errors(&document)
                .map(|fault| fault.to_string())
                .collect();
            assert_eq!(faults, [""; 0], "{path:?}");
            seen += 1;
        }
    }
    assert_eq!(seen, 7);
}

/// The folders of packages, and the schemas of the files in them.
const SCHEMAS: [(&str, &[&str]); 14] = [
    ("", &["package_manifest"]),
    ("agents", &["agent"]),
    ("domains", &["domain"]),
    ("expert_graph", &["graph_node", "graph_edge"]),
    ("guardrails", &["guardrail"]),
    ("lenses", &["domain_lens"]),
    ("missions", &["mission_type"]),
    ("playbooks", &["playbook"]),
    ("policies", &["policy"]),
    ("prompts", &["prompt_template"]),
    ("skills", &["skill"]),
    ("templates", &["template"]),
    ("tests", &["routing_test"]),
    ("tools", &["tool"]),
];

/// The YAML files that the packages of this repository have in a folder, with their content.
fn shipped(folder: &str) -> Vec<(PathBuf, Value)> {
    let packages = std::fs::read_dir(project().join("packages")).unwrap();
    let folders = packages.map(|package| package.unwrap().path().join(folder));
    let files = folders.filter_map(|folder| std::fs::read_dir(folder).ok());
    let paths = files.flatten().map(|file| file.unwrap().path());
    let written = paths.filter(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let document = charter_domain::source::read(&text).unwrap().value;
        (path, document)
    };
    written.map(read).collect()
}

/// The documents of a file as a list.
fn listed(document: &Value) -> Vec<Value> {
    let parts = document.get("nodes").or_else(|| document.get("edges"));
    match parts.unwrap_or(document) {
        Value::Array(all) => all.clone(),
        one => vec![one.clone(), one.clone()],
    }
}

/// The committed schemas accept each file as it is and as a list, and refuse a list with any other element.
#[test]
fn shipped_files_fit_the_committed_schemas() {
    for (folder, names) in SCHEMAS {
        let files = shipped(folder);
        assert!(!files.is_empty(), "{folder}");
        for name in names {
            let schema = project().join(format!("schemas/{name}.json"));
            let schema = std::fs::read_to_string(schema).unwrap();
            let schema: Value = serde_json::from_str(&schema).unwrap();
            let validator = jsonschema::validator_for(&schema).unwrap();
            for (path, document) in &files {
                let faults = validator.iter_errors(document);
                let faults: Vec<String> = faults.map(|fault| fault.to_string()).collect();
                assert_eq!(faults, [""; 0], "{name}: {path:?}");
                let mut list = listed(document);
                assert!(validator.is_valid(&json!(list)), "{name}: {path:?}");
                list.push(json!({"no_such_field": 1}));
                assert!(!validator.is_valid(&json!(list)), "{name}: {path:?}");
            }
        }
    }
}
