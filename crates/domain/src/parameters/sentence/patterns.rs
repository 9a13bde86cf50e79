//! Patterns of text parameters, and whether a pattern distinguishes values from the words of a sentence.

use std::sync::Arc;

use charter_contract::parameter::Parameter;

use super::seen::Misread;
use super::text::Sentence;
use super::words::looks_like_code;
use crate::parameters::ParameterFault;
use crate::parameters::pattern::Compiled;

/// The maximum length of an ordinary word, in bytes.
const MAX_ORDINARY: usize = 64;

/// Ordinary words of each common length and beginning, some of them with only hexadecimal digits. A pattern that
/// matches one of them does not distinguish values from words.
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
    /// Returns the pattern that a parameter declares; `None` if it declares none, or one that does not compile, which
    /// registration rejects.
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

    /// Returns whether it distinguishes values from words.
    pub(super) fn separates(&self) -> bool {
        self.separates
    }

    /// Returns whether a text is a valid value.
    pub(super) fn fits(&self, text: &str) -> bool {
        self.part.fits(text)
    }

    /// Matches a whole word. A code may be in upper or lower case, or follow a number sign.
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

    /// Returns the reason why a text is invalid.
    pub(super) fn fault(&self) -> Misread {
        let fault = ParameterFault::Pattern {
            name: self.name.clone(),
            pattern: self.written.clone(),
        };
        Misread::Unfit(fault.to_string())
    }
}

/// Returns whether a pattern matches ordinary words, or a similar word of this text.
fn fits_ordinary_words(pattern: &Compiled, sentence: &Sentence<'_>) -> bool {
    let fits = |word: &str| {
        let mut cases = in_each_case(word).into_iter();
        cases.any(|word| pattern.fits(&word))
    };
    let mut words = (0..sentence.len()).map(|at| sentence.written(at));
    ORDINARY.split_whitespace().any(fits) || words.any(|word| is_like_ordinary(pattern, word))
}

/// Returns a word as written within a sentence, at its beginning, and in a heading.
fn in_each_case(word: &str) -> [String; 3] {
    let (first, rest) = word.split_at(1);
    let capitalised = first.to_ascii_uppercase() + rest;
    [word.to_owned(), capitalised, word.to_ascii_uppercase()]
}

/// Returns whether a word has only letters and matches, and a similar word would match as well. A word that the pattern
/// spells out has no similar matching words.
fn is_like_ordinary(pattern: &Compiled, word: &str) -> bool {
    let of_letters = word.len() <= MAX_ORDINARY && word.chars().all(char::is_alphabetic);
    of_letters && pattern.fits(word) && others_like(word).any(|other| pattern.fits(&other))
}

/// Returns the word with each letter replaced by the next letter of the alphabet, and with its last letter doubled.
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
