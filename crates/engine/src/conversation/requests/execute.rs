//! The runs of a request: created once, and found again when the request is resumed.

use charter_contract::catalogue::tags::Flow;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{PlaybookId, RunId, SkillId, TenantId};
use charter_domain::run::{Run, RunOutcome, RunPrerequisites, StopCause};
use serde_json::json;
use tracing::{Instrument, Span};

use super::ActiveRequest;
use super::analyse::SkillAnalysis;
use super::change::StartedChange;
use super::classification::{Classification, change_text};
use super::exclusions::unheeded;
use super::parameters::{EarlierValues, ParameterTarget};
use super::run_ids::run_id;
use super::run_service::RequestRunService;
use crate::execution::runs::{NewRun, Progress, ProgressEvent};
use crate::ground::telemetry;
use crate::{DryRun, EngineError};

impl RequestRunService {
    /// Runs a skill, in its agent's span.
    pub(super) async fn run_skill(
        &self,
        asked: &ActiveRequest,
        classified: &Classification,
        skill: &SkillId,
        run_id: &RunId,
        progress: &Progress,
    ) -> Result<SkillAnalysis, EngineError> {
        let span = self.agent_span(&asked.caller.tenant, skill.as_ref());
        let found = self.run_skill_steps(asked, classified, skill, run_id, progress);
        record_failure(&span, found.instrument(span.clone()).await)
    }

    /// Returns the span of a skill's or playbook's owner.
    fn agent_span(&self, tenant: &TenantId, capability: &str) -> Span {
        let view = self.catalogue.live().view(tenant);
        let owner = view.owner_of(capability);
        let owner = owner.as_ref().map(|owner| &owner.document().agent_id);
        telemetry::agent(owner, capability, tenant)
    }

    async fn run_skill_steps(
        &self,
        asked: &ActiveRequest,
        classified: &Classification,
        skill: &SkillId,
        run_id: &RunId,
        progress: &Progress,
    ) -> Result<SkillAnalysis, EngineError> {
        let tenant = &asked.caller.tenant;
        let known = self.store.run(tenant, run_id).await?;
        let (new, unheeded) = match known {
            None => {
                let earlier = classified.earlier_values(skill.as_ref());
                let made = self.new_run(asked, earlier, skill, run_id.clone());
                let (new, unheeded) = made.await?;
                let tags = self.answer_guard.tags_for(asked, classified.flow)?;
                let new = NewRun { tags, ..new };
                let new = self.with_analysis(asked, classified, skill, new)?;
                (Some(new), unheeded)
            }
            Some(_) => (None, Vec::new()),
        };
        progress.send(ProgressEvent::SkillStarted {
            skill: skill.to_string(),
            run_id: run_id.to_string(),
        });
        let waiting = self.runs.wait(tenant, run_id, new, progress.clone());
        let driven = waiting.await?;
        succeeded(&driven.run)?;
        let mut analysed = self.analyse(driven).await?;
        analysed.warnings.extend(unheeded);
        progress.send(ProgressEvent::Analysed {
            skill: skill.to_string(),
            findings: analysed.findings.len(),
            evidence: analysed.evidence.len(),
        });
        Ok(analysed)
    }

    /// Starts the playbook's run, or finds it, and drives it as far as possible without a person.
    pub(super) async fn run_playbook(
        &self,
        asked: &ActiveRequest,
        classified: &Classification,
        playbook: &PlaybookId,
        progress: &Progress,
    ) -> Result<StartedChange, EngineError> {
        let span = self.agent_span(&asked.caller.tenant, playbook.as_ref());
        let shown = self.start_playbook_run(asked, classified, playbook, progress);
        record_failure(&span, shown.instrument(span.clone()).await)
    }

