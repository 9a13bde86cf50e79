//! An engine over a real store, a yard with gates behind its port for tools, and skills whose results a model puts
//! into words.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use charter_contract::ids::{Label, RunId};
use charter_contract::package::PackageBundle;
use charter_effects::{
    ModelFailure, ModelFault, ModelRequest, ModelRoute, Models, SetBy, ToolCall, ToolOutcome,
    ToolRunner,
};
use charter_store::SharedStore;
use charter_store_sql::sqlite::SqliteStore;
use charter_testkit::scripted_models::ScriptedModels;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::engine::tests::{engine, open as store_in};
use crate::identity::caller::tests::{caller, person};
use crate::{Engine, EngineError, Mode, Progress, ProgressEvent, Role, Settings};

/// The route that the skills name.
const ROUTE: &str = "tier_fast";

/// The route that Charter's own packages name.
const ROUTE_OF_PACKAGES: &str = "analysis";

/// The words that match both `reliability.gates` and `reliability.fence`.
pub(super) const BROAD: &str = "which gates of the yard are unlocked tonight";

/// Answers for each tool. A filter returns the list `finds` of its input, so that outputs determine the findings of
/// rules.
struct Yard(BTreeMap<String, Value>);

#[async_trait]
impl ToolRunner for Yard {
    async fn run(&self, call: ToolCall, _: CancellationToken) -> ToolOutcome {
        let output = match call.tool_id.as_str() {
            "charter.filter" => call.parameters["input"]["finds"].clone(),
            tool => self.0.get(tool).cloned().unwrap_or_default(),
        };
        ToolOutcome::Succeeded {
            output,
            duration_ms: 1,
            log: String::new(),
        }
    }
}

/// Two gates that are open, one of them badly, among three.
pub(super) fn gates() -> Value {
    json!({
        "gates": [
            {"id": "gate-9", "side": "north", "state": "open"},
            {"id": "gate-7", "side": "street", "state": "open"},
            {"id": "gate-8", "side": "north", "state": "shut"},
        ],
        "finds": [
            {"severity": "low", "resource_type": "gate", "resource_id": "gate-9", "side": "north"},
            {"severity": "high", "resource_type": "gate", "resource_id": "gate-7", "side": "street"},
        ],
    })
}

fn tool(name: &str, class: &str, rest: &str) -> String {
    format!(
        "tool_id: yard.{name}\nname: {name}\ntool_class: {class}\ndomain: reliability\n\
         description: Lists what the yard has.\nlanguage: python\nexecution_target: server\nparameters: []\n\
         implementation: {{type: script, body: \"pass\"}}\n{rest}\n"
    )
}

/// A skill of one step; `analysis` is YAML within braces.
fn skill(name: &str, tool: &str, example: &str, analysis: &str) -> String {
    format!(
        "skill_id: reliability.{name}\nname: {name}\ndomain: reliability\ndisplay_name: Open gates\n\
         description: Finds open gates.\npurpose: find gates that are open\noutput_type: finding\n\
         examples: [\"{example}\"]\napproach_hints: [Begin with the street side.]\nexecution_plan:\n  steps:\n    \
         - {{step_id: s1, type: read, tool_id: yard.{tool}, description: The gates of the yard, parameters: {{}}}}\n\
         analysis: {{{analysis}}}\n"
    )
}

/// A playbook with advice for the person who confirms its plan.
const LOCK: &str = "playbook_id: reliability.lock\nname: Lock gates\ndomain: reliability\n\
    trigger_conditions: [a gate is open]\napproach_hints: [Lock the street side first.]\n\
    steps: [{step_id: s1, type: write, tool_id: yard.lock_gate, on_failure: stop}]\n\
    safety: {safety_class: supervised}\n";

