//! Evidence of a run's actions. Each successful call whose result a page shows gets one record, made before the run's
//! last event is written. Each record anchors the journal's state at the end of the run, so that a later change of the
//! journal is detected.
//!
//! The records of a skill's run are attached to its findings, and have no such anchor. Must not know the driver of a
//! run.

mod skill;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use charter_contract::bounds::LARGE_OUTPUT;
use charter_contract::catalogue::evidence::{Attachment, EvidenceReceipt, EvidenceRecord};
use charter_contract::catalogue::policy::RunKind;
use charter_contract::catalogue::tool::{Tool, ToolEvidence};
use charter_contract::catalogue::{Document, DocumentKind};
use charter_contract::error_code::ErrorCode;
use charter_contract::hex;
use charter_contract::ids::{EvidenceId, EvidenceRunId, RunId, StepId, TenantId, ToolId, UserId};
use charter_contract::json::memory_of_fields;
use charter_contract::text::Text;
use charter_contract::time::Timestamp;
use charter_domain::approval::Digest;
use charter_domain::clock::Clock;
use charter_domain::graph::{Step, StepAction, StepGraph};
use charter_domain::run::{EffectStart, ResultSource, Run, RunEvent, StepState};
use charter_store::SharedStore;
use charter_store::evidence::EvidenceFilter;
use charter_store::journal::JournalEvent;
use charter_store::page::{MAX_PAGE, PageRequest};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::HistoryEvent;
use super::divergence::ReplayDivergence;
use super::effect::Workspace;
use super::journal::FoldedRun;
use super::pinned::{LoadedRun, PinnedDocumentService};
use crate::EngineError;
use crate::execution::evidence::{CapturedResult, EvidenceOutcome, EvidenceService, FAULT, id_of};
use crate::execution::findings::FindingService;
use crate::ground::core_ports::CorePorts;

pub(crate) use skill::{Examination, ExaminedRun};

/// The payload field that names the run of its record.
const RUN: &str = "run";

/// The warning on a run whose record's payload has [`FAULT`].
const FAULTY: &str = "the tool's evidence declaration failed; the record was created without it";

/// A call that succeeded, according to the journal.
#[derive(Debug)]
struct SucceededCall<'h> {
    tool: &'h ToolId,
    /// The playbook's own script, which ran in the tool's place.
    script: Option<&'h str>,
    begun: &'h EffectStart,
    /// The approval before the call.
    approval: Option<Value>,
    /// The person who reported the call's result, if its worker was interrupted.
    reported: Option<ReportedCall<'h>>,
    output: &'h Value,
    at: Timestamp,
    /// The position of the event that records its end.
    sequence: u64,
}

/// A person's report on an interrupted call.
#[derive(Debug, Serialize)]
struct ReportedCall<'h> {
    by: &'h UserId,
    reason: &'h Option<String>,
}

/// One record of a run, as shown with the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunEvidence {
    /// The record.
    pub evidence_id: EvidenceId,
    /// The step whose result it records. Absent for a record that was attached later, and for a step that a fallback
    /// replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// Summary of the result.
    pub summary: Text,
    /// The record's defect, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<&'static str>,
    /// Receipt of a record that a caller submitted and attached to the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<EvidenceReceipt>,
}

/// Digests of a run's plan and journal at the end of the run, for all its records.
#[derive(Debug)]
struct Anchor {
    plan_digest: Digest,
    journal_version: u64,
    journal_head: String,
}

impl Anchor {
    /// Builds the anchor of a run whose journal is durable as folded.
    fn from_run(folded: &FoldedRun) -> Self {
        Self {
            plan_digest: folded.run.plan_digest(),
            journal_version: folded.version,
            journal_head: hex::encode(&folded.head.0),
        }
    }
}

