//! The context for a model: items with their source and size, within a budget. Seed 003 names this contract without
//! specifying it: the form is this project's.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::{ContextId, Label, RequestId, SessionId};
use crate::number::{Confidence, Count, Positive};
use crate::schema::SchemaName;
use crate::text::Text;
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(ContextModel, ContextItem);

/// Context that a model receives in addition to its prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ContextModel {
    /// Id of the context.
    pub id: ContextId,
    /// Request that the context serves.
    pub request_id: RequestId,
    /// Session that the context draws on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Maximum size in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<Positive>,
    /// Items, most important first.
    #[serde(default)]
    pub items: Vec<ContextItem>,
    /// Additional free-form data.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// One item of a context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ContextItem {
    /// Name of the item, unique within the context.
    pub id: Label,
    /// Kind of the item.
    pub kind: ContextKind,
    /// Content of the item.
    pub content: String,
    /// Source of the item: an id, a path or a link.
    pub source: Text,
    /// Relevance to the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relevance: Option<Confidence>,
    /// Size in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Count>,
}

string_enum! {
    /// Kind of a context item (this project).
    pub enum ContextKind {
        /// A system instruction.
        Instruction = "instruction",
        /// A turn of the session.
        Message = "message",
        /// A memory.
        Memory = "memory",
        /// A file.
        File = "file",
        /// A tool result.
        ToolResult = "tool_result",
        /// A chunk of a lens.
        Document = "document",
    }
}

impl Contract for ContextModel {
    const NAME: SchemaName = SchemaName::ContextModel;

    fn check(&self, report: &mut Report) {
        let mut seen = BTreeSet::new();
        for (at, item) in self.items.iter().enumerate() {
            if !seen.insert(&item.id) {
                let message = format!("the item `{}` is listed twice", item.id);
                report.meaning(format!("/items/{at}/id"), "unique", message);
            }
        }
        let used = self.items.iter().filter_map(|item| item.tokens);
        let used = used.fold(0_u64, |sum, tokens| sum.saturating_add(tokens.get()));
        if let Some(budget) = self.token_budget.filter(|budget| used > budget.get()) {
            let message = format!("the items have {used} tokens; the budget is {budget}");
            report.consistency("/token_budget", "budget", message);
        }
    }
}
