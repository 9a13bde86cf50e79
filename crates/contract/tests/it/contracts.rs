//! Tests every contract with the seeds' examples, with this project's examples, and for agreement: the typed reader
//! accepts exactly the values that the schema and the meaning checks accept.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use charter_contract::registry::{self, inspect, validate};
use charter_contract::schema::{Draft, SchemaName};
use charter_contract::validate::{Contract, guess, parse};
use charter_contract::violation::Report;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value, json};

/// Operations of a test on a type that it knows only by contract.
struct Typed {
    /// Whether the typed reader accepts a value that uses stored spellings only.
    reads: fn(&Value) -> bool,
    /// Whether the fast and the slow path together accept the bytes.
    parses: fn(&[u8]) -> bool,
    /// Parses the bytes and returns the stored form.
    stores: fn(&[u8]) -> Result<Value, String>,
    /// Whether the meaning checks accept a value that the typed reader accepts.
    means: fn(&Value) -> bool,
}

const fn typed<T: Contract>() -> Typed {
    Typed {
        reads: |value| T::deserialize(value).is_ok(),
        parses: |bytes| parse::<T>(bytes).is_ok(),
        stores: |bytes| {
            let document = parse::<T>(bytes).map_err(|found| format!("{found:?}"))?;
            serde_json::to_value(document).map_err(|error| error.to_string())
        },
        means: |value| {
            let mut report = Report::new();
            if let Ok(document) = T::deserialize(value) {
                document.check(&mut report);
            }
            report.violations.is_empty()
        },
    }
}

macro_rules! typed_contracts {
    ($($path:path),+ $(,)?) => { [$( (<$path as Contract>::NAME, typed::<$path>()) ),+] };
}

fn typed_contract(name: SchemaName) -> Typed {
    use charter_contract::agentic as a;
    use charter_contract::catalogue as c;
    use charter_contract::mission as m;
    let all = typed_contracts![
        c::skill::Skill,
        c::tool::Tool,
        c::guardrail::Guardrail,
        c::lens::DomainLens,
        c::template::Template,
        c::playbook::Playbook,
        c::tags::TagRecord,
        c::agent::AgentManifest,
        c::graph::GraphNode,
        c::graph::GraphEdge,
        c::domain::Domain,
        c::evidence::EvidenceRecord,
        charter_contract::link_graph::AgentSkill,
        m::envelope::MissionEnvelope,
        m::task_graph::MissionTaskGraph,
        m::prompt_package::PromptPackage,
        m::research_artifact::ResearchArtifact,
        m::librarian_pass::LibrarianPass,
        m::worker_result::WorkerResult,
        m::aggregation_packet::AggregationPacket,
        m::review_packet::ReviewPacket,
        m::policy_decision::PolicyDecision,
        m::writeback_proposal::WritebackProposal,
        a::request::AgentRequest,
        a::response::AgentResponse,
        a::error::AgentError,
        a::tool_definition::ToolDefinition,
        a::memory::MemoryEntry,
        charter_contract::plan::ExecutionPlan,
        a::tool_invocation::ToolInvocation,
        a::tool_result::ToolResult,
        a::session::Session,
        a::context_model::ContextModel,
        a::file_system_operation::FileSystemOperation,
        a::environment_access::EnvironmentAccess,
        a::network_request::NetworkRequest,
        a::pipeline_definition::PipelineDefinition,
        a::decision_tree::DecisionTree,
        c::policy::Policy,
        c::mission_type::MissionType,
        c::prompt::PromptTemplate,
        c::schedule::Schedule,
        charter_contract::package::PackageManifest,
        charter_contract::package::RoutingTest,
        charter_contract::package::PackageBundle,
        charter_contract::finding::Finding,
        charter_contract::executor::ExecutorCall,
        charter_contract::executor::ExecutorOutcome,
    ];
    assert_eq!(all.len(), SchemaName::ALL.len());
    all.into_iter()
        .find(|(known, _)| *known == name)
        .expect("every contract has a type")
        .1
}

