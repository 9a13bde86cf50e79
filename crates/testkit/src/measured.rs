//! The cost of a piece of work: processor time of its thread, and memory of the process. A program that measures memory
//! declares [`CountingAllocator`] as its global allocator.

#![allow(
    unsafe_code,
    reason = "an allocator is unsafe by its trait, the thread's clock by its signature"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::time::Duration;

/// Bytes that are allocated.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// The most that were, since the last measurement began.
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Allocations so far.
static MADE: AtomicU64 = AtomicU64::new(0);

/// The most that may be allocated.
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);

/// The system's allocator, with a count of what is taken of it. A block that grows counts as much as it grows by: the
/// system moves large blocks without copying them.
#[derive(Debug, Clone, Copy, Default)]
pub struct CountingAllocator;

/// The cost of a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// Processor time of the thread.
    pub time: Duration,
    /// The most memory that was held at once beyond what was held before, in bytes; that of other threads counts too.
    pub heap: usize,
    /// How often memory was taken.
    pub allocations: u64,
}

/// Does `work`, and measures its cost.
pub fn measured<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let (held, made) = (held(), MADE.load(Relaxed));
    PEAK.store(held, Relaxed);
    let start = thread_time();
    let done = work();
    let time = thread_time().saturating_sub(start);
    let cost = Cost {
        time,
        heap: PEAK.load(Relaxed).saturating_sub(held),
        allocations: MADE.load(Relaxed).saturating_sub(made),
    };
    (done, cost)
}

/// Bytes that are allocated now.
#[must_use]
pub fn held() -> usize {
    HELD.load(Relaxed)
}

/// Ends the process when it allocates more than `bytes`.
pub fn bound_memory(bytes: usize) {
    MOST.store(bytes, Relaxed);
}

/// Whether [`CountingAllocator`] is this program's allocator.
#[must_use]
pub fn is_counted() -> bool {
    let made = MADE.load(Relaxed);
    drop(std::hint::black_box(Box::new(0_u8)));
    MADE.load(Relaxed) > made
}

/// The processor time of the calling thread so far.
fn thread_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a value of the function's type, and lives as long as the call.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) } != 0;
    // A clock that Linux always has; both numbers are positive.
    assert!(!failed, "this thread has no clock");
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanoseconds)
}

/// Counts `bytes` and has them made, unless they are too many.
fn counted(bytes: usize, make: impl FnOnce() -> *mut u8) -> *mut u8 {
    let held = HELD.fetch_add(bytes, Relaxed).wrapping_add(bytes);
    let made = if held > MOST.load(Relaxed) {
        null_mut()
    } else {
        make()
    };
    if made.is_null() {
        HELD.fetch_sub(bytes, Relaxed);
    } else {
        PEAK.fetch_max(held, Relaxed);
        MADE.fetch_add(1, Relaxed);
    }
    made
}

// SAFETY: each call goes on to the system's allocator with the arguments that came, or fails as an allocator may.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promised.
        counted(layout.size(), || unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promised.
        counted(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(block, layout) };
        HELD.fetch_sub(layout.size(), Relaxed);
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promised.
        let make = || unsafe { System.realloc(block, layout, size) };
        let less = layout.size().saturating_sub(size);
        let made = counted(size.saturating_sub(layout.size()), make);
        if !made.is_null() {
            HELD.fetch_sub(less, Relaxed);
        }
        made
    }
}
