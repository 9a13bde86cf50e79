//! The sentences of a passage, each with its heading. A question is compared with them if a whole passage is too
//! coarse.
//!
//! Lines of one paragraph are joined; list items are separate. Must not know the source of a passage.

/// The maximum length of a sentence, in characters; a longer one is split.
const MAX_SENTENCE: usize = 400;
/// The minimum number of letters; a shorter sentence carries no information.
const MIN_LETTERS: usize = 8;
/// A heading of at least this many bytes may be the beginning of a longer line.
const CUT_HEADING: usize = 100;

/// A section of a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionStart<'a> {
    /// The index of its first byte in the passage.
    pub at: usize,
    /// The heading; empty if there is none.
    pub heading: &'a str,
}

/// A sentence of a passage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// The heading above it; empty if there is none.
    pub heading: String,
    /// The sentence, on one line.
    pub text: String,
    /// The index of the section in which it begins.
    pub section: usize,
    /// Whether it is the heading itself.
    pub is_heading: bool,
}

impl Sentence {
    /// Returns the text to compare: the sentence with its heading.
    #[must_use]
    pub fn compared(&self) -> String {
        match self.heading.is_empty() || self.heading == self.text {
            true => self.text.clone(),
            false => format!("{}: {}", self.heading, self.text),
        }
    }
}

/// Returns the sentences of a passage, at most `most`. Headings are sentences too. `sections` are those of the passage,
/// in order; a line that begins with `#` is a heading even if no section begins there.
#[must_use]
pub fn sentences(passage: &str, sections: &[SectionStart<'_>], most: usize) -> Vec<Sentence> {
    let mut reader = SentenceReader::new(sections);
    let mut at = 0;
    for line in passage.split_inclusive('\n') {
        reader.line(at, line);
        at += line.len();
    }
    reader.close();
    let mut found = reader.found;
    found.retain(|sentence| {
        sentence.text.chars().filter(|c| c.is_alphabetic()).count() >= MIN_LETTERS
    });
    found.truncate(most);
    found
}

/// The state of reading a passage.
struct SentenceReader<'a> {
    sections: &'a [SectionStart<'a>],
    /// The number of sections that have begun.
    begun: usize,
    heading: String,
    /// The joined lines of the current paragraph.
    block: String,
    /// For each line of the block, its start in the block and its section.
    lines: Vec<(usize, usize)>,
    found: Vec<Sentence>,
}

impl<'a> SentenceReader<'a> {
    fn new(sections: &'a [SectionStart<'a>]) -> Self {
        Self {
            sections,
            begun: 0,
            heading: String::new(),
            block: String::new(),
            lines: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Adds the line that begins at a byte of the passage.
    fn line(&mut self, at: usize, line: &str) {
        let heading = self.enter_sections(at + line.len());
        let line = line.trim();
        let heading = heading.filter(|heading| is_line_of(line, heading));
        if let Some(title) = heading.or_else(|| title(line)) {
            self.close();
            let words: Vec<&str> = title.split_whitespace().collect();
            self.heading = words.join(" ");
            self.found.push(Sentence {
                heading: self.heading.clone(),
                text: self.heading.clone(),
                section: self.section(),
                is_heading: true,
            });
            return;
        }
        let item = item(line);
        if line.is_empty() || is_rule(line) || item.is_some() {
            self.close();
        }
        let text = match is_rule(line) {
            true => "",
            false => item.unwrap_or(line),
        };
        if text.is_empty() {
            return;
        }
        if !self.block.is_empty() {
            self.block.push(' ');
        }
        self.lines.push((self.block.len(), self.section()));
        self.block.push_str(text);
    }

    /// Enters the sections that begin before a byte, and returns the heading of the last one.
    fn enter_sections(&mut self, end: usize) -> Option<&'a str> {
        let before = self.begun;
        while let Some(section) = self.sections.get(self.begun).filter(|next| next.at < end) {
            if section.heading != self.heading {
                self.close();
                section.heading.clone_into(&mut self.heading);
            }
            self.begun += 1;
        }
        let entered = self.sections.get(before..self.begun)?;
        entered.last().map(|section| section.heading)
    }

    fn section(&self) -> usize {
        self.begun.saturating_sub(1)
    }

    /// Splits the block into sentences.
    fn close(&mut self) {
        let block = std::mem::take(&mut self.block);
        let lines = std::mem::take(&mut self.lines);
        for (at, text) in cut(&block) {
            let line = lines.iter().rev().find(|(from, _)| *from <= at);
            self.found.push(Sentence {
                heading: self.heading.clone(),
                text,
                section: line.map_or(0, |(_, section)| *section),
                is_heading: false,
            });
        }
    }
}

