//! The prompt master's stage: the prompt package of one task. By default asks no model: fills in a registered template,
//! adds the examples nearest to the task, and includes the tools that policy allows.

use std::collections::BTreeSet;

use charter_contract::catalogue::prompt::{PromptExample, PromptTemplate};
use charter_contract::ids::{Label, PromptPackageId};
use charter_contract::mission::MissionSchemaVersion;
use charter_contract::mission::prompt_package::PromptPackage;
use charter_contract::mission::task_graph::{Role, Task};
use charter_contract::text::Text;
use charter_domain::run::StepFailure;

use super::MissionStageService;
use super::desk::MissionContext;
use super::draft::PackageDraft;
use super::failures::unfit;
use super::prompts::{Variables, filled};
use super::stage::{StageExecution, artifacts_of, held};
use crate::execution::runs::{StageFailure, StageResult};

/// Maximum examples in a prompt.
const EXAMPLES: usize = 3;

impl MissionStageService {
    pub(super) fn make_package(
        &self,
        work: &StageExecution,
        task: &Task,
    ) -> Result<StageResult, StageFailure> {
        let package = self.package(work, task, None)?;
        Ok(artifacts_of(held(package)?))
    }

    /// Builds the prompt package of a task: from the template, and from a model's draft if there is one.
    pub(super) fn package(
        &self,
        work: &StageExecution,
        task: &Task,
        draft: Option<&PackageDraft>,
    ) -> Result<PromptPackage, StepFailure> {
        let desk = &work.desk;
        let template = desk.prompt(task.role_type);
        let examples = match draft {
            Some(draft) => {
                let known = template.examples.iter();
                let chosen = known.filter(|known| draft.examples.contains(&known.example_id));
                chosen.take(EXAMPLES).collect()
            }
            None => nearest(template, task.objective.as_str()),
        };
        let mission_type = desk.kind.mission_type.as_str();
        let goal = desk.envelope.normalized_goal.as_str();
        let variables = match task.role_type {
            Role::Worker | Role::Researcher => Variables::of_planned(mission_type, goal),
            // The engine adds the tasks of these to every plan, in its own words.
            Role::Planner
            | Role::PromptMaster
            | Role::Librarian
            | Role::Aggregator
            | Role::Reviewer => Variables {
                mission_type,
                goal,
                objective: task.objective.as_str(),
                success_criteria: "",
            },
        };
        let text = |text: String| Text::parse(&text).map_err(|error| unfit(error.to_string()));
        let filled = |prompt: &Text, after: &str| {
            let filled = filled(prompt, &variables, after);
            filled.map_err(|error| unfit(format!("the prompt `{}`: {error}", template.prompt_id)))
        };
        let label = |text: &str| Label::parse(text).map_err(|error| unfit(error.to_string()));
        let version = template
            .version
            .as_ref()
            .map_or("v1", |version| version.as_str());
        let id = PromptPackageId::parse(&format!("pkg.{}", task.task_id));
        Ok(PromptPackage {
            schema_name: Default::default(),
            schema_version: MissionSchemaVersion::default(),
            mission_id: desk.envelope.mission_id.clone(),
            tenant_id: Some(desk.envelope.tenant_id.clone()),
            actor_id: Some(desk.envelope.actor_id.clone()),
            task_id: task.task_id.clone(),
            package_id: id.map_err(|error| unfit(error.to_string()))?,
            role_type: task.role_type,
            template_id: label(template.prompt_id.as_str())?,
            template_version: label(version)?,
            examples_used: examples
                .iter()
                .map(|example| example.example_id.clone())
                .collect(),
            system_prompt: text(filled(&template.system_prompt, &shown(&examples))?)?,
            task_prompt: match draft {
                Some(draft) => draft.task_prompt.clone(),
                None => text(filled(&template.task_prompt, "")?)?,
            },
            constraints: template.constraints.clone(),
            tool_scope: desk.tool_scope(task),
            model_route: desk.route(task.role_type).clone(),
            created_at: self.clock.now(),
            producer: label("prompt_master_agent")?,
        })
    }
}

/// Returns the system prompt and the task prompt of a role that comes before the prompt packages: its template, filled
/// in, with the examples nearest to `subject`.
pub(super) fn own_prompts(
    desk: &MissionContext,
    role: Role,
    variables: &Variables<'_>,
    subject: &str,
) -> Result<(String, String), StepFailure> {
    let template = desk.prompt(role);
    let filled = |prompt: &Text, after: &str| {
        let filled = filled(prompt, variables, after);
        filled.map_err(|error| unfit(format!("the prompt `{}`: {error}", template.prompt_id)))
    };
    let examples = shown(&nearest(template, subject));
    let system = filled(&template.system_prompt, &examples)?;
    Ok((system, filled(&template.task_prompt, "")?))
}

/// Returns the examples whose tasks share most words with this one; ties in listed order.
fn nearest<'t>(template: &'t PromptTemplate, objective: &str) -> Vec<&'t PromptExample> {
    let wanted = words(objective);
    let mut ranked: Vec<(usize, &PromptExample)> = template
        .examples
        .iter()
        .map(|example| {
            (
                words(example.task.as_str()).intersection(&wanted).count(),
                example,
            )
        })
        .collect();
    ranked.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
    ranked
        .into_iter()
        .take(EXAMPLES)
        .map(|(_, example)| example)
        .collect()
}

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| word.len() > 2)
        .map(str::to_lowercase)
        .collect()
}

/// Formats examples for a prompt.
fn shown(examples: &[&PromptExample]) -> String {
    let mut text = String::new();
    for example in examples {
        text.push_str("\n\nExample task: ");
        text.push_str(example.task.as_str());
        text.push_str("\nGood answer: ");
        text.push_str(example.answer.as_str());
    }
    text
}
