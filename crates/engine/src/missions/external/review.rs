//! Accepts the review of an outside agent, with its proposals. A proposal may ask for an approval that its write-back
//! does not require, and never the reverse.

use std::collections::BTreeSet;

use charter_contract::ids::ProposalId;
use charter_contract::mission::Artifact;
use charter_contract::mission::review_packet::ReviewPacket;
use charter_contract::mission::writeback_proposal::WritebackProposal;
use charter_domain::mission::change_step;
use charter_effects::check_against;

use super::super::MissionStageService;
use super::super::draft::{MAX_PROPOSALS, ProposalDraft};
use super::super::review::{MadeProposal, payloads, with_proposals};
use super::super::stage::StageExecution;
use super::NotAccepted;
use crate::execution::runs::StageResult;

impl MissionStageService {
    pub(super) async fn accepted_review(
        &self,
        work: &StageExecution,
        artifacts: Vec<Artifact>,
    ) -> Result<StageResult, NotAccepted> {
        let (packet, proposals) = parts(artifacts)?;
        let made = proposals.into_iter();
        let made = made.map(|proposal| self.proposal_of_agent(work, proposal));
        let reviewed = with_proposals(work, packet, made.collect())?;
        for part in payloads(work, &reviewed) {
            let (_, violations) = check_against(&part.schema, part.value).await;
            if !violations.is_empty() {
                let wrong = violations.iter();
                let wrong = wrong.map(|violation| format!("{}{violation}", part.name));
                return Err(wrong.collect::<Vec<_>>().into());
            }
        }
        Ok(self.review_result(work, reviewed).await?)
    }

    fn proposal_of_agent(
        &self,
        work: &StageExecution,
        sent: WritebackProposal,
    ) -> Result<MadeProposal, Vec<String>> {
        let draft = ProposalDraft {
            action_type: sent.action_type,
            target_entity_type: sent.target_entity_type,
            target_entity_id: sent.target_entity_id,
            payload: sent.payload,
        };
        let made = self.proposal(work, sent.proposal_id, &sent.producer, draft);
        let (mut proposal, mut proposed) = made?;
        proposal.requires_approval |= sent.requires_approval;
        proposed.approved_by_person = proposal.requires_approval;
        Ok((proposal, proposed))
    }
}

/// Splits a result into its review and its proposals.
fn parts(artifacts: Vec<Artifact>) -> Result<(ReviewPacket, Vec<WritebackProposal>), Vec<String>> {
    let (mut packets, mut proposals) = (Vec::new(), Vec::new());
    for artifact in artifacts {
        match artifact {
            Artifact::ReviewPacket(packet) => packets.push(packet),
            Artifact::WritebackProposal(proposal) => proposals.push(proposal),
            Artifact::MissionEnvelope(_)
            | Artifact::MissionTaskGraph(_)
            | Artifact::PromptPackage(_)
            | Artifact::ResearchArtifact(_)
            | Artifact::LibrarianPass(_)
            | Artifact::WorkerResult(_)
            | Artifact::AggregationPacket(_)
            | Artifact::PolicyDecision(_) => {
                return Err(vec![
                    "a review has a review_packet and proposals".to_owned(),
                ]);
            }
        }
    }
    let [packet] = <[ReviewPacket; 1]>::try_from(packets).map_err(|packets| {
        let found = packets.len();
        vec![format!(
            "a review has one review_packet, but there are {found}"
        )]
    })?;
    if proposals.len() > MAX_PROPOSALS {
        let found = proposals.len();
        return Err(vec![format!(
            "{found} proposals; the limit is {MAX_PROPOSALS}"
        )]);
    }
    let mut ids: BTreeSet<&ProposalId> = BTreeSet::new();
    for proposal in &proposals {
        let id = &proposal.proposal_id;
        if !ids.insert(id) {
            return Err(vec![format!("the proposal `{id}` is duplicated")]);
        }
        if let Err(error) = change_step(id.as_str()) {
            return Err(vec![format!("the proposal `{id}`: {error}")]);
        }
    }
    Ok((packet, proposals))
}
