//! Exports: leaves with their content, in the line format of `charter_domain::evidence_log::bundle`.
//!
//! An export is made page by page under one checkpoint that is signed first. Payloads that the caller may not see are
//! left out; their digests are still in the leaves.

use std::collections::BTreeSet;

use charter_contract::bounds::PAGE_BYTES;
use charter_contract::catalogue::evidence::EvidenceRecord;
use charter_contract::error_code::ErrorCode;
use charter_contract::json::decode_stored;
use charter_domain::evidence_log::bundle::{FORMAT, SaltedPayload};
use charter_domain::evidence_log::{Cover, Coverage, ExportedLeaf, Hash, Header, LogEntry, tree};
use charter_store::evidence_log::{StoredLeaf, StoredRecord};
use charter_store::page::PageRequest;
use schemars::JsonSchema;
use serde::Serialize;

use super::{EvidenceLogService, damaged};
use crate::execution::evidence::withheld;
use crate::{Caller, EngineError, EvidenceQuery};

/// Leaves that are read at once, if they are small: payloads are up to 1 MiB each.
const PAGE: usize = 32;

/// Maximum records of a selection.
const MAX_SELECTED: usize = 100_000;

/// One record's leaves with the checkpoint of their proofs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EvidenceProof {
    header: Header,
    leaves: Vec<ExportedLeaf>,
}

/// An export in progress.
#[derive(Debug)]
pub struct EvidenceExport {
    caller: Caller,
    header: Header,
    header_given: bool,
    size: u64,
    rest: Rest,
    /// Number of leaves in the next read.
    page: usize,
}

/// The remaining part of an export.
#[derive(Debug)]
enum Rest {
    /// Every leaf from this one on.
    From(u64),
    /// These leaves.
    These(BTreeSet<u64>),
}

impl EvidenceLogService {
    /// Starts an export: of everything for an operator without filters, else of the matching records that are visible
    /// to the caller.
    ///
    /// # Errors
    /// `too_large` for a selection of too many records; as [`EvidenceService::list`](crate::EvidenceService::list).
    pub async fn export(
        &self,
        caller: &Caller,
        query: EvidenceQuery,
    ) -> Result<EvidenceExport, EngineError> {
        let sees_all = caller.only_own().is_none();
        let (coverage, rest) = if !sees_all || query != EvidenceQuery::default() {
            let selected = self.selected(caller, query).await?;
            (Coverage::Selection, Rest::These(selected))
        } else if self.is_whole(caller).await? {
            (Coverage::Complete, Rest::From(0))
        } else {
            (Coverage::Selection, Rest::From(0))
        };
        let (header, size) = self.export_header(caller, coverage).await?;
        Ok(EvidenceExport {
            caller: caller.clone(),
            header,
            header_given: false,
            size,
            rest,
            page: 1,
        })
    }

    /// Returns the next lines, each with its line end; `None` at the end of the export.
    ///
    /// # Errors
    /// `version_conflict` if a payload was removed meanwhile: the export must start again.
    pub async fn next_lines(
        &self,
        export: &mut EvidenceExport,
    ) -> Result<Option<String>, EngineError> {
        if !export.header_given {
            export.header_given = true;
            return json_line(&export.header).map(Some);
        }
        let leaves = self.next_leaves(export).await?;
        if leaves.is_empty() {
            return Ok(None);
        }
        let lines = self.lines(&export.caller, export.size, leaves).await?;
        let lines = lines.iter().map(json_line);
        let text = lines.collect::<Result<String, _>>()?;
        export.page = match text.len() {
            0..=PAGE_BYTES => (2 * export.page).min(PAGE),
            _ => 1,
        };
        Ok(Some(text))
    }

    pub(super) async fn proof_of(
        &self,
        caller: &Caller,
        mut leaves: Vec<StoredLeaf>,
    ) -> Result<EvidenceProof, EngineError> {
        let (header, size) = self.export_header(caller, Coverage::Selection).await?;
        leaves.retain(|leaf| leaf.index < size);
        let leaves = self.lines(caller, size, leaves).await?;
        Ok(EvidenceProof { header, leaves })
    }

    async fn export_header(
        &self,
        caller: &Caller,
        coverage: Coverage,
    ) -> Result<(Header, u64), EngineError> {
        let checkpoint = self.checkpoint(caller).await?;
        let header = Header {
            format: FORMAT.to_owned(),
            tenant_id: caller.tenant.clone(),
            coverage,
            key: self.key(caller)?.key,
            checkpoint: checkpoint.checkpoint,
        };
        Ok((header, checkpoint.size))
    }

    /// Returns whether the log still has its first leaves: an erasure of the tenant removes those before it.
    async fn is_whole(&self, caller: &Caller) -> Result<bool, EngineError> {
        let first = self.store.log_leaves(&caller.tenant, 0, 1).await?;
        match first.first() {
            Some(first) => Ok(first.index == 0),
            None => Ok(self.store.log_size(&caller.tenant).await? == 0),
        }
    }

