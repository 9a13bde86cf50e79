//! What the gate would say to a call: a use case that has no effect, writes nothing and takes no turn
//! of a rate limit.
//!
//! The call is put to the gate as the step of a run that is never stored, so it is asked in the same
//! way as when the run were driven.

use std::collections::BTreeMap;

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::policy::RunKind;
use charter_contract::catalogue::tags::Flow;
use charter_contract::catalogue::tool::Tool;
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{Label, PlanId, PlaybookId, RunId, SkillId, StepId, ToolId, UserId};
use charter_contract::json::{Profile, extent_of};
use charter_domain::gate::{GateDecision, RuleFinding};
use charter_domain::graph::{self, Step};
use charter_domain::run::{Run, RunPrerequisites};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::gate::ExplainedDecision;
use super::{NewRun, pin};
use crate::catalogue::documents::unseen_active;
use crate::{Caller, Engine, EngineError, Role};

/// The verdict on a write in a run that changes nothing, whose tool cannot say what it would do.
const LEFT_OUT: &str = "left_out";

/// Whose step a call would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallOrigin {
    /// A skill's.
    Skill(SkillId),
    /// A playbook's.
    Playbook(PlaybookId),
    /// The one of an execution plan that the caller would send: there is no other way to call a tool
    /// by itself.
    Plan,
}

/// A call that has not happened.
#[derive(Debug, Clone, PartialEq)]
pub struct HypotheticalCall {
    /// What is called.
    pub tool: ToolId,
    /// The exact arguments; the tool's defaults are filled in. What looks like a reference is none.
    pub parameters: Map<String, Value>,
    /// Whose step it is.
    pub within: CallOrigin,
    /// Which step, where several call the tool.
    pub step: Option<StepId>,
    /// Whether nothing is to be changed.
    pub dry_run: bool,
    /// The persona that is answered; that of requests which name none when absent.
    pub persona: Option<Label>,
}

/// What the gate would say to a call, and why.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CallExplained")]
pub struct CallExplanation {
    /// `allow`, `warn`, `needs_approval`, `deny`, or `left_out` in a run that changes nothing.
    pub verdict: &'static str,
    /// What is called.
    pub tool: ToolId,
    /// What kind of run the call would belong to.
    pub kind: RunKind,
    /// The skill or playbook; absent for a plan that is only thought of.
    pub subject: Option<String>,
    /// Its step; absent for the same.
    pub step: Option<StepId>,
    /// Who asks.
    pub user: UserId,
    /// What they may do.
    pub role: Role,
    /// The arguments, defaults filled in.
    pub parameters: Map<String, Value>,
    /// Whether nothing is to be changed.
    pub dry_run: bool,
    /// The decision as a journal would hold it; absent for what would be left out, which is not put
    /// to the gate.
    pub decision: Option<GateDecision>,
    /// Every rule that was considered, in the order in which the gate asks.
    pub rules: Vec<RuleFinding>,
    /// What was taken for the facts that a run adds.
    pub assumed: Option<AssumedFacts>,
}

/// Facts of a run that nobody knows before it runs, as they were taken for the explanation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AssumedFacts")]
pub struct AssumedFacts {
    /// Who approved exactly this call.
    pub approvers: Vec<UserId>,
    /// Approvals that the run was given.
    pub approvals: u64,
    /// Calls that it began.
    pub calls: BTreeMap<ToolId, u64>,
    /// Whether an earlier attempt of the step was interrupted.
    pub interrupted: bool,
}

impl Engine {
    /// What the gate would say to the caller about a call, now.
    ///
    /// # Errors
    /// `not_found` for what the caller does not see, internal tools among them; `invalid_request` when
    /// no step or several call the tool; `missing_parameters` and `invalid_parameters` for arguments
    /// that the tool does not take.
    pub async fn explain_call(
        &self,
        caller: &Caller,
        thought: &HypotheticalCall,
    ) -> Result<CallExplanation, EngineError> {
        check_depth(&thought.parameters)?;
        let tool = self.resolve_tool(caller, thought.tool.as_ref())?;
        let new = self.thought_run(caller, thought, tool.document())?;
        let run = self.unstored(new)?.run;
        let workspace = self.load_pinned(&caller.tenant, &run).await?.workspace;
        let effort = workspace.effort(&thought.tool);
        let place = self.evaluation_slot_for(&caller.tenant, effort).await;
        let step = step_of(&run, thought)?;
        let internal = |cause: String| EngineError::internal("explaining a call", cause);
        let called = workspace.called(step).map_err(internal)?;
        let given = thought.parameters.clone();
        let call = workspace.exact(&run, step, called, given)?;
        let alone = thought.within == CallOrigin::Plan;
        let mut explained = CallExplanation {
            verdict: LEFT_OUT,
            tool: thought.tool.clone(),
            kind: workspace.kind,
            subject: (!alone).then(|| workspace.subject.clone()),
            step: (!alone).then(|| step.id.clone()),
            user: caller.user.clone(),
            role: caller.role,
            parameters: thought.parameters.clone(),
            dry_run: run.is_dry_run(),
            decision: None,
            rules: Vec::new(),
            assumed: None,
        };
        if let Some(call) = call {
            let tool = &called.tool.entry.document;
            let now = self.now();
            let bucket = tool.rate_limit.as_ref().map(|limit| {
                let key = (caller.tenant.clone(), tool.tool_id.clone());
                self.rate_limits().look(&key, limit.into(), now)
            });
            let ExplainedDecision {
                decision,
                findings,
                facts,
            } = place.ask(|| workspace.explain(&run, step, tool, &call, bucket, now));
            explained.verdict = decision.word();
            explained.parameters = call.parameters;
            explained.decision = Some(decision);
            explained.rules = findings;
            explained.assumed = Some(AssumedFacts {
                approvers: facts.approvers,
                approvals: facts.approvals,
                calls: facts.calls,
                interrupted: run.is_interrupted(&step.id),
            });
        }
        Ok(explained)
    }

