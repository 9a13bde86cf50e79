//! Descriptions of inputs that are too large to store: literal text, with parts between `«` and `»`.
//!
//! - `«50000*[»` is `[`, 50,000 times. Inside a part, `§` is the index of the repetition, from 0, and `§+` is the next
//!   index: `«3*"a§":"a§+",»` is `"a0":"a1","a1":"a2","a2":"a3",`.
//! - `«hex ff00»` is a sequence of bytes.
//! - `«zlib 1000000»` is a zlib stream that decompresses to a million spaces.

use std::fmt;

use super::bomb::zlib_bomb;

/// Maximum size of the described input, in bytes: 64 MiB.
const MOST_BYTES: usize = 64 << 20;

const OPEN: char = '«';
const CLOSE: char = '»';
const INDEX: &str = "§";
const NEXT_INDEX: &str = "§+";

/// Error: an invalid description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadShape(String);

impl fmt::Display for BadShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{OPEN}{}{CLOSE}` is no part of a shape: write `{OPEN}COUNT*TEXT{CLOSE}`, `{OPEN}hex FF{CLOSE}` or \
             `{OPEN}zlib BYTES{CLOSE}`",
            self.0
        )
    }
}

impl std::error::Error for BadShape {}

/// Expands a description to its input.
///
/// # Errors
/// [`BadShape`] for the first part that is invalid, unclosed or too large.
pub fn expand(description: &str) -> Result<Vec<u8>, BadShape> {
    let mut made = Vec::new();
    let mut rest = description;
    while let Some((before, after)) = rest.split_once(OPEN) {
        made.extend_from_slice(before.as_bytes());
        let bad = |part: &str| BadShape(part.chars().take(80).collect());
        let (part, behind) = after.split_once(CLOSE).ok_or_else(|| bad(after))?;
        made.extend(expanded(part).ok_or_else(|| bad(part))?);
        rest = behind;
    }
    made.extend_from_slice(rest.as_bytes());
    Ok(made)
}

fn expanded(part: &str) -> Option<Vec<u8>> {
    if let Some(digits) = part.strip_prefix("hex ") {
        return bytes(digits);
    }
    if let Some(spaces) = part.strip_prefix("zlib ") {
        let spaces: usize = spaces.parse().ok()?;
        return Some(zlib_bomb(spaces)).filter(|_| spaces <= MOST_BYTES);
    }
    let (count, text) = part.split_once('*')?;
    let count: usize = count.parse().ok()?;
    if count.checked_mul(text.len())? > MOST_BYTES {
        return None;
    }
    if !text.contains(INDEX) {
        return Some(text.repeat(count).into_bytes());
    }
    let indexed = |at: usize| {
        let next = text.replace(NEXT_INDEX, &(at + 1).to_string());
        next.replace(INDEX, &at.to_string())
    };
    Some((0..count).map(indexed).collect::<String>().into_bytes())
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    if !digits.is_ascii() || digits.len() % 2 == 1 {
        return None;
    }
    let pairs = (0..digits.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_expanded_and_other_text_is_unchanged() {
        for (description, made) in [
            ("plain", &b"plain"[..]),
            ("{«3*a,»}", b"{a,a,a,}"),
            ("«2*§>§+;»«1*b»", b"0>1;1>2;b"),
            ("a«hex ff00»", b"a\xff\x00"),
            ("«0*x»", b""),
        ] {
            assert_eq!(expand(description).unwrap(), made, "{description}");
        }
        assert!(expand("«zlib 100»").unwrap().starts_with(b"\x78\x9c"));
    }

    #[test]
    fn a_part_that_cannot_be_read_is_named() {
        for (description, part) in [
            ("«3*a", "3*a"),
            ("«a»", "a"),
            ("«-1*a»", "-1*a"),
            ("«hex f»", "hex f"),
            ("«hex é»", "hex é"),
            ("«1000000000*aa»", "1000000000*aa"),
            ("«zlib -»", "zlib -"),
        ] {
            assert_eq!(
                expand(description),
                Err(BadShape(part.to_owned())),
                "{description}"
            );
        }
    }
}
