//! Measures the cost of work: CPU time of its thread, and memory of the process. A program that measures memory
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

/// Allocated bytes.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// Peak of the allocated bytes since the start of the last measurement.
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Number of allocations so far.
static MADE: AtomicU64 = AtomicU64::new(0);

/// Maximum number of allocated bytes.
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);

/// The system's allocator, with counters. A block that grows counts as the bytes added: the system moves large blocks
/// without copying them.
#[derive(Debug, Clone, Copy, Default)]
pub struct CountingAllocator;

/// The cost of a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// CPU time of the thread.
    pub time: Duration,
    /// Peak memory beyond the memory held before, in bytes; allocations of other threads count too.
    pub heap: usize,
    /// Number of allocations.
    pub allocations: u64,
}

/// Runs `work` and measures its cost.
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

/// Returns the number of allocated bytes.
#[must_use]
pub fn held() -> usize {
    HELD.load(Relaxed)
}

/// Ends the process if it allocates more than `bytes`.
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

/// Returns the CPU time of the calling thread.
fn thread_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer refers to a value of the function's type that outlives the call.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) } != 0;
    // Linux always has this clock; both numbers are positive.
    assert!(!failed, "this thread has no clock");
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanoseconds)
}

/// Counts `bytes` and allocates them, unless the limit is exceeded.
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

// SAFETY: each call is forwarded to the system's allocator with its arguments, or fails as an allocator may.
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