/// Returns the examples in one folder; the contract is the longest name that prefixes the file name.
fn examples(folder: &str) -> Vec<(SchemaName, PathBuf, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(folder);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let read = |path: PathBuf| {
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let names = SchemaName::ALL
            .iter()
            .filter(|name| stem.starts_with(name.as_str()));
        let name = *names
            .max_by_key(|name| name.as_str().len())
            .expect("named after a contract");
        let value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        (name, path, value)
    };
    paths.into_iter().map(read).collect()
}

fn all_examples() -> Vec<(SchemaName, PathBuf, Value)> {
    examples("seeds")
        .into_iter()
        .chain(examples("examples"))
        .collect()
}

/// B002-2, B003-1: the seeds' own examples are valid.
#[test]
fn every_example_of_the_seeds_validates_and_is_recognised() {
    let seeds = examples("seeds");
    assert_eq!(seeds.len(), 23);
    for (name, path, value) in seeds {
        assert_eq!(validate(name, &value), vec![], "{}", path.display());
        assert!(
            (typed_contract(name).parses)(value.to_string().as_bytes()),
            "{}",
            path.display()
        );
        assert_eq!(guess(&value), Some(name), "{}", path.display());
    }
}

#[test]
fn every_contract_has_an_example_that_validates_and_is_recognised() {
    let mut seen = BTreeSet::new();
    for (name, path, value) in all_examples() {
        seen.insert(name);
        assert_eq!(validate(name, &value), vec![], "{}", path.display());
        assert_eq!(guess(&value), Some(name), "{}", path.display());
    }
    let all: BTreeSet<SchemaName> = SchemaName::ALL.iter().copied().collect();
    assert_eq!(seen, all);
}

/// Ruling 15: the second form is stored; a stored document is read back unchanged, without the slow path, and keeps
/// its contract.
#[test]
fn ruling_15_stored_documents_survive_a_round_trip() {
    for (name, path, value) in all_examples() {
        let stored = (typed_contract(name).stores)(value.to_string().as_bytes()).unwrap();
        let again = (typed_contract(name).stores)(stored.to_string().as_bytes()).unwrap();
        assert_eq!(stored, again, "{}", path.display());
        assert!((typed_contract(name).reads)(&stored), "{}", path.display());
        assert_eq!(validate(name, &stored), vec![], "{}", path.display());
        let underscored = |field: &String| field.starts_with('_');
        assert!(
            !stored.as_object().unwrap().keys().any(underscored),
            "{stored}"
        );
    }
}

#[test]
fn the_seeds_playbook_is_accepted_with_its_warnings() {
    let playbook = examples("seeds")
        .into_iter()
        .find(|(name, ..)| *name == SchemaName::Playbook);
    let report = inspect(SchemaName::Playbook, &playbook.unwrap().2);
    let warnings: Vec<(String, String)> = report
        .warnings
        .into_iter()
        .map(|w| (w.pointer, w.message))
        .collect();
    assert_eq!(
        warnings,
        [
            (
                "/context/declared_context_builders",
                "context builders are deprecated; the field is ignored"
            ),
            (
                "/scripts/1/body",
                "`${sg_id}`: no step `sg_id` runs before `step_2`"
            ),
            (
                "/rollback_steps/0/script_id",
                "the script `step_2_rollback` is not defined; the rollback cannot run"
            ),
        ]
        .map(|(pointer, message)| (pointer.to_owned(), message.to_owned()))
    );
}

/// The committed schemas equal the generated ones.
#[test]
fn committed_schemas_are_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    for entry in registry::all() {
        let path = folder.join(format!("{}.json", entry.name));
        let written: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert!(
            written == entry.of_file(),
            "{} is not what is generated: `cargo run -p xtask -- codegen` writes it",
            path.display()
        );
    }
}

