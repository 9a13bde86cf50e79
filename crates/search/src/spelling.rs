//! Mistyped words: which words of a request are replaced.
//!
//! Four of five misspellings are one letter too few, one too many, one other letter, or two that changed places
//! (Damerau, "A technique for computer detection and correction of spelling errors", 1964). A word is only replaced
//! where neither the catalogue nor the embedding model knows it, and it is not English. Entries that the caller may not
//! see correct nothing.

use std::cmp::Reverse;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::embed::Embedder;
use crate::layers::{Allowed, Layers};
use crate::lexical::Analyser;

/// Letters of the shortest word that is corrected.
const LEAST_LETTERS: usize = 5;
/// Letters of the longest one; what is longer is no word.
const MOST_LETTERS: usize = 24;
/// Words of a request that are corrected at most.
const MOST_CORRECTIONS: usize = 16;
/// Unknown words that are looked up, each among all words of like length.
const MOST_LOOKED_UP: usize = 64;
/// Share of a request's words that may be unknown; beyond it, it is not written in a language that is known here.
const MOST_UNKNOWN: f32 = 0.5;
/// With fewer unknown words than this, their share does not matter.
const FEW_UNKNOWN: usize = 3;
/// One strange word in so many, names left out, makes a text strange.
const STRANGE_ONE_IN: usize = 3;

/// A word that was replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SpellingCorrection")]
#[serde(deny_unknown_fields)]
pub struct Correction {
    /// As it was typed.
    pub typed: String,
    /// The correction.
    pub corrected: String,
}

/// A word of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Typed {
    /// Where it stands.
    place: Range<usize>,
    /// In lower case.
    word: String,
    /// Whether it stands with a capital where none begins a sentence: it may be a name.
    is_name: bool,
}

impl Typed {
    /// Whether it is long enough that one edit seldom makes another word of it.
    fn may_be_mistyped(&self) -> bool {
        (LEAST_LETTERS..=MOST_LETTERS).contains(&self.word.chars().count())
    }
}

/// The words of a text: Latin letters alone; nothing of code, ids or addresses.
fn latin_words(text: &str) -> Vec<Typed> {
    let shouts = !text.contains(|c: char| c.is_lowercase());
    let mut found = Vec::new();
    let mut begins = true;
    for piece in text.split_inclusive(char::is_whitespace) {
        let start = piece.as_ptr() as usize - text.as_ptr() as usize;
        let word = piece.trim_end();
        let opening = word.len() - word.trim_start_matches(OPENING_MARKS).len();
        let bare = word[opening..]
            .trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '”', '’', '\'']);
        let bare = bare.strip_suffix("'s").unwrap_or(bare);
        let first_begins = begins;
        begins = word.ends_with(['.', '!', '?', ':']);
        if bare.is_empty() || !bare.chars().all(is_latin) {
            continue;
        }
        let count = bare.chars().count();
        let upper = bare.chars().filter(|c| c.is_uppercase()).count();
        let is_capital = upper == 1 && bare.starts_with(char::is_uppercase);
        if upper > 0 && !is_capital && !(shouts && upper == count) {
            continue;
        }
        let place = start + opening..start + opening + bare.len();
        found.push(Typed {
            place,
            word: bare.to_lowercase(),
            is_name: is_capital && !first_begins,
        });
    }
    found
}

/// Marks that a word may follow.
const OPENING_MARKS: [char; 7] = ['(', '"', '“', '‘', '\'', '¿', '¡'];

/// Whether a character is a letter of the Latin script, with or without a diacritic.
fn is_latin(letter: char) -> bool {
    const LAST_LATIN: char = '\u{24f}';
    letter.is_alphabetic() && letter <= LAST_LATIN
}

/// What the spelling of a text comes to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Spelling {
    /// Corrections, by position.
    pub(crate) corrections: Vec<(Range<usize>, String)>,
    /// Unknown words without a correction, if the text begins with one or has many of them; names do not count. Such a
    /// text may be in another language.
    pub(crate) strange: Vec<String>,
}

