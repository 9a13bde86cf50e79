//! The worker's stage: one turn. It answers from its context, or requests the calls that it needs first; those are
//! separate steps, with the gate before each.

use std::collections::BTreeMap;

use charter_contract::bounds::JSON_MEMORY;
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::tool::Tool;
use charter_contract::filling::FillBudget;
use charter_contract::ids::{Label, WorkerResultId};
use charter_contract::mission::MissionSchemaVersion;
use charter_contract::mission::librarian_pass::LibrarianPass;
use charter_contract::mission::task_graph::Role;
use charter_contract::mission::worker_result::{Citation, WorkerResult};
use charter_domain::graph;
use charter_domain::mission::admit::Admission;
use charter_domain::mission::{RequestedCall, StageOutput, after_turn};
use charter_domain::parameters::{self, Collected};
use charter_domain::reference::{Bindings, resolve};
use charter_domain::run::StepFailure;
use charter_domain::tier::skill_served;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::MissionStageService;
use super::ask::RoleQuestion;
use super::draft::schema::{self, Sources};
use super::draft::{AnswerDraft, TurnDraft};
use super::failures::unfit;
use super::stage::{StageExecution, ToolCallResult, WorkerTurn, artifacts_of, held};
use crate::EngineError;
use crate::execution::asking::{DeclaredPart, ValidatedDraft};
use crate::execution::runs::{StageFailure, StageResult};

/// Maximum bytes of one call's output in a worker's context.
const SHOWN_BYTES: usize = 24 * 1024;

/// The result of a turn.
enum TurnOutcome {
    Answer(Box<WorkerResult>),
    Calls(Vec<RequestedCall>),
}

/// Whether an answer must cite sources.
fn citations_of(turn: &WorkerTurn) -> schema::Citations {
    if turn.package.constraints.must_cite_sources {
        schema::Citations::Required
    } else {
        schema::Citations::Optional
    }
}

impl MissionStageService {
    pub(super) async fn work(
        &self,
        work: &StageExecution,
        turn: &WorkerTurn,
        cancel: &CancellationToken,
    ) -> Result<StageResult, StageFailure> {
        self.live_pass(turn)?;
        let context = self.table(work, turn).await?;
        let sources = Sources::in_view(&work.desk.inventory(), &context);
        let context = sources.shown_in(context);
        let citations = citations_of(turn);
        let structured = work.desk.prompt(turn.task.role_type).output_schema.as_ref();
        let view = self.catalogue.live().view(&work.caller.tenant);
        let asking = RoleQuestion {
            role: turn.task.role_type,
            route: &turn.package.model_route,
            system: turn.package.system_prompt.as_str(),
            task: turn.package.task_prompt.as_str(),
            context,
            wanted: if turn.may_call() {
                let tools = turn.package.tool_scope.iter();
                let tools = tools.filter_map(|id| view.tool(id.as_ref()));
                let tools: Vec<Tool> = tools.map(|tool| tool.document().clone()).collect();
                schema::turn(tools.iter(), &sources, citations, structured)
            } else {
                schema::answer(&sources, citations, structured)
            },
        };
        let declared = |said: &TurnOutcome| structured_output(work, turn, said);
        let ValidatedDraft {
            made,
            model,
            tokens,
        } = if turn.may_call() {
            let read = |draft: TurnDraft| self.turn_outcome(work, turn, &sources, draft);
            self.drafted(work, asking, read, declared, cancel).await?
        } else {
            let read = |draft: AnswerDraft| {
                let result = self.result(work, turn, &sources, draft)?;
                Ok(TurnOutcome::Answer(Box::new(result)))
            };
            self.drafted(work, asking, read, declared, cancel).await?
        };
        let result = match made {
            TurnOutcome::Answer(result) => held(*result).map(artifacts_of).map_err(Into::into),
            TurnOutcome::Calls(calls) => self.calls_of(work, turn, calls).await,
        };
        let mut result =
            result.map_err(|failed: StageFailure| StageFailure { tokens, ..failed })?;
        result.output.model = Some(model);
        result.tokens = tokens;
        Ok(result)
    }

