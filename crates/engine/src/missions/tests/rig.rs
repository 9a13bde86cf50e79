//! An engine over a real store, a small CRM behind its port for tools, and a package with one mission type over it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use charter_contract::ids::MissionId;
use charter_contract::package::PackageBundle;
use charter_domain::clock::{Clock, SystemClock};
use charter_effects::{Models, ToolCall, ToolOutcome, ToolRunner};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::engine::tests::{engine_at, eventually, open};
use crate::identity::caller::tests::person;
use crate::{Engine, MissionOrder, MissionView, Mode, Settings};

/// The message with which the CRM refuses a change of a lead that has changed.
const STALE: &str = "the lead has changed";

/// Leads by id, and the recorded calls.
#[derive(Debug, Default)]
pub(super) struct Crm {
    pub(super) leads: Mutex<BTreeMap<String, Value>>,
    pub(super) calls: Mutex<Vec<String>>,
    /// Whether changes fail.
    pub(super) broken: AtomicBool,
    /// Whether changes are refused, because another change was quicker.
    pub(super) moved: AtomicBool,
}

impl Crm {
    pub(super) fn new() -> Arc<Self> {
        let leads = [
            ("lead_123", "Marina Holdings", 91),
            ("lead_124", "Palm Estates", 42),
        ];
        let leads = leads.map(|(id, name, score)| {
            let lead = json!({"id": id, "name": name, "score": score, "stage": "Qualified"});
            (id.to_owned(), lead)
        });
        Arc::new(Self {
            leads: Mutex::new(leads.into()),
            calls: Mutex::default(),
            broken: AtomicBool::new(false),
            moved: AtomicBool::new(false),
        })
    }

    fn answer(&self, call: &ToolCall) -> Result<Value, String> {
        let mut leads = self.leads.lock().unwrap();
        let lead = call.parameters.get("lead").and_then(Value::as_str);
        match (call.tool_id.as_str(), lead) {
            ("crm.list_leads", _) => Ok(json!({"leads": leads.values().collect::<Vec<_>>()})),
            ("crm.get_lead", Some(id)) => leads
                .get(id)
                .cloned()
                .ok_or_else(|| "no such lead".to_owned()),
            ("crm.move_lead", _) if self.broken.load(Ordering::SeqCst) => {
                Err("it is broken".to_owned())
            }
            ("crm.move_lead", Some(_)) if self.moved.load(Ordering::SeqCst) => {
                Err(STALE.to_owned())
            }
            ("crm.move_lead", Some(id)) => {
                let lead = leads.get_mut(id).ok_or("no such lead")?;
                lead["stage"] = call.parameters["stage"].clone();
                Ok(lead.clone())
            }
            (other, _) => Err(format!("`{other}` is no tool of the CRM")),
        }
    }
}

#[async_trait]
impl ToolRunner for Crm {
    async fn run(&self, call: ToolCall, _: CancellationToken) -> ToolOutcome {
        self.calls.lock().unwrap().push(call.tool_id.to_string());
        match self.answer(&call) {
            Ok(output) => ToolOutcome::Succeeded {
                output,
                duration_ms: 1,
                log: String::new(),
            },
            Err(message) => ToolOutcome::Failed {
                kind: charter_domain::run::ErrorKind::ExecutionError,
                stale: message == STALE,
                answered: false,
                message,
                retryable: false,
                duration_ms: 1,
                log: String::new(),
            },
        }
    }
}

/// A mission type that differs from the other in its risk.
pub(super) const RISKY: &str = "crm.risky_brief";

