//! BM25 of one layer, and the statistics of all layers that it needs, taken over the visible entries only.
//!
//! Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with
//! the always positive inverse document frequency.

use super::index::LexicalIndex;

/// How fast repeated words stop adding to a score.
pub(super) const K1: f32 = 1.2;
/// Strength of the length normalisation, which reduces the scores of long entries.
const B: f32 = 0.6;

/// One layer of a search.
#[derive(Clone, Copy)]
pub(crate) struct SearchedLayer<'a> {
    /// The words of the layer's entries.
    pub(crate) index: &'a LexicalIndex,
    /// For each entry, whether it may be scored and counted.
    pub(crate) visible: &'a [bool],
}

/// Statistics of the visible entries of all layers together.
pub(super) struct Statistics {
    /// Mean weighted length.
    pub(super) mean_length: f32,
    /// Inverse document frequency of each term of the query, times its weight.
    pub(super) idf: Vec<f32>,
}

/// Gathers the statistics of a query whose terms have these numbers in each layer.
pub(super) fn gather(
    layers: &[SearchedLayer<'_>],
    numbers: &[Vec<Option<u32>>],
    terms: usize,
) -> Statistics {
    let mut count = 0usize;
    let mut length = 0.0f64;
    let mut holders = vec![0usize; terms];
    for (layer, numbers) in layers.iter().zip(numbers) {
        let everything = layer.visible.iter().all(|visible| *visible);
        if everything {
            count += layer.visible.len();
            length += layer.index.total_length();
        } else {
            for (visible, words) in layer.visible.iter().zip(layer.index.lengths()) {
                count += usize::from(*visible);
                length += if *visible { f64::from(*words) } else { 0.0 };
            }
        }
        for (holders, number) in holders.iter_mut().zip(numbers) {
            let Some(number) = number else { continue };
            let (entries, _) = layer.index.postings(*number);
            *holders += if everything {
                entries.len()
            } else {
                let seen = entries
                    .iter()
                    .filter(|entry| layer.visible[**entry as usize]);
                seen.count()
            };
        }
    }
    let count_f = count as f64;
    let idf = holders.into_iter().map(|holders| idf(count, holders));
    let idf = idf.collect();
    Statistics {
        mean_length: (length / count_f.max(1.0)).max(f64::from(f32::MIN_POSITIVE)) as f32,
        idf,
    }
}

/// Returns the inverse document frequency of a term that `holders` of `count` entries contain; always positive.
pub(super) fn idf(count: usize, holders: usize) -> f32 {
    let (count, holders) = (count as f64, holders as f64);
    (1.0 + (count - holders + 0.5) / (holders + 0.5)).ln() as f32
}

/// The BM25 score of each entry of a layer.
pub(super) fn bm25(
    layer: SearchedLayer<'_>,
    numbers: &[Option<u32>],
    statistics: &Statistics,
) -> Vec<f32> {
    let lengths = layer.index.lengths();
    let held_back: Vec<f32> = lengths
        .iter()
        .map(|length| held_back(*length, statistics.mean_length))
        .collect();
    let mut scores = vec![0.0; lengths.len()];
    for (number, idf) in numbers.iter().zip(&statistics.idf) {
        let Some(number) = number else { continue };
        let (entries, frequencies) = layer.index.postings(*number);
        let most = idf * (K1 + 1.0);
        for (entry, frequency) in entries.iter().zip(frequencies) {
            let entry = *entry as usize;
            scores[entry] += most * frequency / (frequency + held_back[entry]);
        }
    }
    for (score, visible) in scores.iter_mut().zip(layer.visible) {
        if !visible {
            *score = 0.0;
        }
    }
    scores
}

/// BM25's term frequency part, 0 to `K1 + 1`.
pub(super) fn saturated(frequency: f32, length: f32, mean_length: f32) -> f32 {
    frequency * (K1 + 1.0) / (frequency + held_back(length, mean_length))
}

/// Returns the frequency at which a term reaches half of its maximum in an entry of this length.
pub(super) fn held_back(length: f32, mean_length: f32) -> f32 {
    K1 * (1.0 - B + B * length / mean_length)
}
