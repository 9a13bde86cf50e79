//! Storage failures, classified by how a use case can react.

use std::error::Error as StdError;

/// A storage failure. `Display` describes storage's operation; the engine's own cause is in `source()`.
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
    /// No such record in the requested scope.
    #[error("{what} `{id}` does not exist")]
    NotFound {
        /// The noun.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// A concurrent write came first: the caller's expected version is not the stored one.
    #[error("{what} `{id}` is at version {found}, expected {expected}")]
    VersionConflict {
        /// The noun.
        what: &'static str,
        /// Its id.
        id: String,
        /// The version the caller read.
        expected: u64,
        /// The current version.
        found: u64,
    },
    /// The caller's lease was taken over or released: its fence is not the current one.
    #[error("the lease on `{resource}` is not held: fencing token {held}, current {current}")]
    FencedOff {
        /// The leased resource.
        resource: String,
        /// The caller's fence.
        held: u64,
        /// The current fence, 0 when the resource was never leased.
        current: u64,
    },
    /// The call is invalid in every state of the store; nothing was written.
    #[error("{what} `{id}` is rejected: {detail}")]
    Refused {
        /// The noun.
        what: &'static str,
        /// Its id.
        id: String,
        /// The violated rule.
        detail: String,
    },
    /// The data has the layout of a newer Charter, which this version must not open. Nothing was changed.
    #[error(
        "the data in {path} has layout {found}, of Charter {charter}; Charter {this} has layout {supported} and cannot \
         open it, and left it unchanged: start Charter {charter} or later. To return to Charter {this}, first export \
         the data with Charter {charter} (`charter backup DIRECTORY`, and `charter tenant export TENANT DIRECTORY` for \
         each tenant); then restore a backup from before the upgrade into an empty data directory or database, by \
         `charter restore BACKUP` of Charter {this}",
        this = env!("CARGO_PKG_VERSION")
    )]
    NewerSchema {
        /// The data directory or database.
        path: String,
        /// Its layout.
        found: u32,
        /// The first version of Charter with that layout.
        charter: String,
        /// The layout of this build.
        supported: u32,
    },
    /// The data has a layout from before the first release, from which no migration leads to the present one.
    #[error(
        "the data in {path} has schema version {found} of an earlier layout that was never released; this version of \
         Charter cannot migrate it, and left it unchanged: use an empty data directory or database (the build that \
         wrote the data can export its evidence with `charter evidence export`)"
    )]
    EarlierLayout {
        /// The database.
        path: String,
        /// Its schema version.
        found: u32,
    },
    /// The device is full. Nothing of the failed write is visible.
    #[error("the storage device is full while {doing}")]
    Full {
        /// The operation.
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
        /// The holder's description of itself: its process id and address.
        holder: Option<String>,
    },
    /// Stored bytes are damaged.
    #[error("{what} `{id}` is damaged: {detail}")]
    Corrupt {
        /// The noun.
        what: &'static str,
        /// Its id.
        id: String,
        /// The damage.
        detail: String,
    },
    /// The engine failed for a reason without its own variant.
    #[error("storage failed while {doing}")]
    Engine {
        /// The operation.
        doing: &'static str,
        /// The engine's cause.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// Too many calls wait for the engine. Nothing was read or written.
    #[error("storage is busy: {waiting} calls wait for {what}")]
    Overloaded {
        /// The capacity that they wait for, e.g. `a connection`.
        what: &'static str,
        /// Number of waiting calls.
        waiting: u64,
    },
    /// The engine is shutting down and accepts no more calls.
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
    /// Whether the same call may succeed later without any change.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::VersionConflict { .. }
            | Self::Full { .. }
            | Self::Engine { .. }
            | Self::Overloaded { .. } => true,
            Self::AlreadyExists { .. }
            | Self::NotFound { .. }
            | Self::FencedOff { .. }
            | Self::Refused { .. }
            | Self::NewerSchema { .. }
            | Self::EarlierLayout { .. }
            | Self::Locked { .. }
            | Self::Corrupt { .. }
            | Self::Closed => false,
        }
    }
}
