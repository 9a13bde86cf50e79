//! Pieces: letters that follow each other on a line without a gap that could be between columns.

use hayro_font::kurbo::{Point, Vec2};

use super::super::content::{Shown, Spelling};
use super::{LINE_SHIFT, OVERLAP, WORD_GAP, accents, direction};

/// The gap, in ems, at which a piece ends.
const PIECE_GAP: f64 = 1.0;
/// The gap, in ems, that is a space in scripts without spaces.
const WIDE_WORD_GAP: f64 = 0.6;
/// The range of gaps, in ems, that count as letter spacing.
const SPACED_FROM: f64 = 0.05;
const SPACED_TO: f64 = 0.4;
/// Least number of gaps within words that indicate letter spacing.
const SPACED_LETTERS: usize = 4;
/// How far back, in ems, the second of an accent and its letter begins at least.
const ACCENT: f64 = 0.1;
/// How far apart, in ems, two prints of the same text make it bold.
const OVERPRINT: f64 = 0.15;
/// How many pieces back the first print of a text may be.
const REPRINT: usize = 8;

/// Letters of one line.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) from: Point,
    pub(super) to: Point,
    pub(super) along: Vec2,
    pub(super) em: f64,
}

/// Returns the pieces in the order of the content.
pub(super) fn cut(shown: &[Shown]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut open: Option<OpenPiece<'_>> = None;
    for letter in shown {
        if letter.spelling == Spelling::Replaced {
            continue;
        }
        if let Some(piece) = &mut open
            && piece.takes(letter)
        {
            continue;
        }
        pieces.extend(open.take().map(OpenPiece::close));
        open = Some(OpenPiece::new(letter));
    }
    pieces.extend(open.map(OpenPiece::close));
    pieces.retain(|piece| !piece.text.trim().is_empty());
    once(pieces)
}

/// An incomplete piece.
struct OpenPiece<'s> {
    text: String,
    /// Gaps with their offset in the text and their width, in ems.
    gaps: Vec<(usize, f64)>,
    first: &'s Shown,
    last: &'s Shown,
    /// The pen's position, spaces included.
    pen: Point,
    em: f64,
    /// Whether letters were written from right to left.
    leftwards: bool,
}

impl<'s> OpenPiece<'s> {
    fn new(letter: &'s Shown) -> Self {
        let mut open = Self {
            text: String::new(),
            gaps: Vec::new(),
            first: letter,
            last: letter,
            pen: letter.to,
            em: letter.em,
            leftwards: false,
        };
        open.spell(letter);
        open
    }

    /// Appends the letter, if it continues this piece.
    fn takes(&mut self, letter: &'s Shown) -> bool {
        let along = self.last.along;
        let em = self.last.em.max(letter.em);
        let apart = letter.from - self.pen;
        let shift = along.cross(letter.from - self.last.from);
        if along.dot(letter.along) < 0.9 || shift.abs() > LINE_SHIFT * em {
            return false;
        }
        let gap = apart.dot(along);
        if self.repeats(letter) || (gap < -ACCENT * em && self.is_accented(letter)) {
            return true;
        }
        let leftwards = direction::is_leftwards(letter) && {
            let back = (letter.to - self.last.from).dot(along);
            back.abs() < OVERLAP * em && gap < -OVERLAP * em
        };
        if leftwards {
            self.leftwards = true;
        } else if !(-OVERLAP * em..=PIECE_GAP * em).contains(&gap) {
            return false;
        } else {
            self.note(letter, gap / em);
        }
        self.spell(letter);
        self.last = letter;
        self.pen = letter.to;
        self.em = self.em.max(letter.em);
        true
    }

    /// Whether the letter repeats the last one, to make it bold.
    fn repeats(&self, letter: &Shown) -> bool {
        let moved = letter.from.distance(self.last.from);
        letter.spelling == self.last.spelling
            && moved < OVERPRINT * letter.em
            && 2.0 * moved < self.last.to.distance(self.last.from)
    }

    /// Whether the letter and the last one, at the same position, are a letter and its accent. If so, they become one.
    fn is_accented(&mut self, letter: &Shown) -> bool {
        let Spelling::Letters(after) = &letter.spelling else {
            return false;
        };
        let (Some(before), Some(after)) = (self.text.chars().next_back(), after.chars().next())
        else {
            return false;
        };
        let joined = accents::compose(before, after).or_else(|| accents::compose(after, before));
        let Some(joined) = joined else {
            return false;
        };
        self.text.pop();
        self.text.push(joined);
        let further = letter.to - self.pen;
        if further.dot(self.last.along) > 0.0 {
            self.pen = letter.to;
        }
        true
    }

    fn spell(&mut self, letter: &Shown) {
        if let Spelling::Letters(text) = &letter.spelling {
            self.text.push_str(text);
        }
    }

    /// Records the gap before a letter, unless there is a space.
    fn note(&mut self, letter: &Shown, gap: f64) {
        let after = match &letter.spelling {
            Spelling::Letters(text) => text.chars().next(),
            Spelling::Unknown | Spelling::Replaced => None,
        };
        let before = self.text.chars().next_back();
        let is = |kind: fn(char) -> bool| before.is_some_and(kind) && after.is_some_and(kind);
        if is(direction::is_without_spaces) && gap < WIDE_WORD_GAP {
            return;
        }
        if !before.is_some_and(char::is_whitespace) && !after.is_some_and(char::is_whitespace) {
            self.gaps.push((self.text.len(), gap));
        }
    }

    /// Returns the text with spaces in its wide gaps. Spaced letters are one word.
    fn spaced(text: &str, gaps: &[(usize, f64)]) -> String {
        let limit = WORD_GAP + usual_gap(text, gaps);
        let mut spaced = String::with_capacity(text.len() + gaps.len());
        let mut done = 0;
        for (at, _) in gaps.iter().filter(|(_, gap)| *gap > limit) {
            spaced.push_str(&text[done..*at]);
            spaced.push(' ');
            done = *at;
        }
        spaced.push_str(&text[done..]);
        spaced
    }

    fn close(self) -> Piece {
        let text = Self::spaced(&self.text, &self.gaps);
        let text = if self.leftwards {
            text
        } else {
            direction::as_read(text)
        };
        Piece {
            text,
            from: self.first.from,
            to: self.pen,
            along: self.first.along,
            em: self.em,
        }
    }
}

/// Returns the gap between the letters of a spaced word.
fn usual_gap(text: &str, gaps: &[(usize, f64)]) -> f64 {
    let in_words = |at: usize| {
        let before = text[..at].chars().next_back();
        let after = text[at..].chars().next();
        before.is_some_and(char::is_alphabetic) && after.is_some_and(char::is_alphabetic)
    };
    let within = gaps.iter().filter(|(at, _)| in_words(*at));
    let mut widths: Vec<f64> = within.map(|(_, gap)| *gap).collect();
    if widths.len() < SPACED_LETTERS {
        return 0.0;
    }
    widths.sort_by(f64::total_cmp);
    let usual = widths.get(widths.len() / 3).copied().unwrap_or(0.0);
    if (SPACED_FROM..SPACED_TO).contains(&usual) {
        usual
    } else {
        0.0
    }
}

/// Removes texts that are printed again soon after in almost the same position, which makes them bold.
fn once(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut kept: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let repeats = |other: &Piece| {
            other.text == piece.text && other.from.distance(piece.from) < OVERPRINT * piece.em
        };
        if !kept.iter().rev().take(REPRINT).any(repeats) {
            kept.push(piece);
        }
    }
    kept
}
