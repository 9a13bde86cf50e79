//! Requests of users to the system (003 Request Schema). The credential identifies the caller; nothing in a request
//! does.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::{RequestId, SessionId};
use crate::number::Integer;
use crate::optional::present;
use crate::schema::SchemaName;
use crate::text::Text;
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRequest {
    /// Id of the request.
    pub id: RequestId,
    /// Time of the request.
    pub timestamp: Timestamp,
    /// The user's request, in natural language.
    pub input: Text,
    /// Session that the request continues.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub session_id: Option<SessionId>,
    /// User id chosen by the client.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub user_id: Option<String>,
    /// Context of the request, as known to the client.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub metadata: Option<RequestMetadata>,
    /// Fields outside the seed's schema.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Context of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct RequestMetadata {
    /// The user's editor.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub environment: Option<EditorEnvironment>,
    /// The user's project.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub project: Option<Project>,
    /// Fields outside the seed's schema, such as `parameters`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The user's editor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct EditorEnvironment {
    /// Name of the editor.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub editor: Option<String>,
    /// Paths of the open files.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub open_files: Option<Vec<String>>,
    /// Cursor position.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub cursor_position: Option<CursorPosition>,
    /// Fields outside the seed's schema.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Cursor position in an editor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct CursorPosition {
    /// Path of the file.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub file: Option<String>,
    /// Line number.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub line: Option<Integer>,
    /// Column number.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub column: Option<Integer>,
    /// Fields outside the seed's schema.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The user's project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Project {
    /// Name of the project.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<String>,
    /// Path of the root directory.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub root_directory: Option<String>,
    /// Programming language.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub language: Option<String>,
    /// Framework.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub framework: Option<String>,
    /// Fields outside the seed's schema.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl AgentRequest {
    /// Returns the parameters that the client supplied in `metadata.parameters` (this project).
    #[must_use]
    pub fn parameters(&self) -> Option<&Map<String, Value>> {
        self.metadata.as_ref()?.extra.get("parameters")?.as_object()
    }
}

impl Contract for AgentRequest {
    const NAME: SchemaName = SchemaName::AgentRequest;

    fn check(&self, _: &mut Report) {}
}
