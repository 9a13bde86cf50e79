//! Finds the encoding that an HTML page declares: the HTML Standard's "prescan a byte stream to determine its
//! encoding" (section 13.2.3.2), on the beginning of a page.
//!
//! The standard examines the first 1,024 bytes and starts again if a parser finds a later `<meta>`. Examining more
//! bytes at once has the same result.

use encoding_rs::Encoding;
use memchr::{memchr, memmem};

use super::declared::{LOOKED_AT, of_bytes, xml};
use super::labelled;

/// Returns the encoding that a page declares in `<meta>` or as XML.
pub(super) fn html(bytes: &[u8]) -> Option<&'static Encoding> {
    let bytes = bytes.get(..LOOKED_AT).unwrap_or(bytes);
    Scan { bytes, at: 0 }.declared().or_else(|| xml(bytes))
}

/// A position in a page. Each method returns `None` at the end of the bytes.
struct Scan<'b> {
    bytes: &'b [u8],
    at: usize,
}

/// An attribute, in lower case.
struct Attribute {
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Scan<'_> {
    fn declared(&mut self) -> Option<&'static Encoding> {
        loop {
            self.at += memchr(b'<', self.bytes.get(self.at..)?)?;
            let rest = &self.bytes[self.at..];
            if rest.starts_with(b"<!--") {
                // The two hyphens that open a comment may also close it.
                self.at += memmem::find(&rest[2..], b"-->")? + b"<!-->".len();
            } else if is_meta(rest) {
                self.at += b"<meta".len();
                if let Some(found) = self.meta()? {
                    return Some(found);
                }
                self.at += 1;
            } else if is_tag(rest) {
                self.skip(|byte| !is_blank(byte) && byte != b'>')?;
                while self.attribute()?.is_some() {}
                self.at += 1;
            } else if matches!(rest.get(1), Some(b'!' | b'/' | b'?')) {
                self.at += memchr(b'>', rest)? + 1;
            } else {
                self.at += 1;
            }
        }
    }

    /// Reads the attributes of a `<meta>`, each name once; `Some(None)` if they name no known encoding.
    fn meta(&mut self) -> Option<Option<&'static Encoding>> {
        let (mut pragma, mut content, mut charset) = (None, None, None);
        while let Some(Attribute { name, value }) = self.attribute()? {
            match name.as_slice() {
                b"http-equiv" if pragma.is_none() => pragma = Some(value == b"content-type"),
                b"content" if content.is_none() => content = Some(of_content(&value)),
                b"charset" if charset.is_none() => charset = Some(labelled(&value)),
                _ => {}
            }
        }
        let declared = match (charset, pragma) {
            (Some(charset), _) => charset,
            (None, Some(true)) => content.flatten(),
            (None, Some(false) | None) => None,
        };
        Some(declared.map(of_bytes))
    }

    /// Reads one attribute; `Some(None)` at the end of the tag.
    fn attribute(&mut self) -> Option<Option<Attribute>> {
        self.skip(|byte| is_blank(byte) || byte == b'/')?;
        if self.byte()? == b'>' {
            return Some(None);
        }
        let mut name = Vec::new();
        loop {
            match self.byte()? {
                b'=' if !name.is_empty() => break,
                b'/' | b'>' => break,
                blank if is_blank(blank) => break,
                byte => name.push(byte.to_ascii_lowercase()),
            }
            self.at += 1;
        }
        self.skip(is_blank)?;
        let value = match self.byte()? {
            b'=' => {
                self.at += 1;
                self.skip(is_blank)?;
                self.value()?
            }
            _ => Vec::new(),
        };
        Some(Some(Attribute { name, value }))
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let quote = self.byte()?;
        if matches!(quote, b'"' | b'\'') {
            self.at += 1;
            let rest = self.bytes.get(self.at..)?;
            let end = memchr(quote, rest)?;
            self.at += end + 1;
            return Some(rest[..end].to_ascii_lowercase());
        }
        let rest = self.bytes.get(self.at..)?;
        let end = rest
            .iter()
            .position(|byte| is_blank(*byte) || *byte == b'>')?;
        self.at += end;
        Some(rest[..end].to_ascii_lowercase())
    }

    fn byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip(&mut self, skipped: impl Fn(u8) -> bool) -> Option<()> {
        let rest = self.bytes.get(self.at..)?;
        self.at += rest.iter().position(|byte| !skipped(*byte))?;
        Some(())
    }
}

/// Returns the encoding in the `content` of a `<meta>`, in lower case: `text/html; charset=…`.
fn of_content(content: &[u8]) -> Option<&'static Encoding> {
    const NAME: &[u8] = b"charset";
    let mut rest = content;
    loop {
        rest = behind_blanks(&rest[memmem::find(rest, NAME)? + NAME.len()..]);
        let Some(value) = rest.strip_prefix(b"=") else {
            continue;
        };
        let value = behind_blanks(value);
        let label = match value.split_first()? {
            (quote @ (b'"' | b'\''), inside) => &inside[..memchr(*quote, inside)?],
            _ => {
                let ends = |byte: &u8| is_blank(*byte) || *byte == b';';
                &value[..value.iter().position(ends).unwrap_or(value.len())]
            }
        };
        return labelled(label);
    }
}

fn is_meta(rest: &[u8]) -> bool {
    let name = rest.get(..5).unwrap_or_default();
    let behind = rest.get(5).copied().unwrap_or_default();
    name.eq_ignore_ascii_case(b"<meta") && (is_blank(behind) || behind == b'/')
}

fn is_tag(rest: &[u8]) -> bool {
    match rest {
        [b'<', b'/', first, ..] | [b'<', first, ..] => first.is_ascii_alphabetic(),
        _ => false,
    }
}

fn behind_blanks(bytes: &[u8]) -> &[u8] {
    let blanks = bytes.iter().take_while(|byte| is_blank(**byte)).count();
    &bytes[blanks..]
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}
