use std::collections::BTreeSet;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use super::*;

/// Every character that encoders treat differently, and a letter outside ASCII.
const SECRET: &str = "Zq7/x+9 w\"T'k&é=<END>~_.-!";

fn variable(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn redactor() -> Redactor {
    Redactor::new(&[
        variable("TOKEN", "abcd\"efgh"),
        variable("LONGER", "abcd\"efgh-and-more"),
        variable("SHORT", "x"),
    ])
}

fn of_secret() -> Redactor {
    Redactor::for_output(&[variable("SECRET", SECRET)], &BTreeSet::new())
}

#[test]
fn every_form_of_a_value_is_replaced_longest_first() {
    assert_eq!(
        redactor().apply("x abcd\"efgh-and-more abcd\\\"efgh abcd%22efgh"),
        "x [redacted:LONGER] [redacted:TOKEN] [redacted:TOKEN]"
    );
}

#[test]
fn secrets_are_removed_from_outputs_and_short_values_are_kept() {
    let granted = [
        variable("TOKEN", "s3cr3t-value"),
        variable("REGION", "eu-central-1"),
        variable("WORD", "latest"),
    ];
    let plain = BTreeSet::from(["REGION".to_owned()]);
    let output = json!({
        "region": "eu-central-1", "tag": "latest", "count": 7, "none": null,
        "items": [{"s3cr3t-value": ["a s3cr3t-value", "b"]}],
    });
    let expected = json!({
        "region": "eu-central-1", "tag": "latest", "count": 7, "none": null,
        "items": [{"[redacted:TOKEN]": ["a [redacted:TOKEN]", "b"]}],
    });
    let redactor = Redactor::for_output(&granted, &plain);
    assert_eq!(redactor.apply_to(output), expected);
}

/// B003-3
#[test]
fn b003_3_paths_become_relative_to_their_folder() {
    let redactor = redactor()
        .hiding(Path::new("/srv/data/sandbox"), "[sandbox]/")
        .hiding(Path::new("/srv/data/sandbox/packages/1f"), "");
    assert_eq!(
        redactor.apply("/srv/data/sandbox/packages/1f/scripts/a.py and /srv/data/sandbox/x"),
        "scripts/a.py and [sandbox]/x"
    );
    // A folder has only one spelling.
    assert_eq!(redactor.apply("/SRV/data/sandbox/x"), "/SRV/data/sandbox/x");
}

#[test]
fn a_secret_split_by_the_length_limit_leaves_no_fragment() {
    let redactor = Redactor::new(&[variable("TOKEN", "secretvalue")]);
    // The capture starts inside an occurrence.
    let filling = ".".repeat(redactor.longest());
    let captured = format!("retvalue{filling} and then secretvalue end");
    let tail = redactor.apply_tail(captured.as_bytes(), Cut::Beginning, 100);
    assert_eq!(tail, "........ and then [redacted:TOKEN] end");
}

/// The quoted head of a long text ends before a value that the cut divides.
#[test]
fn a_truncated_text_ends_before_a_split_secret() {
    let redactor = Redactor::new(&[variable("TOKEN", "secretvalue")]);
    let text = "secretvalue".repeat(1_000);
    for limit in 0..200 {
        let head = redactor.apply_head(text.as_bytes(), limit);
        assert!(!head.contains("secre"), "{limit}: {head}");
    }
    assert_eq!(
        redactor.apply_head(b"a secretvalue", 100),
        "a [redacted:TOKEN]"
    );
}

const UNRESERVED: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');
const PATH: AsciiSet = UNRESERVED.remove(b'/');
const COMPONENT: AsciiSet = UNRESERVED.remove(b'!').remove(b'\'');
const FORM: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b' ');
const URI: AsciiSet = COMPONENT
    .remove(b'/')
    .remove(b'+')
    .remove(b'&')
    .remove(b'=');

fn percent(value: &str, set: &'static AsciiSet) -> String {
    utf8_percent_encode(value, set).to_string()
}

fn json_text(value: &str) -> String {
    let text = json!(value).to_string();
    text[1..text.len() - 1].to_owned()
}

fn ascii_json(value: &str) -> String {
    let escaped = |letter: char| match letter {
        '"' | '\\' => format!("\\{letter}"),
        ' '..='~' => letter.to_string(),
        _ => letter
            .encode_utf16(&mut [0; 2])
            .iter()
            .map(|unit| format!("\\u{unit:04x}"))
            .collect(),
    };
    value.chars().map(escaped).collect()
}

