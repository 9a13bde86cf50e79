//! The key that signs the evidence log, from its seed file.
//!
//! To rotate, name another file: what was signed before stays valid under the old public key.

use anyhow::Context;
use charter_engine::EvidenceKey;

use crate::config::Config;
use crate::seed_file;

/// The key of this installation.
pub(crate) fn load(config: &Config) -> anyhow::Result<EvidenceKey> {
    let seed = seed_file::load(&config.evidence_key_file(), "evidence")?;
    EvidenceKey::new(&config.evidence.log_name, seed)
        .with_context(|| format!("evidence.log_name = {:?}", config.evidence.log_name))
}
