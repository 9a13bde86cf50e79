//! The Analysis Agent (seed 000, phase 7): a language model puts the results of a request into words.
//!
//! It is a step of a run: the last one of a skill's run, or the only one of a separate run over the results of several.
//! The gate is asked, the step is journaled with its tokens, and folding the journal asks no model. Results are data
//! for the model; hints and guardrails are instructions. The parts of its text that their citations support are kept
//! ([`charter_domain::answer`]). Its failure fails no answer.

mod extract;
mod listening;
mod material;
mod prompt;

use std::sync::Arc;

use charter_contract::catalogue::skill::{AnalysisDuty, AnalysisModel, Skill};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{Label, RunId, TenantId};
use charter_domain::answer::{AnalysisDraft, AnalysisResult, DroppedCounts};
use charter_domain::graph::analysis_step;
use charter_domain::run::{ErrorKind, Run, StepState, TokenUsage};
use charter_effects::{ModelFault, Models};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use self::listening::SentenceReporter;
use self::material::{Case, Material};
use self::prompt::Prompt;
use crate::catalogue::live::CatalogueService;
use crate::execution::asking::{
    DraftFailure, DraftFailureCause, MAX_REPAIRS, ValidatedDraft, drafted,
};
use crate::execution::findings::FindingService;
use crate::execution::runs::{
    AnalysisDone, AnalysisWork, JournalService, PinnedDocumentService, RunEvidenceService,
    StageFailure, failure,
};
use crate::knowledge::lenses::LensService;
use crate::knowledge::memory::MemoryService;

/// The end of an analysis, as the journal of its run has it.
#[derive(Debug, Clone)]
pub(crate) enum Drafting {
    /// The model was asked.
    Done {
        run: RunId,
        result: Box<AnalysisResult>,
        tokens: TokenUsage,
    },
    /// The step failed, was refused or did not start, with the reason.
    Failed(String),
}

impl Drafting {
    /// Returns the end of a run's analysis; `None` for a run without one.
    pub(crate) fn from_run(run: &Run) -> Option<Self> {
        let step = &analysis_step(run.graph())?.id;
        let output = run.outputs().get(step);
        let read = output.map(AnalysisResult::deserialize);
        Some(match (read, run.steps().state_of(step)) {
            (Some(Ok(result)), _) => Self::Done {
                run: run.id().clone(),
                result: Box::new(result),
                tokens: run.tokens().without(run.opening().tokens),
            },
            (Some(Err(error)), _) => Self::Failed(format!("it cannot be read: {error}")),
            (None, Some(StepState::Failed { failure })) => Self::Failed(failure.message.clone()),
            (None, _) => Self::Failed("it was not started".to_owned()),
        })
    }
}

/// The services that analyses are made with.
pub(crate) struct AnalysisParts {
    pub(crate) catalogue: Arc<CatalogueService>,
    pub(crate) lenses: Arc<LensService>,
    pub(crate) memories: Arc<MemoryService>,
    pub(crate) findings: Arc<FindingService>,
    pub(crate) journals: Arc<JournalService>,
    pub(crate) pinned_documents: Arc<PinnedDocumentService>,
    pub(crate) run_evidence: Arc<RunEvidenceService>,
}

/// Analyses the results of runs.
pub(crate) struct AnalysisService {
    models: Arc<dyn Models>,
    catalogue: Arc<CatalogueService>,
    lenses: Arc<LensService>,
    memories: Arc<MemoryService>,
    findings: Arc<FindingService>,
    journals: Arc<JournalService>,
    pinned_documents: Arc<PinnedDocumentService>,
    run_evidence: Arc<RunEvidenceService>,
}

impl AnalysisService {
    pub(crate) fn new(models: Arc<dyn Models>, parts: AnalysisParts) -> Self {
        Self {
            models,
            catalogue: parts.catalogue,
            lenses: parts.lenses,
            memories: parts.memories,
            findings: parts.findings,
            journals: parts.journals,
            pinned_documents: parts.pinned_documents,
            run_evidence: parts.run_evidence,
        }
    }

