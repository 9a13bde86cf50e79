//! Redaction of a confirmed sentence: secrets, identifiers, numbers, addresses and names are removed.
//!
//! A value of a known parameter is replaced by the parameter's noun, as in routing. Every other value is removed together
//! with its preposition. A lower-case name cannot be recognised; an owner reads each sentence before it takes effect.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use charter_contract::parameter::Parameter;
use charter_contract::route_example::NotSuggested;
use charter_contract::time::Timestamp;
use serde_json::{Map, Value};

use crate::candidate::{MAX_WORDS, Words};
use crate::clarification;
use crate::identifiers::{Identifiers, drop_preposition, thing};
use crate::{intent, parameters};

/// Content words that an example needs at least.
const FEWEST_WORDS: usize = 2;
/// Longer words are keys or digests.
const LONGEST_WORD: usize = 30;
/// Words that may precede a secret: "the password is …".
const SECRETS: [&str; 10] = [
    "password",
    "passphrase",
    "passcode",
    "pin",
    "token",
    "key",
    "secret",
    "credential",
    "credentials",
    "login",
];
/// Articles that are removed together with the value after them.
const ARTICLES: [&str; 3] = ["the", "a", "an"];

/// A confirmed sentence with the context that its redaction needs.
#[derive(Debug)]
pub struct SentenceRedaction<'c> {
    /// The sentence.
    pub text: &'c str,
    /// Parameter values that the caller sent with the sentence.
    pub given: &'c Map<String, Value>,
    /// The document's parameters.
    pub parameters: &'c [Parameter],
    /// The document's routing texts. Their words are kept, also in capitals and with digits.
    pub vocabulary: &'c str,
    /// Identifier patterns of the tenant's documents.
    pub identifiers: &'c Identifiers,
    /// The time of the request.
    pub now: Timestamp,
}

impl SentenceRedaction<'_> {
    /// Redacts the sentence.
    ///
    /// # Errors
    /// The reason why the sentence is no example: it asks for several things, is too long, or has too few words left.
    pub fn redact(&self) -> Result<String, NotSuggested> {
        // The subject of a sentence takes a path apart.
        let text = self.text.split_whitespace().filter(|word| !is_path(word));
        let text = text.collect::<Vec<_>>().join(" ");
        let reading = intent::read(&text);
        if reading.parts > 1 {
            return Err(NotSuggested::SeveralThings);
        }
        within_length(&reading.subject)?;
        let named = self.with_things(&reading.subject);
        let named = self.identifiers.replaced(&named);
        let kept = self.without_values(&named).join(" ");
        let kept = kept.trim_start_matches(|c: char| !c.is_alphanumeric());
        within_length(kept)?;
        let words = Words::from_text(kept).ok_or(NotSuggested::TooFewWords)?;
        let text = words.shown();
        let carries_subject = |word: &String| word.len() > 1 && intent::carries_subject(word);
        let meaningful = clarification::words(&text).into_iter();
        let meaningful: BTreeSet<String> = meaningful.filter(carries_subject).collect();
        if meaningful.len() < FEWEST_WORDS {
            return Err(NotSuggested::TooFewWords);
        }
        Ok(text)
    }

    /// Replaces parameter values by their nouns: "restart checkout" becomes "restart service".
    fn with_things(&self, text: &str) -> String {
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        for (value, thing) in self.values(text) {
            words = replaced(words, &value, &thing);
        }
        words.join(" ")
    }

    /// The words of each stated or given parameter value with the parameter's noun, longest first. Values of an enum are
    /// kept: they are the document's own words.
    fn values(&self, text: &str) -> Vec<(Vec<String>, String)> {
        let stated = parameters::read(self.parameters, text, self.now).stated;
        let mut values = Vec::new();
        let free = self.parameters.iter();
        for parameter in free.filter(|parameter| parameter.allowed.is_none()) {
            let stated = stated.get(&parameter.name).map(|stated| &stated.value);
            let given = parameter.given_in(self.given);
            for text in stated.into_iter().chain(given).flat_map(texts) {
                let words = clarification::words(text);
                if words.iter().any(|word| intent::carries_subject(word)) {
                    values.push((words, thing(parameter.name.as_str())));
                }
            }
        }
        values.sort_by_key(|(words, _)| Reverse(words.len()));
        values
    }

    /// Removes secrets, values and names.
    fn without_values(&self, text: &str) -> Vec<String> {
        let known: BTreeSet<String> = clarification::words(self.vocabulary).into_iter().collect();
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut kept: Vec<String> = Vec::with_capacity(words.len());
        for (at, word) in words.iter().enumerate() {
            let (before, after) = (&words[..at], words.get(at + 1).copied());
            let is_left_out = follows_secret(before)
                || !is_known(&known, word)
                    && (before.last().is_some_and(|last| names_secret(last))
                        || is_value(word)
                        || is_name(&known, before, word, after));
            if is_left_out {
                drop_lead(&mut kept);
                continue;
            }
            let repeats = kept
                .last()
                .is_some_and(|last| lower(last) == lower(word) && !lower(word).is_empty());
            if !repeats {
                kept.push((*word).to_owned());
            }
        }
        kept
    }
}