impl Workspace {
    /// Returns whether a run leaves evidence before it ends by these events. A skill's run does if it completes,
    /// because its results are an answer only then; an analysis has no evidence of its own.
    pub(super) fn leaves_evidence(
        &self,
        evidence: &RunEvidenceService,
        ending: &[RunEvent],
    ) -> bool {
        let has_results = match self.kind {
            RunKind::Analysis => false,
            RunKind::Skill => {
                let completes = |event: &RunEvent| matches!(event, RunEvent::Completed { .. });
                ending.iter().any(completes)
            }
            RunKind::Playbook
            | RunKind::ExecutionPlan
            | RunKind::Pipeline
            | RunKind::DecisionTree
            | RunKind::Mission
            | RunKind::ToolCall => true,
        };
        let mut tools = self.tools.values();
        has_results && tools.any(|tool| evidence.records.is_shown(&tool.entry.document))
    }
}

/// Returns the successful calls of a run in the order of success. A cached result does not count: the run that made the
/// call has the record. The answer of a write in a dry run proves nothing.
fn made(history: &[HistoryEvent]) -> Vec<SucceededCall<'_>> {
    let mut known = OpenCall::default();
    history
        .iter()
        .filter_map(|entry| known.see(entry))
        .collect()
}

/// Journal data so far about calls that have not succeeded yet.
#[derive(Debug, Default)]
struct OpenCall<'h> {
    graph: Option<&'h StepGraph>,
    /// Steps that results added to it.
    grown: BTreeMap<&'h StepId, &'h Step>,
    dry_run: bool,
    begun: BTreeMap<&'h StepId, &'h EffectStart>,
    approvals: BTreeMap<&'h StepId, Value>,
}

impl<'h> OpenCall<'h> {
    fn see(&mut self, entry: &'h HistoryEvent) -> Option<SucceededCall<'h>> {
        match &entry.event {
            RunEvent::Started(started) => {
                self.graph = Some(&started.graph);
                self.dry_run = started.dry_run;
            }
            RunEvent::FallbackStarted { .. } => {
                *self = Self {
                    graph: self.graph.and_then(StepGraph::fallback),
                    dry_run: self.dry_run,
                    ..Self::default()
                };
            }
            RunEvent::RunWaitEnded { restarts: true, .. } => {
                *self = Self {
                    graph: self.graph,
                    dry_run: self.dry_run,
                    ..Self::default()
                };
            }
            RunEvent::StepBegun(attempt) => {
                self.begun.insert(&attempt.step, attempt);
            }
            RunEvent::ApprovalRequested(asked) => {
                let what = json!({"approval_id": asked.approval, "digest": asked.digest});
                self.approvals.insert(&asked.step, what);
            }
            RunEvent::ApprovalGranted { step, by, .. } => {
                if let Some(approval) = self.approvals.get_mut(step) {
                    approval["by"] = json!(by);
                }
            }
            RunEvent::StepSucceeded {
                step,
                output,
                source,
                brings,
                ..
            } => {
                let grown = brings.growth.steps.iter();
                self.grown.extend(grown.map(|step| (&step.id, step)));
                return self.succeeded(entry, step, output, source);
            }
            RunEvent::StepExpanded { growth, .. } => {
                let items = growth.steps.iter();
                self.grown.extend(items.map(|step| (&step.id, step)));
            }
            RunEvent::ParametersGiven { .. }
            | RunEvent::Confirmed { .. }
            | RunEvent::StepRefused { .. }
            | RunEvent::ApprovalDenied { .. }
            | RunEvent::RetryScheduled { .. }
            | RunEvent::StepFailed { .. }
            | RunEvent::StepSkipped { .. }
            | RunEvent::Paused { .. }
            | RunEvent::Resumed { .. }
            | RunEvent::WaitingForRun { .. }
            | RunEvent::RunWaitEnded { .. }
            | RunEvent::Stopping { .. }
            | RunEvent::Completed { .. }
            | RunEvent::Failed { .. }
            | RunEvent::RolledBack { .. }
            | RunEvent::RollbackFailed { .. } => {}
        }
        None
    }

    fn step(&self, id: &StepId) -> Option<&'h Step> {
        let from_the_start = self.graph.and_then(|graph| graph.step(id));
        from_the_start.or_else(|| self.grown.get(id).copied())
    }

