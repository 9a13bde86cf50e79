//! Prompt templates (this project; seed 002 §6 names `template_id`, `template_version` and
//! `examples_used` and has no collection for them): versioned instructions for one role of a mission.
//! Every prompt that a model sees is made from one of these, and data never becomes part of it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::placeholders::PlaceholderScope;
use super::vocabulary::Status;
use crate::foreign_schema::ForeignSchema;
use crate::ids::{DomainId, Label, PromptId, TenantId};
use crate::mission::prompt_package::Constraints;
use crate::mission::task_graph::Role;
use crate::schema::SchemaName;
use crate::text::{Text, Version};
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(PromptTemplate, PromptExample);

/// Most examples of one template.
pub const MAX_EXAMPLES: usize = 100;

/// What the prompts of a template may refer to as `${name}`, each in one line of text: the mission's
/// type and goal, and what the task is to achieve and how it is known to be done.
pub const PROMPT_VARIABLES: [&str; 4] = ["mission_type", "goal", "objective", "success_criteria"];

const VARIABLES: PlaceholderScope = PlaceholderScope {
    values: &PROMPT_VARIABLES,
    objects: &[],
};

/// A prompt template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct PromptTemplate {
    /// Its id, e.g. `crm.lead_intelligence_worker`.
    pub prompt_id: PromptId,
    /// The domain it belongs to.
    pub domain: DomainId,
    /// Its title.
    pub title: Text,
    /// The role it instructs.
    pub role_type: Role,
    /// Its version, which prompt packages carry as `template_version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Who the model is, and what it must keep to.
    pub system_prompt: Text,
    /// What it is to do.
    pub task_prompt: Text,
    /// Which model answers, by route: `tier_high_reasoning`.
    pub model_route: Label,
    /// What a worker must keep to.
    #[serde(default)]
    pub constraints: Constraints,
    /// Answers that show what is wanted. Those nearest to the task are sent along.
    #[schemars(length(max = MAX_EXAMPLES))]
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::list::between::<0, MAX_EXAMPLES, _, _>"
    )]
    pub examples: Vec<PromptExample>,
    /// JSON Schema of a worker's `structured_output`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<ForeignSchema>,
    /// Its tenant; absent for a global one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Whether it is offered.
    #[serde(default)]
    pub status: Status,
    /// When it was first registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it was last registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

/// An answer that shows what is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct PromptExample {
    /// Its id, which prompt packages list in `examples_used`.
    pub example_id: Label,
    /// A task.
    pub task: Text,
    /// A good answer to it.
    pub answer: Text,
}

impl Contract for PromptTemplate {
    const NAME: SchemaName = SchemaName::PromptTemplate;

    // Checks what the schema cannot say.
    fn check(&self, report: &mut Report) {
        VARIABLES.check(self.system_prompt.as_str(), "/system_prompt", report);
        VARIABLES.check(self.task_prompt.as_str(), "/task_prompt", report);
        self.check_examples(report);
        if let Some(schema) = &self.output_schema {
            if self.role_type != Role::Worker {
                let message = format!(
                    "only a worker has a structured output, not a {}",
                    self.role_type
                );
                report.consistency("/output_schema", "role_type", message);
            }
            schema.check("/output_schema", report);
        }
    }
}

impl PromptTemplate {
    fn check_examples(&self, report: &mut Report) {
        let mut seen = BTreeSet::new();
        for (at, example) in self.examples.iter().enumerate() {
            if !seen.insert(&example.example_id) {
                let message = format!("the example `{}` is duplicated", example.example_id);
                report.meaning(format!("/examples/{at}/example_id"), "unique", message);
            }
        }
    }
}
