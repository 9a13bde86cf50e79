//! Background tasks: resuming work that a crash left open, and sweeping expired data.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use charter_contract::agentic::request::AgentRequest;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::RequestId;
use charter_contract::json::{decode_stored, to_stored};

use crate::requests::ActiveRequest;
use crate::settings::ProcessRole;
use crate::{Engine, EngineError};

/// Open requests that are resumed at once.
const BATCH: usize = 100;

/// Interval between sweeps.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// Runs deleted by one statement.
const SWEEP_LIMIT: usize = 1_000;

impl Engine {
    /// Records missing results of ended changes, and resumes unanswered requests. At the start these are the requests
    /// of the last process, later those with transient failures. Returns how many are open.
    ///
    /// # Errors
    /// If storage fails; a request that fails again is recorded as failed.
    pub async fn recover(self: &Arc<Self>) -> Result<usize, EngineError> {
        if self.settings().duty == ProcessRole::Api || self.is_draining() {
            return Ok(0);
        }
        if let Err(error) = self.record_results().await {
            tracing::warn!(error = %error, "results of requests could not be looked for; it is tried again");
        }
        let hold = self.hold();
        let open = self.store().take_requests(self.now(), &hold, BATCH).await?;
        let count = open.len();
        if count == 0 {
            self.claim().await?;
            return Ok(0);
        }
        let mut answering = Vec::with_capacity(count);
        for record in open {
            let asked = ActiveRequest::from_json(&record.asked, record.tenant_id)?;
            let engine = Arc::clone(self);
            answering.push(self.tasks().spawn(async move {
                let id = asked.id().clone();
                match engine.resume_request(&asked).await {
                    None => {}
                    Some(Ok(_)) => {
                        tracing::info!(request.id = %id, "an interrupted request was answered");
                    }
                    Some(Err(error)) => log_failure(&id, &error),
                }
            }));
        }
        let engine = Arc::clone(self);
        self.tasks().spawn(async move {
            // A request drives its own runs; the remaining ones belong to none.
            futures_util::future::join_all(answering).await;
            if let Err(error) = engine.claim().await {
                tracing::warn!(error = %error, "open runs could not be read; it is tried again");
            }
        });
        Ok(count)
    }

    /// Starts the background tasks, which run until the engine shuts down. They follow the other processes of the
    /// store; in a worker they also drive unclaimed runs and do the chores.
    pub fn run_maintenance(self: &Arc<Self>) {
        let tasks = self.tasks();
        tasks.spawn(Arc::clone(self).follow_replicas_forever());
        tasks.spawn(Arc::clone(self).follow_imports_forever());
        tasks.spawn(Arc::clone(self).mirror_skills_forever());
        if self.settings().duty != ProcessRole::Api {
            tasks.spawn(Arc::clone(self).work_forever());
            tasks.spawn(Arc::clone(self).sweep_forever());
            tasks.spawn(Arc::clone(self).retain_evidence_forever());
            tasks.spawn(Arc::clone(self).refresh_lenses_forever());
        }
    }

    /// Sweeps, and resumes open work, until the engine shuts down.
    pub(crate) async fn sweep_forever(self: Arc<Self>) {
        let first = tokio::time::Instant::now() + SWEEP_EVERY;
        let mut ticks = tokio::time::interval_at(first, SWEEP_EVERY);
        loop {
            tokio::select! {
                () = self.shutdown().cancelled() => return,
                _ = ticks.tick() => {}
            }
            if let Err(error) = self.sweep().await {
                tracing::warn!(error = %error, "sweeping failed; it is tried again");
            }
        }
    }

    /// Deletes data that has expired or is past its retention.
    ///
    /// # Errors
    /// If storage fails.
    pub async fn sweep(&self) -> Result<(), EngineError> {
        let now = self.now();
        let before = self.before(now, self.settings().retention);
        let store = self.store();
        let tags = store.sweep_tags(now).await?;
        let sessions = store.sweep_sessions(now).await?;
        let requests = store.sweep_requests(before).await?;
        let memories = store.sweep_memories(now).await?;
        let messages = store.sweep_messages(before).await?;
        let runs = store.sweep_runs(before, SWEEP_LIMIT).await?;
        tracing::debug!(tags, sessions, requests, memories, messages, runs, "swept");
        Ok(())
    }
}

/// Logs why an open request has no answer yet. A request that waits for a person is checked once a minute, and has not
/// failed.
fn log_failure(id: &RequestId, error: &EngineError) {
    if error.code == ErrorCode::ApprovalRequired {
        tracing::debug!(request.id = %id, "a request waits for an approval");
        return;
    }
    tracing::warn!(request.id = %id, error = %error, "an interrupted request failed");
}

impl ActiveRequest {
    /// Returns the recorded form: the request and its user, without the tenant, which the record has.
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
    /// The makers of the key that was used.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    makers: BTreeSet<charter_contract::ids::UserId>,
}

impl RecordedRequest {
    fn to_json(&self) -> Result<String, EngineError> {
        to_stored(self).map_err(|error| EngineError::internal("recording a request", error))
    }
}

/// Returns whether two recorded forms are of one request. The key of the user does not matter.
pub(crate) fn is_repeat(earlier: &str, again: &str) -> bool {
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
    use crate::caller::tests::person;

    /// Ruling 33: the makers of the key count as requesters of every run that the request starts.
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
