//! The rate limits of this process: one bucket for each tenant and tool that was called lately.
//!
//! Buckets are kept in memory and are full after a start. Their number is bounded: a full bucket
//! is as good as none and is forgotten first. Knows nothing of runs; whoever calls tools asks.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use charter_contract::catalogue::tool::Tool;
use charter_contract::ids::{TenantId, ToolId};
use charter_contract::time::Timestamp;
use charter_domain::rate_limit::{Bucket, Left, Rate, TooSoon};

/// Buckets kept at once, some 200 bytes each.
const MAX_BUCKETS: usize = 100_000;

/// The buckets of all tenants and tools.
#[derive(Debug)]
pub(crate) struct RateLimits {
    most: usize,
    buckets: Mutex<HashMap<(TenantId, ToolId), Bucket>>,
}

impl Default for RateLimits {
    fn default() -> Self {
        Self::with_room(MAX_BUCKETS)
    }
}

impl RateLimits {
    fn with_room(most: usize) -> Self {
        Self {
            most,
            buckets: Mutex::default(),
        }
    }

    /// Takes one call of a tool for a tenant. A tool without a `rate_limit` may always be called.
    ///
    /// # Errors
    /// [`TooSoon`] with the time to wait; nothing was taken.
    pub(crate) fn take(
        &self,
        tenant: &TenantId,
        tool: &Tool,
        now: Timestamp,
    ) -> Result<(), TooSoon> {
        let Some(limit) = &tool.rate_limit else {
            return Ok(());
        };
        let rate = Rate::from(limit);
        // A bucket is one value that is replaced whole, so a panic elsewhere leaves it sound.
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (tenant.clone(), tool.tool_id.clone());
        if !buckets.contains_key(&key) && buckets.len() >= self.most {
            make_room(&mut buckets, now);
        }
        let bucket = buckets.entry(key).or_insert_with(|| Bucket::new(rate));
        *bucket = bucket.at_rate(rate, now);
        bucket.take(now)
    }

    /// What a call of a tool for a tenant would find, without taking one; `None` for a tool without a
    /// `rate_limit`.
    pub(crate) fn look(
        &self,
        tenant: &TenantId,
        tool: &Tool,
        now: Timestamp,
    ) -> Option<Result<Left, TooSoon>> {
        let rate = Rate::from(tool.rate_limit.as_ref()?);
        let buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let known = buckets.get(&(tenant.clone(), tool.tool_id.clone()));
        let bucket = known.map_or_else(|| Bucket::new(rate), |known| known.at_rate(rate, now));
        Some(bucket.look(now))
    }
}

/// Forgets the buckets that are full. When all are in use, one in eight of any goes, so that this is
/// not done for every call; the tools concerned may be called a burst too often.
fn make_room(buckets: &mut HashMap<(TenantId, ToolId), Bucket>, now: Timestamp) {
    const SHARE: usize = 8;
    let before = buckets.len();
    buckets.retain(|_, bucket| !bucket.is_full(now));
    let enough = before - before / SHARE;
    if buckets.len() <= enough {
        return;
    }
    let mut place = 0_usize;
    buckets.retain(|_, _| {
        place += 1;
        !place.is_multiple_of(SHARE)
    });
    tracing::warn!(
        buckets = before,
        "too many tools are rate limited at once; some limits start anew"
    );
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(id: &str, limit: &serde_json::Value) -> Tool {
        serde_json::from_value(json!({
            "tool_id": id, "name": "t", "provider": "p", "tool_class": "write", "domain": "d",
            "description": "d", "language": "python", "rate_limit": limit,
        }))
        .unwrap()
    }

    fn tenant(id: &str) -> TenantId {
        TenantId::parse(id).unwrap()
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(1_700_000_000_000_000 + seconds * 1_000_000).unwrap()
    }

    #[test]
    fn b003_4_every_tenant_and_every_tool_has_a_limit_of_its_own() {
        let limits = RateLimits::default();
        let slow = tool("a", &json!({"requests_per_minute": 6, "burst": 1}));
        let other = tool("b", &json!({"requests_per_minute": 6, "burst": 1}));
        let free = tool("c", &json!(null));
        assert_eq!(limits.take(&tenant("acme"), &slow, at(0)), Ok(()));
        let wait = Err(TooSoon { wait_ms: 10_000 });
        assert_eq!(limits.take(&tenant("acme"), &slow, at(0)), wait);
        assert_eq!(limits.take(&tenant("umbrella"), &slow, at(0)), Ok(()));
        assert_eq!(limits.take(&tenant("acme"), &other, at(0)), Ok(()));
        assert_eq!(limits.take(&tenant("acme"), &slow, at(10)), Ok(()));
        for _ in 0..100 {
            assert_eq!(limits.take(&tenant("acme"), &free, at(0)), Ok(()));
        }
    }

    #[test]
    fn b003_4_a_changed_limit_binds_at_once() {
        let limits = RateLimits::default();
        let wide = tool("a", &json!({"requests_per_minute": 60, "burst": 10}));
        let narrow = tool("a", &json!({"requests_per_minute": 60, "burst": 1}));
        assert_eq!(limits.take(&tenant("acme"), &wide, at(0)), Ok(()));
        let wait = Err(TooSoon { wait_ms: 1_000 });
        assert_eq!(limits.take(&tenant("acme"), &narrow, at(0)), wait);
    }

    #[test]
    fn b003_4_looking_at_a_limit_takes_no_call() {
        let limits = RateLimits::default();
        let slow = tool("a", &json!({"requests_per_minute": 6, "burst": 2}));
        let acme = tenant("acme");
        let left = |calls| Some(Ok(Left { calls, burst: 2 }));
        for _ in 0..5 {
            assert_eq!(limits.look(&acme, &slow, at(0)), left(2));
        }
        assert!(limits.buckets.lock().unwrap().is_empty());
        assert_eq!(limits.take(&acme, &slow, at(0)), Ok(()));
        assert_eq!(limits.look(&acme, &slow, at(0)), left(1));
        assert_eq!(limits.take(&acme, &slow, at(0)), Ok(()));
        let wait = Some(Err(TooSoon { wait_ms: 10_000 }));
        assert_eq!(limits.look(&acme, &slow, at(0)), wait);
        assert_eq!(limits.look(&tenant("umbrella"), &slow, at(0)), left(2));
        let free = tool("b", &json!(null));
        assert_eq!(limits.look(&acme, &free, at(0)), None);
    }

    #[test]
    fn the_number_of_buckets_is_bounded_and_full_ones_go_first() {
        let limits = RateLimits::with_room(16);
        let limit = json!({"requests_per_minute": 1, "burst": 1});
        let kept = tool("kept", &limit);
        for id in 0..15 {
            assert_eq!(
                limits.take(&tenant("acme"), &tool(&id.to_string(), &limit), at(0)),
                Ok(())
            );
        }
        assert_eq!(limits.take(&tenant("acme"), &kept, at(50)), Ok(()));
        // The fifteen are full again by now.
        assert_eq!(
            limits.take(&tenant("acme"), &tool("next", &limit), at(61)),
            Ok(())
        );
        assert_eq!(limits.buckets.lock().unwrap().len(), 2);
        assert!(limits.take(&tenant("acme"), &kept, at(62)).is_err());
        for id in 0..1_000 {
            assert_eq!(
                limits.take(&tenant("acme"), &tool(&id.to_string(), &limit), at(62)),
                Ok(())
            );
            assert!(limits.buckets.lock().unwrap().len() <= 16);
        }
    }
}
