//! Puts the results of skills into words: first a model's, if the skills name a route that the tenant has; then
//! templates and summaries; and outlines for a skill without rules.

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::tags::Flow;
use charter_contract::catalogue::tool::analysis_tool_id;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{RunId, SkillId, TenantId};
use charter_domain::answer::AnalysisResult;
use charter_domain::graph::{from_analysis, with_analysis};
use charter_domain::run::{Run, RunOutcome, RunPrerequisites, TokenUsage};
use serde_json::{Map, json};

use super::ActiveRequest;
use super::analyse::{SkillAnalysis, SkillResult};
use super::classification::Classification;
use super::parameters::ParameterView;
use super::run_ids::run_id;
use super::run_service::RequestRunService;
use crate::EngineError;
use crate::conversation::analysis::{Drafting, route_of};
use crate::execution::findings::unproven;
use crate::execution::runs::{AnalysisOrder, NewRun, Progress, pin};

/// Name of the run of a joint analysis among the runs of its request. No document has such an id.
const ANALYSIS: &str = "charter/analysis";

/// The results of a request's skills, in words.
#[derive(Debug)]
pub(super) struct ReadAnswer {
    /// In the order of the verdict.
    pub(super) results: Vec<SkillResult>,
    /// The model's contribution.
    pub(super) analysis: Option<ModelAnalysis>,
    /// Why a model that could be asked contributed nothing.
    pub(super) notice: Option<String>,
}

/// A model's contribution to an answer.
#[derive(Debug)]
pub(super) struct ModelAnalysis {
    pub(super) run: RunId,
    pub(super) result: AnalysisResult,
    pub(super) tokens: TokenUsage,
    /// The skills whose results the model received.
    pub(super) skills: Vec<SkillId>,
}

/// Derives the run of a joint analysis of a request's skills; it exists only if there was one.
pub(crate) fn analysis_run_id(asked: &ActiveRequest) -> RunId {
    run_id(asked, ANALYSIS)
}

impl RequestRunService {
    /// Adds the analysis step to a new run of a request's only skill, if the skill names a route that the tenant has.
    pub(super) fn with_analysis(
        &self,
        asked: &ActiveRequest,
        classified: &Classification,
        skill: &SkillId,
        new: NewRun,
    ) -> Result<NewRun, EngineError> {
        if classified.skills.len() != 1 {
            return Ok(new);
        }
        let tenant = &asked.caller.tenant;
        let view = self.catalogue.live().view(tenant);
        let found = view.skill(skill.as_ref());
        let Some(found) = found.filter(|found| self.is_analysed(tenant, found.document())) else {
            return Ok(new);
        };
        let arguments =
            AnalysisOrder::new(asked.request.input.to_string(), asked.tier(), Vec::new())
                .arguments()?;
        let graph = with_analysis(new.graph, arguments).map_err(|error| {
            let message = format!("the plan of `{}`: {error}", found.document().skill_id);
            EngineError::new(ErrorCode::InvalidDocument, message)
        })?;
        let mut pins = new.pins;
        pins.push(self.analysis_pin(tenant)?);
        Ok(NewRun { graph, pins, ..new })
    }

    fn is_analysed(&self, tenant: &TenantId, skill: &Skill) -> bool {
        self.analyses.analysis_model(tenant, skill).is_some()
    }

    /// Returns the pin of the tool that represents the analysis.
    fn analysis_pin(
        &self,
        tenant: &TenantId,
    ) -> Result<charter_domain::run::DocumentPin, EngineError> {
        let (view, tool) = (self.catalogue.live().view(tenant), analysis_tool_id());
        let found = view.tool(tool.as_ref());
        let found = found.ok_or_else(|| EngineError::not_found("tool", &tool))?;
        Ok(pin(DocumentKind::Tool, tool.as_ref(), &found.entry))
    }

    /// Puts the results of skills into words.
    ///
    /// # Errors
    /// `approval_required` while the analysis needs an approval; `overloaded`, `unavailable` and the like.
    pub(super) async fn put_into_words(
        &self,
        asked: &ActiveRequest,
        mut results: Vec<SkillResult>,
        progress: &Progress,
    ) -> Result<ReadAnswer, EngineError> {
        let drafting = match results.as_mut_slice() {
            [alone] => alone_drafted(alone),
            several => self.drafted_together(asked, several, progress).await?,
        };
        let (analysis, notice) = match drafting {
            None => (None, None),
            Some((Drafting::Failed(why), _)) => (None, Some(without_model(&why))),
            Some((
                Drafting::Done {
                    run,
                    result,
                    tokens,
                },
                skills,
            )) => {
                let notice = notice_of(&result);
                let analysis = ModelAnalysis {
                    run,
                    result: *result,
                    tokens,
                    skills,
                };
                (Some(analysis), notice)
            }
        };
        let tenant = &asked.caller.tenant;
        for result in &mut results {
            if let Ok(analysed) = &mut result.outcome {
                let drafted = analysis
                    .as_ref()
                    .filter(|analysis| analysis.is_about(analysed));
                let drafted = drafted.map(|analysis| &analysis.result);
                self.word(tenant, analysed, drafted).await?;
            }
        }
        Ok(ReadAnswer {
            results,
            analysis,
            notice,
        })
    }

