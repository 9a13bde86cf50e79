//! The planner's stage: a goal becomes a task graph, and policy decides which tools its tasks may have.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::catalogue::tool::{Tool, ToolClass};
use charter_contract::ids::{Label, PolicyDecisionId, TaskId, ToolId};
use charter_contract::mission::MissionSchemaVersion;
use charter_contract::mission::policy_decision::{Decision, PolicyDecision};
use charter_contract::mission::task_graph::{MissionTaskGraph, Role, Task};
use charter_contract::text::{ShortText, Text};
use charter_contract::validate::Contract;
use charter_contract::violation::Report;
use charter_domain::graph;
use charter_domain::mission::admit::TOOL_SCOPE;
use charter_domain::mission::{StageOutput, after_plan};
use charter_domain::run::StepFailure;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::MissionStageService;
use super::ask::RoleQuestion;
use super::desk::MissionContext;
use super::draft::{PlanDraft, schema};
use super::failures::unfit;
use super::package::own_prompts;
use super::prompts::Variables;
use super::scope;
use super::stage::{StageExecution, held};
use crate::EngineError;
use crate::execution::runs::{StageFailure, StageResult};
use crate::ground::questions::Effort;
use crate::registry::routing::Purpose;

/// Maximum skills in a planner's context.
const SHOWN_SKILLS: usize = 5;
/// Tasks that every mission has besides the planned ones.
const PREPARE: &str = "prepare_prompts";
const OPEN: &str = "open_data";
const AGGREGATE: &str = "aggregate";
const REVIEW: &str = "review";

/// Tools and skills that a plan may use.
#[derive(Debug, Default)]
pub(super) struct PlanOptions {
    /// Tools that only read, with the family of resources that each belongs to.
    pub(super) tools: BTreeMap<ToolId, (Tool, Label)>,
    /// Registered skills near the goal, as context.
    pub(super) skills: Vec<Value>,
}

impl MissionStageService {
    pub(super) async fn plan_mission(
        &self,
        work: &StageExecution,
        cancel: &CancellationToken,
    ) -> Result<StageResult, StageFailure> {
        let desk = &work.desk;
        let offered = self.offered(work).await?;
        let (system, task) = planner_prompts(desk)?;
        let asking = RoleQuestion {
            role: Role::Planner,
            route: desk.route(Role::Planner),
            system: &system,
            task: &task,
            context: context(desk, &offered),
            wanted: schema::plan(
                offered.tools.keys().map(AsRef::as_ref),
                desk.kind.resource_families.keys().map(AsRef::as_ref),
                offered
                    .skills
                    .iter()
                    .filter_map(|skill| skill["skill_id"].as_str()),
            ),
        };
        let made = |draft: PlanDraft| self.task_graph(desk, &offered, draft);
        let drafted = self
            .drafted(work, asking, made, |_| Vec::new(), cancel)
            .await?;
        let planned = self.planned(work, &offered, drafted.made).await;
        let mut result = planned.map_err(|failure| StageFailure {
            failure,
            tokens: drafted.tokens,
        })?;
        result.output.model = Some(drafted.model);
        result.tokens = drafted.tokens;
        Ok(result)
    }

    /// Returns the result of the stage with a task graph: the graph, the decisions on its tools, and the steps.
    pub(super) async fn planned(
        &self,
        work: &StageExecution,
        offered: &PlanOptions,
        graph: MissionTaskGraph,
    ) -> Result<StageResult, StepFailure> {
        let growth = after_plan(&graph).map_err(|error| unfit(error.to_string()))?;
        let mut artifacts = vec![held(graph.clone())?];
        let place = self
            .questions
            .slot_for(&work.caller.tenant, Effort::Long)
            .await;
        let decisions = place.ask(|| self.tool_scope(work, &graph, offered));
        for decision in decisions {
            artifacts.push(held(decision)?);
        }
        Ok(StageResult {
            output: StageOutput {
                artifacts,
                ..StageOutput::default()
            },
            growth,
            ..StageResult::default()
        })
    }

