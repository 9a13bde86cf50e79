//! Splits a stream of messages, one per line, and measures each. Must not know the fields of a message.

use super::{JsonLimitExceeded, Meter, Profile, numbers};

/// A measured line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The line with its line break; empty if the line exceeds its profile.
    pub bytes: Vec<u8>,
    /// Reason for the refusal, if the line is refused. If it was refused for a number,
    /// [`super::decode_beside_numbers`] can parse it.
    pub refused: Option<JsonLimitExceeded>,
}

/// Buffers and measures lines. A line that exceeds the profile is discarded up to its end.
#[derive(Debug)]
pub struct Lines {
    profile: Profile,
    /// Measures the current line.
    meter: Box<Meter>,
    line: Vec<u8>,
    /// Whether the rest of the current line is discarded.
    skips: bool,
}

impl Lines {
    /// Creates a reader of lines that each fit the profile.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        Self {
            profile,
            meter: Box::new(Meter::new(profile)),
            line: Vec::new(),
            skips: false,
        }
    }

    /// Reads the next piece. It passes `take` each line that ends in the piece, and a line that exceeds the profile at
    /// the first byte beyond the limit.
    pub fn feed(&mut self, piece: &[u8], mut take: impl FnMut(Line)) {
        for (breaks, part) in piece.split(|byte| *byte == b'\n').enumerate() {
            if breaks > 0
                && let Some(line) = self.end()
            {
                take(line);
            }
            if self.skips {
                continue;
            }
            match self.meter.feed(part) {
                Ok(()) => self.line.extend_from_slice(part),
                Err(much) => {
                    self.skips = true;
                    self.line = Vec::new();
                    take(Line {
                        bytes: Vec::new(),
                        refused: Some(much),
                    });
                }
            }
        }
    }

    /// Takes the bytes after the last line break.
    #[must_use]
    pub fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.line)
    }

    /// Ends the current line; `None` if it was already refused.
    fn end(&mut self) -> Option<Line> {
        let long_numbers = self.meter.may_hold_long_numbers();
        *self.meter = Meter::new(self.profile);
        if std::mem::take(&mut self.skips) {
            return None;
        }
        let mut bytes = std::mem::take(&mut self.line);
        let refused = long_numbers.then(|| numbers::check(&bytes).err());
        bytes.push(b'\n');
        Some(Line {
            bytes,
            refused: refused.flatten(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(pieces: &[&[u8]], profile: Profile) -> (Vec<Line>, Vec<u8>) {
        let (mut lines, mut taken) = (Lines::new(profile), Vec::new());
        for piece in pieces {
            lines.feed(piece, |line| taken.push(line));
        }
        (taken, lines.rest())
    }

    #[test]
    fn a_refused_line_does_not_affect_other_lines() {
        let long = "[1e400]";
        let large = "x".repeat(40);
        let sent = format!("{{}}\n{long}\n\n{large}\n{large}{large}\n[1]\n{{\"cut\"");
        let (taken, rest) = lines(&[sent.as_bytes()], Profile::MESSAGE.of_bytes(20));
        let read: Vec<_> = taken
            .iter()
            .map(|line| {
                (
                    std::str::from_utf8(&line.bytes).unwrap(),
                    line.refused.as_ref(),
                )
            })
            .collect();
        let too_long = |bytes| JsonLimitExceeded::Bytes { bytes, limit: 20 };
        let number = JsonLimitExceeded::Number {
            number: "1e400".into(),
            pointer: "/0".into(),
        };
        assert_eq!(
            read,
            [
                ("{}\n", None),
                ("[1e400]\n", Some(&number)),
                ("\n", None),
                ("", Some(&too_long(40))),
                ("", Some(&too_long(80))),
                ("[1]\n", None),
            ]
        );
        assert_eq!(rest, b"{\"cut\"");
    }

    proptest! {
        /// The lines do not depend on the boundaries between pieces.
        #[test]
        fn lines_do_not_depend_on_the_pieces(
            parts in prop::collection::vec("[\\[\\]0-9\n,]{0,24}", 0..6)
        ) {
            let whole = parts.concat();
            let profile = Profile::MESSAGE.of_bytes(60);
            let pieces: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
            let (cut, cut_rest) = lines(&pieces, profile);
            let (uncut, rest) = lines(&[whole.as_bytes()], profile);
            // The number of bytes in an error depends on the pieces.
            let said = |lines: &[Line]| {
                let lines = lines.iter();
                let said = lines.map(|line| (line.bytes.clone(), line.refused.is_some()));
                said.collect::<Vec<_>>()
            };
            prop_assert_eq!(said(&cut), said(&uncut));
            prop_assert_eq!(cut_rest, rest);
        }
    }
}