    /// Renders the findings of a skill and summarises them.
    async fn word(
        &self,
        tenant: &TenantId,
        analysed: &mut SkillAnalysis,
        drafted: Option<&AnalysisResult>,
    ) -> Result<(), EngineError> {
        let SkillAnalysis {
            skill,
            tags,
            findings,
            warnings,
            ..
        } = analysed;
        if let Some(drafted) = drafted.filter(|_| !skill.has_rules()) {
            warnings.extend(unproven(&drafted.findings));
            findings.extend(drafted.findings.iter().cloned());
        }
        warnings.extend(
            self.findings
                .render(tenant, tags, skill, findings, None, drafted)
                .await?,
        );
        let parameters = ParameterView::values(&analysed.parameters);
        analysed.summary = self
            .findings
            .summarise(tenant, skill, &parameters, findings, warnings)
            .await?;
        Ok(())
    }

    /// Analyses the results of several skills together: of those with the same route as the first that names one. The
    /// model does not get the results of the others.
    async fn drafted_together(
        &self,
        asked: &ActiveRequest,
        results: &[SkillResult],
        progress: &Progress,
    ) -> Result<Option<(Drafting, Vec<SkillId>)>, EngineError> {
        let tenant = &asked.caller.tenant;
        let done = results.iter().filter_map(|result| {
            let analysed = result.outcome.as_ref().ok()?;
            Some((result, analysed))
        });
        let named: Vec<_> = done
            .filter(|(_, analysed)| self.is_analysed(tenant, &analysed.skill))
            .collect();
        let Some((_, first)) = named.first() else {
            return Ok(None);
        };
        let route = route_of(&first.skill);
        let shown: Vec<_> = named
            .iter()
            .filter(|(_, analysed)| route_of(&analysed.skill) == route)
            .collect();
        let id = analysis_run_id(asked);
        let new = match self.store.run(tenant, &id).await? {
            Some(_) => None,
            None => {
                let runs = shown.iter().map(|(result, _)| result.run_id.clone());
                let order = AnalysisOrder::new(
                    asked.request.input.to_string(),
                    asked.tier(),
                    runs.collect(),
                );
                let skills = shown.iter().map(|(_, analysed)| *analysed);
                Some(self.new_analysis(asked, &order, skills, id.clone())?)
            }
        };
        let driven = self.runs.wait(tenant, &id, new, progress.clone()).await?;
        let skills = shown.iter().map(|(result, _)| result.skill.clone());
        let skills = skills.collect();
        Ok(ended(&driven.run)?.map(|drafting| (drafting, skills)))
    }

    /// Builds a separate run for the analysis of the results of several skills.
    fn new_analysis<'a>(
        &self,
        asked: &ActiveRequest,
        order: &AnalysisOrder,
        skills: impl Iterator<Item = &'a SkillAnalysis>,
        run_id: RunId,
    ) -> Result<NewRun, EngineError> {
        let caller = &asked.caller;
        let graph = from_analysis(asked.id(), order.arguments()?)
            .map_err(|error| EngineError::internal("planning an analysis", error))?;
        let mut pins: Vec<_> = skills.filter_map(|analysed| analysed.pin.clone()).collect();
        pins.push(self.analysis_pin(&caller.tenant)?);
        Ok(NewRun {
            run_id,
            tenant: caller.tenant.clone(),
            by: caller.user.clone(),
            askers: caller.makers.clone(),
            owner: caller.user.clone(),
            role: caller.role,
            tags: self.answer_guard.tags_for(asked, Flow::ReadBroad)?,
            title: format!("analysis of {}", asked.id()),
            graph,
            parameters: Map::new(),
            pins,
            dry_run: false,
            opening: RunPrerequisites::default(),
            artifacts: Vec::new(),
        })
    }
}

impl ModelAnalysis {
    fn is_about(&self, analysed: &SkillAnalysis) -> bool {
        self.skills.contains(&analysed.skill.skill_id)
    }
}

/// Returns the analysis of the only skill, which is a step of its run.
fn alone_drafted(result: &mut SkillResult) -> Option<(Drafting, Vec<SkillId>)> {
    let analysed = result.outcome.as_mut().ok()?;
    let drafting = analysed.drafted.take()?;
    Some((drafting, vec![analysed.skill.skill_id.clone()]))
}

/// Returns the outcome of an analysis run. A stopped run is a failed analysis.
///
/// # Errors
/// `approval_required` while it waits for a person.
fn ended(run: &Run) -> Result<Option<Drafting>, EngineError> {
    match run.outcome() {
        Some(RunOutcome::Completed { .. }) => Ok(Drafting::from_run(run)),
        Some(
            RunOutcome::Failed { .. }
            | RunOutcome::RolledBack { .. }
            | RunOutcome::RollbackFailed { .. },
        ) => Ok(Some(Drafting::Failed("its run was stopped".to_owned()))),
        None => {
            let message = "the analysis waits for a person to approve it";
            let details = json!({"run_id": run.id(), "status": run.status()});
            Err(EngineError::new(ErrorCode::ApprovalRequired, message).with_details(details))
        }
    }
}

fn without_model(why: &str) -> String {
    format!("the analysis by a model failed; this is the answer without it: {why}")
}

/// Returns a notice if no part of the model's text was usable.
fn notice_of(result: &AnalysisResult) -> Option<String> {
    let dropped = result.dropped.total();
    let is_idle = result.is_empty() && dropped > 0;
    is_idle.then(|| {
        without_model(&format!(
            "no sentence of the model is supported by its citations ({dropped} parts were dropped)"
        ))
    })
}
