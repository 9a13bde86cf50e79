//! A file's text with an index of its lines: a package with a thousand problems quotes a thousand lines, and must not
//! scan the file a thousand times.

use std::ops::Deref;
use std::sync::OnceLock;

use charter_contract::lines;

/// Distance between two marks of the index, in lines and in bytes.
const MARKED_LINES: usize = 128;
const MARKED_BYTES: usize = 16 << 10;

/// A text with an index of its lines, which is built on first use.
#[derive(Debug)]
pub struct SourceText {
    text: Box<str>,
    marks: OnceLock<Box<[Mark]>>,
}

/// The start of a line.
#[derive(Debug, Clone, Copy)]
struct Mark {
    /// The line number, from 1.
    line: usize,
    /// The position in bytes.
    at: usize,
}

impl SourceText {
    /// Returns the text from the start of a line, numbered from 1, to the end. Empty if there is no such line.
    #[must_use]
    pub fn from_line(&self, number: usize) -> &str {
        let marks = self.marks.get_or_init(|| marks(&self.text));
        let before = marks.partition_point(|mark| mark.line <= number);
        let Some(mark) = before.checked_sub(1).and_then(|last| marks.get(last)) else {
            return "";
        };
        let mut rest = &self.text[mark.at..];
        for _ in mark.line..number {
            match lines::first(rest) {
                Some((line, behind)) if line != lines::without_end(line) => rest = behind,
                Some(_) | None => return "",
            }
        }
        rest
    }

    /// Returns a line, numbered from 1, without its end.
    #[must_use]
    pub fn line(&self, number: usize) -> &str {
        let line = lines::first(self.from_line(number));
        line.map_or("", |(line, _)| lines::without_end(line))
    }
}

impl From<&str> for SourceText {
    fn from(text: &str) -> Self {
        Self {
            text: text.into(),
            marks: OnceLock::new(),
        }
    }
}

impl Deref for SourceText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

fn marks(text: &str) -> Box<[Mark]> {
    let mut last = Mark { line: 1, at: 0 };
    let mut marks = vec![last];
    let mut at = 0;
    for (whole, line) in lines::with_ends(text).zip(2..) {
        at += whole.len();
        if line - last.line >= MARKED_LINES || at - last.at >= MARKED_BYTES {
            last = Mark { line, at };
            marks.push(last);
        }
    }
    marks.into()
}
