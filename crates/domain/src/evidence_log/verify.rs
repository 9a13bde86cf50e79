//! Verifies an export offline, preferably with a key from an independent channel.
//!
//! Reads an export line by line, so that memory grows only with the number of ids. Every fault is collected and names
//! the record that it is about. Opens no file and trusts none of its input.

use std::collections::BTreeMap;

use charter_contract::catalogue::evidence::{EvidenceReceipt, EvidenceRecord};
use charter_contract::ids::EvidenceId;
use charter_contract::json::decode_stored;
use serde::Serialize;
use serde_json::{Map, Value};

use super::bundle::{Coverage, ExportedLeaf, FORMAT, Header};
use super::checkpoint::Checkpoint;
use super::entry::{LogEntry, payload_digest, record_digest};
use super::hash::Hash;
use super::note::VerifierKey;
use super::proof::includes;
use crate::redaction;

mod frontier;
mod verdict;

use frontier::Frontier;
pub use verdict::{ExportFault, Verdict};

/// The maximum number of faults that are kept; further ones are counted.
const MAX_FAULTS: usize = 1_000;

/// The fault of a line that has the exported values but not the exported bytes.
const REWRITTEN: &str =
    "the line was rewritten: its content is equal, but its bytes differ from the export";

/// The state of a record's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Payload {
    Checked,
    Withheld,
    Absent { line: u64 },
    Removed,
}

/// A verifier of one export.
#[derive(Debug)]
pub struct Verifier {
    header: Header,
    checkpoint: Checkpoint,
    since: Option<Checkpoint>,
    frontier: Frontier,
    records: BTreeMap<EvidenceId, Payload>,
    last: Option<EvidenceId>,
    next: u64,
    verdict: Verdict,
}

impl Verifier {
    /// Starts with the header line, including its line end. `pinned` is a key from an independent channel: if it is
    /// set, only that key is trusted. `since` is a note with an older checkpoint of the same log, which must be a
    /// prefix of this one. The caller must state in `accepted` whether a selection is acceptable: the file could claim
    /// to be a selection, in which removed lines cannot be detected.
    ///
    /// # Errors
    /// [`ExportFault`] when the header or a checkpoint is invalid, so that no line after it can be verified.
    pub fn open(
        header: &str,
        pinned: Option<&VerifierKey>,
        since: Option<&str>,
        accepted: Coverage,
    ) -> Result<Self, ExportFault> {
        let written = header;
        let header: Header = decode_stored(header)
            .map_err(|error| of_header(&format!("not a header of an export: {error}")))?;
        if header.format != FORMAT {
            return Err(of_header(&format!(
                "the format is `{}`; this version reads `{FORMAT}`",
                header.format
            )));
        }
        let key: VerifierKey = header
            .key
            .parse()
            .map_err(|error| of_header(&format!("the key: {error}")))?;
        if let Some(pinned) = pinned
            && *pinned != key
        {
            return Err(of_header(&format!(
                "it is signed by {key}, not by {pinned}"
            )));
        }
        let checkpoint = Checkpoint::open(&header.checkpoint, &key)
            .map_err(|error| of_header(&format!("the checkpoint: {error}")))?;
        if !checkpoint
            .origin
            .as_str()
            .ends_with(&format!("/evidence/{}", header.tenant_id))
        {
            return Err(of_header(&format!(
                "the log `{}` does not belong to the tenant `{}`",
                checkpoint.origin, header.tenant_id
            )));
        }
        let since = since.map(|note| Checkpoint::open(note, &key)).transpose();
        let since = since.map_err(|error| of_header(&format!("the older checkpoint: {error}")))?;
        let verdict = Verdict::new(&header, &checkpoint);
        let mut verifier = Self {
            header,
            checkpoint,
            since,
            frontier: Frontier::default(),
            records: BTreeMap::new(),
            last: None,
            next: 0,
            verdict,
        };
        verifier.look_at_header(written, accepted);
        verifier.compare_with_older();
        Ok(verifier)
    }

    /// Checks the header's fields other than the checkpoint.
    fn look_at_header(&mut self, written: &str, accepted: Coverage) {
        if (accepted, self.header.coverage) == (Coverage::Complete, Coverage::Selection) {
            let problem = "the export is a selection, but the whole log is expected: omitted records cannot be \
                           verified";
            self.fault(Some(1), None, problem.to_owned());
        }
        if !is_as_exported(written, &self.header) {
            self.fault(Some(1), None, REWRITTEN.to_owned());
        }
    }

