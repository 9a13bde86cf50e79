//! Generates inputs by mutating other inputs: a few changes at a time, including expensive ones for parsers, such as a
//! repeated part or added brackets. Equal seeds produce equal inputs.

use crate::fuzz_targets::INPUT_BYTES;
use crate::hostile::Hostile;

/// Maximum number of changes to one input.
const MOST_CHANGES: usize = 4;

/// Maximum length of a repeated part, in bytes.
const MOST_REPEATED: usize = 40;

/// Brackets and prefixes that can nest around a part.
const AROUND: [(&str, &str); 14] = [
    ("[", "]"),
    ("{", "}"),
    ("(", ")"),
    ("{\"a\":", "}"),
    ("{{", "}}"),
    ("- ", ""),
    ("? ", ""),
    ("!", ""),
    ("-", ""),
    ("not ", ""),
    ("<b>", "</b>"),
    ("if a then ", " else a end"),
    ("a.b(", ")"),
    ("\"", "\""),
];

/// A pseudo-random number generator (splitmix64).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Creates a generator from a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = bound.max(1) as u64;
        usize::try_from(self.number() % bound).unwrap_or_default()
    }

    /// Returns one of the items; the default if there are none.
    fn one<T: Copy + Default>(&mut self, of: &[T]) -> T {
        of.get(self.below(of.len())).copied().unwrap_or_default()
    }

    /// Returns a power of two up to `2^most`, with equal probability for each exponent.
    fn power(&mut self, most: usize) -> usize {
        1 << self.below(most + 1)
    }
}

/// Returns a mutated copy of `base` that may contain words of its language and parts of `other`.
#[must_use]
pub fn mutated(random: &mut Random, base: &[u8], other: &[u8], words: &[&str]) -> Vec<u8> {
    let mut made = base.to_vec();
    for _ in 0..=random.below(MOST_CHANGES) {
        change(random, &mut made, other, words);
        made.truncate(INPUT_BYTES);
    }
    made
}

fn change(random: &mut Random, made: &mut Vec<u8>, other: &[u8], words: &[&str]) {
    let at = random.below(made.len() + 1);
    match random.below(12) {
        0 => {
            if let Some(byte) = made.get_mut(at) {
                *byte = random.below(256) as u8;
            }
        }
        1..=3 => insert(made, at, random.one(words).as_bytes()),
        4 => {
            let end = made.len().min(at + random.power(12));
            drop(made.drain(at..end));
        }
        5 | 6 => repeat(random, made, at),
        7 | 8 => nest(random, made, at),
        9 => {
            let from = random.below(other.len() + 1);
            made.truncate(at);
            made.extend_from_slice(other.get(from..).unwrap_or_default());
        }
        10 => {
            let shape = Hostile::ALL[random.below(Hostile::ALL.len())];
            let length = random.power(18);
            insert(made, at, &shape.value(length));
        }
        _ => digits(random, made, at),
    }
}

fn insert(made: &mut Vec<u8>, at: usize, part: &[u8]) {
    let behind = made.split_off(at);
    made.extend_from_slice(part);
    made.extend_from_slice(&behind);
}

/// Repeats the part at a position up to a million times.
fn repeat(random: &mut Random, made: &mut Vec<u8>, at: usize) {
    let end = made.len().min(at + 1 + random.below(MOST_REPEATED));
    let part = made.get(at..end).unwrap_or_default();
    let room = INPUT_BYTES.saturating_sub(made.len()) / part.len().max(1);
    let repeated = part.repeat(random.power(20).min(room));
    insert(made, end, &repeated);
}

/// Puts nested brackets of one kind around the part after a position.
fn nest(random: &mut Random, made: &mut Vec<u8>, at: usize) {
    let (open, close) = AROUND[random.below(AROUND.len())];
    let end = made.len().min(at + random.power(8));
    let room = INPUT_BYTES.saturating_sub(made.len()) / (open.len() + close.len());
    let levels = random.power(17).min(room);
    insert(made, end, close.repeat(levels).as_bytes());
    insert(made, at, open.repeat(levels).as_bytes());
}

/// Replaces the first digits after a position with another number.
fn digits(random: &mut Random, made: &mut Vec<u8>, at: usize) {
    const NUMBERS: [&str; 8] = [
        "0",
        "-1",
        "65536",
        "2147483648",
        "9223372036854775808",
        "18446744073709551616",
        "1e999",
        "0.1",
    ];
    let behind = made.get(at..).unwrap_or_default();
    let Some(start) = behind.iter().position(u8::is_ascii_digit) else {
        return;
    };
    let from = at + start;
    let count = behind
        .iter()
        .skip(start)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    drop(made.drain(from..from + count));
    insert(made, from, random.one(&NUMBERS).as_bytes());
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const BASE: &[u8] = br#"{"steps": [{"id": "a", "at": 12}]}"#;

    fn series(seed: u64, count: usize) -> Vec<Vec<u8>> {
        let mut random = Random::new(seed);
        let other = b"another one";
        (0..count)
            .map(|_| mutated(&mut random, BASE, other, &["${", "null"]))
            .collect()
    }

    #[test]
    fn inputs_are_determined_by_the_seed() {
        assert_eq!(series(1, 50), series(1, 50));
        assert_ne!(series(1, 50), series(2, 50));
    }

    #[test]
    fn inputs_differ_are_bounded_and_some_are_large() {
        let made = series(3, 500);
        let distinct: BTreeSet<&Vec<u8>> = made.iter().collect();
        assert!(distinct.len() > 300, "{}", distinct.len());
        let longest = made.iter().map(Vec::len).max().unwrap();
        assert!(
            (INPUT_BYTES / 4..=INPUT_BYTES).contains(&longest),
            "{longest}"
        );
        assert!(made.iter().any(|input| input.len() < BASE.len()));
    }

    #[test]
    fn nothing_can_be_changed_as_well() {
        let mut random = Random::new(4);
        for _ in 0..500 {
            drop(mutated(&mut random, b"", b"", &[]));
        }
    }
}
