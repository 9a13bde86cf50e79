//! The key that signs the evidence log, from its seed file.
//!
//! To rotate it, name another file: earlier signatures stay valid under the old public key.

use std::path::Path;

use anyhow::{Context, bail};
use charter_engine::EvidenceKey;

use crate::config::Config;
use crate::seed_file;

/// Files whose presence shows that a data directory was used before.
const OF_USED: [&str; 2] = ["charter.lock", "charter.db"];

/// Whether the data directory holds or held a store. A process creates the seed before the other files.
pub(crate) fn was_used(config: &Config) -> bool {
    let mut files = OF_USED.iter();
    files.any(|file| config.data_dir.join(file).exists())
}

/// Creates the default seed file of a new data directory. A used directory without its seed is refused, because a new
/// key would sign from then on unnoticed. A missing file that the configuration names is created.
pub(crate) fn keep(config: &Config) -> anyhow::Result<()> {
    // Checked before the seed, which another process creates first.
    let was_used = was_used(config);
    let path = config.evidence_key_file();
    if config.evidence.key_file.is_some() || path.exists() {
        return Ok(());
    }
    if was_used {
        bail!("{}", lost(&path));
    }
    seed_file::load(&path, "signs evidence").map(drop)
}

/// Creates the default seed file of a data directory that was restored from a backup.
pub(crate) fn make_anew(config: &Config) -> anyhow::Result<()> {
    seed_file::load(&config.evidence_key_file(), "signs evidence").map(drop)
}

fn lost(path: &Path) -> String {
    format!(
        "{} is missing: it signs the evidence of this data directory. Restore it from its own backup. If it is lost, \
         set `evidence.key_file` to a new file; earlier signatures stay valid under the old public key",
        path.display()
    )
}

/// The key of this installation.
pub(crate) fn load(config: &Config) -> anyhow::Result<EvidenceKey> {
    let seed = seed_file::load(&config.evidence_key_file(), "signs evidence")?;
    EvidenceKey::new(&config.evidence.log_name, seed)
        .with_context(|| format!("evidence.log_name = {:?}", config.evidence.log_name))
}