    fn succeeded(
        &mut self,
        entry: &HistoryEvent,
        step: &'h StepId,
        output: &'h Value,
        source: &'h ResultSource,
    ) -> Option<SucceededCall<'h>> {
        let mut approval = self.approvals.remove(step);
        let reported = match source {
            ResultSource::Fresh => None,
            ResultSource::Cached | ResultSource::Decided => return None,
            ResultSource::Reported { by, reason, .. } => {
                // The approval asked whether to repeat the call, and this is the answer.
                if let Some(asked) = &mut approval {
                    asked["by"] = json!(by);
                }
                Some(ReportedCall { by, reason })
            }
        };
        let StepAction::Call {
            tool,
            script,
            writes,
            ..
        } = &self.step(step)?.action
        else {
            return None;
        };
        if self.dry_run && *writes {
            return None;
        }
        Some(SucceededCall {
            tool,
            script: script.as_ref().map(AsRef::as_ref),
            begun: self.begun.get(step)?,
            approval,
            reported,
            output,
            at: entry.at,
            sequence: entry.sequence,
        })
    }
}

/// The evidence that runs leave.
pub(crate) struct RunEvidenceService {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    pub(super) records: Arc<EvidenceService>,
    findings: Arc<FindingService>,
    pinned: Arc<PinnedDocumentService>,
    shutdown: CancellationToken,
}

impl RunEvidenceService {
    pub(crate) fn new(
        ports: CorePorts,
        records: Arc<EvidenceService>,
        findings: Arc<FindingService>,
        pinned: Arc<PinnedDocumentService>,
        shutdown: CancellationToken,
    ) -> Self {
        Self {
            store: ports.store,
            clock: ports.clock,
            records,
            findings,
            pinned,
            shutdown,
        }
    }

    /// Records the evidence of a run that is about to end and whose journal is durable as folded. A worker that resumes
    /// after a crash in between finds the same records. Returns the examined results of a skill's run.
    ///
    /// # Errors
    /// `unavailable` if the engine stops first; errors of storage.
    pub(super) async fn leave(
        &self,
        pinned: &LoadedRun,
        folded: &FoldedRun,
        history: &[HistoryEvent],
    ) -> Result<Option<Examination>, EngineError> {
        if pinned.workspace.kind == RunKind::Skill {
            let examined = self.examine_before_end(pinned, &folded.run, history);
            return examined.await.map(Some);
        }
        self.record_calls(&pinned.workspace, folded, history)
            .await?;
        Ok(None)
    }

    /// Records each call of a run that is about to end.
    async fn record_calls(
        &self,
        workspace: &Workspace,
        folded: &FoldedRun,
        history: &[HistoryEvent],
    ) -> Result<(), EngineError> {
        let (mut records, mut memory) = (Vec::new(), 0_usize);
        let anchor = Anchor::from_run(folded);
        for made in made(history) {
            let record = self.record(workspace, folded, &anchor, &made);
            let Some(record) = record.await? else {
                continue;
            };
            memory = memory.saturating_add(memory_of_fields(&record.payload));
            records.push(record);
            // Large records are written at once, to free their memory.
            if memory > LARGE_OUTPUT {
                self.records.keep(&workspace.tenant, &records).await?;
                records.clear();
                memory = 0;
            }
        }
        self.records.keep(&workspace.tenant, &records).await
    }

