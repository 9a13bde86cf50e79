//! Verifies a bundle offline: every line against the manifest, the journal's chain, the form of each artifact, and that
//! all parts belong to one mission.

use std::collections::BTreeSet;

use charter_contract::json::decode_stored;
use charter_contract::mission::envelope::MissionEnvelope;
use charter_contract::mission::upcast::read_stored;
use charter_contract::mission::{ArtifactKind, MissionRoot};
use charter_contract::validate::parse_stored;
use charter_contract::violation::Violation;
use charter_contract::{canonical, charset};
use serde_json::Value;

use super::manifest::{ArtifactEntry, Entry, EventEntry, HeaderEntry, Link, digest};
use super::{Bundle, BundledArtifact, BundledEvent, FORMAT, Header, header_line};
use crate::run::chain::{EventHash, GENESIS};

/// The maximum size of a bundle, in bytes.
pub const MAX_BUNDLE_BYTES: usize = 256 << 20;

/// The maximum number of faults that are kept.
const MAX_FAULTS: usize = 1_000;

/// One fault of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, {pointer}: {problem}")]
pub struct BundleDefect {
    /// The line, from 1.
    pub line: usize,
    /// The location of the fault, as a JSON pointer into the bundle: `/header`, `/artifacts/3/confidence`, `/events/0`,
    /// `/manifest/7`.
    pub pointer: String,
    /// The problem.
    pub problem: String,
}

/// Parses a bundle and verifies all of it.
///
/// # Errors
/// Every [`BundleDefect`], by line. Any changed byte is among them.
pub fn verify(bytes: &[u8]) -> Result<Bundle, Vec<BundleDefect>> {
    let lines = split(bytes).map_err(|fault| vec![fault])?;
    let header = read_header(lines[0]).map_err(|problem| vec![of_header(problem)])?;
    let (artifacts, events) = sizes(&header, &lines)?;
    let (content, manifest) = lines.split_at(1 + artifacts + events);
    let mut reading = BundleReading {
        faults: Vec::new(),
        first_of_manifest: content.len(),
        link: Link::START,
    };
    reading.header(lines[0], manifest[0]);
    let bundle = Bundle {
        artifacts: reading.artifacts(&content[1..=artifacts], &manifest[1..=artifacts]),
        events: reading.events(&content[1 + artifacts..], &manifest[1 + artifacts..]),
        header,
    };
    if reading.faults.is_empty() {
        reading.one_mission(&bundle);
    }
    let mut faults = reading.faults;
    if faults.is_empty() {
        return Ok(bundle);
    }
    faults.sort_by_key(|fault| fault.line);
    Err(faults)
}

/// Splits the bundle into lines, without line ends.
fn split(bytes: &[u8]) -> Result<Vec<&str>, BundleDefect> {
    if bytes.len() > MAX_BUNDLE_BYTES {
        return Err(of_header(format!(
            "the bundle has {} bytes; the limit is {MAX_BUNDLE_BYTES}",
            bytes.len()
        )));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.iter().take(error.valid_up_to());
        BundleDefect {
            line: 1 + before.filter(|byte| **byte == b'\n').count(),
            pointer: String::new(),
            problem: format!("byte {} is not UTF-8", error.valid_up_to()),
        }
    })?;
    let mut lines: Vec<&str> = charset::without_mark(text).split('\n').collect();
    let after_the_last = lines.pop();
    if after_the_last != Some("") {
        return Err(BundleDefect {
            line: lines.len() + 1,
            pointer: String::new(),
            problem: "the last line has no line end".to_owned(),
        });
    }
    if lines.is_empty() {
        return Err(of_header("the bundle is empty".to_owned()));
    }
    Ok(lines)
}

fn read_header(line: &str) -> Result<Header, String> {
    let header: Header =
        decode_stored(line).map_err(|error| format!("not a header of a bundle: {error}"))?;
    if header_line(&header) != line {
        return Err("the header is not in its canonical form".to_owned());
    }
    if header.format != FORMAT {
        return Err(format!(
            "the format is `{}`; this version reads `{FORMAT}`",
            header.format
        ));
    }
    Ok(header)
}