fn html(value: &str) -> String {
    let value = value
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    value.replace('"', "&quot;").replace('\'', "&#x27;")
}

fn wrapped(text: &str, width: usize, by: &str) -> String {
    let lines = text.as_bytes().chunks(width);
    let lines: Vec<&str> = lines
        .map(|line| std::str::from_utf8(line).unwrap())
        .collect();
    lines.join(by)
}

/// A value in each of these encodings is wholly replaced by its mark, at the beginning, in the middle and at the end of
/// a text.
#[test]
fn a_secret_is_found_in_every_character_encoding() {
    let all_units = SECRET.encode_utf16().map(|unit| format!("\\u{unit:04X}"));
    for (what, form) in [
        ("as it is", SECRET.to_owned()),
        ("another case", SECRET.to_ascii_uppercase()),
        ("percent", percent(SECRET, NON_ALPHANUMERIC)),
        ("percent as RFC 3986", percent(SECRET, &UNRESERVED)),
        (
            "percent in lower case",
            percent(SECRET, &UNRESERVED).to_ascii_lowercase(),
        ),
        ("percent with slashes", percent(SECRET, &PATH)),
        ("encodeURIComponent", percent(SECRET, &COMPONENT)),
        ("encodeURI", percent(SECRET, &URI)),
        ("a form", percent(SECRET, &FORM).replace(' ', "+")),
        ("JSON", json_text(SECRET)),
        ("JSON in ASCII", ascii_json(SECRET)),
        (
            "JSON with escaped slashes",
            json_text(SECRET).replace('/', "\\/"),
        ),
        ("JSON within JSON", json_text(&json_text(SECRET))),
        ("ASCII JSON within JSON", json_text(&ascii_json(SECRET))),
        ("every character of JSON", all_units.collect()),
        ("HTML", html(SECRET)),
        (
            "hexadecimal",
            SECRET.bytes().map(|byte| format!("{byte:02x}")).collect(),
        ),
        (
            "HEXADECIMAL",
            SECRET.bytes().map(|byte| format!("{byte:02X}")).collect(),
        ),
    ] {
        let redacted = of_secret().apply(&format!("{form} = \"{form}\"; {form}"));
        let mark = "[redacted:SECRET]";
        assert_eq!(
            redacted,
            format!("{mark} = \"{mark}\"; {mark}"),
            "{what}: {form}"
        );
    }
}

/// Of base64 only digits at both ends may remain, which other bytes contribute to.
#[test]
fn a_secret_is_found_in_base64_at_every_offset() {
    let engines = [STANDARD, URL_SAFE, STANDARD_NO_PAD, URL_SAFE_NO_PAD];
    for engine in engines {
        for before in 0..6 {
            for after in 0..3 {
                let mut bytes = vec![b':'; before];
                bytes.extend_from_slice(SECRET.as_bytes());
                bytes.extend(vec![b'|'; after]);
                let text = engine.encode(&bytes);
                let ways = [
                    text.clone(),
                    wrapped(&text, 7, "\n"),
                    wrapped(&text, 7, "\r\n\t"),
                    json_text(&wrapped(&text, 7, "\n")),
                    percent(&text, NON_ALPHANUMERIC),
                    text.replace('/', "\\/"),
                ];
                for way in ways {
                    let redacted = of_secret().apply(&way);
                    let (left, right) = redacted.split_once("[redacted:SECRET]").unwrap();
                    // Whole groups of the other bytes, three digits, and their wrapping or coding.
                    assert!(left.len() + right.len() <= 48, "{way}: {redacted}");
                    let decoded = engine.decode(left.replace(['\n', '\r', '\t'], ""));
                    assert!(
                        !decoded.is_ok_and(|bytes| bytes.contains(&b'Z')),
                        "{way}: {redacted}"
                    );
                }
            }
        }
    }
    let basic = STANDARD.encode(format!("user:{SECRET}"));
    let redacted = of_secret().apply(&format!("authorization: Basic {basic}"));
    assert!(
        redacted.starts_with("authorization: Basic dXNlcj"),
        "{redacted}"
    );
    assert!(redacted.contains("[redacted:SECRET]"), "{redacted}");
}