/// B003-1: nine contracts are authored here and marked; six are the seed's own text.
#[test]
fn b003_1_authored_contracts_are_marked_and_the_seeds_are_verbatim() {
    let marked = registry::all().filter(|entry| entry.json().get("x-charter-authored").is_some());
    let draft07: Vec<&str> = marked
        .filter(|entry| entry.draft == Draft::Draft07)
        .map(|entry| entry.name.as_str())
        .collect();
    assert_eq!(
        draft07,
        [
            "tool_invocation",
            "tool_result",
            "session",
            "context_model",
            "file_system_operation",
            "environment_access",
            "network_request",
            "pipeline_definition",
            "decision_tree"
        ]
    );
    let seed: Vec<&str> = registry::all()
        .filter_map(|entry| entry.json()["$id"].as_str())
        .filter_map(|id| id.strip_prefix("https://unifiedagents.org/schemas/"))
        .collect();
    assert_eq!(
        seed,
        [
            "request.json",
            "response.json",
            "error.json",
            "tool-definition.json",
            "memory-entry.json",
            "execution-plan.json"
        ]
    );
}

/// Lists the pointers to every part of a value.
fn pointers_in(value: &Value, here: &str, found: &mut Vec<String>) {
    found.push(here.to_owned());
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                pointers_in(
                    field,
                    &format!("{here}/{}", name.replace('~', "~0").replace('/', "~1")),
                    found,
                );
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                pointers_in(item, &format!("{here}/{at}"), found);
            }
        }
        _ => {}
    }
}

/// Values that violate a rule, or almost do.
fn odd_values() -> Vec<Value> {
    let mut values = vec![
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(-1),
        json!(1.0),
        json!(1.5),
        json!(0.5),
        json!(11),
        json!(9_007_199_254_740_992_u64),
        json!(1e300),
        json!(-1e300),
        json!(""),
        json!("x"),
        json!(" "),
        json!("a b"),
        json!("v1"),
        json!("v2"),
        json!("readonly"),
        json!("read"),
        json!("write"),
        json!("expression"),
        json!("é".repeat(200)),
        json!("a".repeat(201)),
        json!([]),
        json!([null]),
        json!(["x", "x"]),
        json!({}),
        json!({ "x": 1 }),
        json!({ "type": "script" }),
        json!({ "domain": "security" }),
        json!("2026-04-14T12:00:00Z"),
        json!("2026-04-14T12:00:00.5+02:00"),
        json!("2026-04-14"),
        json!("https://example.com"),
        json!("http://example.com/a b"),
        json!("file:///etc"),
        json!("step-001"),
        json!("step_1"),
        json!("1.0"),
        json!("1.0.0-rc.1+b"),
        json!([0.5, 1]),
    ];
    values.push(json!("req-01930000-0000-7000-8000-000000000001"));
    values
}

const ODD_NAMES: &[&str] = &[
    "unknown",
    "_id",
    "id",
    "classification",
    "_version",
    "version",
    "_created_at",
    "type",
    "parameters",
    "depends_on",
    "tenant_id",
    "enum",
    "default",
    "condition",
    "status",
];

