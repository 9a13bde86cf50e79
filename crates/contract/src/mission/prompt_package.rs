//! Prompt packages (002 §6): the exact instructions of one task. Prompts are built
//! from these only.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::task_graph::Role;
use super::version::{MissionSchemaVersion, schema_tag};
use crate::ids::{ActorId, Label, MissionId, PromptPackageId, TaskId, TenantId, ToolId};
use crate::schema::SchemaName;
use crate::text::Text;
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(PromptPackage, Constraints);

schema_tag!(PromptPackageTag = "prompt_package");

/// The instructions of one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct PromptPackage {
    /// `prompt_package`.
    pub schema_name: PromptPackageTag,
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
    /// The task.
    pub task_id: TaskId,
    /// Its own id.
    pub package_id: PromptPackageId,
    /// The role it is for.
    pub role_type: Role,
    /// The prompt template it was made from.
    pub template_id: Label,
    /// The version of that template, e.g. `v1`.
    pub template_version: Label,
    /// Examples that were used.
    #[serde(default)]
    pub examples_used: Vec<Label>,
    /// The system prompt.
    pub system_prompt: Text,
    /// The prompt of the task.
    pub task_prompt: Text,
    /// What the worker must keep to.
    #[serde(default)]
    pub constraints: Constraints,
    /// Tools the worker may call.
    #[serde(default)]
    pub tool_scope: Vec<ToolId>,
    /// Which model answers: `tier_high_reasoning`.
    pub model_route: Label,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub producer: Label,
}

/// What a worker must keep to. What is not stated holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Constraints {
    /// Empty citations are refused (B002-6).
    #[serde(default = "holds")]
    pub must_cite_sources: bool,
    /// No proposal before the review (B002-6).
    #[serde(default = "holds")]
    pub must_not_writeback_directly: bool,
}

fn holds() -> bool {
    true
}

impl Default for Constraints {
    fn default() -> Self {
        Self {
            must_cite_sources: true,
            must_not_writeback_directly: true,
        }
    }
}

impl Contract for PromptPackage {
    const NAME: SchemaName = SchemaName::PromptPackage;

    fn check(&self, _: &mut Report) {}
}
