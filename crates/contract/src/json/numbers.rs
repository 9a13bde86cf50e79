//! Finds numbers that parsing would change. serde_json parses an integer with more than 64 bits as a double, which
//! rounds identifiers, amounts and block numbers. A document with such a number is refused, with a pointer to the
//! number.

use super::{JsonLimitExceeded, Profile, decode_text};
use crate::shorten;
use crate::violation::pointer_segment;

/// Maximum length of a number in an error, in bytes.
const SHOWN: usize = 40;

/// Checks the range of every number of a document.
///
/// # Errors
/// [`JsonLimitExceeded::Number`] for the first integer with more than 64 bits, or the first number beyond the range of
/// a double.
pub(super) fn check(text: &[u8]) -> Result<(), JsonLimitExceeded> {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => at = end_of_text(text, at),
            b'-' | b'0'..=b'9' => {
                let number = number_at(text, at);
                if !is_kept(number) {
                    return Err(JsonLimitExceeded::Number {
                        number: shortened(number),
                        pointer: pointer_to(text, at),
                    });
                }
                at += number.len();
            }
            _ => at += 1,
        }
    }
    Ok(())
}

/// Returns the number at an offset.
fn number_at(text: &[u8], at: usize) -> &[u8] {
    let rest = text.get(at..).unwrap_or_default();
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    let length = rest.iter().take_while(|byte| is_part(byte)).count();
    rest.get(..length).unwrap_or_default()
}

/// Whether a number is in range. Malformed numbers pass: the parser refuses them.
fn is_kept(number: &[u8]) -> bool {
    let Ok(number) = std::str::from_utf8(number) else {
        return true;
    };
    let digits = number.strip_prefix('-').unwrap_or(number);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits.is_empty() || number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok();
    }
    number.parse::<f64>().map_or(true, f64::is_finite)
}

fn shortened(number: &[u8]) -> String {
    shorten::to_chars(&String::from_utf8_lossy(number), SHOWN).into_owned()
}

