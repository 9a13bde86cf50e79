//! The result of a request that changes something: the outcome of its run, as a second response with an id of its own.
//!
//! It is made from the run's journal and evidence once the run has ended, and recorded once. The process that ends the
//! run records it; after a crash, recovery does, or the first reader of the request. Its id follows from the request's,
//! so concurrent writers make the same result. Must not know the readers.

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::agentic::response::AgentResponse;
use charter_contract::bounds::{RESULT_STATE_BYTES, RESULT_STATES_BYTES};
use charter_contract::ids::{EvidenceId, RequestId, ResponseId, RunId, StepId, TenantId};
use charter_contract::json::decode_stored;
use charter_contract::shorten;
use charter_domain::clock::Clock;
use charter_domain::run::{ChangeState, Run, RunAccount, RunOutcome};
use charter_store::journal::RunPhase;
use charter_store::request::RequestRecord;
use charter_store::{SharedStore, StoreError};
use serde_json::{Value, json};
use tokio::sync::Notify;
use uuid::Uuid;

use super::change::described;
use super::guard::warn;
use super::{ActiveRequest, Classification, respond};
use crate::EngineError;
use crate::conversation::sessions::SessionService;
use crate::execution::events;
use crate::execution::runs::{JournalService, RunView, RunViewService};

/// Requests with ended runs that recovery processes at once.
const BATCH: usize = 100;

/// Maximum characters of a state in the text.
const SHOWN_CHARACTERS: usize = 300;

/// The services that results are made with.
pub(crate) struct RequestResultParts {
    pub(crate) sessions: Arc<SessionService>,
    pub(crate) journals: Arc<JournalService>,
    pub(crate) run_views: Arc<RunViewService>,
}

/// The results of requests that change something.
pub(crate) struct RequestResultService {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    news: Arc<Notify>,
    sessions: Arc<SessionService>,
    journals: Arc<JournalService>,
    run_views: Arc<RunViewService>,
}

impl RequestResultService {
    /// Builds the service, which wakes the readers of events by `news`.
    pub(crate) fn new(
        store: SharedStore,
        clock: Arc<dyn Clock>,
        news: Arc<Notify>,
        parts: RequestResultParts,
    ) -> Self {
        Self {
            store,
            clock,
            news,
            sessions: parts.sessions,
            journals: parts.journals,
            run_views: parts.run_views,
        }
    }

    /// Records the result of the request that a run was started for, if there is one and the run has ended. A failure
    /// is logged: recovery retries it.
    pub(crate) async fn note_end(&self, tenant: &TenantId, run: &Run) {
        if run.outcome().is_none() {
            return;
        }
        let recorded = async {
            match self.store.request_of_run(tenant, run.id()).await? {
                Some(record) => self.record_result_of(&record, run).await,
                None => Ok(()),
            }
        };
        if let Err(error) = recorded.await {
            not_recorded(run.id(), &error);
        }
    }

    /// Records the results that a crash left unrecorded.
    ///
    /// # Errors
    /// If storage cannot be read; a failure of one result is logged.
    pub(crate) async fn record_results(&self) -> Result<(), EngineError> {
        for record in self.store.requests_of_ended_runs(BATCH).await? {
            if let (Err(error), Some(run)) = (self.record_result(&record).await, &record.run_id) {
                not_recorded(run, &error);
            }
        }
        Ok(())
    }

    /// Adds the result to a request whose run has ended, so that readers never see the end of a change without it. A
    /// failure is logged, and the request stays unchanged.
    pub(crate) async fn with_result(&self, record: RequestRecord) -> RequestRecord {
        let awaited = record.run_id.clone().filter(|_| record.result.is_none());
        let Some(run) = awaited else {
            return record;
        };
        let (tenant, id) = (&record.tenant_id, &record.request_id);
        let recorded = async {
            let found = self.store.run(tenant, &run).await?;
            if found.is_none_or(|found| found.phase != RunPhase::Finished) {
                return Ok(None);
            }
            self.record_result(&record).await?;
            Ok::<_, EngineError>(self.store.request(tenant, id).await?)
        };
        let recorded = recorded.await;
        match recorded {
            Ok(Some(whole)) => whole,
            Ok(None) => record,
            Err(error) => {
                not_recorded(&run, &error);
                record
            }
        }
    }

