//! Prompt templates: versioned instructions for one mission role. They are this project's: seed 002 §6 names
//! `template_id`, `template_version` and `examples_used` and has no collection for them. Every mission prompt is made
//! from one of them, and data never becomes part of it.

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

/// Maximum number of examples in one template.
pub const MAX_EXAMPLES: usize = 100;

/// Variables available as `${name}` in the prompts of a template, each one line of text: the type and the goal of the
/// mission, and the objective and the success criteria of the task.
pub const PROMPT_VARIABLES: [&str; 4] = ["mission_type", "goal", "objective", "success_criteria"];

const VARIABLES: PlaceholderScope = PlaceholderScope {
    values: &PROMPT_VARIABLES,
    objects: &[],
};

/// A prompt template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct PromptTemplate {
    /// Id of the template, e.g. `crm.lead_intelligence_worker`.
    pub prompt_id: PromptId,
    /// Domain of the template.
    pub domain: DomainId,
    /// Title.
    pub title: Text,
    /// Mission role that the template instructs.
    pub role_type: Role,
    /// Version of the document, the `template_version` of prompt packages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// System prompt: the part that the model has in the mission, and its rules.
    pub system_prompt: Text,
    /// Task prompt.
    pub task_prompt: Text,
    /// Route to the model: `tier_high_reasoning`.
    pub model_route: Label,
    /// Constraints on a worker.
    #[serde(default)]
    pub constraints: Constraints,
    /// Example answers. Those nearest to the task are included in the prompt.
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
    /// Tenant of the template; absent for a global one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Status in the catalogue.
    #[serde(default)]
    pub status: Status,
    /// Time of the first registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Time of the last registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

/// An example answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct PromptExample {
    /// Id of the example, listed in `examples_used` of prompt packages.
    pub example_id: Label,
    /// Example task.
    pub task: Text,
    /// Good answer to the task.
    pub answer: Text,
}

impl Contract for PromptTemplate {
    const NAME: SchemaName = SchemaName::PromptTemplate;

    // Checks the rules that the schema cannot express.
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
