//! The canonical text of a JSON value: used for hashing, text comparison and committed files.
//!
//! A feature of `serde_json`, which any crate of the program may enable, decides whether objects keep insertion order.
//! Text that must be equal for equal values is therefore never made by `to_string` alone. This is not RFC 8785:
//! numbers are written as `serde_json` writes them.

use std::io::{self, BufWriter, Write};

use serde::{Serialize, Serializer};
use serde_json::Value;

/// Sorts the keys of every object, at any depth.
#[must_use]
pub fn sorted(mut value: Value) -> Value {
    value.sort_all_objects();
    value
}

/// Returns the canonical text: sorted keys, no spaces.
#[must_use]
pub fn text(value: Value) -> String {
    sorted(value).to_string()
}

/// Passes the canonical text of a value to `take` piece by piece, without copying the value or building the text.
pub fn pieces(value: &Value, take: impl FnMut(&[u8])) {
    let mut out = BufWriter::new(Pieces(take));
    let written = serde_json::to_writer(&mut out, &InOrder(value)).map_err(io::Error::from);
    let written = written.and_then(|()| out.flush());
    debug_assert!(
        written.is_ok(),
        "a value has a text, and taking it does not fail"
    );
}

/// A writer that passes its bytes to a function.
struct Pieces<F>(F);

impl<F: FnMut(&[u8])> Write for Pieces<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.0)(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A value that serialises with sorted keys.
struct InOrder<'v>(&'v Value);

impl Serialize for InOrder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => serializer.collect_seq(items.iter().map(InOrder)),
            Value::Object(fields) => {
                let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
                fields.sort_unstable_by_key(|(name, _)| *name);
                serializer.collect_map(
                    fields
                        .into_iter()
                        .map(|(name, value)| (name, InOrder(value))),
                )
            }
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
                plain.serialize(serializer)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{pieces, text};

    /// The tests of this crate run with insertion order preserved.
    #[test]
    fn equal_values_have_equal_texts_in_any_field_order() {
        let one = serde_json::from_str(r#"{"b": [{"y": 1, "x": 2}], "a": null}"#).unwrap();
        let other = serde_json::from_str(r#"{"a": null, "b": [{"x": 2, "y": 1}]}"#).unwrap();
        assert_eq!(text(one), r#"{"a":null,"b":[{"x":2,"y":1}]}"#);
        assert_eq!(text(other), r#"{"a":null,"b":[{"x":2,"y":1}]}"#);
    }

    #[test]
    fn the_pieces_are_those_of_the_text() {
        for json in [
            r#"{"b": [{"y": 1, "x": 2}, [], {}], "a": null, "": "\"\u00e9\n", "aa": -0.5, "B": [true, 1e300]}"#,
            "[]",
            "12345678901234567890",
            r#""a""#,
        ] {
            let value: serde_json::Value = serde_json::from_str(json).unwrap();
            let mut written = Vec::new();
            pieces(&value, |piece| written.extend_from_slice(piece));
            assert_eq!(String::from_utf8(written).unwrap(), text(value), "{json}");
        }
    }
}
