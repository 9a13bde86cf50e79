//! The prompt master, the librarian and the researcher where the mission type lets a model carry them out (`by: model`).
//! The model chooses among what the deterministic stage has: it widens no scope, and invents no source. Without tokens
//! the deterministic stage takes its place.

use charter_contract::bounds::PROMPT_BYTES;
use charter_contract::catalogue::tool::Tool;
use charter_contract::mission::librarian_pass::{CachedPreview, LibrarianPass};
use charter_contract::mission::prompt_package::PromptPackage;
use charter_contract::mission::research_artifact::{ResearchArtifact, ResearchResult};
use charter_contract::mission::task_graph::{Role, Task};
use charter_domain::mission::RequestedCall;
use charter_domain::run::StepFailure;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::MissionStageService;
use super::ask::RoleQuestion;
use super::draft::schema;
use super::draft::{PackageDraft, PassDraft, ResearchDraft};
use super::package::own_prompts;
use super::prompts::Variables;
use super::stage::{StageExecution, WorkerTurn, artifacts_of, held};
use super::work::{admissible, shown_call, shown_tool};
use crate::execution::runs::{StageFailure, StageResult};

/// The result of a researcher's turn.
enum ResearchOutcome {
    Artifact(Box<ResearchArtifact>),
    Calls(Vec<RequestedCall>),
}

impl MissionStageService {
    /// Makes the prompt package of a task with a model's prompt.
    pub(super) async fn package_by_model(
        &self,
        work: &StageExecution,
        task: &Task,
        cancel: &CancellationToken,
    ) -> Result<StageResult, StageFailure> {
        let desk = &work.desk;
        let (system, prompt) = planned_prompts(work, Role::PromptMaster, task)?;
        let template = desk.prompt(task.role_type);
        let examples = template.examples.iter();
        let names: Vec<&str> = examples
            .map(|example| example.example_id.as_str())
            .collect();
        let asking = RoleQuestion {
            role: Role::PromptMaster,
            route: desk.route(Role::PromptMaster),
            system: &system,
            task: &prompt,
            context: package_context(work, task),
            wanted: schema::package(&names),
        };
        let made = |draft: PackageDraft| -> Result<PromptPackage, Vec<String>> {
            let bytes = draft.task_prompt.as_str().len();
            if bytes > PROMPT_BYTES {
                return Err(vec![format!(
                    "the prompt has {bytes} bytes; the limit is {PROMPT_BYTES}"
                )]);
            }
            let package = self.package(work, task, Some(&draft)).map_err(words)?;
            admissible(work, package.clone().into())?;
            Ok(package)
        };
        let drafted = self.drafted(work, asking, made, |_| Vec::new(), cancel);
        let drafted = drafted.await?;
        let result = held(drafted.made).map(artifacts_of);
        with_model(result.map_err(Into::into), drafted.model, drafted.tokens)
    }

    /// Makes the pass of a task with a model's choice.
    pub(super) async fn pass_by_model(
        &self,
        work: &StageExecution,
        task: &Task,
        cancel: &CancellationToken,
    ) -> Result<StageResult, StageFailure> {
        let desk = &work.desk;
        let (system, prompt) = planned_prompts(work, Role::Librarian, task)?;
        let previews = self.previews(work, task).await?;
        let tools = desk.tool_scope(task);
        let families = task.required_data_scopes.iter();
        let families: Vec<&str> = families.map(AsRef::as_ref).collect();
        let tools: Vec<&str> = tools.iter().map(AsRef::as_ref).collect();
        let asking = RoleQuestion {
            role: Role::Librarian,
            route: desk.route(Role::Librarian),
            system: &system,
            task: &prompt,
            context: pass_context(work, task, &previews),
            wanted: schema::pass(&families, &tools, previews.len()),
        };
        let made = |draft: PassDraft| -> Result<LibrarianPass, Vec<String>> {
            let chosen = chosen(&previews, draft.previews.iter().copied())?;
            let pass = self
                .pass(
                    work,
                    task,
                    draft.allowed_resource_families,
                    draft.recommended_queries,
                    chosen,
                )
                .map_err(words)?;
            within_scope(work, task, &pass)?;
            admissible(work, pass.clone().into())?;
            Ok(pass)
        };
        let drafted = self.drafted(work, asking, made, |_| Vec::new(), cancel);
        let drafted = drafted.await?;
        let result = held(drafted.made).map(artifacts_of);
        with_model(result.map_err(Into::into), drafted.model, drafted.tokens)
    }

