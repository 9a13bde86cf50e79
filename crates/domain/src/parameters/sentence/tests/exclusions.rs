//! Excluded values are never assigned, for any position and wording in the sentence.

use charter_contract::parameter::Parameter;
use charter_contract::time::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{NOW, reading, states, told};
use crate::parameters::sentence::read;

fn declared() -> Value {
    json!([
        {"name": "pump", "type": "string", "example": "pump-01"},
        {"name": "site", "type": "string", "enum": ["harbour", "hill", "old mill"]},
        {"name": "basin", "type": "string", "example": "eu-south-1"},
        {"name": "profile", "type": "string", "example": "ops_ro"},
        {"name": "min_age_days", "type": "integer"},
    ])
}

/// Each sentence has exactly these values, and these exclusions.
fn leaves_out(declared: &Value, rows: &[(&str, Value, &[&str])]) {
    let wrong = rows.iter().filter_map(|(text, expected, words)| {
        let reading = reading(declared, text);
        let (values, _) = told(&reading);
        let excluded = reading.excluded.iter();
        let found: Vec<&str> = excluded.map(|one| one.words.as_str()).collect();
        (values != *expected || found != *words)
            .then(|| format!("{text}\n  {values} {found:?}\n  expected {expected} {words:?}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[allow(clippy::too_many_lines, reason = "one table of cases")]
fn what_a_sentence_leaves_out_is_no_value_and_is_reported() {
    leaves_out(
        &declared(),
        &[
            ("flush all pumps but pump-07", json!({}), &["but pump-07"]),
            ("flush all pumps bar pump-07", json!({}), &["bar pump-07"]),
            (
                "flush all pumps minus pump-07",
                json!({}),
                &["minus pump-07"],
            ),
            ("flush all pumps save pump-07", json!({}), &["save pump-07"]),
            (
                "flush every pump save for pump-07",
                json!({}),
                &["save for pump-07"],
            ),
            (
                "flush all pumps without pump-07",
                json!({}),
                &["without pump-07"],
            ),
            (
                "flush all pumps besides pump-07",
                json!({}),
                &["besides pump-07"],
            ),
            (
                "flush all pumps excluding pump-07",
                json!({}),
                &["excluding pump-07"],
            ),
            (
                "flush any pump other than pump-07",
                json!({}),
                &["other than pump-07"],
            ),
            ("flush the pumps but pump-07", json!({}), &["but pump-07"]),
            (
                "flush all pumps; pump-07 must stay up",
                json!({}),
                &["pump-07 must stay"],
            ),
            (
                "flush them all, with pump-07 excluded",
                json!({}),
                &["pump-07 excluded"],
            ),
            (
                "flush all of them, leave pump-07 alone",
                json!({}),
                &["leave pump-07 alone"],
            ),
            (
                "flush all of them and keep pump-07 running",
                json!({}),
                &["keep pump-07 running"],
            ),
            ("flush all, spare pump-07", json!({}), &["spare pump-07"]),
            ("flush all, skip pump-07", json!({}), &["skip pump-07"]),
            (
                "flush them. Do not touch pump-07",
                json!({}),
                &["Do not touch pump-07"],
            ),
            (
                "never stop or flush the pump pump-07",
                json!({}),
                &["never stop or flush the pump pump-07"],
            ),
            (
                "flush neither pump-07 nor pump-08",
                json!({}),
                &["neither pump-07 nor pump-08"],
            ),
            (
                "flush pumps in every basin but eu-south-2 with profile night_ro",
                json!({"profile": "night_ro"}),
                &["but eu-south-2"],
            ),
            (
                "pumps that are not at the harbour",
                json!({}),
                &["not at the harbour"],
            ),
            ("pumps, not hill ones", json!({}), &["not hill"]),
            (
                "flush all pumps but the leaking ones",
                json!({}),
                &["but the leaking ones"],
            ),
            (
                "flush all pumps except pump-07 and pump-08 in eu-south-3",
                json!({"basin": "eu-south-3"}),
                &["except pump-07 and pump-08"],
            ),
            (
                "pumps older than 30 days, not at the hill",
                json!({"min_age_days": 30}),
                &["not at the hill"],
            ),
        ],
    );
}

/// Words that resemble an exclusion but exclude nothing.
#[test]
fn words_that_leave_nothing_out_are_not_taken_for_an_exclusion() {
    let none: &[&str] = &[];
    let rows = [
        ("do not forget pump-07", json!({"pump": "pump-07"}), none),
        ("why not pump-07?", json!({"pump": "pump-07"}), none),
        (
            "say whether or not pump-07 leaks",
            json!({"pump": "pump-07"}),
            none,
        ),
        ("why isn't pump-07 up?", json!({"pump": "pump-07"}), none),
        ("pump-07 stays silent", json!({"pump": "pump-07"}), none),
        (
            "flush all pumps but use profile night_ro",
            json!({"profile": "night_ro"}),
            none,
        ),
        ("I'd rather not say", json!({}), none),
        ("please ignore the mess", json!({}), none),
        ("keep 30 days of it", json!({"min_age_days": 30}), none),
        ("it is all but done", json!({}), none),
    ];
    leaves_out(&declared(), &rows);
}

/// An exclusion next to a value expresses a contrast.
#[test]
fn a_value_beside_what_is_left_out_is_taken() {
    states(
        &declared(),
        &[
            ("flush pump-06, not pump-07", json!({"pump": "pump-06"})),
            ("not pump-07 but pump-06", json!({"pump": "pump-06"})),
            (
                "Do not flush pump-07. Flush pump-06 instead.",
                json!({"pump": "pump-06"}),
            ),
            (
                "with profile night_ro, not night_rw",
                json!({"profile": "night_ro"}),
            ),
        ],
    );
    let list = json!([{"name": "pumps", "type": "array", "example": ["pump-01"]}]);
    states(
        &list,
        &[
            (
                "flush pump-05, pump-06 and pump-07. Not pump-06, though.",
                json!({"pumps": ["pump-05", "pump-07"]}),
            ),
            (
                "flush pump-05 and leave pump-06 alone",
                json!({"pumps": ["pump-05"]}),
            ),
        ],
    );
}

/// A parameter for exclusions consumes them, and then nothing is reported.
#[test]
fn a_parameter_of_exclusions_takes_what_is_left_out() {
    let declared = json!([
        {"name": "pumps", "type": "array", "example": ["pump-01"], "default": []},
        {"name": "exclude_pumps", "type": "array", "example": ["pump-01"], "default": []},
    ]);
    leaves_out(
        &declared,
        &[
            (
                "flush all pumps but pump-07 and pump-08",
                json!({"exclude_pumps": ["pump-07", "pump-08"]}),
                &[],
            ),
            ("flush pump-05", json!({"pumps": ["pump-05"]}), &[]),
        ],
    );
}

proptest! {
    /// For any wording of an exclusion, the excluded value is never assigned.
    #[test]
    fn an_excluded_value_is_never_bound(
        number in 10_u32..99,
        cue in "(flush all pumps (but|bar|minus|save|without|besides|except|excluding|other than|apart from)|\
                flush all and (spare|skip|leave out|do not touch|never flush)|flush everything, not|neither)",
        noun in "( the pump| pump|)",
        after in "(| please| now|, thanks| in eu-south-1| using profile ops_ro)",
    ) {
        let declared: Vec<Parameter> = serde_json::from_value(json!([
            {"name": "pump", "type": "string", "example": "pump-01"},
            {"name": "pumps", "type": "array", "example": ["pump-01"]},
            {"name": "ticket", "type": "string", "pattern": "^[a-z]+-[0-9]+$"},
            {"name": "label", "type": "string"},
        ])).unwrap();
        let left_out = format!("pump-{number}");
        let text = format!("{cue}{noun} {left_out}{after}");
        let reading = read(&declared, &text, Timestamp::parse(NOW).unwrap());
        for stated in reading.stated.values() {
            prop_assert!(!stated.value.to_string().contains(&left_out), "{text}: {stated:?}");
        }
        prop_assert!(!reading.excluded.is_empty(), "{text}");
    }
}