    /// Returns the options of the caller's catalogue for the goal: the tools of the mission's type, and skills near it
    /// with their tools.
    pub(super) async fn offered(&self, work: &StageExecution) -> Result<PlanOptions, EngineError> {
        let desk = &work.desk;
        let view = self.catalogue.live().view(&work.caller.tenant);
        let mut offered = PlanOptions::default();
        let families = desk.kind.resource_families.values();
        let mut wanted: BTreeSet<ToolId> =
            families.flat_map(|family| family.tools.clone()).collect();
        let goal = desk.envelope.normalized_goal.as_str();
        let near = self
            .routing
            .route(&work.caller, Purpose::Skills, goal, SHOWN_SKILLS)
            .await?;
        for candidate in near.chosen(SHOWN_SKILLS) {
            let Some(skill) = view.skill(&candidate.id) else {
                continue;
            };
            let skill = graph::wired(skill.document(), &view);
            let plan = skill.execution_plan.steps.iter();
            let calls: Vec<Value> = plan
                .map(|step| {
                    wanted.insert(step.tool_id.clone());
                    json!({"tool": step.tool_id, "parameters": step.parameters})
                })
                .collect();
            offered.skills.push(json!({
                "skill_id": skill.skill_id, "name": skill.name,
                "description": skill.description, "calls": calls,
            }));
        }
        for id in wanted {
            let Some(found) = view.tool(id.as_ref()) else {
                continue;
            };
            let tool = found.document();
            let reads = tool.tool_class == ToolClass::Readonly;
            if reads && self.tool_search.may_call(&work.caller, tool) {
                offered.tools.insert(id, (tool.clone(), desk.family(tool)));
            }
        }
        Ok(offered)
    }

