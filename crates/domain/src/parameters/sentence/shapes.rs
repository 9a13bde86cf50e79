//! The form that an example shows: a known kind, such as a machine's address, or the shape of a code, such as `A-1002`.
//!
//! An example that could be an ordinary word shows no form.

use super::kinds::{Kind, LONGEST, is_like_region, kind};

/// The form of an example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    /// Any text of one kind.
    Kind(Kind),
    /// A code: parts between signs.
    Code(Vec<Part>),
}

/// A part of a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// These letters.
    Letters(String),
    /// Any letters, up to this number.
    AnyLetters(usize),
    /// Digits; exactly this number if it is set.
    Digits(Option<usize>),
    /// Letters and digits; only hexadecimal digits if the example has only these.
    Mixed {
        /// Whether the example has only hexadecimal digits.
        hex: bool,
        /// The length, if nothing else distinguishes the code from a number.
        length: Option<usize>,
    },
    /// These letters, then digits.
    Prefixed(String),
    /// A sign.
    Sign(char),
}

impl Shape {
    /// Returns the form of an example; `None` if ordinary words could have it.
    pub(super) fn from_example(example: &str) -> Option<Self> {
        if let Some(kind) = kind(example) {
            return match kind {
                Kind::Number => digits_alone(example),
                kind => Some(Self::Kind(kind)),
            };
        }
        let has_digit = example.contains(|c: char| c.is_ascii_digit());
        if !has_digit || example.contains(char::is_whitespace) || example.len() > LONGEST {
            return None;
        }
        let raw = split(example);
        let letters = raw.iter().filter(|part| is_letters(part)).count();
        let first_of_letters = raw.first().is_some_and(|part| is_letters(part));
        let literal = first_of_letters && letters == 1;
        let parts = raw.iter().map(|part| part_of(part, literal, &raw));
        Some(Self::Code(parts.collect()))
    }

    /// Returns a matching text in its canonical form: letters are capitals where the example has capitals. A number
    /// sign that the example lacks only introduces the code: "order #A-1002".
    pub(super) fn fit(&self, text: &str) -> Option<String> {
        self.fit_exactly(text)
            .or_else(|| self.fit_exactly(text.strip_prefix('#')?))
    }

    fn fit_exactly(&self, text: &str) -> Option<String> {
        match self {
            Self::Kind(wanted) => {
                let text = if matches!(wanted, Kind::Region | Kind::Zone) {
                    text.to_lowercase()
                } else {
                    text.to_owned()
                };
                (kind(&text) == Some(*wanted)).then_some(text)
            }
            Self::Code(parts) => {
                let raw = split(text);
                let fits =
                    raw.len() == parts.len() && kind(text).is_none_or(|kind| kind == Kind::Number);
                let texts = parts.iter().zip(&raw).map(|(part, text)| part.fit(text));
                fits.then(|| texts.collect::<Option<String>>()).flatten()
            }
        }
    }

    /// Returns whether a text differs from this shape only in its letters: "db-01" from `web-01`.
    pub(super) fn fits_alike(&self, text: &str) -> bool {
        let Self::Code(parts) = self else {
            return false;
        };
        let raw = split(text);
        let mut pairs = parts.iter().zip(&raw);
        raw.len() == parts.len() && pairs.all(|(part, text)| part.fits_alike(text))
    }

    /// Returns whether its fixed letters are lower-case.
    pub(super) fn is_small(&self) -> bool {
        let Self::Code(parts) = self else {
            return false;
        };
        let mut given = parts.iter().filter_map(|part| match part {
            Part::Letters(letters) | Part::Prefixed(letters) => Some(letters),
            Part::AnyLetters(_) | Part::Digits(_) | Part::Mixed { .. } | Part::Sign(_) => None,
        });
        let small = |letters: &String| letters.chars().all(char::is_lowercase);
        given.next().is_some_and(small) && given.all(small)
    }

