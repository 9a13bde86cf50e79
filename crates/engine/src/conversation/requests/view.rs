//! Recorded requests, as their users see them.

use std::sync::Arc;

use charter_contract::ids::{RequestId, RunId};
use charter_contract::json::decode_stored;
use charter_contract::time::Timestamp;
use charter_store::SharedStore;
use charter_store::request::RequestRecord;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::ActiveRequest;
use super::classification::Classification;
use super::course::Course;
use super::result::RequestResultService;
use super::run_ids::run_id;
use super::words::analysis_run_id;
use crate::ground::error::newest_known;
use crate::{Caller, EngineError};

/// A recorded request.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Request")]
pub struct RequestView {
    /// Its id.
    pub request_id: RequestId,
    /// When it was received.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The request as received, with a snapshot of the caller's identity and level.
    pub received: Map<String, Value>,
    /// The routing verdict; absent before routing.
    pub verdict: Option<Value>,
    /// The answer or error; absent while the request is in progress.
    pub answer: Option<Value>,
    /// The run whose end is the result, if the request changes something.
    pub run_id: Option<RunId>,
    /// The result of that run, once it has ended: an answer with an id of its own.
    pub result: Option<Value>,
}

/// Recorded requests, as their users see them.
pub struct RequestViewService {
    pub(super) store: SharedStore,
    pub(super) news: Arc<Notify>,
    pub(super) shutdown: CancellationToken,
    pub(super) request_results: Arc<RequestResultService>,
}

impl std::fmt::Debug for RequestViewService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestViewService").finish_non_exhaustive()
    }
}

impl RequestViewService {
    pub(crate) fn new(
        store: SharedStore,
        news: Arc<Notify>,
        shutdown: CancellationToken,
        request_results: Arc<RequestResultService>,
    ) -> Self {
        Self {
            store,
            news,
            shutdown,
            request_results,
        }
    }

    /// Returns a recorded request: input, routing, the answer if there is one, and the result of a change that has
    /// ended.
    ///
    /// # Errors
    /// `not_found`, also for a request that is not visible to the caller.
    pub async fn request(
        &self,
        caller: &Caller,
        id: &RequestId,
    ) -> Result<RequestView, EngineError> {
        let record = self.request_of(caller, id).await?;
        let record = self.request_results.with_result(record).await;
        Ok(RequestView {
            received: recorded(&record.asked)?,
            verdict: record.verdict.as_deref().map(recorded).transpose()?,
            answer: record.answer.as_deref().map(recorded).transpose()?,
            result: record.result.as_deref().map(recorded).transpose()?,
            run_id: record.run_id,
            request_id: record.request_id,
            created_at: record.created_at,
            updated_at: record.updated_at,
        })
    }

    /// Returns the record of a request that is visible to the caller.
    ///
    /// # Errors
    /// `not_found`.
    pub(super) async fn request_of(
        &self,
        caller: &Caller,
        id: &RequestId,
    ) -> Result<RequestRecord, EngineError> {
        let found = self.store.request(&caller.tenant, id).await?;
        match found.filter(|record| caller.sees(Some(&record.user_id))) {
            Some(record) => Ok(record),
            None => Err(self.no_request(caller, id).await?),
        }
    }

    /// The error for a request that the caller does not see, which lists the newest that it sees.
    async fn no_request(
        &self,
        caller: &Caller,
        id: &RequestId,
    ) -> Result<EngineError, EngineError> {
        let page = newest_known();
        let seen = self
            .store
            .requests_of(&caller.tenant, caller.only_own(), &page)
            .await?;
        let ids = seen.entries.iter().map(|seen| seen.request_id.as_str());
        Ok(EngineError::not_found("request", id).knowing(ids))
    }

    /// Returns the runs of a request, in the order of its verdict; none exists before that.
    ///
    /// # Errors
    /// `not_found`, also for a request that is not visible to the caller.
    pub async fn request_runs(
        &self,
        caller: &Caller,
        request: &RequestId,
    ) -> Result<Vec<RunId>, EngineError> {
        let mut runs = self.routed_runs(caller, request).await?.unwrap_or_default();
        let record = self.request_of(caller, request).await?;
        let asked = ActiveRequest::from_json(&record.asked, record.tenant_id)?;
        let analysis = analysis_run_id(&asked);
        if self.store.run(&caller.tenant, &analysis).await?.is_some() {
            runs.push(analysis);
        }
        Ok(runs)
    }

    /// Returns the runs of a request by its verdict; `None` before that.
    pub(super) async fn routed_runs(
        &self,
        caller: &Caller,
        request: &RequestId,
    ) -> Result<Option<Vec<RunId>>, EngineError> {
        let record = self.request_of(caller, request).await?;
        let asked = ActiveRequest::from_json(&record.asked, record.tenant_id)?;
        let Some(verdict) = record.verdict else {
            return Ok(None);
        };
        let classified: Classification = decode_stored(&verdict)
            .map_err(|error| EngineError::internal("reading a recorded verdict", error))?;
        Ok(Some(runs_of(&asked, &classified)))
    }
}

/// Returns the runs of a request, created or not.
pub(crate) fn runs_of(asked: &ActiveRequest, classified: &Classification) -> Vec<RunId> {
    if let Some(run) = classified.earlier_run() {
        return vec![run.clone()];
    }
    if !matches!(classified.course(), Course::Run | Course::Open) {
        return Vec::new();
    }
    match &classified.playbook {
        Some(playbook) => vec![run_id(asked, playbook.as_ref())],
        None => {
            let skills = classified.skills.iter();
            skills.map(|skill| run_id(asked, skill.as_ref())).collect()
        }
    }
}

pub(super) fn recorded<T: DeserializeOwned>(text: &str) -> Result<T, EngineError> {
    decode_stored(text).map_err(|error| EngineError::internal("reading a recorded request", error))
}
