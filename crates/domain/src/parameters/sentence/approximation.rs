//! The words and signs around a number that make it approximate.

use super::text::Sentence;

/// Words before an approximate number.
const ABOUT: [&str; 10] = [
    "about",
    "around",
    "approximately",
    "approx",
    "roughly",
    "circa",
    "nearly",
    "almost",
    "some",
    "ca",
];

/// Words before "about" that make it speak of what follows.
const SPEAK: [&str; 9] = [
    "what", "how", "tell", "me", "more", "ask", "know", "think", "talk",
];

/// Whether the words around a number make it approximate.
pub(super) fn is_approximate(sentence: &Sentence<'_>, at: usize, end: usize) -> bool {
    let so = sentence.has(end, &["or", "so"]) || sentence.has(end, &["give", "or", "take"]);
    let mut first = at;
    while sentence.joins(first) && matches!(sentence.lower(first - 1), "the" | "a") {
        first -= 1;
    }
    let about = sentence.joins(first) && ABOUT.contains(&sentence.lower(first - 1));
    let speaks = about
        && sentence.lower(first - 1) == "about"
        && sentence.joins(first - 1)
        && SPEAK.contains(&sentence.lower(first - 2));
    let sign = sentence.gap(at).trim_end().ends_with(['≈', '~']);
    (so && sentence.joins(end)) || (about && !speaks) || sign
}
