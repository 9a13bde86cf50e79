//! Where phrases of a sentence begin and end, and which words a list has.

use super::text::Sentence;
use super::words::is_function_word;

/// Where the phrase of a noun begins: at its article, if it has one.
pub(super) fn start_of_phrase(sentence: &Sentence<'_>, at: usize) -> usize {
    let article =
        sentence.joins(at) && matches!(sentence.lower(at - 1), "the" | "a" | "an" | "my" | "our");
    at - usize::from(article)
}

/// Whether the phrase ends with the word at a place: at the end of a clause, or before a word of grammar.
pub(super) fn closes(sentence: &Sentence<'_>, at: usize) -> bool {
    let option = sentence.gap(at + 1).contains("--");
    option || sentence.breaks(at + 1) || is_function_word(sentence.lower(at + 1))
}

/// The next entry of a list, after a comma or "and".
pub(super) fn next_of_list(sentence: &Sentence<'_>, at: usize) -> Option<usize> {
    let comma = matches!(
        sentence
            .gap(at)
            .trim()
            .trim_matches(['"', '\'', '`'])
            .trim(),
        "," | "&" | "+" | "/"
    );
    let joint = matches!(sentence.lower(at), "and" | "or" | "plus")
        && sentence
            .gap(at)
            .trim_matches([' ', ',', '"', '\''])
            .is_empty();
    match (comma, joint) {
        (_, true) => Some(at + 1),
        (true, false) => Some(at),
        (false, false) => None,
    }
}
