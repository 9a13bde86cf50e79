//! Tests that texts, their pieces and their values have equal extents, and that limits are enforced.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;

fn lists(levels: usize) -> String {
    "[".repeat(levels) + &"]".repeat(levels)
}

fn objects(levels: usize) -> String {
    "{\"a\":".repeat(levels) + "0" + &"}".repeat(levels)
}

/// Computes the nesting of a value by its definition.
fn nesting(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(nesting).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(nesting).max().unwrap_or(0),
        _ => 0,
    }
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~\u{e9}\u{1f600}\n\"\\\\\\[\\]{}:,]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 120, 9, |inner| {
        let fields = prop::collection::btree_map("[a-z\"\\[{:]{0,4}", inner.clone(), 0..9);
        prop_oneof![
            prop::collection::vec(inner, 0..9).prop_map(Value::from),
            fields.prop_map(|fields| Value::Object(Map::from_iter(fields))),
        ]
    })
}

proptest! {
    #[test]
    fn the_extent_of_a_text_is_that_of_its_value(value in values(), pretty in any::<bool>()) {
        let text = if pretty {
            serde_json::to_string_pretty(&value).unwrap()
        } else {
            value.to_string()
        };
        let of_value = extent_of(&value, Profile::STORED).unwrap();
        prop_assert_eq!(of_value.levels, nesting(&value));
        prop_assert_eq!(of_value.values, count(&value));
        let of_text = extent(text.as_bytes(), Profile::STORED).unwrap();
        prop_assert_eq!((of_text.levels, of_text.values), (of_value.levels, of_value.values));
        // An escape may take more bytes than its character, never fewer.
        prop_assert!(of_text.memory >= of_value.memory);
        prop_assert!(of_text.memory <= of_value.memory + text.len());
    }

    #[test]
    fn the_extent_of_pieces_is_that_of_the_whole_text(
        text in prop_oneof![
            values().prop_map(|value| value.to_string().into_bytes()),
            prop::collection::vec(prop::sample::select(b"[]{}\",:\\ 0a\xff".to_vec()), 0..200),
        ],
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        places.sort_unstable();
        let mut meter = Meter::new(Profile::STORED);
        let mut from = 0;
        for to in places.into_iter().chain([text.len()]) {
            meter.feed(&text[from..to]).unwrap();
            from = to;
        }
        prop_assert_eq!(meter.extent(), extent(&text, Profile::STORED).unwrap());
    }

    #[test]
    fn bytes_that_are_not_json_are_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let read = decode::<Value>(&bytes, Profile::MESSAGE).ok();
        prop_assert_eq!(read, serde_json::from_slice(&bytes).ok());
    }
}

#[test]
fn a_profile_bounds_the_nesting_levels() {
    for profile in [
        Profile::MESSAGE,
        Profile::OUTPUT,
        Profile::PARAMETER,
        Profile::DRAFT,
        Profile::NOTICE,
        Profile::STORED,
    ] {
        let limit = profile.levels;
        for nested in [lists, objects] {
            let fits: Value = decode_text(&nested(limit), profile).unwrap();
            assert_eq!(extent_of(&fits, profile).unwrap().levels, limit);
            let much = JsonLimitExceeded::Levels { limit };
            let deeper = nested(limit + 1);
            assert_eq!(extent(deeper.as_bytes(), profile), Err(much.clone()));
            // A text that never closes is refused as well.
            let open = "[".repeat(100_000);
            assert_eq!(extent(open.as_bytes(), profile), Err(much.clone()));
            let inside = Profile {
                levels: limit + 1,
                ..profile
            };
            if limit < bounds::STORED_LEVELS_READ {
                let value: Value = decode_text(&deeper, inside).unwrap();
                assert_eq!(extent_of(&value, profile), Err(much.clone()));
            }
        }
    }
}

#[test]
fn brackets_and_quotes_within_texts_do_not_count() {
    let text = json!(["[[[{{{", "\"[\\", {"]]}": "\\\"["}]).to_string();
    let extent = extent(text.as_bytes(), Profile::OUTPUT).unwrap();
    assert_eq!((extent.levels, extent.values), (2, 5));
}

/// Documented sizes are accepted: an output or a package that is nearly all text.
#[test]
fn the_weight_of_a_long_text_is_its_length() {
    let text = json!({"files": {"a.py": "x".repeat(15 << 20)}}).to_string();
    let extent = extent(text.as_bytes(), Profile::MESSAGE).unwrap();
    assert!(extent.memory < (15 << 20) + 2_000, "{extent:?}");
    let numbers = format!("[{}0]", "1,".repeat(299_999));
    decode::<Value>(numbers.as_bytes(), Profile::OUTPUT).unwrap();
}

#[test]
fn many_small_values_are_refused_before_they_are_read() {
    let limit = bounds::JSON_MEMORY;
    for (value, most_read) in [
        ("{\"\":0}", 900_000),
        ("[]", 3_000_000),
        ("[0]", 700_000),
        ("0", 2_500_000),
        ("\"\"", 2_500_000),
    ] {
        let count = (15 << 20) / (value.len() + 1);
        let text = format!("[{}", format!("{value},").repeat(count));
        assert_eq!(
            extent(text.as_bytes(), Profile::OUTPUT),
            Err(JsonLimitExceeded::Memory { limit }),
            "{value}"
        );
        // Most of the text was not even examined.
        let mut meter = Meter::new(Profile::OUTPUT);
        let read = text
            .as_bytes()
            .chunks(10_000)
            .position(|piece| meter.feed(piece).is_err());
        let read = read.unwrap() * 10_000;
        assert!(read < most_read, "{value}: {read}");
    }
}