    /// Returns the model of a skill's analysis, if the tenant has its route.
    pub(crate) fn analysis_model<'s>(
        &self,
        tenant: &TenantId,
        skill: &'s Skill,
    ) -> Option<&'s AnalysisModel> {
        let model = skill.model()?;
        let has_route = self.models.routes(tenant).contains_key(&model.route);
        has_route.then_some(model)
    }

    /// Runs an analysis. A model with a small context window gets less data.
    pub(crate) async fn analyse_results(
        &self,
        work: AnalysisWork,
        cancel: &CancellationToken,
    ) -> Result<AnalysisDone, StageFailure> {
        let cases = self.cases(&work).await?;
        let reference = self.reference_for(&work, &cases).await;
        let mut tokens = TokenUsage::default();
        for extent in prompt::EXTENTS {
            let material = Material::gather(&self.findings, &work, &cases, &reference, extent.data);
            if !material.citable.has_results() {
                return Ok(nothing(tokens));
            }
            let Some(prompt) = Prompt::build(&work, &cases, &material, extent) else {
                return Ok(nothing(tokens));
            };
            match self
                .ask_analyst(&work, &cases, &material, prompt, cancel)
                .await
            {
                Ok(done) => {
                    return Ok(AnalysisDone {
                        tokens: tokens.and(done.tokens),
                        ..done
                    });
                }
                Err(failed) if is_too_long(&failed) => tokens = tokens.and(failed.tokens),
                Err(failed) => {
                    return Err(StageFailure {
                        failure: failed.failure(),
                        tokens: tokens.and(failed.tokens),
                    });
                }
            }
        }
        let message = "even the smallest part of the results is too long for the model";
        Err(StageFailure {
            failure: failure(ErrorKind::ResourceError, ErrorCode::TooLarge, message),
            tokens,
        })
    }

    /// Asks until the citations of a draft support some part of it; the last draft is used as it is.
    async fn ask_analyst(
        &self,
        work: &AnalysisWork,
        cases: &[Case],
        material: &Material,
        prompt: Prompt,
        cancel: &CancellationToken,
    ) -> Result<AnalysisDone, DraftFailure> {
        let listener = SentenceReporter::new(&material.citable, &work.progress);
        let (mut drafts, mut dropped) = (0, DroppedCounts::default());
        let stating = stating(cases).map(|case| &case.skill);
        let make = |draft: AnalysisDraft| {
            drafts += 1;
            let (mut result, wrong) = material.citable.accepted(&draft, stating);
            dropped.include(&result.dropped);
            if result.is_empty() && !wrong.is_empty() && drafts <= MAX_REPAIRS {
                return Err(wrong);
            }
            result.dropped = dropped;
            result.ranking.retain(|id| material.may_be_ranked(id));
            Ok(result)
        };
        let models = &self.models;
        let request = prompt.request;
        let asked = drafted(&**models, request, &listener, make, |_| Vec::new(), cancel);
        let ValidatedDraft {
            made: mut result,
            model,
            tokens,
        } = asked.await?;
        listener.tell_rest(&result.sentences);
        result.model = Some(model);
        Ok(AnalysisDone { result, tokens })
    }
}

/// Returns the case whose findings the model states: the only one, of a skill without rules that permits answers.
fn stating(cases: &[Case]) -> Option<&Case> {
    match cases {
        [case] if !case.skill.has_rules() && case.may(AnalysisDuty::Answer) => Some(case),
        _ => None,
    }
}

fn is_too_long(failed: &DraftFailure) -> bool {
    match &failed.cause {
        DraftFailureCause::Model(found) => found.fault == ModelFault::ContextTooLong,
        DraftFailureCause::Wrong(_) => false,
    }
}

fn nothing(tokens: TokenUsage) -> AnalysisDone {
    AnalysisDone {
        result: AnalysisResult::default(),
        tokens,
    }
}

/// Returns the route that a skill names.
pub(crate) fn route_of(skill: &Skill) -> Option<&Label> {
    skill.model().map(|model| &model.route)
}

#[cfg(test)]
mod tests;
