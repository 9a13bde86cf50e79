//! Loads a description of an API and the documents that it refers to: files below its folder, and documents of its
//! server or of allowed hosts, through the egress wall.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use charter_contract::bounds::IMPORT_BYTES;
use charter_contract::charset;
use charter_contract::error_code::ErrorCode;
use charter_effects::{Fetched, HostPattern, LinkFetcher, SourceRequest, Validators};
use charter_import::documents::{DocumentSet, Location};
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::failure::ReportedFailure;
use crate::{terminal, text_file};

/// Loads a document by its path or URL, with everything that it refers to and may.
pub(super) async fn load(
    source: &str,
    allowed_hosts: &[String],
    config: &Config,
) -> anyhow::Result<DocumentSet> {
    let mut loader = Loader::new(source, config)?;
    let location = loader.root(source)?;
    let text = loader
        .text(&location)
        .await
        .with_context(|| format!("reading {source}"))?;
    let opened = DocumentSet::open(location, &text, allowed_hosts.iter().cloned());
    let mut documents = opened.map_err(|error| {
        let message = format!("{source}: {error}");
        ReportedFailure::new(ErrorCode::InvalidDocument, message)
    })?;
    loop {
        let wanted = documents.wanted();
        if wanted.is_empty() {
            return Ok(documents);
        }
        for location in wanted {
            let refused = match loader.text(&location).await {
                Ok(text) => documents
                    .add(location.clone(), &text)
                    .err()
                    .map(|error| error.to_string()),
                Err(error) => Some(format!("{error:#}")),
            };
            if let Some(reason) = refused {
                documents.refuse(location, reason);
            }
        }
    }
}

/// The means of loading documents.
struct Loader<'c> {
    /// The folder of the first document, without links; none if it is no file.
    folder: Option<PathBuf>,
    /// The client, made when a link is fetched first.
    fetcher: Option<LinkFetcher>,
    config: &'c Config,
}

impl<'c> Loader<'c> {
    fn new(source: &str, config: &'c Config) -> anyhow::Result<Self> {
        let folder = match Location::is_web(source) {
            true => None,
            false => {
                let reading = || format!("reading {source}");
                let folder = Path::new(source)
                    .parent()
                    .filter(|path| *path != Path::new(""));
                let folder = folder.unwrap_or(Path::new("."));
                Some(folder.canonicalize().with_context(reading)?)
            }
        };
        Ok(Self {
            folder,
            fetcher: None,
            config,
        })
    }

    /// The location of the first document.
    fn root(&self, source: &str) -> anyhow::Result<Location> {
        if Location::is_web(source) {
            return Location::web(source).with_context(|| format!("reading {source}"));
        }
        let name = Path::new(source).file_name().and_then(|name| name.to_str());
        Ok(Location::file(
            name.with_context(|| format!("{source} is no file"))?,
        ))
    }

    async fn text(&mut self, location: &Location) -> anyhow::Result<String> {
        match location {
            Location::File(path) => self.file(path),
            Location::Web(_) => self.fetched(&location.to_string()).await,
        }
    }

    /// Reads a file below the folder, also by its links.
    fn file(&self, path: &str) -> anyhow::Result<String> {
        let Some(folder) = &self.folder else {
            bail!("outside of the document's folder");
        };
        let file = folder.join(path).canonicalize()?;
        if !file.starts_with(folder) {
            bail!("outside of the document's folder");
        }
        if !file.is_file() {
            bail!("not a regular file");
        }
        text_file::read(&file, IMPORT_BYTES as u64)
    }

    async fn fetched(&mut self, url: &str) -> anyhow::Result<String> {
        let lenses = &self.config.lenses;
        let egress = lenses.egress.iter().map(|entry| {
            let pattern: Result<HostPattern, _> = entry.parse();
            pattern.with_context(|| format!("lenses.egress = {entry:?}"))
        });
        let request = SourceRequest {
            url: url.to_owned(),
            egress: egress.collect::<anyhow::Result<_>>()?,
            max_bytes: IMPORT_BYTES,
            timeout: Duration::from_secs(lenses.timeout_s),
            known: Validators::default(),
        };
        let fetcher = match self.fetcher.take() {
            Some(fetcher) => fetcher,
            None => LinkFetcher::new()?,
        };
        let bar = terminal::spinner(&format!("fetching {url}"));
        let fetched = fetcher.fetch(&request, &CancellationToken::new()).await;
        bar.finish_and_clear();
        self.fetcher = Some(fetcher);
        match fetched? {
            Fetched::Source(source, _) => Ok(charset::document(&source.bytes, None)?.into_owned()),
            Fetched::NotModified => bail!("{url} answered without content"),
        }
    }
}
