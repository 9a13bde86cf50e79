//! Worker results (002 §9): the output of one worker, with its sources.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::version::{MissionSchemaVersion, schema_tag};
use crate::ids::{ActorId, Label, MissionId, TaskId, TenantId, WorkerResultId};
use crate::number::Confidence;
use crate::schema::SchemaName;
use crate::text::Text;
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(WorkerResult, Citation);

schema_tag!(WorkerResultTag = "worker_result");

/// The output of one worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct WorkerResult {
    /// Always `worker_result`.
    pub schema_name: WorkerResultTag,
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
    /// Id of the result.
    pub result_id: WorkerResultId,
    /// Output as text.
    pub output_text: Text,
    /// Output as data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<Map<String, Value>>,
    /// Sources. The prompt package decides whether the list may be empty (B002-6).
    #[serde(default)]
    pub citations: Vec<Citation>,
    /// Confidence in the result.
    pub confidence: Confidence,
    /// References to the tool calls that the result is based on.
    #[serde(default)]
    pub tool_trace_refs: Vec<Label>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Producer of the artifact.
    pub producer: Label,
}

/// A source of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Citation {
    /// Location of the source.
    pub kind: CitationKind,
    /// Id or URL of the source.
    #[serde(rename = "ref")]
    pub reference: Text,
}

string_enum! {
    /// Location of a source (002 §9 shows `internal`; the other word is this project's).
    pub enum CitationKind {
        /// In Charter's own data, artifacts or evidence.
        Internal = "internal",
        /// Outside Charter.
        External = "external",
    }
}

impl Contract for WorkerResult {
    const NAME: SchemaName = SchemaName::WorkerResult;

    fn check(&self, _: &mut Report) {}
}
