//! The memory of a run's values while this process drives the run.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use charter_contract::bounds::{LARGE_OUTPUT, RUN_MEMORY};
use charter_contract::ids::TenantId;

use crate::EngineError;
use crate::identity::shares::{Share, Shares};

/// The memory of one run's values.
#[derive(Debug)]
pub(crate) struct RunMemory {
    shares: Shares,
    tenant: TenantId,
    set_aside: AtomicUsize,
}

/// A reserved part of it, released when dropped.
#[derive(Debug)]
pub(crate) struct RunMemoryShare {
    _counted: Counted,
    _share: Share,
}

/// Bytes that count as reserved for a run, until this is dropped.
#[derive(Debug)]
struct Counted {
    room: Arc<RunMemory>,
    bytes: usize,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.room.set_aside.fetch_sub(self.bytes, Ordering::SeqCst);
    }
}

impl RunMemory {
    pub(crate) fn new(shares: &Shares, tenant: &TenantId) -> Arc<Self> {
        Arc::new(Self {
            shares: shares.clone(),
            tenant: tenant.clone(),
            set_aside: AtomicUsize::new(0),
        })
    }

    pub(crate) fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    /// Returns the bytes that are reserved or waited for.
    pub(crate) fn set_aside(&self) -> usize {
        self.set_aside.load(Ordering::SeqCst)
    }

    /// Waits for memory for more values of the run. Reserves none for small values, nor for more than the run may have:
    /// its driver refuses that, and the run would wait for itself.
    ///
    /// # Errors
    /// `overloaded` if memory does not become available in this time.
    pub(crate) async fn take(
        self: &Arc<Self>,
        bytes: usize,
        patience: Duration,
    ) -> Result<Option<RunMemoryShare>, EngineError> {
        if bytes <= LARGE_OUTPUT {
            return Ok(None);
        }
        let before = self.set_aside.fetch_add(bytes, Ordering::SeqCst);
        let counted = Counted {
            room: Arc::clone(self),
            bytes,
        };
        if before.saturating_add(bytes) > RUN_MEMORY {
            return Ok(None);
        }
        let waited = self.shares.wait_for_tenant(&self.tenant, bytes, patience);
        Ok(Some(RunMemoryShare {
            _share: waited.await?,
            _counted: counted,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::run_values;
    use super::*;

    const MIB: usize = 1 << 20;

    fn room(shares: &Shares) -> Arc<RunMemory> {
        RunMemory::new(shares, &TenantId::parse("acme").unwrap())
    }

    async fn at_once(
        room: &Arc<RunMemory>,
        bytes: usize,
    ) -> Result<Option<RunMemoryShare>, EngineError> {
        room.take(bytes, Duration::ZERO).await
    }

    /// The runs of a tenant share half of the memory; a run waits for memory that another one has.
    #[tokio::test]
    async fn runs_of_a_tenant_wait_for_each_other() {
        let shares = run_values();
        let (first, second) = (room(&shares), room(&shares));
        let kept = at_once(&first, 40 * MIB).await.unwrap();
        assert!(kept.is_some());
        assert!(at_once(&second, 40 * MIB).await.is_err());
        // A waiter that gave up holds nothing.
        assert_eq!(second.set_aside(), 0);
        drop(kept);
        let kept = at_once(&second, 40 * MIB).await.unwrap();
        assert!(kept.is_some());
        assert_eq!((first.set_aside(), second.set_aside()), (0, 40 * MIB));
    }

    #[tokio::test]
    async fn a_run_does_not_wait_for_itself() {
        let run = room(&run_values());
        let first = at_once(&run, 40 * MIB).await.unwrap();
        let beyond = at_once(&run, 40 * MIB).await.unwrap();
        let second = at_once(&run, 24 * MIB).await.unwrap();
        let held = [&first, &beyond, &second].map(Option::is_some);
        assert_eq!(held, [true, false, true]);
        assert_eq!(run.set_aside(), RUN_MEMORY);
    }

    #[tokio::test]
    async fn a_few_bytes_wait_for_nothing() {
        let shares = run_values();
        let _all = at_once(&room(&shares), 64 * MIB).await.unwrap();
        let few = at_once(&room(&shares), MIB).await.unwrap();
        assert!(few.is_none());
    }
}
