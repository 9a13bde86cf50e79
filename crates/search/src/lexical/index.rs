//! The immutable inverted index: terms, postings, lengths and each entry's words in order.
//!
//! Holds no statistics that depend on the caller: those are computed over the visible entries when a query is scored,
//! so that invisible entries are not even counted.

use rustc_hash::FxHashMap;

use super::analyser::{Analyser, for_each_run, identifier_parts};
use crate::near_words::Spellings;

/// Marks the start of a field in a word sequence, so that no pair spans two fields: the highest numbers are fields, the
/// rest are terms.
pub(super) const FIELD_MARKS: u32 = u32::MAX - 255;

/// Postings and word sequences of one set of entries, numbered from 0 in the order they were added.
#[derive(Debug, Default)]
pub(crate) struct LexicalIndex {
    terms: FxHashMap<String, u32>,
    /// Postings of term `t` are `starts[t]..starts[t + 1]`.
    starts: Vec<u32>,
    entries: Vec<u32>,
    frequencies: Vec<f32>,
    lengths: Vec<f32>,
    /// The sum of the lengths.
    total_length: f64,
    sequence_starts: Vec<u32>,
    sequences: Vec<u32>,
    field_weights: Vec<f32>,
    spellings: Spellings,
}

/// Letters of the shortest word that is a candidate for a correction.
const LEAST_SPELT: usize = 4;

impl LexicalIndex {
    /// Returns how many of the visible entries contain a term.
    pub(crate) fn holders(&self, term: &str, visible: &[bool]) -> usize {
        let Some(term) = self.term(term) else {
            return 0;
        };
        let (entries, _) = self.postings(term);
        let seen = entries.iter().filter(|entry| visible[**entry as usize]);
        seen.count()
    }

    /// Returns the unstemmed words; empty if they are not kept.
    pub(crate) fn spellings(&self) -> &Spellings {
        &self.spellings
    }

    /// The number of a term, if any entry has it.
    pub(super) fn term(&self, term: &str) -> Option<u32> {
        self.terms.get(term).copied()
    }

    /// Returns the number of terms.
    pub(super) fn vocabulary(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Entries that have a term, ascending, with its weighted frequency in each.
    pub(super) fn postings(&self, term: u32) -> (&[u32], &[f32]) {
        let range = self.starts[term as usize] as usize..self.starts[term as usize + 1] as usize;
        (&self.entries[range.clone()], &self.frequencies[range])
    }

    /// Whether an entry has a term.
    pub(super) fn has(&self, term: u32, entry: usize) -> bool {
        let (entries, _) = self.postings(term);
        u32::try_from(entry).is_ok_and(|entry| entries.binary_search(&entry).is_ok())
    }

    /// Weighted length of each entry in words.
    pub(super) fn lengths(&self) -> &[f32] {
        &self.lengths
    }

    /// The sum of the lengths of all entries.
    pub(super) fn total_length(&self) -> f64 {
        self.total_length
    }

    /// An entry's words in order; numbers from [`FIELD_MARKS`] up open a field.
    pub(super) fn sequence(&self, entry: usize) -> &[u32] {
        &self.sequences
            [self.sequence_starts[entry] as usize..self.sequence_starts[entry + 1] as usize]
    }

    /// Weight of the field that a mark of a sequence opens.
    pub(super) fn field_weight(&self, mark: u32) -> f32 {
        self.field_weights[(mark - FIELD_MARKS) as usize]
    }

    /// Bytes held on the heap, keys of the dictionary counted with their content.
    pub(crate) fn heap_bytes(&self) -> usize {
        let dictionary: usize = self.terms.keys().map(|term| term.capacity() + 40).sum();
        let words = self.starts.len()
            + self.entries.len()
            + self.frequencies.len()
            + self.lengths.len()
            + self.sequence_starts.len()
            + self.sequences.len();
        dictionary + 4 * words + self.spellings.heap_bytes()
    }
}

/// The terms of a run of letters and digits, cached so that each run is analysed and stemmed once.
#[derive(Clone, Copy)]
struct KnownRun {
    first: u32,
    words: u32,
    joined: Option<u32>,
}

/// Collects entries; [`finish`](LexicalBuilder::finish) makes the index.
pub(crate) struct LexicalBuilder {
    analyser: Analyser,
    index: LexicalIndex,
    runs: FxHashMap<String, KnownRun>,
    run_words: Vec<u32>,
    /// (term, entry, weighted frequency) in order of entries.
    occurrences: Vec<(u32, u32, f32)>,
    /// Weighted frequency of each term in the current entry, 0 where it has none.
    current: Vec<f32>,
    touched: Vec<u32>,
    /// Unstemmed words, if they are kept.
    spelt: Option<Vec<String>>,
}

impl LexicalBuilder {
    /// A builder whose entries have fields with these weights (at most 256 of them).
    pub(crate) fn new(field_weights: Vec<f32>) -> Self {
        LexicalBuilder {
            analyser: Analyser::new(),
            index: LexicalIndex {
                field_weights,
                sequence_starts: vec![0],
                ..LexicalIndex::default()
            },
            runs: FxHashMap::default(),
            run_words: Vec::new(),
            occurrences: Vec::new(),
            current: Vec::new(),
            touched: Vec::new(),
            spelt: None,
        }
    }

