//! Cuts a text into passages, and says where each stands. Must not know sources or vectors.

use charter_effects::{Extracted, MarkKind};
use charter_search::{Window, WindowSettings, windows};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most headings of a position.
const MAX_HEADINGS: usize = 6;

/// Where a passage stands in the text that was taken out of the source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PassagePosition")]
pub struct Position {
    /// The file, where the source is a folder of the package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The first byte.
    pub start: usize,
    /// Behind the last byte.
    pub end: usize,
    /// The first character.
    pub start_char: usize,
    /// Behind the last character.
    pub end_char: usize,
    /// The headings that it begins under, the highest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headings: Vec<String>,
    /// The page that it begins on, where the source has pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
}

/// What is stored of a passage beside its text and vectors.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PassageMetadata {
    pub(super) position: Position,
    /// Beginning and end of each part that has a vector, in bytes of the passage.
    pub(super) parts: Vec<(usize, usize)>,
}

/// A passage before it is embedded.
pub(super) struct CutPassage {
    pub(super) text: String,
    pub(super) place: PassageMetadata,
}

impl CutPassage {
    /// The texts that have a vector each.
    pub(super) fn parts(&self) -> impl Iterator<Item = &str> {
        let parts = self.place.parts.iter();
        parts.filter_map(|(start, end)| self.text.get(*start..*end))
    }
}

/// Cuts a text into passages with their places.
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
    let cuts = windows.into_iter().map(|window| {
        let Window { span, parts } = window;
        let start_char = counted.up_to(text, span.start);
        let content = &text[span.clone()];
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
                    headings: headings(extracted, span.start),
                    page: page(extracted, span.start),
                    start: span.start,
                    end: span.end,
                },
            },
        }
    });
    cuts.collect()
}

/// Characters counted so far; windows begin one after the other.
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

fn headings(extracted: &Extracted, at: usize) -> Vec<String> {
    let mut open: Vec<(u8, &str)> = Vec::new();
    for mark in extracted.marks.iter().take_while(|mark| mark.at <= at) {
        if let MarkKind::Heading { level, title } = &mark.kind {
            open.retain(|(above, _)| above < level);
            open.push((*level, title));
        }
    }
    let titles = open.into_iter().map(|(_, title)| title.to_owned());
    titles.take(MAX_HEADINGS).collect()
}

fn page(extracted: &Extracted, at: usize) -> Option<u32> {
    let before = extracted.marks.iter().take_while(|mark| mark.at <= at);
    before
        .filter_map(|mark| match mark.kind {
            MarkKind::Page(number) => Some(number),
            MarkKind::Heading { .. } => None,
        })
        .last()
}
