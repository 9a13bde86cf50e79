//! Long work beside the runtime's other tasks, which continue on other threads meanwhile.

use charter_contract::bounds::LARGE_OUTPUT;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Does long work while the thread's other tasks continue on another thread. A runtime of one thread has no other.
pub fn apart<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        Ok(_) | Err(_) => work(),
    }
}

/// Does work on a value of so many bytes, apart where the value is large.
pub(crate) fn on_value<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    match bytes {
        0..=LARGE_OUTPUT => work(),
        _ => apart(work),
    }
}
