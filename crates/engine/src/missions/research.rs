//! The researcher's stage: results of the web, the lenses and the catalogue on a question. By default asks no model. A
//! tool searches the web like any other call, if the task's scope allows it.

use charter_contract::ids::{Label, ResearchArtifactId, ToolId};
use charter_contract::mission::MissionSchemaVersion;
use charter_contract::mission::research_artifact::{ResearchArtifact, ResearchResult};
use charter_contract::number::Confidence;
use charter_contract::text::{HttpUrl, Text};
use charter_domain::mission::RequestedCall;
use charter_domain::run::StepFailure;
use serde_json::{Value, json};

use super::MissionStageService;
use super::failures::unfit;
use super::stage::{StageExecution, WorkerTurn, artifacts_of, held};
use crate::execution::runs::{StageFailure, StageResult};
use crate::identity::caller::Tier;
use crate::knowledge::lenses::LensFilter;

/// The tool that searches the web.
const WEB_SEARCH: &str = "charter.web.search";
/// Maximum results of each source.
const RESULTS: usize = 10;

impl MissionStageService {
    pub(super) async fn research(
        &self,
        work: &StageExecution,
        turn: &WorkerTurn,
    ) -> Result<StageResult, StageFailure> {
        let query = turn.task.objective.as_str();
        if turn.number == 1 && turn.may_call() {
            let wanted = searches(&turn.package.tool_scope, query);
            if !wanted.is_empty() {
                return self.calls_of(work, turn, wanted).await;
            }
        }
        let results = self.results_found(work, turn).await?;
        let artifact = self.research_artifact(work, turn, results)?;
        Ok(artifacts_of(held(artifact)?))
    }

    /// Returns the results of the searches so far, and of the lenses.
    pub(super) async fn results_found(
        &self,
        work: &StageExecution,
        turn: &WorkerTurn,
    ) -> Result<Vec<ResearchResult>, StageFailure> {
        let mut results = self.found_on_the_web(turn);
        let query = turn.task.objective.as_str();
        results.extend(self.found_in_lenses(work, query).await?);
        Ok(results)
    }

    /// Builds the artifact of a task's research.
    pub(super) fn research_artifact(
        &self,
        work: &StageExecution,
        turn: &WorkerTurn,
        results: Vec<ResearchResult>,
    ) -> Result<ResearchArtifact, StepFailure> {
        let searched = !turn.made.is_empty();
        let desk = &work.desk;
        let id = ResearchArtifactId::parse(&format!("res.{}", turn.task.task_id));
        let label = |text: &str| Label::parse(text).map_err(|error| unfit(error.to_string()));
        Ok(ResearchArtifact {
            schema_name: Default::default(),
            schema_version: MissionSchemaVersion::default(),
            mission_id: desk.envelope.mission_id.clone(),
            tenant_id: Some(desk.envelope.tenant_id.clone()),
            actor_id: Some(desk.envelope.actor_id.clone()),
            task_id: turn.task.task_id.clone(),
            artifact_id: id.map_err(|error| unfit(error.to_string()))?,
            provider: label(if searched { "web" } else { "lenses" })?,
            query: turn.task.objective.clone(),
            results,
            created_at: self.clock.now(),
            producer: label("researcher_agent")?,
        })
    }

    /// Converts the answers of the web searches, in the form that the tool declares.
    fn found_on_the_web(&self, turn: &WorkerTurn) -> Vec<ResearchResult> {
        let answers = turn
            .made
            .iter()
            .filter_map(|made| made.came_to.as_ref().ok());
        let lists = answers.filter_map(|answer| answer.get("results")?.as_array());
        let found = lists.flatten().filter_map(|hit| self.result_of(hit));
        found.take(RESULTS).collect()
    }

    fn result_of(&self, hit: &Value) -> Option<ResearchResult> {
        let of = |name: &str| hit.get(name).and_then(Value::as_str);
        Some(ResearchResult {
            title: Text::parse(of("title")?).ok()?,
            url: HttpUrl::parse(of("url")?).ok()?,
            snippet: of("snippet").unwrap_or_default().to_owned(),
            source_type: Label::parse("web").ok()?,
            retrieved_at: self.clock.now(),
            confidence: Confidence::new(0.5)?,
        })
    }

    /// Returns passages of lenses that the caller may read and that come from the web: a research result has a link.
    async fn found_in_lenses(
        &self,
        work: &StageExecution,
        query: &str,
    ) -> Result<Vec<ResearchResult>, StageFailure> {
        if work.caller.tier < Tier::Advanced {
            return Ok(Vec::new());
        }
        let families = work.desk.kind.resource_families.values();
        let lens_ids: Vec<_> = families.flat_map(|family| family.lenses.clone()).collect();
        if lens_ids.is_empty() {
            return Ok(Vec::new());
        }
        let filter = LensFilter {
            lens_ids,
            top_k: Some(RESULTS),
            ..LensFilter::default()
        };
        let answer = self.lenses.ask_lenses(&work.caller, query, &filter).await?;
        let found = answer.passages.into_iter().filter_map(|passage| {
            Some(ResearchResult {
                title: Text::parse(&passage.title).ok()?,
                url: HttpUrl::parse(passage.source.reference.as_str()).ok()?,
                snippet: passage.text,
                source_type: Label::parse("lens").ok()?,
                retrieved_at: self.clock.now(),
                confidence: Confidence::new(f64::from(passage.score.clamp(0.0, 1.0)))?,
            })
        });
        Ok(found.collect())
    }
}

/// Returns one search of the web, if the scope has its tool.
fn searches(scope: &[ToolId], query: &str) -> Vec<RequestedCall> {
    let tool = scope.iter().find(|tool| tool.as_str() == WEB_SEARCH);
    let parameters = json!({"query": query, "count": RESULTS});
    let wanted = tool.map(|tool| RequestedCall {
        tool: tool.clone(),
        parameters: parameters.as_object().cloned().unwrap_or_default(),
    });
    wanted.into_iter().collect()
}
