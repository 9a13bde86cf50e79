//! The list of recorded requests: who asked what, and what came of it.

use charter_contract::catalogue::vocabulary::Severity;
use charter_contract::ids::{RequestId, RunId, SessionId, UserId};
use charter_contract::page::PageRequest;
use charter_contract::time::Timestamp;
use charter_store::request::RequestRecord;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::ActiveRequest;
use super::classification::Classification;
use super::view::{RequestViewService, recorded, runs_of};
use crate::{Caller, EngineError};

/// Characters of a request's text and of its outcome in a list. The request itself has all of both.
const EXCERPT_CHARS: usize = 280;

/// How far a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "RequestState")]
pub enum RequestState {
    /// It has no answer yet.
    Open,
    /// It has an answer.
    Answered,
    /// It failed.
    Failed,
}

/// The number of an answer's findings of one severity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "FindingCount")]
pub struct FindingCount {
    /// The severity.
    pub severity: Severity,
    /// The number of findings.
    pub findings: usize,
}

/// A request in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RequestSummary")]
pub struct RequestSummary {
    /// Its id.
    pub request_id: RequestId,
    /// The user who sent it.
    pub user_id: UserId,
    /// Its session.
    pub session_id: Option<SessionId>,
    /// The first characters of its text.
    pub input: String,
    /// How far it is.
    pub state: RequestState,
    /// The first characters of the answer, or the message of the failure.
    pub outcome: Option<String>,
    /// The code of the failure.
    pub error_code: Option<String>,
    /// The findings of the answer by severity, the worst first.
    pub findings: Vec<FindingCount>,
    /// The runs by its verdict, the run of a change included; none before it is routed.
    pub run_ids: Vec<RunId>,
    /// The status with which that run ended.
    pub result_status: Option<String>,
    /// When it was received.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// One page of requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RequestPage")]
pub struct RequestPage {
    /// Newest first.
    pub entries: Vec<RequestSummary>,
    /// Cursor to the next page.
    pub next: Option<String>,
}

impl RequestViewService {
    /// Lists the requests that are visible to the caller, newest first.
    ///
    /// # Errors
    /// If storage fails, or for an invalid cursor; `internal` for a record that cannot be read.
    pub async fn list(
        &self,
        caller: &Caller,
        page: &PageRequest,
    ) -> Result<RequestPage, EngineError> {
        let found = self
            .store
            .requests_of(&caller.tenant, caller.only_own(), page)
            .await?;
        let entries = found.entries.into_iter().map(summary);
        Ok(RequestPage {
            entries: entries.collect::<Result<_, _>>()?,
            next: found.next,
        })
    }
}

fn summary(record: RequestRecord) -> Result<RequestSummary, EngineError> {
    let asked = ActiveRequest::from_json(&record.asked, record.tenant_id)?;
    let answer: Option<Value> = record.answer.as_deref().map(recorded).transpose()?;
    let result: Option<Value> = record.result.as_deref().map(recorded).transpose()?;
    let verdict: Option<Classification> = record.verdict.as_deref().map(recorded).transpose()?;
    let run_ids = verdict.map(|verdict| runs_of(&asked, &verdict));
    let text = |name: &str| {
        answer
            .as_ref()
            .and_then(|answer| answer.get(name)?.as_str())
    };
    let (state, outcome) = match (&answer, text("content")) {
        (None, _) => (RequestState::Open, None),
        (Some(_), Some(content)) => (RequestState::Answered, Some(content)),
        (Some(_), None) => (RequestState::Failed, text("user_message")),
    };
    let status = result
        .as_ref()
        .and_then(|result| result.pointer("/metadata/status")?.as_str());
    Ok(RequestSummary {
        input: excerpt(asked.request.input.as_str()),
        session_id: asked.request.session_id,
        state,
        outcome: outcome.map(excerpt),
        error_code: text("error_code").map(ToOwned::to_owned),
        findings: answer.as_ref().map(counts).unwrap_or_default(),
        result_status: status.map(ToOwned::to_owned),
        request_id: record.request_id,
        user_id: record.user_id,
        run_ids: run_ids.unwrap_or_default(),
        created_at: record.created_at,
        updated_at: record.updated_at,
    })
}

/// Counts the findings of an answer by severity; a severity without findings is left out.
fn counts(answer: &Value) -> Vec<FindingCount> {
    let findings = answer.pointer("/metadata/findings");
    let findings = findings.and_then(Value::as_array);
    let severity_of = |finding: &Value| Some(finding.get("severity")?.as_str()?.to_owned());
    let found: Vec<String> = findings
        .into_iter()
        .flatten()
        .filter_map(severity_of)
        .collect();
    let of = |severity: Severity| {
        let same = found.iter().filter(|found| *found == severity.as_str());
        let findings = same.count();
        (findings > 0).then_some(FindingCount { severity, findings })
    };
    Severity::ALL.iter().copied().filter_map(of).collect()
}

fn excerpt(text: &str) -> String {
    let mut chars = text.chars();
    let mut first: String = chars.by_ref().take(EXCERPT_CHARS).collect();
    if chars.next().is_some() {
        first.push('…');
    }
    first
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn findings_are_counted_by_severity_the_worst_first() {
        let answer = json!({"content": "", "metadata": {"findings": [
            {"severity": "low"}, {"severity": "critical"}, {"severity": "low"},
        ]}});
        let found = counts(&answer);
        let found: Vec<_> = found.iter().map(|of| (of.severity, of.findings)).collect();
        assert_eq!(found, [(Severity::Critical, 1), (Severity::Low, 2)]);
        assert!(counts(&json!({"content": ""})).is_empty());
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        let long = "ä".repeat(EXCERPT_CHARS + 1);
        assert_eq!(excerpt(&long), format!("{}…", "ä".repeat(EXCERPT_CHARS)));
        assert_eq!(excerpt("short"), "short");
    }
}
