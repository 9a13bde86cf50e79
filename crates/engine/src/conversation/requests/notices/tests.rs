//! Requests that a scripted model of the route `gateway` reads, from the question to the recorded answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use charter_contract::agentic::request::AgentRequest;
use charter_contract::agentic::response::AgentResponse;
use charter_contract::ids::{Label, RequestId};
use charter_contract::package::PackageBundle;
use charter_effects::{
    ModelFailure, ModelFault, ModelRequest, ModelRoute, SetBy, ToolCall, ToolOutcome, ToolRunner,
};
use charter_testkit::scripted_models::ScriptedModels;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::engine::tests::{engine, open};
use crate::identity::caller::tests::person;
use crate::{Engine, EngineError, Mode, Progress, Settings};

/// Words that match both skills.
const BROAD: &str = "which gates of the yard are unlocked tonight";

/// The tokens of one answer of the script.
const TOKENS: u64 = 110;

/// A tool that finds nothing.
struct Quiet;

#[async_trait]
impl ToolRunner for Quiet {
    async fn run(&self, _: ToolCall, _: CancellationToken) -> ToolOutcome {
        ToolOutcome::Succeeded {
            output: json!({"gates": []}),
            log: String::new(),
            duration_ms: 1,
        }
    }
}

/// Two skills with the same example, and a playbook.
fn package() -> PackageBundle {
    let tool = |name: &str, class: &str| {
        format!(
            "tool_id: yard.{name}\nname: {name}\nprovider: yard\ntool_class: {class}\ndomain: reliability\n\
             description: The {name} of the yard.\nlanguage: python\nexecution_target: server\nparameters: []\n\
             implementation: {{type: script, body: \"pass\"}}\n"
        )
    };
    let skill = |name: &str| {
        format!(
            "skill_id: reliability.{name}\nname: {name}\ndomain: reliability\ndisplay_name: Open gates\n\
             description: Finds open gates.\npurpose: find gates that are open\noutput_type: finding\n\
             examples: [\"{BROAD}\"]\nexecution_plan:\n  steps:\n    \
             - {{step_id: s1, type: read, tool_id: yard.list, parameters: {{}}}}\n"
        )
    };
    let lock = "playbook_id: reliability.lock\nname: Lock gates\ndomain: reliability\n\
        trigger_conditions: [a gate is open]\nexamples: [lock all gates of the yard]\n\
        steps: [{step_id: s1, type: write, tool_id: yard.lock, on_failure: stop}]\n\
        safety: {safety_class: supervised}\n";
    let files = json!({"files": {
        "package.yaml": "name: yard\nversion: 1.0.0\ntitle: Yard\nscope: tenant\n",
        "tools/list.yaml": tool("list", "readonly"),
        "tools/lock.yaml": tool("lock", "write"),
        "skills/gates.yaml": skill("gates"),
        "skills/fence.yaml": skill("fence"),
        "playbooks/lock.yaml": lock,
    }});
    serde_json::from_value(files).unwrap()
}

/// Models with the route `gateway` alone.
fn gateway(
    script: impl Fn(&ModelRequest, usize) -> Result<Value, ModelFailure> + Send + Sync + 'static,
) -> Arc<ScriptedModels> {
    let route = ModelRoute {
        target: "scripted/script".parse().unwrap(),
        set_by: SetBy::Server,
        key: None,
        key_of: SetBy::Server,
    };
    let routes = BTreeMap::from([(Label::parse("gateway").unwrap(), route)]);
    Arc::new(ScriptedModels::new(script).with_routes(routes))
}

/// A failure after one unusable answer.
fn failing() -> ModelFailure {
    let mut failure = ModelFailure::new(ModelFault::Refused, "the model declined");
    failure.usage = ScriptedModels::USAGE;
    failure
}