/// Returns the numbers of artifacts and events, if they match the number of lines.
fn sizes(header: &Header, lines: &[&str]) -> Result<(usize, usize), Vec<BundleDefect>> {
    let wanted = header.artifacts.checked_add(header.events);
    let wanted = wanted.and_then(|content| content.checked_add(1)?.checked_mul(2));
    let sizes = (header.artifacts.try_into(), header.events.try_into());
    match (wanted, sizes) {
        (Some(wanted), (Ok(artifacts), Ok(events))) if wanted == lines.len() as u64 => {
            Ok((artifacts, events))
        }
        _ => Err(misaligned(header, lines)),
    }
}

/// Reports added or removed lines, or wrong numbers in the header.
fn misaligned(header: &Header, lines: &[&str]) -> Vec<BundleDefect> {
    let problem = format!(
        "the header counts {} artifacts and {} events, which does not match {} lines",
        header.artifacts,
        header.events,
        lines.len()
    );
    let broken = |line: &str| decode_stored::<serde::de::IgnoredAny>(line).is_err();
    let broken = lines.iter().position(|line| broken(line));
    let broken = broken.map(|at| BundleDefect {
        line: at + 1,
        pointer: String::new(),
        problem: "this line is not JSON".to_owned(),
    });
    std::iter::once(of_header(problem)).chain(broken).collect()
}

/// Returns whether a text is the canonical text of its value.
fn is_canonical(payload: &str) -> bool {
    let value = decode_stored::<Value>(payload);
    value.is_ok_and(|value| canonical::text(value) == payload)
}

fn of_header(problem: String) -> BundleDefect {
    BundleDefect {
        line: 1,
        pointer: "/header".to_owned(),
        problem,
    }
}

/// The state of the verification.
struct BundleReading {
    faults: Vec<BundleDefect>,
    /// The number of lines before the manifest.
    first_of_manifest: usize,
    link: Link,
}

