//! Mission types (this project; seed 002 §4 names `mission_type` without defining it). A mission type defines the
//! resources that its missions may read, the prompts of their mission roles, and how their proposals are written back.

mod roles;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::placeholders::PlaceholderScope;
use super::vocabulary::Status;
use crate::dependency::{Node, Wording, check_graph};
use crate::foreign_schema::ForeignSchema;
use crate::ids::{
    DomainId, Label, LensId, MissionTypeId, PlaybookId, PromptId, SkillId, TaskId, TenantId, ToolId,
};
use crate::mission::envelope::RiskLevel;
use crate::mission::task_graph::{MAX_PLANNED, Role};
use crate::number::Positive;
use crate::schema::SchemaName;
use crate::text::{HttpUrl, Text, Version};
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

pub use roles::{MAX_AGENTS, RoleAssignment, RolePerformer};

object_only!(
    MissionType,
    ResourceFamily,
    OutlinedTask,
    WriteBack,
    TargetRead
);

/// Placeholders allowed in the objectives of an outline.
const GOAL: PlaceholderScope = PlaceholderScope {
    values: &["goal"],
    objects: &[],
};

/// Placeholders allowed in the parameters of write-backs.
const PROPOSAL: PlaceholderScope = PlaceholderScope {
    values: &["target_entity_id"],
    objects: &["payload"],
};

/// A mission type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct MissionType {
    /// Id of the mission type: the `mission_type` of envelopes.
    pub mission_type: MissionTypeId,
    /// Domain of the mission type.
    pub domain: DomainId,
    /// Title.
    pub title: Text,
    /// Purpose of such missions.
    pub description: Text,
    /// Default risk level of its missions.
    #[serde(default = "default_risk")]
    pub risk_level: RiskLevel,
    /// Data sensitivity: `internal_business`.
    pub sensitivity_class: Label,
    /// Default time budget of a mission, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_budget_ms: Option<Positive>,
    /// Default token budget of a mission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<Positive>,
    /// Default outputs of a mission: `reviewed_summary`.
    #[serde(default)]
    pub requested_outputs: Vec<Label>,
    /// Resource families that its workers may be granted, by name: `crm.leads`.
    #[serde(default)]
    pub resource_families: BTreeMap<Label, ResourceFamily>,
    /// Prompt template of each mission role; a role without one uses the built-in template.
    #[serde(default)]
    pub prompts: BTreeMap<Role, PromptId>,
    /// Who carries out each role. By default the planner, the workers, the aggregator and the reviewer are models, and
    /// Charter does the rest.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<Role, RoleAssignment>,
    /// Usual tasks of such a mission: shown to the planner, and used as the plan when no model plans.
    #[schemars(length(max = MAX_PLANNED))]
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::list::between::<0, MAX_PLANNED, _, _>"
    )]
    pub outline: Vec<OutlinedTask>,
    /// Changes that may be proposed, and how each is executed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write_backs: Vec<WriteBack>,
    /// Tenant of the mission type; absent for a global one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Status in the catalogue.
    #[serde(default)]
    pub status: Status,
    /// Version of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Time of the first registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Time of the last registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

fn default_risk() -> RiskLevel {
    RiskLevel::Medium
}

/// The members of a resource family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ResourceFamily {
    /// Description of the resources.
    pub description: Text,
    /// Readonly tools that read the resources; a tool belongs to one family.
    #[serde(default)]
    pub tools: Vec<ToolId>,
    /// Lenses searched for the resources.
    #[serde(default)]
    pub lenses: Vec<LensId>,
}

/// A usual task of the missions of a type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct OutlinedTask {
    /// Id of the task.
    pub task_id: TaskId,
    /// Mission role of the task: `researcher` or `worker`.
    pub role_type: Role,
    /// Objective; `${goal}` is replaced with the mission's goal.
    pub objective: Text,
    /// Tasks of the outline that must succeed first.
    #[serde(default)]
    pub depends_on: Vec<TaskId>,
    /// Registered skills whose plans suggest the first calls, and whose rules evaluate the tools' results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_capabilities: Vec<SkillId>,
    /// Tools that the task may use, each from one of the families.
    #[serde(default)]
    pub allowed_tools: Vec<ToolId>,
    /// Resource families that the task needs.
    #[serde(default)]
    pub required_data_scopes: Vec<Label>,
    /// Criteria by which the task is judged complete.
    #[serde(default)]
    pub success_criteria: Vec<Text>,
}

/// A change that missions may propose, and how it is executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct WriteBack {
    /// `action_type` of the proposals: `lead_stage_update`.
    pub action_type: Label,
    /// `target_entity_type` of the proposals: `lead`.
    pub target_entity_type: Label,
    /// When to propose the change, and its effect.
    pub description: Text,
    /// JSON Schema of the proposals' `payload`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_schema: Option<ForeignSchema>,
    /// Tool, playbook or webhook that executes the change.
    pub by: WriteBackAction,
    /// Parameters of the tool or playbook, or body of the webhook request. `${target_entity_id}` and `${payload.name}`
    /// are replaced with the proposal's values.
    #[serde(default)]
    pub parameters: Map<String, Value>,
    /// Call that reads the target, so that a concurrent change is reported as a conflict (B002-13). Without it,
    /// changes of the target are not noticed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetRead>,
    /// Whether an approver must approve the change.
    #[serde(default = "default_true")]
    pub requires_approval: bool,
}

