//! The reviewer's stage: one review, with its edits applied, and its proposed write-backs. A proposal changes nothing:
//! each becomes a separate step, which policy or a person must allow.

use charter_contract::catalogue::mission_type::{TargetRead, WriteBack, WriteBackAction};
use charter_contract::catalogue::stage::Stage;
use charter_contract::ids::{Label, PacketId, PolicyDecisionId, ProposalId, ToolId};
use charter_contract::mission::MissionSchemaVersion;
use charter_contract::mission::aggregation_packet::AggregationPacket;
use charter_contract::mission::policy_decision::{Decision, PolicyDecision};
use charter_contract::mission::prompt_package::PromptPackage;
use charter_contract::mission::review_packet::{ReviewPacket, ReviewStatus};
use charter_contract::mission::task_graph::Role;
use charter_contract::mission::writeback_proposal::WritebackProposal;
use charter_contract::text::{ShortText, Text};
use charter_domain::mission::admit::WRITEBACK;
use charter_domain::mission::{ProposedWriteBack, RequestedCall, StageOutput, after_review};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::MissionStageService;
use super::aggregate::shown;
use super::ask::RoleQuestion;
use super::draft::{ProposalDraft, ReviewDraft, schema};
use super::failures::unfit;
use super::fill::fill;
use super::outputs::issues_of_review;
use super::stage::{FinishedTask, StageExecution, held};
use super::work::admissible;
use crate::execution::asking::DeclaredPart;
use crate::execution::runs::{StageFailure, StageResult};
use crate::ground::questions::Effort;

/// A proposal with the calls that carry it out.
pub(super) type MadeProposal = (WritebackProposal, ProposedWriteBack);

/// A review with its proposals.
pub(super) struct ReviewResult {
    pub(super) packet: ReviewPacket,
    pub(super) proposals: Vec<MadeProposal>,
}

impl MissionStageService {
    pub(super) async fn review(
        &self,
        work: &StageExecution,
        package: &PromptPackage,
        packet: &AggregationPacket,
        results: &[FinishedTask],
        cancel: &CancellationToken,
    ) -> Result<StageResult, StageFailure> {
        let asking = RoleQuestion {
            role: Role::Reviewer,
            route: &package.model_route,
            system: package.system_prompt.as_str(),
            task: package.task_prompt.as_str(),
            context: context(work, packet, results),
            wanted: schema::review(&work.desk.kind.write_backs),
        };
        let made = |draft: ReviewDraft| self.reviewed(work, draft);
        let declared = |reviewed: &ReviewResult| payloads(work, reviewed);
        let drafted = self.drafted(work, asking, made, declared, cancel).await?;
        let result = self.review_result(work, drafted.made).await;
        let mut result = result.map_err(|failed| StageFailure {
            tokens: drafted.tokens,
            ..failed
        })?;
        result.output.model = Some(drafted.model);
        result.tokens = drafted.tokens;
        Ok(result)
    }

    /// Returns the result of a review: the packet, its proposals with the decisions on them, and their steps.
    pub(super) async fn review_result(
        &self,
        work: &StageExecution,
        reviewed: ReviewResult,
    ) -> Result<StageResult, StageFailure> {
        let ReviewResult { packet, proposals } = reviewed;
        let mut artifacts = vec![held(packet)?];
        let mut changes = Vec::with_capacity(proposals.len());
        for (mut proposal, mut proposed) in proposals {
            if !proposal.requires_approval {
                let place = self
                    .questions
                    .slot_for(&work.caller.tenant, Effort::Long)
                    .await;
                let decision = place.ask(|| self.may_write_back(work, &proposal, &proposed))?;
                // A proposal that no policy allows needs a person's approval.
                proposal.requires_approval = decision.decision != Decision::Allow;
                proposed.approved_by_person = proposal.requires_approval;
                artifacts.push(held(decision)?);
            }
            artifacts.push(held(proposal)?);
            changes.push(proposed);
        }
        let growth = after_review(&changes).map_err(|error| unfit(error.to_string()))?;
        let mut called = Vec::new();
        for change in &changes {
            called.push(RequestedCall {
                tool: change.tool.clone(),
                parameters: Map::new(),
            });
            called.extend(change.target.clone());
        }
        let tools = self.tools_of(work, &called).await?;
        Ok(StageResult {
            output: StageOutput {
                artifacts,
                ..StageOutput::default()
            },
            growth,
            tools,
            ..StageResult::default()
        })
    }

