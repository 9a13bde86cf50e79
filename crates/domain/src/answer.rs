//! What an answer is made of besides findings: sentences that a model wrote, each checked against what it cites
//! ([`CitableSources`]), a picker of sentences from a draft that is still being written ([`SentenceStream`]), tool outputs
//! as tables ([`outline`]), and the findings of several skills as one list ([`merged`]).
//!
//! A model is not believed: a sentence whose citation does not resolve, or that holds a number, an id or a name that
//! does not occur in what it cites, is dropped. Must not know models, runs or storage.

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
