//! A letter on the page: its text, and the pen's position before and after it.

use std::rc::Rc;

use hayro_font::kurbo::{Affine, Point, Vec2};

use crate::extract::pdf::fonts::WritingMode;

/// The text of a code.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::extract::pdf) enum Spelling {
    /// Letters; mostly one.
    Letters(Rc<str>),
    /// The font has no Unicode value.
    Unknown,
    /// Nothing: the letter before it contains its text.
    Replaced,
}

/// A letter, in the coordinates of the page as it is shown.
#[derive(Debug, Clone)]
pub(in crate::extract::pdf) struct Shown {
    pub(in crate::extract::pdf) spelling: Spelling,
    pub(in crate::extract::pdf) from: Point,
    pub(in crate::extract::pdf) to: Point,
    /// The direction of writing, of length 1.
    pub(in crate::extract::pdf) along: Vec2,
    /// The height of a line of text.
    pub(in crate::extract::pdf) em: f64,
}

impl Shown {
    /// Creates a letter. `from` and `to` map the em square to the page; `None` if the mapping is degenerate.
    pub(super) fn new(
        text: Option<Rc<str>>,
        from: Affine,
        to: Affine,
        ems: f64,
        mode: WritingMode,
    ) -> Option<Self> {
        let [a, b, c, d, x, y] = from.as_coeffs();
        let [.., to_x, to_y] = to.as_coeffs();
        let (across, up) = (Vec2::new(a, b), Vec2::new(c, d));
        let along = match mode {
            WritingMode::Vertical => -up,
            WritingMode::Horizontal => across,
        };
        let em = up.hypot() * ems;
        let length = along.hypot();
        let finite = [x, y, to_x, to_y, em]
            .iter()
            .all(|number| number.is_finite());
        if !finite || em <= 0.0 || length <= 0.0 {
            return None;
        }
        Some(Self {
            spelling: text.map_or(Spelling::Unknown, Spelling::Letters),
            from: Point::new(x, y),
            to: Point::new(to_x, to_y),
            along: along / length,
            em,
        })
    }
}

/// Replaces a marked part of one line by `actual`. A part of several lines keeps its letters, so that each line keeps
/// its own.
pub(super) fn replace(part: &mut [Shown], actual: &str) {
    let [first, rest @ ..] = part else {
        return;
    };
    let off = |shown: &Shown| (shown.from - first.from).cross(first.along).abs() > first.em;
    if rest.iter().any(off) && !actual.is_empty() {
        return;
    }
    first.spelling = Spelling::Letters(Rc::from(actual));
    if let Some(last) = rest.last() {
        first.to = last.to;
    }
    for shown in rest {
        shown.spelling = Spelling::Replaced;
    }
}

/// Decodes a text string: UTF-16 or UTF-8 with its mark, else one byte for each letter.
pub(super) fn decode(text: &[u8]) -> String {
    match text {
        [0xfe, 0xff, rest @ ..] => {
            let units = rest.chunks_exact(2);
            let units: Vec<u16> = units
                .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
                .collect();
            String::from_utf16_lossy(&units)
        }
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        plain => plain.iter().map(|byte| char::from(*byte)).collect(),
    }
}
