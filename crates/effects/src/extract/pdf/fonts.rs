//! The fonts of a PDF: converts the bytes of a shown string to letters and the distances that they move the pen.
//!
//! Must not know positions on the page. A font that cannot be read shows its printable ASCII codes.

mod cids;
mod guard;

use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use charter_contract::bounds::PDF_FONTS;
use hayro_font::hayro_cmap::{BfString, load_embedded};
use hayro_font::hayro_syntax::object::{Array, Dict, Name};
use hayro_font::{
    CMapResolverFn, Font, FontCache, FontGlyph, FontQuery, FontResolverFn, GlyphId, UNITS_PER_EM,
};

use super::UnreadReason;
use super::streams::Unpacking;
use cids::CidLetters;

/// Default width of a letter, in ems.
const USUAL_WIDTH: f64 = 0.5;

/// Most letters that one code maps to.
const MOST_SPELLED: usize = 32;

/// The fonts of the text that the document has shown so far.
pub(super) struct Fonts<'a> {
    cache: FontCache<'a>,
    programs: FontResolverFn,
    cmaps: CMapResolverFn,
    /// By the location of the font's dictionary in the file.
    faces: HashMap<(usize, usize), Rc<Face<'a>>>,
}

/// The direction in which text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WritingMode {
    /// Along a line.
    Horizontal,
    /// Downwards.
    Vertical,
}

/// A font, ready to read strings.
pub(super) struct Face<'a> {
    font: Option<Font<'a>>,
    cids: Option<CidLetters>,
    /// The height of a line of text at size 1.
    em: f64,
    writing_mode: WritingMode,
    fault: Option<UnreadReason>,
    letters: RefCell<HashMap<u32, Letter>>,
}

/// The letter that a code of a string shows.
#[derive(Debug, Clone)]
pub(super) struct Letter {
    /// `None` if the font has no Unicode value.
    pub(super) text: Option<Rc<str>>,
    /// Ems that the pen moves right, and up.
    pub(super) advance: (f64, f64),
}

/// A code of a string.
pub(super) struct Code {
    pub(super) letter: Letter,
    /// Whether it is the single byte that word spacing is added to.
    pub(super) is_space: bool,
}

impl Default for Fonts<'_> {
    fn default() -> Self {
        Self {
            cache: FontCache::new(),
            programs: Arc::new(|query| match query {
                FontQuery::Standard(font) => Some(font.get_font_data()),
                FontQuery::Fallback(wanted) => Some(wanted.pick_standard_font().get_font_data()),
            }),
            cmaps: Arc::new(load_embedded),
            faces: HashMap::new(),
        }
    }
}

