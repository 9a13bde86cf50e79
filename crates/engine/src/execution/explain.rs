//! Explains the gate's answer to a hypothetical call. Has no effect, writes nothing and uses no rate limit.
//!
//! The call becomes the step of a run that is never stored, so the gate gets the same question as in a driven run.

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::policy::RunKind;
use charter_contract::catalogue::tags::Flow;
use charter_contract::catalogue::tool::Tool;
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{
    Label, PlanId, PlaybookId, RunId, SkillId, StepId, TenantId, ToolId, UserId,
};
use charter_domain::clock::Clock;
use charter_domain::gate::{GateDecision, RuleFinding};
use charter_domain::graph::{self, Step};
use charter_domain::run::{Run, RunPrerequisites};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::catalogue::documents::{DocumentService, unseen_active};
use crate::catalogue::live::CatalogueService;
use crate::execution::runs::{ExplainedDecision, NewRun, PinnedDocumentService, RunService, pin};
use crate::execution::starts::{RunStartService, check_depth};
use crate::execution::tags::TagService;
use crate::ground::core_ports::CorePorts;
use crate::ground::ids::IdSource;
use crate::ground::questions::QuestionSlots;
use crate::identity::rate_limits::RateLimits;
use crate::{Caller, EngineError, Role};

/// The verdict on a write in a dry run whose tool does not support dry runs.
const LEFT_OUT: &str = "skipped";

/// The plan to which a call would belong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallOrigin {
    /// A skill's plan.
    Skill(SkillId),
    /// A playbook's plan.
    Playbook(PlaybookId),
    /// An execution plan that the caller would send: there is no other way to call a single tool.
    Plan,
}

/// A call that has not happened.
#[derive(Debug, Clone, PartialEq)]
pub struct HypotheticalCall {
    /// The tool.
    pub tool: ToolId,
    /// The exact arguments; the tool's defaults are filled in. References are not resolved.
    pub parameters: Map<String, Value>,
    /// The plan to which the call belongs.
    pub within: CallOrigin,
    /// The step, if several steps call the tool.
    pub step: Option<StepId>,
    /// Whether the call is a dry run.
    pub dry_run: bool,
    /// The persona of the request; when absent, the persona of requests that name none.
    pub persona: Option<Label>,
}

/// The gate's answer to a call, with its reasons.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CallExplanation")]
pub struct CallExplanation {
    /// `allow`, `warn`, `needs_approval`, `deny`, or `skipped` in a dry run.
    pub verdict: &'static str,
    /// The tool.
    pub tool: ToolId,
    /// The kind of the run to which the call would belong.
    pub kind: RunKind,
    /// The skill or playbook; absent for a hypothetical plan.
    pub subject: Option<String>,
    /// Its step; absent for a hypothetical plan.
    pub step: Option<StepId>,
    /// The caller.
    pub user: UserId,
    /// The caller's level: `user`, `operator` or `admin`.
    pub role: Role,
    /// The arguments, with defaults filled in.
    pub parameters: Map<String, Value>,
    /// Whether the call is a dry run.
    pub dry_run: bool,
    /// The decision as a journal would record it; absent for a call that would be left out, because the gate is not
    /// asked.
    pub decision: Option<GateDecision>,
    /// Every rule that was considered, in the order in which the gate asks.
    pub rules: Vec<RuleFinding>,
    /// The values assumed for facts that only a run has.
    pub assumed: Option<AssumedFacts>,
}

/// Facts that only a run has, as assumed for the explanation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AssumedFacts")]
pub struct AssumedFacts {
    /// Users who approved exactly this call.
    pub approvers: Vec<UserId>,
    /// Number of approvals in the run.
    pub approvals: u64,
    /// Number of calls that the run began.
    pub calls: BTreeMap<ToolId, u64>,
    /// Whether an earlier attempt of the step was interrupted.
    pub interrupted: bool,
}

