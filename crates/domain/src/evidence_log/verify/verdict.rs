//! The result of verifying an export.

use std::fmt;

use charter_contract::ids::EvidenceId;
use serde::Serialize;

use super::super::bundle::{Coverage, Header};
use super::super::checkpoint::Checkpoint;
use super::super::hash::Hash;

/// One fault of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExportFault {
    /// The line of the file, from 1; absent for a fault of the whole export.
    pub line: Option<u64>,
    /// The record that the fault is about, if known.
    pub evidence_id: Option<EvidenceId>,
    /// The problem.
    pub problem: String,
}

impl fmt::Display for ExportFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if let Some(id) = &self.evidence_id {
            write!(f, "{id}: ")?;
        }
        f.write_str(&self.problem)
    }
}

/// The result of verification. The export is valid if there are no faults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The log's name.
    pub origin: String,
    /// The signing key, in C2SP form.
    pub key: String,
    /// The number of leaves of the checkpoint.
    pub size: u64,
    /// The head of the checkpoint.
    pub root: Hash,
    /// Whether every leaf of the checkpoint was verified.
    pub coverage: Coverage,
    /// The number of leaves that were read.
    pub leaves: u64,
    /// The number of records among them.
    pub records: u64,
    /// The number of payloads that were verified.
    pub payloads: u64,
    /// The number of removed payloads with a leaf that records the removal.
    pub removed: u64,
    /// The number of payloads that were withheld from the exporting caller.
    pub withheld: u64,
    /// The faults.
    pub faults: Vec<ExportFault>,
    /// The number of faults beyond those that are listed.
    pub more_faults: u64,
}

impl Verdict {
    pub(super) fn new(header: &Header, checkpoint: &Checkpoint) -> Self {
        Self {
            origin: checkpoint.origin.to_string(),
            key: header.key.clone(),
            size: checkpoint.head.size,
            root: checkpoint.head.root,
            coverage: header.coverage,
            leaves: 0,
            records: 0,
            payloads: 0,
            removed: 0,
            withheld: 0,
            faults: Vec::new(),
            more_faults: 0,
        }
    }
}
