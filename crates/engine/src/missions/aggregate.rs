//! The aggregator's stage: combines the results of the tasks into one draft, with the support of each claim,
//! contradictions and gaps.

use charter_contract::ids::{PacketId, TaskId};
use charter_contract::mission::MissionSchemaVersion;
use charter_contract::mission::aggregation_packet::{AggregationPacket, Remark, SupportedClaim};
use charter_contract::mission::prompt_package::PromptPackage;
use charter_contract::mission::task_graph::Role;
use charter_contract::text::Text;
use charter_domain::mission::{StageOutput, gap_of};
use charter_domain::run::StepFailure;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::MissionStageService;
use super::ask::RoleQuestion;
use super::draft::PacketDraft;
use super::draft::schema::{self, Sources};
use super::failures::unfit;
use super::outputs;
use super::stage::{FinishedTask, StageExecution, held};
use super::work::admissible;
use crate::execution::runs::{StageFailure, StageResult};

impl MissionStageService {
    pub(super) async fn aggregate(
        &self,
        work: &StageExecution,
        package: &PromptPackage,
        results: &[FinishedTask],
        missing: &[(TaskId, String)],
        cancel: &CancellationToken,
    ) -> Result<StageResult, StageFailure> {
        must_have_results(results, missing)?;
        let context = context(work, results, missing);
        let sources = Sources::in_view(&work.desk.inventory(), &context);
        let context = sources.shown_in(context);
        let asking = RoleQuestion {
            role: Role::Aggregator,
            route: &package.model_route,
            system: package.system_prompt.as_str(),
            task: package.task_prompt.as_str(),
            context,
            wanted: schema::packet(&sources),
        };
        let made = |draft: PacketDraft| self.packet(work, missing, meant(&sources, draft));
        let drafted = self
            .drafted(work, asking, made, |_| Vec::new(), cancel)
            .await?;
        let packet = held(drafted.made).map_err(|failure| StageFailure {
            failure,
            tokens: drafted.tokens,
        })?;
        Ok(StageResult {
            output: StageOutput {
                artifacts: vec![packet],
                model: Some(drafted.model),
                ..StageOutput::default()
            },
            tokens: drafted.tokens,
            ..StageResult::default()
        })
    }

    /// A task without a result is a gap, even if the draft omits it (B002-10); so is a requested output without one.
    fn packet(
        &self,
        work: &StageExecution,
        missing: &[(TaskId, String)],
        draft: PacketDraft,
    ) -> Result<AggregationPacket, Vec<String>> {
        let desk = &work.desk;
        let mut gaps = draft.coverage_gaps;
        gaps.extend(gaps_of(work, missing)?);
        let packet = AggregationPacket {
            schema_name: Default::default(),
            schema_version: MissionSchemaVersion::default(),
            mission_id: desk.envelope.mission_id.clone(),
            tenant_id: Some(desk.envelope.tenant_id.clone()),
            actor_id: Some(desk.envelope.actor_id.clone()),
            packet_id: PacketId::parse("agg").map_err(|error| vec![error.to_string()])?,
            summary: draft.summary,
            evidence_matrix: draft.evidence_matrix,
            contradictions: draft.contradictions,
            coverage_gaps: gaps,
            recommended_output: draft.recommended_output,
            created_at: self.clock.now(),
            producer: desk.producer(Role::Aggregator),
        };
        admissible(work, packet.clone().into())?;
        Ok(packet)
    }
}

/// Refuses an aggregation of nothing.
pub(super) fn must_have_results(
    results: &[FinishedTask],
    missing: &[(TaskId, String)],
) -> Result<(), StepFailure> {
    if !results.is_empty() {
        return Ok(());
    }
    let why = missing.iter().map(|(task, why)| format!("`{task}`: {why}"));
    let why: Vec<String> = why.collect();
    Err(unfit(format!("no task has a result: {}", why.join("; "))))
}

/// Returns the gaps that an aggregation always has: the tasks without results, and the requested outputs that the
/// mission lacks.
pub(super) fn gaps_of(
    work: &StageExecution,
    missing: &[(TaskId, String)],
) -> Result<Vec<Remark>, Vec<String>> {
    let of_tasks = missing.iter().map(|(task, why)| {
        let description = format!("The task `{task}` has no result: {why}");
        (description, task.to_string())
    });
    let of_outputs = outputs::lacking(&work.desk).into_iter();
    let of_outputs = of_outputs.map(|output| (gap_of(output), output.to_string()));
    let text = |text: &str| Text::parse(text).map_err(|error| vec![error.to_string()]);
    let gap = |(description, subject): (String, String)| -> Result<Remark, Vec<String>> {
        Ok(Remark {
            description: text(&description)?,
            refs: vec![text(&subject)?],
        })
    };
    of_tasks.chain(of_outputs).map(gap).collect()
}

/// Replaces the aliases in a draft by the names of the sources.
fn meant(sources: &Sources, draft: PacketDraft) -> PacketDraft {
    let named = |refs: Vec<Text>| refs.into_iter().map(|one| sources.meant(one)).collect();
    let claims = draft.evidence_matrix.into_iter();
    let remarks = |remarks: Vec<Remark>| {
        let remarks = remarks.into_iter().map(|remark| Remark {
            refs: named(remark.refs),
            ..remark
        });
        remarks.collect()
    };
    PacketDraft {
        evidence_matrix: claims
            .map(|claim| SupportedClaim {
                support_refs: named(claim.support_refs),
                ..claim
            })
            .collect(),
        contradictions: remarks(draft.contradictions),
        coverage_gaps: remarks(draft.coverage_gaps),
        ..draft
    }
}

pub(super) fn context(
    work: &StageExecution,
    results: &[FinishedTask],
    missing: &[(TaskId, String)],
) -> Value {
    let results: Vec<Value> = results.iter().flat_map(shown).collect();
    let missing = missing.iter();
    let missing = missing.map(|(task, why)| json!({"task": task, "why": why}));
    json!({
        "goal": work.desk.envelope.normalized_goal,
        "requested_outputs": work.desk.envelope.requested_outputs,
        "results": results,
        "missing": missing.collect::<Vec<_>>(),
    })
}

/// Returns a task's results, with the refs that support claims.
pub(super) fn shown(done: &FinishedTask) -> Vec<Value> {
    let artifacts = done.output.artifacts.iter();
    artifacts
        .map(|artifact| {
            let of = |name: &str| artifact.get(name).cloned().unwrap_or(Value::Null);
            match artifact.get("schema_name").and_then(Value::as_str) {
                Some("research_artifact") => json!({
                    "task": done.task, "ref": of("artifact_id"), "query": of("query"),
                    "results": of("results"),
                }),
                _ => json!({
                    "task": done.task, "ref": of("result_id"), "text": of("output_text"),
                    "structured": of("structured_output"), "citations": of("citations"),
                    "confidence": of("confidence"),
                }),
            }
        })
        .collect()
}