    /// Takes a researcher's turn with a model, which requests searches and chooses among their results.
    pub(super) async fn research_by_model(
        &self,
        work: &StageExecution,
        turn: &WorkerTurn,
        cancel: &CancellationToken,
    ) -> Result<StageResult, StageFailure> {
        let found = self.results_found(work, turn).await?;
        let tools = self.tools_in_scope(work, turn);
        let asking = RoleQuestion {
            role: Role::Researcher,
            route: &turn.package.model_route,
            system: turn.package.system_prompt.as_str(),
            task: turn.package.task_prompt.as_str(),
            context: research_context(turn, &tools, &found),
            wanted: schema::research(tools.iter(), found.len()),
        };
        let made = |draft: ResearchDraft| self.research_outcome(work, turn, &found, draft);
        let drafted = self.drafted(work, asking, made, |_| Vec::new(), cancel);
        let drafted = drafted.await?;
        let result = match drafted.made {
            ResearchOutcome::Artifact(artifact) => {
                held(*artifact).map(artifacts_of).map_err(Into::into)
            }
            ResearchOutcome::Calls(calls) => self.calls_of(work, turn, calls).await,
        };
        with_model(result, drafted.model, drafted.tokens)
    }

    fn research_outcome(
        &self,
        work: &StageExecution,
        turn: &WorkerTurn,
        found: &[ResearchResult],
        draft: ResearchDraft,
    ) -> Result<ResearchOutcome, Vec<String>> {
        match (draft.calls.is_empty(), draft.answer) {
            (false, None) => {
                let calls = self.bound_calls(work, turn, draft.calls)?;
                Ok(ResearchOutcome::Calls(calls))
            }
            (true, Some(answer)) => {
                let numbers = answer.results.iter().map(|chosen| chosen.number);
                let mut results = chosen(found, numbers)?;
                for (result, chosen) in results.iter_mut().zip(&answer.results) {
                    result.confidence = chosen.confidence;
                }
                let artifact = self.research_artifact(work, turn, results);
                let artifact = artifact.map_err(words)?;
                admissible(work, artifact.clone().into())?;
                Ok(ResearchOutcome::Artifact(Box::new(artifact)))
            }
            (true, None) => Err(vec!["give `calls` or an `answer`".to_owned()]),
            (false, Some(_)) => Err(vec!["give `calls` or an `answer`, not both".to_owned()]),
        }
    }

    /// Returns the tools that a turn may still call.
    pub(super) fn tools_in_scope(&self, work: &StageExecution, turn: &WorkerTurn) -> Vec<Tool> {
        if !turn.may_call() {
            return Vec::new();
        }
        let view = self.catalogue.live().view(&work.caller.tenant);
        let tools = turn.package.tool_scope.iter();
        let tools = tools.filter_map(|id| view.tool(id.as_ref()));
        tools.map(|tool| tool.document().clone()).collect()
    }
}

/// Returns the prompts of a role that prepares a planned task.
pub(super) fn planned_prompts(
    work: &StageExecution,
    role: Role,
    task: &Task,
) -> Result<(String, String), StepFailure> {
    let desk = &work.desk;
    let goal = desk.envelope.normalized_goal.as_str();
    let variables = Variables::of_planned(desk.kind.mission_type.as_str(), goal);
    own_prompts(desk, role, &variables, task.objective.as_str())
}

