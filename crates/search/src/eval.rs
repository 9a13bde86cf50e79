//! Measures routing on labelled queries, through the same index and search as the product.
//!
//! [`EvalSet`] is read from JSON lines; [`Trial`] embeds it once, and can then be evaluated under any settings. Must
//! not have its own ranking, except the one for comparison.

mod intent;
mod metrics;
mod read;
mod trial;

pub use intent::{
    IntentFigures, IntentReport, LabelledSentence, SentenceMissed, SentenceOutcome, StartedEffect,
};
pub use metrics::{EvalReport, Figures, SeveralFigures, TrustFigures, VerdictFigures};
pub use read::{EvalEntry, EvalSet, LabelledQuery, MAX_LINE_BYTES, ReadError};
pub use trial::{EvalError, EvalOptions, Observation, Offer, Trial};
