//! The documents of seed 000 unchanged: registered with their references, refused without them. Their playbook uses
//! names that nothing defines.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::PlaybookId;
use charter_contract::package::PackageBundle;
use charter_domain::package::ProblemSeverity;
use charter_effects::{
    Extracted, Fetched, Media, RawSource, SourceError, SourceRequest, Sources, Validators,
};
use charter_store::journal::RunFilter;
use charter_store::page::PageRequest;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::engine::tests::{open, ports, sandbox};
use crate::{Caller, DryRun, Engine, Mode, Ports, Progress, Settings};

const SKILL: &str = include_str!("../../../../../contract/tests/seeds/skill.json");
const TOOL: &str = include_str!("../../../../../contract/tests/seeds/tool.json");
const PLAYBOOK: &str = "security.remediate_public_exposure";

/// The seed's documents, one of each kind.
const DOCUMENTS: [(&str, &str); 9] = [
    (
        "agents/agent.json",
        include_str!("../../../../../contract/tests/seeds/agent.json"),
    ),
    (
        "domains/domain.json",
        include_str!("../../../../../contract/tests/seeds/domain.json"),
    ),
    (
        "expert_graph/graph_node.json",
        include_str!("../../../../../contract/tests/seeds/graph_node.json"),
    ),
    (
        "guardrails/guardrail.json",
        include_str!("../../../../../contract/tests/seeds/guardrail.json"),
    ),
    (
        "lenses/domain_lens.json",
        include_str!("../../../../../contract/tests/seeds/domain_lens.json"),
    ),
    (
        "playbooks/playbook.json",
        include_str!("../../../../../contract/tests/seeds/playbook.json"),
    ),
    ("skills/skill.json", SKILL),
    (
        "templates/template.json",
        include_str!("../../../../../contract/tests/seeds/template.json"),
    ),
    ("tools/tool.json", TOOL),
];

/// The response at the address of the seed's lens.
struct LensAddress;

#[async_trait]
impl Sources for LensAddress {
    async fn fetch(
        &self,
        request: &SourceRequest,
        _: &CancellationToken,
    ) -> Result<Fetched, SourceError> {
        assert!(request.url.ends_with("/soc2-tsc-2017.pdf"), "{request:?}");
        let source = RawSource {
            bytes: b"CC6.1 Access to protected information is restricted.".to_vec(),
            media: Media::of_text("criteria.txt"),
        };
        Ok(Fetched::Source(source, Validators::default()))
    }

    async fn extract(
        &self,
        source: RawSource,
        _: &CancellationToken,
    ) -> Result<Extracted, SourceError> {
        Ok(Extracted {
            text: String::from_utf8(source.bytes).unwrap(),
            marks: Vec::new(),
            notices: Vec::new(),
        })
    }
}

async fn engine(dir: &TempDir) -> Arc<Engine> {
    let tools = Arc::new(sandbox(dir.path()).await);
    let ports = Ports {
        sources: Arc::new(LensAddress),
        ..ports(open(dir.path()), tools)
    };
    Engine::start(ports, Settings::default()).await.unwrap()
}

fn package(documents: BTreeMap<String, String>) -> PackageBundle {
    let manifest = "name: seed000\nversion: 0.1.0\ntitle: Seed 000\nscope: global\n";
    let mut files = documents;
    files.insert("package.yaml".to_owned(), manifest.to_owned());
    PackageBundle { files }
}

fn literal() -> BTreeMap<String, String> {
    let owned = |(path, text): (&str, &str)| (path.to_owned(), text.to_owned());
    DOCUMENTS.into_iter().map(owned).collect()
}

/// A document of the seed under another id, with other values.
fn like(document: &str, id: &str, of: &str, changes: &Value) -> (String, String) {
    let mut document: Value = serde_json::from_str(document).unwrap();
    let (_, name) = id.split_once('.').unwrap();
    document["_id"] = json!(id);
    document[format!("{of}_id")] = json!(id);
    document["name"] = json!(name);
    for (field, value) in changes.as_object().unwrap() {
        document[field] = value.clone();
    }
    (format!("{of}s/{id}.json"), document.to_string())
}

/// The seed's documents and their references, in the seed's form.
fn filled() -> BTreeMap<String, String> {
    let skill = |id: &str, purpose: &str| {
        let changes = json!({
            "display_name": purpose, "description": purpose, "purpose": purpose, "capabilities": [purpose],
            "capability_id": format!("{id}_of_the_account"),
        });
        like(SKILL, id, "skill", &changes)
    };
    let tool = |id: &str, class: &str, description: &str| {
        let changes = json!({"tool_class": class, "description": description});
        like(TOOL, id, "tool", &changes)
    };
    let mut documents = literal();
    documents.extend([
        skill(
            "security.detect_public_storage_access",
            "find storage that everybody may read",
        ),
        skill(
            "security.rank_basic_exposure_findings",
            "put what is exposed in order",
        ),
        tool(
            "aws.describe_load_balancers",
            "readonly",
            "Returns the load balancers of a region.",
        ),
        tool(
            "aws.describe_public_ingress_surface",
            "readonly",
            "Returns what the internet reaches in a region.",
        ),
        tool(
            "aws.lock_security_group",
            "write",
            "Revokes ingress rules of a security group.",
        ),
    ]);
    documents
}

