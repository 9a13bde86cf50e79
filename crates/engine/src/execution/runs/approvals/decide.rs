//! People's decisions on approvals.

use std::sync::Arc;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{ApprovalId, Label, RunId};
use charter_domain::approval::{
    Approval, ApprovalAnswer, ApprovalVerdict, DecisionRefusal, Digest, ReportedResult,
};
use charter_domain::clock::Clock;
use charter_domain::graph::StepAction;
use charter_effects::check_against;
use charter_store::approval::{ApprovalFilter, ApprovalState, ListedApproval};
use charter_store::page::PageRequest;
use charter_store::{SharedStore, StoreError};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::Notify;

use super::confirmations::{PendingConfirmation, pending_confirmations};
use super::{CHANGES, RunApprovals, conflict, moved_from, read};
use crate::execution::events;
use crate::execution::events::ApprovalEventRef;
use crate::execution::evidence::EvidenceService;
use crate::execution::outputs::admit;
use crate::execution::runs::RunService;
use crate::execution::runs::journal::JournalService;
use crate::execution::runs::pinned::PinnedDocumentService;
use crate::ground::core_ports::CorePorts;
use crate::ground::error::newest_known;
use crate::ground::moments::Deadlines;
use crate::{AccessScope, Caller, EngineError, Role};

/// A person's decision on an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalDecision {
    /// The answer.
    pub answer: ApprovalAnswer,
    /// The digest of the content that the person saw.
    pub digest: String,
    /// The reason.
    pub reason: Option<String>,
}

/// An approval with the title of its run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ApprovalEntry {
    /// The approval.
    #[serde(flatten)]
    pub approval: Approval,
    /// The title of the run that waits for it.
    pub run_title: String,
    /// Whether the caller may approve it now: the caller decides on approvals, did not request it if four eyes are
    /// required, and is in a group whose turn has come if there are groups.
    pub can_approve: bool,
    /// The group of approvers whose turn it is; absent if every approver may decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<Label>,
}

/// One page of approvals.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ApprovalPage")]
pub struct ApprovalPage {
    /// Newest first.
    pub entries: Vec<ApprovalEntry>,
    /// Plans that wait for a confirmation, newest first: on the first page, unless only approvals of another state than
    /// `pending` are listed. At most 1000.
    pub confirmations: Vec<PendingConfirmation>,
    /// Cursor to the next page.
    pub next: Option<String>,
}

impl Caller {
    /// Returns whether the caller may agree to an approval, in any of its states. The caller must decide on approvals
    /// and, if four eyes are required, must not have requested it (ruling 33).
    #[must_use]
    pub fn can_approve(&self, approval: &Approval) -> bool {
        self.rights().decides() && approval.can_approve(&self.person())
    }
}

/// The services that approvals are decided with.
pub(crate) struct ApprovalParts {
    /// Wakes the readers of events.
    pub(crate) news: Arc<Notify>,
    pub(crate) deadlines: Arc<Deadlines>,
    pub(crate) journals: Arc<JournalService>,
    pub(crate) pinned: Arc<PinnedDocumentService>,
    pub(crate) approvals: Arc<RunApprovals>,
    pub(crate) evidence: Arc<EvidenceService>,
    pub(crate) runs: Arc<RunService>,
}

/// The approvals that people decide on.
pub struct ApprovalService {
    pub(super) store: SharedStore,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) parts: ApprovalParts,
}

impl std::fmt::Debug for ApprovalService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApprovalService").finish_non_exhaustive()
    }
}

impl ApprovalService {
    pub(crate) fn new(ports: CorePorts, parts: ApprovalParts) -> Self {
        Self {
            store: ports.store,
            clock: ports.clock,
            parts,
        }
    }

    /// Returns an approval of the caller's tenant.
    ///
    /// # Errors
    /// `not_found`, also for another tenant's.
    pub async fn get(
        &self,
        caller: &Caller,
        approval: &ApprovalId,
    ) -> Result<ApprovalEntry, EngineError> {
        let found = self.store.approval(&caller.tenant, approval).await?;
        match found.filter(|found| caller.sees(found.user_id.as_ref())) {
            Some(found) => self.entry(caller, found),
            None => Err(self.no_approval(caller, approval).await?),
        }
    }

