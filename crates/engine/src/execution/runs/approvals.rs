//! Approvals: the open ones, and people's decisions.

use std::sync::Arc;

use charter_contract::catalogue::playbook::SafetyClass;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{ApprovalId, RunId, TenantId};
use charter_contract::json::{decode_stored, to_stored};
use charter_domain::approval::{
    Approval, ApprovalAnswer, ApprovalStatus, ApprovalVerdict, DecisionRefusal, Digest,
    ReportedResult,
};
use charter_domain::graph::StepAction;
use charter_domain::run::{ApprovalRequest, Run};
use charter_effects::check_against;
use charter_store::StoreError;
use charter_store::approval::{
    ApprovalChange, ApprovalFilter, ApprovalRecord, ApprovalState, ApprovalTransition,
    ListedApproval,
};
use charter_store::page::PageRequest;
use schemars::JsonSchema;
use serde::Serialize;

use super::Workspace;
use crate::execution::events;
use crate::execution::events::ApprovalEventRef;
use crate::execution::outputs::admit;
use crate::ground::error::newest_known;
use crate::{AccessScope, Caller, Engine, EngineError, Role};

/// Approvals read at once.
const PAGE: usize = 1_000;

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
    /// Whether the caller may approve it: the caller decides on approvals and, if four eyes are required, did not
    /// request it.
    pub can_approve: bool,
}

/// One page of approvals.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ApprovalPage")]
pub struct ApprovalPage {
    /// Newest first.
    pub entries: Vec<ApprovalEntry>,
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

impl Engine {
    /// Returns an approval of the caller's tenant.
    ///
    /// # Errors
    /// `not_found`, also for another tenant's.
    pub async fn approval(
        &self,
        caller: &Caller,
        approval: &ApprovalId,
    ) -> Result<ApprovalEntry, EngineError> {
        let found = self.store().approval(&caller.tenant, approval).await?;
        match found.filter(|found| caller.sees(found.user_id.as_ref())) {
            Some(found) => entry(caller, found),
            None => Err(self.no_approval(caller, approval).await?),
        }
    }

    /// Lists the approvals of the caller's tenant, newest first, optionally of one state or run.
    ///
    /// # Errors
    /// `invalid_request` for a state that does not exist; errors of storage.
    pub async fn approvals(
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
        let page = self.store().approvals(&caller.tenant, filter, page).await?;
        let entries = page.entries.into_iter().map(|found| entry(caller, found));
        Ok(ApprovalPage {
            entries: entries.collect::<Result<_, _>>()?,
            next: page.next,
        })
    }

