//! How the C library's allocator keeps what was freed. By itself it keeps much: it has eight arenas for each
//! processor, and what one large value left behind in one of them stays there. The unsafe code is two calls of the
//! allocator. Must not know what memory is used for.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;

/// How long freed memory is kept, for what is allocated again at once.
const KEPT: Duration = Duration::from_secs(1);

/// Sets the allocator up for a server: what is large is given back as soon as it is freed, and there are no more
/// arenas than processors. To be called once, before there are other threads.
pub fn set_up() {
    #[cfg(target_env = "gnu")]
    {
        /// From here on each allocation is one of the system's, and given back when it is freed.
        const LARGE: libc::c_int = 1 << 20;
        /// How much may be free at the end of the heap.
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

/// Has freed memory given back to the system in a moment. Calls in that moment are one.
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
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes a number, and gives back what is free in each arena under the arena's own lock.
    unsafe {
        libc::malloc_trim(0);
    }
}
