//! Cuts a text into passages with their positions. Must not know sources or vectors.

use std::ops::Range;

use charter_effects::{Extracted, Mark, MarkKind};
use charter_search::{Window, WindowSettings, windows};

use crate::catalogue::lens_index::{PassageMetadata, PassageSection, Position};

/// Maximum headings of a position.
const MAX_HEADINGS: usize = 6;
/// Maximum sections that begin inside one passage; later ones count as part of the last.
const MAX_SECTIONS: usize = 64;

/// A passage before it is embedded.
pub(super) struct CutPassage {
    pub(super) text: String,
    pub(super) place: PassageMetadata,
}

impl CutPassage {
    /// Returns the texts that have a vector each.
    pub(super) fn parts(&self) -> impl Iterator<Item = &str> {
        let parts = self.place.parts.iter();
        parts.filter_map(|(start, end)| self.text.get(*start..*end))
    }
}

/// Cuts a text into passages with their positions.
pub(super) fn cut(
    extracted: &Extracted,
    file: Option<&str>,
    settings: WindowSettings,
    tokens: impl FnOnce(&str) -> Vec<std::ops::Range<usize>>,
) -> Vec<CutPassage> {
    let text = &extracted.text;
    let sections: Vec<usize> = extracted.marks.iter().map(|mark| mark.at).collect();
    let windows = windows(text, &tokens(text), &sections, &settings);
    let mut counted = Counted { bytes: 0, chars: 0 };
    let mut open = OpenSections::default();
    let cuts = windows.into_iter().map(|window| {
        let Window { span, parts } = window;
        let start_char = counted.up_to(text, span.start);
        let content = &text[span.clone()];
        open.advance_to(extracted, span.start);
        CutPassage {
            text: content.to_owned(),
            place: PassageMetadata {
                parts: parts
                    .iter()
                    .map(|part| (part.start - span.start, part.end - span.start))
                    .collect(),
                position: Position {
                    file: file.map(str::to_owned),
                    start_char,
                    end_char: start_char + content.chars().count(),
                    headings: open.titles(),
                    page: open.page,
                    sections: open.clone().inside(extracted, &span),
                    start: span.start,
                    end: span.end,
                },
            },
        }
    });
    cuts.collect()
}

/// Characters counted so far; windows begin in order.
struct Counted {
    bytes: usize,
    chars: usize,
}

impl Counted {
    fn up_to(&mut self, text: &str, at: usize) -> usize {
        self.chars += text
            .get(self.bytes..at)
            .map_or(0, |part| part.chars().count());
        self.bytes = at;
        self.chars
    }
}

/// The headings and the page at a position of the text; windows begin in order.
#[derive(Debug, Clone, Default)]
struct OpenSections<'e> {
    headings: Vec<(u8, &'e str)>,
    page: Option<u32>,
    /// The first mark after the position.
    next: usize,
}

impl<'e> OpenSections<'e> {
    fn advance_to(&mut self, extracted: &'e Extracted, at: usize) {
        while let Some(mark) = extracted.marks.get(self.next).filter(|mark| mark.at <= at) {
            self.pass(mark);
        }
    }

    fn pass(&mut self, mark: &'e Mark) {
        match &mark.kind {
            MarkKind::Heading { level, title } => {
                self.headings.retain(|(above, _)| above < level);
                self.headings.push((*level, title));
            }
            MarkKind::Page(number) => self.page = Some(*number),
        }
        self.next += 1;
    }

    fn titles(&self) -> Vec<String> {
        let titles = self.headings.iter().map(|(_, title)| (*title).to_owned());
        titles.take(MAX_HEADINGS).collect()
    }

    /// Returns the sections that begin inside a window; this state is that of the window's start.
    fn inside(mut self, extracted: &'e Extracted, span: &Range<usize>) -> Vec<PassageSection> {
        let mut found: Vec<PassageSection> = Vec::new();
        while let Some(mark) = extracted
            .marks
            .get(self.next)
            .filter(|mark| mark.at < span.end)
        {
            self.pass(mark);
            let section = PassageSection {
                start: mark.at,
                headings: self.titles(),
                page: self.page,
            };
            // A page that begins with a heading has two marks at one position.
            if found.last().is_some_and(|last| last.start == section.start) {
                found.pop();
            }
            if found.len() == MAX_SECTIONS {
                break;
            }
            found.push(section);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heading(at: usize, level: u8, title: &str) -> Mark {
        let title = title.to_owned();
        Mark {
            at,
            kind: MarkKind::Heading { level, title },
        }
    }

    fn page(at: usize, number: u32) -> Mark {
        Mark {
            at,
            kind: MarkKind::Page(number),
        }
    }

    /// One token for each word.
    fn words(text: &str) -> Vec<Range<usize>> {
        let start = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
        text.split_whitespace()
            .map(|word| start(word)..start(word) + word.len())
            .collect()
    }

    /// Short sections form one passage, with the start, the headings and the page of each of them.
    #[test]
    fn b000_16_a_passage_has_the_place_of_each_of_its_sections() {
        let text = "# Guide\n\n## Nets\n\nShut them.\n\n## Stores\n\nLock them.\n";
        let at = |of: &str| text.find(of).unwrap();
        let extracted = Extracted {
            text: text.to_owned(),
            marks: vec![
                page(0, 1),
                heading(0, 1, "Guide"),
                heading(at("## Nets"), 2, "Nets"),
                page(at("## Stores"), 2),
                heading(at("## Stores"), 2, "Stores"),
            ],
            notices: Vec::new(),
        };
        let cuts = cut(&extracted, None, WindowSettings::default(), words);
        let [passage] = cuts.as_slice() else {
            panic!("{} passages", cuts.len());
        };
        let guide = ["Guide".to_owned()];
        let nets = ["Guide".to_owned(), "Nets".to_owned()];
        let stores = ["Guide".to_owned(), "Stores".to_owned()];
        assert_eq!(
            passage.place.position.sections(),
            [
                (0, &guide[..], Some(1)),
                (at("## Nets"), &nets[..], Some(1)),
                (at("## Stores"), &stores[..], Some(2)),
            ]
        );
    }

    /// A passage that begins in the middle of a section has the section's headings, even if it repeats the end of the
    /// passage before it.
    #[test]
    fn b000_16_a_passage_has_the_headings_that_are_open_where_it_begins() {
        let long = "word ".repeat(30);
        let text = format!("# First\n\n{long}\n\n# Second\n\n{long}");
        let second = text.find("# Second").unwrap();
        let extracted = Extracted {
            marks: vec![heading(0, 1, "First"), heading(second, 1, "Second")],
            text,
            notices: Vec::new(),
        };
        let settings = WindowSettings {
            vector_tokens: 10,
            vectors: 2,
            overlap_tokens: 4,
        };
        for passage in cut(&extracted, None, settings, words) {
            let position = &passage.place.position;
            let expected = if position.start < second {
                "First"
            } else {
                "Second"
            };
            assert_eq!(position.headings, [expected], "{position:?}");
            let inside = position.sections.iter().map(|section| section.start);
            let expected = (position.start < second && second < position.end).then_some(second);
            assert_eq!(inside.collect::<Vec<_>>(), Vec::from_iter(expected));
        }
    }
}