fn package(rail: &str) -> PackageBundle {
    let (aws, own) = (
        "provider: aws\nservice: ec2",
        "provider: yard\nservice: gates",
    );
    let rule = "findings: [{rule_id: open, from: s1, filter: '.finds[]'}]";
    let model = |may: &str| format!("model: {{route: {ROUTE}, may: [{may}]}}");
    let template = |id: &str, of: &str, structure: &str| {
        format!("template_id: {id}\noutput_type: finding\n{of}\nstructure: {structure}\n")
    };
    let reads = format!("{rule}, {}", model("answer, summary"));
    let judges = format!("{rule}, {}", model("impact, ranking"));
    let answers = model("answer");
    let files = json!({"files": {
        "package.yaml": "name: yard\nversion: 1.0.0\ntitle: Yard\nscope: tenant\n",
        "tools/list.yaml": tool("list_gates", "readonly", aws),
        "tools/walk.yaml": tool("walk_fence", "readonly", aws),
        "tools/look.yaml": tool("look", "readonly", own),
        "tools/lock.yaml": tool("lock_gate", "write", own),
        "skills/gates.yaml": skill("gates", "list_gates", BROAD, &reads),
        "skills/fence.yaml": skill("fence", "walk_fence", BROAD, &reads),
        "skills/harm.yaml": skill("harm", "list_gates", "how bad is it", &judges),
        "skills/look.yaml": skill("look", "list_gates", "just look around", &answers),
        "skills/ours.yaml": skill("ours", "look", "by our own means", &reads),
        "skills/seen.yaml": skill("seen", "look", "with our own eyes", &answers),
        "skills/own.yaml": skill("own", "look", "by ourselves", rule),
        "skills/plain.yaml": skill("plain", "list_gates", "no rules at all", "findings: []"),
        "playbooks/lock.yaml": LOCK,
        "templates/all.yaml": template(
            "reliability.finding.all", "domain: reliability", "{title: \"{{resource_id}}\"}"
        ),
        "templates/harm.yaml": template(
            "reliability.finding.harm", "domain: reliability\nskill_id: reliability.harm",
            "{title: \"{{resource_id}}\", impact: \"{{impact}}\"}"
        ) + "rendering_hints: {sort_by: side}\n",
        "guardrails/models.yaml": rail,
    }});
    serde_json::from_value(files).unwrap()
}

/// A guardrail that applies to analyses.
fn rail(enforcement: &str) -> String {
    format!(
        "guardrail_id: reliability.models\ndomain: reliability\nscope: domain\napplies_to: [\"reliability.*\"]\n\
         rule: Never speak of the owner.\nenforcement: {enforcement}\nmessage: Results stay here.\n\
         when: 'tool.tool_id == \"charter.analysis.draft\"'\n"
    )
}

/// The answer to a request.
pub(super) struct Answered {
    pub(super) answer: Value,
    /// The sentences that were streamed, in order.
    pub(super) streamed: Vec<String>,
}

impl Answered {
    pub(super) fn content(&self) -> &str {
        self.answer["content"].as_str().unwrap()
    }

    pub(super) fn metadata(&self, name: &str) -> &Value {
        &self.answer["metadata"][name]
    }

    /// The sentences of the answer.
    pub(super) fn sentences(&self) -> Vec<&str> {
        let sentences = self.metadata("sentences").as_array().unwrap();
        let texts = sentences.iter().map(|one| one["text"].as_str().unwrap());
        texts.collect()
    }

    /// The resources of the findings, in order.
    pub(super) fn found(&self) -> Vec<&str> {
        let findings = self.metadata("findings").as_array().unwrap();
        let resources = findings.iter().map(|one| one["resource_id"].as_str());
        resources.map(Option::unwrap).collect()
    }

    pub(super) fn warnings(&self) -> Vec<&str> {
        let warnings = self.metadata("warnings").as_array().unwrap();
        warnings.iter().filter_map(Value::as_str).collect()
    }

    /// The warnings that the model contributed nothing.
    pub(super) fn notices(&self) -> Vec<&str> {
        let mut warnings = self.warnings();
        warnings.retain(|warning| warning.contains("by a model failed"));
        warnings
    }

    /// The runs, in order.
    pub(super) fn runs(&self) -> Vec<RunId> {
        let runs = self.metadata("run_ids").as_array().unwrap();
        let runs = runs.iter().map(|run| run.as_str().unwrap());
        runs.map(|run| RunId::parse(run).unwrap()).collect()
    }
}

pub(super) struct Rig {
    pub(super) engine: Arc<Engine>,
    store: Arc<SqliteStore>,
    dir: TempDir,
}

impl Rig {
    /// With models, and with tools that answer about the gates of [`gates`].
    pub(super) async fn new(models: &Arc<ScriptedModels>) -> Self {
        Self::with(models, gates(), "soft_warn", Settings::default()).await
    }

