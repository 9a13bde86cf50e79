//! Checks of packages and skills: off the async threads, in slots that tenants get in turn, and only while the caller
//! waits. Must not know the subject of a check.

use charter_contract::ids::TenantId;
use charter_domain::cancellation::Cancellation;

use crate::EngineError;
use crate::ground::fair_slots::{FairSlots, Slot};

/// Checks that run at once in this process. One check may use the memory that a whole package may use.
const MAX_CONCURRENT: usize = 1;

/// A caller that waits for a check. Dropping it cancels the check: its future is dropped when the connection ends.
#[derive(Debug, Default)]
pub(crate) struct WaitingCaller(Cancellation);

impl WaitingCaller {
    /// The flag that the check polls.
    pub(crate) fn cancellation(&self) -> &Cancellation {
        &self.0
    }
}

impl Drop for WaitingCaller {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// A slot among the checks of this process.
pub(crate) struct CheckSlot(Slot);

impl CheckSlot {
    /// Runs a check off the async threads. A blocking thread cannot be interrupted, so the slot stays in use until the
    /// check has ended, even if its caller is gone.
    ///
    /// # Errors
    /// `internal`, naming the operation (`doing`), if the check panics.
    pub(crate) async fn run<T: Send + 'static>(
        self,
        doing: &str,
        cancel: &Cancellation,
        check: impl FnOnce(&Cancellation) -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        let Self(place) = self;
        let cancel = cancel.clone();
        let checking = tokio::task::spawn_blocking(move || {
            let checked = check(&cancel);
            drop(place);
            checked
        });
        checking
            .await
            .map_err(|error| EngineError::internal(doing, error))
    }
}

/// The slots for checks in this process, shared fairly between tenants. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct CheckSlots(FairSlots);

impl Default for CheckSlots {
    fn default() -> Self {
        Self(FairSlots::new(MAX_CONCURRENT))
    }
}

impl CheckSlots {
    /// Waits for a slot for a check of this tenant.
    pub(crate) async fn take(&self, tenant: &TenantId) -> CheckSlot {
        CheckSlot(self.0.take(tenant).await)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The check polls its flag, and the next check begins only when it has ended.
    #[tokio::test]
    async fn a_check_ends_when_its_caller_goes_and_keeps_its_place_until_then() {
        let slots = FairSlots::new(1);
        let tenant = TenantId::parse("a").unwrap();
        let place = CheckSlot(slots.take(&tenant).await);
        let (began, has_begun) = tokio::sync::oneshot::channel();
        let caller = tokio::spawn(async move {
            let waiting = WaitingCaller::default();
            let check = move |cancel: &Cancellation| {
                began.send(()).unwrap();
                while !cancel.is_cancelled() {
                    std::thread::yield_now();
                }
            };
            place.run("checking", waiting.cancellation(), check).await
        });
        has_begun.await.unwrap();
        assert_eq!(slots.free(), 0);
        caller.abort();
        // The next one has the slot as soon as the check has ended.
        let next = tokio::time::timeout(Duration::from_secs(30), slots.take(&tenant));
        drop(next.await.unwrap());
        assert_eq!(slots.free(), 1);
    }

    #[tokio::test]
    async fn a_check_that_fails_gives_its_place_back() {
        let slots = FairSlots::new(1);
        let tenant = TenantId::parse("a").unwrap();
        let place = CheckSlot(slots.take(&tenant).await);
        let waiting = WaitingCaller::default();
        let failed = place.run("checking", waiting.cancellation(), |_| panic!("on purpose"));
        let error: EngineError = failed.await.map(|()| "checked").unwrap_err();
        assert_eq!(error.message, "an internal error while checking");
        assert_eq!(slots.free(), 1);
    }
}