    /// The run that the call would belong to, as it would begin.
    fn thought_run(
        &self,
        caller: &Caller,
        thought: &HypotheticalCall,
        tool: &Tool,
    ) -> Result<NewRun, EngineError> {
        let run_id = RunId::from_uuid(self.new_uuid());
        let none = Map::new();
        let persona = thought.persona.as_ref();
        let (graph, pins, flow) = match &thought.within {
            CallOrigin::Playbook(playbook) => {
                let new = self.playbook_run(caller, playbook, &none, thought.dry_run, run_id)?;
                let tags = self.request_tags(caller, persona, new.tags.flow)?;
                return Ok(NewRun { tags, ..new });
            }
            CallOrigin::Skill(_) if thought.dry_run => {
                let message = "a skill only reads: there are no dry runs of one";
                return Err(EngineError::new(ErrorCode::InvalidRequest, message));
            }
            CallOrigin::Skill(skill) => {
                let planned = self.planned_skill(caller, skill)?;
                (planned.graph, planned.pins, Some(Flow::Skill))
            }
            CallOrigin::Plan => {
                let view = self.live().view(&caller.tenant);
                let found = view.tool(tool.tool_id.as_ref());
                let found = found.filter(|found| found.document().status == Status::Active);
                let found = found.ok_or_else(|| {
                    unseen_active(&view, DocumentKind::Tool, tool.tool_id.as_ref())
                })?;
                let pin = pin(DocumentKind::Tool, tool.tool_id.as_ref(), &found.entry);
                let graph = graph::single_call(&PlanId::from_uuid(Uuid::nil()), tool, Map::new());
                let internal = |error| EngineError::internal("thinking of a plan", error);
                (graph.map_err(internal)?, vec![pin], None)
            }
        };
        Ok(NewRun {
            run_id,
            tenant: caller.tenant.clone(),
            by: caller.user.clone(),
            askers: caller.makers.clone(),
            owner: caller.user.clone(),
            role: caller.role,
            title: String::new(),
            graph,
            parameters: none,
            pins,
            dry_run: thought.dry_run,
            opening: RunPrerequisites::default(),
            tags: self.request_tags(caller, persona, flow)?,
            artifacts: Vec::new(),
        })
    }
}

/// The step that is meant: the named one, or the one that calls the tool. Reversals have to be named.
fn step_of<'r>(run: &'r Run, thought: &HypotheticalCall) -> Result<&'r Step, EngineError> {
    let refused = |message: String| EngineError::new(ErrorCode::InvalidRequest, message);
    let tool = &thought.tool;
    let calls = |step: &&Step| step.tool() == Some(tool);
    let calling: Vec<&Step> = run.graph().steps().iter().filter(calls).collect();
    if let Some(named) = &thought.step {
        let mut calling = calling.into_iter();
        let found = calling.find(|step| step.id == *named);
        return found.ok_or_else(|| refused(format!("no step `{named}` calls `{tool}`")));
    }
    let names = |steps: &[&Step]| {
        let names: Vec<String> = steps.iter().map(|step| format!("`{}`", step.id)).collect();
        names.join(", ")
    };
    let forward: Vec<&Step> = calling
        .iter()
        .copied()
        .filter(|step| step.reverses.is_none())
        .collect();
    match (forward.as_slice(), calling.as_slice()) {
        ([step], _) => Ok(step),
        ([], []) => Err(refused(format!("no step calls `{tool}`"))),
        ([], reversals) => Err(refused(format!(
            "only reversals call `{tool}`; name the step: {}",
            names(reversals)
        ))),
        (several, _) => Err(refused(format!(
            "several steps call `{tool}`; name one: {}",
            names(several)
        ))),
    }
}

/// Refuses values that are nested deeper than any use of them expects.
pub(crate) fn check_depth(given: &Map<String, Value>) -> Result<(), EngineError> {
    for (name, value) in given {
        extent_of(value, Profile::PARAMETER).map_err(|much| {
            let message = format!("the parameter `{name}` {much}");
            EngineError::new(ErrorCode::InvalidParameters, message)
        })?;
    }
    Ok(())
}