    /// Returns the positions of all leaves about the matching records.
    async fn selected(
        &self,
        caller: &Caller,
        query: EvidenceQuery,
    ) -> Result<BTreeSet<u64>, EngineError> {
        let mut places = BTreeSet::new();
        let (mut after, mut records) = (None, 0);
        loop {
            let page = PageRequest::new(after, PAGE);
            let found = self.evidence.list(caller, query.clone(), &page).await?;
            records += found.entries.len();
            if records > MAX_SELECTED {
                let message = format!(
                    "the selection has more than {MAX_SELECTED} records; narrow it, or export the whole log"
                );
                return Err(EngineError::new(ErrorCode::TooLarge, message));
            }
            for record in &found.entries {
                let leaves = self.store.log_leaves_of(&caller.tenant, &record.id).await?;
                places.extend(leaves.iter().map(|leaf| leaf.index));
            }
            after = found.next;
            if after.is_none() {
                return Ok(places);
            }
        }
    }

    async fn next_leaves(
        &self,
        export: &mut EvidenceExport,
    ) -> Result<Vec<StoredLeaf>, EngineError> {
        let tenant = &export.caller.tenant;
        let mut leaves = match &mut export.rest {
            Rest::From(from) => {
                let leaves = self.store.log_leaves(tenant, *from, export.page).await?;
                *from = leaves.last().map_or(*from, |leaf| leaf.index + 1);
                leaves
            }
            Rest::These(places) => match places.pop_first() {
                None => Vec::new(),
                Some(place) => self.store.log_leaves(tenant, place, 1).await?,
            },
        };
        leaves.retain(|leaf| leaf.index < export.size);
        Ok(leaves)
    }

    async fn lines(
        &self,
        caller: &Caller,
        size: u64,
        leaves: Vec<StoredLeaf>,
    ) -> Result<Vec<ExportedLeaf>, EngineError> {
        let plans: Vec<Vec<Cover>> = leaves
            .iter()
            .map(|leaf| tree::inclusion(leaf.index, size).unwrap_or_default())
            .collect();
        let nodes: BTreeSet<_> = plans
            .iter()
            .flatten()
            .flat_map(Cover::nodes)
            .copied()
            .collect();
        let nodes: Vec<_> = nodes.into_iter().collect();
        let read = self.store.log_nodes(&caller.tenant, &nodes).await?;
        let mut lines = Vec::with_capacity(leaves.len());
        for (leaf, plan) in leaves.into_iter().zip(plans) {
            let proof = plan.iter().map(|cover| cover.fold(&read).map_err(damaged));
            let proof = proof.collect::<Result<Vec<Hash>, _>>()?;
            lines.push(self.export_line(caller, size, leaf, proof).await?);
        }
        Ok(lines)
    }

    async fn export_line(
        &self,
        caller: &Caller,
        size: u64,
        leaf: StoredLeaf,
        proof: Vec<Hash>,
    ) -> Result<ExportedLeaf, EngineError> {
        let mut line = ExportedLeaf {
            index: leaf.index,
            leaf: leaf.leaf,
            proof,
            record: None,
            payload: None,
            withheld: None,
        };
        let Some(StoredRecord { record, payload }) = leaf.record else {
            return Ok(line);
        };
        let read: EvidenceRecord = decode_stored(&record)
            .map_err(|error| EngineError::internal("reading a stored record", error))?;
        line.record = Some(record);
        match payload {
            None => self.check_removed(caller, size, &read).await?,
            Some(payload) => match withheld(caller, read.redaction_class.as_ref()) {
                Some(class) => line.withheld = Some(class.clone()),
                None => {
                    line.payload = Some(SaltedPayload {
                        salt: Hash(payload.salt),
                        text: payload.text,
                    });
                }
            },
        }
        Ok(line)
    }

    /// Checks that the leaf of a removed payload is under this checkpoint, or the export would not verify.
    async fn check_removed(
        &self,
        caller: &Caller,
        size: u64,
        record: &EvidenceRecord,
    ) -> Result<(), EngineError> {
        let leaves = self.store.log_leaves_of(&caller.tenant, &record.id).await?;
        let said = leaves.iter().filter(|leaf| leaf.index < size).any(|leaf| {
            matches!(
                LogEntry::from_leaf(&leaf.leaf),
                Ok(LogEntry::PayloadRemoved { .. })
            )
        });
        if said {
            return Ok(());
        }
        let message = format!(
            "the payload of `{}` was removed while it was being exported",
            record.id
        );
        Err(EngineError::new(ErrorCode::VersionConflict, message))
    }
}

fn json_line<T: Serialize>(value: &T) -> Result<String, EngineError> {
    let mut line = serde_json::to_string(value)
        .map_err(|error| EngineError::internal("writing an export", error))?;
    line.push('\n');
    Ok(line)
}
