//! Previews of writes that wait for an approval: the present state beside the state after. Each call of a preview is a
//! run of one readonly or dry step in the name of the person who looks, so the gate, the journal and evidence apply.
//! Must not know HTTP.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::bounds::{PREVIEW_MEMORY, PREVIEW_WAIT_MS};
use charter_contract::catalogue::tool::{ToolClass, ToolPreview};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{ApprovalId, PlanId, RunId, ToolId};
use charter_contract::json::memory_of;
use charter_domain::approval::{Approval, ApprovalStatus};
use charter_domain::run::{RunEvent, RunOutcome, StopCause};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::catalogue::documents::DocumentService;
use crate::execution::runs::{
    ApprovalService, RollBack, RunManagementService, RunView, RunViewService,
};
use crate::execution::starts::{RunStartService, SubmittedPlan};
use crate::ground::ids::IdSource;
use crate::{AccessScope, Caller, DryRun, EngineError, Role};

/// How long one call of a preview may take.
const PATIENCE: Duration = Duration::from_millis(PREVIEW_WAIT_MS as u64);

/// The effect of a write: the present state and the state after.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ApprovalPreview {
    /// The present state of the target; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The state after the write; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// Why a state is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The runs that made the preview.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub run_ids: Vec<RunId>,
}

/// The services that previews are made with.
pub(crate) struct PreviewParts {
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

    /// Previews the call of a pending approval, as its tool declares; empty if it declares nothing. A preview that cannot
    /// be made has a note instead; the approval can be decided without it.
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
            return Ok(unknown(format!("the approval is already {state}")));
        }
        let preview = match self.declared(caller, &approval) {
            Ok(Some(declared)) => declared,
            Ok(None) => return Ok(ApprovalPreview::default()),
            Err(note) => return Ok(unknown(note)),
        };
        if !approval.list.is_empty() {
            return Ok(unknown(
                "an approval of several calls has no preview".to_owned(),
            ));
        }
        let mut shown = ApprovalPreview::default();
        let effect = match &preview.tool {
            None => PreviewCall {
                tool: approval.call.tool.clone(),
                values: approval.call.parameters.clone(),
                dry_run: DryRun::Yes,
            },
            Some(twin) => match self.readonly_call(caller, twin, &approval) {
                Ok(call) => call,
                Err(note) => return Ok(unknown(note)),
            },
        };
        let result = self.call(caller, effect, &mut shown).await?;
        let (before, after) = states(result);
        (shown.before, shown.after) = (before, after);
        if let Some(present) = &preview.present {
            match self.readonly_call(caller, present, &approval) {
                Ok(call) => shown.before = self.call(caller, call, &mut shown).await?,
                Err(note) => shown.note = Some(note),
            }
        }
        Ok(shown)
    }

    /// Returns the preview that the write's tool declares, if any, or the reason why it cannot be made.
    fn declared(
        &self,
        caller: &Caller,
        approval: &Approval,
    ) -> Result<Option<ToolPreview>, String> {
        let id = &approval.call.tool;
        let found = self.parts.documents.resolve_tool(caller, id.as_str());
        let found = found.map_err(|_unseen| format!("`{id}` is not in the catalogue any more"))?;
        if found.content_hash() != approval.call.tool_hash {
            return Err(format!("`{id}` was registered again since the run began"));
        }
        Ok(found.document().preview.clone())
    }

    /// Builds the call of a readonly tool with those arguments of the write that it declares.
    fn readonly_call(
        &self,
        caller: &Caller,
        id: &ToolId,
        approval: &Approval,
    ) -> Result<PreviewCall, String> {
        let found = self.parts.documents.resolve_tool(caller, id.as_str());
        let found = found.map_err(|_unseen| format!("there is no tool `{id}`"))?;
        let tool = found.document();
        if tool.tool_class != ToolClass::Readonly {
            return Err(format!("`{id}` is {}, and not readonly", tool.tool_class));
        }
        let declares = |name: &str| tool.parameters().iter().any(|p| p.name.as_ref() == name);
        let given = approval.call.parameters.iter();
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
        shown: &mut ApprovalPreview,
    ) -> Result<Option<Value>, EngineError> {
        let tool = call.tool.clone();
        let plan = SubmittedPlan::Call {
            plan: PlanId::from_uuid(self.parts.ids.uuid()),
            tool: call.tool,
            values: call.values,
            timeout_ms: None,
        };
        let starts = &self.parts.starts;
        let started = starts.start_plan(caller, &plan, Map::new(), call.dry_run, None);
        let run = match started.await {
            Ok(started) => started.run().summary.run_id,
            Err(refused) => {
                shown.note = Some(format!("`{tool}` was not called: {refused}"));
                return Ok(None);
            }
        };
        shown.run_ids.push(run.clone());
        let mut ended = self.parts.views.wait(caller, &run, PATIENCE).await?;
        if ended.state.outcome.is_none() {
            let reason = "the preview did not end by itself".to_owned();
            let abort = self
                .parts
                .management
                .abort(caller, &run, reason, RollBack::No);
            ended = match abort.await {
                // It ended in between.
                Err(error) if error.code == ErrorCode::IllegalTransition => {
                    self.parts.views.show(caller, &run).await?
                }
                aborted => aborted?,
            };
        }
        match result_of(&ended) {
            Ok(result) if memory_of(&result) > PREVIEW_MEMORY => {
                shown.note = Some(format!("the result of `{tool}` is too large to show"));
                Ok(None)
            }
            Ok(result) => Ok(Some(result)),
            Err(reason) => {
                shown.note = Some(format!("`{tool}` has no result: {reason}"));
                Ok(None)
            }
        }
    }
}

fn unknown(note: String) -> ApprovalPreview {
    ApprovalPreview {
        note: Some(note),
        ..ApprovalPreview::default()
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
    let outputs = run.events.iter().filter_map(|entry| {
        if let RunEvent::StepSucceeded { output, .. } = &entry.event {
            Some(output.clone())
        } else {
            None
        }
    });
    outputs.last().ok_or_else(|| "it was skipped".to_owned())
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
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_is_divided_into_both_states_or_is_the_state_after() {
        let both = json!({"rules_before": [1], "rules_after": [], "group": "a"});
        assert_eq!(states(Some(both)), (Some(json!([1])), Some(json!([]))));
        let exact = json!({"before": 1, "after": 2, "x_after": 3, "y_after": 4});
        assert_eq!(states(Some(exact)), (Some(json!(1)), Some(json!(2))));
        for whole in [
            json!({"after": 2}),
            json!([1]),
            json!({"a_before": 1, "b_before": 2, "after": 3}),
        ] {
            assert_eq!(states(Some(whole.clone())), (None, Some(whole)));
        }
        assert_eq!(states(None), (None, None));
    }
}
