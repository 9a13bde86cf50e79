//! What the stages of one mission work with: its envelope, what is registered for its kind in the
//! versions that the run pinned, and what it has produced.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use charter_contract::catalogue::mission_type::MissionType;
use charter_contract::catalogue::prompt::PromptTemplate;
use charter_contract::catalogue::tool::Tool;
use charter_contract::ids::{Label, TaskId, ToolId};
use charter_contract::mission::envelope::MissionEnvelope;
use charter_contract::mission::policy_decision::Decision;
use charter_contract::mission::task_graph::{MissionTaskGraph, Role, Task};
use charter_domain::mission::admit::{Inventory, TOOL_SCOPE};

use super::begun::MissionStart;
use super::prompts;
use crate::Tier;

/// A mission under way in this process.
#[derive(Debug)]
pub(super) struct MissionContext {
    pub(super) envelope: MissionEnvelope,
    pub(super) kind: MissionType,
    /// Whether the offline provider answers and no model is asked.
    pub(super) offline: bool,
    /// The tier of whoever began the mission.
    pub(super) tier: Tier,
    prompts: BTreeMap<Role, PromptTemplate>,
    plan: OnceLock<Arc<Plan>>,
    inventory: RwLock<Inventory>,
}

/// A task graph that is looked into by task.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) graph: MissionTaskGraph,
    places: HashMap<TaskId, usize>,
}

impl Plan {
    pub(super) fn new(graph: MissionTaskGraph) -> Self {
        let ids = graph.tasks.iter().map(|task| task.task_id.clone());
        let places = ids.zip(0..).collect();
        Self { graph, places }
    }

    pub(super) fn task(&self, id: &TaskId) -> Option<&Task> {
        self.places.get(id).map(|at| &self.graph.tasks[*at])
    }
}

impl MissionContext {
    pub(super) fn new(
        envelope: MissionEnvelope,
        kind: MissionType,
        prompts: BTreeMap<Role, PromptTemplate>,
        begun: &MissionStart,
        inventory: Inventory,
    ) -> Self {
        Self {
            envelope,
            kind,
            offline: begun.offline,
            tier: begun.tier,
            prompts,
            plan: OnceLock::new(),
            inventory: RwLock::new(inventory),
        }
    }

    /// The prompt template of a role: the registered one, or the built-in one.
    pub(super) fn prompt(&self, role: Role) -> &PromptTemplate {
        self.prompts
            .get(&role)
            .unwrap_or_else(|| prompts::built_in(role))
    }

    /// The task graph, once it is there.
    pub(super) fn plan(&self) -> Option<Arc<Plan>> {
        self.plan.get().cloned()
    }

    /// Keeps the task graph. A mission has one: a second is the first again.
    pub(super) fn keep_plan(&self, graph: MissionTaskGraph) -> Arc<Plan> {
        Arc::clone(self.plan.get_or_init(|| Arc::new(Plan::new(graph))))
    }

    /// What the mission has produced. Held for a look only, never over a wait.
    pub(super) fn inventory(&self) -> RwLockReadGuard<'_, Inventory> {
        self.inventory
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn inventory_mut(&self) -> RwLockWriteGuard<'_, Inventory> {
        self.inventory
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The family of resources that a tool reads: the one that the mission's kind puts it in, else the
    /// service that it is of.
    pub(super) fn family(&self, tool: &Tool) -> Label {
        self.kind
            .family_of(&tool.tool_id)
            .cloned()
            .unwrap_or_else(|| service_of(tool))
    }

    /// Who produced an artifact: the role's agent, and that no model was asked where none was.
    pub(super) fn producer(&self, agent: &'static str) -> Label {
        let name = if self.offline {
            format!("{agent}.offline")
        } else {
            agent.to_owned()
        };
        Label::parse(&name).unwrap_or_else(|_| self.envelope.producer.clone())
    }

    /// What a task asks for, as far as the latest decision on each tool allows it (B002-5).
    pub(super) fn tool_scope(&self, task: &Task) -> Vec<ToolId> {
        let inventory = self.inventory();
        let allowed = |tool: &&ToolId| {
            inventory.latest_decision(TOOL_SCOPE, tool.as_str()) == Some(Decision::Allow)
        };
        task.allowed_tools.iter().filter(allowed).cloned().collect()
    }
}

/// `aws.ec2` of a tool of the service `ec2` of `aws`.
fn service_of(tool: &Tool) -> Label {
    match &tool.service {
        Some(service) => {
            let name = format!("{}.{service}", tool.provider);
            Label::parse(&name).unwrap_or_else(|_| tool.provider.clone())
        }
        None => tool.provider.clone(),
    }
}