/// Builds the prompt master's context.
pub(super) fn package_context(work: &StageExecution, task: &Task) -> Value {
    let template = work.desk.prompt(task.role_type);
    json!({
        "goal": work.desk.envelope.normalized_goal,
        "objective": task.objective,
        "success_criteria": task.success_criteria,
        "role_type": task.role_type,
        "tools": work.desk.tool_scope(task),
        "template": {
            "template_id": template.prompt_id, "system_prompt": template.system_prompt,
            "task_prompt": template.task_prompt, "constraints": template.constraints,
        },
        "model_route": work.desk.route(task.role_type),
        "examples": template.examples,
    })
}

/// Builds the librarian's context.
pub(super) fn pass_context(
    work: &StageExecution,
    task: &Task,
    previews: &[CachedPreview],
) -> Value {
    let families = &work.desk.kind.resource_families;
    let families = task.required_data_scopes.iter().map(|name| {
        json!({"name": name, "description": families.get(name).map(|family| &family.description)})
    });
    let previews = (1..).zip(previews);
    let previews =
        previews.map(|(number, preview): (usize, _)| json!({"number": number, "preview": preview}));
    json!({
        "goal": work.desk.envelope.normalized_goal,
        "context_refs": work.desk.envelope.context_refs,
        "objective": task.objective,
        "success_criteria": task.success_criteria,
        "resource_families": families.collect::<Vec<_>>(),
        "tools": work.desk.tool_scope(task),
        "previews": previews.collect::<Vec<_>>(),
    })
}

/// Builds the researcher's context.
pub(super) fn research_context(
    turn: &WorkerTurn,
    tools: &[Tool],
    found: &[ResearchResult],
) -> Value {
    let found = (1..).zip(found);
    let found =
        found.map(|(number, result): (usize, _)| json!({"number": number, "result": result}));
    json!({
        "objective": turn.task.objective,
        "success_criteria": turn.task.success_criteria,
        "tools": tools.iter().map(shown_tool).collect::<Vec<_>>(),
        "calls": turn.made.iter().map(shown_call).collect::<Vec<_>>(),
        "found": found.collect::<Vec<_>>(),
    })
}

/// Checks that a pass grants no more than its task may have.
pub(super) fn within_scope(
    work: &StageExecution,
    task: &Task,
    pass: &LibrarianPass,
) -> Result<(), Vec<String>> {
    let mut wrong = Vec::new();
    for family in &pass.allowed_resource_families {
        if !task.required_data_scopes.contains(family) {
            wrong.push(format!(
                "the task does not need the resource family `{family}`"
            ));
        }
    }
    let tools = work.desk.tool_scope(task);
    for query in &pass.recommended_queries {
        if !tools.contains(&query.tool) {
            let tool = &query.tool;
            wrong.push(format!("the tool `{tool}` is not in the task's scope"));
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong),
    }
}

/// Returns the items with these numbers, which count from 1.
fn chosen<T: Clone>(
    items: &[T],
    numbers: impl Iterator<Item = usize>,
) -> Result<Vec<T>, Vec<String>> {
    let chosen = numbers.map(|number| {
        let item = number.checked_sub(1).and_then(|at| items.get(at));
        item.cloned().ok_or_else(|| {
            let last = items.len();
            vec![format!(
                "there is no number {number}; the last one is {last}"
            )]
        })
    });
    chosen.collect()
}

/// Adds the model and its tokens to a result.
fn with_model(
    result: Result<StageResult, StageFailure>,
    model: String,
    tokens: charter_domain::run::TokenUsage,
) -> Result<StageResult, StageFailure> {
    let mut result = result.map_err(|failed| StageFailure { tokens, ..failed })?;
    result.output.model = Some(model);
    result.tokens = tokens;
    Ok(result)
}

/// Converts a failure to the defect of a draft.
fn words(failure: StepFailure) -> Vec<String> {
    vec![failure.message]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_chosen_by_their_numbers() {
        let items = ["a", "b"];
        let of = |numbers: &[usize]| chosen(&items, numbers.iter().copied());
        assert_eq!(of(&[2, 1]), Ok(vec!["b", "a"]));
        assert!(of(&[0]).is_err());
        assert!(of(&[3]).is_err());
    }
}