/// The seed's documents are registered unchanged, with their references. A playbook that uses undefined names is in
/// force, and does not start: each undefined name is reported with its line (ruling 12).
#[tokio::test]
async fn ruling_12_the_playbook_of_seed_000_is_registered_and_refuses_to_start() {
    let dir = tempfile::tempdir().unwrap();
    let engine = engine(&dir).await;
    let local = Caller::local().unwrap();
    let registered = engine
        .packages()
        .register(&local, package(filled()), Mode::Apply);
    let registered = registered.await.unwrap();
    assert_eq!(
        json!(registered.lenses)[0]["outcome"],
        "indexed",
        "{registered:#?}"
    );

    let playbook = PlaybookId::parse(PLAYBOOK).unwrap();
    let given = json!({"region": "us-east-1", "profile": "prod_infra"});
    let Value::Object(given) = given else {
        panic!("an object");
    };
    let started = engine
        .run_starts()
        .start_playbook(&local, &playbook, &given, DryRun::No, None);
    let Err(refused) = started.await else {
        panic!("it has started");
    };
    let request = json!({
        "id": "req-01930000-0000-7000-8000-000000000012", "timestamp": "2026-04-14T12:00:00Z",
        "input": "remediate", "metadata": {"playbook_id": PLAYBOOK, "parameters": given},
    });
    let request = serde_json::from_value(request).unwrap();
    let asked = engine
        .requests()
        .handle_request(&local, request, Progress::silent())
        .await;
    for refused in [refused, asked.unwrap_err()] {
        assert_eq!(refused.code, ErrorCode::InvalidDocument, "{refused}");
        for named in [
            "`${sg_id}`: no step `sg_id` runs before `step_2` (playbooks/playbook.json:63, line 4 of the script)",
            "the script `step_2_rollback` is not defined",
            "(playbooks/playbook.json:80)",
        ] {
            assert!(
                refused.message.contains(named),
                "{named} is not in {refused}"
            );
        }
        let details = refused.details.unwrap();
        assert_eq!(details["undefined"].as_array().unwrap().len(), 2);
    }
    let (any, page) = (RunFilter::default(), PageRequest::new(None, 10));
    let runs = engine.store().runs(&local.tenant, &any, &page);
    assert_eq!(runs.await.unwrap().entries, []);
}

/// Without their references, the documents are refused for exactly the documents that the seed lacks.
#[tokio::test]
async fn the_documents_of_seed_000_are_refused_for_what_they_refer_to_alone() {
    let dir = tempfile::tempdir().unwrap();
    let engine = engine(&dir).await;
    let local = Caller::local().unwrap();
    let report = engine.packages().validate(&local, package(literal())).await;
    let report = report.unwrap();
    let errors = report.problems.iter();
    let errors = errors.filter(|problem| problem.severity == ProblemSeverity::Error);
    let errors: Vec<(&str, &str)> = errors
        .map(|problem| (&*problem.file, &*problem.message))
        .collect();
    assert_eq!(
        errors,
        [
            (
                "agents/agent.json",
                "there is no skill `security.detect_public_storage_access`"
            ),
            (
                "agents/agent.json",
                "there is no skill `security.rank_basic_exposure_findings`"
            ),
            (
                "playbooks/playbook.json",
                "there is no tool `aws.describe_public_ingress_surface`"
            ),
            (
                "playbooks/playbook.json",
                "there is no tool `aws.lock_security_group`"
            ),
            (
                "skills/skill.json",
                "there is no tool `aws.describe_load_balancers`"
            ),
        ]
    );
}

/// With the seed's abbreviated vectors, whose remaining numbers are left out, only those documents are refused.
#[tokio::test]
async fn the_abbreviated_vectors_of_seed_000_are_refused_with_their_places() {
    let dir = tempfile::tempdir().unwrap();
    let engine = engine(&dir).await;
    let local = Caller::local().unwrap();
    let mut documents = literal();
    for text in documents.values_mut() {
        for last in ["0.095]", "-0.121]", "-0.045]"] {
            let abbreviated = last.replace(']', ", \"...768 dims\"]");
            *text = text.replace(last, &abbreviated);
        }
    }
    let report = engine.packages().validate(&local, package(documents)).await;
    let report = report.unwrap();
    let errors = report.problems.iter();
    let errors = errors.filter(|problem| problem.severity == ProblemSeverity::Error);
    let errors: Vec<(&str, &str, &str)> = errors
        .map(|problem| (&*problem.file, &*problem.pointer, &*problem.message))
        .collect();
    let message = "expected number, found string";
    assert_eq!(
        errors,
        [
            ("agents/agent.json", "/_embedding/3", message),
            ("agents/agent.json", "/capabilities_embedding/2", message),
            ("playbooks/playbook.json", "/_embedding/2", message),
            ("skills/skill.json", "/_embedding/3", message),
        ]
    );
    // The manifest and the other documents are valid.
    let package = report.package.as_ref().map(|package| package.as_str());
    assert_eq!((package, report.documents), (Some("seed000"), 6));
}