    /// Returns the record of a call of a run whose journal is durable as folded; `None` if no page shows the result.
    /// The record's id follows from run and step, so a second attempt finds it.
    ///
    /// # Errors
    /// `unavailable` if the engine stops first. A failure of a tool's declaration is not an error: the record is made
    /// without it and states that.
    async fn record(
        &self,
        workspace: &Workspace,
        folded: &FoldedRun,
        anchor: &Anchor,
        made: &SucceededCall<'_>,
    ) -> Result<Option<EvidenceRecord>, EngineError> {
        let tool = workspace.tools.get(made.tool);
        let tool = tool.map(|tool| &tool.entry.document);
        let Some(tool) = tool.filter(|tool| self.records.is_shown(tool)) else {
            return Ok(None);
        };
        let Some(mut record) = self.captured(&workspace.tenant, folded, tool, made).await? else {
            return Ok(None);
        };
        let run = &folded.run;
        // The name of the effect's key, because the steps of a fallback may have the same names as earlier steps.
        let prefix = format!("{}/", run.id());
        let key = &made.begun.idempotency_key;
        let name = key.strip_prefix(&prefix).unwrap_or(key);
        record.id = EvidenceId::derived(Uuid::new_v5(&run.id().uuid(), name.as_bytes()));
        if let Some(script) = made.script {
            record.payload.insert("script".to_owned(), json!(script));
        }
        let about = json!({
            "run_id": run.id(), "step": made.begun.step, "event": made.sequence,
            "dry_run": run.is_dry_run(), "plan_digest": anchor.plan_digest,
            "approval": made.approval, "reported": made.reported,
            "journal_version": anchor.journal_version, "journal_head": anchor.journal_head,
        });
        record.payload.insert(RUN.to_owned(), about);
        if let Some(reported) = &made.reported {
            record.summary = reporter_note(reported.by, record.summary);
        }
        Ok(Some(record))
    }

    /// Evaluates the tool's evidence declaration on its result. If the summary fails, it is left out; if filters fail,
    /// both filters and summary are left out.
    async fn captured(
        &self,
        tenant: &TenantId,
        folded: &FoldedRun,
        tool: &Tool,
        made: &SucceededCall<'_>,
    ) -> Result<Option<EvidenceRecord>, EngineError> {
        let (run, step) = (folded.run.id(), &made.begun.step);
        let captured = |tool| CapturedResult {
            tool,
            step,
            parameters: Some(&made.begun.parameters),
            output: made.output,
            at: made.at,
        };
        let fault = match captured(tool)
            .record(&self.records, tenant, run, [].iter())
            .await
        {
            Ok(EvidenceOutcome::Recorded(made)) => {
                if let Some(fault) = &made.fault {
                    tracing::warn!(run.id = %run, step.id = %step, error = %fault,
                        "the summary of a tool's evidence failed; creating the record without it");
                }
                return Ok(Some(made.record));
            }
            Ok(EvidenceOutcome::Unshown(_)) => return Ok(None),
            Err(error) if is_fault(&error) => error,
            Err(error) => return Err(error),
        };
        // A filter that was cut off by the server's shutdown has not failed.
        if self.shutdown.is_cancelled() {
            return Err(EngineError::interrupted());
        }
        tracing::warn!(run.id = %run, step.id = %step, error = %fault,
            "a tool's evidence declaration failed; creating the record without it");
        let bare = without_filters(tool);
        let bare = captured(&bare)
            .record(&self.records, tenant, run, [].iter())
            .await?;
        let EvidenceOutcome::Recorded(bare) = bare else {
            return Ok(None);
        };
        let mut record = bare.record;
        let fault = json!(fault.to_string());
        record.payload.insert(FAULT.to_owned(), fault);
        Ok(Some(record))
    }

    /// Returns the tools whose results left no evidence in a run that has ended.
    pub(super) async fn unproven(&self, run: &Run) -> Result<Vec<ToolId>, EngineError> {
        let mut unproven: Vec<ToolId> = Vec::new();
        if run.outcome().is_none() {
            return Ok(unproven);
        }
        let called = run.steps().states().filter_map(|(step, state)| {
            let tool = run.graph().step(step)?.tool()?;
            matches!(state, StepState::Succeeded).then_some(tool)
        });
        let called: BTreeSet<&ToolId> = called.collect();
        let pins = run.pins().iter();
        let pins = pins.filter(|pin| pin.kind == DocumentKind::Tool);
        for pin in pins {
            let Some(tool) = called.iter().find(|tool| tool.as_str() == pin.id) else {
                continue;
            };
            // A version that is no longer stored cannot be checked.
            let document = match self.pinned.document(pin).await {
                Ok(Document::Tool(document)) => document,
                Ok(_) | Err(_) => continue,
            };
            if !document.is_internal() && !self.records.is_shown(&document) {
                unproven.push(ToolId::clone(tool));
            }
        }
        Ok(unproven)
    }

