//! Slots for work of several tenants, shared fairly: waiting tasks get slots in turn by tenant, so that a thousand
//! calls of one tenant do not delay another tenant's first (round robin; Nagle, RFC 970).
//!
//! A free slot is used at once, and no slot is free while a task waits.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use charter_contract::ids::TenantId;
use tokio::sync::oneshot;

/// The slots of a process.
#[derive(Debug, Clone)]
pub(crate) struct FairSlots(Arc<Mutex<Waiting>>);

/// A slot; dropping it passes it to the next task.
#[derive(Debug)]
pub(crate) struct Slot(Option<FairSlots>);

#[derive(Debug)]
struct Waiting {
    free: usize,
    /// The waiting tenants in the order of their turns; each once.
    turns: VecDeque<TenantId>,
    queues: HashMap<TenantId, VecDeque<oneshot::Sender<Slot>>>,
}

impl FairSlots {
    /// Creates this many slots.
    pub(crate) fn new(places: usize) -> Self {
        Self(Arc::new(Mutex::new(Waiting {
            free: places,
            turns: VecDeque::new(),
            queues: HashMap::new(),
        })))
    }

    /// Waits for a slot for work of a tenant.
    pub(crate) async fn take(&self, tenant: &TenantId) -> Slot {
        let turn = {
            let mut waiting = self.waiting();
            if waiting.free > 0 {
                waiting.free -= 1;
                return Slot(Some(self.clone()));
            }
            waiting.queue(tenant)
        };
        match turn.await {
            Ok(slot) => slot,
            // The queue is never dropped while a task waits in it: `self` holds it.
            Err(_) => Slot(None),
        }
    }

    /// Returns the number of tasks that wait for a slot, over all tenants.
    pub(crate) fn queued(&self) -> usize {
        let waiting = self.waiting();
        let turns = waiting.queues.values().flatten();
        // A task that gave up has dropped its receiver, and stays in the queue until its turn.
        turns.filter(|turn| !turn.is_closed()).count()
    }

    /// Returns the number of free slots.
    #[cfg(test)]
    pub(crate) fn free(&self) -> usize {
        self.waiting().free
    }

    /// Passes a slot to the next task, or keeps it free.
    fn pass_on(self) {
        loop {
            let Some(next) = self.waiting().next() else {
                return;
            };
            match next.send(Slot(Some(self.clone()))) {
                Ok(()) => return,
                // The waiting task is gone; the slot is still free to pass on.
                Err(mut slot) => slot.0 = None,
            }
        }
    }

    /// A panic of a lock holder leaves it intact: no change can fail half-way.
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(slots) = self.0.take() {
            slots.pass_on();
        }
    }
}

impl Waiting {
    fn queue(&mut self, tenant: &TenantId) -> oneshot::Receiver<Slot> {
        let (turn, slot) = oneshot::channel();
        let queue = self.queues.entry(tenant.clone()).or_default();
        if queue.is_empty() {
            self.turns.push_back(tenant.clone());
        }
        queue.push_back(turn);
        slot
    }

    /// Returns the next task; if no task waits, the slot becomes free.
    fn next(&mut self) -> Option<oneshot::Sender<Slot>> {
        while let Some(tenant) = self.turns.pop_front() {
            let Some(queue) = self.queues.get_mut(&tenant) else {
                continue;
            };
            let next = queue.pop_front();
            if queue.is_empty() {
                self.queues.remove(&tenant);
            } else {
                self.turns.push_back(tenant);
            }
            if next.is_some() {
                return next;
            }
        }
        self.free += 1;
        None
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    type Take<'s> = Pin<Box<dyn Future<Output = Slot> + 's>>;

    fn tenant(id: &str) -> TenantId {
        TenantId::parse(id).unwrap()
    }

    /// A task that has begun to wait.
    fn waits<'s>(slots: &'s FairSlots, tenant: &'s TenantId) -> Take<'s> {
        let mut take: Take<'s> = Box::pin(slots.take(tenant));
        assert!(has(&mut take).is_none(), "there was a place");
        take
    }

    fn has(take: &mut Take<'_>) -> Option<Slot> {
        match take.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(slot) => Some(slot),
            Poll::Pending => None,
        }
    }

    /// Many calls of one tenant do not delay another's; within a tenant, the order is first in, first out.
    #[tokio::test]
    async fn places_go_round_the_tenants() {
        let slots = FairSlots::new(1);
        let (many, few) = (tenant("many"), tenant("few"));
        let first = slots.take(&many).await;
        let mut waiting: Vec<Take<'_>> = (0..3).map(|_| waits(&slots, &many)).collect();
        waiting.push(waits(&slots, &few));
        assert_eq!(slots.queued(), 4);
        let mut order = Vec::new();
        let mut held = Some(first);
        while order.len() < 4 {
            drop(held.take());
            let next = waiting.iter_mut().enumerate();
            let mut next = next.filter(|(at, _)| !order.contains(at));
            let (at, slot) = next.find_map(|(at, take)| Some((at, has(take)?))).unwrap();
            order.push(at);
            held = Some(slot);
        }
        assert_eq!(order, [0, 3, 1, 2]);
        drop(held);
        assert_eq!(slots.queued(), 0);
        assert_eq!(slots.waiting().free, 1);
        assert!(slots.waiting().queues.is_empty());
    }

    /// A task that gives up uses no slot, whether it waits or its turn has just come.
    #[tokio::test]
    async fn who_gives_up_leaves_its_place_to_others() {
        let slots = FairSlots::new(1);
        let (a, b) = (tenant("a"), tenant("b"));
        let held = slots.take(&a).await;
        let (gone, given, mut last) = (waits(&slots, &a), waits(&slots, &b), waits(&slots, &a));
        drop(gone);
        assert_eq!(slots.queued(), 2);
        drop(held);
        // It got the slot, and never used it.
        drop(given);
        let slot = has(&mut last).unwrap();
        drop(slot);
        drop(last);
        assert_eq!(slots.waiting().free, 1);
    }

    /// No slot is lost or invented by concurrent tasks.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn as_many_work_at_once_as_there_are_places() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        const PLACES: usize = 3;
        let slots = FairSlots::new(PLACES);
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..200 {
            let (slots, now, most) = (slots.clone(), Arc::clone(&now), Arc::clone(&most));
            tasks.spawn(async move {
                let tenant = tenant(["a", "b", "c"][number % 3]);
                let taking = slots.take(&tenant);
                let patience =
                    std::time::Duration::from_micros(if number % 5 == 0 { 1 } else { 10_000_000 });
                let Ok(_slot) = tokio::time::timeout(patience, taking).await else {
                    return;
                };
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                now.fetch_sub(1, Ordering::SeqCst);
            });
        }
        tasks.join_all().await;
        assert!((1..=PLACES).contains(&most.load(Ordering::SeqCst)));
        assert_eq!(slots.waiting().free, PLACES);
        assert!(slots.waiting().queues.is_empty());
    }
}
