//! A scripted model's answers to each role, and how a test changes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::mission::task_graph::Role;
use charter_effects::{ModelFailure, ModelRequest, ModelStage};
use charter_testkit::scripted_models::ScriptedModels;
use serde_json::{Value, json};

/// A role's answer; the number counts the earlier requests.
type Says = Box<dyn Fn(&ModelRequest, usize) -> Result<Value, ModelFailure> + Send + Sync>;

/// A mission's models, by role.
pub(super) struct Script {
    says: BTreeMap<Role, Says>,
    held: bool,
}

impl Script {
    /// Two workers, one after the other; the second calls a tool first. Nothing is proposed.
    pub(super) fn new() -> Self {
        let script = Self {
            says: BTreeMap::new(),
            held: true,
        };
        script
            .saying(Role::Planner, |_, _| Ok(plan()))
            .saying(Role::Worker, |request, _| Ok(works(request)))
            .saying(Role::Aggregator, |request, _| {
                let support = cited(request, "wrk.weigh");
                Ok(json!({
                    "summary": "Lead 123 comes first.",
                    "evidence_matrix": [{"claim": "Lead 123 has the highest score.", "support_refs": [support]}],
                }))
            })
            .saying(Role::Reviewer, |_, _| Ok(approved(&[])))
    }

    pub(super) fn saying(
        mut self,
        role: Role,
        says: impl Fn(&ModelRequest, usize) -> Result<Value, ModelFailure> + Send + Sync + 'static,
    ) -> Self {
        self.says.insert(role, Box::new(says));
        self
    }

    /// The same from models that keep to no schema.
    pub(super) fn unheld(mut self) -> Self {
        self.held = false;
        self
    }

    pub(super) fn models(self) -> Arc<ScriptedModels> {
        let held = self.held;
        let asked = std::sync::Mutex::new(BTreeMap::<Role, usize>::new());
        let models = ScriptedModels::new(move |request, _| {
            let ModelStage::Role(role) = request.stage else {
                panic!("only roles ask: {:?}", request.stage);
            };
            let number = {
                let mut asked = asked.lock().unwrap();
                let count = asked.entry(role).or_default();
                *count += 1;
                *count - 1
            };
            self.says[&role](request, number)
        });
        let route = charter_contract::ids::Label::parse("tier_high_reasoning").unwrap();
        let target = charter_effects::ModelRoute {
            target: "scripted/script".parse().unwrap(),
            set_by: charter_effects::SetBy::Server,
            key: None,
            key_of: charter_effects::SetBy::Server,
        };
        let models = models.with_routes([(route, target)].into());
        Arc::new(if held { models } else { models.unheld() })
    }
}

/// How a model cites a source by its name: by its alias in the data.
pub(super) fn cited(request: &ModelRequest, name: &str) -> String {
    let mut sources = request.context["sources"].as_object().unwrap().iter();
    let found = sources.find(|(_, known)| known.as_str() == Some(name));
    found.map_or(name, |(alias, _)| alias.as_str()).to_owned()
}

pub(super) fn plan() -> Value {
    json!({"tasks": [
        {"task_id": "list", "role_type": "worker", "objective": "List the leads.", "allowed_tools": ["crm.list_leads"]},
        {"task_id": "weigh", "role_type": "worker", "objective": "Weigh the leads.", "depends_on": ["list"]},
    ]})
}

/// Calls its tool if it has one and has not called it; else answers from its context.
pub(super) fn works(request: &ModelRequest) -> Value {
    let context = &request.context;
    let calls = context["calls"].as_array().unwrap();
    let tools = context["tools"].as_array().unwrap();
    if let (Some(tool), true) = (tools.first(), calls.is_empty()) {
        return json!({"calls": [{"tool": tool["tool"], "parameters": {}}]});
    }
    let mut sources = calls.iter().chain(context["earlier"].as_array().unwrap());
    let reference = sources.next().and_then(|source| source["ref"].as_str());
    let reference = reference.map(|name| cited(request, name));
    let answer = json!({
        "output_text": "Lead 123 has the highest score.",
        "citations": [{"kind": "internal", "ref": reference}], "confidence": 0.8,
    });
    // The schema of a turn that may still call has the answer one level below.
    if request.schema.name.as_str() == "turn" {
        json!({"answer": answer})
    } else {
        answer
    }
}

/// A review that approves and proposes moving these leads.
pub(super) fn approved(leads: &[&str]) -> Value {
    let proposals = leads.iter().map(|lead| {
        json!({
            "action_type": "lead_stage_update", "target_entity_type": "lead",
            "target_entity_id": lead, "payload": {"stage": "Negotiation"},
        })
    });
    json!({
        "review_status": "approved", "approved_output": {"summary": "Lead 123 comes first."},
        "proposals": proposals.collect::<Vec<_>>(),
    })
}