    /// Builds the review of a draft, admitted together with its proposals.
    fn reviewed(
        &self,
        work: &StageExecution,
        draft: ReviewDraft,
    ) -> Result<ReviewResult, Vec<String>> {
        let desk = &work.desk;
        let said = |error: charter_contract::ids::IdError| vec![error.to_string()];
        let packet = ReviewPacket {
            schema_name: Default::default(),
            schema_version: MissionSchemaVersion::default(),
            mission_id: desk.envelope.mission_id.clone(),
            tenant_id: Some(desk.envelope.tenant_id.clone()),
            actor_id: Some(desk.envelope.actor_id.clone()),
            packet_id: PacketId::parse("rev").map_err(said)?,
            review_status: draft.review_status,
            issues: draft.issues,
            required_edits: draft.required_edits,
            approved_output: draft.approved_output,
            created_at: self.clock.now(),
            producer: desk.producer(Role::Reviewer),
        };
        let producer = desk.producer(Role::Reviewer);
        let drafts = (1..).zip(draft.proposals).map(|(at, draft): (usize, _)| {
            let id = ProposalId::parse(&format!("wb.{at}")).map_err(said)?;
            self.proposal(work, id, &producer, draft)
        });
        with_proposals(work, packet, drafts.collect())
    }

    /// Builds a proposal, and the calls that carry it out.
    pub(super) fn proposal(
        &self,
        work: &StageExecution,
        id: ProposalId,
        producer: &Label,
        draft: ProposalDraft,
    ) -> Result<MadeProposal, Vec<String>> {
        let desk = &work.desk;
        let what = format!(
            "`{}` of a `{}`",
            draft.action_type, draft.target_entity_type
        );
        let known = desk
            .kind
            .write_back(&draft.action_type, &draft.target_entity_type);
        let write_back = known.ok_or_else(|| vec![format!("{what} is not offered")])?;
        let proposal = WritebackProposal {
            schema_name: Default::default(),
            schema_version: MissionSchemaVersion::default(),
            mission_id: desk.envelope.mission_id.clone(),
            tenant_id: Some(desk.envelope.tenant_id.clone()),
            actor_id: Some(desk.envelope.actor_id.clone()),
            proposal_id: id,
            target_entity_type: draft.target_entity_type,
            target_entity_id: draft.target_entity_id,
            action_type: draft.action_type,
            payload: draft.payload,
            requires_approval: write_back.requires_approval,
            created_at: self.clock.now(),
            producer: producer.clone(),
        };
        let proposed = carried_out(&proposal, write_back).map_err(|error| vec![error])?;
        Ok((proposal, proposed))
    }

    /// B002-13: a proposal that needs no approval still needs a policy that allows it.
    fn may_write_back(
        &self,
        work: &StageExecution,
        proposal: &WritebackProposal,
        proposed: &ProposedWriteBack,
    ) -> Result<PolicyDecision, charter_domain::run::StepFailure> {
        use charter_domain::policy::PolicyDecision as Said;
        let desk = &work.desk;
        let view = self.catalogue.live().view(&work.caller.tenant);
        let tool = view.tool(proposed.tool.as_ref());
        let tool = tool.ok_or_else(|| unfit(format!("there is no tool `{}`", proposed.tool)))?;
        let policies = self.catalogue.live().policies(&work.caller.tenant);
        let facts = super::scope::facts(work);
        let question = super::scope::question(work, tool.document(), &proposed.parameters, &facts);
        let (decision, reason) = match policies.decide(&question) {
            Said::Allow { by } => {
                let rules: Vec<String> = by.iter().map(ToString::to_string).collect();
                (
                    Decision::Allow,
                    format!("permitted by {}", rules.join(", ")),
                )
            }
            Said::Ungoverned => (
                Decision::Deny,
                "no policy permits it, and it needs no approval".to_owned(),
            ),
            Said::Deny(denial) => (Decision::Deny, denial.to_string()),
        };
        let said = |error: charter_contract::ids::IdError| unfit(error.to_string());
        Ok(PolicyDecision {
            schema_name: Default::default(),
            schema_version: MissionSchemaVersion::default(),
            mission_id: desk.envelope.mission_id.clone(),
            tenant_id: Some(desk.envelope.tenant_id.clone()),
            actor_id: Some(desk.envelope.actor_id.clone()),
            decision_id: PolicyDecisionId::parse(&format!("pol.{}", proposal.proposal_id))
                .map_err(said)?,
            decision_type: Label::parse(WRITEBACK).map_err(said)?,
            subject: ShortText::parse(proposal.action_type.as_str())
                .map_err(|error| unfit(error.to_string()))?,
            decision,
            reason: Text::parse(&reason).map_err(|error| unfit(error.to_string()))?,
            created_at: self.clock.now(),
            producer: Label::parse("policy").map_err(said)?,
        })
    }
}

