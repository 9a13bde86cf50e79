//! Running indexing jobs, and the last result of each lens. In memory: only this process's work.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use charter_contract::ids::LensId;
use charter_contract::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::catalogue::lens_index::{LensKey, SkippedFile};

/// The progress of indexing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "LensIndexingStage")]
#[serde(rename_all = "snake_case", tag = "stage")]
pub enum Stage {
    /// Waiting for its turn, or for the source.
    Fetching,
    /// Extracting the text, and cutting it.
    Reading,
    /// Embedding passages.
    Embedding {
        /// Parts of passages that have a vector.
        done: usize,
        /// Parts of passages in all.
        of: usize,
    },
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fetching => f.write_str("fetching"),
            Self::Reading => f.write_str("reading"),
            Self::Embedding { done, of } => write!(f, "embedded {done} of {of}"),
        }
    }
}

/// The result of indexing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "LensIndexingAttempt")]
pub struct LastWork {
    /// When it ended.
    pub at: Timestamp,
    /// The result.
    #[serde(flatten)]
    pub result: WorkResult,
}

/// The result of indexing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "LensWorkResult")]
#[serde(untagged)]
pub enum WorkResult {
    /// It succeeded.
    Done(LensIndexingOutcome),
    /// The index is unchanged.
    Failed {
        /// The reason.
        failed: String,
    },
}

/// The result of indexing a lens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LensIndexingResult {
    /// Which lens.
    pub lens_id: LensId,
    /// The result.
    #[serde(flatten)]
    pub outcome: LensIndexingOutcome,
}

/// The result of indexing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum LensIndexingOutcome {
    /// The source is what the index was made of.
    Unchanged {
        /// Passages of the index.
        chunks: usize,
    },
    /// There is a new index.
    Indexed {
        /// Its passages.
        chunks: usize,
        /// Parts of passages that had to be embedded; the vectors of the others were reused.
        embedded: usize,
        /// Why parts of the text may not be what its author wrote.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notices: Vec<String>,
        /// Files of the folder that are left out, because they cannot be read.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        left_out: Vec<SkippedFile>,
    },
    /// A dry run fetches nothing.
    FetchFailed,
}

/// Lenses that are indexed at once; a source and its text are in memory meanwhile.
const MAX_AT_ONCE: usize = 2;

/// The state of every lens that this process worked on.
#[derive(Debug)]
pub(crate) struct LensWork {
    entries: Mutex<BTreeMap<LensKey, Entry>>,
    places: Semaphore,
}

impl Default for LensWork {
    fn default() -> Self {
        Self {
            entries: Mutex::default(),
            places: Semaphore::new(MAX_AT_ONCE),
        }
    }
}

#[derive(Debug, Default)]
struct Entry {
    stage: Option<Stage>,
    last: Option<LastWork>,
}

/// The right to index one lens; released when dropped.
#[derive(Debug)]
pub(crate) struct IndexingPermit {
    work: Arc<LensWork>,
    key: LensKey,
}

impl LensWork {
    /// Returns the running stage of a lens, and its last result.
    pub(crate) fn status(&self, key: &LensKey) -> (Option<Stage>, Option<LastWork>) {
        let entries = self.entries();
        let entry = entries.get(key);
        let stage = entry.and_then(|entry| entry.stage);
        (stage, entry.and_then(|entry| entry.last.clone()))
    }

    /// Acquires the right to index a lens; `None` while another task has it.
    pub(crate) fn take(self: &Arc<Self>, key: &LensKey) -> Option<IndexingPermit> {
        let mut entries = self.entries();
        let entry = entries.entry(key.clone()).or_default();
        if entry.stage.is_some() {
            return None;
        }
        entry.stage = Some(Stage::Fetching);
        Some(IndexingPermit {
            work: Arc::clone(self),
            key: key.clone(),
        })
    }

    /// Waits for an indexing slot.
    pub(crate) async fn place(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.places.acquire().await.ok()
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<LensKey, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IndexingPermit {
    /// Returns the lens that is indexed.
    pub(crate) fn key(&self) -> &LensKey {
        &self.key
    }

    /// Records the progress.
    pub(crate) fn reached(&self, stage: Stage) {
        if let Some(entry) = self.work.entries().get_mut(&self.key) {
            entry.stage = Some(stage);
        }
    }

    /// Records the result.
    pub(crate) fn ended(self, at: Timestamp, result: WorkResult) {
        if let Some(entry) = self.work.entries().get_mut(&self.key) {
            entry.last = Some(LastWork { at, result });
        }
    }
}

impl Drop for IndexingPermit {
    fn drop(&mut self) {
        if let Some(entry) = self.work.entries().get_mut(&self.key) {
            entry.stage = None;
        }
    }
}
