//! Requests of users to the system (003 Request Schema). Who the caller is comes
//! from the credential, not from here.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::optional::present;
use crate::ids::{RequestId, SessionId};
use crate::number::Integer;
use crate::schema::SchemaName;
use crate::text::Text;
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRequest {
    /// Its id.
    pub id: RequestId,
    /// When it was made.
    pub timestamp: Timestamp,
    /// What the user wants, in natural language.
    pub input: Text,
    /// The session it continues.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub session_id: Option<SessionId>,
    /// The user, as the client names them.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub user_id: Option<String>,
    /// What the client knows of the circumstances.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub metadata: Option<RequestMetadata>,
    /// Fields that the seed does not name.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The circumstances of a request.
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
    /// Fields that the seed does not name, such as `parameters`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The user's editor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct EditorEnvironment {
    /// Its name.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub editor: Option<String>,
    /// Files that are open in it.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub open_files: Option<Vec<String>>,
    /// Where the cursor is.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub cursor_position: Option<CursorPosition>,
    /// Fields that the seed does not name.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Where the cursor is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct CursorPosition {
    /// In which file.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub file: Option<String>,
    /// In which line.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub line: Option<Integer>,
    /// In which column.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub column: Option<Integer>,
    /// Fields that the seed does not name.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The user's project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Project {
    /// Its name.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<String>,
    /// Where it lies.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub root_directory: Option<String>,
    /// Its language.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub language: Option<String>,
    /// Its framework.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub framework: Option<String>,
    /// Fields that the seed does not name.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl AgentRequest {
    /// The parameters that the client gave, in `metadata.parameters` (this project).
    #[must_use]
    pub fn parameters(&self) -> Option<&Map<String, Value>> {
        self.metadata.as_ref()?.extra.get("parameters")?.as_object()
    }
}

impl Contract for AgentRequest {
    const NAME: SchemaName = SchemaName::AgentRequest;

    fn check(&self, _: &mut Report) {}
}
