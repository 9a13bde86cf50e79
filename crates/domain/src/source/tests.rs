use std::time::{Duration, Instant};

use charter_contract::bounds::{PACKAGE_VALUES, YAML_KEY_BYTES, YAML_LEVELS, YAML_VALUES};
use serde_json::json;

use super::allowance::{Meter, Over};
use super::reader::read_metered;
use super::*;
use crate::cancellation::Cancellation;

/// Far more time than bounded work needs, and far less than unbounded work.
const PROMPT: Duration = Duration::from_secs(10);

fn refused(text: &str) -> (Reason, String) {
    let error = read(text).unwrap_err();
    (error.reason, error.message)
}

#[test]
fn yaml_and_json_read_alike() {
    let yaml = "a: 1\nb:\n  - true\n  - ~\n  - 'x: y'\nc: 1.5\nd: 0x10\ne: 007x\n";
    let json = r#"{"a": 1, "b": [true, null, "x: y"], "c": 1.5, "d": 16, "e": "007x"}"#;
    assert_eq!(read(yaml).unwrap().value, read(json).unwrap().value);
}

#[test]
fn each_part_is_found_and_a_missing_field_is_shown_at_its_object() {
    let text = "skill_id: a.b\nsteps:\n  - step_id: one\n    tool/id: t\n";
    let located = read(text).unwrap();
    assert_eq!(located.position("/skill_id").to_string(), "1:1");
    assert_eq!(located.position("/steps/0/tool~1id").to_string(), "4:5");
    assert_eq!(located.position("/steps/0/absent").to_string(), "3:5");
    assert_eq!(located.position("").to_string(), "1:1");
}

#[test]
fn what_is_not_one_plain_document_is_refused_with_its_place() {
    let cases = [
        (
            "a: &x 1\nb: *x\n",
            "1:4",
            "anchors and aliases are not accepted",
        ),
        (
            "a: !!str 1\n",
            "1:4",
            "tags such as `!!str` are not accepted",
        ),
        ("a: 1\na: 2\n", "2:1", "the key `a` stands twice"),
        ("a: 1\n---\nb: 2\n", "3:1", "a second document starts here"),
        ("[a]: 1\n", "1:1", "a key must be text"),
        ("", "1:1", "the text holds no document"),
    ];
    for (text, place, message) in cases {
        let error = read(text).unwrap_err();
        assert_eq!(
            (error.position.to_string().as_str(), error.message.as_str()),
            (place, message),
            "{text}"
        );
    }
}

#[test]
fn nesting_is_bounded() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    let message = "nesting is deeper than 64 levels (YAML_LEVELS)".to_owned();
    assert_eq!(
        refused(&nested(YAML_LEVELS + 1)),
        (Reason::Limit, message.clone())
    );
    assert_eq!(
        refused(&"- ".repeat(YAML_LEVELS + 1)),
        (Reason::Limit, message)
    );
    let fits = read(&nested(YAML_LEVELS)).unwrap().value;
    assert_eq!(fits.pointer("/0").map(Value::is_array), Some(true));
    assert_eq!(json!(1), read("1").unwrap().value);
}

/// The parser would make tokens of all of it before it returns the first value.
#[test]
fn megabytes_of_indicators_are_refused_before_they_are_tokens() {
    let message = "the text has more than 500000 tokens (YAML_TOKENS)".to_owned();
    for shape in ["?,", ",", ": "] {
        let text = format!("[{}", shape.repeat((15 << 20) / shape.len()));
        let began = Instant::now();
        assert_eq!(refused(&text), (Reason::Limit, message.clone()), "{shape}");
        assert!(began.elapsed() < PROMPT, "{shape}: {:?}", began.elapsed());
    }
    for shape in [
        "[?,", "[,", "{,", "? ", "- ", ": ", "&a ", "!a ", "...\n", "%a ",
    ] {
        let began = Instant::now();
        assert!(read(&shape.repeat(99_000)).is_err(), "{shape}");
        assert!(began.elapsed() < PROMPT, "{shape}: {:?}", began.elapsed());
    }
}

/// A few values may hold much text, also when the text looks like YAML.
#[test]
fn megabytes_of_text_are_read() {
    let line = "- one, two [three]: {four} ? & ! '' %";
    let block: String = (0..200_000).map(|_| format!("  {line}\n")).collect();
    let located = read(&format!("a: |\n{block}b: 1\n")).unwrap();
    assert_eq!(located.value["a"].as_str().unwrap().len(), 200_000 * 38);
    assert_eq!(located.position("/b").line, 200_002);
    let quoted = json!({"a": format!("{line} ").repeat(200_000), "b": 1});
    assert_eq!(read(&quoted.to_string()).unwrap().value, quoted);
}

#[test]
fn a_text_holds_so_many_values_and_no_more() {
    let list = |values: usize| format!("[{}]", "1,".repeat(values));
    // The list is one of them.
    assert!(read(&list(YAML_VALUES - 1)).is_ok());
    let message = "the text holds more than 200000 values (YAML_VALUES)".to_owned();
    assert_eq!(refused(&list(YAML_VALUES)), (Reason::Limit, message));
}

