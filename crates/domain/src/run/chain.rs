//! The hash chain of a run's journal: each event carries the hash of the previous one, so that following the chain
//! reveals a changed, removed or reordered event. Knows no event.

use sha2::{Digest, Sha256};

/// The hash that an empty journal chains from.
pub const GENESIS: EventHash = EventHash([0; 32]);

/// SHA-256 over the previous hash, the sequence number and the event's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EventHash(pub [u8; 32]);

impl EventHash {
    /// Returns the hash of the event at `sequence`: SHA-256 over `self` (the hash of the event before, or [`GENESIS`]),
    /// the sequence number as 8 big-endian bytes, and the payload's UTF-8 bytes.
    #[must_use]
    pub fn chain(self, sequence: u64, payload: &str) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(self.0);
        hasher.update(sequence.to_be_bytes());
        hasher.update(payload.as_bytes());
        Self(hasher.finalize().into())
    }
}
