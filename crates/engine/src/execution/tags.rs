//! The tag store (seed 000 §2.10): internal, never shown to a client.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::catalogue::tags::{Flow, TagRecord};
use charter_contract::ids::{Label, TagRequestId};
use charter_domain::clock::Clock;
use charter_domain::guardrail::RequestTags;
use charter_store::SharedStore;

use crate::ground::core_ports::CorePorts;
use crate::ground::moments;
use crate::{Caller, EngineError, Role};

/// Tags are for the parts of a deployment, not for callers with questions.
const INTERNAL: &str = "tags are internal";

/// The tags of requests.
pub struct TagService {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    /// The persona of requests that name none.
    default_persona: String,
    ttl: Duration,
}

impl std::fmt::Debug for TagService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TagService").finish_non_exhaustive()
    }
}

impl TagService {
    /// Creates the service; `ttl` is how long tags are kept that name no end.
    pub(crate) fn new(ports: CorePorts, default_persona: String, ttl: Duration) -> Self {
        Self {
            store: ports.store,
            clock: ports.clock,
            default_persona,
            ttl,
        }
    }

    /// Writes the tags of a request that another part of the deployment handles.
    ///
    /// # Errors
    /// `permission_denied` below operator; `already_exists` on a second write (B000-15).
    pub async fn put(&self, caller: &Caller, mut tags: TagRecord) -> Result<(), EngineError> {
        caller.must_be(Role::Operator, INTERNAL)?;
        tags.tenant_id = caller.tenant.clone();
        if tags.expires_at.is_none() {
            tags.expires_at = Some(moments::after(self.clock.now(), self.ttl));
        }
        Ok(self.store.put_tags(&tags).await?)
    }

    /// Returns the tags of a request, unless they are absent or expired.
    ///
    /// # Errors
    /// `permission_denied` below operator; `not_found`.
    pub async fn get(
        &self,
        caller: &Caller,
        request: &TagRequestId,
    ) -> Result<TagRecord, EngineError> {
        caller.must_be(Role::Operator, INTERNAL)?;
        let now = self.clock.now();
        let found = self.store.tags(&caller.tenant, request, now).await?;
        found.ok_or_else(|| EngineError::not_found("tag record", request))
    }

    /// Returns the persona of an answer: the named one, or that of requests that name none.
    pub(crate) fn persona(&self, named: Option<&Label>) -> Result<Label, EngineError> {
        match named {
            Some(persona) => Ok(persona.clone()),
            None => Label::parse(&self.default_persona)
                .map_err(|error| EngineError::internal("reading the default persona", error)),
        }
    }

    /// Returns the tags of a request, or of a run without a request, for guardrails and templates.
    pub(crate) fn of_request(
        &self,
        caller: &Caller,
        persona: Option<&Label>,
        flow: Option<Flow>,
    ) -> Result<RequestTags, EngineError> {
        Ok(RequestTags {
            flow,
            persona: self.persona(persona)?,
            tier: caller.tier,
        })
    }
}

#[cfg(test)]
mod tests {
    use charter_contract::error_code::ErrorCode;
    use charter_contract::time::Timestamp;
    use charter_testkit::clock::SimulatedClock;
    use serde_json::json;

    use super::*;
    use crate::RandomIds;
    use crate::engine::tests::open;

    /// Tags without an end are kept for the time of the settings, and only for a part of the deployment.
    #[tokio::test]
    async fn tags_expire() {
        let dir = tempfile::tempdir().unwrap();
        let clock = SimulatedClock::at(Timestamp::parse("2026-04-14T12:00:00Z").unwrap());
        let ports = CorePorts {
            store: open(dir.path()),
            clock: Arc::new(clock.clone()),
            ids: Arc::new(RandomIds),
        };
        let ttl = Duration::from_secs(60);
        let tags = TagService::new(ports, "operator".to_owned(), ttl);
        let caller = Caller::local().unwrap();
        let record: TagRecord = serde_json::from_value(json!({
            "request_id": "req_abc1", "tenant_id": "local", "flow": "knowledge", "domain": "security",
            "persona": "devops",
        }))
        .unwrap();
        let id = record.request_id.clone();
        tags.put(&caller, record).await.unwrap();
        assert_eq!(tags.get(&caller, &id).await.unwrap().request_id, id);
        clock.advance(2 * ttl).unwrap();
        let gone = tags.get(&caller, &id).await.unwrap_err();
        assert_eq!(gone.code, ErrorCode::NotFound);
        let of_run = tags.of_request(&caller, None, None).unwrap();
        assert_eq!(of_run.persona.as_str(), "operator");
    }
}