    /// Returns the records that a run left, as shown with the run.
    pub(super) async fn of_run(
        &self,
        tenant: &TenantId,
        run: &Run,
    ) -> Result<Vec<RunEvidence>, EngineError> {
        let steps = run.graph().steps().iter().map(|step| &step.id);
        let steps: BTreeMap<EvidenceId, &StepId> =
            steps.map(|step| (id_of(run.id(), step), step)).collect();
        let mut shown = Vec::new();
        let each = |record: EvidenceRecord| {
            let is_captured = record.receipt.is_none();
            shown.push(RunEvidence {
                warning: (is_captured && record.payload.contains_key(FAULT)).then_some(FAULTY),
                step: steps.get(&record.id).map(|step| StepId::clone(step)),
                evidence_id: record.id,
                summary: record.summary,
                receipt: record.receipt,
            });
            ControlFlow::Continue(())
        };
        self.each_record(tenant, run.id(), each).await?;
        Ok(shown)
    }

    /// Returns where a journal differs from the run's evidence.
    pub(super) async fn contradiction(
        &self,
        tenant: &TenantId,
        run: &RunId,
        journal: &[JournalEvent],
    ) -> Result<Option<ReplayDivergence>, EngineError> {
        let mut diverges = None;
        let each = |record: EvidenceRecord| {
            // A submitted payload is its submitter's statement, and no anchor of the journal.
            if record.receipt.is_some() {
                return ControlFlow::Continue(());
            }
            let said = record.payload.get(RUN).unwrap_or_default();
            let (Some(version), Some(head)) = (
                said["journal_version"].as_u64(),
                said["journal_head"].as_str(),
            ) else {
                return ControlFlow::Continue(());
            };
            let last = journal.iter().find(|event| event.sequence == version);
            if last.is_some_and(|event| hex::encode(&event.hash.0) == head) {
                return ControlFlow::Continue(());
            }
            diverges = Some(ReplayDivergence {
                at: version,
                detail: format!(
                    "the evidence `{}` records another journal head at this point: {head}",
                    record.id
                ),
            });
            ControlFlow::Break(())
        };
        self.each_record(tenant, run, each).await?;
        Ok(diverges)
    }

    /// Passes every record that is attached to a run to `each`, until `each` breaks. Reads page by page, because all
    /// payloads together may be large.
    async fn each_record(
        &self,
        tenant: &TenantId,
        run: &RunId,
        mut each: impl FnMut(EvidenceRecord) -> ControlFlow<()> + Send,
    ) -> Result<(), EngineError> {
        let filter = EvidenceFilter {
            attached_to: Some(Attachment {
                run_id: EvidenceRunId::parse(run.as_ref()).ok(),
                ..Attachment::default()
            }),
            ..EvidenceFilter::default()
        };
        let mut after = None;
        loop {
            let page = PageRequest::new(after, MAX_PAGE);
            let found = self.store.find_evidence(tenant, &filter, &page).await?;
            if found.entries.into_iter().try_for_each(&mut each).is_break() {
                return Ok(());
            }
            after = found.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }
}

/// Returns whether a record failed because of the tool's declaration.
fn is_fault(error: &EngineError) -> bool {
    matches!(error.code, ErrorCode::ToolFailed | ErrorCode::ToolTimeout)
}

/// Returns the tool with only the parts of its declaration that cannot fail: the service's console, and the tool's id.
fn without_filters(tool: &Tool) -> Tool {
    let evidence = tool.evidence.clone().map(|declared| ToolEvidence {
        native_id: None,
        region: None,
        account_id: None,
        summary: None,
        ..declared
    });
    let mut tool = tool.clone();
    tool.evidence = evidence;
    tool
}

/// Adds the reporter to a summary; a summary without room for that stays unchanged.
fn reporter_note(user: &UserId, summary: Text) -> Text {
    Text::parse(&format!("Reported by `{user}`, not observed: {summary}")).unwrap_or(summary)
}
