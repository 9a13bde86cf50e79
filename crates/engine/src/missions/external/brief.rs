//! The input of an outside agent: what a model of the role would get, with the prompt package and the pass.

use charter_contract::ids::Label;
use charter_contract::mission::ArtifactKind;
use charter_contract::mission::prompt_package::PromptPackage;
use charter_contract::mission::task_graph::{Role, Task};
use serde_json::{Map, Value, json};

use super::super::MissionStageService;
use super::super::aggregate::must_have_results;
use super::super::assignments::AssignmentBrief;
use super::super::by_model::{package_context, pass_context, planned_prompts, research_context};
use super::super::draft::schema::Sources;
use super::super::plan::{self, planner_prompts};
use super::super::stage::{StageExecution, StageInput, WorkerTurn};
use super::super::{aggregate, failures, review};
use crate::execution::runs::StageFailure;

impl MissionStageService {
    /// Builds the input of a stage for an outside agent.
    pub(super) async fn brief(
        &self,
        work: &StageExecution,
    ) -> Result<AssignmentBrief, StageFailure> {
        let desk = &work.desk;
        let goal = desk.envelope.normalized_goal.as_str();
        match &work.brief {
            StageInput::Plan => {
                let prompts = planner_prompts(desk)?;
                let offered = self.offered(work).await?;
                let context = plan::context(desk, &offered);
                let accepts = vec![ArtifactKind::MissionTaskGraph];
                Ok(alone(work, goal, prompts, context, accepts))
            }
            StageInput::Prompt(task) => {
                let prompts = planned_prompts(work, Role::PromptMaster, task)?;
                let context = package_context(work, task);
                let accepts = vec![ArtifactKind::PromptPackage];
                Ok(alone(
                    work,
                    task.objective.as_str(),
                    prompts,
                    context,
                    accepts,
                ))
            }
            StageInput::Pass(task) => self.pass_brief(work, task).await,
            StageInput::Turn(turn) => self.turn_brief(work, turn).await,
            StageInput::Aggregate {
                package,
                results,
                missing,
            } => {
                must_have_results(results, missing)?;
                let context = aggregate::context(work, results, missing);
                let context = citable(work, context);
                let accepts = vec![ArtifactKind::AggregationPacket];
                Ok(instructed(work, package, goal, context, accepts))
            }
            StageInput::Review {
                package,
                packet,
                results,
            } => {
                let context = review::context(work, packet, results);
                let accepts = vec![ArtifactKind::ReviewPacket, ArtifactKind::WritebackProposal];
                Ok(instructed(work, package, goal, context, accepts))
            }
            StageInput::Playbook(_) | StageInput::Webhook { .. } => {
                Err(failures::unfit("a proposal is carried out by Charter").into())
            }
        }
    }

    async fn pass_brief(
        &self,
        work: &StageExecution,
        task: &Task,
    ) -> Result<AssignmentBrief, StageFailure> {
        let prompts = planned_prompts(work, Role::Librarian, task)?;
        let previews = self.previews(work, task).await?;
        let context = pass_context(work, task, &previews);
        let accepts = vec![ArtifactKind::LibrarianPass];
        Ok(alone(
            work,
            task.objective.as_str(),
            prompts,
            context,
            accepts,
        ))
    }

    async fn turn_brief(
        &self,
        work: &StageExecution,
        turn: &WorkerTurn,
    ) -> Result<AssignmentBrief, StageFailure> {
        let is_research = turn.task.role_type == Role::Researcher;
        let (context, kind) = if is_research {
            let found = self.results_found(work, turn).await?;
            let tools = self.tools_in_scope(work, turn);
            let context = research_context(turn, &tools, &found);
            (context, ArtifactKind::ResearchArtifact)
        } else {
            let context = citable(work, self.table(work, turn).await?);
            (context, ArtifactKind::WorkerResult)
        };
        let objective = turn.task.objective.as_str();
        let schema = work.desk.prompt(turn.task.role_type).output_schema.as_ref();
        Ok(AssignmentBrief {
            librarian_pass: turn.pass.clone(),
            may_call: turn.may_call(),
            output_schema: schema
                .filter(|_| !is_research)
                .map(|schema| schema.json().clone()),
            ..instructed(work, &turn.package, objective, context, vec![kind])
        })
    }
}

/// Builds the input of a role without a prompt package.
fn alone(
    work: &StageExecution,
    objective: &str,
    (system_prompt, task_prompt): (String, String),
    context: Value,
    accepts: Vec<ArtifactKind>,
) -> AssignmentBrief {
    AssignmentBrief {
        mission_type: mission_type(work),
        objective: objective.to_owned(),
        system_prompt,
        task_prompt,
        prompt_package: None,
        librarian_pass: None,
        context: fields(context),
        accepts,
        may_call: false,
        output_schema: None,
    }
}

/// Builds the input of a role with a prompt package.
fn instructed(
    work: &StageExecution,
    package: &PromptPackage,
    objective: &str,
    context: Value,
    accepts: Vec<ArtifactKind>,
) -> AssignmentBrief {
    let prompts = (
        package.system_prompt.to_string(),
        package.task_prompt.to_string(),
    );
    AssignmentBrief {
        prompt_package: Some(package.clone()),
        ..alone(work, objective, prompts, context, accepts)
    }
}

/// Adds the sources that may be cited to a context.
fn citable(work: &StageExecution, mut context: Value) -> Value {
    let sources = Sources::in_view(&work.desk.inventory(), &context);
    if let Value::Object(fields) = &mut context {
        fields.insert("citable".to_owned(), json!(sources.listed()));
    }
    context
}

fn mission_type(work: &StageExecution) -> Label {
    work.desk.envelope.mission_type.clone()
}

fn fields(context: Value) -> Map<String, Value> {
    match context {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}
