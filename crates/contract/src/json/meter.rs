//! Measures a text byte by byte, in one pass, without recursion and in constant memory.

use memchr::memchr2;

use super::weight::{TEXT, of_fields, of_items};
use super::{Extent, JsonLimitExceeded, Profile};
use crate::bounds;

/// Number of digits up to which every integer fits 64 bits.
const PLAIN_DIGITS: u32 = 18;

/// Measures one text that arrives in pieces.
#[derive(Debug)]
pub struct Meter {
    profile: Profile,
    bytes: usize,
    extent: Extent,
    place: LexerState,
    depth: usize,
    /// Number of digits of the current number before its fraction, so far.
    digits: u32,
    part: NumberPart,
    long_numbers: bool,
    /// The open lists and objects, outermost first.
    open: [Container; bounds::STORED_LEVELS_READ],
}

/// State of the lexer before the next byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LexerState {
    /// Between tokens, or within a number or a word.
    Outside,
    /// After a `[`: the first item or the closing bracket follows.
    Opened,
    /// Within a string.
    Text,
    /// After a backslash within a string.
    Escape,
}

/// The part of a number that the next byte may continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberPart {
    /// The digits before the fraction; also between numbers.
    Integer,
    /// A fraction, or a part that cannot make the number larger than its digits before the fraction do.
    Fraction,
    /// After an `e`: without a minus sign, the exponent may make the number larger.
    Exponent,
}

/// A list or an object, with the number of its items or fields so far.
#[derive(Debug, Clone, Copy)]
enum Container {
    List(usize),
    Object(usize),
}

impl Meter {
    /// Creates a meter before the first byte.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        Self {
            profile,
            bytes: 0,
            extent: Extent::PLAIN,
            place: LexerState::Outside,
            depth: 0,
            digits: 0,
            part: NumberPart::Integer,
            long_numbers: false,
            open: [Container::List(0); bounds::STORED_LEVELS_READ],
        }
    }

    /// Measures the next piece.
    ///
    /// # Errors
    /// [`JsonLimitExceeded`] once all pieces together exceed the profile.
    pub fn feed(&mut self, piece: &[u8]) -> Result<(), JsonLimitExceeded> {
        self.bytes = self.bytes.saturating_add(piece.len());
        if self.bytes > self.profile.bytes {
            return Err(JsonLimitExceeded::Bytes {
                bytes: self.bytes,
                limit: self.profile.bytes,
            });
        }
        let mut rest = piece;
        while let Some((first, behind)) = rest.split_first() {
            rest = match self.place {
                LexerState::Text => self.text(rest),
                LexerState::Escape => {
                    self.extent.memory += 1;
                    self.place = LexerState::Text;
                    behind
                }
                LexerState::Outside | LexerState::Opened => {
                    self.token(*first)?;
                    match self.place {
                        LexerState::Outside => self.rest_of_number(behind),
                        LexerState::Opened | LexerState::Text | LexerState::Escape => behind,
                    }
                }
            };
        }
        self.extent.check_memory(self.profile)
    }

    /// Returns the extent of all pieces so far.
    #[must_use]
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// Skips to the end of a string or to an escape, and returns the rest.
    fn text<'p>(&mut self, rest: &'p [u8]) -> &'p [u8] {
        let found = memchr2(b'"', b'\\', rest);
        let (inside, behind) = rest.split_at(found.unwrap_or(rest.len()));
        self.extent.memory += inside.len();
        match behind.split_first() {
            None => behind,
            Some((b'"', behind)) => {
                self.place = LexerState::Outside;
                behind
            }
            Some((_, behind)) => {
                self.place = LexerState::Escape;
                behind
            }
        }
    }

    /// Whether a number has a long integer part or an exponent that makes it larger, so that its range must be checked.
    /// A fraction or a negative exponent rounds, and is within the range of a double.
    pub(super) fn may_hold_long_numbers(&self) -> bool {
        self.long_numbers
    }

    /// Measures one byte outside strings.
    fn token(&mut self, byte: u8) -> Result<(), JsonLimitExceeded> {
        self.number(byte);
        if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            return Ok(());
        }
        if self.place == LexerState::Opened {
            self.place = LexerState::Outside;
            if byte != b']' {
                self.item();
            }
        }
        match byte {
            b'"' => {
                self.place = LexerState::Text;
                self.extent.memory += TEXT;
            }
            b'[' => {
                self.enter(Container::List(0))?;
                self.place = LexerState::Opened;
            }
            b'{' => self.enter(Container::Object(0))?,
            b']' | b'}' => self.depth = self.depth.saturating_sub(1),
            b',' => self.item(),
            b':' => self.field(),
            // A part of a number or a word.
            _ => return Ok(()),
        }
        self.extent.check_memory(self.profile)
    }

    /// Skips the bytes of a number, and returns the rest.
    fn rest_of_number<'p>(&mut self, rest: &'p [u8]) -> &'p [u8] {
        let mut rest = rest;
        while let Some((byte, behind)) = rest.split_first()
            && self.number(*byte)
        {
            rest = behind;
        }
        rest
    }

    /// Measures one byte of a number; returns whether it is one.
    fn number(&mut self, byte: u8) -> bool {
        match (byte, self.part) {
            (b'0'..=b'9', NumberPart::Fraction) => {}
            (b'0'..=b'9', NumberPart::Integer) => {
                self.digits = self.digits.saturating_add(1);
                self.long_numbers |= self.digits > PLAIN_DIGITS;
            }
            (b'0'..=b'9', NumberPart::Exponent) => self.long_numbers = true,
            (b'.', _) | (b'-', NumberPart::Exponent) => self.part = NumberPart::Fraction,
            (b'e' | b'E', _) if self.digits > 0 => self.part = NumberPart::Exponent,
            (b'-' | b'+' | b'e' | b'E', _) => {}
            _ => {
                self.digits = 0;
                self.part = NumberPart::Integer;
                return false;
            }
        }
        true
    }

    fn enter(&mut self, container: Container) -> Result<(), JsonLimitExceeded> {
        let limit = self.profile.levels;
        let slot = self.open.get_mut(self.depth);
        let Some(slot) = slot.filter(|_| self.depth < limit) else {
            return Err(JsonLimitExceeded::Levels { limit });
        };
        *slot = container;
        self.depth += 1;
        self.extent.levels = self.extent.levels.max(self.depth);
        Ok(())
    }

    /// Returns the innermost open container.
    fn innermost(&mut self) -> Option<&mut Container> {
        self.open.get_mut(self.depth.checked_sub(1)?)
    }

    /// Counts an item, if inside a list.
    fn item(&mut self) {
        if let Some(Container::List(held)) = self.innermost() {
            let before = of_items(*held);
            *held += 1;
            let more = of_items(*held) - before;
            self.extent.values += 1;
            self.extent.memory += more;
        }
    }

    /// Counts a field, if inside an object.
    fn field(&mut self) {
        if let Some(Container::Object(held)) = self.innermost() {
            let before = of_fields(*held);
            *held += 1;
            let more = of_fields(*held) - before;
            self.extent.values += 1;
            self.extent.memory += more;
        }
    }
}
