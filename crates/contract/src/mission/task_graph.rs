//! The task graph of a mission (002 §5): the planner's output. The engine assigns and runs the tasks.

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

/// Maximum number of planned tasks: every mission has four more, for prompts, passes, the aggregation and the review.
pub const MAX_PLANNED: usize = MAX_LIST - 4;

/// The tasks of a mission and their dependencies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct MissionTaskGraph {
    /// Always `mission_task_graph`.
    pub schema_name: MissionTaskGraphTag,
    /// Version of this form.
    pub schema_version: MissionSchemaVersion,
    /// Id of the mission.
    pub mission_id: MissionId,
    /// Tenant of the mission; set on storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Actor of the mission; set on storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<ActorId>,
    /// Tasks, in listed order; at least one.
    #[schemars(length(min = 1, max = MAX_LIST))]
    #[serde(deserialize_with = "crate::list::one_or_more")]
    pub tasks: Vec<Task>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Producer of the artifact.
    pub producer: Label,
}

/// One task of a mission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Task {
    /// Id of the task, unique within the mission.
    pub task_id: TaskId,
    /// Mission role that executes the task.
    pub role_type: Role,
    /// Its objective.
    pub objective: Text,
    /// Ids of the tasks that must succeed first.
    #[serde(default)]
    pub depends_on: Vec<TaskId>,
    /// Capabilities required for the task.
    #[serde(default)]
    pub required_capabilities: Vec<Label>,
    /// Tools that the task may use; none when absent.
    #[serde(default)]
    pub allowed_tools: Vec<ToolId>,
    /// Resource families that the task needs.
    #[serde(default)]
    pub required_data_scopes: Vec<Label>,
    /// Criteria by which the task is judged complete.
    #[serde(default)]
    pub success_criteria: Vec<Text>,
}

string_enum! {
    /// Role of a mission of phase 1 (002 §5.3).
    pub enum Role {
        /// Creates the task graph.
        Planner = "planner",
        /// Creates the prompt packages.
        PromptMaster = "prompt_master",
        /// Searches external sources.
        Researcher = "researcher",
        /// Grants access to internal data.
        Librarian = "librarian",
        /// Executes a task.
        Worker = "worker",
        /// Combines results.
        Aggregator = "aggregator",
        /// Reviews once.
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
