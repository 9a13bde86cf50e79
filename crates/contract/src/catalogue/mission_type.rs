//! Kinds of missions (this project; seed 002 §4 names `mission_type` and leaves open what it stands
//! for): what such a mission may look at, which prompts instruct its roles, and how what it proposes is
//! written back.

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

object_only!(
    MissionType,
    ResourceFamily,
    OutlinedTask,
    WriteBack,
    TargetRead
);

/// What objectives of an outline may refer to.
const GOAL: PlaceholderScope = PlaceholderScope {
    values: &["goal"],
    objects: &[],
};

/// What the parameters of write-backs may refer to.
const PROPOSAL: PlaceholderScope = PlaceholderScope {
    values: &["target_entity_id"],
    objects: &["payload"],
};

/// A kind of missions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct MissionType {
    /// Its id: the `mission_type` of envelopes.
    pub mission_type: MissionTypeId,
    /// The domain it belongs to.
    pub domain: DomainId,
    /// Its title.
    pub title: Text,
    /// What such a mission is for.
    pub description: Text,
    /// How risky it is where the mission does not say.
    #[serde(default = "medium")]
    pub risk_level: RiskLevel,
    /// How sensitive its data are: `internal_business`.
    pub sensitivity_class: Label,
    /// How long it may take where the mission does not say, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_budget_ms: Option<Positive>,
    /// How many tokens it may use where the mission does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<Positive>,
    /// What it produces where the mission does not say: `reviewed_summary`.
    #[serde(default)]
    pub requested_outputs: Vec<Label>,
    /// Families of resources that its workers may be let to, by name: `crm.leads`.
    #[serde(default)]
    pub resource_families: BTreeMap<Label, ResourceFamily>,
    /// The prompt template of each role; a role without one gets the built-in one.
    #[serde(default)]
    pub prompts: BTreeMap<Role, PromptId>,
    /// Tasks that such a mission usually has: shown to the planner, and its plan where no model plans.
    #[schemars(length(max = MAX_PLANNED))]
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::list::between::<0, MAX_PLANNED, _, _>"
    )]
    pub outline: Vec<OutlinedTask>,
    /// What may be proposed, and how it is carried out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write_backs: Vec<WriteBack>,
    /// Its tenant; absent for a global one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Whether it is offered.
    #[serde(default)]
    pub status: Status,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// When it was first registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it was last registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

fn medium() -> RiskLevel {
    RiskLevel::Medium
}

/// What belongs to a family of resources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ResourceFamily {
    /// What is in it.
    pub description: Text,
    /// Tools that read it, and only read; a tool belongs to one family.
    #[serde(default)]
    pub tools: Vec<ToolId>,
    /// Lenses that are searched for it.
    #[serde(default)]
    pub lenses: Vec<LensId>,
}

/// A task that a mission of the kind usually has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct OutlinedTask {
    /// Its id.
    pub task_id: TaskId,
    /// `researcher` or `worker`.
    pub role_type: Role,
    /// What it is to achieve; `${goal}` stands for the mission's goal.
    pub objective: Text,
    /// Tasks of the outline that must succeed first.
    #[serde(default)]
    pub depends_on: Vec<TaskId>,
    /// Registered skills whose plans say what to call first, and whose rules judge what the tools answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_capabilities: Vec<SkillId>,
    /// Tools that it may use, each of one of the families.
    #[serde(default)]
    pub allowed_tools: Vec<ToolId>,
    /// Families of resources that it needs.
    #[serde(default)]
    pub required_data_scopes: Vec<Label>,
    /// How to tell that it is done.
    #[serde(default)]
    pub success_criteria: Vec<Text>,
}

/// A change that may be proposed, and how it is carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct WriteBack {
    /// `action_type` of proposals: `lead_stage_update`.
    pub action_type: Label,
    /// `target_entity_type` of proposals: `lead`.
    pub target_entity_type: Label,
    /// When to propose it, and what it does.
    pub description: Text,
    /// JSON Schema of the proposals' `payload`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_schema: Option<ForeignSchema>,
    /// What carries it out.
    pub by: WriteBackAction,
    /// The parameters of the tool or playbook, or the webhook's body: `${target_entity_id}` and
    /// `${payload.name}` stand for the proposal's values.
    #[serde(default)]
    pub parameters: Map<String, Value>,
    /// How the target is looked at, so that a change in the meantime is a conflict (B002-13). Without
    /// it, changes of the target are not noticed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetRead>,
    /// Whether a person must approve it.
    #[serde(default = "yes")]
    pub requires_approval: bool,
}

fn yes() -> bool {
    true
}

/// What carries a proposal out: exactly one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteBackAction {
    /// A registered tool that writes.
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
    /// A tool that only reads.
    pub tool: ToolId,
    /// Its parameters: `${target_entity_id}` and `${payload.name}` stand for the proposal's values.
    #[serde(default)]
    pub parameters: Map<String, Value>,
}

impl MissionType {
    /// How a proposal of these types is carried out.
    #[must_use]
    pub fn write_back(&self, action: &Label, entity: &Label) -> Option<&WriteBack> {
        let mut known = self.write_backs.iter();
        known.find(|known| known.action_type == *action && known.target_entity_type == *entity)
    }

    /// The family that a tool reads.
    #[must_use]
    pub fn family_of(&self, tool: &ToolId) -> Option<&Label> {
        let mut families = self.resource_families.iter();
        families.find_map(|(name, family)| family.tools.contains(tool).then_some(name))
    }
}

impl Contract for MissionType {
    const NAME: SchemaName = SchemaName::MissionType;

    // Checks what the schema cannot say.
    fn check(&self, report: &mut Report) {
        self.check_families(report);
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

    /// `tools` are those of all families.
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
