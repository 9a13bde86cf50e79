//! What checking an export came to.

use std::fmt;

use charter_contract::ids::EvidenceId;
use serde::Serialize;

use super::super::bundle::{Coverage, Header};
use super::super::checkpoint::Checkpoint;
use super::super::hash::Hash;

/// One thing that is wrong with an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExportFault {
    /// The line of the file, from 1; absent for what is wrong with the whole.
    pub line: Option<u64>,
    /// The record that it is about, where that is known.
    pub evidence_id: Option<EvidenceId>,
    /// What is wrong.
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

/// What checking came to. The export is good when there is no fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The log's name.
    pub origin: String,
    /// The key that signed, as C2SP writes it.
    pub key: String,
    /// Leaves of the checkpoint.
    pub size: u64,
    /// Head of the checkpoint.
    pub root: Hash,
    /// Whether every leaf of the checkpoint was there to be checked.
    pub coverage: Coverage,
    /// Leaves that were read.
    pub leaves: u64,
    /// Records among them.
    pub records: u64,
    /// Payloads that were checked.
    pub payloads: u64,
    /// Payloads that were removed, with a leaf that says so.
    pub removed: u64,
    /// Payloads that are withheld from whoever exported.
    pub withheld: u64,
    /// What is wrong.
    pub faults: Vec<ExportFault>,
    /// Faults beyond those that are listed.
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
