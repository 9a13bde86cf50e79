//! Downloads the model's files by HTTPS from a model hub. Fails fast if the hub is unreachable, so that the next source
//! is tried.

use std::path::Path;
use std::time::Duration;

use reqwest::Client;
use sha2::{Digest, Sha256};
use tokio::fs;
use tokio::io::AsyncWriteExt;

use super::{FILES, FetchProgress, ModelFile, ModelSource, OnProgress, SourceError};

/// Time to reach the hub.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of a download without progress.
const STALL_TIMEOUT: Duration = Duration::from_secs(20);

/// Downloads and checks all files into `gathered`.
pub(super) async fn fetch(
    source: &ModelSource,
    base: &str,
    gathered: &Path,
    progress: OnProgress<'_>,
) -> Result<(), SourceError> {
    let client = Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(STALL_TIMEOUT)
        .build()
        .map_err(|source| SourceError::Request {
            url: base.to_owned(),
            source,
        })?;
    for file in &FILES {
        download(&client, source, base, file, gathered, progress).await?;
    }
    Ok(())
}

async fn download(
    client: &Client,
    source: &ModelSource,
    base: &str,
    file: &ModelFile,
    gathered: &Path,
    progress: OnProgress<'_>,
) -> Result<(), SourceError> {
    let url = format!("{}/{}", base.trim_end_matches('/'), file.name);
    let lost = |error: reqwest::Error| SourceError::Request {
        url: url.clone(),
        source: error.without_url(),
    };
    let mut response = client.get(&url).send().await.map_err(lost)?;
    if !response.status().is_success() {
        return Err(SourceError::Refused {
            status: response.status().as_u16(),
            url,
        });
    }
    let total = response.content_length().or(file.length);
    let path = gathered.join(file.name);
    let mut output = fs::File::create(&path)
        .await
        .map_err(SourceError::file(&path))?;
    let mut digest = Sha256::new();
    let mut bytes = 0;
    while let Some(chunk) = response.chunk().await.map_err(lost)? {
        bytes += chunk.len() as u64;
        file.check_length(bytes)?;
        digest.update(&chunk);
        output
            .write_all(&chunk)
            .await
            .map_err(SourceError::file(&path))?;
        progress(FetchProgress {
            source: source.clone(),
            file: file.name.to_owned(),
            bytes,
            total,
        });
    }
    output.sync_all().await.map_err(SourceError::file(&path))?;
    file.check(digest)
}
