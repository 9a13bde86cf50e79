//! The tunable settings of routing, with defaults measured on public tool-selection sets.
//!
//! Plain data, stored beside an index for each embedding model. Must not know indexes or queries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Weights of words and vectors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fusion {
    /// Share of the lexical score, before it grows; the vectors have the rest. May be negative, because only the sum
    /// must not be.
    pub lexical_base: f32,
    /// Increase of the share when the best lexical score of a query is e times as high: a high one means many rare
    /// words in common, which is stronger evidence than any cosine.
    pub lexical_growth: f32,
    /// Upper limit of the share.
    pub lexical_most: f32,
    /// Part of the share that is subtracted if every entry has examples: vectors from examples are more reliable. In
    /// between, it is proportional to the share of visible entries with examples.
    pub example_discount: f32,
    /// Weight of the bonus for close words relative to BM25, in a query of many words.
    pub proximity_weight: f32,
    /// Share of the best sentence in the cosine of a long query; the rest is the whole query's.
    pub sentence_weight: f32,
    /// Share of the nearest example in the cosine of an entry with examples, if that raises it; the rest is that of
    /// their centroid. A centroid of dissimilar examples is near to none of them.
    pub example_share: f32,
}

impl Default for Fusion {
    fn default() -> Self {
        Fusion {
            lexical_base: 0.05,
            lexical_growth: 0.1,
            lexical_most: 0.5,
            example_discount: 0.35,
            proximity_weight: 1.0,
            sentence_weight: 0.5,
            example_share: 0.5,
        }
    }
}

impl Fusion {
    /// Returns the settings with a lexical share that is `by` higher in every query.
    pub(crate) fn leaning_to_words(self, by: f32) -> Self {
        Fusion {
            lexical_base: self.lexical_base + by,
            lexical_most: self.lexical_most + by,
            ..self
        }
    }

    /// Returns the share of the lexical score, 0 to 1, in a query whose best one is `best`, where `exemplified` is the
    /// share of the visible entries that have examples.
    pub(crate) fn lexical_share(&self, best: f32, exemplified: f32) -> f32 {
        let grown = self.lexical_base + self.lexical_growth * best.max(1.0).ln();
        let kept = 1.0 - self.example_discount * exemplified;
        (grown.min(self.lexical_most) * kept).clamp(0.0, 1.0)
    }
}

/// Converts the features of a query's best hit to the probability that it is right: a logistic model.
///
/// The lead of the best hit is deliberately not a feature: a lead separates a right hit from its rivals, but a high
/// cosine separates queries with an answer from those without better. The lead has its own threshold,
/// [`Thresholds::margin`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreModel {
    /// Log odds when all features are 0.
    pub intercept: f32,
    /// Weight of the best hit's cosine.
    pub cosine: f32,
    /// Weight of the best hit's lexical coverage.
    pub coverage: f32,
    /// Log odds lost for each unit of fused score below the best hit; not negative.
    pub decay: f32,
}

/// Features of a query's best hit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreFeatures {
    /// Its cosine, with sentences mixed in; 0 without vectors.
    pub cosine: f32,
    /// Its BM25 as a share of the best possible score.
    pub coverage: f32,
}

impl ScoreModel {
    /// Returns the probability, 0 to 1, that a hit `behind` (in fused score, at least 0) the best one is right.
    ///
    /// Monotone along a query's ranking, comparable across queries.
    pub fn score(&self, best: &ScoreFeatures, behind: f32) -> f32 {
        let odds = self.intercept + self.cosine * best.cosine + self.coverage * best.coverage
            - self.decay * behind;
        1.0 / (1.0 + (-odds).exp())
    }
}

/// The thresholds of a verdict (B000-3).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Thresholds {
    /// Candidates with a lower score are dropped.
    pub floor: f32,
    /// Score from which on the best candidate may be the only answer.
    pub narrow: f32,
    /// Lead in fused score that it needs for that.
    pub margin: f32,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds {
            floor: 0.2,
            narrow: 0.6,
            margin: 0.12,
        }
    }
}

/// All settings of a search and its verdict.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RouteSettings {
    /// Ranking.
    pub fusion: Fusion,
    /// Score if the query and the index have vectors.
    pub score: ScoreModel,
    /// Score from words alone.
    pub words_only_score: ScoreModel,
    /// Verdict.
    pub thresholds: Thresholds,
}

impl Default for RouteSettings {
    fn default() -> Self {
        RouteSettings {
            fusion: Fusion::default(),
            score: ScoreModel {
                intercept: -3.57,
                cosine: 7.4,
                coverage: 1.5,
                decay: 5.0,
            },
            words_only_score: ScoreModel {
                intercept: -1.83,
                cosine: 0.0,
                coverage: 9.0,
                decay: 5.0,
            },
            thresholds: Thresholds::default(),
        }
    }
}
