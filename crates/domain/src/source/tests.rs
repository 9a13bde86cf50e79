use std::time::{Duration, Instant};

use charter_contract::bounds::{
    IMPORT_VALUES, PACKAGE_VALUES, YAML_KEY_BYTES, YAML_LEVELS, YAML_TOKENS, YAML_VALUES,
};
use serde_json::json;

use super::allowance::{Meter, Over};
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

/// Integers keep their digits. Quoted integers, and scalars that only start like a number, are text.
#[test]
fn integers_keep_their_digits() {
    let yaml = "[18446744073709551615, -9223372036854775808, '123456789012345678901', 1.2.3, 12e34567, 1e3]";
    let read = read(yaml).unwrap().value;
    assert_eq!(
        read,
        json!([
            u64::MAX,
            i64::MIN,
            "123456789012345678901",
            "1.2.3",
            "12e34567",
            1e3
        ])
    );
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
            "anchors and aliases are not supported",
        ),
        (
            "a: !!str 1\n",
            "1:4",
            "tags such as `!!str` are not supported",
        ),
        ("a: 1\na: 2\n", "2:1", "the key `a` is duplicated"),
        ("a: 1\n---\nb: 2\n", "3:1", "a second document starts here"),
        ("[a]: 1\n", "1:1", "a key must be text"),
        (
            "a: 1\nb: [-12345678901234567890]\n",
            "2:5",
            "the integer has more than 64 bits, so it would be rounded",
        ),
        ("", "1:1", "the text has no document"),
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

/// The parser would create all tokens before it returns the first value.
#[test]
fn megabytes_of_indicators_are_refused_before_they_are_tokens() {
    let message = "the text has more than 130000 tokens (YAML_TOKENS)".to_owned();
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

/// A few values may contain much text, even if the text looks like YAML.
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
    let list = |values: usize| format!("[{}1]", "1,".repeat(values - 1));
    // The list itself is one of the values.
    assert!(read(&list(YAML_VALUES - 1)).is_ok());
    let message = "the text has more than 200000 values (YAML_VALUES)".to_owned();
    assert_eq!(refused(&list(YAML_VALUES)), (Reason::Limit, message));
}

/// An item of a list takes a dash or a comma beside its scalar.
#[test]
fn a_yaml_text_holds_so_many_tokens_and_no_more() {
    let message = "the text has more than 130000 tokens (YAML_TOKENS)".to_owned();
    let block = |items: usize| "- 1\n".repeat(items);
    assert!(read(&block(YAML_TOKENS / 2)).is_ok());
    assert_eq!(
        refused(&block(YAML_TOKENS / 2 + 1)),
        (Reason::Limit, message.clone())
    );
    // The comma behind the last item makes it YAML. The brackets are two tokens.
    let flow = |items: usize| format!("[{}]", "1,".repeat(items));
    assert!(read(&flow(YAML_TOKENS / 2 - 1)).is_ok());
    assert_eq!(
        refused(&flow(YAML_TOKENS / 2)),
        (Reason::Limit, message.clone())
    );
    // Each of these makes the parser create more tokens than the text has.
    for shape in ["a: a,", "\"\":\"\",", ": ,"] {
        let text = format!("[{}]", shape.repeat(YAML_TOKENS));
        assert_eq!(refused(&text), (Reason::Limit, message.clone()), "{shape}");
    }
}

/// Brackets and commas in a YAML text in single quotes are text, and the JSON parser would count them.
#[test]
fn limits_of_json_do_not_apply_to_yaml_that_begins_like_json() {
    let brackets = "[".repeat(YAML_LEVELS + 1);
    let commas = ",".repeat(YAML_VALUES + 1);
    for text in [brackets, commas] {
        let located = read(&format!("['{text}']")).unwrap();
        assert_eq!(located.value, json!([text]));
        let located = read(&format!("\"a\": [b, '{text}']")).unwrap();
        assert_eq!(located.value, json!({"a": ["b", text]}));
    }
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
            |tokens: &usize| reader::read(text, &Meter::up_to(&allowance, 99, *tokens)).is_ok();
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
    let list = format!("[{}1]", "1,".repeat(YAML_VALUES - 2));
    let whole = PACKAGE_VALUES / YAML_VALUES;
    for _ in 0..whole {
        assert!(read_within(&list, &allowance).is_ok());
        assert!(!allowance.is_over());
    }
    let error = read_within(&list, &allowance).unwrap_err();
    let message = "the files up to here have more than 500000 values (PACKAGE_VALUES)";
    assert_eq!(
        (error.reason, error.message.as_str()),
        (Reason::Limit, message)
    );
    assert!(allowance.is_over());
}

