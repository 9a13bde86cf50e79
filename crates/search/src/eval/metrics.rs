//! Figures of a ranking: accuracy, recall, gain, reciprocal rank, the separation of misses, and the reliability of
//! verdicts and scores.
//!
//! Pure arithmetic over a trial's observations. Must not rank or score.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Number of ranks that are judged.
pub(super) const DEPTH: usize = 10;
/// Depth of recall.
pub(super) const RECALL_DEPTH: usize = 5;
/// Bins of the expected calibration error.
const BINS: usize = 15;

/// Means over some queries, each 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Number of queries.
    pub queries: usize,
    /// The best hit is relevant.
    #[serde(rename = "acc@1")]
    pub acc_at_1: f64,
    /// Share of the relevant among the first five.
    #[serde(rename = "recall@5")]
    pub recall_at_5: f64,
    /// Normalised discounted cumulative gain of the first ten.
    #[serde(rename = "ndcg@10")]
    pub ndcg_at_10: f64,
    /// Reciprocal of the first relevant rank, 0 beyond ten.
    #[serde(rename = "mrr@10")]
    pub mrr_at_10: f64,
}

/// Counts of verdicts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct VerdictFigures {
    /// Queries with an answer that were routed narrowly.
    pub narrow: usize,
    /// Of those, the ones routed to a relevant entry.
    pub narrow_right: usize,
    /// Queries with an answer that got several candidates.
    pub broad: usize,
    /// Of those, the ones with a relevant entry among the first five.
    pub broad_right: usize,
    /// Queries with an answer and the verdict miss.
    pub false_miss: usize,
    /// Queries without an answer and with the verdict miss.
    pub true_miss: usize,
    /// Queries without an answer that were routed narrowly.
    pub false_narrow: usize,
    /// Queries without an answer that got several candidates.
    pub false_broad: usize,
}

impl VerdictFigures {
    /// Returns the share of the queries with an answer that were routed narrowly.
    #[must_use]
    pub fn narrow_coverage(&self) -> Option<f64> {
        share(self.narrow, self.narrow + self.broad + self.false_miss)
    }

    /// Returns the share of all narrow verdicts that are right. One on a query without an answer is wrong.
    #[must_use]
    pub fn narrow_precision(&self) -> Option<f64> {
        share(self.narrow_right, self.narrow + self.false_narrow)
    }

    /// Returns the share of the queries without an answer that were routed narrowly.
    #[must_use]
    pub fn misses_narrow(&self) -> Option<f64> {
        let misses = self.true_miss + self.false_narrow + self.false_broad;
        share(self.false_narrow, misses)
    }
}

/// The reliability of verdicts and scores; each `None` if its divisor is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TrustFigures {
    /// [`VerdictFigures::narrow_coverage`].
    pub narrow_coverage: Option<f64>,
    /// [`VerdictFigures::narrow_precision`].
    pub narrow_precision: Option<f64>,
    /// [`VerdictFigures::misses_narrow`].
    pub misses_narrow: Option<f64>,
    /// Expected calibration error of the best hit's score over all queries.
    pub ece: Option<f64>,
}

/// Queries that make several requests at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SeveralFigures {
    /// How many queries.
    pub queries: usize,
    /// Share of them where each request has a relevant entry among the first five; `None` without such queries.
    #[serde(rename = "each@5")]
    pub each_at_5: Option<f64>,
}

impl SeveralFigures {
    /// Figures of `queries`, of which `complete` have an answer to each request.
    pub(super) fn new(queries: usize, complete: usize) -> Self {
        SeveralFigures {
            queries,
            each_at_5: share(complete, queries),
        }
    }
}

/// The result of an evaluation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvalReport {
    /// Over all queries with an answer.
    #[serde(flatten)]
    pub all: Figures,
    /// Queries without an answer.
    pub misses: usize,
    /// Probability that a query with an answer scores higher than one without; `None` without misses.
    pub auroc: Option<f64>,
    /// By `part` of the queries.
    pub by_part: BTreeMap<String, Figures>,
    /// Figures of reciprocal rank fusion, for comparison; of the words' own ranking if there are no vectors.
    pub rrf: Figures,
    /// Verdicts under the current thresholds.
    pub verdicts: VerdictFigures,
    /// The reliability of verdicts and scores.
    pub trust: TrustFigures,
    /// Queries that make several requests at once.
    pub several: SeveralFigures,
}

/// Sums that become [`Figures`].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums(Figures);

impl Sums {
    /// Adds one query: which of the first [`DEPTH`] hits are relevant, and how many are in all.
    pub(super) fn add(&mut self, hits: &[bool], relevant: usize) {
        let gain = |rank: usize| 1.0 / ((rank + 2) as f64).log2();
        let hit_ranks = || {
            hits.iter()
                .enumerate()
                .filter(|(_, hit)| **hit)
                .map(|(rank, _)| rank)
        };
        let ideal: f64 = (0..relevant.min(DEPTH)).map(gain).sum();
        let found = hits.iter().take(RECALL_DEPTH).filter(|hit| **hit).count();
        let Sums(sums) = self;
        sums.queries += 1;
        sums.acc_at_1 += f64::from(u8::from(hits.first() == Some(&true)));
        sums.recall_at_5 += found as f64 / relevant as f64;
        sums.ndcg_at_10 += hit_ranks().map(gain).sum::<f64>() / ideal;
        sums.mrr_at_10 += hit_ranks()
            .next()
            .map_or(0.0, |rank| 1.0 / (rank + 1) as f64);
    }

    /// The means.
    pub(super) fn figures(self) -> Figures {
        let Sums(sums) = self;
        let count = sums.queries.max(1) as f64;
        Figures {
            queries: sums.queries,
            acc_at_1: sums.acc_at_1 / count,
            recall_at_5: sums.recall_at_5 / count,
            ndcg_at_10: sums.ndcg_at_10 / count,
            mrr_at_10: sums.mrr_at_10 / count,
        }
    }
}