    /// Makes and records the result of a request whose run has ended, from the run's journal.
    async fn record_result(&self, record: &RequestRecord) -> Result<(), EngineError> {
        let (Some(run_id), Some(_)) = (&record.run_id, &record.verdict) else {
            return Ok(());
        };
        let run = self.journals.fold(&record.tenant_id, run_id).await?.run;
        self.record_result_of(record, &run).await
    }

    /// Makes and records the result of a request whose run has ended.
    async fn record_result_of(&self, record: &RequestRecord, run: &Run) -> Result<(), EngineError> {
        let Some(verdict) = &record.verdict else {
            return Ok(());
        };
        let tenant = &record.tenant_id;
        let asked = ActiveRequest::from_json(&record.asked, tenant.clone())?;
        let classified: Classification = decode_stored(verdict)
            .map_err(|error| EngineError::internal("reading a recorded verdict", error))?;
        let shown = self.run_views.show(&asked.caller, run.id()).await?;
        let result = response(&asked, &classified, run, &shown)?;
        let (text, at) = (respond::write(&result)?, self.clock.now());
        // Before the result: a recorded result is not made again.
        self.sessions
            .record_turn(tenant, &asked.request, Some(&result.content), at)
            .await?;
        let told = events::about_result(record, run.id(), &result.id, run.status(), at);
        let recorded = self
            .store
            .record_result(tenant, asked.id(), &text, vec![told], at);
        match recorded.await {
            Ok(()) => {
                self.news.notify_waiters();
                Ok(())
            }
            Err(StoreError::AlreadyExists { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn not_recorded(run: &RunId, error: &EngineError) {
    tracing::warn!(run.id = %run, error = %error, "a run's result could not be recorded; retrying");
}

/// Derives the id of a request's result.
fn result_id(request: &RequestId) -> ResponseId {
    ResponseId::from_uuid(Uuid::new_v5(&request.uuid(), b"result"))
}

/// Builds the response with a change's outcome.
fn response(
    asked: &ActiveRequest,
    classified: &Classification,
    run: &Run,
    shown: &RunView,
) -> Result<AgentResponse, EngineError> {
    let summary = &shown.summary;
    let mut result = ResultText::new(shown);
    let account = RunAccount::new(run);
    let (changes, undone) = (result.changes(&account), result.undone(&account));
    let missing = missing_evidence(run);
    let content = content(shown, &account, &changes, &missing);
    let took = summary.updated_at.as_micros() - summary.created_at.as_micros();
    let evidence: Vec<&EvidenceId> = shown.evidence.iter().map(|one| &one.evidence_id).collect();
    let builder = AgentResponse::builder(
        result_id(asked.id()),
        asked.id().clone(),
        summary.updated_at,
        content,
    )
    .execution_time_ms(u64::try_from(took / 1_000).unwrap_or_default());
    let mut builder = described(builder, classified, shown)?
        .metadata("dry_run", json!(shown.state.dry_run))
        .metadata("changes", json!(changes))
        .metadata("undone", json!(undone))
        .metadata("missing_evidence", json!(missing))
        .metadata("evidence_ids", json!(evidence));
    let mut warnings = shown.notes.clone();
    warnings.extend(result.left_out);
    if !warnings.is_empty() {
        builder = builder.metadata("warnings", json!(warnings));
    }
    let mut response = builder.build();
    warn(&mut response, &shown.warnings());
    Ok(response)
}

/// Returns the evidence keys that some output should have had for the run to be complete.
fn missing_evidence(run: &Run) -> Vec<&str> {
    match run.outcome() {
        Some(RunOutcome::Completed { missing_evidence }) => {
            missing_evidence.iter().map(AsRef::as_ref).collect()
        }
        Some(
            RunOutcome::Failed { .. }
            | RunOutcome::RolledBack { .. }
            | RunOutcome::RollbackFailed { .. },
        )
        | None => Vec::new(),
    }
}

/// Changes and unfinished steps in written form: large states are left out and named.
struct ResultText<'s> {
    evidence: BTreeMap<&'s StepId, Vec<&'s EvidenceId>>,
    /// Bytes that are left for states.
    left: usize,
    left_out: Vec<String>,
}

impl<'s> ResultText<'s> {
    fn new(shown: &'s RunView) -> Self {
        let mut evidence: BTreeMap<&StepId, Vec<&EvidenceId>> = BTreeMap::new();
        for record in &shown.evidence {
            if let Some(step) = &record.step {
                evidence.entry(step).or_default().push(&record.evidence_id);
            }
        }
        Self {
            evidence,
            left: RESULT_STATES_BYTES,
            left_out: Vec::new(),
        }
    }

    fn changes(&mut self, account: &RunAccount<'_>) -> Vec<Value> {
        let mut changes = Vec::with_capacity(account.changes.len());
        for change in &account.changes {
            let before = self.state(change.step, "before", change.before.as_ref());
            let after = self.state(change.step, "after", change.after.as_ref());
            changes.push(json!({
                "step_id": change.step, "tool_id": change.tool, "before": before, "after": after,
                "reversed": change.reversed, "evidence_ids": self.evidence_of(change.step),
            }));
        }
        changes
    }

    fn undone(&mut self, account: &RunAccount<'_>) -> Vec<Value> {
        let mut undone = Vec::with_capacity(account.undone.len());
        for step in &account.undone {
            let mut written = json!({
                "step_id": step.step, "tool_id": step.tool, "writes": step.writes, "reason": step.why,
                "detail": step.detail,
            });
            let would = self.state(step.step, "planned_change", step.would.as_ref());
            if !would.is_null() {
                written["planned_change"] = would;
            }
            undone.push(written);
        }
        undone
    }

    fn evidence_of(&self, step: &StepId) -> &[&'s EvidenceId] {
        self.evidence.get(step).map_or(&[][..], Vec::as_slice)
    }

    /// Returns a state that fits; null for one that does not, or that no step reports.
    fn state(&mut self, step: &StepId, which: &str, state: Option<&ChangeState<'_>>) -> Value {
        let Some(state) = state else {
            return Value::Null;
        };
        let bytes = state.bytes();
        if bytes > RESULT_STATE_BYTES || bytes > self.left {
            self.left_out.push(format!(
                "`{which}` of the step `{step}` has {bytes} bytes and is omitted (RESULT_STATE_BYTES = \
                 {RESULT_STATE_BYTES}, RESULT_STATES_BYTES = {RESULT_STATES_BYTES}): see its evidence, or the run's \
                 journal"
            ));
            return Value::Null;
        }
        self.left -= bytes;
        json!(state)
    }
}

/// Formats the result as text: how the run ended, what changed from which state to which, its evidence, and the
/// unfinished steps.
fn content(
    shown: &RunView,
    account: &RunAccount<'_>,
    changes: &[Value],
    missing: &[&str],
) -> String {
    let summary = &shown.summary;
    let mut lines = vec![format!("{}: {}.", summary.title, summary.status.in_words())];
    lines.push(match changes.len() {
        0 => "Nothing was changed.".to_owned(),
        count => format!("{count} change(s):"),
    });
    for (change, written) in account.changes.iter().zip(changes) {
        let tool = change.tool.map_or("", AsRef::as_ref);
        let since = if change.reversed {
            ", reversed since"
        } else {
            ""
        };
        lines.push(format!("- {} ({tool}){since}", change.step));
        for which in ["before", "after"] {
            if !written[which].is_null() {
                lines.push(format!("  {which}: {}", cut(&written[which])));
            }
        }
        let ids = written["evidence_ids"].as_array().into_iter().flatten();
        let ids: Vec<&str> = ids.filter_map(Value::as_str).collect();
        if !ids.is_empty() {
            lines.push(format!("  evidence: {}", ids.join(", ")));
        }
    }
    if account.undone.is_empty() {
        lines.push("Nothing was left undone.".to_owned());
    } else {
        lines.push("Left undone:".to_owned());
        lines.extend(account.undone.iter().map(|undone| {
            let tool = undone.tool.map_or("", AsRef::as_ref);
            let kind = if undone.writes { "write" } else { "read" };
            format!("- {} ({kind}, {tool}): {}", undone.step, undone.detail)
        }));
    }
    if !missing.is_empty() {
        lines.push(format!("Evidence is missing: {}.", missing.join(", ")));
    }
    lines.extend(shown.notes.iter().map(|note| format!("Note: {note}.")));
    lines.push(format!("Its history: charter runs show {}", summary.run_id));
    lines.join("\n")
}

/// Returns the beginning of a value's JSON.
fn cut(value: &Value) -> String {
    shorten::to_chars(&value.to_string(), SHOWN_CHARACTERS).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_state_is_cut_in_the_text() {
        assert_eq!(cut(&json!({"a": "é"})), r#"{"a":"é"}"#);
        let long = cut(&json!("é".repeat(SHOWN_CHARACTERS)));
        assert_eq!(long.chars().count(), SHOWN_CHARACTERS + 1);
        assert!(long.ends_with('…'), "{long}");
    }
}
