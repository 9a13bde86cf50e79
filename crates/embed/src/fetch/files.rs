//! The three files of the model: names, digests, limits, and how a complete set is recognised, checked and moved into
//! place. Knows no source.

use std::io::Read;
use std::path::{Path, PathBuf};

use charter_contract::hex;
use sha2::{Digest, Sha256};
use tokio::fs;

use super::SourceError;

/// The model's directory inside the cache.
pub const MODEL_DIRECTORY: &str = "all-MiniLM-L6-v2";

/// One file of the model.
pub(super) struct ModelFile {
    pub(super) name: &'static str,
    /// Exact length, if the file is known byte for byte.
    pub(super) length: Option<u64>,
    /// Greatest accepted length.
    pub(super) limit: u64,
    /// Hexadecimal digest; `None` for the configuration, whose comments differ
    /// between sources and whose numbers are checked when it is loaded.
    pub(super) sha256: Option<&'static str>,
}

/// All files, the largest last.
pub(super) const FILES: [ModelFile; 3] = [
    ModelFile {
        name: "config.json",
        length: None,
        limit: 64 << 10,
        sha256: None,
    },
    ModelFile {
        name: "tokenizer.json",
        length: Some(466_247),
        limit: 466_247,
        sha256: Some("be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
    },
    ModelFile {
        name: "model.safetensors",
        length: Some(90_868_376),
        limit: 90_868_376,
        sha256: Some("53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
    },
];

impl ModelFile {
    /// Compares a finished digest with the expected one.
    pub(super) fn check(&self, digest: Sha256) -> Result<(), SourceError> {
        let Some(expected) = self.sha256 else {
            return Ok(());
        };
        let found = hex::encode(&digest.finalize());
        match found == expected {
            true => Ok(()),
            false => Err(SourceError::Digest {
                file: self.name,
                expected,
                found,
            }),
        }
    }

    /// Checks that a file of `length` bytes is not too long.
    pub(super) fn check_length(&self, length: u64) -> Result<(), SourceError> {
        match length > self.limit {
            true => Err(SourceError::TooLong {
                file: self.name,
                limit: self.limit,
            }),
            false => Ok(()),
        }
    }
}

/// Whether a cached directory holds all files at their lengths. Their digests
/// were checked before they were moved there.
pub(super) async fn is_complete(directory: &Path) -> bool {
    for file in &FILES {
        let Ok(metadata) = fs::metadata(directory.join(file.name)).await else {
            return false;
        };
        let right = file.length.is_none_or(|length| length == metadata.len());
        if !metadata.is_file() || !right || metadata.len() == 0 {
            return false;
        }
    }
    true
}

/// Checks the digests of all files in a directory.
pub(super) async fn verify(directory: &Path) -> Result<(), SourceError> {
    let directory = directory.to_owned();
    let here = directory.clone();
    tokio::task::spawn_blocking(move || FILES.iter().try_for_each(|file| verify_file(&here, file)))
        .await
        .map_err(|error| SourceError::File {
            path: directory,
            source: std::io::Error::other(error),
        })?
}

fn verify_file(directory: &Path, file: &ModelFile) -> Result<(), SourceError> {
    let path = directory.join(file.name);
    let mut input = std::fs::File::open(&path).map_err(SourceError::file(&path))?;
    let mut digest = Sha256::new();
    let mut length = 0;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = input.read(&mut buffer).map_err(SourceError::file(&path))?;
        if read == 0 {
            return file.check(digest);
        }
        length += read as u64;
        file.check_length(length)?;
        digest.update(&buffer[..read]);
    }
}

/// Renames a checked directory to its destination. A concurrent process may have moved the same files there first; any
/// other content is moved aside.
pub(super) async fn move_into_place(
    gathered: &Path,
    target: &Path,
    aside: &PathBuf,
) -> std::io::Result<()> {
    let Err(refused) = fs::rename(gathered, target).await else {
        return Ok(());
    };
    if is_complete(target).await {
        return Ok(());
    }
    if fs::rename(target, aside).await.is_err() {
        return Err(refused);
    }
    fs::rename(gathered, target).await
}
