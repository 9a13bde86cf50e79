//! Words by entry instead of entries by word, so that one entry can be changed in place and a query reads only the
//! visible entries.
//!
//! For short texts: a query reads all words of the visible entries. Terms are stored as 32-bit digests, which need no
//! dictionary; a collision of two terms has a probability of one in billions and changes only a rank. Must not know
//! callers' access, or vectors.

use super::analyser::{AnalysedQuery, Analyser, for_each_run};
use super::bm25::{K1, held_back, idf};

/// Terms of one entry that are stored; later ones are not found.
const MAX_TERMS: usize = 512;
/// Bits of the filter, which rejects most words of an entry.
const FILTER_BITS: u32 = 4_096;

/// The terms of entries by their numbers.
#[derive(Debug, Default)]
pub(crate) struct ForwardIndex {
    /// Start and number of each entry's terms.
    spans: Vec<(u32, u16)>,
    terms: Vec<u32>,
    /// Number of terms that no entry uses any more.
    unused: usize,
}

impl ForwardIndex {
    /// Sets the words of an entry from a text; none for an empty one.
    pub(crate) fn set(&mut self, entry: usize, text: &str, analyser: &Analyser) {
        if self.spans.len() <= entry {
            self.spans.resize(entry + 1, (0, 0));
        }
        self.unused += usize::from(self.spans[entry].1);
        self.spans[entry] = (0, 0);
        if self.unused > self.terms.len() / 2 {
            self.compact();
        }
        let start = self.terms.len();
        for_each_run(text, |run| {
            let terms = analyser.run_terms(run);
            let terms = terms.words.iter().chain(&terms.joined);
            self.terms.extend(terms.map(|term| digest(term)));
        });
        self.terms.truncate(start + MAX_TERMS);
        // An index of four thousand million words would take 16 GiB.
        let from = u32::try_from(start).unwrap_or(u32::MAX);
        let count = u16::try_from(self.terms.len() - start).unwrap_or(u16::MAX);
        self.spans[entry] = (from, count);
    }

    /// Removes the terms that no entry uses any more.
    fn compact(&mut self) {
        let mut kept = Vec::with_capacity(self.terms.len() - self.unused);
        for (from, count) in &mut self.spans {
            let terms = &self.terms[*from as usize..*from as usize + usize::from(*count)];
            *from = u32::try_from(kept.len()).unwrap_or(u32::MAX);
            kept.extend_from_slice(terms);
        }
        self.terms = kept;
        self.unused = 0;
    }

    /// Returns the share of a query's terms that an entry contains; 0 for a query without terms.
    pub(crate) fn share(&self, entry: u32, query: &ForwardQuery) -> f32 {
        let mut has = vec![false; query.terms.len()];
        for at in self
            .terms(entry)
            .iter()
            .filter_map(|term| query.find(*term))
        {
            has[at] = true;
        }
        let held = has.iter().filter(|has| **has).count();
        held as f32 / has.len().max(1) as f32
    }

    fn terms(&self, entry: u32) -> &[u32] {
        let (from, count) = self.spans.get(entry as usize).copied().unwrap_or_default();
        &self.terms[from as usize..from as usize + usize::from(count)]
    }

    /// Bytes held on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.spans.capacity() * size_of::<(u32, u16)>() + self.terms.capacity() * 4
    }
}

/// The terms of a query, prepared for look-ups.
pub(crate) struct ForwardQuery {
    /// Digests, sorted.
    terms: Vec<u32>,
    filter: [u64; (FILTER_BITS / 64) as usize],
}

impl ForwardQuery {
    /// Prepares an analysed query.
    pub(crate) fn new(query: &AnalysedQuery) -> Self {
        let mut terms: Vec<u32> = query.terms().iter().map(|term| digest(term)).collect();
        terms.sort_unstable();
        terms.dedup();
        let mut filter = [0; (FILTER_BITS / 64) as usize];
        for term in &terms {
            let bit = term % FILTER_BITS;
            filter[(bit / 64) as usize] |= 1 << (bit % 64);
        }
        ForwardQuery { terms, filter }
    }

    fn find(&self, term: u32) -> Option<usize> {
        let bit = term % FILTER_BITS;
        let passes = self.filter[(bit / 64) as usize] & (1 << (bit % 64)) != 0;
        if !passes {
            return None;
        }
        self.terms.binary_search(&term).ok()
    }
}

/// Scores of the visible entries, in order, with all layers in sequence.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ForwardScores {
    /// BM25, 0 where no term matches.
    pub(crate) scores: Vec<f32>,
    /// Factor that converts a score to its share of the best possible score.
    pub(crate) share: f32,
}