/// Looks the words of a text up, and corrects them by the entries that the caller may see. Nothing is found if
/// `embedder` does not say which words it knows.
pub(crate) fn spelling(
    text: &str,
    layers: &Layers,
    allowed: Allowed<'_>,
    embedder: &dyn Embedder,
) -> Spelling {
    let words = latin_words(text);
    let long = || words.iter().filter(|typed| typed.may_be_mistyped());
    let unknown = |typed: &&Typed| embedder.knows_word(&typed.word) == Some(false);
    let unknown: Vec<&Typed> = long().filter(unknown).collect();
    if unknown.is_empty() {
        return Spelling::default();
    }
    let catalogue = Catalogue::new(layers, allowed);
    let unknown: Vec<&Typed> = unknown
        .into_iter()
        .filter(|typed| !catalogue.knows(&typed.word))
        .collect();
    let most = (MOST_UNKNOWN * long().count() as f32) as usize;
    let corrections = match unknown.len() > most.max(FEW_UNKNOWN) {
        true => Vec::new(),
        false => corrections(&unknown, &catalogue, embedder),
    };
    let is_corrected = |typed: &Typed| corrections.iter().any(|(place, _)| *place == typed.place);
    let strange: Vec<&Typed> = unknown
        .into_iter()
        .filter(|typed| !typed.is_name && !is_corrected(typed))
        .collect();
    let begins = text.find(char::is_alphanumeric);
    let is_first = strange
        .first()
        .is_some_and(|first| begins == Some(first.place.start));
    let counted = words.iter().filter(|typed| !typed.is_name).count();
    let is_strange = is_first || strange.len() * STRANGE_ONE_IN >= counted;
    let strange = strange.into_iter().filter(|_| is_strange);
    Spelling {
        strange: strange.map(|typed| typed.word.clone()).collect(),
        corrections,
    }
}

/// Corrections of unknown words. A word with a letter that English does not have is not mistyped English.
fn corrections(
    unknown: &[&Typed],
    catalogue: &Catalogue<'_>,
    embedder: &dyn Embedder,
) -> Vec<(Range<usize>, String)> {
    let english = unknown.iter().filter(|typed| typed.word.is_ascii());
    let corrected = english.take(MOST_LOOKED_UP).filter_map(|typed| {
        let known = catalogue.nearest(&typed.word);
        let word = known.or_else(|| {
            let near = (!typed.is_name).then(|| embedder.words_near(&typed.word));
            let near = near.into_iter().flatten();
            near.min_by_key(|word| Reverse(begin_alike(word, &typed.word)))
        })?;
        Some((typed.place.clone(), word))
    });
    corrected.take(MOST_CORRECTIONS).collect()
}

/// Whether two words have the same first letter, which is seldom mistyped (Yannakoudakis and Fawthrop, 1983).
fn begin_alike(one: &str, other: &str) -> bool {
    one.chars().next() == other.chars().next()
}

/// The words of what a caller sees.
struct Catalogue<'l> {
    layers: &'l Layers,
    visible: Vec<Vec<bool>>,
    analyser: Analyser,
}

impl<'l> Catalogue<'l> {
    fn new(layers: &'l Layers, allowed: Allowed<'_>) -> Self {
        Catalogue {
            layers,
            visible: layers.visible(allowed),
            analyser: Analyser::new(),
        }
    }

    fn knows(&self, word: &str) -> bool {
        self.holders(word) > 0
    }

    /// How many entries in sight have a word, in any of its forms.
    fn holders(&self, word: &str) -> usize {
        let stem = self.analyser.stem(word);
        let layers = self.layers.as_slice().iter().zip(&self.visible);
        let held = layers.map(|(layer, visible)| layer.index.lexical().holders(&stem, visible));
        held.sum()
    }

