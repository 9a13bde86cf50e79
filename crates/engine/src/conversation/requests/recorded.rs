//! The recorded form of a request: what was asked and by whom, from which it is answered after a crash.

use std::collections::BTreeSet;

use charter_contract::agentic::request::AgentRequest;
use charter_contract::json::{decode_stored, to_stored};

use super::ActiveRequest;
use crate::EngineError;

impl ActiveRequest {
    /// The recorded form: what was asked and by whom, without the tenant, which the record has.
    pub(crate) fn to_json(&self) -> Result<String, EngineError> {
        let recorded = RecordedRequest {
            user: self.caller.user.clone(),
            role: self.caller.role,
            tier: self.caller.tier,
            profile: self.caller.profile.clone(),
            request: self.request.clone(),
            makers: self.caller.makers.clone(),
        };
        recorded.to_json()
    }

    pub(crate) fn from_json(
        text: &str,
        tenant: charter_contract::ids::TenantId,
    ) -> Result<Self, EngineError> {
        let recorded: RecordedRequest = decode_stored(text)
            .map_err(|error| EngineError::internal("reading a recorded request", error))?;
        let caller = crate::Caller {
            tenant,
            user: recorded.user,
            role: recorded.role,
            tier: recorded.tier,
            // Answering a request reads no skill of the link graph.
            agent_skills: crate::SkillGrants::default(),
            catalogue: crate::CatalogueRole::default_for(recorded.role),
            scopes: crate::AccessScopes::All,
            profile: recorded.profile,
            credential: crate::CredentialId::Local,
            makers: recorded.makers,
        };
        Self::new(&caller, recorded.request)
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
struct RecordedRequest {
    user: charter_contract::ids::UserId,
    role: crate::Role,
    #[serde(default)]
    tier: crate::Tier,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    profile: Option<charter_contract::ids::Label>,
    request: AgentRequest,
    /// The makers of the key that authenticated it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    makers: BTreeSet<charter_contract::ids::UserId>,
}

impl RecordedRequest {
    fn to_json(&self) -> Result<String, EngineError> {
        to_stored(self).map_err(|error| EngineError::internal("recording a request", error))
    }
}

/// Whether two recorded forms are of one request. By which of a user's keys it was asked is no part of it.
pub(super) fn is_repeat(earlier: &str, again: &str) -> bool {
    let without_makers = |text: &str| {
        let recorded: RecordedRequest = decode_stored(text).ok()?;
        let makers = BTreeSet::new();
        RecordedRequest { makers, ..recorded }.to_json().ok()
    };
    earlier == again
        || without_makers(earlier).is_some_and(|earlier| Some(earlier) == without_makers(again))
}

#[cfg(test)]
mod tests {
    use charter_contract::ids::UserId;
    use serde_json::json;

    use super::*;
    use crate::identity::caller::tests::person;

    /// Ruling 33: the makers of the key have asked for every run that the request starts.
    #[test]
    fn a_request_resumed_after_a_crash_keeps_the_makers_of_its_key() {
        let makers = ["ann", "root"].map(|maker| UserId::parse(maker).unwrap());
        let zoe = person("zoe").with_makers(BTreeSet::from(makers));
        let request = json!({
            "id": "req-01930000-0000-7000-8000-000000000031", "timestamp": "2026-04-14T12:00:00Z",
            "input": "move the items",
        });
        let asked = ActiveRequest::new(&zoe, serde_json::from_value(request).unwrap()).unwrap();
        let recorded = asked.to_json().unwrap();
        let resumed = ActiveRequest::from_json(&recorded, zoe.tenant.clone()).unwrap();
        assert_eq!(resumed.caller.person(), zoe.person());
        assert_eq!(resumed.request, asked.request);
    }
}