/// Returns the offset after the string that starts at an offset.
fn end_of_text(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// A segment of the path to a value.
enum PathSegment<'t> {
    Item(usize),
    /// Name of a field, including its escapes.
    Field(&'t [u8]),
}

/// Returns the JSON pointer to the value at an offset.
fn pointer_to(text: &[u8], target: usize) -> String {
    let mut open: Vec<PathSegment<'_>> = Vec::new();
    let mut naming = false;
    let mut at = 0;
    while at < target
        && let Some(byte) = text.get(at)
    {
        let end = match byte {
            b'"' => end_of_text(text, at),
            _ => at + 1,
        };
        match byte {
            b'"' if naming => {
                let inside = text.get(at + 1..end.saturating_sub(1));
                if let Some(place) = open.last_mut() {
                    *place = PathSegment::Field(inside.unwrap_or_default());
                }
            }
            b'[' => open.push(PathSegment::Item(0)),
            b'{' => {
                open.push(PathSegment::Field(b""));
                naming = true;
            }
            b']' | b'}' => {
                open.pop();
                naming = false;
            }
            b':' => naming = false,
            b',' => match open.last_mut() {
                Some(PathSegment::Item(index)) => *index += 1,
                Some(PathSegment::Field(_)) => naming = true,
                None => {}
            },
            _ => {}
        }
        at = end;
    }
    open.iter()
        .fold(String::new(), |pointer, place| match place {
            PathSegment::Item(index) => format!("{pointer}/{index}"),
            PathSegment::Field(name) => format!("{pointer}/{}", pointer_segment(&unescaped(name))),
        })
}

/// Resolves the escapes in a field name.
fn unescaped(name: &[u8]) -> String {
    let written = String::from_utf8_lossy(name);
    let read = decode_text::<String>(&format!("\"{written}\""), Profile::MESSAGE);
    read.unwrap_or_else(|_| written.into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::json::{JsonFault, Meter, decode};

    fn refused(text: &str) -> Option<(String, String)> {
        match decode::<Value>(text.as_bytes(), Profile::MESSAGE) {
            Err(JsonFault::TooMuch(JsonLimitExceeded::Number { number, pointer })) => {
                Some((number, pointer))
            }
            Ok(_) | Err(_) => None,
        }
    }

    #[test]
    fn an_integer_keeps_its_digits_or_is_refused_with_its_pointer() {
        for kept in [
            "18446744073709551615",
            "-9223372036854775808",
            "9007199254740993",
            "0",
        ] {
            let read: Value = decode(kept.as_bytes(), Profile::MESSAGE).unwrap();
            assert_eq!(read.to_string(), kept);
        }
        let long = "9".repeat(60);
        for (text, number, pointer) in [
            ("18446744073709551616", "18446744073709551616", ""),
            (
                r#"{"a": [1, {"b/c": -9223372036854775809}]}"#,
                "-9223372036854775809",
                "/a/1/b~1c",
            ),
            (
                r#"[{"x": {"y": [0, "1,\"]", {}]}, "\u007a": 73786976294838206464}]"#,
                "73786976294838206464",
                "/0/z",
            ),
            (
                r#"[{}, "x", [99999999999999999999]]"#,
                "99999999999999999999",
                "/2/0",
            ),
            (r#"{"n": 1, "m": 1e400}"#, "1e400", "/m"),
            (r#"{"n": [[], -2.5E+999]}"#, "-2.5E+999", "/n/1"),
            (&format!("[{long}]"), &format!("{}…", &long[..40]), "/0"),
        ] {
            let expected = Some((number.to_owned(), pointer.to_owned()));
            assert_eq!(refused(text), expected, "{text}");
        }
    }

    #[test]
    fn the_error_names_the_remedy() {
        let error = decode::<Value>(br#"{"id": 123456789012345678901}"#, Profile::MESSAGE);
        assert_eq!(
            error.unwrap_err().to_string(),
            "the document has the number 123456789012345678901 at `/id`, which would be rounded: an integer has at \
             most 64 bits, any other number is at most 1.8e308; send it as text"
        );
        let alone = decode::<Value>(b"-1e999", Profile::MESSAGE).unwrap_err();
        let said = alone.to_string();
        assert!(
            said.starts_with("the document has the number -1e999, which"),
            "{said}"
        );
    }

    /// Strings, and numbers with a fraction or an exponent, are parsed as usual.
    #[test]
    fn texts_that_look_like_long_integers_are_read() {
        for (text, value) in [
            (r#""123456789012345678901""#, json!("123456789012345678901")),
            (
                r#"["\"123456789012345678901", true]"#,
                json!(["\"123456789012345678901", true]),
            ),
            ("1e300", json!(1e300)),
            (
                "0.1234567890123456789012345",
                json!(0.123_456_789_012_345_68),
            ),
            ("[1e-400]", json!([0.0])),
        ] {
            let read: Value = decode(text.as_bytes(), Profile::MESSAGE).unwrap();
            assert_eq!(read, value, "{text}");
        }
        for text in ["12345678901234567890-1", "--12345678901234567890123", "-"] {
            assert!(matches!(
                decode::<Value>(text.as_bytes(), Profile::MESSAGE),
                Err(JsonFault::Form(_))
            ));
        }
    }

    /// The numbers of a vector are not read twice.
    #[test]
    fn only_numbers_that_may_be_out_of_range_are_checked() {
        let is_checked = |text: &str| {
            let mut meter = Meter::new(Profile::MESSAGE);
            // Pieces of one byte: a number may be divided anywhere.
            for byte in text.as_bytes() {
                meter.feed(std::slice::from_ref(byte)).unwrap();
            }
            meter.may_hold_long_numbers()
        };
        for text in [
            "[0.034123422354459763, -0.1234567890123456789]",
            "[5.1e-05, 1E-999]",
            "[123456789012345678, true, false, null]",
            "\"12345678901234567890e99\"",
        ] {
            assert!(!is_checked(text), "{text}");
        }
        for text in [
            "[1234567890123456789]",
            "[1e400]",
            "[0.5e+400]",
            "[1E9, 0.1]",
            "[1e-5, 1234567890123456789.5]",
        ] {
            assert!(is_checked(text), "{text}");
        }
    }

    proptest! {
        /// An integer anywhere in a document keeps its digits, or is refused with a pointer to it.
        #[test]
        fn no_integer_is_rounded(digits in "[1-9][0-9]{0,24}", negative: bool, before in 0_usize..5) {
            let number = format!("{}{digits}", if negative { "-" } else { "" });
            let text = format!("{{\"a\": [{}{{\"n\": {number}}}]}}", "\"x\", ".repeat(before));
            let pointer = format!("/a/{before}/n");
            match decode::<Value>(text.as_bytes(), Profile::MESSAGE) {
                Ok(read) => prop_assert_eq!(read.pointer(&pointer).unwrap().to_string(), number),
                Err(JsonFault::TooMuch(JsonLimitExceeded::Number { pointer: at, .. })) => {
                    prop_assert_eq!(at, pointer);
                    prop_assert!(number.parse::<i128>().unwrap() > i128::from(u64::MAX)
                        || number.parse::<i128>().unwrap() < i128::from(i64::MIN));
                }
                Err(other) => prop_assert!(false, "{}", other),
            }
        }
    }
}
