//! Parts of an answer besides findings: sentences that a model wrote, each checked against its citations
//! ([`CitableSources`]); an incremental parser for sentences of an incomplete draft ([`SentenceStream`]); tool outputs
//! as tables ([`outline`]); and the findings of several skills in one list ([`merged`]).
//!
//! A model's text is not trusted. A sentence is dropped if a citation does not resolve, or if it contains a number, id
//! or name that its sources do not contain. Must not know models, runs or storage.

mod cited;
mod claims;
mod common_words;
mod draft;
mod facts;
mod merge;
mod outline;
mod plain;
mod stream;
mod tool;
mod unfit;

pub use cited::{CitableSources, CitationTarget, CitedResult, CitedSource, SentenceOrder};
pub use draft::{
    AnalysisDraft, AnalysisResult, CitedSentence, DraftedFinding, DraftedSentence, DraftedValue,
    DroppedCounts,
};
pub use facts::Vocabulary;
pub use merge::{MergedFindings, merged, ranked};
pub use outline::outline;
pub use stream::SentenceStream;
pub use tool::analysis_tool;
pub use unfit::Unfit;

#[cfg(test)]
mod tests;
