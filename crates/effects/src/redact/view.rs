//! A decoded view of a text, which maps each of its bytes back to the range in the text.

use std::borrow::Cow;
use std::ops::Range;

/// A coding of single characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    /// `%2F` (RFC 3986), for any set of encoded characters.
    Percent,
    /// Percent coding with `+` for a space, as in forms.
    Form,
    /// `\"`, `\/`, `\n`, `\u00e9`, `\xe9`: JSON and the literals of programming languages.
    Backslash,
    /// `&quot;`, `&#39;`, `&#x27;`.
    Html,
}

impl Coding {
    pub(super) const ALL: [Self; 4] = [Self::Percent, Self::Form, Self::Backslash, Self::Html];

    /// Returns the bytes of which every coded text contains at least one.
    fn marks(self) -> &'static [u8] {
        match self {
            Self::Percent => b"%",
            Self::Form => b"+",
            Self::Backslash => b"\\",
            Self::Html => b"&",
        }
    }

    fn unit(self, rest: &[u8]) -> Option<Unit> {
        match self {
            Self::Percent => percent(rest),
            Self::Form => match rest {
                [b'+', ..] => Some(Unit::byte(1, b' ')),
                _ => percent(rest),
            },
            Self::Backslash => backslash(rest),
            Self::Html => html(rest),
        }
    }
}

/// A coded sequence: its width, and the bytes that it encodes.
struct Unit {
    width: usize,
    bytes: [u8; 4],
    count: usize,
}

impl Unit {
    fn byte(width: usize, byte: u8) -> Self {
        Self {
            width,
            bytes: [byte, 0, 0, 0],
            count: 1,
        }
    }

    fn character(width: usize, code: u32) -> Option<Self> {
        let mut bytes = [0; 4];
        let count = char::from_u32(code)?.encode_utf8(&mut bytes).len();
        Some(Self {
            width,
            bytes,
            count,
        })
    }
}

/// Bytes of a view that differ from the text below.
#[derive(Debug, Clone, Copy)]
struct Escape {
    /// Their offset in the view, and their number.
    at: usize,
    count: usize,
    /// The offset of their coded form below, and its width.
    below: usize,
    width: usize,
}

/// A view of a text.
#[derive(Debug)]
pub(super) struct View<'t> {
    pub(super) bytes: Cow<'t, [u8]>,
    escapes: Vec<Escape>,
    below: Option<&'t View<'t>>,
}

impl<'t> View<'t> {
    /// Returns the view of the text itself.
    pub(super) fn plain(text: &'t str) -> Self {
        Self {
            bytes: Cow::Borrowed(text.as_bytes()),
            escapes: Vec::new(),
            below: None,
        }
    }

    /// Decodes a coding; `None` if the view contains none of it.
    pub(super) fn decoded(&'t self, coding: Coding) -> Option<Self> {
        let coded = coding.marks().iter().any(|mark| self.bytes.contains(mark));
        let view = coded.then(|| self.changed(|rest| coding.unit(rest)));
        view.flatten()
    }

    /// Removes blanks and line breaks, to read wrapped text; `None` if there are none.
    pub(super) fn unwrapped(&'t self) -> Option<Self> {
        self.changed(|rest| {
            let blanks = rest.iter().take_while(|byte| byte.is_ascii_whitespace());
            let width = blanks.count();
            (width > 0).then_some(Unit {
                width,
                bytes: [0; 4],
                count: 0,
            })
        })
    }

    fn changed(&'t self, unit: impl Fn(&[u8]) -> Option<Unit>) -> Option<Self> {
        let mut bytes = Vec::with_capacity(self.bytes.len());
        let mut escapes = Vec::new();
        let mut below = 0;
        while let Some(first) = self.bytes.get(below) {
            match unit(&self.bytes[below..]) {
                None => {
                    bytes.push(*first);
                    below += 1;
                }
                Some(unit) => {
                    escapes.push(Escape {
                        at: bytes.len(),
                        count: unit.count,
                        below,
                        width: unit.width,
                    });
                    bytes.extend_from_slice(&unit.bytes[..unit.count]);
                    below += unit.width;
                }
            }
        }
        (!escapes.is_empty()).then_some(Self {
            bytes: Cow::Owned(bytes),
            escapes,
            below: Some(self),
        })
    }

    /// Maps a nonempty range of the view to the text.
    pub(super) fn place(&self, range: Range<usize>) -> Range<usize> {
        let Some(below) = self.below else {
            return range;
        };
        let first = self.below(range.start);
        let last = self.below(range.end.saturating_sub(1));
        below.place(first.start..last.end)
    }

    /// Maps a byte to its range in the view below.
    fn below(&self, at: usize) -> Range<usize> {
        let before = self.escapes.partition_point(|escape| escape.at <= at);
        let Some(escape) = before
            .checked_sub(1)
            .and_then(|last| self.escapes.get(last))
        else {
            return at..at + 1;
        };
        let after = escape.at + escape.count;
        if at < after {
            return escape.below..escape.below + escape.width;
        }
        let start = escape.below + escape.width + (at - after);
        start..start + 1
    }
}

fn hex(digits: &[u8]) -> Option<u32> {
    let digits = std::str::from_utf8(digits).ok()?;
    // `from_str_radix` also accepts a sign.
    let all = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = u32::from_str_radix(digits, 16).ok();
    number.filter(|_| all)
}

fn percent(rest: &[u8]) -> Option<Unit> {
    match rest {
        [b'%', high, low, ..] => {
            let byte = u8::try_from(hex(&[*high, *low])?).ok()?;
            Some(Unit::byte(3, byte))
        }
        _ => None,
    }
}

fn backslash(rest: &[u8]) -> Option<Unit> {
    let [b'\\', kind, rest @ ..] = rest else {
        return None;
    };
    let byte = match kind {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'f' => 0x0c,
        b'"' | b'\'' | b'\\' | b'/' => *kind,
        b'x' => u8::try_from(hex(rest.get(..2)?)?).ok()?,
        b'u' => return unicode(rest),
        _ => return None,
    };
    Some(Unit::byte(if *kind == b'x' { 4 } else { 2 }, byte))
}

/// Decodes the digits after `\u`: four digits, or the two surrogates of one character.
fn unicode(rest: &[u8]) -> Option<Unit> {
    let first = hex(rest.get(..4)?)?;
    let second = match rest.get(4..10) {
        Some([b'\\', b'u', digits @ ..]) => hex(digits),
        Some(_) | None => None,
    };
    match (first, second) {
        (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) => {
            let code = 0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00);
            Unit::character(12, code)
        }
        _ => Unit::character(6, first),
    }
}

/// Length of the longest recognised entity: `&#x10FFFF;`.
const LONGEST_ENTITY: usize = 10;

fn html(rest: &[u8]) -> Option<Unit> {
    if rest.first() != Some(&b'&') {
        return None;
    }
    let near = &rest[..rest.len().min(LONGEST_ENTITY)];
    let end = near.iter().position(|byte| *byte == b';')?;
    let code = match near.get(1..end)? {
        b"amp" => u32::from(b'&'),
        b"lt" => u32::from(b'<'),
        b"gt" => u32::from(b'>'),
        b"quot" => u32::from(b'"'),
        b"apos" => u32::from(b'\''),
        [b'#', b'x' | b'X', digits @ ..] => hex(digits)?,
        [b'#', digits @ ..] => std::str::from_utf8(digits).ok()?.parse().ok()?,
        _ => return None,
    };
    Unit::character(end + 1, code)
}