/// Area under the ROC curve: the Mann-Whitney statistic, ties counting half.
pub(super) fn auroc(positive: &[f32], negative: &[f32]) -> Option<f64> {
    if positive.is_empty() || negative.is_empty() {
        return None;
    }
    let mut all: Vec<(f32, bool)> = positive.iter().map(|score| (*score, true)).collect();
    all.extend(negative.iter().map(|score| (*score, false)));
    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut ranks_of_positive = 0.0;
    let mut below = 0usize;
    for group in all.chunk_by(|a, b| a.0 == b.0) {
        let middle = below as f64 + (group.len() + 1) as f64 / 2.0;
        let inside = group.iter().filter(|(_, positive)| *positive).count();
        ranks_of_positive += middle * inside as f64;
        below += group.len();
    }
    let (p, n) = (positive.len() as f64, negative.len() as f64);
    Some((ranks_of_positive - p * (p + 1.0) / 2.0) / (p * n))
}

/// Returns a part of a whole; `None` if the whole is 0.
fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Returns the verdicts' shares, and the calibration error of `scored`.
pub(super) fn trust(verdicts: &VerdictFigures, scored: &[(f32, bool)]) -> TrustFigures {
    TrustFigures {
        narrow_coverage: verdicts.narrow_coverage(),
        narrow_precision: verdicts.narrow_precision(),
        misses_narrow: verdicts.misses_narrow(),
        ece: calibration_error(scored),
    }
}

/// Expected calibration error of scores from 0 to 1 against whether each hit is right: the mean distance between the
/// mean score and the share of right hits in bins of equal width, weighted by the hits in each bin (Naeini, Cooper and
/// Hauskrecht, 2015). A bin holds its lower edge, the last one both.
fn calibration_error(scored: &[(f32, bool)]) -> Option<f64> {
    if scored.is_empty() {
        return None;
    }
    // Score minus correctness, summed: a bin's distance times its hits.
    let mut excess = [0.0; BINS];
    for (score, right) in scored {
        let score = f64::from(*score);
        let bin = ((score * BINS as f64) as usize).min(BINS - 1);
        excess[bin] += score - f64::from(u8::from(*right));
    }
    let distances: f64 = excess.iter().map(|excess| excess.abs()).sum();
    Some(distances / scored.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_means_over_queries() {
        let mut sums = Sums::default();
        sums.add(&[true, false, true, false, false, true], 4);
        sums.add(&[false, true], 1);
        sums.add(&[], 1);
        let figures = sums.figures();
        let ideal = 1.0 + 1.0 / 3f64.log2() + 0.5 + 1.0 / 5f64.log2();
        let expected = Figures {
            queries: 3,
            acc_at_1: 1.0 / 3.0,
            recall_at_5: (0.5 + 1.0) / 3.0,
            ndcg_at_10: ((1.0 + 0.5 + 1.0 / 7f64.log2()) / ideal + 1.0 / 3f64.log2()) / 3.0,
            mrr_at_10: 1.5 / 3.0,
        };
        assert_eq!(figures, expected);
    }

    #[test]
    fn auroc_counts_pairs_and_halves_ties() {
        assert_eq!(auroc(&[0.9, 0.5], &[0.5, 0.1]), Some(3.5 / 4.0));
        assert_eq!(auroc(&[0.1], &[0.9]), Some(0.0));
        assert_eq!(auroc(&[], &[0.9]), None);
    }
    /// 8 queries with an answer, 4 without.
    const VERDICTS: VerdictFigures = VerdictFigures {
        narrow: 5,
        narrow_right: 3,
        broad: 2,
        broad_right: 1,
        false_miss: 1,
        true_miss: 2,
        false_narrow: 1,
        false_broad: 1,
    };

    #[test]
    fn a_narrow_verdict_on_a_query_that_nothing_answers_counts_as_wrong() {
        let found = trust(&VERDICTS, &[]);
        let expected = TrustFigures {
            narrow_coverage: Some(5.0 / 8.0),
            narrow_precision: Some(3.0 / 6.0),
            misses_narrow: Some(1.0 / 4.0),
            ece: None,
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn shares_of_nothing_are_absent() {
        assert_eq!(
            trust(&VerdictFigures::default(), &[]),
            TrustFigures::default()
        );
        assert_eq!(SeveralFigures::new(0, 0), SeveralFigures::default());
        let only_misses = VerdictFigures {
            true_miss: 3,
            ..VerdictFigures::default()
        };
        let found = trust(&only_misses, &[(0.0, false)]);
        let expected = TrustFigures {
            misses_narrow: Some(0.0),
            ece: Some(0.0),
            ..TrustFigures::default()
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn the_calibration_error_weighs_each_bin_by_its_hits() {
        // Bin 7 (from 7/15): mean score .5, two of three right, distance 1/6 over three hits. Bin 3: a wrong hit at
        // .25. Bin 14: .9375 wrong and 1.0 right, distance .46875 over two hits. Bin 0 has no error.
        let scored = [
            (0.5, true),
            (0.25, false),
            (0.5, false),
            (1.0, true),
            (0.0, false),
            (0.9375, false),
            (0.5, true),
        ];
        let expected = (0.5 + 0.25 + 0.9375) / 7.0;
        let found = calibration_error(&scored).unwrap();
        assert!((found - expected).abs() < 1e-12, "{found}");
    }

    #[test]
    fn scores_that_come_true_have_no_calibration_error() {
        let quarter = [true, false, false, false].map(|right| (0.25, right));
        assert_eq!(calibration_error(&quarter), Some(0.0));
    }
}