/// Returns whether a line belongs to a heading. Headings of pages may have several lines, and long ones are truncated.
fn is_line_of(line: &str, heading: &str) -> bool {
    let bare = line.trim_start_matches('#').trim();
    let bare = bare.trim_end_matches('#').trim_end();
    let is_first = heading.contains('\n') && heading.starts_with(bare);
    let is_cut = heading.len() >= CUT_HEADING && bare.starts_with(heading);
    !bare.is_empty() && (bare == heading || is_first || is_cut)
}

/// Returns whether a line underlines a heading or separates two paragraphs.
fn is_rule(line: &str) -> bool {
    line.len() >= 2
        && ['=', '-']
            .iter()
            .any(|mark| line.chars().all(|c| c == *mark))
}

/// Returns the title in a heading's line.
fn title(line: &str) -> Option<&str> {
    let title = line.trim_start_matches('#');
    (title.len() < line.len() && title.starts_with(' ')).then(|| title.trim())
}

/// Returns a list item without its mark.
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

/// Splits a block into sentences, each with its start. A sentence ends at a mark before white space and a capital, a
/// digit or a quotation mark.
fn cut(block: &str) -> Vec<(usize, String)> {
    let characters: Vec<(usize, char)> = block.char_indices().collect();
    let mut pieces: Vec<(usize, String)> = Vec::new();
    let (mut from, mut count) = (0, 0);
    for (at, (offset, c)) in characters.iter().enumerate() {
        count += 1;
        let next = characters.get(at + 1).map(|(_, c)| *c);
        let after = characters.get(at + 2).map(|(_, c)| *c);
        let begins = after.is_some_and(|c| {
            c.is_uppercase() || c.is_ascii_digit() || matches!(c, '`' | '"' | '“')
        });
        let ends = matches!(c, '.' | '!' | '?' | ';' | ':')
            && next.is_some_and(char::is_whitespace)
            && begins;
        if ends || count >= MAX_SENTENCE {
            let end = offset + c.len_utf8();
            pieces.push((from, block[from..end].to_owned()));
            (from, count) = (end, 0);
        }
    }
    pieces.push((from, block[from..].to_owned()));
    let trimmed = pieces.into_iter().map(|(from, piece)| {
        let before = piece.len() - piece.trim_start().len();
        (from + before, piece.trim().to_owned())
    });
    trimmed.filter(|(_, piece)| !piece.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: [SectionStart<'static>; 1] = [SectionStart {
        at: 0,
        heading: "Top",
    }];

    fn compared(passage: &str) -> Vec<String> {
        sentences(passage, &TOP, 100)
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
        let found = sentences(&long, &[], 3);
        assert_eq!(found.len(), 3);
        assert!(
            found
                .iter()
                .all(|sentence| sentence.text.chars().count() <= MAX_SENTENCE)
        );
    }

    /// If a text has no `#`, as for HTML pages, headings are recognised by the sections.
    #[test]
    fn a_sentence_is_of_the_section_that_it_begins_in() {
        let passage = "Networks of the yard\nEvery port is shut. It is opened by\n\nStores of the yard\nEvery store \
                       is locked.\n\nUnderlined words\n----------------\nThey have a sentence too.\n";
        let at = |of: &str| passage.find(of).unwrap();
        let sections = [
            SectionStart {
                at: 0,
                heading: "Networks of the yard",
            },
            SectionStart {
                at: at("Stores"),
                heading: "Stores of the yard",
            },
            // A page that begins within a section.
            SectionStart {
                at: at("Every store"),
                heading: "Stores of the yard",
            },
            SectionStart {
                at: at("Underlined"),
                heading: "Underlined words",
            },
        ];
        let found = sentences(passage, &sections, 100);
        let found: Vec<(&str, usize, bool)> = found
            .iter()
            .map(|one| (one.text.as_str(), one.section, one.is_heading))
            .collect();
        assert_eq!(
            found,
            [
                ("Networks of the yard", 0, true),
                ("Every port is shut.", 0, false),
                ("It is opened by", 0, false),
                ("Stores of the yard", 1, true),
                ("Every store is locked.", 2, false),
                ("Underlined words", 3, true),
                ("They have a sentence too.", 3, false),
            ]
        );
    }
}
