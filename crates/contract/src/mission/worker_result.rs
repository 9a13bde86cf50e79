//! Worker results (002 §9): what one worker found, with its sources.

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
    /// `worker_result`.
    pub schema_name: WorkerResultTag,
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
    pub result_id: WorkerResultId,
    /// The output in words.
    pub output_text: Text,
    /// The output as data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<Map<String, Value>>,
    /// Its sources. Whether none is allowed, the prompt package says (B002-6).
    #[serde(default)]
    pub citations: Vec<Citation>,
    /// How far to trust it.
    pub confidence: Confidence,
    /// Calls of tools that it rests on.
    #[serde(default)]
    pub tool_trace_refs: Vec<Label>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub producer: Label,
}

/// A source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Citation {
    /// Where it is.
    pub kind: CitationKind,
    /// Its id, or its link.
    #[serde(rename = "ref")]
    pub reference: Text,
}

string_enum! {
    /// Where a source is (002 §9 shows `internal`; the other word is this project's).
    pub enum CitationKind {
        /// In our own data, artifacts or evidence.
        Internal = "internal",
        /// Outside.
        External = "external",
    }
}

impl Contract for WorkerResult {
    const NAME: SchemaName = SchemaName::WorkerResult;

    fn check(&self, _: &mut Report) {}
}
