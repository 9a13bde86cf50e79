//! The links between calls of tools and the clients that take part in them, by run. They are of this process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use charter_contract::bounds::LINKED_CALLS;
use charter_contract::ids::{RunId, TenantId, UserId};
use charter_effects::{CallClient, CallLink, LinkMemory};

use crate::Caller;

/// How long a link that is not in use is kept, from the start of its call.
const KEPT: Duration = Duration::from_secs(600);

/// The link of a call, and the caller whose call it is.
#[derive(Debug)]
struct KeptLink {
    tenant: TenantId,
    user: UserId,
    link: CallLink,
    since: Instant,
}

/// The links of this process, by run, and the memory that they share.
#[derive(Debug, Default)]
pub(crate) struct CallLinks {
    by_run: Mutex<BTreeMap<String, KeptLink>>,
    memory: LinkMemory,
}

impl CallLinks {
    fn links(&self) -> MutexGuard<'_, BTreeMap<String, KeptLink>> {
        // Every change is one step, so a panic of a holder leaves the map whole.
        self.by_run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes and keeps the link of a run that is about to start. Without room it is not kept, and the client takes no
    /// part.
    pub(super) fn link(&self, run: &RunId, caller: &Caller, client: CallClient) -> CallLink {
        let link = CallLink::new(client, self.memory.clone());
        self.keep(run, caller, &link);
        link
    }

    fn keep(&self, run: &RunId, caller: &Caller, link: &CallLink) {
        let mut links = self.links();
        links.retain(|_, kept| !kept.link.is_idle() || kept.since.elapsed() < KEPT);
        if links.len() >= LINKED_CALLS
            && let Some(oldest) = oldest_idle(&links)
        {
            links.remove(&oldest);
        }
        if links.len() >= LINKED_CALLS {
            tracing::warn!("no room to link another call to its client");
            return;
        }
        let kept = KeptLink {
            tenant: caller.tenant.clone(),
            user: caller.user.clone(),
            link: link.clone(),
            since: Instant::now(),
        };
        links.insert(run.to_string(), kept);
    }

    pub(super) fn forget(&self, run: &RunId) {
        let run: &str = run.as_ref();
        self.links().remove(run);
    }

    /// Returns the link of an effect by its idempotency key, which begins with its run.
    pub(crate) fn link_of_effect(&self, key: &str) -> Option<CallLink> {
        let run = key.split('/').next().unwrap_or_default();
        self.links().get(run).map(|kept| kept.link.clone())
    }

    pub(super) fn link_of(&self, run: &RunId, caller: &Caller) -> Option<CallLink> {
        let links = self.links();
        let run: &str = run.as_ref();
        let kept = links.get(run)?;
        let is_own = kept.tenant == caller.tenant && kept.user == caller.user;
        is_own.then(|| kept.link.clone())
    }
}

fn oldest_idle(links: &BTreeMap<String, KeptLink>) -> Option<String> {
    let idle = links.iter().filter(|(_, kept)| kept.link.is_idle());
    let oldest = idle.min_by_key(|(_, kept)| kept.since);
    oldest.map(|(run, _)| run.clone())
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn caller(user: &str) -> Caller {
        Caller {
            user: UserId::parse(user).unwrap(),
            ..Caller::local().unwrap()
        }
    }

    #[test]
    fn a_link_belongs_to_its_caller_and_to_the_effects_of_its_run() {
        let (linked, run) = (CallLinks::default(), RunId::from_uuid(Uuid::now_v7()));
        let link = linked.link(&run, &caller("ann"), CallClient::default());
        assert_eq!(linked.link_of(&run, &caller("ann")), Some(link.clone()));
        assert_eq!(linked.link_of(&run, &caller("bob")), None);
        let effect = format!("{run}/step-001");
        assert_eq!(linked.link_of_effect(&effect), Some(link));
        assert_eq!(linked.link_of_effect("run-other/step-001"), None);
    }

    #[test]
    fn a_link_that_is_not_in_use_makes_room_for_another() {
        let (linked, ann) = (CallLinks::default(), caller("ann"));
        let made = |run: &RunId| linked.link(run, &ann, CallClient::default());
        let run = || RunId::from_uuid(Uuid::now_v7());
        let mut in_use: Vec<CallLink> = (0..LINKED_CALLS).map(|_| made(&run())).collect();
        let more = run();
        drop(made(&more));
        assert_eq!(linked.link_of(&more, &ann), None);
        in_use.pop();
        let link = made(&more);
        assert_eq!(linked.link_of(&more, &ann), Some(link));
    }
}
