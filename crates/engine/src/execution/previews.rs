//! Previews of writes that wait for an approval: the present state beside the state after. Each call of a preview is a
//! run of one readonly or dry step in the name of the person who looks, so the gate, the journal and evidence apply.
//! Must not know HTTP.

mod runs;

use std::sync::Arc;
use std::time::Duration;

use charter_contract::bounds::{PREVIEW_CALLS, PREVIEW_LIST_WAIT_MS, PREVIEW_MEMORY};
use charter_contract::catalogue::tool::{ToolClass, ToolPreview};
use charter_contract::ids::{ApprovalId, PlanId, RunId, StepId, ToolId};
use charter_contract::json::memory_of;
use charter_domain::approval::{ApprovalStatus, ExactCall};
use charter_domain::run::{RunEvent, RunOutcome, StopCause};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::time::Instant;

use self::runs::{PATIENCE, PreviewEnd, PreviewRuns};
use crate::catalogue::documents::DocumentService;
use crate::execution::runs::{ApprovalService, RunManagementService, RunView, RunViewService};
use crate::execution::starts::{RunStartService, SubmittedPlan};
use crate::ground::core_ports::BackgroundTasks;
use crate::ground::ids::IdSource;
use crate::{AccessScope, Caller, DryRun, EngineError, Role};

/// How long the preview of a list may take.
const LIST_PATIENCE: Duration = Duration::from_millis(PREVIEW_LIST_WAIT_MS as u64);

/// The effect of a write: the present state and the state after.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct WriteEffect {
    /// The present state of the target; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The state after the write; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// Why a state is unknown, or which calls of a list are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The runs that made the preview.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub run_ids: Vec<RunId>,
}

/// The preview of one call of a list.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CallPreview {
    /// The step of the call.
    pub step: StepId,
    /// Its effect.
    #[serde(flatten)]
    pub effect: WriteEffect,
}

/// The preview of an approval: the effect of its call, or of each call of its list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ApprovalPreview {
    /// The effect of the call; of a list, only a note.
    #[serde(flatten)]
    pub effect: WriteEffect,
    /// The calls of a list, in the order of the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallPreview>,
}

/// The time and memory that a preview may still use.
struct PreviewBudget {
    until: Instant,
    memory: usize,
}

impl PreviewBudget {
    /// A budget for this time, and for the memory of two states.
    fn new(patience: Duration) -> Self {
        Self {
            until: Instant::now() + patience,
            memory: 2 * PREVIEW_MEMORY,
        }
    }

    fn time_left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}

/// The services that previews are made with.
pub(crate) struct PreviewParts {
    pub(crate) background: BackgroundTasks,
    pub(crate) ids: Arc<dyn IdSource>,
    pub(crate) documents: Arc<DocumentService>,
    pub(crate) approvals: Arc<ApprovalService>,
    pub(crate) starts: Arc<RunStartService>,
    pub(crate) views: Arc<RunViewService>,
    pub(crate) management: Arc<RunManagementService>,
}

/// Previews writes for approvers.
pub struct PreviewService {
    parts: PreviewParts,
}

impl std::fmt::Debug for PreviewService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreviewService").finish_non_exhaustive()
    }
}

/// One call of a preview.
struct PreviewCall {
    tool: ToolId,
    values: Map<String, Value>,
    dry_run: DryRun,
}

impl PreviewService {
    pub(crate) fn new(parts: PreviewParts) -> Self {
        Self { parts }
    }

    /// Previews the calls of a pending approval, as their tools declare; empty if they declare nothing. A preview that
    /// cannot be made has a note instead; the approval can be decided without it.
    ///
    /// # Errors
    /// `not_found`; `permission_denied` for callers who may not decide on approvals; errors of storage.
    pub async fn preview(
        &self,
        caller: &Caller,
        approval: &ApprovalId,
    ) -> Result<ApprovalPreview, EngineError> {
        caller.must_open(AccessScope::ApprovalsWrite)?;
        caller.must_be(
            Role::Operator,
            "only operators can preview the calls of approvals",
        )?;
        let approval = self.parts.approvals.get(caller, approval).await?.approval;
        if approval.state != ApprovalStatus::Pending {
            let state = approval.state.word();
            return Ok(ApprovalPreview {
                effect: unknown(format!("the approval is already {state}")),
                calls: Vec::new(),
            });
        }
        if !approval.list.is_empty() {
            return self.preview_list(caller, &approval.list).await;
        }
        let mut budget = PreviewBudget::new(2 * PATIENCE);
        let effect = self.effect(caller, &approval.call, &mut budget).await?;
        Ok(ApprovalPreview {
            effect,
            calls: Vec::new(),
        })
    }

