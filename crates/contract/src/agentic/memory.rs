//! Entries of the long-term memory (003 Memory Entry Schema). The engine searches and supersedes them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::MemoryId;
use crate::number::Integer;
use crate::optional::present;
use crate::schema::SchemaName;
use crate::time::Timestamp;
use crate::validate::{Contract, Registered};
use crate::violation::Report;

/// One memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryEntry {
    /// Id of the memory.
    pub id: MemoryId,
    /// Title of the memory.
    pub title: String,
    /// Content of the item.
    pub content: String,
    /// Creation time; immutable (B003-10).
    pub created_at: Timestamp,
    /// Time of the last change; not before `created_at` (B003-10).
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub updated_at: Option<Timestamp>,
    /// Search tags; at least one.
    pub tags: Tags,
    /// Source and importance.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub metadata: Option<MemoryMetadata>,
    /// Ids of related memories.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub related_memories: Option<Vec<MemoryId>>,
    /// Fields outside the seed's schema.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The seed's own schema text.
impl JsonSchema for MemoryEntry {
    fn schema_name() -> Cow<'static, str> {
        "MemoryEntry".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let seed = Self::entry().json();
        Schema::try_from(seed.clone()).unwrap_or_default()
    }
}

/// A list of at least one tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
#[schemars(!try_from, !into)]
pub struct Tags(#[schemars(length(min = 1))] Vec<String>);

/// Error: a memory without a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a memory needs at least one tag")]
pub struct NoTags;

impl TryFrom<Vec<String>> for Tags {
    type Error = NoTags;

    fn try_from(tags: Vec<String>) -> Result<Self, NoTags> {
        if tags.is_empty() {
            Err(NoTags)
        } else {
            Ok(Self(tags))
        }
    }
}

impl From<Tags> for Vec<String> {
    fn from(tags: Tags) -> Self {
        tags.0
    }
}

impl Tags {
    /// Returns the tags as a slice.
    #[must_use]
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }
}

/// Source and importance of a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default, JsonSchema)]
pub struct MemoryMetadata {
    /// Source: `user_statement`, `system_observation`.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub source: Option<String>,
    /// Paths of associated files.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub associated_files: Option<Vec<String>>,
    /// Importance from 1 (low) to 10 (high).
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub importance: Option<Importance>,
    /// Fields outside the seed's schema, such as the memory that supersedes this one.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Importance from 1 (low) to 10 (high).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "Integer", into = "i64")]
#[schemars(!try_from, !into)]
pub struct Importance(#[schemars(range(min = 1, max = 10))] u8);

/// Error: an importance outside 1 to 10.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the importance must be between 1 and 10")]
pub struct NotAnImportance;

impl Importance {
    /// Returns the importance if `value` is between 1 and 10.
    #[must_use]
    pub const fn new(value: u8) -> Option<Self> {
        if value >= 1 && value <= 10 {
            Some(Self(value))
        } else {
            None
        }
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl TryFrom<Integer> for Importance {
    type Error = NotAnImportance;

    fn try_from(value: Integer) -> Result<Self, NotAnImportance> {
        u8::try_from(value.get())
            .ok()
            .and_then(Self::new)
            .ok_or(NotAnImportance)
    }
}

impl From<Importance> for i64 {
    fn from(importance: Importance) -> Self {
        Self::from(importance.0)
    }
}

string_enum! {
    /// Visibility of a memory (this project).
    #[derive(Default)]
    pub enum Visibility {
        /// Visible to its owner only.
        #[default]
        Private = "private",
        /// Visible to all users of the tenant.
        Shared = "shared",
    }
}

string_enum! {
    /// State of one version of a memory (this project).
    pub enum MemoryState {
        /// A user has to accept or reject it.
        Proposed = "proposed",
        /// In force.
        Accepted = "accepted",
        /// Replaced by a later version.
        Superseded = "superseded",
        /// Rejected by a user.
        Rejected = "rejected",
    }
}

impl Contract for MemoryEntry {
    const NAME: SchemaName = SchemaName::MemoryEntry;

    // B003-10.
    fn check(&self, report: &mut Report) {
        if let Some(updated) = self.updated_at.filter(|updated| *updated < self.created_at) {
            let message = format!("{updated} is before created_at, {}", self.created_at);
            report.consistency("/updated_at", "order", message);
        }
        for (at, related) in self.related_memories.iter().flatten().enumerate() {
            if *related == self.id {
                let message = "a memory cannot be related to itself".to_owned();
                report.meaning(format!("/related_memories/{at}"), "self", message);
            }
        }
    }
}
