//! The whole words of a model's vocabulary and the English words that it lacks, with their inflections and compounds.
//! Must not know catalogues.

use std::cmp::Ordering;
use std::collections::HashMap;

use charter_search::Spellings;
use rustc_hash::FxHashMap;

/// Letters of the shortest word that is a candidate for a correction.
const LEAST_LETTERS: usize = 4;
/// Letters of the shortest part of a compound.
const LEAST_PART: usize = 4;
/// English words and terms of computing that the vocabulary of all-MiniLM-L6-v2 lacks: base forms of ASCII letters,
/// sorted, one a line. `words/README.md` documents their origin.
const ENGLISH: &str = include_str!("words/english.txt");

/// Endings of inflected words, each with the letter that it replaces in the base word.
const ENDINGS: [(&str, &[&str]); 14] = [
    ("ies", &["y"]),
    ("ied", &["y"]),
    ("es", &["", "e"]),
    ("s", &[""]),
    ("ed", &["", "e"]),
    ("ing", &["", "e"]),
    ("er", &["", "e"]),
    ("ers", &["", "e"]),
    ("ly", &["", "le"]),
    ("able", &["", "e"]),
    ("ation", &["e", ""]),
    ("ations", &["e", ""]),
    ("ment", &[""]),
    ("ness", &[""]),
];

/// Prefixes of derived words.
const BEGINNINGS: [&str; 14] = [
    "un", "re", "non", "pre", "mis", "de", "dis", "over", "sub", "auto", "multi", "inter", "out",
    "anti",
];

/// Whether a sorted list of lines contains a word.
fn is_listed(list: &str, word: &str) -> bool {
    let (mut low, mut high) = (0, list.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let start = list[..middle].rfind('\n').map_or(0, |at| at + 1);
        let end = list[start..].find('\n');
        let end = end.map_or(list.len(), |length| start + length);
        match list[start..end].cmp(word) {
            Ordering::Equal => return true,
            Ordering::Less => low = end + 1,
            Ordering::Greater => high = start,
        }
    }
    false
}

/// The whole words of a vocabulary.
#[derive(Debug)]
pub(super) struct Words {
    /// With the position in the vocabulary, which is in order of frequency.
    ids: FxHashMap<String, u32>,
    spellings: Spellings,
}

impl Words {
    /// Collects the tokens of a vocabulary that are words.
    pub(super) fn from_vocabulary(vocabulary: HashMap<String, u32>) -> Self {
        let is_word = |token: &str| {
            token.chars().count() >= LEAST_LETTERS && token.chars().all(char::is_alphabetic)
        };
        let ids: FxHashMap<String, u32> = vocabulary
            .into_iter()
            .filter(|(token, _)| is_word(token))
            .collect();
        Words {
            spellings: Spellings::from_words(ids.keys().cloned()),
            ids,
        }
    }

    /// Whether a word is known itself, or as an ordinary form or compound of known words.
    pub(super) fn knows(&self, word: &str) -> bool {
        self.has_form(word) || self.has_beginning(word) || self.has_parts(word)
    }

    /// Returns the words at one edit from `word`, the most frequent first.
    pub(super) fn near(&self, word: &str) -> Vec<String> {
        let mut near: Vec<&str> = self.spellings.near(word);
        near.sort_unstable_by_key(|word| self.ids.get(*word));
        near.into_iter().map(str::to_owned).collect()
    }

    fn has(&self, word: &str) -> bool {
        self.ids.contains_key(word) || is_listed(ENGLISH, word)
    }

    fn has_form(&self, word: &str) -> bool {
        self.has(word)
            || ENDINGS.iter().any(|(ending, taken)| {
                word.strip_suffix(ending).is_some_and(|base| {
                    let last = base.chars().next_back();
                    let single = base.strip_suffix(|letter| Some(letter) == last);
                    let doubled =
                        single.is_some_and(|single| single.ends_with(|c| Some(c) == last));
                    taken
                        .iter()
                        .any(|letter| self.has(&format!("{base}{letter}")))
                        || doubled && single.is_some_and(|single| self.has(single))
                })
            })
    }

    fn has_beginning(&self, word: &str) -> bool {
        let mut rests = BEGINNINGS
            .iter()
            .filter_map(|begin| word.strip_prefix(begin));
        rests.any(|rest| self.has_form(rest))
    }

    fn has_parts(&self, word: &str) -> bool {
        let parts = LEAST_PART..word.len().saturating_sub(LEAST_PART - 1);
        let mut cuts = parts.filter(|at| word.is_char_boundary(*at));
        // Rare words would also accept typing errors as compounds.
        cuts.any(|at| self.ids.contains_key(&word[..at]) && self.has_form(&word[at..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_and_compounds_of_known_words_are_known() {
        let known = [
            "bucket", "encrypt", "refund", "balance", "work", "space", "stop", "query", "##ing",
        ];
        let vocabulary = known
            .iter()
            .zip(0..)
            .map(|(word, id)| ((*word).to_owned(), id));
        let words = Words::from_vocabulary(vocabulary.collect());
        for word in [
            "bucket",
            "buckets",
            "encrypted",
            "unencrypted",
            "refunding",
            "balanced",
            "workspaces",
            "stopped",
            "queries",
        ] {
            assert!(words.knows(word), "{word}");
        }
        for word in ["bukcet", "encrpyted", "##ing", "workspcae", "refnud"] {
            assert!(!words.knows(word), "{word}");
        }
        assert_eq!(words.near("bukcet"), ["bucket"]);
    }

    #[test]
    fn a_word_is_found_in_a_sorted_list_wherever_it_stands() {
        let list = "ant\nbee\nbeetle\ncat\n";
        for word in ["ant", "bee", "beetle", "cat"] {
            assert!(is_listed(list, word), "{word}");
            assert!(is_listed(list.trim_end(), word), "{word}");
        }
        for word in ["", "a", "be", "beet", "dog", "ant\nbee"] {
            assert!(!is_listed(list, word), "{word}");
        }
        assert!(!is_listed("", "ant"));
    }

    #[test]
    fn the_english_list_is_sorted_and_small() {
        const MOST_BYTES: usize = 300_000;
        let words: Vec<&str> = ENGLISH.lines().collect();
        assert!(words.windows(2).all(|pair| pair[0] < pair[1]));
        let is_word = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
        assert_eq!(words.iter().find(|word| !is_word(word)), None);
        assert!(words.len() > 20_000 && ENGLISH.len() < MOST_BYTES);
    }

    /// The model's vocabulary contains these only in pieces.
    #[test]
    fn right_english_words_and_terms_of_computing_are_known_without_the_vocabulary() {
        let words = Words::from_vocabulary(HashMap::new());
        for word in [
            "outage",
            "payee",
            "payout",
            "rebates",
            "warranty",
            "churn",
            "expired",
            "retry",
            "redacting",
            "evict",
            "taint",
            "schema",
            "shards",
            "mutex",
            "oauth",
            "passwd",
            "chown",
            "inode",
            "umount",
            "abort",
        ] {
            assert!(words.knows(word), "{word}");
        }
        for word in ["outgae", "warrenty", "anzeigen", "starte", "serveurs"] {
            assert!(!words.knows(word), "{word}");
        }
    }
}
