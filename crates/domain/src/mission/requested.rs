//! The outputs that a mission is asked for (002 §4.2): their names, and which of them a mission lacks.

use std::collections::BTreeSet;

use charter_contract::ids::Label;
use charter_contract::mission::{ArtifactKind, RequestedOutput};
use charter_contract::validate::nearest;

/// Returns the names that are no outputs: the position of each, and a message.
#[must_use]
pub fn unknown_outputs(names: &[Label]) -> Vec<(usize, String)> {
    let known = || RequestedOutput::ALL.iter().map(|known| known.as_str());
    let unknown = names.iter().enumerate().filter_map(|(at, name)| {
        if known().any(|known| known == name.as_str()) {
            return None;
        }
        let hint = nearest(name.as_str(), known()).unwrap_or_else(|| {
            let known: Vec<String> = known().map(|known| format!("`{known}`")).collect();
            format!("use {}", known.join(", "))
        });
        Some((
            at,
            format!("`{name}` is not an output of a mission; {hint}"),
        ))
    });
    unknown.collect()
}

/// Returns the requested outputs. An older mission may have others, which are left out.
#[must_use]
pub fn requested_outputs(names: &[Label]) -> BTreeSet<RequestedOutput> {
    let known = names.iter().filter_map(|name| name.as_str().parse().ok());
    known.collect()
}

/// Returns the kind of artifact that is a requested output; `None` for the summary, which is part of a review.
#[must_use]
pub const fn artifact_of(output: RequestedOutput) -> Option<ArtifactKind> {
    match output {
        RequestedOutput::ReviewedSummary => None,
        RequestedOutput::MissionTaskGraph => Some(ArtifactKind::MissionTaskGraph),
        RequestedOutput::PromptPackage => Some(ArtifactKind::PromptPackage),
        RequestedOutput::ResearchArtifact => Some(ArtifactKind::ResearchArtifact),
        RequestedOutput::LibrarianPass => Some(ArtifactKind::LibrarianPass),
        RequestedOutput::WorkerResult => Some(ArtifactKind::WorkerResult),
        RequestedOutput::AggregationPacket => Some(ArtifactKind::AggregationPacket),
        RequestedOutput::ReviewPacket => Some(ArtifactKind::ReviewPacket),
        RequestedOutput::PolicyDecision => Some(ArtifactKind::PolicyDecision),
        RequestedOutput::WritebackProposal => Some(ArtifactKind::WritebackProposal),
    }
}

/// Describes a requested output that was not produced.
#[must_use]
pub fn gap_of(output: RequestedOutput) -> String {
    format!("The requested output `{output}` was not produced.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(names: &[&str]) -> Vec<Label> {
        let labels = names.iter().map(|name| Label::parse(name).unwrap());
        labels.collect()
    }

    #[test]
    fn unknown_outputs_are_reported_with_the_nearest_name() {
        let names = labels(&["reviewed_summary", "writeback_proposals", "poem"]);
        let found = unknown_outputs(&names);
        let places: Vec<usize> = found.iter().map(|(at, _)| *at).collect();
        assert_eq!(places, [1, 2]);
        assert!(
            found[0].1.contains("`writeback_proposal`"),
            "{}",
            found[0].1
        );
        assert!(found[1].1.contains("`reviewed_summary`"), "{}", found[1].1);
        let known = requested_outputs(&names);
        assert_eq!(known, BTreeSet::from([RequestedOutput::ReviewedSummary]));
    }

    #[test]
    fn every_output_but_the_summary_is_an_artifact_of_its_name() {
        for output in RequestedOutput::ALL {
            let kind = artifact_of(*output).map(ArtifactKind::as_str);
            let expected = (*output != RequestedOutput::ReviewedSummary).then(|| output.as_str());
            assert_eq!(kind, expected);
        }
    }
}
