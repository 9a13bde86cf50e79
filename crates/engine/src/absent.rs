//! Errors about ids that lead to nothing the caller sees, which list the newest that the caller does see. Must not
//! know what was asked of the record.

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
    /// That the caller sees no such run.
    ///
    /// # Errors
    /// When storage fails, here and below.
    pub(crate) async fn no_run(
        &self,
        caller: &Caller,
        run: &RunId,
    ) -> Result<EngineError, EngineError> {
        let seen = self.runs(caller, RunQuery::default(), &newest()).await?;
        let ids = seen.entries.iter().map(|seen| seen.run_id.as_str());
        Ok(EngineError::not_found("run", run).knowing(ids))
    }

    /// That the caller sees no such request.
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

    /// That the caller sees no such record.
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

    /// That the caller sees no such memory.
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

    /// That the caller sees no such approval.
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

    /// That a tenant has no such route example. For callers who may edit the tenant's catalogue and see all examples.
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

    /// That a tenant has no such key. For admins, who see all of them.
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
