//! Figures of a ranking: accuracy, recall, gain, reciprocal rank, and how well misses stand apart.
//!
//! Pure arithmetic over what a trial observed. Must not rank or score.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How deep a ranking is judged.
pub(super) const DEPTH: usize = 10;
/// Depth of recall.
const RECALL_DEPTH: usize = 5;

/// Means over some queries, each 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// How many queries.
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

/// What the verdicts were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct VerdictFigures {
    /// Queries that something answers and that were routed narrowly.
    pub narrow: usize,
    /// Of those, the ones routed to a relevant entry.
    pub narrow_right: usize,
    /// Queries that something answers and that got several candidates.
    pub broad: usize,
    /// Of those, the ones with a relevant entry among the first five.
    pub broad_right: usize,
    /// Queries that something answers and that were called misses.
    pub false_miss: usize,
    /// Queries that nothing answers and that were called misses.
    pub true_miss: usize,
    /// Queries that nothing answers and that were routed narrowly.
    pub false_narrow: usize,
    /// Queries that nothing answers and that got several candidates.
    pub false_broad: usize,
}

/// The result of an evaluation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvalReport {
    /// Over all queries that something answers.
    #[serde(flatten)]
    pub all: Figures,
    /// Queries that nothing answers.
    pub misses: usize,
    /// Chance that a query that something answers scores higher than one that nothing answers;
    /// `None` without misses.
    pub auroc: Option<f64>,
    /// By `part` of the queries.
    pub by_part: BTreeMap<String, Figures>,
    /// The same ranking by reciprocal rank fusion, for comparison; the words' own ranking where
    /// there are no vectors.
    pub rrf: Figures,
    /// What was decided under the thresholds in force.
    pub verdicts: VerdictFigures,
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
}
