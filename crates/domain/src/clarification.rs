//! Matches an answer to an option of a clarifying question: by number, id, title or words of the title.
//!
//! An answer that matches no option, or more than one, chooses nothing and is a new request.

/// The maximum number of words; a longer answer is a new request.
const MAX_WORDS: usize = 12;

/// Ordinal numbers, starting with the first option.
const ORDINALS: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];
/// Cardinal numbers, in the same order.
const CARDINALS: [&str; 5] = ["one", "two", "three", "four", "five"];

/// Filler words around a number.
const AROUND: [&str; 21] = [
    "the", "option", "number", "no", "nr", "please", "one", "choose", "take", "i", "mean", "want",
    "it", "is", "ok", "yes", "do", "go", "with", "run", "start",
];

/// Negations: an answer that contains one excludes an option.
const NEGATIONS: [&str; 6] = ["not", "don", "dont", "never", "neither", "except"];

/// Filler words between the words of a title.
const ARTICLES: [&str; 4] = ["a", "an", "them", "that"];

/// The texts by which an answer may name an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionNamed<'o> {
    /// The id.
    pub id: &'o str,
    /// The title.
    pub title: &'o str,
}

/// Returns the index of the option that an answer names.
#[must_use]
pub fn chosen(answer: &str, options: &[OptionNamed<'_>]) -> Option<usize> {
    let words = words(answer);
    let is_negated = words.iter().any(|word| NEGATIONS.contains(&word.as_str()));
    if words.is_empty() || words.len() > MAX_WORDS || is_negated {
        return None;
    }
    let by_number = number(&words, options.len());
    by_number
        .or_else(|| {
            let id = |option: &OptionNamed<'_>| {
                answer.to_lowercase().contains(&option.id.to_lowercase())
            };
            only(options, id)
        })
        .or_else(|| {
            let title = |option: &OptionNamed<'_>| {
                let title = self::words(option.title);
                !title.is_empty()
                    && words
                        .windows(title.len())
                        .any(|window| window == title.as_slice())
            };
            only(options, title)
        })
        .or_else(|| by_words(&words, options))
}

/// Like `chosen`, for an answer without other content. Used for options that no question listed: an answer with other
/// content is a new request.
#[must_use]
pub fn chosen_alone(answer: &str, options: &[OptionNamed<'_>]) -> Option<usize> {
    let place = chosen(answer, options)?;
    let option = options.get(place)?;
    let mut own = words(option.title);
    own.extend(words(option.id));
    let is_of_option = |word: &String| {
        let word = word.as_str();
        own.iter().any(|own| own == word)
            || AROUND.contains(&word)
            || ARTICLES.contains(&word)
            || ORDINALS.contains(&word)
            || CARDINALS.contains(&word)
            || word == "last"
            || word.chars().all(|c| c.is_ascii_digit())
    };
    words(answer).iter().all(is_of_option).then_some(place)
}

/// Returns the index of the only option whose title contains every word of an answer: "the restart one".
fn by_words(words: &[String], options: &[OptionNamed<'_>]) -> Option<usize> {
    let is_around = |word: &str| AROUND.contains(&word) || ARTICLES.contains(&word);
    let content: Vec<&String> = words.iter().filter(|word| !is_around(word)).collect();
    if content.is_empty() {
        return None;
    }
    only(options, |option| {
        let title = self::words(option.title);
        content.iter().all(|word| title.contains(word))
    })
}

/// Returns the index of the only option that satisfies a predicate.
fn only(options: &[OptionNamed<'_>], holds: impl Fn(&OptionNamed<'_>) -> bool) -> Option<usize> {
    let mut places = options
        .iter()
        .enumerate()
        .filter(|(_, option)| holds(option));
    let (place, _) = places.next()?;
    places.next().is_none().then_some(place)
}

/// Matches an answer that consists of a number and filler words.
fn number(words: &[String], count: usize) -> Option<usize> {
    let place = |word: &str| {
        let digits = word
            .parse::<usize>()
            .ok()
            .and_then(|number| number.checked_sub(1));
        let ordinal = || ORDINALS.iter().position(|ordinal| *ordinal == word);
        let last = || (word == "last").then(|| count.saturating_sub(1));
        digits.or_else(ordinal).or_else(last)
    };
    let mut named = words.iter().filter_map(|word| place(word));
    let found = named.next();
    let others = words.iter().filter(|word| place(word).is_none());
    let only_around = || others.clone().all(|word| AROUND.contains(&word.as_str()));
    match (found, named.next()) {
        (Some(place), None) if only_around() => (place < count).then_some(place),
        (Some(_), _) => None,
        // "two", "number one": a cardinal counts as a number only if no other content is present.
        (None, _) => {
            let last = words.last()?;
            let place = CARDINALS.iter().position(|cardinal| cardinal == last)?;
            let alone = words[..words.len() - 1]
                .iter()
                .all(|word| AROUND.contains(&word.as_str()));
            (alone && place < count).then_some(place)
        }
    }
}

/// Returns the words of a text in lower case: runs of letters and digits.
pub(crate) fn words(text: &str) -> Vec<String> {
    let words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: [OptionNamed<'_>; 3] = [
        OptionNamed {
            id: "net.list_hosts",
            title: "List hosts",
        },
        OptionNamed {
            id: "net.list_disks",
            title: "List disks",
        },
        OptionNamed {
            id: "cost.rank",
            title: "Rank costs",
        },
    ];

    #[test]
    fn an_answer_names_an_option_by_number_id_or_title() {
        for (answer, place) in [
            ("2", Some(1)),
            ("number 3 please", Some(2)),
            ("the first one", Some(0)),
            ("the last", Some(2)),
            ("two", Some(1)),
            ("option one", Some(0)),
            ("cost.rank", Some(2)),
            ("take net.list_disks", Some(1)),
            ("list hosts please", Some(0)),
            ("Rank costs!", Some(2)),
            ("the disks one", Some(1)),
            ("rank it", Some(2)),
            ("list them", None),
            ("the printers one", None),
            ("4", None),
            ("0", None),
            ("1 or 2", None),
            ("2 disks are broken", None),
            ("list hosts and list disks", None),
            ("do not list hosts", None),
            ("run the second", Some(1)),
            ("which hosts are down", None),
            ("", None),
        ] {
            assert_eq!(chosen(answer, &OPTIONS), place, "{answer}");
        }
    }

    #[test]
    fn an_answer_with_more_to_say_chooses_nothing_by_itself() {
        for (answer, place) in [
            ("the first one", Some(0)),
            ("2", Some(1)),
            ("do the list disks one", Some(1)),
            ("cost.rank please", Some(2)),
            ("list hosts next week", None),
            ("list hosts in eu-west-1", None),
            ("yes", None),
        ] {
            assert_eq!(chosen_alone(answer, &OPTIONS), place, "{answer}");
        }
    }
}
