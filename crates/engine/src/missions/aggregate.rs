//! The aggregator's stage: combines the results of the tasks into one draft, with the support of each claim,
//! contradictions and gaps.

use charter_contract::ids::{PacketId, TaskId};
use charter_contract::mission::MissionSchemaVersion;
use charter_contract::mission::aggregation_packet::{AggregationPacket, Remark, SupportedClaim};
use charter_contract::mission::prompt_package::PromptPackage;
use charter_contract::mission::task_graph::Role;
use charter_contract::text::Text;
use charter_domain::mission::StageOutput;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::MissionStageService;
use super::ask::RoleQuestion;
use super::draft::PacketDraft;
use super::draft::schema::{self, Sources};
use super::failures::unfit;
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
        if results.is_empty() {
            let why: Vec<String> = missing
                .iter()
                .map(|(task, why)| format!("`{task}`: {why}"))
                .collect();
            return Err(unfit(format!("no task has a result: {}", why.join("; "))).into());
        }
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

    /// A task without a result is a gap, even if the draft omits it (B002-10).
    fn packet(
        &self,
        work: &StageExecution,
        missing: &[(TaskId, String)],
        draft: PacketDraft,
    ) -> Result<AggregationPacket, Vec<String>> {
        let desk = &work.desk;
        let mut gaps = draft.coverage_gaps;
        for (task, why) in missing {
            let description = format!("The task `{task}` has no result: {why}");
            let refs = Text::parse(task.as_str()).map_err(|error| vec![error.to_string()])?;
            gaps.push(Remark {
                description: Text::parse(&description).map_err(|error| vec![error.to_string()])?,
                refs: vec![refs],
            });
        }
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
            producer: desk.producer("aggregator_agent"),
        };
        admissible(work, packet.clone().into())?;
        Ok(packet)
    }
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

fn context(work: &StageExecution, results: &[FinishedTask], missing: &[(TaskId, String)]) -> Value {
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
