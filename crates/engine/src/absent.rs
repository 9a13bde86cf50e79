//! Errors about ids that match nothing visible to the caller. Each lists the newest visible records. Must not know the
//! operation.

use charter_contract::ids::{
    ApprovalId, EvidenceId, KeyId, MemoryId, RequestId, RouteExampleId, RunId, TenantId,
};
use charter_store::approval::ApprovalFilter;
use charter_store::memory::Proposals;
use charter_store::page::PageRequest;
use charter_store::route_example::ExampleFilter;

use crate::error::MOST_KNOWN;
use crate::evidence::EvidenceQuery;
use crate::runs::RunQuery;
use crate::{Caller, Engine, EngineError};

fn newest() -> PageRequest {
    PageRequest::new(None, MOST_KNOWN)
}

impl Engine {
    /// The error for a run that is not visible to the caller.
    ///
    /// # Errors
    /// If storage fails, here and below.
    pub(crate) async fn no_run(
        &self,
        caller: &Caller,
        run: &RunId,
    ) -> Result<EngineError, EngineError> {
        let seen = self.runs(caller, RunQuery::default(), &newest()).await?;
        let ids = seen.entries.iter().map(|seen| seen.run_id.as_str());
        Ok(EngineError::not_found("run", run).knowing(ids))
    }

    /// The error for a request that is not visible to the caller.
    pub(crate) async fn no_request(
        &self,
        caller: &Caller,
        id: &RequestId,
    ) -> Result<EngineError, EngineError> {
        let page = newest();
        let seen = self
            .store()
            .requests_of(&caller.tenant, caller.only_own(), &page)
            .await?;
        let ids = seen.entries.iter().map(|seen| seen.request_id.as_str());
        Ok(EngineError::not_found("request", id).knowing(ids))
    }

    /// The error for an evidence record that is not visible to the caller.
    pub(crate) async fn no_evidence(
        &self,
        caller: &Caller,
        id: &EvidenceId,
    ) -> Result<EngineError, EngineError> {
        let (query, page) = (EvidenceQuery::default(), newest());
        let seen = self.list_evidence(caller, query, &page).await?;
        let ids = seen.entries.iter().map(|seen| seen.id.as_str());
        Ok(EngineError::not_found("evidence record", id).knowing(ids))
    }

    /// The error for a memory that is not visible to the caller.
    pub(crate) async fn no_memory(
        &self,
        caller: &Caller,
        id: &MemoryId,
    ) -> Result<EngineError, EngineError> {
        let (page, now) = (newest(), self.now());
        let seen = self
            .store()
            .memories(&caller.tenant, &caller.user, Proposals::Without, now, &page)
            .await?;
        let ids = seen.entries.iter().map(|seen| seen.memory_id.as_str());
        Ok(EngineError::not_found("memory", id).knowing(ids))
    }

    /// The error for an approval that is not visible to the caller.
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
        let page = newest();
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

    /// The error for a route example that a tenant does not have. For callers who may edit the tenant's catalogue and
    /// see all examples.
    pub(crate) async fn no_route_example(
        &self,
        tenant: &TenantId,
        example: &RouteExampleId,
    ) -> Result<EngineError, EngineError> {
        let (filter, page) = (ExampleFilter::default(), newest());
        let seen = self.store().route_examples(tenant, filter, &page).await?;
        let ids = seen.entries.iter().map(|seen| seen.example_id.as_str());
        Ok(EngineError::not_found("route example", example).knowing(ids))
    }

    /// The error for a key that a tenant does not have. For admins, who see all keys.
    pub(crate) async fn no_key(
        &self,
        tenant: &TenantId,
        key: &KeyId,
    ) -> Result<EngineError, EngineError> {
        let seen = self.store().keys(tenant, &newest()).await?;
        let ids = seen.entries.iter().map(|seen| seen.key_id.as_str());
        Ok(EngineError::not_found("key", key).knowing(ids))
    }
}
