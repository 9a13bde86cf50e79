//! Decodes bytes to text: the one decoder for files, messages and pages.
//!
//! The encoding of a text is the first of: its byte order mark; the `charset` of its `Content-Type`; the declaration
//! in the text itself; UTF-8. [`document`] refuses bytes that do not fit the encoding, with their offset, because a
//! contract means exactly what it contains. [`page`] replaces them and notes it, because the rest of a page is still
//! useful.
//!
//! Labels and encodings are those of the WHATWG Encoding Standard, plus UTF-32. Must not know the origin of the bytes,
//! or formats beyond their encoding declarations.

mod content_type;
mod declared;
mod prescan;
mod utf32;

use std::borrow::Cow;
use std::fmt;

use encoding_rs::{
    DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED,
};

use self::utf32::Endian;

pub use content_type::charset_of;

/// The byte order mark as a character.
const MARK: char = '\u{feff}';

/// Maximum length of a quoted unknown charset label in a notice, in characters.
const QUOTED_LABEL: usize = 40;

/// Form of a page, which decides the possible encoding declarations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// HTML or XHTML: declared in `<meta>` or in an XML declaration. A page without a declaration that is not UTF-8 is
    /// windows-1252, as in every browser.
    Html,
    /// Any other text: declared in an XML declaration, or, if it is not UTF-8, in the front matter of Markdown.
    Text,
}

/// The text of a page, with doubts about its encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<'b> {
    /// The text, without its byte order mark.
    pub text: Cow<'b, str>,
    /// Doubts about the encoding, for the reader of the text.
    pub notices: Vec<Notice>,
}

/// A reason why the text of a page may differ from the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The `Content-Type` names an unknown charset.
    Unknown(String),
    /// Some bytes do not fit the encoding.
    Replaced {
        /// The encoding.
        charset: &'static str,
        /// Offset of the first byte that does not fit.
        at: usize,
    },
    /// No encoding is declared, and the bytes are not UTF-8.
    Assumed {
        /// The assumed encoding.
        charset: &'static str,
        /// Offset of the first byte that is not UTF-8.
        at: usize,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(label) => {
                write!(
                    f,
                    "the declared charset {label:?} is unknown and was ignored"
                )
            }
            Self::Replaced { charset, at } => write!(
                f,
                "byte {at} is not {charset}; invalid bytes were replaced by U+FFFD"
            ),
            Self::Assumed { charset, at } => write!(
                f,
                "no charset is declared and byte {at} is not UTF-8; the text was read as {charset}"
            ),
        }
    }
}

/// Error: bytes that do not fit the encoding of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("byte {at} is not {charset}")]
pub struct Malformed {
    /// The encoding.
    pub charset: &'static str,
    /// Offset of the first byte that does not fit, from 0.
    pub at: usize,
    /// Line of that byte, from 1.
    pub line: usize,
}

/// Decodes a document: JSON, YAML, TOML, a `SKILL.md`. The document is UTF-8, or has a byte order mark, or begins with
/// two ASCII characters in UTF-16 or UTF-32. The `charset` of its `Content-Type` counts only if none of these fits:
/// JSON is UTF-8 even under a header with another charset (RFC 8259, section 8.1).
///
/// # Errors
/// Offset of the first byte that does not fit.
pub fn document<'b>(bytes: &'b [u8], charset: Option<&str>) -> Result<Cow<'b, str>, Malformed> {
    let utf8 = Coding::Known(UTF_8);
    let (coding, mark) = match encoding_of_mark(bytes) {
        Some(found) => found,
        None => (encoding_without_mark(bytes).unwrap_or(utf8), 0),
    };
    let failed = match coding.strict(&bytes[mark..]) {
        Ok(text) => return Ok(text),
        Err(at) => malformed(coding, bytes, mark + at),
    };
    if mark > 0 || coding != utf8 {
        return Err(failed);
    }
    match charset.and_then(|label| Coding::of_header(bytes, label)) {
        Some(other) if other != utf8 => other
            .strict(bytes)
            .map_err(|at| malformed(other, bytes, at)),
        Some(_) | None => Err(failed),
    }
}

/// Decodes a page. `charset` is that of its `Content-Type`.
#[must_use]
pub fn page<'b>(bytes: &'b [u8], form: Form, charset: Option<&str>) -> Page<'b> {
    let mut notices = Vec::new();
    let (coding, mark) = match encoding_of_mark(bytes) {
        Some(found) => found,
        None => match stated_encoding(bytes, form, charset, &mut notices) {
            Some(coding) => (coding, 0),
            None => return decode_undeclared(bytes, form, notices),
        },
    };
    let rest = &bytes[mark..];
    let text = coding.strict(rest).unwrap_or_else(|at| {
        notices.push(Notice::Replaced {
            charset: coding.name(),
            at: mark + at,
        });
        coding.lossy(rest)
    });
    Page { text, notices }
}

/// Removes a leading byte order mark from a text.
#[must_use]
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}

/// Removes a leading byte order mark from UTF-8 bytes.
#[must_use]
pub fn bytes_without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Returns the encoding stated by a header, the first bytes or a declaration.
fn stated_encoding(
    bytes: &[u8],
    form: Form,
    charset: Option<&str>,
    notices: &mut Vec<Notice>,
) -> Option<Coding> {
    if let Some(label) = charset {
        if let Some(coding) = Coding::of_header(bytes, label) {
            return Some(coding);
        }
        notices.push(Notice::Unknown(label.chars().take(QUOTED_LABEL).collect()));
    }
    encoding_without_mark(bytes).or_else(|| {
        let declared = match form {
            Form::Html => prescan::html(bytes),
            Form::Text => declared::text(bytes),
        };
        declared.map(Coding::Known)
    })
}