    /// Keeps the unstemmed words in the index, for corrections of spelling.
    pub(crate) fn keeping_spellings(self) -> Self {
        LexicalBuilder {
            spelt: Some(Vec::new()),
            ..self
        }
    }

    /// Adds the next entry: texts with the number of their field.
    pub(crate) fn add<'a>(&mut self, fields: impl IntoIterator<Item = (u8, &'a str)>) {
        let entry = self.index.lengths.len() as u32;
        let mut length = 0.0;
        for (field, text) in fields {
            let weight = self.index.field_weights[usize::from(field)];
            if weight > 0.0 && !text.is_empty() {
                self.index.sequences.push(FIELD_MARKS + u32::from(field));
                for_each_run(text, |run| length += self.add_run(run, weight));
            }
        }
        for term in self.touched.drain(..) {
            let frequency = std::mem::take(&mut self.current[term as usize]);
            self.occurrences.push((term, entry, frequency));
        }
        self.index.lengths.push(length);
        self.index
            .sequence_starts
            .push(self.index.sequences.len() as u32);
    }

    /// Adds one run to the current entry and returns what it adds to the entry's length.
    fn add_run(&mut self, run: &str, weight: f32) -> f32 {
        let known = match self.runs.get(run) {
            Some(known) => *known,
            None => self.learn_run(run),
        };
        for at in known.first..known.first + known.words {
            let term = self.run_words[at as usize];
            self.index.sequences.push(term);
            self.count(term, weight);
        }
        if let Some(term) = known.joined {
            self.count(term, weight);
        }
        weight * (known.words as f32 + f32::from(u8::from(known.joined.is_some())))
    }

    fn learn_run(&mut self, run: &str) -> KnownRun {
        if let Some(spelt) = &mut self.spelt {
            let words = identifier_parts(run).into_iter();
            let words = words.filter(|word| word.chars().count() >= LEAST_SPELT);
            let letters = words.filter(|word| word.chars().all(char::is_alphabetic));
            spelt.extend(letters.map(str::to_lowercase));
        }
        let terms = self.analyser.run_terms(run);
        let first = self.run_words.len() as u32;
        let words = terms.words.len() as u32;
        for word in terms.words {
            let term = self.intern(word);
            self.run_words.push(term);
        }
        let joined = terms.joined.map(|term| self.intern(term));
        let known = KnownRun {
            first,
            words,
            joined,
        };
        self.runs.insert(run.to_owned(), known);
        known
    }

    fn intern(&mut self, term: String) -> u32 {
        let next = self.index.terms.len() as u32;
        let number = *self.index.terms.entry(term).or_insert(next);
        if number == next {
            self.current.push(0.0);
        }
        number
    }

    fn count(&mut self, term: u32, weight: f32) {
        let frequency = &mut self.current[term as usize];
        if *frequency == 0.0 {
            self.touched.push(term);
        }
        *frequency += weight;
    }

    /// Sorts the occurrences by term (counting sort, so entries stay ascending) and returns the index.
    pub(crate) fn finish(mut self) -> LexicalIndex {
        let terms = self.index.terms.len();
        let mut starts = vec![0u32; terms + 1];
        for (term, ..) in &self.occurrences {
            starts[*term as usize + 1] += 1;
        }
        for term in 0..terms {
            starts[term + 1] += starts[term];
        }
        let mut next = starts.clone();
        let mut entries = vec![0u32; self.occurrences.len()];
        let mut frequencies = vec![0f32; self.occurrences.len()];
        for (term, entry, frequency) in &self.occurrences {
            let at = next[*term as usize] as usize;
            next[*term as usize] += 1;
            entries[at] = *entry;
            frequencies[at] = *frequency;
        }
        let lengths = self.index.lengths.iter();
        self.index.total_length = lengths.copied().map(f64::from).sum();
        self.index.starts = starts;
        self.index.entries = entries;
        self.index.frequencies = frequencies;
        self.index.sequences.shrink_to_fit();
        self.index.spellings = Spellings::from_words(self.spelt.unwrap_or_default());
        self.index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postings_carry_field_weights_and_stay_in_entry_order() {
        let mut builder = LexicalBuilder::new(vec![2.0, 1.0]);
        builder.add([(0, "listBuckets"), (1, "list all buckets, list them")]);
        builder.add([(0, "drop"), (1, "buckets")]);
        let index = builder.finish();
        let list = index.term("list").unwrap();
        let bucket = index.term("bucket").unwrap();
        assert_eq!(index.postings(list), (&[0u32][..], &[4.0f32][..]));
        assert_eq!(index.postings(bucket), (&[0u32, 1][..], &[3.0f32, 1.0][..]));
        assert_eq!(index.lengths(), [9.0, 3.0]);
        assert_eq!(
            index.sequence(0),
            [
                FIELD_MARKS,
                list,
                bucket,
                FIELD_MARKS + 1,
                list,
                bucket,
                list
            ]
        );
        assert_eq!(index.term("the"), None);
        assert_eq!(index.vocabulary(), 4);
    }
}
