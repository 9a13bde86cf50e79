//! Keeps long synchronous work from delaying the runtime's other tasks.

use charter_contract::bounds::LARGE_OUTPUT;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Runs long work while the other tasks of this thread move to another thread. On a runtime with one thread they wait.
pub fn apart<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        Ok(_) | Err(_) => work(),
    }
}

/// Runs work on a value of this many bytes; with [`apart`] if the value is larger than [`LARGE_OUTPUT`].
pub(crate) fn on_value<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    match bytes {
        0..=LARGE_OUTPUT => work(),
        _ => apart(work),
    }
}