    /// Previews the calls of a list one after the other, as many as the bounds permit.
    async fn preview_list(
        &self,
        caller: &Caller,
        list: &[ExactCall],
    ) -> Result<ApprovalPreview, EngineError> {
        let declares = |call: &ExactCall| !matches!(self.declared(caller, call), Ok(None));
        if !list.iter().any(declares) {
            return Ok(ApprovalPreview::default());
        }
        let mut budget = PreviewBudget::new(LIST_PATIENCE);
        let mut calls = Vec::new();
        for call in list.iter().take(PREVIEW_CALLS) {
            if budget.time_left().is_zero() {
                break;
            }
            let mut effect = self.effect(caller, call, &mut budget).await?;
            if effect == WriteEffect::default() {
                effect = unknown(format!("`{}` declares no preview", call.tool));
            }
            calls.push(CallPreview {
                step: call.step.clone(),
                effect,
            });
        }
        let effect = match list.len() - calls.len() {
            0 => WriteEffect::default(),
            left => unknown(format!(
                "{left} of {} calls have no preview: the limits are {PREVIEW_CALLS} calls (PREVIEW_CALLS) and \
                 {PREVIEW_LIST_WAIT_MS} ms (PREVIEW_LIST_WAIT_MS)",
                list.len()
            )),
        };
        Ok(ApprovalPreview { effect, calls })
    }

    /// Previews one write, as its tool declares; empty if it declares nothing.
    async fn effect(
        &self,
        caller: &Caller,
        write: &ExactCall,
        budget: &mut PreviewBudget,
    ) -> Result<WriteEffect, EngineError> {
        let preview = match self.declared(caller, write) {
            Ok(Some(declared)) => declared,
            Ok(None) => return Ok(WriteEffect::default()),
            Err(note) => return Ok(unknown(note)),
        };
        let call = match &preview.tool {
            None => PreviewCall {
                tool: write.tool.clone(),
                values: write.parameters.clone(),
                dry_run: DryRun::Yes,
            },
            Some(twin) => match self.readonly_call(caller, twin, write) {
                Ok(call) => call,
                Err(note) => return Ok(unknown(note)),
            },
        };
        let mut shown = WriteEffect::default();
        let result = self.call(caller, call, &mut shown, budget).await?;
        let (before, after) = states(result);
        (shown.before, shown.after) = (before, after);
        if let Some(present) = &preview.present {
            match self.readonly_call(caller, present, write) {
                Ok(call) => shown.before = self.call(caller, call, &mut shown, budget).await?,
                Err(note) => shown.note = Some(note),
            }
        }
        Ok(shown)
    }

    /// Returns the preview that a write's tool declares, if any, or the reason why it cannot be made.
    fn declared(&self, caller: &Caller, write: &ExactCall) -> Result<Option<ToolPreview>, String> {
        let id = &write.tool;
        let found = self.parts.documents.resolve_tool(caller, id.as_str());
        let found = found.map_err(|_unseen| format!("`{id}` is not in the catalogue any more"))?;
        if found.content_hash() != write.tool_hash {
            return Err(format!("`{id}` was registered again since the run began"));
        }
        Ok(found.document().preview.clone())
    }

