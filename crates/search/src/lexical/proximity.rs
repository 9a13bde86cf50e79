//! A bonus for entries that contain the query's words close together and in its order.
//!
//! "Send an email" should prefer `sendEmail` to an entry with both words far apart. Only the entries with the best BM25
//! scores are inspected, so the cost does not grow with the catalogue.

use super::analyser::{AnalysedQuery, PAIR_WINDOW};
use super::bm25::{SearchedLayer, Statistics, saturated};
use super::index::{FIELD_MARKS, LexicalIndex};
use crate::select::kth_largest;

/// Number of entries, best by BM25 first, that are inspected.
const INSPECTED: usize = 128;
/// Distinct terms of a query from which on the bonus counts in full. In a short query, closeness of two words adds
/// little to their presence; in a long one, it shows that they belong together.
const TERMS_FOR_FULL_WEIGHT: f32 = 20.0;
/// Marks a term that the query does not have.
const ABSENT: u16 = u16::MAX;

/// Adds `weight` times the proximity score to the best entries of `scores`, less for short queries.
///
/// The score of an entry is BM25 again with pairs of close words as its terms; a pair is as rare as
/// its rarer word.
pub(super) fn add_proximity(
    layers: &[SearchedLayer<'_>],
    numbers: &[Vec<Option<u32>>],
    query: &AnalysedQuery,
    statistics: &Statistics,
    weight: f32,
    scores: &mut [Vec<f32>],
) {
    if query.pairs().is_empty() {
        return;
    }
    let weight = weight * (query.terms().len() as f32 / TERMS_FOR_FULL_WEIGHT).min(1.0);
    let best = best_entries(scores);
    let mut counts = vec![0.0f32; query.pairs().len()];
    for (at, layer) in layers.iter().enumerate() {
        let lookup = query_terms_by_number(layer.index, &numbers[at]);
        for entry in best
            .iter()
            .filter(|(of, _)| *of == at)
            .map(|(_, entry)| *entry)
        {
            counts.fill(0.0);
            count_pairs(layer.index, entry, &lookup, query.pairs(), &mut counts);
            let length = layer.index.lengths()[entry];
            let bonus: f32 = query
                .pairs()
                .iter()
                .zip(&counts)
                .filter(|(_, count)| **count > 0.0)
                .map(|((first, second), count)| {
                    let idf = statistics.idf[usize::from(*first)]
                        .max(statistics.idf[usize::from(*second)]);
                    idf * saturated(*count, length, statistics.mean_length)
                })
                .sum();
            scores[at][entry] += weight * bonus;
        }
    }
}

/// Returns (layer, entry) of the [`INSPECTED`] best entries, and of all that equal the last of them: ties must not
/// depend on an entry's position.
fn best_entries(scores: &[Vec<f32>]) -> Vec<(usize, usize)> {
    let matching = scores
        .iter()
        .flatten()
        .copied()
        .filter(|score| *score > 0.0);
    let least = kth_largest(matching, INSPECTED).unwrap_or(f32::MIN_POSITIVE);
    scores
        .iter()
        .enumerate()
        .flat_map(|(layer, scores)| {
            let best = scores
                .iter()
                .enumerate()
                .filter(|(_, score)| **score >= least);
            best.map(move |(entry, _)| (layer, entry))
        })
        .collect()
}

/// For each term of the index, its position in the query or [`ABSENT`].
fn query_terms_by_number(index: &LexicalIndex, numbers: &[Option<u32>]) -> Vec<u16> {
    let mut lookup = vec![ABSENT; index.vocabulary()];
    for (position, number) in numbers.iter().enumerate() {
        if let (Some(number), Ok(position)) = (number, u16::try_from(position)) {
            lookup[*number as usize] = position;
        }
    }
    lookup
}

fn count_pairs(
    index: &LexicalIndex,
    entry: usize,
    lookup: &[u16],
    pairs: &[(u16, u16)],
    counts: &mut [f32],
) {
    let mut weight = 0.0;
    // The last terms, in a ring buffer: their order does not matter.
    let mut recent = [ABSENT; PAIR_WINDOW];
    let mut next = 0;
    for word in index.sequence(entry) {
        if *word >= FIELD_MARKS {
            weight = index.field_weight(*word);
            recent = [ABSENT; PAIR_WINDOW];
            continue;
        }
        let term = lookup[*word as usize];
        if term != ABSENT {
            for earlier in recent.iter().filter(|earlier| **earlier != ABSENT) {
                if let Ok(pair) = pairs.binary_search(&(*earlier, term)) {
                    counts[pair] += weight;
                }
            }
        }
        recent[next] = term;
        next = (next + 1) % PAIR_WINDOW;
    }
}
