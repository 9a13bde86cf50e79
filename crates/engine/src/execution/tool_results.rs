//! Results of readonly calls, for reuse within a step's `cache_ttl_seconds`.
//!
//! Kept in this process only, and bounded in number and in memory. A key holds the tenant, the tool's content and
//! the exact parameters, so nothing is shared across tenants or tool versions.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::bounds::{RESULT_MEMORY, RESULTS_MEMORY};
use charter_contract::canonical;
use charter_contract::catalogue::tool::Tool;
use charter_contract::ids::TenantId;
use charter_contract::json::memory_of;
use charter_contract::time::Timestamp;
use charter_domain::catalogue::CatalogueEntry;
use quick_cache::Weighter;
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
        tool: &CatalogueEntry<Tool>,
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

/// A result, and what is counted for it.
#[derive(Debug, Clone)]
struct CachedResult {
    at: Timestamp,
    output: Arc<Value>,
    weight: u64,
}

/// Counts what a result takes.
#[derive(Debug, Clone, Copy)]
struct Weights;

impl Weighter<ResultKey, CachedResult> for Weights {
    fn weight(&self, _key: &ResultKey, kept: &CachedResult) -> u64 {
        kept.weight
    }
}

/// The cache.
#[derive(Debug)]
pub(crate) struct ToolResults {
    results: Cache<ResultKey, CachedResult, Weights>,
    /// What the smallest result counts: no more of them are kept than may.
    least: u64,
}

/// Bytes of memory as the cache counts them.
const MEMORY: u64 = RESULTS_MEMORY as u64;

impl ToolResults {
    /// Keeps as many results at most, and no more than `RESULTS_MEMORY` of them.
    pub(crate) fn new(capacity: usize) -> Self {
        let most = u64::try_from(capacity).unwrap_or(u64::MAX);
        Self {
            // Few items are estimated, so that one shard has all the memory.
            results: Cache::with_weighter(capacity.clamp(1, 32), MEMORY, Weights),
            least: MEMORY
                .checked_div(most)
                .map_or(u64::MAX, |least| least.max(1)),
        }
    }

    /// A result of the same call that is not older than `ttl`.
    pub(crate) fn get(&self, key: &ResultKey, ttl: Duration, now: Timestamp) -> Option<Value> {
        let CachedResult { at, output, .. } = self.results.get(key)?;
        let age = now.as_micros().saturating_sub(at.as_micros());
        let ttl = i64::try_from(ttl.as_micros()).unwrap_or(i64::MAX);
        (age < ttl).then(|| Value::clone(&output))
    }

    /// Forgets a tenant's results: something was changed, and nobody knows which of them it touches.
    pub(crate) fn forget(&self, tenant: &TenantId) {
        self.results.retain(|key, _| key.tenant != *tenant);
    }

    /// Keeps a result, unless it is too large.
    pub(crate) fn insert(&self, key: ResultKey, output: &Value, now: Timestamp) {
        let memory = memory_of(output).saturating_add(key.parameters.len());
        if memory > RESULT_MEMORY || self.least > MEMORY {
            return;
        }
        let kept = CachedResult {
            at: now,
            output: Arc::new(output.clone()),
            weight: u64::try_from(memory).unwrap_or(u64::MAX).max(self.least),
        };
        self.results.insert(key, kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ResultKey {
        ResultKey {
            tenant: TenantId::parse("acme").unwrap(),
            tool: name.to_owned(),
            content_hash: String::new(),
            parameters: String::new(),
        }
    }

    fn now() -> Timestamp {
        Timestamp::from_micros(0).unwrap()
    }

    fn has(results: &ToolResults, name: &str) -> bool {
        let found = results.get(&key(name), Duration::from_secs(1), now());
        found.is_some()
    }

    #[test]
    fn a_large_result_is_not_kept_and_all_together_take_no_more_than_they_may() {
        let results = ToolResults::new(1_000);
        results.insert(key("small"), &Value::from("x"), now());
        assert!(has(&results, "small"));
        results.insert(key("large"), &Value::from("x".repeat(RESULT_MEMORY)), now());
        assert!(!has(&results, "large"));
        let output = Value::from("x".repeat(RESULT_MEMORY - 1_000));
        for number in 0..20 {
            results.insert(key(&number.to_string()), &output, now());
        }
        assert!(results.results.weight() <= MEMORY);
        let kept = (0..20).filter(|number| has(&results, &number.to_string()));
        assert!((4..=8).contains(&kept.count()));
    }

    #[test]
    fn no_more_results_are_kept_than_may() {
        let results = ToolResults::new(10);
        for number in 0..100 {
            results.insert(key(&number.to_string()), &Value::Null, now());
        }
        assert!(results.results.len() <= 10);
        assert!(!results.results.is_empty());
        let none = ToolResults::new(0);
        none.insert(key("a"), &Value::Null, now());
        assert!(!has(&none, "a"));
    }
}