    /// Builds the call of a readonly tool with those arguments of the write that it declares.
    fn readonly_call(
        &self,
        caller: &Caller,
        id: &ToolId,
        write: &ExactCall,
    ) -> Result<PreviewCall, String> {
        let found = self.parts.documents.resolve_tool(caller, id.as_str());
        let found = found.map_err(|_unseen| format!("there is no tool `{id}`"))?;
        let tool = found.document();
        if tool.tool_class != ToolClass::Readonly {
            return Err(format!("`{id}` is {}, and not readonly", tool.tool_class));
        }
        let declares = |name: &str| tool.parameters().iter().any(|p| p.name.as_ref() == name);
        let given = write.parameters.iter();
        let given = given.filter(|(name, _)| declares(name));
        Ok(PreviewCall {
            tool: tool.tool_id.clone(),
            values: given
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            dry_run: DryRun::No,
        })
    }

    /// Makes a call and returns its result. If it has none, notes the reason.
    async fn call(
        &self,
        caller: &Caller,
        call: PreviewCall,
        shown: &mut WriteEffect,
        budget: &mut PreviewBudget,
    ) -> Result<Option<Value>, EngineError> {
        let tool = call.tool.clone();
        let plan = SubmittedPlan::Call {
            plan: PlanId::from_uuid(self.parts.ids.uuid()),
            tool: call.tool,
            values: call.values,
            timeout_ms: None,
        };
        let runs = PreviewRuns {
            starts: Arc::clone(&self.parts.starts),
            views: Arc::clone(&self.parts.views),
            management: Arc::clone(&self.parts.management),
            background: self.parts.background.clone(),
        };
        let ended = match runs.call(caller, plan, call.dry_run, budget.until).await? {
            PreviewEnd::Ended(run) => run,
            PreviewEnd::Refused(refused) => {
                shown.note = Some(format!("`{tool}` was not called: {refused}"));
                return Ok(None);
            }
        };
        shown.run_ids.push(ended.summary.run_id.clone());
        match result_of(&ended) {
            Ok(result) => {
                let memory = memory_of(&result);
                if memory > budget.memory.min(PREVIEW_MEMORY) {
                    shown.note = Some(format!("the result of `{tool}` is too large to show"));
                    return Ok(None);
                }
                budget.memory -= memory;
                Ok(Some(result))
            }
            Err(reason) => {
                shown.note = Some(format!("`{tool}` has no result: {reason}"));
                Ok(None)
            }
        }
    }
}

fn unknown(note: String) -> WriteEffect {
    WriteEffect {
        note: Some(note),
        ..WriteEffect::default()
    }
}

/// The output of a run of one step, or why there is none.
fn result_of(run: &RunView) -> Result<Value, String> {
    match &run.state.outcome {
        Some(RunOutcome::Completed { .. }) => {}
        Some(
            RunOutcome::Failed { cause }
            | RunOutcome::RolledBack { cause }
            | RunOutcome::RollbackFailed { cause, .. },
        ) => {
            return Err(match cause {
                StopCause::Failure { failure, .. } => failure.message.clone(),
                StopCause::Aborted { reason, .. } => reason.clone(),
                StopCause::TimedOut => "it exceeded its time limit".to_owned(),
                StopCause::TokenBudgetExhausted => "the token budget is used up".to_owned(),
            });
        }
        None => return Err("it waits for a person, or still works".to_owned()),
    }
    let mut outputs = run.events.iter().filter_map(|entry| {
        if let RunEvent::StepSucceeded { output, .. } = &entry.event {
            Some(output.clone())
        } else {
            None
        }
    });
    outputs
        .next_back()
        .ok_or_else(|| "it was skipped".to_owned())
}

/// Divides a result into the present state and the state after: its fields `before` and `after`, or with names that end
/// so. Without both, the whole is the state after.
fn states(result: Option<Value>) -> (Option<Value>, Option<Value>) {
    let Some(result) = result else {
        return (None, None);
    };
    let part = |word: &str| {
        let fields = result.as_object()?;
        let mut named = fields.iter().filter(|(name, _)| {
            let rest = name.strip_suffix(word);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
        });
        match (fields.get(word), named.next(), named.next()) {
            (Some(value), ..) => Some(value.clone()),
            (None, Some((_, value)), None) => Some(value.clone()),
            (None, ..) => None,
        }
    };
    match (part("before"), part("after")) {
        (Some(before), Some(after)) => (Some(before), Some(after)),
        _ => (None, Some(result)),
    }
}

#[cfg(test)]
mod tests;