    /// Returns whether a text that does not match seems to be meant as a value: it begins with the same letters and
    /// continues with digits.
    pub(super) fn is_nearly(&self, text: &str) -> bool {
        let lower = text.to_lowercase();
        match self {
            // A zone lies in a region, and each is meant literally.
            Self::Kind(Kind::Region | Kind::CloudRegion) => match kind(&lower) {
                Some(other) => matches!(other, Kind::Region | Kind::CloudRegion),
                None => is_like_region(&lower),
            },
            Self::Kind(_) => false,
            Self::Code(parts) => {
                let prefix = match parts.first() {
                    Some(Part::Letters(prefix) | Part::Prefixed(prefix)) => prefix.to_lowercase(),
                    Some(
                        Part::AnyLetters(_) | Part::Digits(_) | Part::Mixed { .. } | Part::Sign(_),
                    )
                    | None => return false,
                };
                let rest = lower.strip_prefix(&prefix).unwrap_or_default();
                let rest = rest.trim_start_matches(['-', '_', '#', '.', '/', ':']);
                rest.starts_with(|c: char| c.is_ascii_digit())
            }
        }
    }
}

/// Returns a code of digits, if there are many of them.
fn digits_alone(example: &str) -> Option<Shape> {
    let long = example.len() >= 4 && example.chars().all(|c| c.is_ascii_digit());
    long.then(|| Shape::Code(vec![Part::Digits(Some(example.len()))]))
}

/// Splits a text into runs of letters and digits, and the signs between them.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices().filter(|(_, c)| !c.is_alphanumeric()) {
        parts.extend(text.get(start..at).filter(|part| !part.is_empty()));
        start = at + c.len_utf8();
        parts.extend(text.get(at..start));
    }
    parts.extend(text.get(start..).filter(|part| !part.is_empty()));
    parts
}

fn is_letters(part: &str) -> bool {
    part.chars().all(char::is_alphabetic)
}

fn part_of(part: &str, literal: bool, all: &[&str]) -> Part {
    let mut chars = part.chars();
    let first = chars.next();
    if let (Some(sign), None) = (first.filter(|c| !c.is_alphanumeric()), chars.next()) {
        return Part::Sign(sign);
    }
    if is_letters(part) {
        return match literal {
            true => Part::Letters(part.to_owned()),
            false => Part::AnyLetters(if part.len() <= 3 { 3 } else { 20 }),
        };
    }
    if part.chars().all(|c| c.is_ascii_digit()) {
        let alone = all
            .iter()
            .all(|part| part.chars().all(|c| !c.is_alphabetic()));
        return Part::Digits(alone.then_some(part.len()));
    }
    let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
    if all.len() == 1 && is_letters(letters) {
        return Part::Prefixed(letters.to_owned());
    }
    Part::Mixed {
        hex: part.chars().all(|c| c.is_ascii_hexdigit()),
        length: (all.len() == 1).then_some(part.len()),
    }
}

impl Part {
    fn fits_alike(&self, text: &str) -> bool {
        match self {
            Self::Letters(_) => is_letters(text),
            Self::Prefixed(_) => {
                let digits = text.trim_start_matches(char::is_alphabetic);
                let is_number = digits.chars().all(|c| c.is_ascii_digit());
                is_number && !digits.is_empty() && digits.len() < text.len()
            }
            Self::AnyLetters(_) | Self::Digits(_) | Self::Mixed { .. } | Self::Sign(_) => {
                self.fit(text).is_some()
            }
        }
    }

    fn fit(&self, text: &str) -> Option<String> {
        let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
        let same = |letters: &str, text: &str| {
            let alike = letters.to_lowercase() == text.to_lowercase();
            alike.then(|| {
                if text.chars().all(char::is_lowercase) {
                    letters.to_owned()
                } else {
                    text.to_owned()
                }
            })
        };
        let fits = match self {
            Self::Letters(letters) => return same(letters, text),
            Self::Prefixed(letters) => {
                let digits = text.trim_start_matches(char::is_alphabetic);
                let prefix = text.get(..text.len() - digits.len())?;
                return is_number(digits)
                    .then(|| same(letters, prefix))
                    .flatten()
                    .map(|prefix| prefix + digits);
            }
            Self::AnyLetters(most) => is_letters(text) && text.chars().count() <= *most,
            Self::Digits(length) => {
                is_number(text) && length.is_none_or(|length| length == text.len())
            }
            Self::Mixed { hex, length } => {
                let hexadecimal = text.chars().all(|c| c.is_ascii_hexdigit());
                let alike = text.chars().all(|c| c.is_ascii_alphanumeric());
                let digit = text.contains(|c: char| c.is_ascii_digit());
                let long = length.is_none_or(|length| length == text.len());
                alike
                    && long
                    && (digit || (hexadecimal && text.len() >= 6))
                    && (hexadecimal || !*hex)
            }
            Self::Sign(sign) => text.chars().eq([*sign]),
        };
        fits.then(|| text.to_owned())
    }
}