    /// Returns the result of a turn that needs calls first: the steps of the calls, and of the next turn.
    pub(super) async fn calls_of(
        &self,
        work: &StageExecution,
        turn: &WorkerTurn,
        wanted: Vec<RequestedCall>,
    ) -> Result<StageResult, StageFailure> {
        let growth = after_turn(&turn.task, turn.number, &wanted)
            .map_err(|error| unfit(error.to_string()))?;
        let tools = self.tools_of(work, &wanted).await?;
        let output = StageOutput {
            wanted,
            ..StageOutput::default()
        };
        Ok(StageResult {
            output,
            growth,
            tools,
            ..StageResult::default()
        })
    }

    /// Returns the pass of a worker's turn, if it has not expired.
    pub(super) fn live_pass<'t>(
        &self,
        turn: &'t WorkerTurn,
    ) -> Result<&'t LibrarianPass, StepFailure> {
        let pass = turn.pass.as_ref();
        let pass = pass.ok_or_else(|| unfit("the worker has no pass"))?;
        if self.clock.now() >= pass.expires_at {
            let message = format!("the pass of `{}` has expired", turn.task.task_id);
            return Err(super::pass_refused(message));
        }
        Ok(pass)
    }

    fn turn_outcome(
        &self,
        work: &StageExecution,
        turn: &WorkerTurn,
        sources: &Sources,
        draft: TurnDraft,
    ) -> Result<TurnOutcome, Vec<String>> {
        match (draft.calls.is_empty(), draft.answer) {
            (true, Some(answer)) => {
                let result = self.result(work, turn, sources, answer)?;
                Ok(TurnOutcome::Answer(Box::new(result)))
            }
            (false, None) => {
                let calls = self.bound_calls(work, turn, draft.calls)?;
                Ok(TurnOutcome::Calls(calls))
            }
            (true, None) => Err(vec!["give `calls` or an `answer`".to_owned()]),
            (false, Some(_)) => Err(vec!["give `calls` or an `answer`, not both".to_owned()]),
        }
    }

    /// Builds the calls that a turn requests; the error has every defect.
    pub(super) fn bound_calls(
        &self,
        work: &StageExecution,
        turn: &WorkerTurn,
        calls: Vec<RequestedCall>,
    ) -> Result<Vec<RequestedCall>, Vec<String>> {
        if !turn.may_call() {
            return Err(vec!["this turn cannot request calls".to_owned()]);
        }
        let calls = calls.into_iter();
        let calls = calls.map(|call| self.bound(work, turn, call));
        let (calls, wrong): (Vec<_>, Vec<_>) = calls.partition(Result::is_ok);
        let wrong: Vec<String> = wrong.into_iter().filter_map(Result::err).collect();
        match wrong.is_empty() {
            true => Ok(calls.into_iter().filter_map(Result::ok).collect()),
            false => Err(wrong),
        }
    }

    /// Builds a call within the task's scope, with parameters that its tool accepts.
    fn bound(
        &self,
        work: &StageExecution,
        turn: &WorkerTurn,
        call: RequestedCall,
    ) -> Result<RequestedCall, String> {
        if !turn.package.tool_scope.contains(&call.tool) {
            return Err(format!(
                "the tool `{}` is not in the task's scope",
                call.tool
            ));
        }
        let view = self.catalogue.live().view(&work.caller.tenant);
        let tool = view.tool(call.tool.as_ref());
        let tool = tool.ok_or_else(|| format!("there is no tool `{}`", call.tool))?;
        let bound = parameters::bind_arguments(tool.document(), &call.parameters);
        let bound = bound.map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            format!("the call of `{}`: {}", call.tool, faults.join("; "))
        })?;
        Ok(RequestedCall {
            tool: call.tool,
            parameters: bound,
        })
    }

    /// Builds the result of an answer, if the mission's own check admits it: sources resolve, and exist where they are
    /// required (B002-6).
    fn result(
        &self,
        work: &StageExecution,
        turn: &WorkerTurn,
        sources: &Sources,
        draft: AnswerDraft,
    ) -> Result<WorkerResult, Vec<String>> {
        let desk = &work.desk;
        let citations = draft.citations.into_iter().map(|citation| Citation {
            reference: sources.meant(citation.reference),
            ..citation
        });
        let id =
            |text: String| WorkerResultId::parse(&text).map_err(|error| vec![error.to_string()]);
        let traces = turn.made.iter().filter(|made| made.came_to.is_ok());
        let result = WorkerResult {
            schema_name: Default::default(),
            schema_version: MissionSchemaVersion::default(),
            mission_id: desk.envelope.mission_id.clone(),
            tenant_id: Some(desk.envelope.tenant_id.clone()),
            actor_id: Some(desk.envelope.actor_id.clone()),
            task_id: turn.task.task_id.clone(),
            result_id: id(format!("wrk.{}", turn.task.task_id))?,
            output_text: draft.output_text,
            structured_output: draft.structured_output,
            citations: citations.collect(),
            confidence: draft.confidence,
            tool_trace_refs: traces
                .filter_map(|made| Label::parse(&made.reference).ok())
                .collect(),
            created_at: self.clock.now(),
            producer: desk.producer(Role::Worker),
        };
        admissible(work, result.clone().into())?;
        Ok(result)
    }

    /// Builds a worker's context: data, never instructions.
    pub(super) async fn table(
        &self,
        work: &StageExecution,
        turn: &WorkerTurn,
    ) -> Result<Value, EngineError> {
        let view = self.catalogue.live().view(&work.caller.tenant);
        let tools = turn.package.tool_scope.iter().filter(|_| turn.may_call());
        let tools: Vec<Value> = tools
            .filter_map(|id| Some(shown_tool(view.tool(id.as_ref())?.document())))
            .collect();
        let previews = turn.pass.iter().flat_map(|pass| &pass.cached_previews);
        let previews: Vec<Value> = previews
            .map(|preview| {
                json!({"ref": preview.entity_id, "label": preview.label, "text": preview.preview})
            })
            .collect();
        let earlier = turn
            .earlier
            .iter()
            .flat_map(|finished| &finished.output.artifacts);
        let skills = turn.task.required_capabilities.iter();
        let skills = skills.filter_map(|id| view.skill(id.as_str()));
        let skills: Vec<Skill> = skills
            .filter(|found| skill_served(&view, found.document()).reaches(work.caller.tier))
            .map(|found| graph::wired(found.document(), &view).into_owned())
            .collect();
        let mut findings = Vec::new();
        for skill in &skills {
            findings.extend(self.worked_out(work, skill, &turn.made).await?);
        }
        let recommended_calls = skills.iter().flat_map(|skill| recommended(work, skill));
        let skills = skills.iter().map(
            |skill| json!({"skill_id": skill.skill_id, "name": skill.display_name, "purpose": skill.purpose}),
        );
        let recommended = turn.pass.iter().flat_map(|pass| &pass.recommended_queries);
        Ok(json!({
            "objective": turn.task.objective,
            "success_criteria": turn.task.success_criteria,
            "goal": work.desk.envelope.normalized_goal,
            "context_refs": work.desk.envelope.context_refs,
            "tools": tools,
            "skills": skills.collect::<Vec<_>>(),
            "recommended_calls": recommended_calls.collect::<Vec<_>>(),
            "recommended_queries": recommended.collect::<Vec<_>>(),
            "previews": previews,
            "earlier": earlier.map(shown_artifact).collect::<Vec<_>>(),
            "calls": turn.made.iter().map(shown_call).collect::<Vec<_>>(),
            "findings": findings,
        }))
    }

    /// Returns the findings of the skill's own rules in the results of its calls (ruling 51). The skill's template
    /// renders them, and each cites its call.
    async fn worked_out(
        &self,
        work: &StageExecution,
        skill: &Skill,
        made: &[ToolCallResult],
    ) -> Result<Vec<Value>, EngineError> {
        let mut all = Vec::new();
        let tags = self.tags.of_request(&work.caller, None, None)?;
        for call in made {
            let Ok(output) = &call.came_to else {
                continue;
            };
            let plan = skill.execution_plan.steps.iter();
            let steps = plan.filter(|step| step.tool_id == call.tool);
            for step in steps {
                let tenant = &work.caller.tenant;
                let found = self
                    .findings
                    .in_output(tenant, skill, &step.step_id, output);
                let mut found = found.await?;
                let proof = Some(call.reference.as_str());
                let unrendered = self
                    .findings
                    .render(tenant, &tags, skill, &mut found, proof, None);
                for warning in unrendered.await? {
                    tracing::warn!(skill.id = %skill.skill_id, "{warning}");
                }
                let cited = found
                    .into_iter()
                    .map(|finding| json!({"ref": call.reference, "finding": finding}));
                all.extend(cited);
            }
        }
        Ok(all)
    }
}