/// The services that the gate is asked with.
pub(crate) struct GateParts {
    pub(crate) catalogue: Arc<CatalogueService>,
    pub(crate) documents: Arc<DocumentService>,
    pub(crate) tags: Arc<TagService>,
    pub(crate) questions: QuestionSlots,
    pub(crate) rate_limits: Arc<RateLimits<(TenantId, ToolId)>>,
    pub(crate) pinned: Arc<PinnedDocumentService>,
    pub(crate) runs: Arc<RunService>,
    pub(crate) starts: Arc<RunStartService>,
}

/// The gate, for calls that do not happen.
pub struct GateService {
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    parts: GateParts,
}

impl std::fmt::Debug for GateService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GateService").finish_non_exhaustive()
    }
}

impl GateService {
    pub(crate) fn new(ports: CorePorts, parts: GateParts) -> Self {
        Self {
            clock: ports.clock,
            ids: ports.ids,
            parts,
        }
    }

    /// Explains the gate's current answer to a call by the caller.
    ///
    /// # Errors
    /// `not_found` for documents that are not visible to the caller, such as internal tools; `invalid_request` if no
    /// step or several steps call the tool; `missing_parameters` and `invalid_parameters` for arguments that the tool
    /// does not accept.
    pub async fn explain(
        &self,
        caller: &Caller,
        thought: &HypotheticalCall,
    ) -> Result<CallExplanation, EngineError> {
        check_depth(&thought.parameters)?;
        let tool = self
            .parts
            .documents
            .resolve_tool(caller, thought.tool.as_ref())?;
        let new = self.thought_run(caller, thought, tool.document())?;
        let run = self.parts.runs.unstored(new)?.run;
        let pinned = self.parts.pinned.load(&caller.tenant, &run).await?;
        let workspace = pinned.workspace;
        let effort = workspace.effort(&thought.tool);
        let questions = &self.parts.questions;
        let place = questions.slot_for(&caller.tenant, effort).await;
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
            let now = self.clock.now();
            let bucket = tool.rate_limit.as_ref().map(|limit| {
                let key = (caller.tenant.clone(), tool.tool_id.clone());
                self.parts.rate_limits.look(&key, limit.into(), now)
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
                interrupted: run.steps().is_interrupted(&step.id),
            });
        }
        Ok(explained)
    }

    /// Builds the run to which the call would belong, as it would begin.
    fn thought_run(
        &self,
        caller: &Caller,
        thought: &HypotheticalCall,
        tool: &Tool,
    ) -> Result<NewRun, EngineError> {
        let run_id = RunId::from_uuid(self.ids.uuid());
        let none = Map::new();
        let persona = thought.persona.as_ref();
        let (graph, pins, flow) = match &thought.within {
            CallOrigin::Playbook(playbook) => {
                let (starts, dry_run) = (&self.parts.starts, thought.dry_run.into());
                let new = starts.playbook_run(caller, playbook, &none, dry_run, run_id)?;
                let tags = self.parts.tags.of_request(caller, persona, new.tags.flow)?;
                return Ok(NewRun { tags, ..new });
            }
            CallOrigin::Skill(_) if thought.dry_run => {
                let message = "a skill only reads and has no dry run";
                return Err(EngineError::new(ErrorCode::InvalidRequest, message));
            }
            CallOrigin::Skill(skill) => {
                let planned = self.parts.starts.planned_skill(caller, skill)?;
                (planned.graph, planned.pins, Some(Flow::Skill))
            }
            CallOrigin::Plan => {
                let view = self.parts.catalogue.live().view(&caller.tenant);
                let found = view.tool(tool.tool_id.as_ref());
                let found = found.filter(|found| found.document().status == Status::Active);
                let found = found.ok_or_else(|| {
                    unseen_active(&view, DocumentKind::Tool, tool.tool_id.as_ref())
                })?;
                let pin = pin(DocumentKind::Tool, tool.tool_id.as_ref(), &found.entry);
                let graph =
                    graph::single_call(&PlanId::from_uuid(Uuid::nil()), tool, Map::new(), 0);
                let internal = |error| EngineError::internal("building a plan", error);
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
            tags: self.parts.tags.of_request(caller, persona, flow)?,
            artifacts: Vec::new(),
        })
    }
}

/// Returns the named step, or the one that calls the tool. Reversals must be named.
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