    /// Lists the approvals of the caller's tenant, newest first, optionally of one state or run. Confirmations that wait
    /// are listed with the pending approvals.
    ///
    /// # Errors
    /// `invalid_request` for a state that does not exist; errors of storage.
    pub async fn list(
        &self,
        caller: &Caller,
        state: Option<&str>,
        run: Option<&RunId>,
        page: &PageRequest,
    ) -> Result<ApprovalPage, EngineError> {
        let state = state.map(|word| {
            ApprovalState::parse(word).ok_or_else(|| {
                let words: Vec<&str> = ApprovalState::WORDS.iter().map(|(_, word)| *word).collect();
                let message = format!(
                    "unknown approval state `{word}`; known states: {}",
                    words.join(", ")
                );
                EngineError::new(ErrorCode::InvalidRequest, message)
            })
        });
        let filter = ApprovalFilter {
            state: state.transpose()?,
            run_id: run,
            user_id: caller.only_own(),
        };
        let is_pending = matches!(filter.state, None | Some(ApprovalState::Pending));
        let confirmations = match is_pending && page.after.is_none() {
            true => pending_confirmations(&self.store, caller, run).await?,
            false => Vec::new(),
        };
        let page = self.store.approvals(&caller.tenant, filter, page).await?;
        let entries = page
            .entries
            .into_iter()
            .map(|found| self.entry(caller, found));
        Ok(ApprovalPage {
            entries: entries.collect::<Result<_, _>>()?,
            confirmations,
            next: page.next,
        })
    }

    /// Decides on an approval; of several concurrent decisions exactly one counts, and leaves an `approval_record`. The
    /// run continues.
    ///
    /// # Errors
    /// `not_found`; `permission_denied` for callers who may only ask, and for the requester if another person must
    /// decide; `illegal_transition` if it was decided or lapsed before, and for a reported result of a call that never
    /// began; `version_conflict` if the caller saw other content; `invalid_request` for a choice of calls that the list
    /// does not allow; `invalid_document` for an output that the tool could
    /// not have returned.
    pub async fn decide(
        &self,
        caller: &Caller,
        approval: &ApprovalId,
        say: ApprovalDecision,
    ) -> Result<Approval, EngineError> {
        caller.must_open(AccessScope::ApprovalsWrite)?;
        caller.must_be(Role::Operator, "only operators can decide on approvals")?;
        let verdict = ApprovalVerdict {
            answer: say.answer,
            by: caller.person(),
            digest: Digest::claimed(&say.digest),
            reason: say.reason,
        };
        for _ in 0..CHANGES {
            if let Some(decided) = self.try_decide(caller, approval, &verdict).await? {
                self.parts.news.notify_waiters();
                let (tenant, run) = (caller.tenant.clone(), decided.call.run_id.clone());
                self.parts.runs.resume(tenant, run);
                return Ok(decided);
            }
        }
        Err(conflict())
    }

