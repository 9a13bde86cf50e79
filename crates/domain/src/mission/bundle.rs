//! A mission as one text that proves itself: its artifacts, its run's journal, and a manifest
//! (B002-14).
//!
//! JSON lines: a header; each artifact, byte for byte as it is stored; each event of the journal,
//! likewise; then the manifest, with one line for each line before it. A manifest line carries a
//! link, the SHA-256 of the link before it and of itself, so a changed line is found and named, and
//! the last link stands for the whole. `docs/reference/artifacts.md` describes the form for third parties.
//!
//! A bundle proves that it is what was written down, not who wrote it: whoever changes one can link
//! it anew. Comparing the last link, or the journal's last hash, with what came another way shows
//! that. This file opens no file and knows no storage.

mod manifest;
mod verify;

use charter_contract::ids::{MissionId, RunId, TenantId};
use charter_contract::json::decode_stored;
use charter_contract::mission::MissionState;
use charter_contract::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::evidence_log::Hash;
use crate::run::chain::EventHash;
use crate::run::{FoldError, Run, RunEvent};
use manifest::{Link, entries};

pub use verify::{BundleDefect, MAX_BUNDLE_BYTES, verify};

/// The one form so far.
pub const FORMAT: &str = "charter-mission/1";

/// The first line. Its fields are in the order of the alphabet, as they are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// How many artifacts follow.
    pub artifacts: u64,
    /// How many events follow them.
    pub events: u64,
    /// [`FORMAT`].
    pub format: String,
    /// The mission.
    pub mission_id: MissionId,
    /// Its run.
    pub run_id: RunId,
    /// Where the mission stands.
    pub state: MissionState,
    /// Where its run stands, in the run machine's word.
    pub status: String,
    /// Whose it is.
    pub tenant_id: TenantId,
    /// What the run is called in listings.
    pub title: String,
}

/// An artifact as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundledArtifact {
    /// Its canonical text, in the version that it was written in.
    pub payload: String,
    /// The last event of the append that it was written with.
    pub event: u64,
}

/// An event as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundledEvent {
    /// When.
    pub at: Timestamp,
    /// Its hash, chained from the event before.
    pub hash: EventHash,
    /// JSON of a domain event.
    pub payload: String,
}

/// A mission with everything that is kept of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// What it is.
    pub header: Header,
    /// The artifacts in the order in which they were stored, the envelope first.
    pub artifacts: Vec<BundledArtifact>,
    /// The journal of the run, from its first event.
    pub events: Vec<BundledEvent>,
}

/// The event at which a replay stops, because the run machine could not have written it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("replay stops at event {sequence}: {detail}")]
pub struct ReplayStop {
    /// Its position in the journal, from 1.
    pub sequence: u64,
    /// What is wrong with it.
    pub detail: String,
}

impl Bundle {
    /// The lines of the bundle, each with its end, one at a time.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let header = header_line(&self.header);
        let artifacts = self.artifacts.iter().map(|artifact| &artifact.payload);
        let content = artifacts.chain(self.events.iter().map(|event| &event.payload));
        let mut link = Link::START;
        let manifest = entries(&header, &self.artifacts, &self.events);
        let manifest: Vec<String> = manifest.map(|entry| link.line(&entry)).collect();
        let content = content.map(|payload| format!("{payload}\n"));
        let manifest = manifest.into_iter().map(|line| line + "\n");
        std::iter::once(header + "\n")
            .chain(content)
            .chain(manifest)
    }

    /// The whole text.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.lines().collect()
    }

    /// The last link: the digest of everything in the bundle.
    #[must_use]
    pub fn digest(&self) -> Hash {
        let header = header_line(&self.header);
        let mut link = Link::START;
        for entry in entries(&header, &self.artifacts, &self.events) {
            link.line(&entry);
        }
        link.hash()
    }

    /// Folds the journal, event by event, each only if the run machine could have written it. No
    /// model and no tool is called (B002-14).
    ///
    /// # Errors
    /// [`ReplayStop`] at the first event that is unknown or does not follow from those before it.
    pub fn replay(&self) -> Result<Run, ReplayStop> {
        let mut events = Vec::with_capacity(self.events.len());
        let mut unknown = None;
        for (sequence, event) in (1..).zip(&self.events) {
            match decode_stored::<RunEvent>(&event.payload) {
                Ok(known) => events.push((known, event.at)),
                Err(error) => {
                    let detail = format!("it is not a known event: {error}");
                    unknown = Some(ReplayStop { sequence, detail });
                    break;
                }
            }
        }
        let replayed = match Run::replay_strictly(events) {
            Ok(replayed) => replayed,
            Err(error) => return Err(unknown.unwrap_or_else(|| not_begun(&error))),
        };
        match (replayed, unknown) {
            ((_, Some(diverged)), _) => Err(ReplayStop {
                sequence: diverged.sequence,
                detail: diverged.detail,
            }),
            (_, Some(unknown)) => Err(unknown),
            ((run, None), None) if *run.id() == self.header.run_id => Ok(run),
            ((run, None), None) => Err(ReplayStop {
                sequence: 1,
                detail: format!("it starts `{}`, not `{}`", run.id(), self.header.run_id),
            }),
        }
    }
}

fn not_begun(error: &FoldError) -> ReplayStop {
    ReplayStop {
        sequence: 1,
        detail: error.to_string(),
    }
}

/// The header as it is written.
fn header_line(header: &Header) -> String {
    // Only maps with keys that are no text cannot be written, and a header has none.
    serde_json::to_string(header).unwrap_or_default()
}

#[cfg(test)]
mod tests;
