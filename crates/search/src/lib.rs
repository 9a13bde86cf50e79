//! Lexical and vector indexes, fusion and the routing score, and the port for embedding models ([`embed`]).
//!
//! [`RouteIndex`] holds one scope's entries, [`Layers`] stacks scopes, [`search`] ranks and scores the entries that a
//! caller may see, [`decide`] converts candidates to a verdict. [`eval`] measures routing on labelled queries,
//! [`calibrate`] fits it to them. [`windows()`] splits long texts; [`PassageIndex`] and [`search_passages`] find
//! answers in them. [`likeness()`] compares two short statements. This crate must not know stores, transports or the
//! sources of texts.

// Only the command line writes to the terminal, through writers that end quietly when a reader has gone.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod calibrate;
mod dense;
pub mod embed;
pub mod eval;
mod index;
mod layers;
mod lexical;
mod likeness;
mod names;
mod near_words;
mod passages;
mod query;
mod rank;
mod relevance;
mod select;
mod settings;
mod slots;
mod spelling;
mod text;
mod text_index;
mod trigger_phrases;
mod verdict;
mod windows;

pub use calibrate::{
    BrokenBound, Calibration, CalibrationSet, LEAST_KEPT, MIN_MISSES, MIN_QUERIES_FOR_SCORES,
    MIN_QUERIES_FOR_WEIGHTS, MOST_MISSES_NARROW, NarrowBound, TARGET_PRECISION, calibrate,
};
pub use index::{BuildError, IndexSettings, MAX_ENTRIES, RouteEntry, RouteIndex, entry_vector};
pub use layers::{Allowed, Layer, Layers, Scope};
pub use likeness::{Likeness, Statement, likeness};
pub use names::{NameIndex, NameMatch};
pub use near_words::Spellings;
pub use passages::{
    Passage, PassageHit, PassageIndex, PassagePosition, WordScores, mixed_cosine, search_passages,
};
pub use query::{
    EmbeddedQuery, MAX_QUERY_BYTES, MAX_SENTENCES, QueryError, RouteQuery, WHOLE_QUERY_CHARS,
};
pub use rank::{Candidate, ClauseResult, MAX_TOP_K, RankedResult, find, search};
pub use settings::{Fusion, RouteSettings, ScoreFeatures, ScoreModel, Thresholds};
pub use slots::{SlotHit, SlotIndex, SlotLayer, discover, rank_nearest};
pub use spelling::Correction;
pub use text::{RouteText, VectorRole, embedding_texts};
pub use trigger_phrases::trigger_phrases;
pub use verdict::{Verdict, VerdictKind, decide, decide_found};
pub use windows::{Window, WindowSettings, token_spans, windows};