/// The ids of the candidates in a model's context, in reverse order.
fn reversed(request: &ModelRequest) -> Vec<Value> {
    let candidates = request.context["candidates"].as_array().unwrap().iter();
    candidates.rev().map(|one| one["id"].clone()).collect()
}

struct Rig {
    engine: Arc<Engine>,
    models: Arc<ScriptedModels>,
    _dir: TempDir,
}

impl Rig {
    async fn new(models: Arc<ScriptedModels>) -> Self {
        let dir = TempDir::new().unwrap();
        let asked = Arc::<ScriptedModels>::clone(&models);
        let store = open(dir.path());
        let engine = engine(store, Arc::new(Quiet), asked, Settings::default()).await;
        let ann = person("ann");
        let registered = engine.packages().register(&ann, package(), Mode::Apply);
        registered.await.unwrap();
        Self {
            engine,
            models,
            _dir: dir,
        }
    }

    async fn send(&self, request: &AgentRequest) -> Result<AgentResponse, EngineError> {
        let (ann, request) = (person("ann"), request.clone());
        let answer = self
            .engine
            .requests()
            .handle_request(&ann, request, Progress::silent());
        answer.await
    }

    fn request(&self, text: &str) -> AgentRequest {
        serde_json::from_value(json!({
            "id": RequestId::from_uuid(Uuid::now_v7()), "timestamp": self.engine.now(), "input": text,
        }))
        .unwrap()
    }

    async fn ask(&self, text: &str) -> (String, Map<String, Value>) {
        let answer = self.send(&self.request(text)).await.unwrap();
        (answer.content, answer.metadata.unwrap().extra)
    }

    /// The recorded verdict of a request.
    async fn recorded(&self, request: &AgentRequest) -> Value {
        let ann = person("ann");
        let recorded = self.engine.request_views().request(&ann, &request.id);
        recorded.await.unwrap().verdict.unwrap()["verdict"].clone()
    }
}

fn candidates(verdict: &Value) -> Vec<&str> {
    let candidates = verdict["candidates"].as_array().unwrap().iter();
    candidates.map(|one| one["id"].as_str().unwrap()).collect()
}

/// The model's order is used, the verdict stays broad, and the reading is journaled: a repeat asks no model.
#[tokio::test(flavor = "multi_thread")]
async fn b000_20_a_gateway_model_reorders_the_candidates_of_a_broad_verdict() {
    let models = gateway(|request, _| Ok(json!({"intent": "read", "order": reversed(request)})));
    let rig = Rig::new(models).await;
    let request = rig.request(BROAD);
    let answer = rig.send(&request).await.unwrap();
    let metadata = &answer.metadata.as_ref().unwrap().extra;
    let verdict = &metadata["verdict"];
    let asked = rig.models.asked();
    assert_eq!(asked.len(), 1);
    let order = reversed(&asked[0]);
    assert_eq!(order.len(), 2);
    assert_eq!(json!(candidates(verdict)), json!(order));
    assert_eq!(verdict["kind"], "broad");
    assert_eq!(
        verdict["gateway"],
        json!({"model": "scripted/script", "intent": "read", "order": order, "tokens": TOKENS})
    );
    assert!(!answer.content.contains("gateway"), "{}", answer.content);
    assert_eq!(rig.recorded(&request).await["gateway"], verdict["gateway"]);
    assert_eq!(rig.send(&request).await.unwrap(), answer);
    assert_eq!(rig.models.calls(), 1);
}