    /// Builds the task graph of a draft: its tasks, and those that every mission has.
    pub(super) fn task_graph(
        &self,
        desk: &MissionContext,
        offered: &PlanOptions,
        draft: PlanDraft,
    ) -> Result<MissionTaskGraph, Vec<String>> {
        let mut wrong = Vec::new();
        let mut planned = Vec::with_capacity(draft.tasks.len());
        for task in draft.tasks {
            let id = &task.task_id;
            if !matches!(task.role_type, Role::Researcher | Role::Worker) {
                wrong.push(format!(
                    "`{id}`: a planned task must have the mission role `researcher` or `worker`"
                ));
            }
            if [PREPARE, OPEN, AGGREGATE, REVIEW].contains(&id.as_str()) {
                wrong.push(format!("`{id}`: every mission already has that task"));
            }
            for tool in &task.allowed_tools {
                if !offered.tools.contains_key(tool) {
                    wrong.push(format!("`{id}`: the tool `{tool}` is not offered"));
                }
            }
            let mut scopes = task.required_data_scopes;
            if scopes.is_empty() {
                let tools = task.allowed_tools.iter();
                let families = tools.filter_map(|tool| offered.tools.get(tool));
                let families: BTreeSet<Label> =
                    families.map(|(_, family)| family.clone()).collect();
                scopes.extend(families);
            }
            planned.push(Task {
                depends_on: task.depends_on,
                role_type: task.role_type,
                objective: task.objective,
                required_capabilities: task.required_capabilities,
                allowed_tools: task.allowed_tools,
                required_data_scopes: scopes,
                success_criteria: task.success_criteria,
                task_id: task.task_id,
            });
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let graph = MissionTaskGraph {
            schema_name: Default::default(),
            schema_version: MissionSchemaVersion::default(),
            mission_id: desk.envelope.mission_id.clone(),
            tenant_id: Some(desk.envelope.tenant_id.clone()),
            actor_id: Some(desk.envelope.actor_id.clone()),
            tasks: with_own(planned).map_err(|error| vec![error])?,
            created_at: self.clock.now(),
            producer: desk.producer(Role::Planner),
        };
        let mut report = Report::new();
        graph.check(&mut report);
        if report.violations.is_empty() {
            Ok(graph)
        } else {
            Err(report.violations.iter().map(ToString::to_string).collect())
        }
    }

    /// Returns the policy decision on each tool that a task requests, once for each (B002-5; default deny). The
    /// question uses the defaults or examples of the tool's parameters; every call is decided again with its own
    /// arguments.
    fn tool_scope(
        &self,
        work: &StageExecution,
        graph: &MissionTaskGraph,
        offered: &PlanOptions,
    ) -> Vec<PolicyDecision> {
        let asked = graph.tasks.iter().flat_map(|task| &task.allowed_tools);
        let asked: BTreeSet<&ToolId> = asked.collect();
        let desk = &work.desk;
        let decide = |id: &ToolId| {
            let (tool, _) = offered.tools.get(id)?;
            let (decision, reason) = self.may_use(work, tool);
            Some(PolicyDecision {
                schema_name: Default::default(),
                schema_version: MissionSchemaVersion::default(),
                mission_id: desk.envelope.mission_id.clone(),
                tenant_id: Some(desk.envelope.tenant_id.clone()),
                actor_id: Some(desk.envelope.actor_id.clone()),
                decision_id: PolicyDecisionId::parse(&format!("pol.{id}")).ok()?,
                decision_type: Label::parse(TOOL_SCOPE).ok()?,
                subject: ShortText::parse(id.as_str()).ok()?,
                decision,
                reason: Text::parse(&reason).ok()?,
                created_at: self.clock.now(),
                producer: Label::parse("policy").ok()?,
            })
        };
        asked.into_iter().filter_map(decide).collect()
    }

    fn may_use(&self, work: &StageExecution, tool: &Tool) -> (Decision, String) {
        use charter_domain::policy::PolicyDecision as Said;
        let policies = self.catalogue.live().policies(&work.caller.tenant);
        let (arguments, facts) = (scope::sample(tool), scope::facts(work));
        match policies.decide(&scope::question(work, tool, &arguments, &facts)) {
            Said::Allow { by } => {
                let rules: Vec<String> = by.iter().map(ToString::to_string).collect();
                (
                    Decision::Allow,
                    format!("permitted by {}", rules.join(", ")),
                )
            }
            Said::Ungoverned => {
                let reason = "no policy permits it, and a mission may use only permitted tools";
                (Decision::Deny, reason.to_owned())
            }
            Said::Deny(denial) => (Decision::Deny, denial.to_string()),
        }
    }
}

/// Adds the tasks that every mission has: prompts first, data before workers, and last the aggregation of everything
/// and its review.
fn with_own(mut planned: Vec<Task>) -> Result<Vec<Task>, String> {
    let id = |text: &str| TaskId::parse(text).map_err(|error| error.to_string());
    let (prepare, open) = (id(PREPARE)?, id(OPEN)?);
    let opens = planned.iter().any(|task| task.role_type == Role::Worker);
    let all: Vec<TaskId> = planned.iter().map(|task| task.task_id.clone()).collect();
    for task in &mut planned {
        let first = if task.role_type == Role::Worker {
            &open
        } else {
            &prepare
        };
        task.depends_on.insert(0, first.clone());
    }
    let own = |task_id, role_type, objective: &str, depends_on| {
        Ok::<_, String>(Task {
            task_id,
            role_type,
            objective: Text::parse(objective).map_err(|error| error.to_string())?,
            depends_on,
            required_capabilities: Vec::new(),
            allowed_tools: Vec::new(),
            required_data_scopes: Vec::new(),
            success_criteria: Vec::new(),
        })
    };
    let mut tasks = vec![own(
        prepare.clone(),
        Role::PromptMaster,
        "Make a prompt package for every task.",
        Vec::new(),
    )?];
    if opens {
        let what = "Grant each worker access to the data that it needs.";
        tasks.push(own(open, Role::Librarian, what, vec![prepare])?);
    }
    tasks.extend(planned);
    let aggregate = id(AGGREGATE)?;
    let what = "Bring the results together.";
    tasks.push(own(aggregate.clone(), Role::Aggregator, what, all)?);
    let what = "Review the draft, once.";
    tasks.push(own(id(REVIEW)?, Role::Reviewer, what, vec![aggregate])?);
    Ok(tasks)
}

/// Returns the planner's prompts.
pub(super) fn planner_prompts(desk: &MissionContext) -> Result<(String, String), StepFailure> {
    let goal = desk.envelope.normalized_goal.as_str();
    let variables = Variables {
        mission_type: desk.kind.mission_type.as_str(),
        goal,
        objective: goal,
        success_criteria: "",
    };
    own_prompts(desk, Role::Planner, &variables, goal)
}

/// Builds the planner's context.
pub(super) fn context(desk: &MissionContext, offered: &PlanOptions) -> Value {
    let tools = offered.tools.iter().map(|(id, (tool, family))| {
        json!({"tool_id": id, "description": tool.description, "resource_family": family})
    });
    let families = desk.kind.resource_families.iter();
    let families =
        families.map(|(name, family)| json!({"name": name, "description": family.description}));
    json!({
        "goal": desk.envelope.normalized_goal,
        "mission_type": desk.kind.mission_type,
        "description": desk.kind.description,
        "context_refs": desk.envelope.context_refs,
        "requested_outputs": desk.envelope.requested_outputs,
        "outline": desk.kind.outline,
        "tools": tools.collect::<Vec<_>>(),
        "resource_families": families.collect::<Vec<_>>(),
        "skills": offered.skills,
    })
}
