//! Documents that violate each contract, and the exact violations (B003-2). A case changes the named places of the
//! contract's example; `null` under `change` sets null, `remove` deletes a field.

use std::fs;
use std::path::Path;

use charter_contract::registry::validate;
use charter_contract::schema::SchemaName;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    change: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    remove: Vec<String>,
    #[serde(default)]
    violations: Vec<ExpectedViolation>,
}

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct ExpectedViolation {
    stage: String,
    pointer: String,
    keyword: String,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    suggestion: Option<String>,
}

/// Returns the example of a contract: this project's, else the seed's.
fn example(name: SchemaName) -> Value {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let file = match name {
        SchemaName::AgentSkill => "agent_skill_folder.json".to_owned(),
        other => format!("{other}.json"),
    };
    let own = tests.join("examples").join(&file);
    let path = if own.exists() {
        own
    } else {
        tests.join("seeds").join(&file)
    };
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn set_at_pointer(document: &mut Value, pointer: &str, value: Value) {
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer to a field");
    match document
        .pointer_mut(parent)
        .unwrap_or_else(|| panic!("nothing at {parent}"))
    {
        Value::Object(fields) => drop(fields.insert(name.replace("~1", "/"), value)),
        Value::Array(items) if name == "-" => items.push(value),
        Value::Array(items) => items[name.parse::<usize>().unwrap()] = value,
        other => panic!("{other} at {parent} has no fields"),
    }
}

fn remove_at_pointer(document: &mut Value, pointer: &str) {
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer to a field");
    let parent = document.pointer_mut(parent).and_then(Value::as_object_mut);
    assert!(
        parent.unwrap().remove(name).is_some(),
        "nothing at {pointer}"
    );
}

fn said_about(name: SchemaName, case: &Case) -> Vec<ExpectedViolation> {
    let mut document = example(name);
    for (pointer, value) in &case.change {
        set_at_pointer(&mut document, pointer, value.clone());
    }
    for pointer in &case.remove {
        remove_at_pointer(&mut document, pointer);
    }
    violations(name, &document)
}

fn violations(name: SchemaName, document: &Value) -> Vec<ExpectedViolation> {
    let found = serde_json::to_value(validate(name, document)).unwrap();
    serde_json::from_value(found).unwrap()
}

/// B003-2, B002-1, B002-7, B003-1.
#[test]
fn b003_2_every_violation_is_reported_exactly() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/invalid");
    for name in SchemaName::ALL {
        let path = folder.join(format!("{name}.json"));
        let cases: Vec<Case> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert!(!cases.is_empty(), "{name}");
        for case in &cases {
            let said = said_about(*name, case);
            assert!(
                !case.violations.is_empty(),
                "{name} {case:?}\n{}",
                serde_json::to_string(&said).unwrap()
            );
            assert_eq!(
                said, case.violations,
                "{name} {:?} {:?}",
                case.change, case.remove
            );
        }
    }
}

/// Thirteen fields are required, budgets are above 0, and enums are closed.
#[test]
fn b002_2_an_envelope_has_thirteen_fields_and_positive_budgets() {
    let name = SchemaName::MissionEnvelope;
    let envelope = example(name);
    let mut required = Vec::new();
    for field in envelope.as_object().unwrap().keys() {
        let mut document = envelope.clone();
        remove_at_pointer(&mut document, &format!("/{field}"));
        if !violations(name, &document).is_empty() {
            required.push(field.as_str());
        }
    }
    required.sort_unstable();
    assert_eq!(
        required,
        [
            "actor_id",
            "created_at",
            "mission_id",
            "mission_type",
            "normalized_goal",
            "origin_surface",
            "producer",
            "risk_level",
            "schema_name",
            "schema_version",
            "sensitivity_class",
            "tenant_id",
            "user_goal",
        ]
    );
    for (field, value, keyword) in [
        ("time_budget_ms", json!(0), "minimum"),
        ("token_budget", json!(-1), "minimum"),
        ("risk_level", json!("extreme"), "enum"),
    ] {
        let mut document = envelope.clone();
        document[field] = value;
        let found = violations(name, &document);
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|said| (said.pointer.as_str(), said.keyword.as_str()))
            .collect();
        assert_eq!(found, [(format!("/{field}").as_str(), keyword)]);
    }
}

fn task(id: &str, role: &str, needs: &[&str]) -> Value {
    json!({"task_id": id, "role_type": role, "objective": "x", "depends_on": needs})
}

/// Ids are unique, dependencies known, roles among the seven, and the graph is neither empty nor cyclic.
#[test]
fn b002_4_a_task_graph_is_acyclic_and_its_faults_are_named() {
    let name = SchemaName::MissionTaskGraph;
    let roles = "`boss` is not one of `planner`, `prompt_master`, `researcher`, `librarian`, `worker`, \
                 `aggregator`, `reviewer`";
    let cases = [
        (vec![], "minItems", "needs at least 1 item"),
        (
            vec![task("a", "worker", &[]), task("a", "worker", &[])],
            "unique",
            "the task `a` is defined twice",
        ),
        (
            vec![task("a", "worker", &["b"])],
            "dependency",
            "`a` depends on `b`, which is not a task here",
        ),
        (
            vec![task("a", "worker", &["b"]), task("b", "worker", &["a"])],
            "cycle",
            "these tasks form a cycle: a → b → a",
        ),
        (vec![task("a", "boss", &[])], "enum", roles),
    ];
    for (tasks, keyword, message) in cases {
        let mut document = example(name);
        document["tasks"] = Value::Array(tasks);
        let found = violations(name, &document);
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|said| (said.keyword.as_str(), said.message.as_str()))
            .collect();
        assert_eq!(found, [(keyword, message)]);
    }
}
