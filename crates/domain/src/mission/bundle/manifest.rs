//! The lines of a manifest: what is said of each line of the bundle, and the links between them.

use charter_contract::json::decode_stored;
use charter_contract::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::{BundledArtifact, BundledEvent};
use crate::evidence_log::Hash;

/// What the manifest says of one line, its fields as they are written.
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
    /// Its place, from 1.
    pub(super) artifact: u64,
    /// The last event of the append that it was written with.
    pub(super) event: u64,
    /// SHA-256 of the line.
    pub(super) sha256: Hash,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EventEntry {
    /// Its position, from 1.
    pub(super) event: u64,
    /// When.
    pub(super) at: Timestamp,
    /// Its hash, of the hash before, its position and the line.
    pub(super) hash: Hash,
}

/// What a manifest says of these, in the order of the lines.
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

/// The checksum of a line, its end not counted.
pub(super) fn digest(line: &str) -> Hash {
    Hash::sha256(&[line.as_bytes()])
}

/// The link of the line before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link(Hash);

/// A line of the manifest, as it is read.
#[derive(Debug, Deserialize)]
struct Linked {
    #[serde(flatten)]
    entry: Entry,
    link: Hash,
}

impl Link {
    /// Before the first line: no bytes hashed, as 32 zeros.
    pub(super) const START: Self = Self(Hash([0; 32]));

    pub(super) fn hash(self) -> Hash {
        self.0
    }

    /// The line of the next entry, without its end. The link is SHA-256 of the 32 bytes of the link
    /// before and of the line up to `,"link"`.
    pub(super) fn line(&mut self, entry: &Entry) -> String {
        // Only maps with keys that are no text cannot be written, and an entry has none.
        let mut text = serde_json::to_string(entry).unwrap_or_default();
        text.pop();
        self.0 = Hash::sha256(&[&self.0.0, text.as_bytes()]);
        format!("{text},\"link\":\"{}\"}}", self.0)
    }

    /// Reads the next line and goes on from the link that it states; `Err` when the line is none, or
    /// is not as it was written.
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

/// A line of the manifest that was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Changed;