    async fn start_playbook_run(
        &self,
        asked: &ActiveRequest,
        classified: &Classification,
        playbook: &PlaybookId,
        progress: &Progress,
    ) -> Result<StartedChange, EngineError> {
        let tenant = &asked.caller.tenant;
        let run_id = run_id(asked, playbook.as_ref());
        let mut new = None;
        let mut notices = Vec::new();
        if self.store.run(tenant, &run_id).await?.is_none() {
            let document = self.run_starts.runnable_playbook(&asked.caller, playbook)?;
            self.run_starts
                .check_definitions(&asked.caller, playbook)
                .await?;
            let declared = document.document().declared_parameters();
            let text = change_text(asked, classified);
            let target = ParameterTarget {
                id: playbook.as_ref(),
                description: document.document().name.as_str(),
                declared: &declared,
                text: &text,
            };
            let earlier = classified.earlier_values(playbook.as_ref());
            let gathered = self.parameters.gather(asked, target, earlier).await?;
            let tokens = gathered.tokens;
            notices = gathered.notices;
            let bound = &gathered.bound;
            let words: Vec<&str> = bound
                .unread
                .iter()
                .chain(&bound.disregarded)
                .map(String::as_str)
                .collect();
            if !words.is_empty() {
                notices.push(format!("no parameter accepts `{}`", words.join("`, `")));
            }
            let dry_run = DryRun::from(asked.wishes.dry_run || classified.dry_run);
            let (caller, bound) = (&asked.caller, gathered.bound);
            let mut made = self.run_starts.playbook_run_with(
                caller,
                playbook,
                bound,
                dry_run,
                run_id.clone(),
            )?;
            // A playbook chosen from words is shown before it changes anything, even if its document would not require
            // that.
            let is_from_words = asked.wishes.playbook_id.is_none() || asked.wishes.confirm;
            made.opening.confirm |= is_from_words && !made.dry_run;
            made.opening.tokens = tokens;
            let tags = self.answer_guard.tags_for(asked, Flow::Write)?;
            new = Some(NewRun { tags, ..made });
        }
        let waiting = self.runs.wait(tenant, &run_id, new, progress.clone());
        let driven = waiting.await?;
        let workspace = &driven.pinned.workspace;
        let warnings = self.run_views.foreseen_warnings(&driven.run, workspace);
        let foreseen = warnings.await;
        let mut run = self.run_views.show(&asked.caller, &run_id).await?;
        run.notes.extend(notices);
        Ok(StartedChange { run, foreseen })
    }

    /// Compiles a skill's plan, collects its parameters and pins its documents. Also returns the words of the request
    /// that the run ignores.
    async fn new_run(
        &self,
        asked: &ActiveRequest,
        earlier: Option<EarlierValues<'_>>,
        skill: &SkillId,
        run_id: RunId,
    ) -> Result<(NewRun, Vec<String>), EngineError> {
        let planned = self.run_starts.planned_skill(&asked.caller, skill)?;
        let target = ParameterTarget {
            id: skill.as_ref(),
            description: planned.found.document().description.as_str(),
            declared: &planned.parameters,
            text: asked.request.input.as_str(),
        };
        let gathered = self.parameters.gather(asked, target, earlier).await?;
        let tokens = gathered.tokens;
        let bound = gathered.complete(skill.as_ref())?;
        let unheeded = unheeded(planned.found.document(), &bound.disregarded);
        let new = NewRun {
            run_id,
            tenant: asked.caller.tenant.clone(),
            by: asked.caller.user.clone(),
            askers: asked.caller.makers.clone(),
            owner: asked.caller.user.clone(),
            role: asked.caller.role,
            title: format!("skill {skill}"),
            graph: planned.graph,
            parameters: bound.values,
            pins: planned.pins,
            dry_run: false,
            opening: RunPrerequisites {
                sources: bound.sources,
                tokens,
                ..RunPrerequisites::default()
            },
            tags: self.answer_guard.tags_for(asked, Flow::Skill)?,
            artifacts: Vec::new(),
        };
        Ok((new, unheeded))
    }
}

/// Records a failure on the span and returns the result unchanged.
fn record_failure<T>(span: &Span, result: Result<T, EngineError>) -> Result<T, EngineError> {
    if let Err(error) = &result {
        telemetry::failed(span, error);
    }
    result
}

fn succeeded(run: &Run) -> Result<(), EngineError> {
    match run.outcome() {
        Some(RunOutcome::Completed { .. }) => Ok(()),
        Some(
            RunOutcome::Failed { cause }
            | RunOutcome::RolledBack { cause }
            | RunOutcome::RollbackFailed { cause, .. },
        ) => Err(stopped(run, cause)),
        None => {
            let message = "the run waits for a person to approve a call";
            let details = json!({"run_id": run.id(), "status": run.status()});
            Err(EngineError::new(ErrorCode::ApprovalRequired, message).with_details(details))
        }
    }
}

fn stopped(run: &Run, cause: &StopCause) -> EngineError {
    match cause {
        StopCause::Failure { step, failure } => {
            let code = failure.code.parse().unwrap_or(ErrorCode::ToolFailed);
            let details = json!({"step": step, "error_type": failure.kind, "run_id": run.id()});
            let error = EngineError::new(code, failure.message.clone()).with_details(details);
            match &failure.account {
                Some(account) => error.lacking(account),
                None => error,
            }
        }
        StopCause::Aborted { reason, .. } => EngineError::new(
            ErrorCode::Cancelled,
            format!("the run was cancelled: {reason}"),
        ),
        StopCause::TimedOut => EngineError::new(ErrorCode::ToolTimeout, "run timed out"),
        StopCause::TokenBudgetExhausted => {
            EngineError::new(ErrorCode::Cancelled, "the run's token budget is used up")
        }
    }
}
