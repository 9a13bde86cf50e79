//! The one text of a JSON value: what is hashed, compared as text, or committed.
//!
//! Whether an object keeps its keys in order or as they came is decided by a feature of `serde_json`
//! that any crate of the program may switch on. So no text that has to be the same for equal values
//! is made by `to_string` alone. This is no RFC 8785: numbers are written as `serde_json` writes them.

use serde_json::Value;

/// Puts the keys of every object in order, at any depth.
#[must_use]
pub fn sorted(mut value: Value) -> Value {
    value.sort_all_objects();
    value
}

/// The text: keys in order, no spaces.
#[must_use]
pub fn text(value: Value) -> String {
    sorted(value).to_string()
}

#[cfg(test)]
mod tests {
    use super::text;

    /// The tests of this crate run with keys kept as they came.
    #[test]
    fn equal_values_have_equal_texts_whatever_order_they_came_in() {
        let one = serde_json::from_str(r#"{"b": [{"y": 1, "x": 2}], "a": null}"#).unwrap();
        let other = serde_json::from_str(r#"{"a": null, "b": [{"x": 2, "y": 1}]}"#).unwrap();
        assert_eq!(text(one), r#"{"a":null,"b":[{"x":2,"y":1}]}"#);
        assert_eq!(text(other), r#"{"a":null,"b":[{"x":2,"y":1}]}"#);
    }
}
