//! The whole words of a model's vocabulary, with their inflections and compounds. Must not know catalogues.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use crate::spelling::Spellings;

/// Letters of the shortest word that another may be taken for.
const LEAST_LETTERS: usize = 4;
/// Letters of the shortest part of a compound.
const LEAST_PART: usize = 4;

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

/// The whole words of a vocabulary.
#[derive(Debug)]
pub(super) struct Words {
    /// With the place in the vocabulary, which is in order of frequency.
    ids: FxHashMap<String, u32>,
    spellings: Spellings,
}

impl Words {
    /// Of the tokens of a vocabulary, those that are words.
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

    /// Whether a word is known as it is, or as an ordinary form or compound of words that are.
    pub(super) fn knows(&self, word: &str) -> bool {
        self.has_form(word) || self.has_beginning(word) || self.has_parts(word)
    }

    /// The words that one edit makes of `word`, the most frequent first.
    pub(super) fn near(&self, word: &str) -> Vec<String> {
        let mut near: Vec<&str> = self.spellings.near(word);
        near.sort_unstable_by_key(|word| self.ids.get(*word));
        near.into_iter().map(str::to_owned).collect()
    }

    fn has(&self, word: &str) -> bool {
        self.ids.contains_key(word)
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
        cuts.any(|at| self.has(&word[..at]) && self.has_form(&word[at..]))
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
}
