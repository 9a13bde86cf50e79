//! Lexical side of routing: words, and an immutable BM25 index over them.
//!
//! Must not know vectors, verdicts, tenants or the purpose of an entry.

mod analyser;
mod bm25;
mod forward;
mod index;
mod proximity;
mod score;
mod stop_words;

pub(crate) use analyser::{
    AnalysedQuery, Analyser, analyse_query, analyse_query_beside, split_identifier,
};
pub(crate) use bm25::SearchedLayer;
pub(crate) use forward::{ForwardIndex, ForwardQuery, ForwardScores};
pub(crate) use index::{LexicalBuilder, LexicalIndex};
pub(crate) use score::{LexicalScores, score, share, share_in};
pub(crate) use stop_words::is_stop_word;