fn is_path(word: &str) -> bool {
    word.starts_with(['/', '~']) || word.contains('\\') || word.matches('/').count() > 1
}

fn within_length(text: &str) -> Result<(), NotSuggested> {
    match text.chars().count() > MAX_WORDS {
        true => Err(NotSuggested::TooLong),
        false => Ok(()),
    }
}

/// The strings in a value.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let values = match value {
        Value::Array(items) => items.as_slice(),
        other => std::slice::from_ref(other),
    };
    values.iter().filter_map(Value::as_str)
}

/// Replaces each occurrence of a value by a noun. The value must have at least one word.
fn replaced(words: Vec<String>, value: &[String], name: &str) -> Vec<String> {
    let parts: Vec<(usize, String)> = words
        .iter()
        .enumerate()
        .flat_map(|(at, word)| {
            let parts = clarification::words(word).into_iter();
            parts.map(move |part| (at, part))
        })
        .collect();
    let states = |window: &&[(usize, String)]| window.iter().map(|(_, part)| part).eq(value);
    let stating = parts.windows(value.len()).filter(states);
    let covered: BTreeSet<usize> = stating.flatten().map(|(at, _)| *at).collect();
    let mut kept: Vec<String> = Vec::with_capacity(words.len());
    for (at, word) in words.into_iter().enumerate() {
        if !covered.contains(&at) {
            kept.push(word);
        } else if kept.last().map(String::as_str) != Some(name) {
            kept.push(name.to_owned());
        }
    }
    kept
}

/// A word without the punctuation around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

/// The bare word in lower case, without a possessive ending.
fn lower(word: &str) -> String {
    let bare = bare(word);
    let owner = bare.strip_suffix("'s").or(bare.strip_suffix("’s"));
    owner.unwrap_or(bare).to_lowercase()
}

/// Whether the document's texts have the word, in singular or plural.
fn is_known(known: &BTreeSet<String>, word: &str) -> bool {
    let word = lower(word);
    known.contains(&word)
        || known.contains(&format!("{word}s"))
        || word
            .strip_suffix('s')
            .is_some_and(|one| known.contains(one))
}

/// Whether a word is a number, an address, a path, a key or a code.
fn is_value(word: &str) -> bool {
    let bare = bare(word);
    let is_spelled = |c: char| c.is_alphabetic() || matches!(c, '\'' | '’' | '-');
    bare.chars().count() > LONGEST_WORD || !bare.chars().all(is_spelled)
}

/// Whether a capitalised word is a name: it is not the first word of a sentence, is a possessive, or precedes another
/// name.
fn is_name(known: &BTreeSet<String>, before: &[&str], word: &str, after: Option<&str>) -> bool {
    if !has_capital(word) || !intent::carries_subject(&lower(word)) {
        return false;
    }
    let begins = before
        .last()
        .is_none_or(|last| last.ends_with(['.', '?', '!', ':']));
    let owns = bare(word).ends_with("'s") || bare(word).ends_with("’s");
    let is_followed = after.is_some_and(|after| has_capital(after) && !is_known(known, after));
    !begins || owns || is_followed || inner_capital(word)
}

fn has_capital(word: &str) -> bool {
    bare(word).chars().any(char::is_uppercase)
}

/// Whether a word has an inner capital and lower-case letters: `myHost`.
fn inner_capital(word: &str) -> bool {
    let mut letters = bare(word).chars();
    letters.next();
    let rest = letters.as_str();
    rest.chars().any(char::is_uppercase) && bare(word).chars().any(char::is_lowercase)
}

/// Whether the preceding words announce a secret: "password: …", "the token is …".
fn follows_secret(before: &[&str]) -> bool {
    match before {
        [.., secret, "is" | "was" | "=" | ":"] if names_secret(secret) => true,
        [.., secret] => secret.ends_with([':', '=']) && names_secret(secret),
        [] => false,
    }
}

