//! Fetches the model's three files into the cache, once: from the cache itself, a directory or the model hub, in the
//! caller's order. Checks all files against known digests and moves them into place atomically. Must not know the
//! content of the files.

use std::fmt;
use std::path::{Path, PathBuf};

use charter_contract::cause::chain;

use thiserror::Error;
use tokio::fs;

mod files;
mod hub;

pub use files::MODEL_DIRECTORY;

use files::{FILES, ModelFile};

/// The hub's address of the model's files.
pub const DEFAULT_HUB: &str =
    "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main";

/// A source of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelSource {
    /// A directory that holds the files; it is used in place.
    Directory(PathBuf),
    /// A model hub: `{base}/{file}` for each file.
    Hub {
        /// For example [`DEFAULT_HUB`].
        base: String,
    },
}

impl fmt::Display for ModelSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelSource::Directory(path) => write!(formatter, "directory {}", path.display()),
            ModelSource::Hub { base } => write!(formatter, "model hub {base}"),
        }
    }
}

/// Progress of a fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchProgress {
    /// The source being tried.
    pub source: ModelSource,
    /// The file being fetched.
    pub file: String,
    /// Bytes received so far.
    pub bytes: u64,
    /// Total bytes, if known.
    pub total: Option<u64>,
}

/// Receives progress; called from the fetching task, must not block.
pub type OnProgress<'a> = &'a (dyn Fn(FetchProgress) + Send + Sync);

/// Why one source failed.
#[derive(Debug, Error)]
pub enum SourceError {
    /// A file or directory could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file has another digest than expected.
    #[error("{file} has sha256 {found}, expected {expected}")]
    Digest {
        /// The file's name.
        file: &'static str,
        /// Expected hexadecimal digest.
        expected: &'static str,
        /// Actual hexadecimal digest.
        found: String,
    },
    /// A file exceeds its limit.
    #[error("{file} is longer than {limit} bytes")]
    TooLong {
        /// The file's name.
        file: &'static str,
        /// Greatest accepted length.
        limit: u64,
    },
    /// The request to the hub failed.
    #[error("{url}: {}", chain(source))]
    Request {
        /// The requested URL.
        url: String,
        /// The cause.
        source: reqwest::Error,
    },
    /// The hub refused the request.
    #[error("{url}: status {status}")]
    Refused {
        /// The requested URL.
        url: String,
        /// The HTTP status.
        status: u16,
    },
}

impl SourceError {
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> SourceError {
        let path = path.to_owned();
        move |source| SourceError::File { path, source }
    }
}

/// Why the model could not be fetched.
#[derive(Debug, Error)]
pub enum FetchError {
    /// The cache directory could not be prepared or written.
    #[error("the model cache {} cannot be used", path.display())]
    Cache {
        /// The cache directory.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// No source provided the model.
    #[error("no source provided the embedding model:{}", list(attempts))]
    AllFailed {
        /// Each source with its reason, in the order tried.
        attempts: Vec<(ModelSource, SourceError)>,
    },
}

fn list(attempts: &[(ModelSource, SourceError)]) -> String {
    let line = |(source, error): &(ModelSource, SourceError)| format!("\n  {source}: {error}");
    match attempts.is_empty() {
        true => " none is configured and the cache is empty".to_owned(),
        false => attempts.iter().map(line).collect(),
    }
}

/// Returns the directory with the model's files, and fetches them if necessary.
///
/// A complete copy in `cache_dir` is used without contacting any source, so everything works offline after the first
/// time; otherwise the sources are tried in order. Files are collected in a temporary directory and renamed atomically:
/// a crash leaves no partial model, and two processes may do this at the same time.
///
/// # Errors
/// [`FetchError::AllFailed`] names every source and why it failed.
pub async fn fetch_model(
    sources: &[ModelSource],
    cache_dir: &Path,
    progress: OnProgress<'_>,
) -> Result<PathBuf, FetchError> {
    let target = cache_dir.join(MODEL_DIRECTORY);
    if files::is_complete(&target).await {
        return Ok(target);
    }
    let mut attempts = Vec::new();
    for source in sources {
        let failed = match source {
            ModelSource::Directory(path) => match files::verify(path).await {
                Ok(()) => return Ok(path.clone()),
                Err(error) => error,
            },
            ModelSource::Hub { base } => {
                match fetch_into_cache(source, base, cache_dir, progress).await? {
                    Ok(()) => return Ok(target),
                    Err(error) => error,
                }
            }
        };
        tracing::warn!(%source, error = %failed, "this source did not provide the embedding model");
        attempts.push((source.clone(), failed));
    }
    Err(FetchError::AllFailed { attempts })
}

/// Downloads the files from a hub beside their destination in the cache, then moves them there.
async fn fetch_into_cache(
    source: &ModelSource,
    base: &str,
    cache_dir: &Path,
    progress: OnProgress<'_>,
) -> Result<Result<(), SourceError>, FetchError> {
    let cache = |error| FetchError::Cache {
        path: cache_dir.to_owned(),
        source: error,
    };
    fs::create_dir_all(cache_dir).await.map_err(cache)?;
    let staging = tempfile::Builder::new()
        .prefix(".fetching-")
        .tempdir_in(cache_dir)
        .map_err(cache)?;
    let gathered = staging.path().join("model");
    fs::create_dir(&gathered).await.map_err(cache)?;
    if let Err(error) = hub::fetch(source, base, &gathered, progress).await {
        return Ok(Err(error));
    }
    let target = cache_dir.join(MODEL_DIRECTORY);
    let aside = staging.path().join("replaced");
    files::move_into_place(&gathered, &target, &aside)
        .await
        .map_err(cache)?;
    Ok(Ok(()))
}
