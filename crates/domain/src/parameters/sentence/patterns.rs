//! Patterns of text parameters, and whether one separates values from the words of a sentence.

use std::sync::Arc;

use charter_contract::parameter::Parameter;

use super::seen::Misread;
use super::text::Sentence;
use super::words::looks_like_code;
use crate::parameters::ParameterFault;
use crate::parameters::pattern::Compiled;

/// Longest word that can be an ordinary one, in bytes.
const MAX_ORDINARY: usize = 64;

/// Words as any sentence may have them, of each common length and beginning, some of hexadecimal digits alone. A
/// pattern that fits one of them does not separate values from words.
const ORDINARY: &str = "a i an at be by do go if in is it me my no of on or so to up us we \
    add all and are bad can day fix for get has how its new not now old one our out see the top two use was who why \
    yes you dead does down each face find from give have help jobs just kind last list look make many most name need \
    open over quit read show team tell that them this time view what when will with work year your zone about added \
    check first group other owner there these value where which change decade every please region server system \
    account defaced payment question customers yesterday department information applications notifications \
    responsibility characteristics responsibilities on-call follow-up up-to-date";

/// The pattern of a parameter.
#[derive(Debug)]
pub(super) struct Pattern {
    name: String,
    written: String,
    part: Arc<Compiled>,
    whole: Arc<Compiled>,
    separates: bool,
}

impl Pattern {
    /// The pattern that a parameter declares; none where it declares none, or one that does not compile, which was refused
    /// when the document was registered.
    pub(super) fn for_parameter(parameter: &Parameter, sentence: &Sentence<'_>) -> Option<Self> {
        let written = parameter.pattern.as_deref()?;
        let whole = Compiled::whole(written)?;
        Some(Self {
            name: parameter.called().to_owned(),
            written: written.to_owned(),
            part: Compiled::part(written)?,
            separates: !fits_ordinary_words(&whole, sentence),
            whole,
        })
    }

    /// Whether it separates values from words.
    pub(super) fn separates(&self) -> bool {
        self.separates
    }

    /// Whether a text is accepted as a value.
    pub(super) fn fits(&self, text: &str) -> bool {
        self.part.fits(text)
    }

    /// A word that fits as a whole; a code may be written in capitals or without them, and after a number sign.
    pub(super) fn fit(&self, word: &str) -> Option<String> {
        self.fit_exactly(word).or_else(|| {
            let code = word.strip_prefix('#')?;
            self.fit_exactly(code).filter(|_| looks_like_code(code))
        })
    }

    fn fit_exactly(&self, word: &str) -> Option<String> {
        if self.whole.fits(word) {
            return Some(word.to_owned());
        }
        let code = word.contains(|c: char| c.is_ascii_digit());
        let cases = [word.to_lowercase(), word.to_uppercase()];
        let mut cases = cases.into_iter().filter(|_| code);
        cases.find(|word| self.whole.fits(word))
    }

    /// Why a text is not accepted.
    pub(super) fn fault(&self) -> Misread {
        let fault = ParameterFault::Pattern {
            name: self.name.clone(),
            pattern: self.written.clone(),
        };
        Misread::Unfit(fault.to_string())
    }
}

/// Whether a pattern fits words that any sentence may have, or a word of this text that is like them.
fn fits_ordinary_words(pattern: &Compiled, sentence: &Sentence<'_>) -> bool {
    let fits = |word: &str| {
        let mut cases = in_each_case(word).into_iter();
        cases.any(|word| pattern.fits(&word))
    };
    let mut words = (0..sentence.len()).map(|at| sentence.written(at));
    ORDINARY.split_whitespace().any(fits) || words.any(|word| is_like_ordinary(pattern, word))
}

/// As a word is within a sentence, at its beginning, and in a heading.
fn in_each_case(word: &str) -> [String; 3] {
    let (first, rest) = word.split_at(1);
    let capitalised = first.to_ascii_uppercase() + rest;
    [word.to_owned(), capitalised, word.to_ascii_uppercase()]
}

/// Whether a word has letters alone, fits, and another word in its place would fit as well. A word that a pattern
/// spells out is no such word.
fn is_like_ordinary(pattern: &Compiled, word: &str) -> bool {
    let of_letters = word.len() <= MAX_ORDINARY && word.chars().all(char::is_alphabetic);
    of_letters && pattern.fits(word) && others_like(word).any(|other| pattern.fits(&other))
}

/// A word with one letter replaced by the next of the alphabet, for each letter, and with its last letter twice.
fn others_like(word: &str) -> impl Iterator<Item = String> {
    let letters: Vec<char> = word.chars().collect();
    let longer: String = letters.iter().chain(letters.last()).collect();
    let replaced = (0..letters.len()).map(move |place| {
        let other = |(at, letter): (usize, &char)| {
            if at == place { next(*letter) } else { *letter }
        };
        letters.iter().enumerate().map(other).collect::<String>()
    });
    replaced.chain([longer])
}

fn next(letter: char) -> char {
    match letter {
        'z' => 'a',
        'Z' => 'A',
        other => char::from_u32(u32::from(other) + 1).unwrap_or('a'),
    }
}
