//! The context of one mission's stages: its envelope, the documents of its type in the versions that the run pinned,
//! and its artifacts.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use charter_contract::catalogue::mission_type::{MissionType, RolePerformer};
use charter_contract::catalogue::prompt::PromptTemplate;
use charter_contract::catalogue::tool::Tool;
use charter_contract::ids::{Label, TaskId, ToolId};
use charter_contract::mission::envelope::MissionEnvelope;
use charter_contract::mission::policy_decision::Decision;
use charter_contract::mission::task_graph::{MissionTaskGraph, Role, Task};
use charter_domain::mission::admit::{Inventory, TOOL_SCOPE};

use super::MissionStageService;
use super::begun::MissionStart;
use super::prompts;
use crate::Tier;

/// A running mission in this process.
#[derive(Debug)]
pub(super) struct MissionContext {
    /// Runs its stages.
    pub(super) stages: Arc<MissionStageService>,
    pub(super) envelope: MissionEnvelope,
    pub(super) kind: MissionType,
    /// Whether the offline provider answers, without a model.
    pub(super) offline: bool,
    /// The tier of the mission's starter.
    pub(super) tier: Tier,
    prompts: BTreeMap<Role, PromptTemplate>,
    plan: OnceLock<Arc<Plan>>,
    inventory: RwLock<Inventory>,
}

/// A task graph with lookup by task.
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
        stages: Arc<MissionStageService>,
        envelope: MissionEnvelope,
        kind: MissionType,
        prompts: BTreeMap<Role, PromptTemplate>,
        begun: &MissionStart,
        inventory: Inventory,
    ) -> Self {
        Self {
            stages,
            envelope,
            kind,
            offline: begun.offline,
            tier: begun.tier,
            prompts,
            plan: OnceLock::new(),
            inventory: RwLock::new(inventory),
        }
    }

    /// Returns the prompt template of a mission role: the registered one, or the built-in one.
    pub(super) fn prompt(&self, role: Role) -> &PromptTemplate {
        self.prompts
            .get(&role)
            .unwrap_or_else(|| prompts::built_in(role))
    }

    /// Returns the task graph, once there is one.
    pub(super) fn plan(&self) -> Option<Arc<Plan>> {
        self.plan.get().cloned()
    }

    /// Stores the task graph. A mission has only one, so a later call returns the first.
    pub(super) fn keep_plan(&self, graph: MissionTaskGraph) -> Arc<Plan> {
        Arc::clone(self.plan.get_or_init(|| Arc::new(Plan::new(graph))))
    }

    /// Locks the mission's artifacts for reading. Hold the lock briefly, never across an await.
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

    /// Returns the family of resources that a tool reads: the one declared by the mission's type, else the tool's
    /// service.
    pub(super) fn family(&self, tool: &Tool) -> Label {
        self.kind
            .family_of(&tool.tool_id)
            .cloned()
            .unwrap_or_else(|| service_of(tool))
    }

    /// Returns the producer of a role's artifacts: the role's agent, marked as offline if it could have been a model
    /// and none was asked.
    pub(super) fn producer(&self, role: Role) -> Label {
        let name = if self.is_offline(role) {
            format!("{role}_agent.offline")
        } else {
            format!("{role}_agent")
        };
        Label::parse(&name).unwrap_or_else(|_| self.envelope.producer.clone())
    }

    /// Returns whether the offline provider answers for a role that is a model by default.
    pub(super) fn is_offline(&self, role: Role) -> bool {
        self.offline
            || (self.kind.performer(role) == RolePerformer::Charter
                && RolePerformer::default_for(role) == RolePerformer::Model)
    }

    /// Returns the route to the model of a role.
    pub(super) fn route(&self, role: Role) -> &Label {
        let own = self.kind.model_route(role);
        own.unwrap_or_else(|| &self.prompt(role).model_route)
    }

    /// Returns the tools that a task requests and that the latest decision on each allows (B002-5).
    pub(super) fn tool_scope(&self, task: &Task) -> Vec<ToolId> {
        let inventory = self.inventory();
        let allowed = |tool: &&ToolId| {
            inventory.latest_decision(TOOL_SCOPE, tool.as_str()) == Some(Decision::Allow)
        };
        task.allowed_tools.iter().filter(allowed).cloned().collect()
    }
}

/// Returns `aws.ec2` for a tool of the service `ec2` of `aws`.
fn service_of(tool: &Tool) -> Label {
    match &tool.service {
        Some(service) => {
            let name = format!("{}.{service}", tool.provider);
            Label::parse(&name).unwrap_or_else(|_| tool.provider.clone())
        }
        None => tool.provider.clone(),
    }
}
