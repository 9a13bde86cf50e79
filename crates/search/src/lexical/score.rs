//! BM25 over several layers at once, plus a proximity bonus for the best entries.

use super::analyser::{AnalysedQuery, analyse_query};
use super::bm25::{K1, SearchedLayer, bm25, gather};
use super::index::LexicalIndex;
use super::proximity::add_proximity;

/// Scores of every entry of every layer; those of invisible entries are 0 and meaningless.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LexicalScores {
    /// Score with the proximity bonus, 0 where no term matches, by layer and entry.
    pub(crate) scores: Vec<Vec<f32>>,
    /// BM25 alone as a share of the best possible score, 0 to 1, by layer and entry: comparable across queries. A word
    /// that no visible entry contains lowers it.
    pub(crate) coverage: Vec<Vec<f32>>,
}

/// Scores `query` over `layers`. With a `proximity_weight` of 0 the result is plain BM25.
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

/// Returns the share of a query's terms that an entry contains; 0 for a query without terms.
pub(crate) fn share(index: &LexicalIndex, entry: usize, query: &AnalysedQuery) -> f32 {
    let terms = query.terms();
    let known = terms.iter().filter_map(|term| index.term(term));
    let held = known.filter(|term| index.has(*term, entry)).count();
    held as f32 / terms.len().max(1) as f32
}

/// Returns the weighted share of a query's terms that a text contains; 0 for a query without terms.
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
