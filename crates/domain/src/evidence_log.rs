//! The evidence log, which makes stored evidence provable to third parties that do not trust this installation
//! (B000-19, seed 000 §2.14).
//!
//! Each tenant has one log. Every stored record, every later attachment and every removal of a payload is a leaf of a
//! Merkle tree as RFC 6962 and RFC 9162 define it ([`tree`], [`proof`]). A leaf holds only digests ([`entry`]), so it
//! still proves a record after its payload was removed. The tree's head is signed as a checkpoint ([`checkpoint`]) in
//! the form of C2SP signed notes ([`note`]). An export ([`bundle`]) contains all of it, and [`verify`] checks an export
//! offline.
//!
//! Must not know storage, callers or the time.

pub mod bundle;
pub mod checkpoint;
pub mod entry;
pub mod hash;
pub mod note;
pub mod proof;
pub mod tree;
pub mod verify;

pub use bundle::{Coverage, ExportedLeaf, Header};
pub use checkpoint::{Checkpoint, origin};
pub use entry::{LogEntry, SealedRecord};
pub use hash::Hash;
pub use note::{KeyName, Signer, VerifierKey};
pub use tree::{Cover, NodeId};
pub use verify::{ExportFault, Verdict, Verifier};

#[cfg(test)]
mod tests;