fn default_true() -> bool {
    true
}

/// The executor of a proposal: exactly one of three.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteBackAction {
    /// A registered write tool.
    Tool(ToolId),
    /// A registered playbook.
    Playbook(PlaybookId),
    /// A signed request to the system of record.
    Webhook(HttpUrl),
}

/// A call that reads the target of a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct TargetRead {
    /// A readonly tool.
    pub tool: ToolId,
    /// Arguments of the tool. `${target_entity_id}` and `${payload.name}` are replaced with the proposal's values.
    #[serde(default)]
    pub parameters: Map<String, Value>,
}

impl MissionType {
    /// Returns the write-back for a proposal of these types.
    #[must_use]
    pub fn write_back(&self, action: &Label, entity: &Label) -> Option<&WriteBack> {
        let mut known = self.write_backs.iter();
        known.find(|known| known.action_type == *action && known.target_entity_type == *entity)
    }

    /// Returns the family that a tool reads.
    #[must_use]
    pub fn family_of(&self, tool: &ToolId) -> Option<&Label> {
        let mut families = self.resource_families.iter();
        families.find_map(|(name, family)| family.tools.contains(tool).then_some(name))
    }
}

impl Contract for MissionType {
    const NAME: SchemaName = SchemaName::MissionType;

    // Checks the rules that the schema cannot express.
    fn check(&self, report: &mut Report) {
        self.check_families(report);
        self.check_roles(report);
        self.check_outline(report);
        self.check_write_backs(report);
    }
}

impl MissionType {
    fn check_families(&self, report: &mut Report) {
        let mut seen: BTreeMap<&ToolId, &Label> = BTreeMap::new();
        for (name, family) in &self.resource_families {
            for (at, tool) in family.tools.iter().enumerate() {
                if let Some(other) = seen.insert(tool, name) {
                    let message = format!("the tool `{tool}` is already in the family `{other}`");
                    let pointer = format!("/resource_families/{name}/tools/{at}");
                    report.meaning(pointer, "unique", message);
                }
            }
        }
    }

    fn check_outline(&self, report: &mut Report) {
        const WORDING: Wording = Wording {
            noun: "task",
            list: "/outline",
            name_field: "task_id",
            needs_field: "depends_on",
        };
        let nodes: Vec<Node<'_>> = self
            .outline
            .iter()
            .map(|task| Node {
                name: task.task_id.as_str(),
                needs: task.depends_on.iter().map(TaskId::as_str).collect(),
            })
            .collect();
        check_graph(&nodes, &WORDING, report);
        let families = self.resource_families.values();
        let tools: BTreeSet<&ToolId> = families.flat_map(|family| &family.tools).collect();
        for (at, task) in self.outline.iter().enumerate() {
            self.check_task(task, &tools, &format!("/outline/{at}"), report);
        }
    }

    /// Checks one task of the outline; `tools` are those of all families.
    fn check_task(
        &self,
        task: &OutlinedTask,
        tools: &BTreeSet<&ToolId>,
        here: &str,
        report: &mut Report,
    ) {
        if !matches!(task.role_type, Role::Researcher | Role::Worker) {
            let message = format!(
                "an outlined task is a researcher's or a worker's: every mission has its own {}",
                task.role_type
            );
            report.meaning(format!("{here}/role_type"), "enum", message);
        }
        GOAL.check(
            task.objective.as_str(),
            &format!("{here}/objective"),
            report,
        );
        for (at, tool) in task.allowed_tools.iter().enumerate() {
            if !tools.contains(tool) {
                let message = format!("the tool `{tool}` is not in any resource family");
                let pointer = format!("{here}/allowed_tools/{at}");
                report.meaning(pointer, "reference", message);
            }
        }
        for (at, scope) in task.required_data_scopes.iter().enumerate() {
            if !self.resource_families.contains_key(scope) {
                let message = format!("`{scope}` is not a resource family");
                let pointer = format!("{here}/required_data_scopes/{at}");
                report.meaning(pointer, "reference", message);
            }
        }
    }

    fn check_write_backs(&self, report: &mut Report) {
        let mut seen = BTreeSet::new();
        for (at, write_back) in self.write_backs.iter().enumerate() {
            let here = format!("/write_backs/{at}");
            let (action, entity) = (&write_back.action_type, &write_back.target_entity_type);
            if !seen.insert((action, entity)) {
                let message = format!("the write-back `{action}` of `{entity}` is duplicated");
                report.meaning(format!("{here}/action_type"), "unique", message);
            }
            if let Some(schema) = &write_back.payload_schema {
                schema.check(&format!("{here}/payload_schema"), report);
            }
            PROPOSAL.check_all(
                &write_back.parameters,
                &format!("{here}/parameters"),
                report,
            );
            if let Some(target) = &write_back.target {
                let pointer = format!("{here}/target/parameters");
                PROPOSAL.check_all(&target.parameters, &pointer, report);
            }
        }
    }
}
