//! What can go wrong in storage, in terms that a use case can act on.

use std::error::Error as StdError;

/// A storage failure. `Display` says what storage tried; the engine's own cause is in `source()`.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The record exists already and may not be written again (B000-15, B000-19).
    #[error("{what} `{id}` already exists")]
    AlreadyExists {
        /// The noun, e.g. `evidence record`.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// No such record in the scope that was asked.
    #[error("{what} `{id}` does not exist")]
    NotFound {
        /// The noun.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// Somebody else wrote first: the caller's expected version is not the stored one.
    #[error("{what} `{id}` is at version {found}, expected {expected}")]
    VersionConflict {
        /// The noun.
        what: &'static str,
        /// Its id.
        id: String,
        /// The version the caller read.
        expected: u64,
        /// The version in force.
        found: u64,
    },
    /// The caller's lease was taken over or given back: its fence is not the one in force.
    #[error("the lease on `{resource}` is not held: fencing token {held}, current {current}")]
    FencedOff {
        /// What was leased.
        resource: String,
        /// The caller's fence.
        held: u64,
        /// The fence in force, 0 when the resource was never leased.
        current: u64,
    },
    /// No state of the store could accept this call; nothing was written.
    #[error("{what} `{id}` is rejected: {detail}")]
    Refused {
        /// The noun.
        what: &'static str,
        /// Its id.
        id: String,
        /// Which rule it breaks.
        detail: String,
    },
    /// The data was written by a newer Charter.
    #[error(
        "the data in {path} has schema version {found}; this version of Charter supports up to {supported}"
    )]
    NewerSchema {
        /// The database.
        path: String,
        /// Its schema version.
        found: u32,
        /// The newest version that this build can read.
        supported: u32,
    },
    /// The device is full. Nothing of the failed write is visible.
    #[error("the storage device is full while {doing}")]
    Full {
        /// What was being written.
        doing: &'static str,
        /// The engine's cause.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// Another process holds the data directory.
    #[error("the data directory {path} is used by another process{}", holder_suffix(.holder))]
    Locked {
        /// The directory.
        path: String,
        /// What the holder wrote about itself: its process id and address.
        holder: Option<String>,
    },
    /// Stored bytes do not read back as what was written.
    #[error("{what} `{id}` is damaged: {detail}")]
    Corrupt {
        /// The noun.
        what: &'static str,
        /// Its id.
        id: String,
        /// What does not fit.
        detail: String,
    },
    /// The engine failed in a way that this layer has no name for.
    #[error("storage failed while {doing}")]
    Engine {
        /// What was being done.
        doing: &'static str,
        /// The engine's cause.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The engine is shutting down and takes no more work.
    #[error("the store is closed")]
    Closed,
}

fn holder_suffix(holder: &Option<String>) -> String {
    holder
        .as_ref()
        .map(|h| format!(" ({h})"))
        .unwrap_or_default()
}

impl StoreError {
    /// Whether the same call may succeed later without anybody changing anything.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::VersionConflict { .. } | Self::Full { .. } | Self::Engine { .. } => true,
            Self::AlreadyExists { .. }
            | Self::NotFound { .. }
            | Self::FencedOff { .. }
            | Self::Refused { .. }
            | Self::NewerSchema { .. }
            | Self::Locked { .. }
            | Self::Corrupt { .. }
            | Self::Closed => false,
        }
    }
}
