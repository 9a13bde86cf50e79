//! The forms of a value that are searched after codings of single characters are decoded: the value itself, its lines,
//! as a number, in base64 and in hexadecimal.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use charter_contract::hex;
use serde_json::Number;

/// Shorter texts of base64 and hexadecimal digits are also ordinary words.
const SHORTEST_CODED: usize = 8;

/// Whether blanks and line breaks may be within a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FormKind {
    /// No: they would change the meaning.
    Plain,
    /// Yes: encoders insert them.
    Wrapped,
}

/// Returns the forms of a value that have at least `shortest` bytes.
pub(super) fn forms(value: &str, shortest: usize) -> BTreeMap<String, FormKind> {
    let mut forms = BTreeMap::new();
    // Each line of a value such as a private key, since logs go line by line.
    for plain in std::iter::once(value).chain(value.lines()) {
        forms.insert(plain.to_owned(), FormKind::Plain);
    }
    for number in numbers(value.trim()) {
        forms.insert(number, FormKind::Plain);
    }
    forms.retain(|form, _| form.len() >= shortest);
    // A line break at the end of a file is not part of its value.
    for whole in std::iter::once(value.trim()).chain(value.lines()) {
        for coded in coded(whole.as_bytes()) {
            if coded.len() >= shortest.max(SHORTEST_CODED) {
                forms.entry(coded).or_insert(FormKind::Wrapped);
            }
        }
    }
    forms
}

/// Encodes a value in hexadecimal, and in both alphabets of base64 after any number of other bytes.
fn coded(value: &[u8]) -> Vec<String> {
    let mut coded = vec![hex::encode(value)];
    for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
        coded.extend((0..3).map(|before| base64_within(value, before, engine)));
    }
    coded
}

/// Returns how a numeric value reads after a program parsed and printed it.
fn numbers(value: &str) -> Vec<String> {
    let whole = value.parse::<i128>().map(|number| number.to_string());
    let float = value.parse::<f64>().ok().and_then(Number::from_f64);
    let float = float.map(|number| number.to_string());
    let written = whole.ok().into_iter().chain(float);
    written.filter(|number| !number.contains(value)).collect()
}

/// Returns the base64 digits that depend only on the value if it follows `before` bytes, modulo three: a user's name
/// and a colon, for instance.
fn base64_within(value: &[u8], before: usize, engine: &GeneralPurpose) -> String {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(value);
    let text = engine.encode(&bytes);
    let (from, to) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
    text.get(from..to).unwrap_or_default().to_owned()
}
