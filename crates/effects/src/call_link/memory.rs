//! Memory for the messages and results that links keep for their clients. Must not know how they
//! are passed on.

use std::sync::Arc;

use charter_contract::bounds::LINKED_MEMORY;
use charter_contract::json::memory_of_fields;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{CallEnd, CallEvent};

/// Bytes of one permit.
const UNIT: usize = 1 << 10;
/// Estimated bytes of a message without its texts.
const EMPTY_EVENT: usize = 200;

/// Memory for the messages and results that links keep for their clients, in total [`LINKED_MEMORY`] by default. Clones
/// are the same memory.
#[derive(Debug, Clone)]
pub struct LinkMemory(Arc<Semaphore>);

impl LinkMemory {
    /// Creates a memory of so many bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes / UNIT)))
    }

    /// Keeps a value of so many bytes; `None` without room.
    pub(super) fn keep<T>(&self, value: T, bytes: usize) -> Option<Kept<T>> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).ok()?;
        let room = Arc::clone(&self.0).try_acquire_many_owned(units).ok()?;
        Some(Kept { value, _room: room })
    }
}

impl Default for LinkMemory {
    fn default() -> Self {
        Self::new(LINKED_MEMORY)
    }
}

/// A kept value, with its part of the memory.
pub(super) struct Kept<T> {
    pub(super) value: T,
    _room: OwnedSemaphorePermit,
}

impl CallEvent {
    /// Estimates its memory.
    pub(super) fn memory(&self) -> usize {
        let parts = match self {
            Self::Progress { message, .. } => message.as_ref().map_or(0, String::len),
            Self::Log(log) => memory_of_fields(log),
        };
        parts.saturating_add(EMPTY_EVENT)
    }
}

impl CallEnd {
    /// Estimates its memory.
    pub(super) fn memory(&self) -> usize {
        match self {
            Self::Result(fields) | Self::Error(fields) => memory_of_fields(fields),
        }
    }
}