impl BundleReading {
    fn fault(&mut self, line: usize, pointer: String, problem: String) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(BundleDefect {
                line,
                pointer,
                problem,
            });
        }
    }

    /// Returns the manifest's entry for the line with index `at`, from 0; `None` if the entry was changed.
    fn entry(&mut self, at: usize, line: &str) -> Option<Entry> {
        let read = self.link.read(line);
        if read.is_err() {
            let problem = "this line of the manifest was changed".to_owned();
            self.manifest_fault(at, problem);
        }
        read.ok()
    }

    fn manifest_fault(&mut self, at: usize, problem: String) {
        let line = self.first_of_manifest + at + 1;
        self.fault(line, format!("/manifest/{at}"), problem);
    }

    fn header(&mut self, line: &str, manifest: &str) {
        match self.entry(0, manifest) {
            Some(Entry::Header(HeaderEntry { header })) if header == digest(line) => {}
            Some(Entry::Header(_)) => {
                self.faults
                    .push(of_header("the header was changed".to_owned()));
            }
            Some(Entry::Artifact(_) | Entry::Event(_)) => {
                self.manifest_fault(0, "it is not about the header".to_owned());
            }
            None => {}
        }
    }

    fn artifacts(&mut self, lines: &[&str], manifest: &[&str]) -> Vec<BundledArtifact> {
        let mut artifacts = Vec::with_capacity(lines.len());
        for (at, (line, entry)) in lines.iter().zip(manifest).enumerate() {
            let place = at as u64 + 1;
            match self.entry(at + 1, entry) {
                Some(Entry::Artifact(ArtifactEntry {
                    artifact,
                    event,
                    sha256,
                })) if artifact == place => {
                    if sha256 != digest(line) {
                        let problem = format!("artifact {place} was changed");
                        self.fault(at + 2, format!("/artifacts/{at}"), problem);
                    }
                    artifacts.push(BundledArtifact {
                        payload: (*line).to_owned(),
                        event,
                    });
                }
                Some(_) => self.manifest_fault(at + 1, format!("it is not about artifact {place}")),
                None => {}
            }
        }
        artifacts
    }

    fn events(&mut self, lines: &[&str], manifest: &[&str]) -> Vec<BundledEvent> {
        let before = self.first_of_manifest - lines.len();
        let mut last = GENESIS;
        let mut events = Vec::with_capacity(lines.len());
        for (at, (line, entry)) in lines.iter().zip(manifest).enumerate() {
            let sequence = at as u64 + 1;
            let chained = last.chain(sequence, line);
            // After a changed line, the chain continues from the hash that was written for the line.
            last = match self.entry(before + at, entry) {
                Some(Entry::Event(EventEntry {
                    event,
                    at: time,
                    hash,
                })) if event == sequence => {
                    let hash = EventHash(hash.0);
                    if hash != chained {
                        let problem = format!("event {sequence} was changed");
                        self.fault(before + at + 1, format!("/events/{at}"), problem);
                    }
                    events.push(BundledEvent {
                        at: time,
                        hash,
                        payload: (*line).to_owned(),
                    });
                    hash
                }
                Some(_) => {
                    self.manifest_fault(before + at, format!("it is not about event {sequence}"));
                    chained
                }
                None => chained,
            };
        }
        events
    }

    /// Checks that all parts belong to one mission: artifacts have known forms, belong to the header's mission and
    /// tenant, are unique, and were stored with existing events.
    fn one_mission(&mut self, bundle: &Bundle) {
        let header = &bundle.header;
        let Some(root) = self.root(bundle) else {
            return;
        };
        if (&root.mission_id, &root.tenant_id) != (&header.mission_id, &header.tenant_id) {
            let problem = format!(
                "the header names mission `{}` of `{}`, the envelope names `{}` of `{}`",
                header.mission_id, header.tenant_id, root.mission_id, root.tenant_id
            );
            self.faults.push(of_header(problem));
        }
        let mut taken: BTreeSet<(ArtifactKind, String)> = BTreeSet::new();
        let mut written = 1;
        for (at, artifact) in bundle.artifacts.iter().enumerate() {
            let pointer = format!("/artifacts/{at}");
            if !is_canonical(&artifact.payload) {
                let problem = "it is not in its canonical form".to_owned();
                self.fault(at + 2, pointer.clone(), problem);
            }
            match read_stored(&artifact.payload, &root) {
                Ok(read) => {
                    let key = (read.as_ref().kind(), read.as_ref().id().to_owned());
                    let (kind, id) = (key.0, key.1.clone());
                    if !taken.insert(key) {
                        let problem = format!("an earlier {kind} has the id `{id}`");
                        self.fault(at + 2, pointer.clone(), problem);
                    }
                }
                Err(violations) => self.violations(at, &pointer, &violations),
            }
            if artifact.event < written || artifact.event > header.events {
                let problem = format!("no event {} can accompany it", artifact.event);
                self.manifest_fault(at + 1, problem);
            }
            written = artifact.event.max(written);
        }
    }

    /// Returns the root metadata of the envelope, which is the first artifact.
    fn root(&mut self, bundle: &Bundle) -> Option<MissionRoot> {
        let first = bundle.artifacts.first();
        let first = first.map_or("", |artifact| &artifact.payload);
        match parse_stored::<MissionEnvelope>(first) {
            Ok(envelope) => Some(envelope.mission_root()),
            Err(violations) => {
                self.violations(0, "/artifacts/0", &violations);
                None
            }
        }
    }

    fn violations(&mut self, at: usize, pointer: &str, violations: &[Violation]) {
        for found in violations {
            let place = format!("{pointer}{}", found.pointer);
            self.fault(at + 2, place, found.message.clone());
        }
    }
}
