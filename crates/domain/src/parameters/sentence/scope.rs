//! Parts that a sentence takes back: those that it leaves out ("all but A-1"), and where it corrects itself ("sorry, I mean B-2").

use super::text::Sentence;
use super::words::{is_function_word, looks_like_code};

/// Words after which things are named that are not meant.
const EXCLUSIONS: [&[&str]; 32] = [
    &["except"],
    &["except", "for"],
    &["excepting"],
    &["excluding"],
    &["exclude"],
    &["ignoring"],
    &["ignore"],
    &["apart", "from"],
    &["aside", "from"],
    &["other", "than"],
    &["all", "but"],
    &["everything", "but"],
    &["anything", "but"],
    &["instead", "of"],
    &["rather", "than"],
    &["unlike"],
    &["leave", "out"],
    &["leaving", "out"],
    &["skip"],
    &["skipping"],
    &["but", "not"],
    &["not", "in"],
    &["not", "for"],
    &["not", "on"],
    &["not", "from"],
    &["not", "with"],
    &["not", "the"],
    &["not", "to"],
    &["outside", "of"],
    &["außer"],
    &["ausser"],
    &["excepto"],
];

/// Words with which a person corrects what they have just written.
const CORRECTIONS: [&[&str]; 22] = [
    &["i", "mean"],
    &["i", "meant"],
    &["i", "actually", "mean"],
    &["i", "actually", "meant"],
    &["make", "that"],
    &["make", "it"],
    &["scratch", "that"],
    &["strike", "that"],
    &["correction"],
    &["oops"],
    &["whoops"],
    &["or", "rather"],
    &["no", "wait"],
    &["wait", "no"],
    &["sorry"],
    &["my", "mistake"],
    &["typo"],
    &["actually"],
    &["wait"],
    &["better"],
    &["should", "be"],
    &["should", "have", "been"],
];

/// Words that end what is left out.
const ENDS: [&str; 14] = [
    "but", "in", "for", "with", "on", "at", "using", "from", "under", "via", "only", "then",
    "please", "to",
];

/// How many words an exclusion reaches without coming to a value.
const REACH: usize = 8;

/// The parts of a sentence that are meant.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    excluded: Vec<bool>,
    corrected: Vec<usize>,
}

impl Scope {
    pub(super) fn from_sentence(sentence: &Sentence<'_>) -> Self {
        let mut scope = Self {
            excluded: vec![false; sentence.len()],
            corrected: Vec::new(),
        };
        for at in 0..sentence.len() {
            if let Some(words) = cue(sentence, at, &EXCLUSIONS) {
                scope.exclude(sentence, at + words);
            } else if let Some(words) = not_this(sentence, at) {
                scope.exclude(sentence, at + words);
            }
            if let Some(words) = cue(sentence, at, &CORRECTIONS) {
                scope.corrected.push(at + words);
            } else if sentence.lower(at) == "no" && sentence.breaks(at) && sentence.breaks(at + 1) {
                scope.corrected.push(at + 1);
            }
        }
        scope
    }

    fn exclude(&mut self, sentence: &Sentence<'_>, from: usize) {
        // An exclusion within another one ends with it.
        if self.is_excluded(from) {
            return;
        }
        let mut named = false;
        let mut at = from;
        while at < sentence.len() {
            let word = sentence.lower(at);
            let listed = sentence.gap(at).trim() == "," || matches!(word, "and" | "or" | "nor");
            let ended = at > from && sentence.breaks(at) && !(listed && goes_on(sentence, at));
            if ended || (named && ENDS.contains(&word)) || (!named && at - from > REACH) {
                return;
            }
            if let Some(excluded) = self.excluded.get_mut(at) {
                *excluded = true;
            }
            named = named || looks_like_code(sentence.written(at));
            at += 1;
        }
    }

    /// Whether a word is part of what is left out.
    pub(super) fn is_excluded(&self, at: usize) -> bool {
        self.excluded.get(at).copied().unwrap_or_default()
    }

    /// The words that follow a correction's cue.
    pub(super) fn corrections(&self) -> impl Iterator<Item = usize> {
        self.corrected.iter().copied()
    }

    /// Where the last correction begins that ends at a word or before it.
    pub(super) fn correction_before(&self, at: usize) -> Option<usize> {
        let mut corrections = self.corrected.iter().copied();
        corrections.rfind(|from| *from <= at)
    }
}

fn cue(sentence: &Sentence<'_>, at: usize, cues: &[&[&str]]) -> Option<usize> {
    let found = cues.iter().filter(|cue| sentence.has(at, cue));
    found.map(|cue| cue.len()).max()
}

/// "Not eu-west-1", "outside eu-west-1": a code right after the word.
fn not_this(sentence: &Sentence<'_>, at: usize) -> Option<usize> {
    let code = looks_like_code(sentence.written(at + 1)) && sentence.joins(at + 1);
    (matches!(sentence.lower(at), "not" | "outside") && code).then_some(1)
}

/// Whether a list of codes goes on after a comma or "and".
fn goes_on(sentence: &Sentence<'_>, at: usize) -> bool {
    let next = if is_function_word(sentence.lower(at)) {
        at + 1
    } else {
        at
    };
    looks_like_code(sentence.written(next))
}