impl<'a> Fonts<'a> {
    /// Returns the font of a dictionary, which is read once.
    pub(super) fn face(&mut self, dict: &Dict<'a>, unpacking: &mut Unpacking) -> Rc<Face<'a>> {
        let at = (dict.data().as_ptr() as usize, dict.data().len());
        if let Some(face) = self.faces.get(&at) {
            return Rc::clone(face);
        }
        if self.faces.len() >= PDF_FONTS {
            return Rc::new(Face::unreadable(UnreadReason::DocumentTooLarge));
        }
        let face = Rc::new(self.read(dict, unpacking));
        self.faces.insert(at, Rc::clone(&face));
        face
    }

    fn read(&self, dict: &Dict<'a>, unpacking: &mut Unpacking) -> Face<'a> {
        if let Err(reason) = guard::check(dict, unpacking) {
            return Face::unreadable(reason);
        }
        let read = catch_unwind(AssertUnwindSafe(|| {
            let font = self.cache.font(dict, &self.programs, &self.cmaps)?;
            let cids = CidLetters::from_font(dict);
            Some((font, cids))
        }));
        let Ok(Some((font, cids))) = read else {
            return Face::unreadable(UnreadReason::Font);
        };
        Face {
            writing_mode: match font.is_horizontal() {
                true => WritingMode::Horizontal,
                false => WritingMode::Vertical,
            },
            em: em(dict),
            cids,
            font: Some(font),
            fault: None,
            letters: RefCell::default(),
        }
    }
}

/// Returns the line height. Type 3 glyphs have their own units; a letter's width is assumed to be half its height.
fn em(dict: &Dict<'_>) -> f64 {
    if dict
        .get::<Name<'_>>("Subtype")
        .is_none_or(|kind| kind.as_ref() != b"Type3")
    {
        return 1.0;
    }
    let scale = dict
        .get::<[f64; 6]>("FontMatrix")
        .map_or(0.001, |matrix| matrix[0].abs());
    let widths = dict.get::<Array<'_>>("Widths");
    let widths = widths.iter().flat_map(|widths| widths.iter::<f64>());
    let (mut sum, mut count) = (0.0, 0.0);
    for width in widths.map(f64::abs).filter(|width| *width > 0.0).take(256) {
        sum += width;
        count += 1.0;
    }
    let em = sum / count / USUAL_WIDTH * scale;
    if em.is_finite() && em > 0.0 { em } else { 1.0 }
}

impl Face<'_> {
    /// Returns the replacement of a font that cannot be read.
    pub(super) fn unreadable(reason: UnreadReason) -> Self {
        Self {
            font: None,
            cids: None,
            em: 1.0,
            writing_mode: WritingMode::Horizontal,
            fault: Some(reason),
            letters: RefCell::default(),
        }
    }

    /// Returns why its letters are unknown.
    pub(super) fn fault(&self) -> Option<UnreadReason> {
        self.fault
    }

    /// Returns the height of a line of text at size 1.
    pub(super) fn em(&self) -> f64 {
        self.em
    }

    /// The direction in which it is written.
    pub(super) fn writing_mode(&self) -> WritingMode {
        self.writing_mode
    }

    /// Returns the next code of `string`, and its length in bytes; at least one.
    pub(super) fn next(&self, string: &[u8]) -> Option<(Code, usize)> {
        let first = *string.first()?;
        let (code, length) = match &self.font {
            Some(font) => font.read_code(string, 0),
            None => (u32::from(first), 1),
        };
        let length = length.clamp(1, string.len());
        let known = self.letters.borrow().get(&code).cloned();
        let letter = known.unwrap_or_else(|| {
            let letter = self.letter(code);
            self.letters.borrow_mut().insert(code, letter.clone());
            letter
        });
        let is_space = length == 1 && first == b' ';
        Some((Code { letter, is_space }, length))
    }

    fn letter(&self, code: u32) -> Letter {
        let Some(font) = &self.font else {
            let text = printable(code).map(|letter| Rc::from(letter.to_string()));
            let advance = (USUAL_WIDTH, 0.0);
            return Letter { text, advance };
        };
        let moved = font.code_advance(code) / f64::from(UNITS_PER_EM);
        let (unicode, has_width) = match font.glyph(GlyphId::NOTDEF, code) {
            FontGlyph::Outline(glyph) => (glyph.as_unicode(), glyph.advance_width().is_some()),
            FontGlyph::Type3(glyph) => (glyph.as_unicode(), true),
        };
        let advance = if has_width {
            (moved.x, moved.y)
        } else {
            (USUAL_WIDTH, 0.0)
        };
        let text = unicode
            .map(|unicode| match unicode {
                BfString::Char(letter) => spelled(letter.encode_utf8(&mut [0; 4])),
                BfString::String(letters) => spelled(&letters),
            })
            .or_else(|| self.cids.as_ref()?.letter(code).map(|text| spelled(&text)))
            .or_else(|| self.ascii(code));
        Letter { text, advance }
    }

    /// Maps a simple code without a name to ASCII, as most such fonts do.
    fn ascii(&self, code: u32) -> Option<Rc<str>> {
        if self.cids.is_some() {
            return None;
        }
        printable(code).map(|letter| Rc::from(letter.to_string()))
    }
}

fn printable(code: u32) -> Option<char> {
    char::from_u32(code).filter(|letter| *letter == ' ' || letter.is_ascii_graphic())
}

/// Normalises letters: ligatures are split, control characters become spaces.
fn spelled(text: &str) -> Rc<str> {
    let mut spelled = String::new();
    for letter in text.chars().take(MOST_SPELLED) {
        match letter {
            '\u{fb00}' => spelled.push_str("ff"),
            '\u{fb01}' => spelled.push_str("fi"),
            '\u{fb02}' => spelled.push_str("fl"),
            '\u{fb03}' => spelled.push_str("ffi"),
            '\u{fb04}' => spelled.push_str("ffl"),
            '\u{fb05}' | '\u{fb06}' => spelled.push_str("st"),
            '\0' | '\u{fffe}' | '\u{ffff}' => {}
            letter if letter.is_control() => spelled.push(' '),
            letter => spelled.push(letter),
        }
    }
    Rc::from(spelled)
}