#[derive(Debug, Clone)]
enum Mutation {
    Remove(Index),
    Replace(Index, Index),
    Add(Index, Index, Index),
    Copy(Index, Index),
    Repeat(Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let at = any::<Index>;
    prop_oneof![
        at().prop_map(Mutation::Remove),
        (at(), at()).prop_map(|(a, b)| Mutation::Replace(a, b)),
        (at(), at(), at()).prop_map(|(a, b, c)| Mutation::Add(a, b, c)),
        (at(), at()).prop_map(|(a, b)| Mutation::Copy(a, b)),
        at().prop_map(Mutation::Repeat),
    ]
}

fn mutate(value: &mut Value, mutation: &Mutation) {
    let mut found = Vec::new();
    pointers_in(value, "", &mut found);
    let odd = odd_values();
    match mutation {
        Mutation::Remove(at) => {
            let place = at.get::<String>(&found);
            let Some((parent, name)) = place.rsplit_once('/') else {
                return;
            };
            match value.pointer_mut(parent) {
                Some(Value::Object(fields)) => drop(fields.remove(name)),
                Some(Value::Array(items)) => drop(items.remove(name.parse().unwrap())),
                _ => {}
            }
        }
        Mutation::Replace(at, with) => {
            if let Some(place) = value.pointer_mut(at.get::<String>(&found)) {
                *place = with.get(&odd).clone();
            }
        }
        Mutation::Add(at, name, with) => {
            if let Some(Value::Object(fields)) = value.pointer_mut(at.get::<String>(&found)) {
                fields.insert((*name.get(ODD_NAMES)).to_owned(), with.get(&odd).clone());
            }
        }
        Mutation::Copy(from, to) => {
            let copied = value.pointer(from.get::<String>(&found)).cloned();
            if let (Some(copied), Some(place)) =
                (copied, value.pointer_mut(to.get::<String>(&found)))
            {
                *place = copied;
            }
        }
        Mutation::Repeat(at) => {
            let lists: Vec<&String> = found
                .iter()
                .filter(|place| value.pointer(place).is_some_and(Value::is_array))
                .collect();
            if let Some(place) = (!lists.is_empty()).then(|| (*at.get(&lists)).clone())
                && let Some(Value::Array(items)) = value.pointer_mut(&place)
                && let Some(last) = items.last().cloned()
            {
                items.push(last);
            }
        }
    }
}

/// Whether a value uses none of the spellings that are accepted on input only.
fn uses_stored_spellings(name: SchemaName, value: &Value) -> bool {
    let fields = value.as_object().cloned().unwrap_or_else(Map::new);
    !name
        .entry()
        .aliases()
        .iter()
        .any(|alias| fields.contains_key(alias.authored))
}

/// Checks that the typed reader, the schema with meaning, and the two paths agree.
fn check_agreement(name: SchemaName, value: &Value) -> Result<(), TestCaseError> {
    let typed = typed_contract(name);
    let schema = name.entry().accepts(value).unwrap();
    let violations = validate(name, value);
    if uses_stored_spellings(name, value) {
        let reads = (typed.reads)(value);
        if name.entry().json()["$id"]
            .as_str()
            .unwrap()
            .starts_with("https:")
        {
            // The seed's schemas allow integers of any size; Charter's stay within 2^53.
            prop_assert!(
                schema || !reads,
                "typed accepts, schema refuses: {name} {value}"
            );
            let large = violations
                .iter()
                .any(|v| v.message.contains("9007199254740991"));
            prop_assert!(
                reads || !schema || large,
                "typed refuses, schema accepts: {name} {value}"
            );
        } else {
            prop_assert_eq!(
                reads,
                schema,
                "typed against schema: {} {} {:?}",
                name,
                value,
                violations
            );
        }
        let accepted = reads && (typed.means)(value);
        prop_assert_eq!(violations.is_empty(), accepted, "{} {}", name, value);
    }
    let parsed = (typed.parses)(value.to_string().as_bytes());
    prop_assert_eq!(
        parsed,
        violations.is_empty(),
        "the two paths: {} {} {:?}",
        name,
        value,
        violations
    );
    Ok(())
}

/// Replaces every part of every example with every odd value, and removes it.
#[test]
fn typed_reading_agrees_with_schema_and_meaning_in_every_place() {
    let odd = odd_values();
    for (name, path, example) in all_examples() {
        let mut found = Vec::new();
        pointers_in(&example, "", &mut found);
        for place in &found {
            for value in &odd {
                let mut changed = example.clone();
                *changed.pointer_mut(place).unwrap() = value.clone();
                check_agreement(name, &changed)
                    .unwrap_or_else(|why| panic!("{} {place}: {why}", path.display()));
            }
            let mut changed = example.clone();
            let Some((parent, field)) = place.rsplit_once('/') else {
                continue;
            };
            if let Some(Value::Object(fields)) = changed.pointer_mut(parent) {
                fields.remove(field);
            }
            check_agreement(name, &changed)
                .unwrap_or_else(|why| panic!("{} {place}: {why}", path.display()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, ..ProptestConfig::default() })]

    /// The typed reader and the schema accept the same values, and so do the two paths.
    #[test]
    fn typed_reading_agrees_with_schema_and_meaning(
        which in any::<Index>(),
        mutations in prop::collection::vec(mutation(), 1..4),
    ) {
        let examples = EXAMPLES.with(Clone::clone);
        let (name, _, example) = which.get(&examples);
        let mut value = example.clone();
        for mutation in &mutations {
            mutate(&mut value, mutation);
        }
        check_agreement(*name, &value)?;
    }
}

thread_local! {
    static EXAMPLES: std::rc::Rc<Vec<(SchemaName, PathBuf, Value)>> = std::rc::Rc::new(all_examples());
}
