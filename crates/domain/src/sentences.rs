//! The sentences of a passage, each with the heading that it stands under: what a question is compared with where a
//! whole passage is too coarse.
//!
//! Lines that belong together are joined; items of lists stand alone. Must not know where a passage is from.

/// Longest sentence, in characters; the rest of a longer one is another.
const MAX_SENTENCE: usize = 400;
/// Fewer letters than this say nothing.
const MIN_LETTERS: usize = 8;

/// A sentence of a passage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// The heading above it; empty where there is none.
    pub heading: String,
    /// The sentence, on one line.
    pub text: String,
}

impl Sentence {
    /// What is compared: the sentence under its heading.
    #[must_use]
    pub fn compared(&self) -> String {
        match self.heading.is_empty() || self.heading == self.text {
            true => self.text.clone(),
            false => format!("{}: {}", self.heading, self.text),
        }
    }
}

/// The sentences of a passage that begins under `heading`, at most `most`. Headings are sentences too.
#[must_use]
pub fn sentences(passage: &str, heading: &str, most: usize) -> Vec<Sentence> {
    let mut found = Vec::new();
    let mut heading = heading.to_owned();
    let mut block = String::new();
    let mut close = |block: &mut String, heading: &str| {
        found.extend(cut(block).map(|text| Sentence {
            heading: heading.to_owned(),
            text,
        }));
        block.clear();
    };
    for line in passage.lines() {
        let line = line.trim();
        if let Some(title) = title(line) {
            close(&mut block, &heading);
            heading = title.to_owned();
            block.push_str(title);
            close(&mut block, &heading);
            continue;
        }
        let item = item(line);
        if line.is_empty() || item.is_some() {
            close(&mut block, &heading);
        }
        let text = item.unwrap_or(line);
        if !block.is_empty() && !text.is_empty() {
            block.push(' ');
        }
        block.push_str(text);
    }
    close(&mut block, &heading);
    found.retain(|sentence| {
        sentence.text.chars().filter(|c| c.is_alphabetic()).count() >= MIN_LETTERS
    });
    found.truncate(most);
    found
}

/// The title of a heading's line.
fn title(line: &str) -> Option<&str> {
    let title = line.trim_start_matches('#');
    (title.len() < line.len() && title.starts_with(' ')).then(|| title.trim())
}

/// An item of a list, without its mark.
fn item(line: &str) -> Option<&str> {
    let bullet = ["- ", "* ", "+ ", "• "]
        .iter()
        .find_map(|mark| line.strip_prefix(mark));
    bullet.or_else(|| {
        let digits = line.chars().take_while(char::is_ascii_digit).count();
        let rest = line.get(digits..).filter(|_| (1..=3).contains(&digits))?;
        rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))
    })
}

/// The sentences of a block: they end at a mark before a white space and a capital, a digit or a quotation mark.
fn cut(block: &str) -> impl Iterator<Item = String> + use<> {
    let characters: Vec<char> = block.chars().collect();
    let mut pieces = Vec::new();
    let mut piece = String::new();
    for (at, c) in characters.iter().enumerate() {
        piece.push(*c);
        let next = characters.get(at + 1);
        let after = characters.get(at + 2);
        let begins = after.is_some_and(|c| {
            c.is_uppercase() || c.is_ascii_digit() || matches!(c, '`' | '"' | '“')
        });
        let ends = matches!(c, '.' | '!' | '?' | ';' | ':')
            && next.is_some_and(|c| c.is_whitespace())
            && begins;
        if ends || piece.chars().count() >= MAX_SENTENCE {
            pieces.push(std::mem::take(&mut piece));
        }
    }
    pieces.push(piece);
    pieces
        .into_iter()
        .map(|piece| piece.trim().to_owned())
        .filter(|piece| !piece.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(passage: &str) -> Vec<String> {
        sentences(passage, "Top", 100)
            .iter()
            .map(Sentence::compared)
            .collect()
    }

    #[test]
    fn sentences_stand_under_their_headings_and_items_stand_alone() {
        let passage = "The first rule holds. It holds for\nall hosts, e.g. web hosts.\n\n## Exceptions\n\n\
                       There are two:\n\n- hosts that are tested\n  by their owner\n- `db-7` alone\n3. and a third one here\n";
        assert_eq!(
            compared(passage),
            [
                "Top: The first rule holds.",
                "Top: It holds for all hosts, e.g. web hosts.",
                "Exceptions",
                "Exceptions: There are two:",
                "Exceptions: hosts that are tested by their owner",
                "Exceptions: and a third one here",
            ]
        );
    }

    #[test]
    fn what_is_long_is_cut_and_their_number_is_bounded() {
        let long = "word ".repeat(1_000);
        let found = sentences(&long, "", 3);
        assert_eq!(found.len(), 3);
        assert!(
            found
                .iter()
                .all(|sentence| sentence.text.chars().count() <= MAX_SENTENCE)
        );
    }
}
