//! The requested outputs of a mission (002 §4.2) against what it produced: what was asked for and not produced is a
//! coverage gap. The aggregation states what is lacking by then, the review the rest.

use std::collections::BTreeSet;

use charter_contract::catalogue::vocabulary::Severity;
use charter_contract::mission::aggregation_packet::AggregationPacket;
use charter_contract::mission::envelope::MissionEnvelope;
use charter_contract::mission::review_packet::{ReviewIssue, ReviewPacket, ReviewStatus};
use charter_contract::mission::{ArtifactKind, RequestedOutput};
use charter_contract::text::Text;
use charter_domain::mission::{StageOutput, artifact_of, gap_of, requested_outputs};
use charter_domain::run::Run;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::desk::MissionContext;

/// A gap in the coverage of a mission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CoverageGap")]
pub struct CoverageGapView {
    /// The part that is not covered.
    pub description: String,
    /// The tasks, sources or requested outputs that it is about.
    pub refs: Vec<String>,
}

/// Returns the requested outputs that a mission lacks when its results are combined, and that no later stage makes.
pub(super) fn lacking(desk: &MissionContext) -> Vec<RequestedOutput> {
    let inventory = desk.inventory();
    let requested = requested_outputs(&desk.envelope.requested_outputs).into_iter();
    let lacking = requested.filter(|output| match output {
        RequestedOutput::ReviewedSummary
        | RequestedOutput::AggregationPacket
        | RequestedOutput::ReviewPacket => false,
        RequestedOutput::WritebackProposal => desk.kind.write_backs.is_empty(),
        RequestedOutput::MissionTaskGraph
        | RequestedOutput::PromptPackage
        | RequestedOutput::ResearchArtifact
        | RequestedOutput::LibrarianPass
        | RequestedOutput::WorkerResult
        | RequestedOutput::PolicyDecision => {
            artifact_of(*output).is_some_and(|kind| !inventory.has(kind))
        }
    });
    lacking.collect()
}

/// Returns the issues of a review for the requested outputs that it should have made and did not.
pub(super) fn issues_of_review(
    desk: &MissionContext,
    packet: &ReviewPacket,
    proposals: usize,
) -> Vec<ReviewIssue> {
    let requested = requested_outputs(&desk.envelope.requested_outputs).into_iter();
    let missing = requested.filter(|output| match output {
        RequestedOutput::ReviewedSummary => !has_summary(packet),
        // Without write-backs the aggregation has stated it.
        RequestedOutput::WritebackProposal => proposals == 0 && !desk.kind.write_backs.is_empty(),
        RequestedOutput::MissionTaskGraph
        | RequestedOutput::PromptPackage
        | RequestedOutput::ResearchArtifact
        | RequestedOutput::LibrarianPass
        | RequestedOutput::WorkerResult
        | RequestedOutput::AggregationPacket
        | RequestedOutput::ReviewPacket
        | RequestedOutput::PolicyDecision => false,
    });
    let issues = missing.filter_map(|output| {
        let message = format!("coverage_gap: {}", gap_of(output));
        Some(ReviewIssue {
            severity: Severity::Medium,
            message: Text::parse(&message).ok()?,
        })
    });
    issues.collect()
}

/// Returns whether a review approved a summary.
fn has_summary(packet: &ReviewPacket) -> bool {
    let output = packet.approved_output.as_ref();
    let summary = output.and_then(|output| output.get("summary")?.as_str());
    packet.review_status != ReviewStatus::Rejected
        && summary.is_some_and(|summary| !summary.trim().is_empty())
}

/// Returns the gaps of a mission: those of its aggregation, and once it is reviewed or over, the requested outputs that
/// it did not produce.
pub(super) fn coverage_gaps(run: &Run, envelope: &MissionEnvelope) -> Vec<CoverageGapView> {
    let outputs: Vec<StageOutput> = run
        .outputs()
        .values()
        .filter_map(StageOutput::read)
        .collect();
    let packet: Option<AggregationPacket> = outputs.iter().find_map(StageOutput::first);
    let review: Option<ReviewPacket> = outputs.iter().find_map(StageOutput::first);
    let remarks = packet.iter().flat_map(|packet| &packet.coverage_gaps);
    let mut gaps: Vec<CoverageGapView> = remarks
        .map(|remark| CoverageGapView {
            description: remark.description.to_string(),
            refs: remark.refs.iter().map(ToString::to_string).collect(),
        })
        .collect();
    if review.is_none() && run.outcome().is_none() {
        return gaps;
    }
    let kinds = kinds_of(&outputs);
    for output in requested_outputs(&envelope.requested_outputs) {
        let is_produced = match artifact_of(output) {
            Some(kind) => kinds.contains(&kind),
            None => review.as_ref().is_some_and(has_summary),
        };
        let gap = CoverageGapView {
            description: gap_of(output),
            refs: vec![output.to_string()],
        };
        if !is_produced && !gaps.contains(&gap) {
            gaps.push(gap);
        }
    }
    gaps
}

/// Returns the kinds of artifacts of these stages.
fn kinds_of(outputs: &[StageOutput]) -> BTreeSet<ArtifactKind> {
    let artifacts = outputs.iter().flat_map(|output| &output.artifacts);
    let names =
        artifacts.filter_map(|artifact| artifact.get("schema_name").and_then(Value::as_str));
    names.filter_map(|name| name.parse().ok()).collect()
}
