//! Trigger phrases that a skill's description quotes: `Use when the user asks to "deploy the app"`. Agent Skills (the
//! specification of `SKILL.md`) have no field for examples; many of their authors quote some there.

use std::ops::RangeInclusive;

/// Quotation marks, opening and closing.
const MARKS: [(char, char); 4] = [('"', '"'), ('“', '”'), ('‘', '’'), ('\'', '\'')];

/// Most phrases of one description.
const MOST: usize = 12;

/// Words of a phrase: one word is a term of its subject, and many are not a phrase.
const WORDS: RangeInclusive<usize> = 2..=16;

/// Longest phrase, in bytes, so that an unclosed quotation costs little.
const MOST_BYTES: usize = 200;

/// Words in sentences about when not to use a skill.
const REFUSALS: [&str; 6] = ["not", "don't", "doesn't", "never", "instead", "except"];

/// Returns the phrases, in order. Those in sentences about when not to use the skill are left out.
#[must_use]
pub fn trigger_phrases(description: &str) -> Vec<String> {
    let mut phrases: Vec<String> = Vec::new();
    let mut rest = description;
    let mut refused = false;
    while let Some((before, phrase, after)) = next_quoted(rest) {
        refused = match before.rfind(['.', ';', '\n', '!', '?']) {
            Some(at) => refuses(&before[at..]),
            None => refused || refuses(before),
        };
        let phrase = phrase.trim_matches([',', '.', ';', '!', ' ']);
        let is_phrase = WORDS.contains(&phrase.split_whitespace().count());
        if is_phrase && !refused && !phrases.iter().any(|known| known == phrase) {
            phrases.push(phrase.to_owned());
        }
        if phrases.len() == MOST {
            break;
        }
        rest = after;
    }
    phrases
}

/// Returns the text before the next quotation, the quotation, and the text after it. An apostrophe inside a word is not
/// a mark.
fn next_quoted(text: &str) -> Option<(&str, &str, &str)> {
    let mut previous = ' ';
    for (at, mark) in text.char_indices() {
        let opens = !previous.is_alphanumeric();
        previous = mark;
        let Some((_, closing)) = MARKS.iter().find(|(opening, _)| opens && *opening == mark) else {
            continue;
        };
        let inner = &text[at + mark.len_utf8()..];
        let mut within = inner
            .char_indices()
            .take_while(|(end, _)| *end <= MOST_BYTES);
        let end = within.find(|(end, char)| {
            let next = inner[end + char.len_utf8()..].chars().next();
            char == closing && next.is_none_or(|next| !next.is_alphanumeric())
        });
        if let Some((end, char)) = end {
            return Some((&text[..at], &inner[..end], &inner[end + char.len_utf8()..]));
        }
    }
    None
}

fn refuses(sentence: &str) -> bool {
    let words = sentence.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’');
    let mut words = words.map(|word| word.to_lowercase().replace('’', "'"));
    words.any(|word| REFUSALS.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_phrases_of_a_description_are_found() {
        for (description, phrases) in [
            (
                r#"Deploys. Use when the user says "deploy the app", 'ship it now,' or “push to production.”"#,
                vec!["deploy the app", "ship it now", "push to production"],
            ),
            (
                "The user's hosts and the team's vaults, in 'two words'",
                vec!["two words"],
            ),
            (
                r#"Says "once more" and "once more" and "word""#,
                vec!["once more"],
            ),
            (
                r#"Use for "open a ticket". Do NOT use for "close a ticket" or "lose a ticket"; use it for "find a ticket"."#,
                vec!["open a ticket", "find a ticket"],
            ),
            (r#"An "unclosed quotation"#, vec![]),
            ("", vec![]),
        ] {
            assert_eq!(trigger_phrases(description), phrases, "{description}");
        }
    }

    #[test]
    fn long_hostile_descriptions_end() {
        for part in [" \"a", "\"a b\" ", "not \"a b\" ", "' \" ‘ “ "] {
            let description = part.repeat((1 << 20) / part.len());
            assert!(trigger_phrases(&description).len() <= MOST, "{part}");
        }
    }

    #[test]
    fn few_phrases_are_taken_of_a_long_list() {
        let many: Vec<String> = (0..40)
            .map(|number| format!("\"ask for {number}\""))
            .collect();
        assert_eq!(trigger_phrases(&many.join(", ")).len(), MOST);
    }
}