fn decode_undeclared(bytes: &[u8], form: Form, mut notices: Vec<Notice>) -> Page<'_> {
    let utf8 = Coding::Known(UTF_8);
    let text = utf8.strict(bytes).unwrap_or_else(|at| {
        let coding = match form {
            Form::Html => Coding::Known(WINDOWS_1252),
            Form::Text => utf8,
        };
        let charset = coding.name();
        notices.push(match form {
            Form::Html => Notice::Assumed { charset, at },
            Form::Text => Notice::Replaced { charset, at },
        });
        coding.lossy(bytes)
    });
    Page { text, notices }
}

/// The encoding of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Utf32(Endian),
    Known(&'static Encoding),
}

impl Coding {
    /// Returns the encoding of a header's label. If the label leaves the byte order open, the first bytes decide.
    fn of_header(bytes: &[u8], label: &str) -> Option<Self> {
        let label = label.trim();
        let stated = match label.to_ascii_lowercase().as_str() {
            "utf-32" => {
                return Some(encoding_without_mark(bytes).unwrap_or(Self::Utf32(Endian::Big)));
            }
            "utf-16" => return Some(encoding_without_mark(bytes).unwrap_or(Self::Known(UTF_16LE))),
            "utf-32be" => Self::Utf32(Endian::Big),
            "utf-32le" => Self::Utf32(Endian::Little),
            _ => Self::Known(labelled(label.as_bytes())?),
        };
        Some(match stated {
            Self::Known(encoding) if encoding == X_USER_DEFINED => Self::Known(WINDOWS_1252),
            other => other,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Utf32(endian) => endian.name(),
            Self::Known(encoding) => encoding.name(),
        }
    }

    /// Decodes the text, or returns the offset of the first byte that does not fit.
    fn strict(self, bytes: &[u8]) -> Result<Cow<'_, str>, usize> {
        match self {
            Self::Utf32(endian) => endian.strict(bytes).map(Cow::Owned),
            Self::Known(encoding) if encoding == UTF_8 => std::str::from_utf8(bytes)
                .map(Cow::Borrowed)
                .map_err(|error| error.valid_up_to()),
            Self::Known(encoding) => encoding
                .decode_without_bom_handling_and_without_replacement(bytes)
                .ok_or_else(|| first_invalid_byte(encoding, bytes)),
        }
    }

    /// Decodes the text, with U+FFFD in place of bytes that do not fit.
    fn lossy(self, bytes: &[u8]) -> Cow<'_, str> {
        match self {
            Self::Utf32(endian) => Cow::Owned(endian.lossy(bytes)),
            Self::Known(encoding) => encoding.decode_without_bom_handling(bytes).0,
        }
    }
}

/// Returns the encoding of a label, except encodings that the standard replaces with a refusal.
fn labelled(label: &[u8]) -> Option<&'static Encoding> {
    Encoding::for_label_no_replacement(label)
}

/// Returns the encoding named by a byte order mark, and the length of the mark.
fn encoding_of_mark(bytes: &[u8]) -> Option<(Coding, usize)> {
    match bytes {
        [0xff, 0xfe, 0, 0, ..] => Some((Coding::Utf32(Endian::Little), 4)),
        [0, 0, 0xfe, 0xff, ..] => Some((Coding::Utf32(Endian::Big), 4)),
        _ => Encoding::for_bom(bytes).map(|(encoding, length)| (Coding::Known(encoding), length)),
    }
}

/// Detects the encoding from two leading ASCII characters by the zero bytes around them (YAML 1.2, section 5.2).
fn encoding_without_mark(bytes: &[u8]) -> Option<Coding> {
    let ascii = |one: u8, other: u8| one != 0 && other != 0 && one.is_ascii() && other.is_ascii();
    let whole = |unit: usize| bytes.len().is_multiple_of(unit);
    match *bytes {
        [0, 0, 0, a, 0, 0, 0, b, ..] if ascii(a, b) && whole(4) => Some(Coding::Utf32(Endian::Big)),
        [a, 0, 0, 0, b, 0, 0, 0, ..] if ascii(a, b) && whole(4) => {
            Some(Coding::Utf32(Endian::Little))
        }
        [0, a, 0, b, ..] if ascii(a, b) && whole(2) => Some(Coding::Known(UTF_16BE)),
        [a, 0, b, 0, ..] if ascii(a, b) && whole(2) => Some(Coding::Known(UTF_16LE)),
        _ => None,
    }
}

/// Returns the index of the first byte that does not fit an encoding, or the number of bytes if all fit.
fn first_invalid_byte(encoding: &'static Encoding, bytes: &[u8]) -> usize {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let room = decoder.max_utf8_buffer_length_without_replacement(bytes.len());
    let mut decoded = String::with_capacity(room.unwrap_or_default());
    match decoder.decode_to_string_without_replacement(bytes, &mut decoded, true) {
        (DecoderResult::Malformed(length, behind), read) => {
            read.saturating_sub(usize::from(length) + usize::from(behind))
        }
        (DecoderResult::InputEmpty | DecoderResult::OutputFull, read) => read,
    }
}

fn malformed(coding: Coding, bytes: &[u8], at: usize) -> Malformed {
    let before = bytes.get(..at).unwrap_or(bytes);
    Malformed {
        charset: coding.name(),
        at,
        line: memchr::memchr_iter(b'\n', before).count() + 1,
    }
}

#[cfg(test)]
mod tests;