    /// Checks the next line, including its line end. `number` is the line number in the file, from 1.
    pub fn line(&mut self, number: u64, text: &str) {
        self.verdict.leaves += 1;
        let line: ExportedLeaf = match decode_stored(text) {
            Ok(line) => line,
            Err(error) => {
                return self.fault(Some(number), None, format!("not a leaf: {error}"));
            }
        };
        let entry = match LogEntry::from_leaf(&line.leaf) {
            Ok(entry) => entry,
            Err(error) => {
                let problem = format!("leaf {} has unknown content: {error}", line.index);
                self.place(number, &line, None);
                return self.fault(Some(number), None, problem);
            }
        };
        let id = entry.evidence_id().clone();
        self.place(number, &line, Some(&id));
        if !is_as_exported(text, &line) {
            self.fault(Some(number), Some(&id), REWRITTEN.to_owned());
        }
        let hash = Hash::leaf(line.leaf.as_bytes());
        let head = self.checkpoint.head;
        if !includes(line.index, head.size, hash, &line.proof, head.root) {
            let problem = format!("leaf {} is not in the log: its proof fails", line.index);
            self.fault(Some(number), Some(&id), problem);
        }
        self.entry(number, &line, &entry);
        self.last = Some(id);
    }

    /// Finishes the export.
    #[must_use]
    pub fn finish(mut self) -> Verdict {
        let size = self.checkpoint.head.size;
        if self.header.coverage == Coverage::Complete && self.next < size {
            self.missing(None, self.next, size, None);
        }
        let absent: Vec<(EvidenceId, u64)> = self
            .records
            .iter()
            .filter_map(|(id, payload)| match payload {
                Payload::Absent { line } => Some((id.clone(), *line)),
                Payload::Checked | Payload::Withheld | Payload::Removed => None,
            })
            .collect();
        for (id, line) in absent {
            let problem = "the payload is missing, and no leaf records its removal";
            self.fault(Some(line), Some(&id), problem.to_owned());
        }
        let count = |state: Payload| {
            self.records
                .values()
                .filter(|payload| **payload == state)
                .count() as u64
        };
        self.verdict.records = self.records.len() as u64;
        self.verdict.payloads = count(Payload::Checked);
        self.verdict.removed = count(Payload::Removed);
        self.verdict.withheld = count(Payload::Withheld);
        self.verdict
    }

    /// Checks that the line is at its leaf's position.
    fn place(&mut self, number: u64, line: &ExportedLeaf, id: Option<&EvidenceId>) {
        if line.index < self.next {
            let problem = format!(
                "leaf {} is out of order: leaf {} or a later one belongs here",
                line.index, self.next
            );
            return self.fault(Some(number), id, problem);
        }
        if line.index > self.next && self.header.coverage == Coverage::Complete {
            self.missing(Some(number), self.next, line.index, id);
        }
        if line.index == self.next && self.header.coverage == Coverage::Complete {
            self.frontier.push(Hash::leaf(line.leaf.as_bytes()));
            self.reach_older();
        }
        self.next = line.index.saturating_add(1);
    }

    fn missing(&mut self, line: Option<u64>, from: u64, to: u64, before: Option<&EvidenceId>) {
        let leaves = match to - from {
            1 => format!("leaf {from} was removed"),
            _ => format!("leaves {from} to {} were removed", to - 1),
        };
        let after = self.last.as_ref().map(|id| format!(" after {id}"));
        let before = before.map(|id| format!(" before {id}"));
        let problem = format!(
            "{leaves}{}{}",
            after.unwrap_or_default(),
            before.unwrap_or_default()
        );
        self.fault(line, None, problem);
    }

    fn entry(&mut self, number: u64, line: &ExportedLeaf, entry: &LogEntry) {
        let id = entry.evidence_id();
        match entry {
            LogEntry::Record {
                record_sha256,
                payload_sha256,
                receipt,
                ..
            } => {
                if self.records.contains_key(id) {
                    self.fault(Some(number), Some(id), "it is duplicated".to_owned());
                }
                self.record(number, line, id, (*record_sha256, receipt.as_ref()));
                let payload = self.payload(number, line, id, *payload_sha256);
                self.records.insert(id.clone(), payload);
            }
            LogEntry::Attachment { attached_to, .. } => {
                if attached_to.target().is_none() {
                    let problem = "an attachment must have exactly one target".to_owned();
                    self.fault(Some(number), Some(id), problem);
                }
                self.only_leaf(number, line, id);
            }
            LogEntry::PayloadRemoved { .. } => {
                self.only_leaf(number, line, id);
                if let Some(payload) = self.records.get_mut(id) {
                    *payload = Payload::Removed;
                }
            }
        }
    }

