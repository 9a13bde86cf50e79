//! Results of readonly calls, for reuse within a step's `cache_ttl_seconds`.
//!
//! In this process only, and bounded in number and in memory. A key has the tenant, the tool's content and the exact
//! parameters, so no result is shared across tenants or tool versions. That of a tool with credentials also has the
//! user.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::bounds::{RESULT_MEMORY, RESULTS_MEMORY};
use charter_contract::canonical;
use charter_contract::catalogue::tool::Tool;
use charter_contract::ids::{TenantId, UserId};
use charter_contract::json::memory_of;
use charter_contract::time::Timestamp;
use charter_domain::catalogue::CatalogueEntry;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use serde_json::{Map, Value};

/// The identity of a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ResultKey {
    tenant: TenantId,
    /// The user, if the tool acts with credentials: users see different things with their accounts.
    user: Option<UserId>,
    tool: String,
    content_hash: String,
    parameters: String,
}

impl ResultKey {
    pub(crate) fn new(
        tenant: &TenantId,
        user: &UserId,
        tool: &CatalogueEntry<Tool>,
        parameters: &Map<String, Value>,
    ) -> Self {
        Self {
            tenant: tenant.clone(),
            user: tool.document.has_credentials().then(|| user.clone()),
            tool: tool.document.tool_id.to_string(),
            content_hash: tool.content_hash.clone(),
            parameters: canonical::text(Value::Object(parameters.clone())),
        }
    }
}

/// A result, and its weight.
#[derive(Debug, Clone)]
struct CachedResult {
    at: Timestamp,
    output: Arc<Value>,
    weight: u64,
}

/// Weighs results.
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
    /// Minimum weight of a result, which bounds the number of results.
    least: u64,
}

/// Bytes of memory in the cache's unit.
const MEMORY: u64 = RESULTS_MEMORY as u64;

impl ToolResults {
    /// Creates a cache for this many results, and at most `RESULTS_MEMORY` of them.
    pub(crate) fn new(capacity: usize) -> Self {
        let most = u64::try_from(capacity).unwrap_or(u64::MAX);
        Self {
            // A low estimate of items, so that one shard has all the memory.
            results: Cache::with_weighter(capacity.clamp(1, 32), MEMORY, Weights),
            least: MEMORY
                .checked_div(most)
                .map_or(u64::MAX, |least| least.max(1)),
        }
    }

    /// Returns a result of the same call that is not older than `ttl`.
    pub(crate) fn get(&self, key: &ResultKey, ttl: Duration, now: Timestamp) -> Option<Value> {
        let CachedResult { at, output, .. } = self.results.get(key)?;
        let age = now.as_micros().saturating_sub(at.as_micros());
        let ttl = i64::try_from(ttl.as_micros()).unwrap_or(i64::MAX);
        (age < ttl).then(|| Value::clone(&output))
    }

    /// Removes a tenant's results after a change, because it is unknown which of them it affects.
    pub(crate) fn forget(&self, tenant: &TenantId) {
        self.results.retain(|key, _| key.tenant != *tenant);
    }

    /// Stores a result, unless it is too large.
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
            user: None,
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