/// The package: two tools that read, one that writes, a policy, and the mission type.
pub(super) fn package() -> PackageBundle {
    let tool = |id: &str, class: &str, parameters: &str| {
        format!(
            "tool_id: crm.{id}\nname: {id}\nprovider: crm\nservice: leads\ntool_class: {class}\n\
             domain: reliability\ndescription: The {id} of the CRM.\nlanguage: python\n\
             execution_target: server\nparameters: {parameters}\n\
             implementation: {{type: script, body: \"pass\"}}\n"
        )
    };
    let lead =
        "[{name: lead, type: string, required: true, description: which, example: lead_123}]";
    let stage = "[{name: lead, type: string, required: true, description: which}, \
                 {name: stage, type: string, required: true, description: where}]";
    let policy = "policy_id: crm.missions\ntitle: Missions read the CRM\ngoverns: [crm.list_leads, crm.get_lead]\n\
                  cedar: |\n  @id(\"reads\")\n  permit (principal, action in Action::\"read\", resource);\n  \
                  @id(\"critical\")\n  forbid (principal, action, resource)\n  \
                  when { context.run has mission && context.run.mission.risk_level == RiskLevel::\"critical\" };\n";
    let kind = "mission_type: crm.lead_brief\ndomain: reliability\ntitle: Lead brief\n\
                description: Which leads to look after.\nsensitivity_class: internal_business\n\
                requested_outputs: [reviewed_summary, writeback_proposal]\n\
                resource_families:\n  crm.leads: {description: Leads., tools: [crm.list_leads, crm.get_lead]}\n\
                outline:\n\
                \x20 - {task_id: list, role_type: worker, objective: \"List the leads for ${goal}\", allowed_tools: [crm.list_leads], required_data_scopes: [crm.leads]}\n\
                \x20 - {task_id: weigh, role_type: worker, objective: Weigh the leads by score, depends_on: [list], required_data_scopes: [crm.leads]}\n\
                prompts: {planner: crm.planner}\n\
                write_backs:\n\
                \x20 - action_type: lead_stage_update\n    target_entity_type: lead\n    description: Moves a lead to another stage.\n\
                \x20   payload_schema: {type: object, required: [stage], properties: {stage: {const: Negotiation}}}\n\
                \x20   by: {tool: crm.move_lead}\n    parameters: {lead: \"${target_entity_id}\", stage: \"${payload.stage}\"}\n\
                \x20   target: {tool: crm.get_lead, parameters: {lead: \"${target_entity_id}\"}}\n";
    let planner = "prompt_id: crm.planner\ndomain: reliability\ntitle: Planner\nrole_type: planner\n\
                   system_prompt: You plan.\ntask_prompt: \"${goal}\"\nmodel_route: tier_high_reasoning\n\
                   examples: [{example_id: one, task: Which leads are new?, answer: List them first.}]\n";
    let files = json!({"files": {
        "prompts/planner.yaml": planner,
        "package.yaml": "name: crm\nversion: 1.0.0\ntitle: CRM\nscope: tenant\n",
        "tools/list_leads.yaml": tool("list_leads", "readonly", "[]"),
        "tools/get_lead.yaml": tool("get_lead", "readonly", lead),
        "tools/move_lead.yaml": tool("move_lead", "write", stage),
        "policies/missions.yaml": policy,
        "missions/lead_brief.yaml": kind,
        "missions/risky_brief.yaml": kind.replace("crm.lead_brief", RISKY) + "risk_level: critical\n",
    }});
    serde_json::from_value(files).unwrap()
}

pub(super) struct Rig {
    pub(super) engine: Arc<Engine>,
    pub(super) crm: Arc<Crm>,
    _dir: TempDir,
}

impl Rig {
    pub(super) async fn new() -> Self {
        Self::with_models(Arc::new(charter_effects::NoModels)).await
    }

    pub(super) async fn with_models(models: Arc<dyn Models>) -> Self {
        Self::with(models, Settings::default()).await
    }

    pub(super) async fn with(models: Arc<dyn Models>, settings: Settings) -> Self {
        let clock = Arc::new(SystemClock::start().unwrap());
        Self::with_clock(models, settings, clock).await
    }

    pub(super) async fn with_clock(
        models: Arc<dyn Models>,
        settings: Settings,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let dir = TempDir::new().unwrap();
        let crm = Crm::new();
        let settings = Settings {
            four_eyes: Some(true),
            ..settings
        };
        let tools = Arc::<Crm>::clone(&crm);
        let engine = engine_at(clock, open(dir.path()), tools, models, settings).await;
        let registered = engine
            .packages()
            .register(&person("ann"), package(), Mode::Apply)
            .await;
        registered.unwrap();
        Self {
            engine,
            crm,
            _dir: dir,
        }
    }

    pub(super) async fn start(&self, order: Value) -> MissionView {
        let order: MissionOrder = serde_json::from_value(order).unwrap();
        self.engine
            .missions()
            .start(&person("ann"), &order)
            .await
            .unwrap()
            .mission()
    }

    /// Returns the mission once it is over, or waits for a person.
    pub(super) async fn settled(&self, mission: &MissionId) -> MissionView {
        eventually(async || {
            let shown = self
                .engine
                .mission_views()
                .show(&person("ann"), mission)
                .await
                .unwrap();
            let mut proposals = shown.proposals.iter();
            let asked = proposals.all(|proposal| proposal.approval_id.is_some());
            let settled = shown.state.is_final() || (asked && !shown.proposals.is_empty());
            settled.then_some(shown)
        })
        .await
    }
}

/// A mission of the package's type, answered by the models.
pub(super) fn asked() -> Value {
    json!({"goal": "Which leads deserve a call?", "mission_type": "crm.lead_brief"})
}

/// A mission of the package's type, answered offline.
pub(super) fn order() -> Value {
    json!({
        "goal": "Which leads deserve a call?", "mission_type": "crm.lead_brief", "model": "offline",
        "context_refs": {"lead_ids": ["lead_123"]},
    })
}
