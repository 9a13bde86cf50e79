//! Recognises whether a text accepts or declines the preceding offer: "yes", "go ahead", "never mind".
//!
//! Such a text has no other content: one content word makes it a new request. So does a question mark, and a yes beside
//! a no. Knows neither sessions nor offers.

/// The maximum number of words; a longer text is a new request.
const MAX_WORDS: usize = 8;

/// The answer to an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assent {
    /// The text accepts.
    Yes,
    /// The text acknowledges, and may accept: "ok".
    Perhaps,
    /// The text declines.
    No,
}

type Phrases = &'static [&'static [&'static str]];

/// Declining phrases; a phrase that begins another one follows it.
#[rustfmt::skip]
const NO: Phrases = &[
    &["none", "of", "them"], &["none", "of", "these"], &["none", "of", "those"], &["neither", "of", "them"],
    &["neither", "of", "these"], &["do", "not", "do"], &["dont", "do"], &["not", "now"], &["never", "mind"],
    &["do", "not"], &["dont"], &["nevermind"], &["forget"], &["leave"], &["drop"], &["skip"], &["cancel"],
    &["abort"], &["stop"], &["reject"], &["no"], &["nope"], &["nah"], &["none"], &["neither"], &["nothing"],
];

/// Accepting phrases, in the same order.
#[rustfmt::skip]
const YES: Phrases = &[
    &["go", "right", "ahead"], &["go", "ahead"], &["go", "for"], &["go", "on"], &["carry", "on"], &["carry", "out"],
    &["sounds", "good"], &["looks", "good"], &["of", "course"], &["make", "so"], &["do", "so"], &["do"], &["yes"],
    &["yep"], &["yeah"], &["yup"], &["aye"], &["confirm"], &["confirmed"], &["approve"], &["approved"], &["accept"],
    &["accepted"], &["agreed"], &["proceed"], &["continue"], &["definitely"], &["absolutely"], &["exactly"],
    &["correct"], &["run"], &["start"], &["begin"], &["execute"], &["perform"],
];

/// Acknowledging words, which may precede a phrase of the lists above: "ok, cancel it".
const WEAK: [&str; 6] = ["ok", "okay", "sure", "fine", "right", "alright"];

/// Filler words around such phrases.
#[rustfmt::skip]
const AROUND: [&str; 20] = [
    "it", "that", "this", "the", "please", "thanks", "thank", "you", "then", "now", "just", "so", "all", "well", "out",
    "for", "me", "plan", "change", "offer",
];

/// Returns the answer of a text to an offer; `None` for a text with other content.
#[must_use]
pub fn assent(text: &str) -> Option<Assent> {
    if text.contains('?') {
        return None;
    }
    let words = words(text);
    if words.is_empty() || words.len() > MAX_WORDS {
        return None;
    }
    let (mut yes, mut no, mut weak) = (false, false, false);
    let mut rest = words.as_slice();
    while let Some(first) = rest.first() {
        rest = if let Some(after) = after(rest, NO) {
            no = true;
            after
        } else if let Some(after) = after(rest, YES) {
            yes = true;
            after
        } else {
            let is_weak = WEAK.contains(&first.as_str());
            weak |= is_weak;
            if !is_weak && !AROUND.contains(&first.as_str()) {
                return None;
            }
            &rest[1..]
        };
    }
    match (yes, no) {
        (true, true) => None,
        (true, false) => Some(Assent::Yes),
        (false, true) => Some(Assent::No),
        (false, false) => weak.then_some(Assent::Perhaps),
    }
}

/// Returns the words after the first of these phrases that they begin with.
fn after(words: &[String], phrases: Phrases) -> Option<&[String]> {
    let begins = |phrase: &&&[&str]| {
        words.len() >= phrase.len() && words.iter().zip(**phrase).all(|(word, of)| word == of)
    };
    let phrase = phrases.iter().find(begins)?;
    Some(&words[phrase.len()..])
}

/// Returns the words in lower case. Apostrophes do not separate words.
fn words(text: &str) -> Vec<String> {
    let joined: String = text.chars().filter(|c| !matches!(c, '\'' | '’')).collect();
    let words = joined
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_agrees_declines_or_says_something_else() {
        for (text, said) in [
            ("yes", Some(Assent::Yes)),
            ("Yes, please!", Some(Assent::Yes)),
            ("do it", Some(Assent::Yes)),
            ("ok go ahead", Some(Assent::Yes)),
            ("confirm", Some(Assent::Yes)),
            ("okay", Some(Assent::Perhaps)),
            ("fine then", Some(Assent::Perhaps)),
            ("sure, run it", Some(Assent::Yes)),
            ("no", Some(Assent::No)),
            ("No thanks", Some(Assent::No)),
            ("never mind", Some(Assent::No)),
            ("don't do it", Some(Assent::No)),
            ("ok, cancel that", Some(Assent::No)),
            ("neither", Some(Assent::No)),
            ("none of them", Some(Assent::No)),
            ("forget it", Some(Assent::No)),
            // Content words, questions, and both answers at once.
            ("cancel order A-1002", None),
            ("yes, restart web-01", None),
            ("do it?", None),
            ("no, do it", None),
            ("again", None),
            ("maybe", None),
            ("thanks", None),
            ("it", None),
            ("", None),
            ("yes yes yes yes yes yes yes yes yes", None),
        ] {
            assert_eq!(assent(text), said, "{text}");
        }
    }
}
