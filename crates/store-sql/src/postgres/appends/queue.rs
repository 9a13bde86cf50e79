//! The queue of writes: tenants take turns, so that one with many writes does not delay another. Knows no write.

use std::collections::{HashMap, VecDeque};

use charter_contract::ids::TenantId;

/// Most queued writes of one tenant.
const MAX_OF_TENANT: usize = 1_024;

/// Most queued writes.
const MAX_QUEUED: usize = 8_192;

/// Writes by tenant, each tenant's in their order.
#[derive(Debug)]
pub(super) struct TenantQueue<W> {
    /// Tenants with queued writes; the first one is next.
    turns: VecDeque<TenantId>,
    writes: HashMap<TenantId, VecDeque<W>>,
    length: usize,
}

impl<W> Default for TenantQueue<W> {
    fn default() -> Self {
        Self {
            turns: VecDeque::new(),
            writes: HashMap::new(),
            length: 0,
        }
    }
}

impl<W> TenantQueue<W> {
    /// Adds a write, unless the queue or the tenant's part of it is full. Then returns the number of writes in it.
    pub(super) fn push(&mut self, tenant: &TenantId, write: W) -> Result<(), usize> {
        if self.length >= MAX_QUEUED {
            return Err(self.length);
        }
        if let Some(writes) = self.writes.get_mut(tenant) {
            if writes.len() >= MAX_OF_TENANT {
                return Err(writes.len());
            }
            writes.push_back(write);
        } else {
            self.turns.push_back(tenant.clone());
            self.writes.insert(tenant.clone(), VecDeque::from([write]));
        }
        self.length += 1;
        Ok(())
    }

    /// Removes the next tenant's oldest writes, up to the first that does not fit. The first write always fits. If the
    /// tenant has further writes, its next turn comes after those of the others.
    pub(super) fn take(&mut self, mut fits: impl FnMut(&W) -> bool) -> Option<(TenantId, Vec<W>)> {
        let tenant = self.turns.pop_front()?;
        let mut writes = self.writes.remove(&tenant).unwrap_or_default();
        let fitting = writes.iter().take_while(|write| fits(write)).count();
        let count = fitting.max(1).min(writes.len());
        let taken: Vec<W> = writes.drain(..count).collect();
        self.length -= taken.len();
        if !writes.is_empty() {
            self.turns.push_back(tenant.clone());
            self.writes.insert(tenant.clone(), writes);
        }
        Some((tenant, taken))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str) -> TenantId {
        TenantId::parse(name).unwrap()
    }

    /// Takes a batch of at most two writes.
    fn two(queue: &mut TenantQueue<u32>) -> Option<(String, Vec<u32>)> {
        let mut room = 2;
        let taken = queue.take(|_| {
            room -= 1;
            room >= 0
        });
        taken.map(|(tenant, writes)| (tenant.to_string(), writes))
    }

    #[test]
    fn tenants_take_turns_and_each_keeps_its_order() {
        let mut queue = TenantQueue::default();
        for n in 1..=5 {
            queue.push(&tenant("acme"), n).unwrap();
        }
        queue.push(&tenant("umbra"), 6).unwrap();
        let batches: Vec<_> = std::iter::from_fn(|| two(&mut queue)).collect();
        let expected = [
            ("acme", vec![1, 2]),
            ("umbra", vec![6]),
            ("acme", vec![3, 4]),
            ("acme", vec![5]),
        ];
        let expected = expected.map(|(tenant, writes)| (tenant.to_owned(), writes));
        assert_eq!(batches, expected);
    }

    /// A write that fits no batch is a batch of its own.
    #[test]
    fn the_first_write_always_fits() {
        let mut queue = TenantQueue::default();
        queue.push(&tenant("acme"), 1).unwrap();
        queue.push(&tenant("acme"), 2).unwrap();
        let taken = queue.take(|_| false);
        assert_eq!(taken, Some((tenant("acme"), vec![1])));
    }

    #[test]
    fn a_tenant_with_a_full_queue_leaves_room_for_others() {
        let mut queue = TenantQueue::default();
        for n in 0..MAX_OF_TENANT {
            queue.push(&tenant("acme"), n).unwrap();
        }
        assert_eq!(queue.push(&tenant("acme"), 0), Err(MAX_OF_TENANT));
        assert_eq!(queue.push(&tenant("umbra"), 0), Ok(()));
        for other in 1..=MAX_QUEUED / MAX_OF_TENANT {
            for n in 0..MAX_OF_TENANT {
                if queue.push(&tenant(&format!("tenant-{other}")), n).is_err() {
                    assert_eq!(queue.length, MAX_QUEUED);
                    return;
                }
            }
        }
        panic!("the queue has no bound");
    }
}
