//! The lines of a manifest: an entry for each line of the bundle, and the links between them.

use charter_contract::json::decode_stored;
use charter_contract::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::{BundledArtifact, BundledEvent};
use crate::evidence_log::Hash;

/// The manifest's entry for one line, with its fields in written order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Entry {
    Header(HeaderEntry),
    Artifact(ArtifactEntry),
    Event(EventEntry),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HeaderEntry {
    /// SHA-256 of the line.
    pub(super) header: Hash,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ArtifactEntry {
    /// The artifact's position, from 1.
    pub(super) artifact: u64,
    /// The last event of the append that stored it.
    pub(super) event: u64,
    /// SHA-256 of the line.
    pub(super) sha256: Hash,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EventEntry {
    /// The event's position, from 1.
    pub(super) event: u64,
    /// The time.
    pub(super) at: Timestamp,
    /// The event's hash, computed from the previous hash, its position and the line.
    pub(super) hash: Hash,
}

/// Returns the manifest entries of these parts, in the order of the lines.
pub(super) fn entries<'b>(
    header: &str,
    artifacts: &'b [BundledArtifact],
    events: &'b [BundledEvent],
) -> impl Iterator<Item = Entry> + use<'b> {
    let header = Entry::Header(HeaderEntry {
        header: digest(header),
    });
    let artifacts = (1..).zip(artifacts).map(|(place, artifact)| {
        Entry::Artifact(ArtifactEntry {
            artifact: place,
            event: artifact.event,
            sha256: digest(&artifact.payload),
        })
    });
    let events = (1..).zip(events).map(|(sequence, event)| {
        Entry::Event(EventEntry {
            event: sequence,
            at: event.at,
            hash: Hash(event.hash.0),
        })
    });
    std::iter::once(header).chain(artifacts).chain(events)
}

/// Computes the checksum of a line without its line end.
pub(super) fn digest(line: &str) -> Hash {
    Hash::sha256(&[line.as_bytes()])
}

/// The link of the previous line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link(Hash);

/// A parsed line of the manifest.
#[derive(Debug, Deserialize)]
struct Linked {
    #[serde(flatten)]
    entry: Entry,
    link: Hash,
}

impl Link {
    /// The link before the first line: 32 zeros, not a hash.
    pub(super) const START: Self = Self(Hash([0; 32]));

    pub(super) fn hash(self) -> Hash {
        self.0
    }

    /// Returns the line of the next entry, without its end. The link is the SHA-256 of the 32 bytes of the previous
    /// link and of the line up to `,"link"`.
    pub(super) fn line(&mut self, entry: &Entry) -> String {
        // Serialization fails only for maps with keys that are not text, and an entry has none.
        let mut text = serde_json::to_string(entry).unwrap_or_default();
        text.pop();
        self.0 = Hash::sha256(&[&self.0.0, text.as_bytes()]);
        format!("{text},\"link\":\"{}\"}}", self.0)
    }

    /// Parses the next line and continues from the link that it contains. `Err` if the line is malformed or was
    /// changed.
    pub(super) fn read(&mut self, line: &str) -> Result<Entry, Changed> {
        let Ok(Linked { entry, link }) = decode_stored::<Linked>(line) else {
            return Err(Changed);
        };
        let written = self.line(&entry);
        self.0 = link;
        if written == line {
            Ok(entry)
        } else {
            Err(Changed)
        }
    }
}

/// A changed line of the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Changed;
