//! Prompt packages (002 §6): the exact instructions of one task, and the only source of its prompts.

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
    /// Always `prompt_package`.
    pub schema_name: PromptPackageTag,
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
    /// Id of the task.
    pub task_id: TaskId,
    /// Id of the package.
    pub package_id: PromptPackageId,
    /// Mission role that the package instructs.
    pub role_type: Role,
    /// Id of the prompt template.
    pub template_id: Label,
    /// Version of the prompt template, e.g. `v1`.
    pub template_version: Label,
    /// Ids of the included examples.
    #[serde(default)]
    pub examples_used: Vec<Label>,
    /// System prompt.
    pub system_prompt: Text,
    /// Task prompt.
    pub task_prompt: Text,
    /// Constraints on the worker.
    #[serde(default)]
    pub constraints: Constraints,
    /// Tools that the worker may call.
    #[serde(default)]
    pub tool_scope: Vec<ToolId>,
    /// Route to the model: `tier_high_reasoning`.
    pub model_route: Label,
    /// Creation time.
    pub created_at: Timestamp,
    /// Producer of the artifact.
    pub producer: Label,
}

/// Constraints on a worker. An absent constraint applies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Constraints {
    /// Whether empty citations are refused (B002-6); true when absent.
    #[serde(default = "default_true")]
    pub must_cite_sources: bool,
    /// Whether proposals before the review are refused (B002-6); true when absent.
    #[serde(default = "default_true")]
    pub must_not_writeback_directly: bool,
}

fn default_true() -> bool {
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