    fn record(
        &mut self,
        number: u64,
        line: &ExportedLeaf,
        id: &EvidenceId,
        (digest, receipt): (Hash, Option<&EvidenceReceipt>),
    ) {
        let problem = match &line.record {
            None => Some("the record was removed; its leaf is still there".to_owned()),
            Some(text) if record_digest(text) != digest => {
                Some("the record was changed: it does not match its leaf".to_owned())
            }
            Some(text) => match decode_stored::<EvidenceRecord>(text) {
                Err(error) => Some(format!("the record violates its contract: {error}")),
                Ok(record) if record.id != *id || record.tenant_id != self.header.tenant_id => {
                    Some("the record has another id or tenant".to_owned())
                }
                Ok(record) if record.receipt.as_ref() != receipt => {
                    Some("the record has another receipt than its leaf".to_owned())
                }
                Ok(_) => None,
            },
        };
        if let Some(problem) = problem {
            self.fault(Some(number), Some(id), problem);
        }
    }

    fn payload(
        &mut self,
        number: u64,
        line: &ExportedLeaf,
        id: &EvidenceId,
        digest: Hash,
    ) -> Payload {
        let Some(payload) = &line.payload else {
            return match (&line.withheld, self.class_of(line)) {
                (None, _) => Payload::Absent { line: number },
                (Some(class), Some(own)) if *class == own && !redaction::is_open(Some(&own)) => {
                    Payload::Withheld
                }
                (Some(class), _) => {
                    let problem = format!(
                        "the payload is withheld as `{class}`, which is not its redaction class"
                    );
                    self.fault(Some(number), Some(id), problem);
                    Payload::Withheld
                }
            };
        };
        let problem = if line.withheld.is_some() {
            Some("the payload is marked as withheld but is present")
        } else if payload_digest(&payload.salt.0, &payload.text) != digest {
            Some("the payload was changed: it does not match its leaf")
        } else if decode_stored::<Map<String, Value>>(&payload.text).is_err() {
            Some("the payload is not a JSON object")
        } else {
            None
        };
        if let Some(problem) = problem {
            self.fault(Some(number), Some(id), problem.to_owned());
        }
        Payload::Checked
    }

    fn class_of(&self, line: &ExportedLeaf) -> Option<charter_contract::ids::Label> {
        let record: EvidenceRecord = decode_stored(line.record.as_deref()?).ok()?;
        record.redaction_class
    }

    /// Checks a leaf that is not a record's: it has no contents, and follows the record's leaf.
    fn only_leaf(&mut self, number: u64, line: &ExportedLeaf, id: &EvidenceId) {
        if line.record.is_some() || line.payload.is_some() || line.withheld.is_some() {
            let problem = "the line has a record, but its leaf has none".to_owned();
            self.fault(Some(number), Some(id), problem);
        }
        if !self.records.contains_key(id) {
            let problem = "its record does not precede it".to_owned();
            self.fault(Some(number), Some(id), problem);
        }
    }

    /// Compares the size with that of an older checkpoint.
    fn compare_with_older(&mut self) {
        let Some(since) = &self.since else { return };
        let (old, new) = (since.head.size, self.checkpoint.head.size);
        if old > new {
            let problem = format!("the log has shrunk: it had {old} leaves and has {new}");
            self.fault(None, None, problem);
        } else if self.header.coverage == Coverage::Selection {
            let problem = "only a complete export can be compared with an older checkpoint";
            self.fault(None, None, problem.to_owned());
        } else {
            self.reach_older();
        }
    }

    /// Compares the heads as soon as the number of leaves equals that of the older checkpoint.
    fn reach_older(&mut self) {
        let older = self.since.as_ref().map(|checkpoint| checkpoint.head);
        let Some(older) = older.filter(|head| head.size == self.frontier.size()) else {
            return;
        };
        if self.frontier.root() != older.root {
            let problem = format!(
                "the log was rewritten: its first {} leaves differ from those of the older checkpoint",
                older.size
            );
            self.fault(None, None, problem);
        }
    }

    fn fault(&mut self, line: Option<u64>, id: Option<&EvidenceId>, problem: String) {
        if self.verdict.faults.len() >= MAX_FAULTS {
            self.verdict.more_faults += 1;
            return;
        }
        self.verdict.faults.push(ExportFault {
            line,
            evidence_id: id.cloned(),
            problem,
        });
    }
}

/// Returns whether a line equals, byte for byte, the output of an export: no other blanks, escapes or line end.
fn is_as_exported(written: &str, line: &impl Serialize) -> bool {
    let exported = serde_json::to_string(line).ok();
    exported.is_some_and(|exported| written.strip_suffix('\n') == Some(exported.as_str()))
}

fn of_header(problem: &str) -> ExportFault {
    ExportFault {
        line: Some(1),
        evidence_id: None,
        problem: problem.to_owned(),
    }
}

#[cfg(test)]
mod tests;