/// Completes a review with its proposals and its coverage gaps, if the mission admits it.
pub(super) fn with_proposals(
    work: &StageExecution,
    mut packet: ReviewPacket,
    drafts: Vec<Result<MadeProposal, Vec<String>>>,
) -> Result<ReviewResult, Vec<String>> {
    let issues = issues_of_review(&work.desk, &packet, drafts.len());
    packet.issues.extend(issues);
    admissible(work, packet.clone().into())?;
    if packet.review_status == ReviewStatus::Rejected && !drafts.is_empty() {
        return Err(vec!["a rejected review cannot have proposals".to_owned()]);
    }
    let (proposals, wrong): (Vec<_>, Vec<_>) = drafts.into_iter().partition(Result::is_ok);
    let wrong: Vec<String> = wrong
        .into_iter()
        .filter_map(Result::err)
        .flatten()
        .collect();
    match wrong.is_empty() {
        true => Ok(ReviewResult {
            packet,
            proposals: proposals.into_iter().filter_map(Result::ok).collect(),
        }),
        false => Err(wrong),
    }
}

/// Returns the payloads of the proposals whose write-backs have schemas for them.
pub(super) fn payloads(work: &StageExecution, reviewed: &ReviewResult) -> Vec<DeclaredPart> {
    let proposals = reviewed.proposals.iter();
    let declared = proposals.filter_map(|(proposal, _)| {
        let (action, entity) = (&proposal.action_type, &proposal.target_entity_type);
        let write_back = work.desk.kind.write_back(action, entity)?;
        Some(DeclaredPart {
            schema: write_back.payload_schema.clone()?,
            value: Value::Object(proposal.payload.clone()),
            name: format!("the payload of `{action}` of a `{entity}`: "),
        })
    });
    declared.collect()
}

/// Builds the calls that carry a proposal out.
fn carried_out(
    proposal: &WritebackProposal,
    write_back: &WriteBack,
) -> Result<ProposedWriteBack, String> {
    let parameters = fill(&write_back.parameters, proposal)?;
    let (tool, parameters) = match &write_back.by {
        WriteBackAction::Tool(tool) => (tool.clone(), parameters),
        WriteBackAction::Playbook(playbook) => (
            Stage::Playbook.tool_id(),
            object(json!({
                "proposal": proposal.proposal_id, "playbook": playbook, "parameters": parameters,
            })),
        ),
        WriteBackAction::Webhook(url) => (
            Stage::Webhook.tool_id(),
            object(json!({"proposal": proposal.proposal_id, "url": url, "body": parameters})),
        ),
    };
    let look = |TargetRead { tool, parameters }: &TargetRead| {
        let parameters = fill(parameters, proposal)?;
        let tool: ToolId = tool.clone();
        Ok::<_, String>(RequestedCall { tool, parameters })
    };
    Ok(ProposedWriteBack {
        proposal: proposal.proposal_id.clone(),
        tool,
        parameters,
        target: write_back.target.as_ref().map(look).transpose()?,
        approved_by_person: write_back.requires_approval,
    })
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

pub(super) fn context(
    work: &StageExecution,
    packet: &AggregationPacket,
    results: &[FinishedTask],
) -> Value {
    let offered = work.desk.kind.write_backs.iter().map(|known| {
        json!({
            "action_type": known.action_type, "target_entity_type": known.target_entity_type,
            "description": known.description, "payload_schema": known.payload_schema,
        })
    });
    json!({
        "goal": work.desk.envelope.normalized_goal,
        "context_refs": work.desk.envelope.context_refs,
        "requested_outputs": work.desk.envelope.requested_outputs,
        "summary": packet.summary,
        "evidence_matrix": packet.evidence_matrix,
        "contradictions": packet.contradictions,
        "coverage_gaps": packet.coverage_gaps,
        "recommended_output": packet.recommended_output,
        "results": results.iter().flat_map(shown).collect::<Vec<_>>(),
        "write_backs": offered.collect::<Vec<_>>(),
    })
}
