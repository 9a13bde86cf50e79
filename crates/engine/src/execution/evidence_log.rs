//! The evidence log's use cases: the signed head, proofs and the retention of payloads (B000-19). Exports are in
//! [`export`].
//!
//! `charter_domain::evidence_log` decides how to hash, sign and check; this module combines that with storage.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{EvidenceId, TenantId};
use charter_domain::clock::Clock;
use charter_domain::evidence_log::note::NoteError;
use charter_domain::evidence_log::proof::TreeHead;
use charter_domain::evidence_log::tree::{self, MissingNode};
use charter_domain::evidence_log::{Checkpoint, Cover, Hash, KeyName, Signer, origin};
use charter_store::SharedStore;
use charter_store::evidence_log::PublishedCheckpoint;
use schemars::JsonSchema;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::execution::evidence::EvidenceService;
use crate::ground::core_ports::CorePorts;
use crate::ground::moments;
use crate::{Caller, EngineError};

mod export;

pub use export::{EvidenceExport, EvidenceProof};

/// Interval between sweeps of payloads.
const RETAIN_EVERY: Duration = Duration::from_secs(3_600);

/// Payloads removed in one transaction.
const REMOVE_BATCH: usize = 200;

/// The key that signs the checkpoints of every tenant's log.
#[derive(Clone)]
pub struct EvidenceKey {
    installation: String,
    seed: [u8; 32],
}

impl EvidenceKey {
    /// Creates the key from a secret seed; logs are named `<installation>/evidence/<tenant>`.
    ///
    /// # Errors
    /// For an installation that is empty or has spaces, control characters or `+`.
    pub fn new(installation: &str, seed: [u8; 32]) -> Result<Self, NoteError> {
        KeyName::parse(installation)?;
        Ok(Self {
            installation: installation.to_owned(),
            seed,
        })
    }

    fn signer(&self, tenant: &TenantId) -> Result<Signer, EngineError> {
        let name = origin(&self.installation, tenant)
            .map_err(|error| EngineError::internal("naming the evidence log", error))?;
        Ok(Signer::new(name, &self.seed))
    }
}

/// The public key of a tenant's log.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "EvidenceLogKey")]
pub struct LogKey {
    /// In the format of C2SP `signed-note`: `name+id+key`.
    pub key: String,
    /// The log's name, which is also the key's.
    pub name: String,
    /// Its id, in hexadecimal.
    pub id: String,
    /// `ed25519`.
    pub algorithm: &'static str,
}

/// A signed head.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "EvidenceLogCheckpoint")]
pub struct LogCheckpoint {
    /// The log's name.
    pub origin: String,
    /// Number of leaves.
    pub size: u64,
    /// Hash of the tree.
    pub root: Hash,
    /// The signed note.
    pub checkpoint: String,
}

/// Proof that one head is the beginning of another.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "EvidenceLogConsistency")]
pub struct LogConsistency {
    /// The smaller log.
    pub from: LogHead,
    /// The larger one.
    pub to: LogHead,
    /// In the order of RFC 9162 §2.1.4.
    pub proof: Vec<Hash>,
}

/// A head, with its issued note, if there is one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "EvidenceLogHead")]
pub struct LogHead {
    /// Number of leaves.
    pub size: u64,
    /// Hash of the tree.
    pub root: Hash,
    /// The signed note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
}

/// The evidence logs of all tenants.
pub struct EvidenceLogService {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    shutdown: CancellationToken,
    evidence: Arc<EvidenceService>,
    key: EvidenceKey,
    /// How long payloads are kept; forever when absent.
    retention: Option<Duration>,
}

impl std::fmt::Debug for EvidenceLogService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EvidenceLogService").finish_non_exhaustive()
    }
}

impl EvidenceLogService {
    /// Creates the service; payloads are kept for `retention`, or forever.
    pub(crate) fn new(
        ports: CorePorts,
        shutdown: CancellationToken,
        evidence: Arc<EvidenceService>,
        key: EvidenceKey,
        retention: Option<Duration>,
    ) -> Self {
        Self {
            store: ports.store,
            clock: ports.clock,
            shutdown,
            evidence,
            key,
            retention,
        }
    }

    /// Returns the public key that signs the tenant's log.
    ///
    /// # Errors
    /// None in practice: names were checked at the start.
    pub fn key(&self, caller: &Caller) -> Result<LogKey, EngineError> {
        let signer = self.key.signer(&caller.tenant)?;
        let verifier = signer.verifier();
        Ok(LogKey {
            key: verifier.to_string(),
            name: verifier.name().to_string(),
            id: verifier.id(),
            algorithm: "ed25519",
        })
    }

    /// Returns the present signed head of the tenant's log. It is stored, so that issued heads can be compared later.
    ///
    /// # Errors
    /// If storage fails.
    pub async fn checkpoint(&self, caller: &Caller) -> Result<LogCheckpoint, EngineError> {
        let size = self.store.log_size(&caller.tenant).await?;
        self.checkpoint_at(&caller.tenant, size).await
    }

