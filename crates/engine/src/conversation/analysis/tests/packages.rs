//! Questions over packages that come with Charter: without a model, and with a scripted one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use charter_contract::package::PackageBundle;
use charter_domain::jq::Filter;
use charter_domain::template::evaluate;
use charter_effects::{ToolCall, ToolImplementation, ToolOutcome, ToolRunner};
use charter_testkit::scripted_models::ScriptedModels;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::rig::{Answered, Rig, models};

/// The packages whose tools this process answers for.
const PACKAGES: [&str; 2] = ["crm-leads", "cost-hygiene"];

/// One of the ten questions over all packages, and the skill that answers it.
#[derive(Deserialize)]
struct Question {
    question: String,
    skill: String,
}

/// The questions whose skills are in [`PACKAGES`]. The requests name the skills, because nothing is embedded;
/// `crates/cli/tests/model/questions.py` asks all ten in words.
fn questions() -> Vec<Question> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/model/questions.json");
    let all = std::fs::read_to_string(file).unwrap();
    let mut all: Vec<Question> = serde_json::from_str(&all).unwrap();
    assert_eq!(all.len(), 10);
    all.retain(|one| {
        ["sales.", "cost."]
            .iter()
            .any(|domain| one.skill.starts_with(domain))
    });
    all
}

/// Tools with fixed outputs. Filters and templates of the packages are evaluated in this process.
struct Estate;

#[async_trait]
impl ToolRunner for Estate {
    async fn run(&self, call: ToolCall, _: CancellationToken) -> ToolOutcome {
        let output = match call.tool_id.as_str() {
            "charter.filter" => filtered(&call),
            "charter.template" => filled(&call),
            tool => estate(tool),
        };
        ToolOutcome::Succeeded {
            output,
            duration_ms: 1,
            log: String::new(),
        }
    }
}

fn program(call: &ToolCall) -> &str {
    let ToolImplementation::Script(script) = &call.implementation else {
        panic!("{call:?}");
    };
    script.files.get(&script.entry).unwrap()
}

fn filtered(call: &ToolCall) -> Value {
    let filter = Filter::compile(program(call)).unwrap();
    json!(filter.run(&call.parameters["input"], 10_000).unwrap())
}

fn filled(call: &ToolCall) -> Value {
    let structure: Value = serde_json::from_str(program(call)).unwrap();
    let all = call.parameters["values"].as_array().unwrap().iter();
    let all: Vec<Map<String, Value>> = all.map(|one| one.as_object().unwrap().clone()).collect();
    json!(evaluate(&structure, &all))
}

fn lead(id: &str, name: &str, score: u32, stage: &str, days: u32) -> Value {
    json!({
        "lead_id": id, "name": name, "segment": "investor", "interest": "waterfront", "budget_aed": 9_500_000,
        "stage": stage, "score": score, "owner": "Tomas", "last_contact": "2026-03-02",
        "days_since_contact": days, "note": null, "version": 1,
    })
}

/// A lead with its last message.
fn wrote(mut lead: Value, author: &str, text: &str) -> Value {
    lead["messages"] = json!([{"day": "2026-03-02", "author": author, "text": text}]);
    lead
}

fn estate(tool: &str) -> Value {
    let leads = [
        lead("lead_201", "Harbour Trust", 91, "Qualified", 3),
        lead("lead_202", "Mina Okoye", 66, "New", 20),
        lead("lead_203", "Quay Partners", 30, "Won", 5),
    ];
    let of_region = |name: &str, found: Value| json!({"region": "us-east-1", "account_id": "111122223333", "unreadable": [], name: found});
    match tool {
        "crm.search_leads" => json!({"as_of": "2026-03-05", "leads": leads}),
        "crm.search_conversations" => {
            let [signing, silent, _] = leads;
            let signing = wrote(signing, "lead", "Send me the contract, we want to sign.");
            let silent = wrote(silent, "agent", "Have you had time to think about it?");
            json!({"as_of": "2026-03-05", "conversations": [signing, silent]})
        }
        "aws.list_volumes" => of_region(
            "volumes",
            json!([{
                "volume_id": "vol-0a1", "volume_type": "gp2", "size_gib": 500, "state": "available",
                "attached_to": [], "created_at": "2025-01-02T00:00:00Z", "tags": {},
                "estimated_monthly_cost_usd": 50.0, "gp3_monthly_cost_usd": 40.0,
            }]),
        ),
        "aws.list_addresses" => of_region(
            "addresses",
            json!([{
                "allocation_id": "eipalloc-0b2", "public_ip": "192.0.2.7", "associated_with": null, "tags": {},
                "estimated_monthly_cost_usd": 3.65,
            }]),
        ),
        "aws.list_snapshots" => of_region("snapshots", json!([])),
        "aws.list_stopped_instances" => of_region("instances", json!([])),
        other => panic!("no output of `{other}`"),
    }
}

