//! Repetition of a step for each item of a list (this project). The items become steps of their own when the run knows
//! the list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bounds::{FOR_EACH_CONCURRENCY, FOR_EACH_ITEMS};
use crate::number::Positive;
use crate::violation::Report;

object_only!(ForEach);

/// Repeats a step for each item of a list. In the step's parameters, and in those of its rollback, `${item}` is the
/// item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ForEach {
    /// The list: a placeholder such as `${step_1.groups}` or `${user.names}`, or a list of values.
    pub items: Value,
    /// Maximum number of items; a longer list fails the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_items: Option<Positive>,
    /// Maximum number of items that run at the same time; 1 when absent, so that they run in sequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<Positive>,
}

impl ForEach {
    /// Returns the maximum number of items.
    #[must_use]
    pub fn limit(&self) -> usize {
        let limit = self.max_items.map(|limit| limit.get());
        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
        limit.unwrap_or(FOR_EACH_ITEMS).min(FOR_EACH_ITEMS)
    }

    /// Returns the maximum number of items that run at the same time.
    #[must_use]
    pub fn at_once(&self) -> usize {
        let most = self.concurrency.map(|most| most.get());
        let most = most.and_then(|most| usize::try_from(most).ok());
        most.unwrap_or(1).min(FOR_EACH_CONCURRENCY)
    }

    /// Reports a list that is neither a text nor a list, and limits beyond the bounds. `here` is the pointer to the
    /// step.
    pub(crate) fn check(&self, here: &str, report: &mut Report) {
        if !matches!(self.items, Value::String(_) | Value::Array(_)) {
            let message = "`items` must be a placeholder or a list".to_owned();
            report.meaning(format!("{here}/for_each/items"), "type", message);
        }
        let bounds = [
            (
                "max_items",
                self.max_items,
                FOR_EACH_ITEMS,
                "FOR_EACH_ITEMS",
            ),
            (
                "concurrency",
                self.concurrency,
                FOR_EACH_CONCURRENCY,
                "FOR_EACH_CONCURRENCY",
            ),
        ];
        for (field, given, most, limit) in bounds {
            if given.is_some_and(|given| given.get() > most as u64) {
                let message = format!("`{field}` is at most {most} ({limit})");
                report.meaning(format!("{here}/for_each/{field}"), "maximum", message);
            }
        }
    }
}