#[test]
fn a_document_is_bounded_in_bytes_before_anything_else() {
    let much = JsonLimitExceeded::Bytes {
        bytes: bounds::NOTICE_BYTES + 1,
        limit: bounds::NOTICE_BYTES,
    };
    let text = vec![b' '; bounds::NOTICE_BYTES + 1];
    assert_eq!(extent(&text, Profile::NOTICE), Err(much));
    let fault = decode::<Value>(&text, Profile::NOTICE).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "the document has 262145 bytes; the limit is 262144"
    );
}

/// Editors and servers write byte order marks, and a parser may ignore them (RFC 8259, section 8.1).
#[test]
fn a_byte_order_mark_is_not_part_of_a_document() {
    let text = r#"{"a": ["\ud83e\udd80", "é"]}"#;
    let wanted = json!({"a": ["\u{1f980}", "é"]});
    let wide = |little: bool| -> Vec<u8> {
        let units = text.encode_utf16();
        let bytes = units.map(|unit| match little {
            true => unit.to_le_bytes(),
            false => unit.to_be_bytes(),
        });
        bytes.flatten().collect()
    };
    for bytes in [
        text.as_bytes().to_vec(),
        [&b"\xef\xbb\xbf"[..], text.as_bytes()].concat(),
        [&b"\xff\xfe"[..], &wide(true)].concat(),
        [&b"\xfe\xff"[..], &wide(false)].concat(),
        wide(true),
    ] {
        let read: Value = decode(&bytes, Profile::MESSAGE).unwrap();
        assert_eq!(read, wanted, "{bytes:?}");
    }
    let read: Value = decode_text(&format!("\u{feff}{text}"), Profile::MESSAGE).unwrap();
    assert_eq!(read, wanted);
}

#[test]
fn invalid_text_is_reported_with_its_offset() {
    let failed = |bytes: &[u8]| {
        let fault = decode::<Value>(bytes, Profile::MESSAGE).unwrap_err();
        fault.to_string()
    };
    assert_eq!(failed(b"[\"caf\xe9\"]"), "byte 5 is not UTF-8");
    assert_eq!(
        failed(b"\xff\xfe[\0\"\0\0\xd8\"\0]\0"),
        "byte 6 is not UTF-16LE"
    );
    for half in [r#"["\ud83e"]"#, r#"["\udd80"]"#, r#"["\ud83e\u0041"]"#] {
        let said = failed(half.as_bytes());
        assert!(
            said.contains("hex escape at line 1 column "),
            "{half}: {said}"
        );
    }
}

/// Older versions stored outputs with 127 levels in events that nothing could read.
#[test]
fn older_stored_forms_are_read_and_never_written() {
    for levels in [100, 101, 127, 128, 200, 256] {
        let text = lists(levels);
        let read: Value = decode_stored(&text).unwrap();
        assert_eq!(read.to_string(), text);
        let written = to_stored(&read);
        if levels <= bounds::STORED_LEVELS {
            assert_eq!(written.unwrap(), text);
        } else {
            let fault = written.unwrap_err().to_string();
            assert_eq!(
                fault,
                "the document nests more than 100 levels deep; flatten it"
            );
        }
    }
    assert!(decode_stored::<Value>(&(lists(200) + "]")).is_err());
}

/// A document that takes too much memory is refused before it is read from or written to storage.
#[test]
fn a_stored_document_is_bounded_in_memory() {
    struct Objects(usize);
    impl Serialize for Objects {
        fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.collect_seq((0..self.0).map(|_| BTreeMap::from([("", 0)])))
        }
    }
    let text = |count: usize| serde_json::to_string(&Objects(count)).unwrap();
    let one = extent(text(1).as_bytes(), Profile::STORED).unwrap().memory;
    let most = bounds::STORED_MEMORY / one;
    decode_stored::<serde::de::IgnoredAny>(&text(most / 2)).unwrap();
    let heavy = 2 * most;
    let read = decode_stored::<Value>(&text(heavy)).unwrap_err();
    let written = to_stored(&Objects(heavy)).unwrap_err();
    for refused in [read, written] {
        assert_eq!(
            refused.to_string(),
            "the document has so many values that it takes more than 268435456 bytes of memory; send fewer"
        );
    }
}

#[test]
fn length_and_memory_of_fields_match_the_document() {
    for value in [
        json!({"a": [1, 2.5, null, {"b": "\"é\n"}], "c": {}}),
        json!([]),
        json!("text"),
    ] {
        assert_eq!(text_length(&value), value.to_string().len());
        if let Value::Object(fields) = &value {
            let whole = extent_of(&value, Profile::OUTPUT).unwrap().memory;
            let of_fields = memory_of_fields(fields);
            assert!(
                of_fields <= whole + fields.len() * 72,
                "{of_fields}, {whole}"
            );
            assert!(of_fields + 72 >= whole, "{of_fields}, {whole}");
        }
    }
    let deep = (0..300).fold(json!([]), |inside, _| json!([inside]));
    assert_eq!(memory_of(&deep), usize::MAX);
    let deep = Map::from_iter([("deep".to_owned(), deep)]);
    assert_eq!(memory_of_fields(&deep), usize::MAX);
}
