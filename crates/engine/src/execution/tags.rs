//! The tag store (seed 000 §2.10): internal, never shown to a client.

use charter_contract::catalogue::tags::{Flow, TagRecord};
use charter_contract::ids::{Label, TagRequestId};
use charter_domain::guardrail::RequestTags;

use crate::ground::moments;
use crate::{Caller, Engine, EngineError, Role};

/// Tags are for the parts of a deployment, not for callers with questions.
const INTERNAL: &str = "tags are internal";

impl Engine {
    /// Writes the tags of a request that another part of the deployment handles.
    ///
    /// # Errors
    /// `permission_denied` below operator; `already_exists` on a second write (B000-15).
    pub async fn put_tags(&self, caller: &Caller, mut tags: TagRecord) -> Result<(), EngineError> {
        caller.must_be(Role::Operator, INTERNAL)?;
        tags.tenant_id = caller.tenant.clone();
        if tags.expires_at.is_none() {
            tags.expires_at = Some(moments::after(self.now(), self.settings().tags_ttl));
        }
        Ok(self.store().put_tags(&tags).await?)
    }

    /// Returns the tags of a request, unless they are absent or expired.
    ///
    /// # Errors
    /// `permission_denied` below operator; `not_found`.
    pub async fn tags(
        &self,
        caller: &Caller,
        request: &TagRequestId,
    ) -> Result<TagRecord, EngineError> {
        caller.must_be(Role::Operator, INTERNAL)?;
        let found = self
            .store()
            .tags(&caller.tenant, request, self.now())
            .await?;
        found.ok_or_else(|| EngineError::not_found("tag record", request))
    }

    /// Returns the persona of an answer: the named one, or that of requests that name none.
    pub(crate) fn persona(&self, named: Option<&Label>) -> Result<Label, EngineError> {
        match named {
            Some(persona) => Ok(persona.clone()),
            None => Label::parse(&self.settings().persona)
                .map_err(|error| EngineError::internal("reading the default persona", error)),
        }
    }

    /// Returns the tags of a request, or of a run without a request, for guardrails and templates.
    pub(crate) fn request_tags(
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