    async fn checkpoint_at(
        &self,
        tenant: &TenantId,
        size: u64,
    ) -> Result<LogCheckpoint, EngineError> {
        let signer = self.key.signer(tenant)?;
        let root = self.log_root(tenant, size).await?;
        let checkpoint = Checkpoint {
            origin: signer.verifier().name().clone(),
            head: TreeHead { size, root },
        };
        let note = checkpoint
            .sign(&signer)
            .map_err(|error| EngineError::internal("signing a checkpoint", error))?;
        let published = PublishedCheckpoint {
            size,
            key_id: signer.verifier().id(),
            at: self.clock.now(),
            note: note.clone(),
        };
        self.store.publish_checkpoint(tenant, &published).await?;
        Ok(LogCheckpoint {
            origin: checkpoint.origin.to_string(),
            size,
            root,
            checkpoint: note,
        })
    }

    /// Proves that the log of `from` leaves is the beginning of the log of `to` leaves.
    ///
    /// # Errors
    /// `invalid_request` if `to` exceeds the log, or is less than `from`.
    pub async fn consistency(
        &self,
        caller: &Caller,
        from: u64,
        to: u64,
    ) -> Result<LogConsistency, EngineError> {
        let tenant = &caller.tenant;
        let size = self.store.log_size(tenant).await?;
        let plan = tree::consistency(from, to).filter(|_| to <= size);
        let plan = plan.ok_or_else(|| {
            let message = format!(
                "the range of sizes from {from} to {to} is invalid: it must not decrease, and the log has {size} leaves"
            );
            EngineError::new(ErrorCode::InvalidRequest, message)
        })?;
        Ok(LogConsistency {
            from: self.log_head(tenant, from).await?,
            to: self.log_head(tenant, to).await?,
            proof: self.folded(tenant, &plan).await?,
        })
    }

    /// Returns one record's leaves, each with its proof, under a present checkpoint.
    ///
    /// # Errors
    /// `not_found`, also for a record that is not visible to the caller.
    pub async fn proof(
        &self,
        caller: &Caller,
        id: &EvidenceId,
    ) -> Result<EvidenceProof, EngineError> {
        self.evidence.must_see(caller, id).await?;
        let leaves = self.store.log_leaves_of(&caller.tenant, id).await?;
        if leaves.is_empty() {
            return Err(self.evidence.no_record(caller, id).await?);
        }
        self.proof_of(caller, leaves).await
    }

    /// Removes payloads past their retention, at the start and then hourly, until the engine shuts down. Returns at
    /// once if payloads are kept forever.
    pub(crate) async fn retain_forever(self: Arc<Self>) {
        let Some(retention) = self.retention else {
            return;
        };
        let mut ticks = tokio::time::interval(RETAIN_EVERY);
        loop {
            tokio::select! {
                () = self.shutdown.cancelled() => return,
                _ = ticks.tick() => {}
            }
            match self.remove_payloads(retention).await {
                Ok(0) => {}
                Ok(removed) => {
                    tracing::info!(removed, "removed payloads past their retention");
                }
                Err(error) => {
                    tracing::warn!(error = %error, "removing payloads failed; retrying");
                }
            }
        }
    }

    /// Removes the payloads of records captured longer ago than `retention`; leaves and digests stay, so every proof
    /// remains valid. Returns how many.
    ///
    /// # Errors
    /// If storage fails.
    pub async fn remove_payloads(&self, retention: Duration) -> Result<usize, EngineError> {
        let now = self.clock.now();
        let before = moments::before(now, retention);
        let mut removed = 0;
        loop {
            let batch = self
                .store
                .remove_payloads(before, now, REMOVE_BATCH)
                .await?;
            removed += batch;
            if batch < REMOVE_BATCH || self.shutdown.is_cancelled() {
                return Ok(removed);
            }
        }
    }

    async fn log_head(&self, tenant: &TenantId, size: u64) -> Result<LogHead, EngineError> {
        let published = self.store.published_checkpoint(tenant, size).await?;
        Ok(LogHead {
            size,
            root: self.log_root(tenant, size).await?,
            checkpoint: published.map(|published| published.note),
        })
    }

    async fn log_root(&self, tenant: &TenantId, size: u64) -> Result<Hash, EngineError> {
        let plan = tree::head(size);
        let read = self.store.log_nodes(tenant, plan.nodes()).await?;
        plan.fold(&read).map_err(damaged)
    }

    async fn folded(&self, tenant: &TenantId, plan: &[Cover]) -> Result<Vec<Hash>, EngineError> {
        let nodes: Vec<_> = plan.iter().flat_map(Cover::nodes).copied().collect();
        let read = self.store.log_nodes(tenant, &nodes).await?;
        let folded = plan.iter().map(|cover| cover.fold(&read).map_err(damaged));
        folded.collect()
    }
}

fn damaged(missing: MissingNode) -> EngineError {
    EngineError::internal("reading the evidence log", missing)
}

#[cfg(test)]
mod tests;
