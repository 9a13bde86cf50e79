//! A mission as a self-verifying text: its artifacts, its run's journal, and a manifest (B002-14).
//!
//! JSON lines: a header; each artifact, byte for byte as it is stored; each event of the journal,
//! likewise; then the manifest, with one line for each line before it. A manifest line carries a
//! link, the SHA-256 of the link before it and of itself, so a changed line is found and named, and
//! the last link covers the whole. `docs/reference/artifacts.md` describes the form for third parties.
//!
//! A bundle proves its integrity, not its author: after a change, the links can be recomputed. A comparison of the last
//! link, or of the journal's last hash, with a copy from an independent channel reveals that. This file opens no file
//! and knows no storage.

mod manifest;
mod verify;

use charter_contract::ids::{MissionId, RunId, TenantId};
use charter_contract::json::decode_stored;
use charter_contract::mission::MissionState;
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::evidence_log::Hash;
use crate::run::chain::EventHash;
use crate::run::{FoldError, Run, RunEvent, StrictReplay};
use manifest::{Link, entries};

pub use verify::{BundleDefect, MAX_BUNDLE_BYTES, verify};

/// The only format version so far.
pub const FORMAT: &str = "charter-mission/1";

/// The first line. Its fields are written in alphabetical order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The number of artifacts that follow.
    pub artifacts: u64,
    /// The number of events that follow them.
    pub events: u64,
    /// [`FORMAT`].
    pub format: String,
    /// The mission.
    pub mission_id: MissionId,
    /// Its run.
    pub run_id: RunId,
    /// The mission's state.
    pub state: MissionState,
    /// The status of its run.
    pub status: RunStatus,
    /// The owning tenant.
    pub tenant_id: TenantId,
    /// The run's title in listings.
    pub title: String,
}

/// A stored artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundledArtifact {
    /// Its canonical text, in the version in which it was written.
    pub payload: String,
    /// The last event of the append that stored it.
    pub event: u64,
}

/// A stored event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundledEvent {
    /// The time.
    pub at: Timestamp,
    /// Its hash, chained from the previous event.
    pub hash: EventHash,
    /// The JSON of a domain event.
    pub payload: String,
}

/// A mission with all its stored data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// The header.
    pub header: Header,
    /// The artifacts in the order of storing, starting with the envelope.
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
    /// The problem.
    pub detail: String,
}

impl Bundle {
    /// Returns the lines of the bundle, each with its line end.
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

    /// Returns the whole text.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.lines().collect()
    }

    /// Returns the last link: the digest of the whole bundle.
    #[must_use]
    pub fn digest(&self) -> Hash {
        let header = header_line(&self.header);
        let mut link = Link::START;
        for entry in entries(&header, &self.artifacts, &self.events) {
            link.line(&entry);
        }
        link.hash()
    }

    /// Replays the journal event by event. Each event must be one that the run machine could have written. No model and
    /// no tool is called (B002-14).
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
        let replayed = match StrictReplay::replay(events) {
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

/// Serializes the header.
fn header_line(header: &Header) -> String {
    // Serialization fails only for maps with keys that are not text, and a header has none.
    serde_json::to_string(header).unwrap_or_default()
}

#[cfg(test)]
mod tests;
