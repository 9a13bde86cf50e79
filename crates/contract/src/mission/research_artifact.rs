//! Research artifacts (002 §7): what a search outside brought.

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
    /// `research_artifact`.
    pub schema_name: ResearchArtifactTag,
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
    pub artifact_id: ResearchArtifactId,
    /// Who answered: `brave`.
    pub provider: Label,
    /// The question.
    pub query: Text,
    /// What came back.
    #[serde(default)]
    pub results: Vec<ResearchResult>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub producer: Label,
}

/// One result of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ResearchResult {
    /// Its title.
    pub title: Text,
    /// Where it is; http or https (B002-7).
    pub url: HttpUrl,
    /// A part of it.
    #[serde(default)]
    pub snippet: String,
    /// What kind of source it is: `web`.
    pub source_type: Label,
    /// When it was fetched.
    pub retrieved_at: Timestamp,
    /// How far to trust it.
    pub confidence: Confidence,
}

impl Contract for ResearchArtifact {
    const NAME: SchemaName = SchemaName::ResearchArtifact;

    fn check(&self, _: &mut Report) {}
}
