//! The file with the secret seed that signs the evidence log: 64 hexadecimal digits, for the owner
//! alone. Whoever reads it can sign in this installation's name.
//!
//! A missing file is made with a fresh seed. To rotate, name another file: what was signed before
//! stays valid under the old public key.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, bail};
use charter_domain::evidence_log::Hash;
use charter_engine::EvidenceKey;

use crate::config::Config;

/// Digits and a line end, and some room to notice what is no seed.
const MAX_FILE: u64 = 1_024;

/// The key of this installation.
pub(crate) fn load(config: &Config) -> anyhow::Result<EvidenceKey> {
    let file = config.evidence_key_file();
    let seed = match read(&file)? {
        Some(seed) => seed,
        None => make(&file)?,
    };
    EvidenceKey::new(&config.evidence.log_name, seed)
        .with_context(|| format!("evidence.log_name = {:?}", config.evidence.log_name))
}

fn read(path: &Path) -> anyhow::Result<Option<[u8; 32]>> {
    let reading = || format!("reading the seed that signs evidence, {}", path.display());
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(reading),
    };
    let mode = file.metadata().with_context(reading)?.permissions().mode();
    if mode & 0o077 != 0 {
        bail!(
            "{} can be read or changed by others (mode {:o}); only its owner may: chmod 600",
            path.display(),
            mode & 0o777
        );
    }
    let mut text = String::new();
    file.take(MAX_FILE)
        .read_to_string(&mut text)
        .with_context(reading)?;
    let seed: Hash = text
        .strip_suffix('\n')
        .unwrap_or(&text)
        .parse()
        .with_context(reading)?;
    Ok(Some(seed.0))
}

/// Writes a fresh seed beside the file and moves it there whole, unless somebody was faster.
fn make(path: &Path) -> anyhow::Result<[u8; 32]> {
    let making = || format!("making the seed that signs evidence, {}", path.display());
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).with_context(making)?;
    let unfinished = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&unfinished)
        .with_context(making)?;
    writeln!(file, "{}", Hash(seed)).with_context(making)?;
    file.sync_all().with_context(making)?;
    let linked = std::fs::hard_link(&unfinished, path);
    std::fs::remove_file(&unfinished).with_context(making)?;
    linked.with_context(making)?;
    Ok(seed)
}
