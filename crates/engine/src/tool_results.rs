//! Results of readonly calls, for reuse within a step's `cache_ttl_seconds`.
//!
//! Kept in this process only and bounded in number. A key holds the tenant, the tool's content and
//! the exact parameters, so nothing is shared across tenants or tool versions.

use std::time::Duration;

use charter_contract::canonical;
use charter_contract::catalogue::tool::Tool;
use charter_contract::ids::TenantId;
use charter_contract::time::Timestamp;
use charter_domain::catalogue::Entry;
use quick_cache::sync::Cache;
use serde_json::{Map, Value};

/// What makes two calls the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ResultKey {
    tenant: TenantId,
    tool: String,
    content_hash: String,
    parameters: String,
}

impl ResultKey {
    pub(crate) fn new(
        tenant: &TenantId,
        tool: &Entry<Tool>,
        parameters: &Map<String, Value>,
    ) -> Self {
        Self {
            tenant: tenant.clone(),
            tool: tool.document.tool_id.to_string(),
            content_hash: tool.content_hash.clone(),
            parameters: canonical::text(Value::Object(parameters.clone())),
        }
    }
}

/// The cache.
#[derive(Debug)]
pub(crate) struct ToolResults {
    results: Cache<ResultKey, (Timestamp, Value)>,
}

impl ToolResults {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            results: Cache::new(capacity),
        }
    }

    /// A result of the same call that is not older than `ttl`.
    pub(crate) fn get(&self, key: &ResultKey, ttl: Duration, now: Timestamp) -> Option<Value> {
        let (at, output) = self.results.get(key)?;
        let age = now.as_micros().saturating_sub(at.as_micros());
        let ttl = i64::try_from(ttl.as_micros()).unwrap_or(i64::MAX);
        (age < ttl).then_some(output)
    }

    /// Forgets a tenant's results: something was changed, and nobody knows which of them it touches.
    pub(crate) fn forget(&self, tenant: &TenantId) {
        self.results.retain(|key, _| key.tenant != *tenant);
    }

    pub(crate) fn put(&self, key: ResultKey, output: Value, now: Timestamp) {
        self.results.insert(key, (now, output));
    }
}
