//! Builds an index from a source: fetched, compared by its hash, read, cut, embedded.
//!
//! A source with the hash of the index in force needs no work. If it changed, only parts of passages are embedded whose
//! text the previous index does not have.

use std::collections::BTreeMap;

use charter_contract::catalogue::lens::DomainLens;
use charter_effects::{SourceError, SourceFault};
use charter_search::{WindowSettings, token_spans};
use charter_store::lens::NewLensIndex;

use super::LensService;
use super::cut::{CutPassage, cut};
use super::fetch::{Content, Failure, Part};
use super::work::{IndexingPermit, LensIndexingOutcome, Stage};
use crate::EngineError;
use crate::catalogue::lens_index::{CachedLensIndex, IndexMetadata, SkippedFile};

/// Maximum passages of one lens.
const MAX_CHUNKS: usize = 20_000;

/// Version of the cutting algorithm. An index of another version is rebuilt at the next check of its source. Version 1
/// records where sections begin inside a passage.
const CUTTING: u32 = 1;

/// Maximum notices of one lens that are kept.
const MAX_NOTICES: usize = 20;

/// An index that is ready to be stored.
#[derive(Debug)]
pub(crate) enum PreparedIndex {
    /// The one in force stays; the metadata of its source may be new.
    Same(IndexMetadata),
    /// It replaces the one in force.
    New(NewLensIndex, LensIndexingOutcome),
}

impl PreparedIndex {
    pub(crate) fn outcome(&self) -> LensIndexingOutcome {
        match self {
            Self::Same(indexed) => LensIndexingOutcome::Unchanged {
                chunks: indexed.chunks,
            },
            Self::New(_, outcome) => outcome.clone(),
        }
    }
}

impl LensService {
    /// Builds the index of a lens, or finds that the previous one is still valid. Writes nothing.
    pub(super) async fn prepare_lens(
        &self,
        lens: &DomainLens,
        files: &BTreeMap<String, String>,
        before: Option<&CachedLensIndex>,
        turn: &IndexingPermit,
    ) -> Result<PreparedIndex, Failure> {
        let windows = self.window_settings();
        let model = self.vector_model();
        let same_model = before.filter(|before| before.indexed.model == model);
        // With other windows, another cutting version, or another model, the index is rebuilt, even from an unchanged
        // source.
        let known = same_model.filter(|before| {
            before.indexed.windows == windows && before.indexed.cutting == CUTTING
        });
        let known = known.map(|before| &before.indexed);
        let at = self.clock.now();
        turn.reached(Stage::Fetching);
        let _place = self.lens_work.place().await;
        let content = self.fetch_content(&lens.source, files, known).await?;
        let content = match (content, known) {
            (None, Some(known)) => {
                return Ok(PreparedIndex::Same(known.seen(
                    lens,
                    known.validators(),
                    at,
                )));
            }
            (Some(content), Some(known)) if content.hash == known.content_hash => {
                return Ok(PreparedIndex::Same(known.seen(
                    lens,
                    content.validators,
                    at,
                )));
            }
            (Some(content), Some(_) | None) => content,
            (None, None) => return Err(unexpected_not_modified().into()),
        };
        turn.reached(Stage::Reading);
        let mut indexed = IndexMetadata {
            source: lens.source.clone(),
            content_hash: content.hash.clone(),
            bytes: content.bytes,
            chunks: 0,
            model,
            windows,
            cutting: CUTTING,
            etag: content.validators.etag.clone(),
            last_modified: content.validators.last_modified.clone(),
            fetched_at: at,
            indexed_at: at,
            notices: Vec::new(),
            left_out: Vec::new(),
        };
        let read = self.read_and_cut(content, windows).await?;
        let (cuts, notices) = (read.cuts, read.notices);
        indexed.chunks = cuts.len();
        indexed.notices.clone_from(&notices);
        indexed.left_out = read.left_out;
        let (chunks, embedded) = self.embed_cuts(cuts, same_model, turn).await?;
        let outcome = LensIndexingOutcome::Indexed {
            chunks: chunks.len(),
            embedded,
            notices,
            left_out: indexed.left_out.clone(),
        };
        let index = indexed.stored(lens.lens_id.clone(), chunks)?;
        Ok(PreparedIndex::New(index, outcome))
    }

    fn window_settings(&self) -> WindowSettings {
        WindowSettings {
            overlap_tokens: self.settings.overlap_tokens,
            ..WindowSettings::default()
        }
    }

    /// Reads and cuts a source. In a folder, unreadable files are left out, unless none can be read.
    async fn read_and_cut(
        &self,
        content: Content,
        settings: WindowSettings,
    ) -> Result<CutContent, Failure> {
        let (mut cuts, mut notices) = (Vec::new(), Notices::default());
        let mut left_out: Vec<SkippedFile> = Vec::new();
        let parts = content.parts.len();
        for Part { file, raw } in content.parts {
            let extracted = match (self.sources.extract(raw, &self.shutdown).await, &file) {
                (Ok(extracted), _) => extracted,
                (Err(error), Some(file)) if error.kind != SourceFault::System => {
                    if left_out.len() + 1 == parts {
                        return Err(in_file(error, file).into());
                    }
                    left_out.push(SkippedFile {
                        file: file.clone(),
                        reason: error.message,
                    });
                    continue;
                }
                (Err(error), Some(file)) => return Err(in_file(error, file).into()),
                (Err(error), None) => return Err(error.into()),
            };
            notices.add(&extracted.notices, file.as_deref());
            let embedder = self.vectors.embedder().cloned();
            let cutting = tokio::task::spawn_blocking(move || {
                cut(&extracted, file.as_deref(), settings, |text| {
                    token_spans(text, embedder.as_deref())
                })
            });
            let cut = cutting
                .await
                .map_err(|error| EngineError::internal("splitting a source", error))?;
            cuts.extend(cut);
            if cuts.len() > MAX_CHUNKS {
                let message =
                    format!("the source has more than {MAX_CHUNKS} passages; split it into lenses");
                return Err(Failure::Source(SourceError {
                    kind: SourceFault::Unusable,
                    message,
                }));
            }
        }
        Ok(CutContent {
            cuts,
            notices: notices.listed(),
            left_out,
        })
    }
}

/// The cut content of a source.
struct CutContent {
    cuts: Vec<CutPassage>,
    notices: Vec<String>,
    left_out: Vec<SkippedFile>,
}

/// Notices of all files of a source, of which the first are kept.
#[derive(Debug, Default)]
struct Notices {
    kept: Vec<String>,
    left_out: usize,
}

impl Notices {
    fn add(&mut self, notices: &[String], file: Option<&str>) {
        for notice in notices {
            if self.kept.len() == MAX_NOTICES {
                self.left_out += 1;
                continue;
            }
            self.kept.push(match file {
                Some(file) => format!("{file}: {notice}"),
                None => notice.clone(),
            });
        }
    }

    fn listed(mut self) -> Vec<String> {
        if self.left_out > 0 {
            self.kept
                .push(format!("{} more notices are not shown", self.left_out));
        }
        self.kept
    }
}

fn unexpected_not_modified() -> SourceError {
    SourceError {
        kind: SourceFault::Unusable,
        message: "the source reported no change to an unconditional request".to_owned(),
    }
}

fn in_file(mut error: SourceError, file: &str) -> SourceError {
    error.message = format!("{file}: {}", error.message);
    error
}