impl ForwardScores {
    /// Scores a query over layers, each with its visible entries, with statistics of these entries alone.
    pub(crate) fn compute(layers: &[(&ForwardIndex, &[u32])], query: &ForwardQuery) -> Self {
        let visible: usize = layers.iter().map(|(_, visible)| visible.len()).sum();
        if query.terms.is_empty() {
            let scores = vec![0.0; visible];
            return ForwardScores { scores, share: 0.0 };
        }
        let mut found = TermMatch::default();
        let mut holders = vec![0_usize; query.terms.len()];
        let (mut words, mut at) = (0_u64, 0_usize);
        for (index, visible) in layers {
            for entry in *visible {
                let terms = index.terms(*entry);
                words += terms.len() as u64;
                found.entry(at, terms, query, &mut holders);
                at += 1;
            }
        }
        let mean = (words as f64 / visible.max(1) as f64).max(f64::from(f32::MIN_POSITIVE)) as f32;
        let idf: Vec<f32> = holders.into_iter().map(|held| idf(visible, held)).collect();
        let reachable = idf.iter().sum::<f32>() * (K1 + 1.0);
        let mut scores = vec![0.0; visible];
        for (at, term, frequency, length) in found.0 {
            let held = held_back(length, mean);
            scores[at] += idf[term] * (K1 + 1.0) * frequency / (frequency + held);
        }
        ForwardScores {
            scores,
            share: reachable.recip(),
        }
    }
}

/// Entry, term, frequency and the entry's length, for each term of the query that an entry has.
#[derive(Default)]
struct TermMatch(Vec<(usize, usize, f32, f32)>);

impl TermMatch {
    fn entry(&mut self, at: usize, terms: &[u32], query: &ForwardQuery, holders: &mut [usize]) {
        let first = self.0.len();
        for term in terms.iter().filter_map(|term| query.find(*term)) {
            match self.0[first..]
                .iter_mut()
                .find(|(_, known, ..)| *known == term)
            {
                Some((_, _, frequency, _)) => *frequency += 1.0,
                None => {
                    holders[term] += 1;
                    self.0.push((at, term, 1.0, terms.len() as f32));
                }
            }
        }
    }
}

/// FNV-1a: equal on every machine, and therefore also the ranking.
fn digest(term: &str) -> u32 {
    let bytes = term.bytes();
    bytes.fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::super::{LexicalBuilder, SearchedLayer, analyse_query, score};
    use super::*;

    const TEXTS: [&str; 6] = [
        "list all buckets of the account, then list them again",
        "GitHub issues and pull requests",
        "",
        "delete stale buckets",
        "rotate the keys of an account",
        "something else altogether",
    ];

    fn forward() -> ForwardIndex {
        let (mut index, analyser) = (ForwardIndex::default(), Analyser::new());
        // Overwritten many times, so that it has to be compacted.
        for round in 0..20 {
            for (entry, text) in TEXTS.iter().enumerate() {
                let text = if round < 19 { TEXTS[0] } else { text };
                index.set(entry, text, &analyser);
            }
        }
        index
    }

    /// The scores equal those of the inverted index over the visible entries.
    #[test]
    fn it_scores_as_bm25_over_the_visible_entries() {
        let mut builder = LexicalBuilder::new(vec![1.0]);
        for text in TEXTS {
            builder.add([(0, text)]);
        }
        let (inverted, forward) = (builder.finish(), forward());
        for (query, visible) in [
            ("list buckets of my account", vec![0, 1, 2, 3, 4, 5]),
            ("list buckets of my account", vec![1, 3, 4]),
            ("github", vec![0, 1]),
            ("nothing fits", vec![0, 3]),
        ] {
            let query = analyse_query(query);
            let mask: Vec<bool> = (0..TEXTS.len() as u32)
                .map(|at| visible.contains(&at))
                .collect();
            let layer = SearchedLayer {
                index: &inverted,
                visible: &mask,
            };
            let expected = score(&[layer], &query, 0.0);
            let query = ForwardQuery::new(&query);
            let found = ForwardScores::compute(&[(&forward, &visible)], &query);
            for (at, entry) in visible.iter().enumerate() {
                let expected = (
                    expected.scores[0][*entry as usize],
                    expected.coverage[0][*entry as usize],
                );
                let found = (found.scores[at], found.scores[at] * found.share);
                assert!(
                    (expected.0 - found.0).abs() < 1e-5,
                    "{expected:?} {found:?}"
                );
                assert!(
                    (expected.1 - found.1).abs() < 1e-5,
                    "{expected:?} {found:?}"
                );
            }
        }
    }

    #[test]
    fn overwritten_terms_are_dropped() {
        let index = forward();
        let kept: usize = (0..TEXTS.len() as u32)
            .map(|at| index.terms(at).len())
            .sum();
        assert!(
            index.terms.len() <= 2 * kept + MAX_TERMS,
            "{}",
            index.terms.len()
        );
    }
}
