//! References between artifacts: collects them, and checks that their targets exist.

use charter_contract::mission::Artifact;
use charter_contract::mission::worker_result::{Citation, CitationKind};
use charter_contract::validate::nearest;
use charter_contract::violation::{Report, Stage, Violation};

use super::inventory::{Inventory, Sides};

/// Returns every reference whose target must exist, with its JSON pointer. References of contradictions and gaps may be
/// arbitrary, and are excluded.
pub(super) fn references_in(artifact: &Artifact) -> impl Iterator<Item = (String, &str)> {
    let mut found = Vec::new();
    match artifact {
        Artifact::WorkerResult(result) => {
            for (at, citation) in result.citations.iter().enumerate() {
                found.push((format!("/citations/{at}/ref"), citation.reference.as_str()));
            }
            for (at, call) in result.tool_trace_refs.iter().enumerate() {
                found.push((format!("/tool_trace_refs/{at}"), call.as_str()));
            }
        }
        Artifact::AggregationPacket(packet) => {
            for (row, claim) in packet.evidence_matrix.iter().enumerate() {
                for (at, support) in claim.support_refs.iter().enumerate() {
                    let pointer = format!("/evidence_matrix/{row}/support_refs/{at}");
                    found.push((pointer, support.as_str()));
                }
            }
        }
        Artifact::MissionEnvelope(_)
        | Artifact::MissionTaskGraph(_)
        | Artifact::PromptPackage(_)
        | Artifact::ResearchArtifact(_)
        | Artifact::LibrarianPass(_)
        | Artifact::ReviewPacket(_)
        | Artifact::PolicyDecision(_)
        | Artifact::WritebackProposal(_) => {}
    }
    found.into_iter()
}

/// Checks that the target of each reference exists (B002-6, B002-10).
pub(super) fn check(inventory: &Inventory, artifact: &Artifact, report: &mut Report) {
    for (pointer, reference) in references_in(artifact) {
        if report.is_full() {
            return;
        }
        if inventory.sides(reference).is_none() {
            report.push(Violation {
                stage: Stage::Consistency,
                pointer,
                keyword: "reference".to_owned(),
                message: format!("`{reference}` does not exist in the mission"),
                suggestion: nearest(reference, inventory.names()),
            });
        }
    }
}

/// Checks that a source is on the side that its citation claims. A citation without a target is reported elsewhere.
pub(super) fn check_kinds(inventory: &Inventory, citations: &[Citation], report: &mut Report) {
    for (at, citation) in citations.iter().enumerate() {
        let Some(Sides { inside, outside }) = inventory.sides(citation.reference.as_str()) else {
            continue;
        };
        let (fits, other) = match citation.kind {
            CitationKind::Internal => (inside, CitationKind::External),
            CitationKind::External => (outside, CitationKind::Internal),
        };
        if !fits {
            report.push(Violation {
                stage: Stage::Consistency,
                pointer: format!("/citations/{at}/kind"),
                keyword: "citation_kind".to_owned(),
                message: format!("`{}` is not {}", citation.reference, citation.kind),
                suggestion: Some(format!("it is `{other}`")),
            });
        }
    }
}
