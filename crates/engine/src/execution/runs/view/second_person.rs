//! Whether a second person can approve the calls of a run. If four eyes are required and the tenant has no such person,
//! the run would wait until its approval lapses, so it warns from its start (ruling 33).

use std::collections::BTreeSet;

use charter_contract::catalogue::playbook::SafetyClass;
use charter_contract::ids::{TenantId, UserId};
use charter_domain::person::CredentialUser;
use charter_domain::run::{Run, StepState};
use charter_store::page::{MAX_PAGE, PageRequest};

use super::RunViewService;
use crate::EngineError;

/// Maximum pages of keys to read. A tenant with more keys is assumed to have a second person.
const MOST_PAGES: usize = 10;

/// The warning of a run that has no possible approver.
const NO_APPROVER: &str = "this run needs four eyes, but every user who could approve it has requested it, or shares \
    a key creator with a user who has: give another person of the tenant a key of the configuration with the role \
    `operator`, or a key created on the data directory";

impl RunViewService {
    /// Returns the warnings about a run.
    pub(super) async fn notes_on(
        &self,
        tenant: &TenantId,
        run: &Run,
    ) -> Result<Vec<String>, EngineError> {
        let is_open = run.outcome().is_none() && !run.is_dry_run();
        self.keys.has_keys().await?;
        if !(is_open && self.asks_for_two(run).await) {
            return Ok(Vec::new());
        }
        let requesters = run.requesters().all();
        Ok(match self.has_second_person(tenant, &requesters).await? {
            true => Vec::new(),
            false => vec![NO_APPROVER.to_owned()],
        })
    }

    /// Returns whether the plan of a run has a call that needs a second person's approval.
    async fn asks_for_two(&self, run: &Run) -> bool {
        let waits = |state: &StepState| matches!(state, StepState::AwaitingApproval { .. });
        let is_asking = run.steps().states().any(|(_, state)| waits(state));
        let forward = || {
            let steps = run.graph().steps().iter();
            steps.filter(|step| step.reverses.is_none())
        };
        let writes = forward().any(|step| step.writes());
        let reviewed = forward().any(|step| step.reviewed);
        if !(is_asking || writes || reviewed) {
            return false;
        }
        let four_eyes = self.keys.four_eyes();
        match self.safety_of(run).await {
            Some(SafetyClass::Destructive) => true,
            Some(SafetyClass::Automated) => four_eyes && (is_asking || reviewed),
            Some(SafetyClass::Supervised) | None => four_eyes,
        }
    }

    /// Returns the safety class of the playbook that a run executes. An unreadable playbook fails the run in its
    /// driver, and must not prevent showing the run.
    async fn safety_of(&self, run: &Run) -> Option<SafetyClass> {
        let playbook = self.pinned.playbook(run).await?;
        Some(playbook.safety.safety_class)
    }

    /// Returns whether the tenant has an approver who is certainly none of these users.
    async fn has_second_person(
        &self,
        tenant: &TenantId,
        askers: &BTreeSet<UserId>,
    ) -> Result<bool, EngineError> {
        let known = &self.approvers;
        let mut configured = known.users.get(tenant).into_iter().flatten();
        if known.provided.contains(tenant) || configured.any(|user| !askers.contains(user)) {
            return Ok(true);
        }
        let now = self.clock.now();
        let mut page = PageRequest::new(None, MAX_PAGE);
        for _ in 0..MOST_PAGES {
            let found = self.store.keys(tenant, &page).await?;
            let mut keys = found.entries.into_iter();
            let has_second = keys.any(|key| {
                let decides = key.is_live(now) && key.rights.decides();
                let person = CredentialUser {
                    user: key.user_id,
                    makers: key.makers,
                };
                decides && !person.may_be_among(askers)
            });
            if has_second {
                return Ok(true);
            }
            match found.next {
                Some(next) => page = PageRequest::new(Some(next), MAX_PAGE),
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}
