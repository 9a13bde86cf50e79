//! Which option of a question that was asked back an answer names: by its number, its id or its title.
//!
//! An answer that names none, or more than one, chooses nothing: it is a request of its own.

/// An answer of more words is a request of its own.
const MAX_WORDS: usize = 12;

/// Ordinal numbers, from the first option on.
const ORDINALS: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];
/// Cardinal numbers, likewise.
const CARDINALS: [&str; 5] = ["one", "two", "three", "four", "five"];

/// Words around a number.
const AROUND: [&str; 16] = [
    "the", "option", "number", "no", "nr", "please", "one", "choose", "take", "i", "mean", "want",
    "it", "is", "ok", "yes",
];

/// An option as an answer may name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionNamed<'o> {
    /// Its id.
    pub id: &'o str,
    /// Its title.
    pub title: &'o str,
}

/// The place of the option that an answer names.
#[must_use]
pub fn chosen(answer: &str, options: &[OptionNamed<'_>]) -> Option<usize> {
    let words = words(answer);
    if words.is_empty() || words.len() > MAX_WORDS {
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
}

/// The place of the only option of which this holds.
fn only(options: &[OptionNamed<'_>], holds: impl Fn(&OptionNamed<'_>) -> bool) -> Option<usize> {
    let mut places = options
        .iter()
        .enumerate()
        .filter(|(_, option)| holds(option));
    let (place, _) = places.next()?;
    places.next().is_none().then_some(place)
}

/// An answer that is a number and words around it.
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
        // "two", "number one": the word is a number only where nothing else is.
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

/// The words of a text in lower case: runs of letters and digits.
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
            ("4", None),
            ("0", None),
            ("1 or 2", None),
            ("2 disks are broken", None),
            ("list hosts and list disks", None),
            ("which hosts are down", None),
            ("", None),
        ] {
            assert_eq!(chosen(answer, &OPTIONS), place, "{answer}");
        }
    }
}
