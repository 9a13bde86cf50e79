//! The context that is put before a model: items with their source and size, within
//! a budget. Seed 003 names this contract and gives no text: the form is this project's.

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

/// What a model is given besides its prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ContextModel {
    /// Its id.
    pub id: ContextId,
    /// The request it serves.
    pub request_id: RequestId,
    /// The session it draws on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// When it was put together.
    pub created_at: Timestamp,
    /// Most tokens it may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<Positive>,
    /// The items, the most important first.
    #[serde(default)]
    pub items: Vec<ContextItem>,
    /// Anything else about it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// One item of a context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ContextItem {
    /// Its name within the context.
    pub id: Label,
    /// What it is.
    pub kind: ContextKind,
    /// Its content.
    pub content: String,
    /// Where it comes from: an id, a path, a link.
    pub source: Text,
    /// How well it fits the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relevance: Option<Confidence>,
    /// Its size in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Count>,
}

string_enum! {
    /// What an item of a context is (this project).
    pub enum ContextKind {
        /// An instruction of the system.
        Instruction = "instruction",
        /// A turn of the session.
        Message = "message",
        /// A memory.
        Memory = "memory",
        /// A file.
        File = "file",
        /// A result of a tool.
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