/// Generators write the largest unsigned integer as a double.
#[test]
fn an_import_rounds_integers_with_more_than_64_bits() {
    let cancel = Cancellation::default();
    let allowance = Allowance::for_import(&cancel);
    let read = read_within("{\"maximum\": 18446744073709552000}", &allowance);
    assert_eq!(
        read.unwrap().value,
        json!({"maximum": 18_446_744_073_709_552_000_f64})
    );
    let larger_than_doubles = "9".repeat(400);
    let error = read_within(&larger_than_doubles, &allowance).unwrap_err();
    assert!(error.message.contains("more than 64 bits"), "{error:?}");
}

/// A document of an imported API may be larger than one of a package.
#[test]
fn an_import_has_an_allowance_of_its_own() {
    let cancel = Cancellation::default();
    let list = format!("[{}1]", "1,".repeat(YAML_VALUES));
    assert!(read_within(&list, &Allowance::new(&cancel)).is_err());
    let allowance = Allowance::for_import(&cancel);
    assert!(read_within(&list, &allowance).is_ok());
    for _ in 0..IMPORT_VALUES / YAML_VALUES - 2 {
        assert!(read_within(&list, &allowance).is_ok());
    }
    let error = read_within(&format!("[{list},{list}]"), &allowance).unwrap_err();
    let message = "the documents up to here have more than 3000000 values (IMPORT_VALUES)";
    assert_eq!(
        (error.reason, error.message.as_str()),
        (Reason::Limit, message)
    );
    assert!(allowance.is_over());
}

/// This also holds within a list of which the parser has not returned any part.
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
    let list = format!("[{}]", "1,".repeat(60_000));
    let text = format!("{deep}{list}{}", "}".repeat(YAML_LEVELS - 1));
    let began = Instant::now();
    let located = read(&text).unwrap();
    assert!(began.elapsed() < PROMPT, "{:?}", began.elapsed());
    let name = charter_contract::violation::pointer_segment(&key);
    let pointer = format!("/{name}").repeat(YAML_LEVELS - 1) + "/59999";
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

/// JSON writes a character above U+FFFF as two escapes, and JSON is a subset of YAML.
#[test]
fn two_escapes_of_one_character_are_read_as_one() {
    let wanted = json!({"a": "x\u{1f980}y\u{10ffff}", "\u{1f980}": [1]});
    for text in [
        r#"{"a": "x\ud83e\udd80y\udbff\udfff", "\ud83e\udd80": [1]}"#,
        // With a comment and a trailing comma it is YAML but not JSON.
        "{\"a\": \"x\\uD83E\\uDD80y\\udbff\\udfff\", # a crab\n \"\\ud83e\\udd80\": [1],}",
        "a: \"x\\ud83e\\udd80y\\udbff\\udfff\"\n\"\\ud83e\\udd80\":\n- 1\n",
        "a: \"x\\U0001F980y\\U0010ffff\"\n\"\u{1f980}\": [1]\n",
    ] {
        assert_eq!(read(text).unwrap().value, wanted, "{text}");
    }
    // Without double quotes a backslash is an ordinary character.
    for text in [
        r"a: \ud83e\udd80",
        r"a: '\ud83e\udd80'",
        "a: |-\n  \\ud83e\\udd80",
        "a: >-\r\n  \\ud83e\\udd80\r\n",
        "\\ud83e\\udd80: \\\r\na: \\ud83e\\udd80\r\n",
    ] {
        let read = read(text).unwrap().value;
        assert_eq!(read["a"], r"\ud83e\udd80", "{text}");
    }
    let two = r#"["\\ud83e\\udd80", "\\\ud83e\udd80", "\"\ud83e\udd80\""]"#;
    let wanted = json!([r"\ud83e\udd80", "\\\u{1f980}", "\"\u{1f980}\""]);
    assert_eq!(read(two).unwrap().value, wanted);
    assert_eq!(read(&format!("- {two}")).unwrap().value, json!([wanted]));
}

