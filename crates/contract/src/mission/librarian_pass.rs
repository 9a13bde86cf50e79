//! Librarian passes (002 §8): what internal data a worker may read, and until when.

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

/// A way to internal data, for one task and a limited time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct LibrarianPass {
    /// `librarian_pass`.
    pub schema_name: LibrarianPassTag,
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
    pub pass_id: LibrarianPassId,
    /// Families of resources it opens: `crm.leads`; no other (B002-8).
    pub allowed_resource_families: Vec<Label>,
    /// Queries worth making.
    #[serde(default)]
    pub recommended_queries: Vec<RecommendedQuery>,
    /// What is known already.
    #[serde(default)]
    pub cached_previews: Vec<CachedPreview>,
    /// From then on its use is denied (B002-8).
    pub expires_at: Timestamp,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub producer: Label,
}

/// A query worth making.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct RecommendedQuery {
    /// With which tool.
    pub tool: ToolId,
    /// The query.
    pub query: Text,
}

/// What is known of an entity already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct CachedPreview {
    /// What the preview shows.
    pub label: Text,
    /// The type of the entity: `lead`.
    pub entity_type: Label,
    /// The entity.
    pub entity_id: ShortText,
    /// The preview.
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