    /// Decides on an approval; of several concurrent decisions exactly one counts. The run continues.
    ///
    /// # Errors
    /// `not_found`; `permission_denied` for callers who may only ask, and for the requester if another person must
    /// decide; `illegal_transition` if it was decided or lapsed before, and for a reported result of a call that never
    /// began; `version_conflict` if the caller saw other content; `invalid_document` for an output that the tool could
    /// not have returned.
    pub async fn decide_approval(
        self: &Arc<Self>,
        caller: &Caller,
        approval: &ApprovalId,
        say: ApprovalDecision,
    ) -> Result<Approval, EngineError> {
        caller.must_open(AccessScope::ApprovalsWrite)?;
        caller.must_be(Role::Operator, "only operators can decide on approvals")?;
        let found = self.listed_approval(&caller.tenant, approval).await?;
        let asked = read(&found.record)?;
        let word = match &say.answer {
            ApprovalAnswer::Approve => "approved",
            ApprovalAnswer::Reject => "rejected",
            ApprovalAnswer::Happened(_) => "reported",
        };
        let reported = match &say.answer {
            ApprovalAnswer::Approve | ApprovalAnswer::Reject => None,
            ApprovalAnswer::Happened(happened) => Some(happened.clone()),
        };
        let verdict = ApprovalVerdict {
            answer: say.answer,
            by: caller.person(),
            digest: Digest::claimed(&say.digest),
            reason: say.reason,
        };
        let state = asked
            .decide(verdict, self.deadlines().now_or_deadline(asked.expires_at))
            .map_err(|refusal| refused(&refusal))?;
        if let Some(reported) = &reported {
            self.check_reported(&asked, reported).await?;
        }
        let change = moved(&asked, state.clone())?;
        let said = ApprovalEventRef {
            approval_id: approval.clone(),
            run_id: asked.call.run_id.clone(),
        };
        let owner = found.user_id.as_ref();
        let told = events::about_approval(&caller.tenant, owner, &said, word, self.now());
        let decided = self
            .store()
            .decide_approval(&caller.tenant, change, vec![told]);
        match decided.await {
            Ok(()) => self.notify_watchers(),
            Err(StoreError::Refused { .. }) => {
                let message = "conflict: another decision on the approval came first";
                return Err(EngineError::new(ErrorCode::IllegalTransition, message));
            }
            Err(error) => return Err(error.into()),
        }
        self.spawn_driver(caller.tenant.clone(), asked.call.run_id.clone());
        Ok(Approval { state, ..asked })
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
        let run = self.fold(&asked.tenant_id, &asked.call.run_id).await?.run;
        let step = run.graph().step(&asked.call.step);
        // A playbook's own script declares no output.
        let is_tools = step.is_some_and(
            |step| matches!(&step.action, StepAction::Call { script, .. } if script.is_none()),
        );
        let pinned = self.load_pinned(&asked.tenant_id, &run).await?;
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

    pub(crate) async fn approval_of(
        &self,
        tenant: &TenantId,
        approval: &ApprovalId,
    ) -> Result<Approval, EngineError> {
        read(&self.listed_approval(tenant, approval).await?.record)
    }

    async fn listed_approval(
        &self,
        tenant: &TenantId,
        approval: &ApprovalId,
    ) -> Result<ListedApproval, EngineError> {
        let found = self.store().approval(tenant, approval).await?;
        found.ok_or_else(|| EngineError::not_found("approval", approval))
    }

    /// Returns the approvals of a run that are neither used nor refused.
    pub(crate) async fn open_approvals(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Vec<Approval>, EngineError> {
        let mut open = Vec::new();
        for state in [ApprovalState::Pending, ApprovalState::Approved] {
            let filter = ApprovalFilter {
                state: Some(state),
                run_id: Some(run),
                user_id: None,
            };
            let mut page = PageRequest::new(None, PAGE);
            loop {
                let found = self.store().approvals(tenant, filter, &page).await?;
                for approval in &found.entries {
                    open.push(read(&approval.record)?);
                }
                let Some(next) = found.next else {
                    break;
                };
                page = PageRequest::new(Some(next), PAGE);
            }
        }
        Ok(open)
    }

    /// Returns the changes that lapse a run's open approvals, when no decision is needed any more.
    pub(crate) async fn lapsing(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Vec<ApprovalChange>, EngineError> {
        let open = self.open_approvals(tenant, run).await?;
        let lapse = |approval| moved(approval, ApprovalStatus::Lapsed).map(ApprovalChange::Move);
        open.iter().map(lapse).collect()
    }

    /// Builds the approval that a run requests.
    pub(crate) fn approval_asked(
        &self,
        workspace: &Workspace,
        run: &Run,
        asked: &ApprovalRequest,
    ) -> Approval {
        let destructive = workspace
            .playbook
            .as_ref()
            .is_some_and(|(_, class)| *class == SafetyClass::Destructive);
        Approval {
            approval_id: asked.approval.clone(),
            tenant_id: workspace.tenant.clone(),
            call: asked.call.clone(),
            digest: asked.digest.clone(),
            rules: asked.policy_decision.rules().to_vec(),
            requested_by: run.by().clone(),
            requesters: run.requesters().of_step(&asked.step, run.graph()),
            requested_at: self.now(),
            expires_at: asked.expires_at,
            four_eyes: destructive || self.keys().four_eyes(),
            state: ApprovalStatus::Pending,
        }
    }
}

fn refused(refusal: &DecisionRefusal) -> EngineError {
    let code = match refusal {
        DecisionRefusal::Decided(_) | DecisionRefusal::NotBegun => ErrorCode::IllegalTransition,
        DecisionRefusal::Expired(_) => ErrorCode::ApprovalExpired,
        DecisionRefusal::Changed { .. } => ErrorCode::VersionConflict,
        DecisionRefusal::OwnRequest(_) => ErrorCode::PermissionDenied,
    };
    EngineError::new(code, refusal.to_string())
}

fn read(record: &ApprovalRecord) -> Result<Approval, EngineError> {
    decode_stored(&record.body).map_err(|error| EngineError::internal("reading an approval", error))
}

fn entry(caller: &Caller, found: ListedApproval) -> Result<ApprovalEntry, EngineError> {
    let approval = read(&found.record)?;
    Ok(ApprovalEntry {
        can_approve: caller.can_approve(&approval),
        approval,
        run_title: found.run_title,
    })
}

fn body(approval: &Approval) -> Result<String, EngineError> {
    to_stored(approval).map_err(|error| EngineError::internal("writing an approval", error))
}

/// Returns the stored form of a new approval.
pub(crate) fn record(approval: &Approval) -> Result<ApprovalRecord, EngineError> {
    Ok(ApprovalRecord {
        approval_id: approval.approval_id.clone(),
        tenant_id: approval.tenant_id.clone(),
        run_id: approval.call.run_id.clone(),
        state: stored(&approval.state),
        requested_at: approval.requested_at,
        expires_at: approval.expires_at,
        body: body(approval)?,
    })
}

/// Returns the stored form of an approval's transition to another state.
pub(crate) fn moved(
    approval: &Approval,
    state: ApprovalStatus,
) -> Result<ApprovalTransition, EngineError> {
    let after = Approval {
        state,
        ..approval.clone()
    };
    Ok(ApprovalTransition {
        approval_id: approval.approval_id.clone(),
        from: stored(&approval.state),
        to: stored(&after.state),
        body: body(&after)?,
    })
}

fn stored(state: &ApprovalStatus) -> ApprovalState {
    match state {
        ApprovalStatus::Pending => ApprovalState::Pending,
        ApprovalStatus::Approved(_) => ApprovalState::Approved,
        ApprovalStatus::Rejected(_) => ApprovalState::Rejected,
        ApprovalStatus::Consumed(_) => ApprovalState::Consumed,
        ApprovalStatus::Lapsed => ApprovalState::Lapsed,
    }
}

impl Engine {
    /// The error for an approval that the caller does not see, which lists the newest that it sees.
    pub(crate) async fn no_approval(
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
        let seen = self
            .store()
            .approvals(&caller.tenant, filter, &page)
            .await?;
        let ids = seen
            .entries
            .iter()
            .map(|seen| seen.record.approval_id.as_str());
        Ok(EngineError::not_found("approval", approval).knowing(ids))
    }
}