/// Returns the structured output of an answer, if the worker's prompt has a schema for it.
fn structured_output(
    work: &StageExecution,
    turn: &WorkerTurn,
    said: &TurnOutcome,
) -> Vec<DeclaredPart> {
    let prompt = work.desk.prompt(turn.task.role_type);
    match (said, &prompt.output_schema) {
        (TurnOutcome::Answer(result), Some(schema)) => {
            let structured = result.structured_output.clone();
            vec![DeclaredPart {
                schema: schema.clone(),
                value: structured.map_or(Value::Null, Value::Object),
                name: "structured_output".to_owned(),
            }]
        }
        (TurnOutcome::Answer(_), None) | (TurnOutcome::Calls(_), _) => Vec::new(),
    }
}

/// Checks whether the mission would admit an artifact; the error has the reasons.
pub(super) fn admissible(
    work: &StageExecution,
    artifact: charter_contract::mission::Artifact,
) -> Result<(), Vec<String>> {
    use charter_domain::mission::admit::AdmissionRefusal;
    match work.desk.inventory().admit(artifact) {
        Ok(Admission::New(_) | Admission::Repeat) => Ok(()),
        Err(AdmissionRefusal::Violations(found)) => {
            Err(found.iter().map(ToString::to_string).collect())
        }
        Err(conflict @ AdmissionRefusal::Conflict { .. }) => Err(vec![conflict.to_string()]),
    }
}