/// A numeric value is also found after it became a JSON number.
#[test]
fn a_numeric_secret_is_found_as_a_number() {
    let values = [
        variable("WHOLE", "918273645546372819"),
        variable("PADDED", "000123456789"),
        variable("BROKEN", "12345678.50"),
        variable("LARGE", "123456789012345678901234567890"),
    ];
    let redactor = Redactor::for_output(&values, &BTreeSet::new());
    let large: f64 = "123456789012345678901234567890".parse().unwrap();
    let output = json!({
        "whole": 918_273_645_546_372_819_u64, "padded": 123_456_789, "broken": 12_345_678.5,
        "large": large, "other": 42, "near": 918_273_645,
    });
    let expected = json!({
        "whole": "[redacted:WHOLE]", "padded": "[redacted:PADDED]", "broken": "[redacted:BROKEN]",
        "large": "[redacted:LARGE]", "other": 42, "near": 918_273_645,
    });
    assert_eq!(redactor.apply_to(output), expected);
}

#[test]
fn each_line_of_a_secret_is_found() {
    let redactor = Redactor::new(&[variable("KEY", "first-line-of-it\nsecond-line-of-it\n")]);
    assert_eq!(
        redactor.apply("a second-line-of-it b first-line-of-it\\nsecond-line-of-it"),
        "a [redacted:KEY] b [redacted:KEY]\\n[redacted:KEY]"
    );
}

/// Text without a value is unchanged, even if it seems to be encoded.
#[test]
fn text_without_a_secret_is_unchanged() {
    let redactor = of_secret();
    for text in [
        "",
        "%",
        "100 % of &amp; and &nothing; \\q \\u12 \\ud800 \\ \\u",
        "a%2",
        "%zz%+1 &#; &#x; &#99999999; &#xd800;",
        "[redacted:SECRET]",
        "Zq7/x+9 w",
    ] {
        assert_eq!(redactor.apply(text), text);
    }
}

/// Random values at random offsets of any base64, percent coding or hexadecimal text leave nothing.
#[test]
fn no_encoding_of_a_random_value_survives() {
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..500 {
        let value: String = (0..12).map(|_| random.char(' '..='~')).collect();
        let redactor = Redactor::for_output(&[variable("KEY", &value)], &BTreeSet::new());
        let before: Vec<u8> = (0..random.usize(0..20)).map(|_| random.u8(..)).collect();
        let bytes = [before.as_slice(), value.as_bytes()].concat();
        let part: String = value
            .bytes()
            .map(|byte| match random.bool() {
                true => format!("%{byte:02x}"),
                false if byte == b'%' => "%25".to_owned(),
                false => char::from(byte).to_string(),
            })
            .collect();
        for text in [
            value.clone(),
            part,
            STANDARD.encode(&bytes),
            URL_SAFE_NO_PAD.encode(&bytes),
            bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        ] {
            let redacted = redactor.apply(&text);
            assert!(
                redacted.contains("[redacted:KEY]"),
                "{value:?} in {text:?}: {redacted:?}"
            );
        }
    }
}

/// A long text is scanned in parts; a value at the end of a part is whole in the next, in every encoding.
#[test]
fn secrets_are_found_across_the_chunks_of_a_long_text() {
    let redactor = of_secret();
    let coded = utf8_percent_encode(SECRET, NON_ALPHANUMERIC).to_string();
    let base64 = STANDARD.encode(SECRET);
    for written in [SECRET, coded.as_str(), base64.as_str()] {
        for before in [
            WINDOW_BYTES - written.len() - 1,
            WINDOW_BYTES - written.len() / 2,
            WINDOW_BYTES - 1,
            WINDOW_BYTES,
            2 * WINDOW_BYTES - 3,
        ] {
            let text = format!(
                "{}{written}{}",
                "é".repeat(before / 2),
                "+".repeat(WINDOW_BYTES)
            );
            let redacted = redactor.apply(&text);
            assert!(
                redacted.contains("[redacted:SECRET]"),
                "{written} at {before}"
            );
            assert!(!redacted.contains(written), "{written} at {before}");
            assert!(redacted.ends_with("++++") && redacted.starts_with("éééé"));
        }
    }
    let parts: Vec<Range<usize>> = windows(&"a".repeat(2 * WINDOW_BYTES + 5), 10).collect();
    let last = 2 * WINDOW_BYTES;
    assert_eq!(
        parts,
        [0..WINDOW_BYTES + 10, WINDOW_BYTES..last + 5, last..last + 5]
    );
}
