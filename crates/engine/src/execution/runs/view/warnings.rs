//! Warnings for people who confirm the plan of a run or read its result: those of guardrails, and of results that leave
//! no evidence. The journal has the warnings of past calls; those of future calls are predicted here. Must not know the
//! readers.

use charter_contract::bounds::JSON_MEMORY;
use charter_contract::filling::FillBudget;
use charter_contract::ids::ToolId;
use charter_domain::approval::ExactCall;
use charter_domain::graph::{Step, StepAction};
use charter_domain::run::{Run, StepState};
use serde_json::Map;

use super::{RunView, RunViewService};
use crate::execution::runs::effect::Workspace;
use crate::execution::runs::rule_warnings::{guardrail_warnings, quoted};

/// A future call.
pub(in crate::execution::runs) struct ForeseenCall {
    pub(in crate::execution::runs) call: ExactCall,
    /// Whether all its values are known.
    pub(in crate::execution::runs) is_whole: bool,
}

impl RunView {
    /// Returns the warnings of guardrails about past calls, and those about evidence.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = guardrail_warnings(&self.events);
        warnings.extend(self.unproven.iter().map(without_evidence));
        let faulty = self.evidence.iter().filter_map(|record| {
            let warning = record.warning?;
            Some(format!("evidence {}: {warning}", record.evidence_id))
        });
        warnings.extend(faulty);
        warnings
    }
}

impl Workspace {
    /// Returns the call of a step as far as its values are known. `None` for a step that calls nothing, and for a write
    /// that a dry run leaves out.
    fn foreseen(&self, run: &Run, step: &Step) -> Option<ForeseenCall> {
        let StepAction::Call { arguments, .. } = step.action.each() else {
            return None;
        };
        let called = self.called(step).ok()?;
        let mut filling = FillBudget::with_limit(JSON_MEMORY);
        let given = arguments.resolve(run.bindings_of(step), &mut filling).ok();
        let known = given.map(|given| self.exact(run, step, called, given));
        match known {
            Some(Ok(call)) => call.map(|call| ForeseenCall {
                call,
                is_whole: true,
            }),
            Some(Err(_)) | None if run.is_dry_run() && step.writes() => None,
            Some(Err(_)) | None => Some(ForeseenCall {
                call: ExactCall {
                    run_id: run.id().clone(),
                    step: step.id.clone(),
                    tool: called.tool.entry.document.tool_id.clone(),
                    tool_hash: called.tool.entry.content_hash.clone(),
                    parameters: Map::new(),
                },
                is_whole: false,
            }),
        }
    }
}

impl RunViewService {
    /// Returns the warnings about the remaining steps of a run that has not ended. They come from guardrails on its
    /// calls, as far as values are known, and from tools whose results leave no evidence.
    pub(crate) async fn foreseen_warnings(&self, run: &Run, workspace: &Workspace) -> Vec<String> {
        let mut warnings: Vec<String> = Vec::new();
        if run.outcome().is_some() {
            return warnings;
        }
        let (mut rules, mut unproven) = (Vec::new(), Vec::new());
        let steps = run.graph().steps().iter();
        for step in steps.filter(|step| step.reverses.is_none()) {
            let state = run.steps().state_of(&step.id);
            let Some(foreseen) = workspace.foreseen(run, step).filter(|_| happens(state)) else {
                continue;
            };
            let called = &foreseen.call.tool;
            let Some(tool) = workspace.tools.get(called) else {
                continue;
            };
            let tool = &tool.entry.document;
            if !state.is_some_and(StepState::is_settled) {
                let effort = workspace.effort(called);
                let place = self.questions.slot_for(&workspace.tenant, effort).await;
                rules.extend(place.ask(|| workspace.foreseen_warnings(run, step, tool, &foreseen)));
            }
            let proves_nothing = run.is_dry_run() && step.writes();
            if !(proves_nothing || tool.is_internal() || self.evidence.records.is_shown(tool)) {
                unproven.push(without_evidence(called));
            }
        }
        for warning in rules.iter().map(quoted).chain(unproven) {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        warnings
    }
}

/// Returns whether the call of a step in this state has happened or will.
fn happens(state: Option<&StepState>) -> bool {
    match state {
        Some(
            StepState::Pending
            | StepState::AwaitingApproval { .. }
            | StepState::Running { .. }
            | StepState::Retrying { .. }
            | StepState::Succeeded,
        ) => true,
        Some(StepState::Failed { .. } | StepState::Skipped { .. } | StepState::Cancelled)
        | None => false,
    }
}

fn without_evidence(tool: &ToolId) -> String {
    format!(
        "the result of `{tool}` leaves no evidence: declare `evidence` with a `console` in the tool, or set \
         `a2a.public_url` to an https address"
    )
}