    /// Records a decision on an approval as it is stored now; `None` if it was changed in between.
    async fn try_decide(
        &self,
        caller: &Caller,
        approval: &ApprovalId,
        verdict: &ApprovalVerdict,
    ) -> Result<Option<Approval>, EngineError> {
        let found = self
            .parts
            .approvals
            .listed(&caller.tenant, approval)
            .await?;
        let asked = read(&found.record)?;
        let now = self.parts.deadlines.now_or_deadline(asked.expires_at);
        let state = asked.decide(verdict.clone(), now);
        let state = state.map_err(|refusal| refused(&refusal))?;
        let word = match &verdict.answer {
            ApprovalAnswer::Approve | ApprovalAnswer::ApproveListed(_) => "approved",
            ApprovalAnswer::Reject => "rejected",
            ApprovalAnswer::Happened(reported) => {
                self.check_reported(&asked, reported).await?;
                "reported"
            }
        };
        let change = moved_from(found.record.body, &asked, state.clone())?;
        let said = ApprovalEventRef {
            approval_id: approval.clone(),
            run_id: asked.call.run_id.clone(),
        };
        let owner = found.user_id.as_ref();
        let told = events::about_approval(&caller.tenant, owner, &said, word, self.clock.now());
        let record = self.parts.evidence.of_decision(&asked, &state)?;
        let records = record.into_iter().collect();
        let decided = self
            .store
            .decide_approval(&caller.tenant, change, records, vec![told]);
        match decided.await {
            Ok(()) => Ok(Some(Approval { state, ..asked })),
            Err(StoreError::Refused { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn entry(&self, caller: &Caller, found: ListedApproval) -> Result<ApprovalEntry, EngineError> {
        let approval = read(&found.record)?;
        let now = self.clock.now();
        let is_in_turn = approval.escalation.admits(&caller.user, now);
        Ok(ApprovalEntry {
            can_approve: is_in_turn && caller.can_approve(&approval),
            group: approval.escalation.group(now).cloned(),
            approval,
            run_title: found.run_title,
        })
    }

    /// Checks whether the tool could have returned the output that a person reports.
    async fn check_reported(
        &self,
        asked: &Approval,
        reported: &ReportedResult,
    ) -> Result<(), EngineError> {
        // The output is unknown.
        if reported.output.is_null() {
            return Ok(());
        }
        admit(&reported.output).map_err(|much| {
            let message = format!("the output of `{}` {much}", asked.call.tool);
            EngineError::new(ErrorCode::InvalidDocument, message)
        })?;
        let (tenant, run) = (&asked.tenant_id, &asked.call.run_id);
        let run = self.parts.journals.fold(tenant, run).await?.run;
        let step = run.graph().step(&asked.call.step);
        // A playbook's own script declares no output.
        let is_tools = step.is_some_and(
            |step| matches!(&step.action, StepAction::Call { script, .. } if script.is_none()),
        );
        let pinned = self.parts.pinned.load(tenant, &run).await?;
        let tool = pinned.workspace.tools.get(&asked.call.tool);
        let declared = tool.and_then(|tool| tool.entry.document.output_schema.as_ref());
        let Some(schema) = declared.filter(|_| is_tools) else {
            return Ok(());
        };
        let (_, violations) = check_against(schema, reported.output.clone()).await;
        if violations.is_empty() {
            return Ok(());
        }
        let what = format!("the output of `{}`", asked.call.tool);
        Err(EngineError::violations(&what, &violations))
    }

    /// The error for an approval that the caller does not see, which lists the newest that it sees.
    async fn no_approval(
        &self,
        caller: &Caller,
        approval: &ApprovalId,
    ) -> Result<EngineError, EngineError> {
        let filter = ApprovalFilter {
            state: None,
            run_id: None,
            user_id: caller.only_own(),
        };
        let page = newest_known();
        let seen = self.store.approvals(&caller.tenant, filter, &page).await?;
        let ids = seen
            .entries
            .iter()
            .map(|seen| seen.record.approval_id.as_str());
        Ok(EngineError::not_found("approval", approval).knowing(ids))
    }
}

pub(super) fn refused(refusal: &DecisionRefusal) -> EngineError {
    let code = match refusal {
        DecisionRefusal::Decided(_) | DecisionRefusal::NotBegun => ErrorCode::IllegalTransition,
        DecisionRefusal::Expired(_) => ErrorCode::ApprovalExpired,
        DecisionRefusal::Changed { .. } => ErrorCode::VersionConflict,
        DecisionRefusal::OwnRequest(_) | DecisionRefusal::NotInTurn { .. } => {
            ErrorCode::PermissionDenied
        }
        DecisionRefusal::NotListed(_)
        | DecisionRefusal::NothingLeft
        | DecisionRefusal::Count(_) => ErrorCode::InvalidRequest,
    };
    EngineError::new(code, refusal.to_string())
}