fn names_secret(word: &str) -> bool {
    SECRETS.contains(&lower(word).as_str())
}

/// Removes the article and preposition before a removed value.
fn drop_lead(kept: &mut Vec<String>) {
    let is_article = |last: &String| ARTICLES.contains(&lower(last).as_str());
    if kept.last().is_some_and(is_article) {
        kept.pop();
    }
    drop_preposition(kept);
}

#[cfg(test)]
mod tests {
    use charter_contract::ids::DomainId;
    use serde_json::json;

    use super::*;

    /// Routing texts of a tool for a shop's orders.
    const VOCABULARY: &str = "Orders in the S3 archive by customer and state";

    fn parameters() -> Vec<Parameter> {
        serde_json::from_value(json!([
            {"name": "order_id", "type": "string", "pattern": "^[A-Z]-[0-9]+$", "example": "A-1002"},
            {"name": "customer", "type": "string"},
            {"name": "state", "type": "string", "enum": ["open", "paid"]},
        ]))
        .unwrap()
    }

    fn example_with(given: &Value, text: &str) -> Result<String, NotSuggested> {
        let parameters = parameters();
        let domain = DomainId::parse("shop").unwrap();
        let identifiers =
            Identifiers::from_parameters([(&domain, parameters.as_slice())].into_iter());
        let confirmed = SentenceRedaction {
            text,
            given: given.as_object().unwrap(),
            parameters: &parameters,
            vocabulary: VOCABULARY,
            identifiers: &identifiers,
            now: Timestamp::parse("2026-07-01T08:00:00Z").unwrap(),
        };
        confirmed.redact()
    }

    fn example(text: &str) -> Result<String, NotSuggested> {
        example_with(&json!({}), text)
    }

    #[test]
    fn an_ordinary_sentence_stays_without_its_greeting() {
        let kept = example("Hi, which parcels have not left yet?").unwrap();
        assert_eq!(
            kept.trim_end_matches('?'),
            "which parcels have not left yet"
        );
    }

    #[test]
    fn no_value_of_one_case_stays_in_an_example() {
        for (text, gone) in [
            ("has the parcel of order A-1002 left the house", "1002"),
            ("list overdue invoices above 5000 euro", "5000"),
            (
                "list overdue invoices of anna@shop.example",
                "anna@shop.example",
            ),
            ("list overdue invoices of Anna Schmidt", "Schmidt"),
            ("list overdue invoices of Anna Schmidt", "Anna"),
            ("Anna's overdue invoices of this month", "Anna"),
            ("Schmidt Haulage and its overdue invoices", "Schmidt"),
            (
                "list overdue invoices, the password is swordfish",
                "swordfish",
            ),
            ("list overdue invoices, token: abcdefgh", "abcdefgh"),
            (
                "list overdue invoices from https://shop.example/all",
                "shop.example",
            ),
            ("list overdue invoices below /srv/archive/anna", "srv"),
        ] {
            let kept = example(text).unwrap();
            assert!(!kept.contains(gone), "{text}: {kept}");
            assert!(
                kept.contains("invoices") || kept.contains("parcel"),
                "{text}: {kept}"
            );
        }
    }

    #[test]
    fn a_given_value_becomes_what_it_names_and_an_allowed_one_stays() {
        let given = json!({"customer": "northwind traders", "state": "open"});
        let kept = example_with(&given, "show the open invoices of northwind traders").unwrap();
        assert!(!kept.contains("northwind"), "{kept}");
        assert!(kept.contains("customer"), "{kept}");
        assert!(kept.contains("open invoices"), "{kept}");
    }

    #[test]
    fn words_of_the_document_stay_in_capitals_and_with_digits() {
        let kept = example("which invoices went into the S3 archive").unwrap();
        assert!(kept.contains("S3"), "{kept}");
    }

    #[test]
    fn a_sentence_of_which_too_little_is_left_is_no_example() {
        for text in ["A-1002", "what about this", "show me Schmidt", "and 5000?"] {
            assert_eq!(example(text), Err(NotSuggested::TooFewWords), "{text}");
        }
    }

    #[test]
    fn a_long_sentence_and_one_that_asks_for_several_things_are_no_examples() {
        let long = format!("list {}invoices", "overdue ".repeat(40));
        assert_eq!(example(&long), Err(NotSuggested::TooLong));
        assert_eq!(
            example("Which parcels have left? Which invoices are overdue?"),
            Err(NotSuggested::SeveralThings)
        );
    }
}
