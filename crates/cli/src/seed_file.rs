//! Files with the secret seed of a key: 64 hexadecimal digits, for the owner alone. A reader of the file can act as
//! this installation: sign in its name, or open what it sealed.
//!
//! Creates a missing file with a fresh seed. Must not know the use of the key.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use anyhow::{Context, bail};
use charter_domain::evidence_log::Hash;
use uuid::Uuid;

use crate::platform;

/// The digits, a line end, and some room to detect a file that is not a seed.
const MAX_FILE: u64 = 1_024;

/// Reads the seed in a file, and creates the file if it is missing; `use_of_key` is for messages: "signs evidence".
pub(crate) fn load(path: &Path, use_of_key: &str) -> anyhow::Result<[u8; 32]> {
    match read(path, use_of_key)? {
        Some(seed) => Ok(seed),
        None => make(path, use_of_key),
    }
}

fn read(path: &Path, use_of_key: &str) -> anyhow::Result<Option<[u8; 32]>> {
    let reading = || format!("reading the seed that {use_of_key}, {}", path.display());
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(reading),
    };
    let mode = platform::file_mode(&file.metadata().with_context(reading)?);
    if let Some(mode) = mode.filter(|mode| mode & 0o077 != 0) {
        bail!(
            "{} can be read or changed by other users (mode {:o}): chmod 600",
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

/// Writes a fresh seed beside the file and links it into place whole; if another process was faster, its seed counts.
fn make(path: &Path, use_of_key: &str) -> anyhow::Result<[u8; 32]> {
    let making = || format!("creating the seed that {use_of_key}, {}", path.display());
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).with_context(making)?;
    // Processes in containers that share a volume may have the same process id.
    let unfinished = path.with_extension(format!("{}.new", Uuid::now_v7().simple()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    platform::set_mode(&mut options, 0o600);
    let mut file = options.open(&unfinished).with_context(making)?;
    writeln!(file, "{}", Hash(seed)).with_context(making)?;
    file.sync_all().with_context(making)?;
    let linked = std::fs::hard_link(&unfinished, path);
    std::fs::remove_file(&unfinished).with_context(making)?;
    match linked {
        Ok(()) => Ok(seed),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            read(path, use_of_key)?.with_context(making)
        }
        Err(error) => Err(error).with_context(making),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processes that start at the same moment over one folder sign with one key.
    #[test]
    fn those_who_make_it_at_once_have_the_same_seed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("evidence.key");
        let makers: Vec<_> = (0..8)
            .map(|_| {
                let path = path.clone();
                std::thread::spawn(move || make(&path, "tests").unwrap())
            })
            .collect();
        let seeds = makers.into_iter().map(|maker| maker.join().unwrap());
        let kept = seeds.collect::<std::collections::BTreeSet<_>>();
        assert_eq!(kept, [load(&path, "tests").unwrap()].into());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