    pub(super) async fn with(
        models: &Arc<ScriptedModels>,
        gates: Value,
        enforcement: &str,
        settings: Settings,
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let outputs = [
            ("yard.look", gates.clone()),
            ("yard.walk_fence", gates.clone()),
            ("yard.list_gates", gates),
        ];
        let outputs = outputs.map(|(tool, output)| (tool.to_owned(), output));
        let models = Arc::<ScriptedModels>::clone(models);
        let tools = Arc::new(Yard(outputs.into()));
        let rig = Self::open(dir, models, tools, settings).await;
        rig.register(package(&rail(enforcement))).await;
        rig
    }

    /// Over other tools, without a package.
    pub(super) async fn over(models: &Arc<ScriptedModels>, tools: Arc<dyn ToolRunner>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let models = Arc::<ScriptedModels>::clone(models);
        Self::open(dir, models, tools, Settings::default()).await
    }

    pub(super) async fn register(&self, package: PackageBundle) {
        let admin = caller("root", Role::Admin);
        let registered = self
            .engine
            .packages()
            .register(&admin, package, Mode::Apply);
        registered.await.unwrap();
    }

    async fn open(
        dir: TempDir,
        models: Arc<dyn Models>,
        tools: Arc<dyn ToolRunner>,
        settings: Settings,
    ) -> Self {
        let store = store_in(dir.path());
        let shared: SharedStore = Arc::<SqliteStore>::clone(&store);
        let engine = engine(shared, tools, models, settings).await;
        Self { engine, store, dir }
    }

    /// The same data under a process that has neither models nor answering tools.
    pub(super) async fn without_models(self) -> Self {
        let Self { engine, store, dir } = self;
        engine.stop().await;
        drop(engine);
        store.close().await.unwrap();
        drop(store);
        let models = Arc::new(charter_effects::NoModels);
        let tools = Arc::new(Yard(BTreeMap::new()));
        Self::open(dir, models, tools, Settings::default()).await
    }

    /// Asks a skill.
    pub(super) async fn ask(&self, skill: &str) -> Answered {
        let skill = format!("reliability.{skill}");
        let asked = self.request(1, "What is open?", json!({"skill_id": skill}));
        asked.await.unwrap()
    }

    /// Sends a request of this number.
    pub(super) async fn request(
        &self,
        number: u128,
        input: &str,
        metadata: Value,
    ) -> Result<Answered, EngineError> {
        let id = format!("req-01930000-0000-7000-8000-{number:012x}");
        let request = json!({
            "id": id, "timestamp": "2026-05-13T09:00:00Z", "input": input, "metadata": metadata,
        });
        let request = serde_json::from_value(request).unwrap();
        let (progress, mut events) = Progress::channel();
        let answer = self
            .engine
            .requests()
            .handle_request(&person("ann"), request, progress)
            .await?;
        let mut streamed = Vec::new();
        while let Ok(event) = events.try_recv() {
            if let ProgressEvent::Sentence { text, .. } = event {
                streamed.push(text);
            }
        }
        Ok(Answered {
            answer: serde_json::to_value(answer).unwrap(),
            streamed,
        })
    }
}

/// Models that answer by this script, on the routes that skills name.
pub(super) fn models(
    script: impl Fn(&ModelRequest, usize) -> Result<Value, ModelFailure> + Send + Sync + 'static,
) -> Arc<ScriptedModels> {
    let routes = [ROUTE, ROUTE_OF_PACKAGES].map(|name| {
        let route = ModelRoute {
            target: "scripted/script".parse().unwrap(),
            set_by: SetBy::Server,
            key: None,
            key_of: SetBy::Server,
        };
        (Label::parse(name).unwrap(), route)
    });
    let routes = BTreeMap::from(routes);
    Arc::new(ScriptedModels::new(script).with_routes(routes))
}

/// Models that always draft these sentences.
pub(super) fn drafting(sentences: &[(&str, &[&str])]) -> Arc<ScriptedModels> {
    let draft = draft(sentences);
    models(move |_, _| Ok(draft.clone()))
}

/// Models that refuse every request.
pub(super) fn refusing() -> Arc<ScriptedModels> {
    models(|_, _| Err(ModelFailure::new(ModelFault::Refused, "the model declined")))
}

/// A draft of sentences, each with its citations.
pub(super) fn draft(sentences: &[(&str, &[&str])]) -> Value {
    let sentences = sentences.iter();
    let sentences = sentences.map(|(text, cites)| json!({"text": text, "cites": cites}));
    json!({"sentences": sentences.collect::<Vec<_>>()})
}
