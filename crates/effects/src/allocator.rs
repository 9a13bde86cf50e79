//! Settings of the C library's allocator, which limit how much freed memory it retains. By default it has eight arenas
//! per processor, and memory that one large value freed stays in its arena. The unsafe code is two calls of the
//! allocator. Must not know what memory is used for.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;

/// How long freed memory is retained, so that allocations that follow at once can reuse it.
const KEPT: Duration = Duration::from_secs(1);

/// Configures the allocator for a server: large allocations return to the system when freed, and there are no more
/// arenas than processors. Call it once, before other threads exist.
pub fn set_up() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        /// Allocations from this size on are mapped by the system and unmapped when freed.
        const LARGE: libc::c_int = 1 << 20;
        /// Most free memory at the end of the heap.
        const FREE: libc::c_int = 8 << 20;
        let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let arenas = libc::c_int::try_from(processors).unwrap_or(libc::c_int::MAX);
        for (setting, value) in [
            (libc::M_MMAP_THRESHOLD, LARGE),
            (libc::M_TRIM_THRESHOLD, FREE),
            (libc::M_ARENA_MAX, arenas.max(2)),
        ] {
            // SAFETY: the call takes two numbers, and changes settings of the allocator under its own lock.
            let is_set = unsafe { libc::mallopt(setting, value) } == 1;
            if !is_set {
                tracing::debug!(setting, value, "the allocator rejected a setting");
            }
        }
    }
}

/// Returns freed memory to the system after a short delay. Calls within that delay are merged into one.
pub fn give_back_soon() {
    static AWAITED: AtomicBool = AtomicBool::new(false);
    let Ok(runtime) = Handle::try_current() else {
        return;
    };
    if AWAITED.swap(true, Ordering::AcqRel) {
        return;
    }
    runtime.spawn(async {
        tokio::time::sleep(KEPT).await;
        AWAITED.store(false, Ordering::Release);
        if let Err(error) = tokio::task::spawn_blocking(give_back).await {
            tracing::debug!(%error, "freed memory is not returned to the system");
        }
    });
}

fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call takes a number, and releases the free memory of each arena under the arena's own lock.
    unsafe {
        libc::malloc_trim(0);
    }
}