/// If the model fails, the rules decide. Its tokens are counted, and the answer has a notice.
#[tokio::test(flavor = "multi_thread")]
async fn b000_20_a_gateway_model_that_fails_is_reported_and_counted() {
    let rig = Rig::new(gateway(|_, _| Err(failing()))).await;
    let (content, metadata) = rig.ask(BROAD).await;
    let gateway = &metadata["verdict"]["gateway"];
    assert_eq!(
        gateway,
        &json!({"tokens": TOKENS, "failure": "the model declined"})
    );
    let notice = "the model of the route `gateway` failed; the rules classify the request without it: the model \
                  declined";
    let warnings = metadata["warnings"].as_array().unwrap();
    assert_eq!(warnings.last(), Some(&json!(notice)));
    assert!(
        content.ends_with(&format!("\n\nWarning: {notice}")),
        "{content}"
    );
    assert_eq!(metadata["run_ids"].as_array().unwrap().len(), 2);
    // A failed request has the notice too.
    let refused = rig.send(&rig.request("host load vs disk load")).await;
    if let Err(refused) = refused {
        assert_eq!(refused.details.unwrap()["notices"], json!([notice]));
    }
}

/// If the model reads a request as small talk, nothing is run or generated.
#[tokio::test(flavor = "multi_thread")]
async fn b000_20_a_gateway_model_that_reads_nothing_runs_nothing() {
    let rig = Rig::new(gateway(|_, _| Ok(json!({"intent": "none", "order": []})))).await;
    let request = rig.request("host load vs disk load");
    let answer = rig.send(&request).await;
    let recorded = rig.recorded(&request).await;
    assert_eq!(recorded["intent"], "none", "{recorded:#}");
    assert_eq!(recorded["gateway"]["intent"], "none");
    let runs = answer.map(|answer| answer.metadata.unwrap().extra.remove("run_ids"));
    assert_eq!(runs.ok().flatten(), None);
}

/// A request in another language is translated and then read, once each; a change that was translated is only offered.
#[tokio::test(flavor = "multi_thread")]
async fn b000_20_a_gateway_model_translates_and_a_translated_change_is_offered() {
    let rig = Rig::new(gateway(|request, _| {
        let properties = &request.schema.schema.json()["properties"];
        if properties.get("translation").is_none() {
            return Ok(json!({"intent": "read", "order": reversed(request)}));
        }
        let is_change = request.context["request"]
            .as_str()
            .unwrap()
            .starts_with("Bitte");
        let english = if is_change {
            "lock all gates of the yard"
        } else {
            BROAD
        };
        Ok(json!({ "translation": english }))
    }))
    .await;
    let (_, metadata) = rig
        .ask("Welche Tore des Hofes sind in dieser Nacht nicht verschlossen?")
        .await;
    let gateway = &metadata["verdict"]["gateway"];
    assert_eq!(
        (&gateway["translation"], &gateway["tokens"]),
        (&json!(BROAD), &json!(2 * TOKENS)),
        "{gateway:#}"
    );
    assert_eq!(metadata["run_ids"].as_array().unwrap().len(), 2);
    let (content, metadata) = rig
        .ask("Bitte sperre alle Tore des Hofes und melde es mir")
        .await;
    assert!(content.starts_with("Nothing was started"), "{content}");
    assert_eq!(metadata["offers"][0]["playbook_id"], "reliability.lock");
    assert_eq!(metadata.get("run_ids"), None);
}

/// A model that translates and then fails keeps its translation, and both are counted.
#[tokio::test(flavor = "multi_thread")]
async fn b000_20_a_translation_outlives_a_failed_reading() {
    let rig = Rig::new(gateway(|_, number| match number {
        0 => Ok(json!({ "translation": BROAD })),
        _ => Err(failing()),
    }))
    .await;
    let (_, metadata) = rig
        .ask("Welche Tore des Hofes sind in dieser Nacht nicht verschlossen?")
        .await;
    let gateway = &metadata["verdict"]["gateway"];
    assert_eq!(
        (
            &gateway["translation"],
            &gateway["failure"],
            &gateway["tokens"]
        ),
        (
            &json!(BROAD),
            &json!("the model declined"),
            &json!(2 * TOKENS)
        )
    );
    let warnings = metadata["warnings"].as_array().unwrap();
    let last = warnings.last().unwrap().as_str().unwrap();
    assert!(last.ends_with("the model declined"), "{last}");
}