#[test]
fn half_a_character_is_refused_where_it_stands() {
    for (text, place) in [
        (r#"{"a": "x\ud83e"}"#, "1:9"),
        ("{\n  \"a\": \"\\udd80\"\n}", "2:9"),
        (r#"["\ud83e\udd80", "é\ud83e\u0041"]"#, "1:20"),
        (r#"["\ud83e\n\udd80"]"#, "1:3"),
        ("a: 1\nb: \"x\\ud83ey\"\n", "2:6"),
        ("a: \"one\n  two\\udd80\"\n", "2:6"),
        ("a: \"one\r  two\\ud83e\\ud83e\\udd80\"\r", "2:6"),
        ("- 'it is'\n- \"\\ud83e\\udd80 \\udd80\"\n", "2:17"),
    ] {
        let error = read(text).unwrap_err();
        let shown = (error.position.to_string(), error.reason);
        assert_eq!(shown, (place.to_owned(), Reason::Syntax), "{text}");
        let half = [
            "`\\ud83e` is an unpaired surrogate",
            "`\\udd80` is an unpaired surrogate",
        ];
        assert!(
            half.iter().any(|half| error.message.starts_with(half)),
            "{error}"
        );
        assert!(error.suggestion.is_some(), "{text}");
    }
    let named = read_file("a.json", r#"{"a": "\ud83e"}"#).unwrap_err();
    assert_eq!(named.position.to_string(), "1:8");
    // Another invalid number is not half of a character.
    let error = read("a: \"\\UFFFFFFFF\"").unwrap_err();
    assert!(error.message.contains("escape"), "{error}");
}

#[test]
fn a_mark_is_no_part_of_a_document_and_a_nul_is_no_text() {
    let wanted = json!({"a": 1});
    for text in [
        "\u{feff}a: 1\n",
        "\u{feff}{\"a\": 1}",
        "\u{feff}\n--- \na: 1\n...\n",
    ] {
        let located = read(text).unwrap();
        assert_eq!(located.value, wanted, "{text:?}");
    }
    assert_eq!(read("\u{feff}a: 1\n").unwrap().position("/a").column, 1);
    assert_eq!(
        read_file("x.json", "\u{feff} {\"a\": 1}").unwrap().value,
        wanted
    );
    for (text, place) in [
        ("\0", "1:1"),
        ("a: 1\0\nb: 2\n", "1:5"),
        ("a: 1\r\n# \0\n", "2:3"),
        ("{\"a\":\r \"\0\"}", "2:3"),
    ] {
        let error = read(text).unwrap_err();
        assert_eq!(error.position.to_string(), place, "{text:?}");
        assert_eq!(error.message, "NUL (U+0000) is not allowed in text");
    }
    assert_eq!(read("a: \"\\0\"").unwrap().value, json!({"a": "\0"}));
}

/// Lines end with `\n`, `\r\n` or `\r`; Unicode separators are part of a text.
#[test]
fn places_are_right_whatever_ends_the_lines() {
    let text = "a: 1\nb:\n  - c: x\u{2028}y\u{85}z\n    d: 2\n";
    let wanted = json!({"a": 1, "b": [{"c": "x\u{2028}y\u{85}z", "d": 2}]});
    for end in ["\n", "\r\n", "\r"] {
        let text = text.replace('\n', end);
        let located = read(&text).unwrap();
        assert_eq!(located.value, wanted, "{end:?}");
        let position = located.position("/b/0/d");
        assert_eq!(position.to_string(), "4:5", "{end:?}");
        let shown = SourceText::from(text.as_str());
        assert_eq!(shown.line(position.line), "    d: 2", "{end:?}");
        assert_eq!((shown.line(1), shown.line(5)), ("a: 1", ""), "{end:?}");
        let broken = format!("{text}e: [{end}");
        let json = format!("{{{end}\"a\": 1,{end}  \"b\": x}}");
        assert_eq!(read(&broken).unwrap_err().position.line, 6, "{end:?}");
        let error = read_file("a.json", &json).unwrap_err();
        assert_eq!(error.position.line, 3, "{end:?} {error:?}");
    }
}

/// Invalid JSON is often YAML with another meaning.
#[test]
fn a_file_that_is_called_json_is_json() {
    for (text, place, advice) in [
        ("{\"a\": }", "1:7", true),
        ("{\"a\": 1,}", "1:9", true),
        ("{a: 1}", "1:2", true),
        ("a: 1", "1:1", true),
        ("{\"a\": NaN}", "1:7", true),
        ("{\"a\": 1} # no", "1:10", true),
        ("{\n\"a\": 1\n\"b\": 2}", "3:1", false),
        ("{\"é\": [1, 2}", "1:12", false),
        ("", "1:1", false),
        ("[1] [2]", "1:5", false),
    ] {
        let error = read_file("tools/a.json", text).unwrap_err();
        let shown = (error.position.to_string(), error.suggestion.is_some());
        assert_eq!(shown, (place.to_owned(), advice), "{text}: {error}");
        assert!(
            error.message.starts_with("not valid JSON: "),
            "{text}: {error}"
        );
        assert!(!error.message.contains(" at line "), "{error}");
        let yaml = read_file("tools/a.yaml", text);
        assert_eq!(yaml.is_ok(), advice, "{text}");
    }
    for text in [
        "{\"a\": 1, \"\\u0061\": 2}",
        "{\n \"b\": {\"a\": 1, \"a\": 2}}",
    ] {
        for path in ["a.json", "a.yaml"] {
            let error = read_file(path, text).unwrap_err();
            assert_eq!(error.message, "the key `a` is duplicated", "{path}: {text}");
        }
    }
    let deep = "[".repeat(YAML_LEVELS + 1) + &"]".repeat(YAML_LEVELS + 1);
    let error = read_file("a.json", &deep).unwrap_err();
    assert_eq!(
        (error.reason, error.position.column, error.message.as_str()),
        (
            Reason::Limit,
            YAML_LEVELS + 1,
            "nesting is deeper than 64 levels (YAML_LEVELS)"
        )
    );
    let list = format!("[{}1]", "1,".repeat(YAML_VALUES));
    let error = read_file("a.json", &list).unwrap_err();
    assert_eq!(
        error.message,
        "the text has more than 200000 values (YAML_VALUES)"
    );
}

/// White space is accepted everywhere that JSON allows it, including tabs before a colon.
#[test]
fn what_is_json_is_read_as_json() {
    let text = "\t{\n\t\"a\"\n\t:\n\t[\t1 ,\r\n\t{ } , [ ] , \"\\/\\b\" ]\t}\n";
    let located = read(text).unwrap();
    assert_eq!(located.value, json!({"a": [1, {}, [], "/\u{8}"]}));
    let places = ["/a", "/a/0", "/a/1", "/a/2", "/a/3"].map(|at| located.position(at).to_string());
    assert_eq!(places, ["2:2", "4:4", "5:2", "5:8", "5:14"]);
    assert_eq!(located.position("/a").width, 3);
}

mod with_values {
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[ a-z\u{e9}\u{1f600}\n\t\"\\\\\\[\\]{}:,#'-]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 60, 6, |inner| {
            let fields =
                prop::collection::btree_map("[a-z\u{e9}\"\\[{:/~]{0,4}", inner.clone(), 0..6);
            prop_oneof![
                prop::collection::vec(inner, 0..6).prop_map(Value::from),
                fields.prop_map(|fields| Value::Object(Map::from_iter(fields))),
            ]
        })
    }

    /// Collects the pointers of all parts.
    fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
        found.push(at.to_owned());
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    pointers(item, &format!("{at}/{index}"), found);
                }
            }
            Value::Object(fields) => {
                for (name, field) in fields {
                    let name = charter_contract::violation::pointer_segment(name);
                    pointers(field, &format!("{at}/{name}"), found);
                }
            }
            _ => {}
        }
    }

    proptest! {
        /// Both parsers yield the same values and the same positions.
        #[test]
        fn json_is_the_yaml_that_it_is(value in values(), pretty in any::<bool>()) {
            prop_assume!(value.is_array() || value.is_object());
            let text = match pretty {
                true => serde_json::to_string_pretty(&value).unwrap(),
                false => value.to_string(),
            };
            let cancel = Cancellation::default();
            let allowance = Allowance::new(&cancel);
            let json = super::super::json::read(&text, &Meter::new(&allowance)).unwrap();
            let yaml = reader::read(&text, &Meter::new(&allowance)).unwrap();
            prop_assert_eq!(&json.value, &value);
            prop_assert_eq!(&yaml.value, &value);
            let mut all = Vec::new();
            pointers(&value, "", &mut all);
            for pointer in all {
                let places = [&json, &yaml].map(|read| read.position(&pointer).to_string());
                prop_assert_eq!(&places[0], &places[1], "{}: {}", pointer, text);
            }
        }

        /// No text causes a panic, and each error has a position within the text.
        #[test]
        fn anything_is_read_or_refused(text in "[\\[\\]{}\",:\\\\ud83e0-2a\n\r\t \u{feff}\u{e9}#'|-]{0,60}") {
            for read in [read(&text), read_file("a.json", &text)] {
                if let Err(error) = read {
                    let lines = charter_contract::lines::with_ends(&text).count();
                    prop_assert!(error.position.line <= lines + 1, "{:?}", error);
                }
            }
        }
    }
}
