//! Research artifacts (002 §7): the results of a search of external sources.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::version::{MissionSchemaVersion, schema_tag};
use crate::ids::{ActorId, Label, MissionId, ResearchArtifactId, TaskId, TenantId};
use crate::number::Confidence;
use crate::schema::SchemaName;
use crate::text::{HttpUrl, Text};
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(ResearchArtifact, ResearchResult);

schema_tag!(ResearchArtifactTag = "research_artifact");

/// The results of one search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ResearchArtifact {
    /// Always `research_artifact`.
    pub schema_name: ResearchArtifactTag,
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
    /// Id of the artifact.
    pub artifact_id: ResearchArtifactId,
    /// Search provider: `brave`.
    pub provider: Label,
    /// The question.
    pub query: Text,
    /// Results.
    #[serde(default)]
    pub results: Vec<ResearchResult>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Producer of the artifact.
    pub producer: Label,
}

/// One result of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ResearchResult {
    /// Title of the source.
    pub title: Text,
    /// URL of the source; http or https (B002-7).
    pub url: HttpUrl,
    /// Excerpt from the source.
    #[serde(default)]
    pub snippet: String,
    /// Type of the source: `web`.
    pub source_type: Label,
    /// Retrieval time.
    pub retrieved_at: Timestamp,
    /// Confidence in the source.
    pub confidence: Confidence,
}

impl Contract for ResearchArtifact {
    const NAME: SchemaName = SchemaName::ResearchArtifact;

    fn check(&self, _: &mut Report) {}
}