    /// The word one edit away that begins alike, of these the one that most entries have.
    fn nearest(&self, word: &str) -> Option<String> {
        let layers = self.layers.as_slice().iter();
        let near = layers.flat_map(|layer| layer.index.lexical().spellings().near(word));
        let seen = near.map(|known| (begin_alike(known, word), self.holders(known), known));
        let seen = seen.filter(|(_, holders, _)| *holders > 0);
        let best = seen.max_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| b.2.cmp(a.2)));
        best.map(|(_, _, known)| known.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;

    use super::*;
    use crate::embed::{EmbedError, EmbeddingModel, Vector};
    use crate::index::{IndexSettings, RouteEntry, RouteIndex};
    use crate::layers::{Layer, Scope};
    use crate::near_words::Spellings;
    use crate::query::RouteQuery;
    use crate::text::RouteText;

    fn spellings(words: &[&str]) -> Spellings {
        Spellings::from_words(words.iter().map(|word| (*word).to_owned()))
    }

    /// Knows the words of a list.
    struct WordListLookup(&'static [&'static str]);

    #[async_trait]
    impl Embedder for WordListLookup {
        fn model(&self) -> &EmbeddingModel {
            unreachable!("nothing is embedded")
        }

        async fn embed(&self, _: Vec<String>) -> Result<Vec<Vector>, EmbedError> {
            unreachable!("nothing is embedded")
        }

        fn count_tokens(&self, _: &str) -> Option<usize> {
            None
        }

        fn token_spans(&self, _: &str) -> Option<Vec<Range<usize>>> {
            None
        }

        fn knows_word(&self, word: &str) -> Option<bool> {
            Some(self.0.contains(&word))
        }

        fn words_near(&self, word: &str) -> Vec<String> {
            let known = spellings(self.0);
            known.near(word).into_iter().map(str::to_owned).collect()
        }
    }

    fn layers() -> Layers {
        let entry = |id: &str, description: &str| RouteEntry {
            id: id.to_owned(),
            text: RouteText {
                description: description.to_owned(),
                ..RouteText::default()
            },
            vectors: Vec::new(),
        };
        let entries = vec![entry("a", "public buckets"), entry("b", "secret beckets")];
        let index = RouteIndex::build(entries, None, &IndexSettings::default()).unwrap();
        Layers::new(vec![Layer {
            scope: Scope::Global,
            index: Arc::new(index),
        }])
    }

    fn corrected(text: &str, allowed: Allowed<'_>) -> Vec<(String, String)> {
        let words = WordListLookup(&["which", "are", "public", "encrypted", "please", "bracket"]);
        let query = RouteQuery::parse(text).unwrap();
        let query = query.corrected(&layers(), allowed, &words);
        let pair = |one: &Correction| (one.typed.clone(), one.corrected.clone());
        query.corrections().iter().map(pair).collect()
    }

    #[test]
    fn words_that_nothing_knows_are_taken_for_those_of_the_catalogue_then_of_the_model() {
        let of = |text: &str| corrected(text, Allowed::Everything);
        let pair = |typed: &str, word: &str| (typed.to_owned(), word.to_owned());
        assert_eq!(
            of("which bukcets are pubilc"),
            [pair("bukcets", "buckets"), pair("pubilc", "public")]
        );
        assert_eq!(of("plaese"), [pair("plaese", "please")]);
        for text in [
            "public buckets",
            "ask Brackte about it",
            "`bukcets`",
            "bukcets.example",
            "qwertz",
        ] {
            assert_eq!(of(text), [], "{text}");
        }
        // Too many strange words: another language.
        assert_eq!(of("welcme bukcets sindd offne undd pubilc"), []);
    }

    fn strange(text: &str) -> Vec<String> {
        let words = WordListLookup(&["which", "are", "please", "there", "today", "about"]);
        let query = RouteQuery::parse(text).unwrap();
        let query = query.corrected(&layers(), Allowed::Everything, &words);
        query.strange_words().to_vec()
    }

    /// Such a text may be in another language, or ask for what the catalogue does not have.
    #[test]
    fn a_text_is_strange_if_it_begins_with_an_unknown_word_or_has_many() {
        for (text, expected) in [
            ("Rembourse buckets", vec!["rembourse"]),
            ("public Buckets anzeigen", vec!["anzeigen"]),
            ("buckets in eu-west-1 anzeigen", vec!["anzeigen"]),
            ("buckets públicos", vec!["públicos"]),
            ("¿Públicos buckets?", vec!["públicos"]),
            (
                "wieviel buckets liegen herum sindd offen",
                vec!["wieviel", "liegen", "herum", "sindd", "offen"],
            ),
        ] {
            assert_eq!(strange(text), expected, "{text}");
        }
        for text in [
            "which buckets are public today",
            // Mistyped.
            "whcih bukcets are pubilc",
            // One of many, a name, and what is no word.
            "which public buckets are there about qwertz today",
            "which buckets of Kowalski",
            "list the buckets of kowalski",
            "buckets in eu-west-1 and sg-0123abcd",
            "12345",
        ] {
            assert_eq!(strange(text), [""; 0], "{text}");
        }
    }

    /// A correction would tell of words that the caller may not see.
    #[test]
    fn invisible_entries_correct_nothing() {
        let typed = "beckests";
        assert_eq!(corrected(typed, Allowed::Everything)[0].1, "beckets");
        assert_eq!(corrected(typed, Allowed::Where(&|_, id| id == "a")), []);
    }

    fn long_words(text: &str) -> Vec<Typed> {
        let words = latin_words(text).into_iter();
        words.filter(Typed::may_be_mistyped).collect()
    }

    #[test]
    fn words_of_prose_may_be_mistyped_and_ids_code_and_addresses_are_not() {
        let words = |text: &str| {
            let words = long_words(text).into_iter().map(|typed| {
                assert_eq!(text[typed.place.clone()].to_lowercase(), typed.word);
                typed.word
            });
            words.collect::<Vec<_>>()
        };
        assert_eq!(
            words(
                "Which (pubilc) buckets, Ann's budgets' https://bucekts.example sg-0123abcd listBuckets list_bukets aws.bukets BUCKETS 12345 bucket7"
            ),
            ["which", "pubilc", "buckets", "budgets"]
        );
        assert_eq!(words("¿PÚBLICOS?"), ["públicos"]);
        assert_eq!(words("Öffne 安全组安全组 серверы"), ["öffne"]);
        assert_eq!(words("WHICH BUKCETS"), ["which", "bukcets"]);
        let names = long_words("ask Jonas. Whose bucket is it");
        let names: Vec<bool> = names.iter().map(|typed| typed.is_name).collect();
        assert_eq!(names, [true, false, false]);
    }
}