/// The files below a folder, except routing tests, which need the embedding model.
fn take_files(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let left_out = ["tests", "__pycache__"]
            .iter()
            .any(|name| path.ends_with(name));
        if path.is_dir() && !left_out {
            take_files(root, &path, files);
        } else if path.is_file() {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            files.insert(name.to_owned(), std::fs::read_to_string(&path).unwrap());
        }
    }
}

fn package(name: &str) -> PackageBundle {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages");
    let root = packages.join(name);
    let mut files = BTreeMap::new();
    take_files(&root, &root, &mut files);
    PackageBundle { files }
}

/// The answers to the questions.
async fn answers(models: &Arc<ScriptedModels>, questions: &[Question]) -> Vec<Answered> {
    let rig = Rig::over(models, Arc::new(Estate)).await;
    for name in PACKAGES {
        rig.register(package(name)).await;
    }
    let mut answers = Vec::new();
    for (number, Question { question, skill }) in (1..).zip(questions) {
        let asked = rig.request(number, question, json!({"skill_id": skill}));
        answers.push(asked.await.unwrap());
    }
    answers
}

/// The ids of the findings, in order.
fn found(answered: &Answered) -> Vec<&str> {
    let findings = answered.metadata("findings").as_array().unwrap();
    let ids = findings.iter().map(|one| one["finding_id"].as_str());
    ids.map(Option::unwrap).collect()
}

/// Two supported sentences, and one with a number that no source has.
fn half_true(context: &Value) -> Value {
    let first = &context["findings"][0];
    let (resource, severity) = (first["resource_id"].as_str(), first["severity"].as_str());
    let total = &context["totals"][0]["findings"];
    let severe = format!(
        "{} has the severity {}.",
        resource.unwrap(),
        severity.unwrap()
    );
    json!({"sentences": [
        {"text": severe, "cites": ["f1"]},
        {"text": "7341 findings were made.", "cites": ["t1"]},
        {"text": format!("{total} findings were made."), "cites": ["t1"]},
    ]})
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_to_packages_are_answered_with_and_without_a_model() {
    let questions = questions();
    assert!(questions.len() >= 5, "{}", questions.len());
    let none = Arc::new(ScriptedModels::answering(Vec::new()));
    let plain = answers(&none, &questions).await;
    assert_eq!(none.calls(), 0);
    let models = models(|request, _| Ok(half_true(&request.context)));
    let analysed = answers(&models, &questions).await;
    for ((Question { question, .. }, without), with) in questions.iter().zip(&plain).zip(&analysed)
    {
        assert!(!found(without).is_empty(), "{question}");
        assert!(
            !without.content().contains("tool call"),
            "{}",
            without.content()
        );
        assert_eq!(found(with), found(without), "{question}");
        assert_eq!(with.sentences().len(), 2, "{question}: {}", with.answer);
        for sentence in with.metadata("sentences").as_array().unwrap() {
            let evidence = sentence["evidence_ids"].as_array().unwrap();
            assert!(!evidence.is_empty(), "{question}: {sentence}");
        }
        assert_eq!(with.streamed, with.sentences(), "{question}");
        assert_eq!(with.metadata("analysis")["dropped"]["unsupported"], 1);
        assert_eq!(with.notices(), [""; 0]);
    }
}
