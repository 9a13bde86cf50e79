//! Encoding declarations within a text: the XML declaration, and a field in the front matter of Markdown.
//!
//! A declaration is read byte by byte, so a text that declares UTF-16 cannot be UTF-16: it is read as UTF-8, as the
//! HTML Standard specifies for pages.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use memchr::{memchr, memmem};

use super::labelled;
use crate::frontmatter::FENCE;

/// Length of the prefix that is searched for a declaration, in bytes.
pub(super) const LOOKED_AT: usize = 64 << 10;

/// Front matter fields that name an encoding.
const FIELDS: [&[u8]; 2] = [b"charset", b"encoding"];

/// Returns the encoding that a text other than HTML declares. Front matter is informal, so it counts only if the text
/// is not UTF-8.
pub(super) fn text(bytes: &[u8]) -> Option<&'static Encoding> {
    xml(bytes).or_else(|| {
        let declared = front_matter(bytes)?;
        std::str::from_utf8(bytes).is_err().then_some(declared)
    })
}

/// Returns the encoding named by an XML declaration (HTML Standard, "get an XML encoding").
pub(super) fn xml(bytes: &[u8]) -> Option<&'static Encoding> {
    const NAME: &[u8] = b"encoding";
    let declaration = start(bytes).strip_prefix(b"<?xml")?;
    let declaration = &declaration[..memchr(b'>', declaration)?];
    let behind = &declaration[memmem::find(declaration, NAME)? + NAME.len()..];
    let value = behind_blanks(behind_blanks(behind).strip_prefix(b"=")?);
    let (quote, value) = value.split_first()?;
    if !matches!(quote, b'"' | b'\'') {
        return None;
    }
    let label = &value[..memchr(*quote, value)?];
    if label.iter().any(|byte| *byte <= b' ') {
        return None;
    }
    labelled(label).map(of_bytes)
}

/// Returns the encoding named by a front matter field.
fn front_matter(bytes: &[u8]) -> Option<&'static Encoding> {
    let fence = FENCE.as_bytes();
    let mut lines = start(bytes).split(|byte| matches!(byte, b'\n' | b'\r'));
    if lines.next()?.trim_ascii_end() != fence {
        return None;
    }
    let fields = lines.take_while(|line| line.trim_ascii_end() != fence);
    let mut labels = fields.filter_map(|line| {
        let (name, value) = line.split_at(memchr(b':', line)?);
        let names = FIELDS.iter().any(|field| name.eq_ignore_ascii_case(field));
        names.then(|| value[1..].trim_ascii())
    });
    let label = labels.next()?;
    let quotes = |byte: &u8| matches!(byte, b'"' | b'\'');
    let label = label.split(quotes).find(|part| !part.is_empty())?;
    labelled(label).map(of_bytes)
}

/// Returns the encoding of a text whose declaration was readable byte by byte.
pub(super) fn of_bytes(declared: &'static Encoding) -> &'static Encoding {
    if declared == UTF_16BE || declared == UTF_16LE {
        UTF_8
    } else if declared == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        declared
    }
}

fn start(bytes: &[u8]) -> &[u8] {
    bytes.get(..LOOKED_AT).unwrap_or(bytes)
}

fn behind_blanks(bytes: &[u8]) -> &[u8] {
    let blanks = bytes.iter().take_while(|byte| **byte <= b' ').count();
    &bytes[blanks..]
}