#[test]
fn a_key_is_bounded() {
    let text = |bytes: usize| format!("{{\"{}\": 1}}", "k".repeat(bytes));
    assert!(read(&text(YAML_KEY_BYTES)).is_ok());
    let message = "a key is longer than 1024 bytes (YAML_KEY_BYTES)".to_owned();
    assert_eq!(refused(&text(YAML_KEY_BYTES + 1)), (Reason::Limit, message));
}

/// Counting depends on how the parser's scanner reads its input; this test breaks when that changes.
#[test]
fn every_token_is_counted_once() {
    let cancel = Cancellation::default();
    let allowance = Allowance::new(&cancel);
    let taken = |text: &str| {
        let reads =
            |tokens: &usize| read_metered(text, &Meter::up_to(&allowance, 99, *tokens)).is_ok();
        (0..99).find(reads).unwrap()
    };
    for (text, tokens) in [
        ("a", 1),
        ("a b c", 1),
        ("'a, b'", 1),
        ("a: 1\n", 3),
        ("- a\n- b\n", 4),
        ("? a\n: b\n", 4),
        ("[a, b]", 5),
        ("[a, b,]", 6),
        ("{\"a\": [1]}", 7),
        ("---\na: |\n  text\n  more\n...\n", 5),
        ("%YAML 1.2\n---\na\n", 4),
        ("\u{FEFF}a", 2),
    ] {
        assert_eq!(taken(text), tokens, "{text:?}");
    }
}

#[test]
fn texts_that_are_read_together_have_one_allowance() {
    let cancel = Cancellation::default();
    let allowance = Allowance::new(&cancel);
    let list = format!("[{}]", "1,".repeat(YAML_VALUES - 1));
    let whole = PACKAGE_VALUES / YAML_VALUES;
    for _ in 0..whole {
        assert!(read_within(&list, &allowance).is_ok());
        assert!(!allowance.is_over());
    }
    let error = read_within(&list, &allowance).unwrap_err();
    let message = "the files up to here hold more than 500000 values (PACKAGE_VALUES)";
    assert_eq!(
        (error.reason, error.message.as_str()),
        (Reason::Limit, message)
    );
    assert!(allowance.is_over());
}

/// Also within a list of which the parser has returned nothing yet.
#[test]
fn a_cancelled_reading_ends() {
    let cancel = Cancellation::default();
    let allowance = Allowance::new(&cancel);
    let meter = Meter::new(&allowance);
    meter.token();
    cancel.cancel();
    for _ in 0..2_000 {
        meter.token();
    }
    assert_eq!(meter.over(), Some(Over::Cancelled));
    let error = read_within("[1]", &allowance).unwrap_err();
    assert_eq!(error.reason, Reason::Cancelled);
}

/// A long key above many values is stored once.
#[test]
fn places_take_no_more_than_their_values() {
    let key = "k".repeat(YAML_KEY_BYTES);
    let deep = format!("{{{key}: ").repeat(YAML_LEVELS - 1);
    let list = format!("[{}]", "1,".repeat(100_000));
    let text = format!("{deep}{list}{}", "}".repeat(YAML_LEVELS - 1));
    let began = Instant::now();
    let located = read(&text).unwrap();
    assert!(began.elapsed() < PROMPT, "{:?}", began.elapsed());
    let name = charter_contract::violation::pointer_segment(&key);
    let pointer = format!("/{name}").repeat(YAML_LEVELS - 1) + "/99999";
    let last = text.len() - YAML_LEVELS - 1;
    assert_eq!(located.position(&pointer).column, last);
}

#[test]
fn a_part_ends_where_the_next_one_begins() {
    let places = read("a:\n  - x: 1\n  - y: 2\n    z: 3\nb: 4\n")
        .unwrap()
        .places;
    let end = |pointer: &str| places.end(pointer).map(|at| at.to_string());
    assert_eq!(end("/a/0").as_deref(), Some("3:5"));
    assert_eq!(end("/a/1/y").as_deref(), Some("4:5"));
    assert_eq!(end("/a/1").as_deref(), Some("5:1"));
    assert_eq!(end("/a").as_deref(), Some("5:1"));
    assert_eq!(end("/b"), None);
}

#[test]
fn a_line_is_found_by_its_number() {
    let lines: Vec<String> = (1..=1_000)
        .map(|number| format!("{number} {}", "é".repeat(number)))
        .collect();
    let text = SourceText::from((lines.join("\n") + "\r\n\n").as_str());
    for number in [1, 2, 127, 128, 129, 130, 500, 999, 1_000] {
        assert_eq!(text.line(number), lines[number - 1], "{number}");
    }
    assert_eq!(
        (text.line(0), text.line(1_001), text.line(5_000)),
        ("", "", "")
    );
    assert_eq!(SourceText::from("").line(1), "");
}
