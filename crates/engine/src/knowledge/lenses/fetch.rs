//! Fetches a lens's source as bytes: a link, a file of its package, or every file of a folder.

use std::collections::BTreeMap;

use charter_contract::catalogue::lens::{LensSource, LensSourceType};
use charter_contract::hex;
use charter_contract::package_file::{bytes_of, is_binary};
use charter_effects::{
    Fetched, Media, RawSource, SourceError, SourceFault, SourceRequest, Validators,
};
use sha2::{Digest, Sha256};

use super::LensService;
use crate::EngineError;
use crate::catalogue::lens_index::IndexMetadata;

/// Maximum files of a folder.
const MAX_FILES: usize = 2_000;

/// A part of a source.
#[derive(Debug)]
pub(super) struct Part {
    /// Its path in the package, if the source is a folder.
    pub(super) file: Option<String>,
    pub(super) raw: RawSource,
}

/// The fetched content.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) parts: Vec<Part>,
    /// `sha256:…` over everything.
    pub(super) hash: String,
    pub(super) bytes: usize,
    pub(super) validators: Validators,
}

/// Why a lens cannot be indexed.
#[derive(Debug)]
pub(super) enum Failure {
    /// A fault of its source.
    Source(SourceError),
    /// Another failure.
    Engine(EngineError),
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        match error.kind {
            SourceFault::System => Self::Engine(EngineError::internal("reading a source", error)),
            SourceFault::Refused
            | SourceFault::Unreachable
            | SourceFault::Unusable
            | SourceFault::Unreadable => Self::Source(error),
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl LensService {
    /// Fetches a source; `None` if its server reports that it has not changed since `before`.
    pub(super) async fn fetch_content(
        &self,
        source: &LensSource,
        files: &BTreeMap<String, String>,
        before: Option<&IndexMetadata>,
    ) -> Result<Option<Content>, Failure> {
        match source.source_type {
            LensSourceType::Url => self.fetch_link(source, before).await,
            LensSourceType::File => self.read_files(source, files).map(Some),
        }
    }

    async fn fetch_link(
        &self,
        source: &LensSource,
        before: Option<&IndexMetadata>,
    ) -> Result<Option<Content>, Failure> {
        let settings = &self.settings;
        let same = before.filter(|before| before.source == *source);
        let request = SourceRequest {
            url: source.reference.to_string(),
            egress: settings.egress.clone(),
            max_bytes: settings.max_bytes,
            timeout: settings.timeout,
            known: same.map(IndexMetadata::validators).unwrap_or_default(),
        };
        match self.sources.fetch(&request, &self.shutdown).await? {
            Fetched::NotModified => Ok(None),
            Fetched::Source(raw, validators) => Ok(Some(Content {
                hash: hash_of(|hash| hash.update(&raw.bytes)),
                bytes: raw.bytes.len(),
                parts: vec![Part { file: None, raw }],
                validators,
            })),
        }
    }

    fn read_files(
        &self,
        source: &LensSource,
        files: &BTreeMap<String, String>,
    ) -> Result<Content, Failure> {
        let path = source.reference.as_str();
        let parts = match files.get(path) {
            Some(content) => vec![Part {
                file: None,
                raw: raw(path, content)?,
            }],
            None => {
                let folder = format!("{path}/");
                let below = files.range(folder.clone()..);
                let below = below.take_while(|(file, _)| file.starts_with(&folder));
                let parts = below.map(|(file, content)| {
                    Ok(Part {
                        file: Some(file.clone()),
                        raw: raw(file, content)?,
                    })
                });
                parts.collect::<Result<Vec<_>, SourceError>>()?
            }
        };
        let bytes: usize = parts.iter().map(|part| part.raw.bytes.len()).sum();
        let most = self.settings.max_bytes;
        if parts.is_empty() {
            return Err(unusable(format!("the package has no file or folder `{path}`")).into());
        }
        if parts.len() > MAX_FILES {
            let message = format!("`{path}` has {} files, more than {MAX_FILES}", parts.len());
            return Err(unusable(message).into());
        }
        if bytes > most {
            return Err(unusable(format!("`{path}` has more than {most} bytes")).into());
        }
        Ok(Content {
            hash: hash_of(|hash| hash_parts(hash, &parts)),
            bytes,
            parts,
            validators: Validators::default(),
        })
    }
}

/// Reads a file of a package.
fn raw(path: &str, content: &str) -> Result<RawSource, SourceError> {
    let bytes = bytes_of(path, content);
    let bytes = bytes.map_err(|malformed| unusable(format!("`{path}`: {malformed}")))?;
    let media = if is_binary(path) {
        Media::of_file(path)
    } else {
        Media::of_text(path)
    };
    Ok(RawSource {
        bytes: bytes.into_owned(),
        media,
    })
}

fn unusable(message: String) -> SourceError {
    SourceError {
        kind: SourceFault::Unusable,
        message,
    }
}

/// Hashes the parts: a single file by its content, a folder with its paths.
fn hash_parts(hash: &mut Sha256, parts: &[Part]) {
    for part in parts {
        if let Some(file) = &part.file {
            for text in [file.as_bytes(), &part.raw.bytes] {
                hash.update((text.len() as u64).to_be_bytes());
                hash.update(text);
            }
        } else {
            hash.update(&part.raw.bytes);
        }
    }
}

/// Returns the form of seed 000: `sha256:` and 64 hexadecimal digits.
fn hash_of(feed: impl FnOnce(&mut Sha256)) -> String {
    let mut hash = Sha256::new();
    feed(&mut hash);
    format!("sha256:{}", hex::encode(&hash.finalize()))
}
