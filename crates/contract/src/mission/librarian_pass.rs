//! Librarian passes (002 §8): temporary access of a worker to internal data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::version::{MissionSchemaVersion, schema_tag};
use crate::ids::{ActorId, Label, LibrarianPassId, MissionId, TaskId, TenantId, ToolId};
use crate::schema::SchemaName;
use crate::text::{ShortText, Text};
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(LibrarianPass, RecommendedQuery, CachedPreview);

schema_tag!(LibrarianPassTag = "librarian_pass");

/// Access to internal data, for one task and a limited time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct LibrarianPass {
    /// Always `librarian_pass`.
    pub schema_name: LibrarianPassTag,
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
    /// Id of the pass.
    pub pass_id: LibrarianPassId,
    /// Resource families that the pass grants, and no others: `crm.leads` (B002-8).
    pub allowed_resource_families: Vec<Label>,
    /// Recommended queries.
    #[serde(default)]
    pub recommended_queries: Vec<RecommendedQuery>,
    /// Previews of known entities.
    #[serde(default)]
    pub cached_previews: Vec<CachedPreview>,
    /// Expiry time; from then on the pass is denied (B002-8).
    pub expires_at: Timestamp,
    /// Creation time.
    pub created_at: Timestamp,
    /// Producer of the artifact.
    pub producer: Label,
}

/// A recommended query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct RecommendedQuery {
    /// Tool for the query.
    pub tool: ToolId,
    /// Text of the query.
    pub query: Text,
}

/// A preview of a known entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct CachedPreview {
    /// Label of the preview.
    pub label: Text,
    /// Type of the entity: `lead`.
    pub entity_type: Label,
    /// Id of the entity.
    pub entity_id: ShortText,
    /// Content of the preview.
    pub preview: Text,
}

impl Contract for LibrarianPass {
    const NAME: SchemaName = SchemaName::LibrarianPass;

    fn check(&self, report: &mut Report) {
        if self.expires_at <= self.created_at {
            let message = format!(
                "the pass expires at {}, which is not after its creation",
                self.expires_at
            );
            report.meaning("/expires_at", "order", message);
        }
    }
}
