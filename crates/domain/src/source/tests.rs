use serde_json::json;

use super::*;

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
    let deep = "[".repeat(MAX_DEPTH + 1) + &"]".repeat(MAX_DEPTH + 1);
    assert_eq!(
        read(&deep).unwrap_err().message,
        "nesting is deeper than 64 levels"
    );
    let fits = "[".repeat(MAX_DEPTH) + &"]".repeat(MAX_DEPTH);
    assert_eq!(
        read(&fits)
            .unwrap()
            .value
            .pointer("/0")
            .map(|v| v.is_array()),
        Some(true)
    );
    assert_eq!(json!(1), read("1").unwrap().value);
}