/// Returns the calls of a skill's plan that need nothing of earlier steps. Parameter values come from the mission's
/// references by name, its goal, or defaults.
fn recommended(work: &StageExecution, skill: &Skill) -> Vec<Value> {
    let envelope = &work.desk.envelope;
    let named = |name: &&str| envelope.context_refs.contains_key(*name);
    let declared = skill.parameters.iter();
    let given: Map<String, Value> = declared
        .map(|parameter| parameter.name.as_str())
        .filter(named)
        .map(|name| (name.to_owned(), envelope.context_refs[name].clone()))
        .collect();
    let goal = envelope.normalized_goal.as_str();
    let collected = Collected::given(&skill.parameters, &given).read(goal, envelope.created_at);
    // The mission's reference of that name may be something else than the skill expects.
    let bound = match collected.settle() {
        Ok(bound) if bound.missing.is_empty() => bound,
        Ok(_) | Err(_) => return Vec::new(),
    };
    let bindings = Bindings {
        parameters: &bound.values,
        outputs: &BTreeMap::new(),
        item: None,
    };
    let plan = skill.execution_plan.steps.iter();
    let calls = plan.filter_map(|step| {
        let written = Value::Object(step.parameters.clone());
        let parameters =
            resolve(&written, bindings, &mut FillBudget::with_limit(JSON_MEMORY)).ok()?;
        Some(json!({"tool": step.tool_id, "parameters": parameters}))
    });
    calls.collect()
}

pub(super) fn shown_tool(tool: &Tool) -> Value {
    let mut shown = json!({
        "tool": tool.tool_id, "description": tool.description,
        "parameters": tool.parameters(),
    });
    if let Some(schema) = &tool.input_schema {
        shown["input_schema"] = json!(schema);
    }
    shown
}

/// Describes an artifact of an earlier task, with the refs for citing it.
fn shown_artifact(artifact: &Value) -> Value {
    let of = |name: &str| artifact.get(name).cloned().unwrap_or(Value::Null);
    match artifact.get("schema_name").and_then(Value::as_str) {
        Some("research_artifact") => json!({
            "ref": of("artifact_id"), "kind": "external", "query": of("query"), "results": of("results"),
        }),
        _ => json!({
            "ref": of("result_id"), "kind": "internal", "text": of("output_text"),
            "structured": of("structured_output"), "confidence": of("confidence"),
        }),
    }
}

pub(super) fn shown_call(made: &ToolCallResult) -> Value {
    let came_to = match &made.came_to {
        Ok(output) => {
            let text = output.to_string();
            if text.len() <= SHOWN_BYTES {
                json!({"output": output})
            } else {
                json!({"output_begins": cut(&text), "bytes": text.len()})
            }
        }
        Err(why) => json!({"failed": why}),
    };
    let mut shown = json!({
        "ref": made.reference, "tool": made.tool, "parameters": made.parameters,
    });
    if let (Value::Object(shown), Value::Object(came_to)) = (&mut shown, came_to) {
        shown.extend(came_to);
    }
    shown
}

fn cut(text: &str) -> &str {
    let mut end = SHOWN_BYTES.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
