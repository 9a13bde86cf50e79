//! The task graph of a mission (002 §5): what the planner decided. Who does what is
//! the mission machine's business.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::version::{MissionSchemaVersion, schema_tag};
use crate::dependency::{Node, Wording, check_graph};
use crate::ids::{ActorId, Label, MissionId, TaskId, TenantId, ToolId};
use crate::list::MAX_LIST;
use crate::schema::SchemaName;
use crate::text::Text;
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(MissionTaskGraph, Task);

schema_tag!(MissionTaskGraphTag = "mission_task_graph");

/// Most tasks that can be planned: every mission has four of its own besides, for prompts, passes,
/// the aggregation and the review.
pub const MAX_PLANNED: usize = MAX_LIST - 4;

/// The tasks of a mission and how they wait for each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct MissionTaskGraph {
    /// `mission_task_graph`.
    pub schema_name: MissionTaskGraphTag,
    /// Version of this form.
    pub schema_version: MissionSchemaVersion,
    /// The mission.
    pub mission_id: MissionId,
    /// Its tenant; stamped when stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Its actor; stamped when stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<ActorId>,
    /// The tasks, in listed order.
    #[schemars(length(min = 1, max = MAX_LIST))]
    #[serde(deserialize_with = "crate::list::one_or_more")]
    pub tasks: Vec<Task>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub producer: Label,
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Task {
    /// Its id, unique within the mission.
    pub task_id: TaskId,
    /// The role that does it.
    pub role_type: Role,
    /// Its objective.
    pub objective: Text,
    /// Tasks that must succeed first.
    #[serde(default)]
    pub depends_on: Vec<TaskId>,
    /// What whoever does it must be able to do.
    #[serde(default)]
    pub required_capabilities: Vec<Label>,
    /// Tools it may use; none when absent.
    #[serde(default)]
    pub allowed_tools: Vec<ToolId>,
    /// Data it needs.
    #[serde(default)]
    pub required_data_scopes: Vec<Label>,
    /// How to tell that it is done.
    #[serde(default)]
    pub success_criteria: Vec<Text>,
}

string_enum! {
    /// The roles of phase 1 (002 §5.3).
    pub enum Role {
        /// Makes the task graph.
        Planner = "planner",
        /// Makes the prompt packages.
        PromptMaster = "prompt_master",
        /// Searches outside.
        Researcher = "researcher",
        /// Opens the way to internal data.
        Librarian = "librarian",
        /// Does the work.
        Worker = "worker",
        /// Brings results together.
        Aggregator = "aggregator",
        /// Reviews, once.
        Reviewer = "reviewer",
    }
}

impl Contract for MissionTaskGraph {
    const NAME: SchemaName = SchemaName::MissionTaskGraph;

    // B002-4.
    fn check(&self, report: &mut Report) {
        const WORDING: Wording = Wording {
            noun: "task",
            list: "/tasks",
            name_field: "task_id",
            needs_field: "depends_on",
        };
        let nodes: Vec<Node<'_>> = self
            .tasks
            .iter()
            .map(|task| Node {
                name: task.task_id.as_str(),
                needs: task.depends_on.iter().map(TaskId::as_str).collect(),
            })
            .collect();
        check_graph(&nodes, &WORDING, report);
    }
}
