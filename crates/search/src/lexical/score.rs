//! BM25 over several layers at once, with statistics taken over the visible entries only.
//!
//! Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with
//! the always positive inverse document frequency, plus a proximity bonus for the best entries.

use super::analyser::{AnalysedQuery, analyse_query};
use super::index::LexicalIndex;
use super::proximity::add_proximity;

/// How fast repeated words stop adding to a score.
pub(super) const K1: f32 = 1.2;
/// How far long entries are held back.
pub(super) const B: f32 = 0.6;

/// One layer as a query sees it.
#[derive(Clone, Copy)]
pub(crate) struct SearchedLayer<'a> {
    /// The words of the layer's entries.
    pub(crate) index: &'a LexicalIndex,
    /// For each entry, whether it may be scored and counted.
    pub(crate) visible: &'a [bool],
}

/// Scores of every entry of every layer; those of invisible entries are 0 and mean nothing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LexicalScores {
    /// Score with the proximity bonus, 0 where no term matches, by layer and entry.
    pub(crate) scores: Vec<Vec<f32>>,
    /// BM25 alone as a share of what the query could reach, 0 to 1, by layer and entry: comparable
    /// across queries. A word that no visible entry has counts against it.
    pub(crate) coverage: Vec<Vec<f32>>,
}

/// What the visible entries of all layers say together.
pub(super) struct Statistics {
    /// Mean weighted length.
    pub(super) mean_length: f32,
    /// Inverse document frequency of each term of the query, times its weight.
    pub(super) idf: Vec<f32>,
}

/// Scores `query` over `layers`. `proximity_weight` 0 gives plain BM25.
pub(crate) fn score(
    layers: &[SearchedLayer<'_>],
    query: &AnalysedQuery,
    proximity_weight: f32,
) -> LexicalScores {
    let numbers: Vec<Vec<Option<u32>>> = layers
        .iter()
        .map(|layer| {
            query
                .terms()
                .iter()
                .map(|term| layer.index.term(term))
                .collect()
        })
        .collect();
    let mut statistics = gather(layers, &numbers, query.terms().len());
    for (idf, weight) in statistics.idf.iter_mut().zip(query.weights()) {
        *idf *= weight;
    }
    let mut scores: Vec<Vec<f32>> = layers
        .iter()
        .zip(&numbers)
        .map(|(layer, numbers)| bm25(*layer, numbers, &statistics))
        .collect();
    let reachable: f32 = statistics.idf.iter().sum::<f32>() * (K1 + 1.0);
    let share = if reachable > 0.0 {
        reachable.recip()
    } else {
        0.0
    };
    let coverage = scores
        .iter()
        .map(|layer| layer.iter().map(|score| score * share).collect())
        .collect();
    if proximity_weight > 0.0 {
        add_proximity(
            layers,
            &numbers,
            query,
            &statistics,
            proximity_weight,
            &mut scores,
        );
    }
    LexicalScores { scores, coverage }
}

/// The share of a query's terms that an entry has; 0 for a query without terms.
pub(crate) fn share(index: &LexicalIndex, entry: usize, query: &AnalysedQuery) -> f32 {
    let terms = query.terms();
    let known = terms.iter().filter_map(|term| index.term(term));
    let held = known.filter(|term| index.has(*term, entry)).count();
    held as f32 / terms.len().max(1) as f32
}

/// The weighted share of a query's terms that a text has; 0 for a query without terms.
pub(crate) fn share_in(text: &str, query: &AnalysedQuery) -> f32 {
    let held = analyse_query(text);
    let (mut all, mut both) = (0.0, 0.0);
    for (term, weight) in query.terms().iter().zip(query.weights()) {
        all += weight;
        if held.terms().contains(term) {
            both += weight;
        }
    }
    if all > 0.0 { both / all } else { 0.0 }
}

fn gather(layers: &[SearchedLayer<'_>], numbers: &[Vec<Option<u32>>], terms: usize) -> Statistics {
    let mut count = 0usize;
    let mut length = 0.0f64;
    let mut holders = vec![0usize; terms];
    for (layer, numbers) in layers.iter().zip(numbers) {
        let everything = layer.visible.iter().all(|visible| *visible);
        for (visible, words) in layer.visible.iter().zip(layer.index.lengths()) {
            count += usize::from(*visible);
            length += if *visible { f64::from(*words) } else { 0.0 };
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

/// Inverse document frequency of a term that `holders` of `count` entries have; always positive.
pub(super) fn idf(count: usize, holders: usize) -> f32 {
    let (count, holders) = (count as f64, holders as f64);
    (1.0 + (count - holders + 0.5) / (holders + 0.5)).ln() as f32
}

fn bm25(layer: SearchedLayer<'_>, numbers: &[Option<u32>], statistics: &Statistics) -> Vec<f32> {
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

/// The frequency at which a term reaches half its worth in an entry of this length.
pub(super) fn held_back(length: f32, mean_length: f32) -> f32 {
    K1 * (1.0 - B + B * length / mean_length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_a_share_of_the_words_of_a_query() {
        let query = analyse_query("how is a page acknowledged?");
        assert_eq!(query.terms(), ["page", "acknowledg"]);
        for (text, expected) in [
            ("She acknowledges the pages.", 1.0),
            ("Turn the page.", 0.5),
            ("Call the deputy.", 0.0),
        ] {
            assert!((share_in(text, &query) - expected).abs() < 1e-6, "{text}");
        }
        assert!(share_in("page", &analyse_query("of the")).abs() < 1e-6);
    }
}
