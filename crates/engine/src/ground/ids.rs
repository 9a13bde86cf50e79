//! Fresh ids. Must not know their use.

use uuid::Uuid;

/// Fresh ids. Injected, so that tests know them in advance.
pub trait IdSource: Send + Sync {
    /// Returns a new, unique uuid.
    fn uuid(&self) -> Uuid;
}

/// Version 7 uuids: they sort by creation time, and their other bits are random.
#[derive(Debug, Clone, Copy)]
pub struct RandomIds;

impl IdSource for RandomIds {
    fn uuid(&self) -> Uuid {
        Uuid::now_v7()
    }
}
