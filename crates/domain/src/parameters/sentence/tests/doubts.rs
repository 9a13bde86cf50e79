//! Words that almost determine a value: ambiguous ones, numbers to compute, days that do not exist. They are either
//! understood or reported as doubts; they are never dropped or rounded.

use serde_json::{Value, json};

use super::{asks, reading, states};

fn amounts() -> Value {
    json!([
        {"name": "parcel", "type": "string", "example": "P-3001"},
        {"name": "amount_eur", "type": "number", "description": "How many euros"},
    ])
}

#[test]
fn an_amount_is_the_part_that_is_meant_with_its_cents() {
    states(
        &amounts(),
        &[
            ("pay back 15 of 90 euros", json!({"amount_eur": 15})),
            (
                "pay back 15 euros out of the 90 euros",
                json!({"amount_eur": 15}),
            ),
            ("€15 of her €90", json!({"amount_eur": 15})),
            ("15 euros 30 cents", json!({"amount_eur": 15.3})),
            ("15 euros and 30 cents", json!({"amount_eur": 15.3})),
            ("15 euros 30", json!({"amount_eur": 15.3})),
            ("half a million euros", json!({"amount_eur": 500_000})),
            (
                "two refunds of 15 euros for P-3007",
                json!({"amount_eur": 15, "parcel": "P-3007"}),
            ),
            ("tell me about 15 euros", json!({"amount_eur": 15})),
        ],
    );
}

#[test]
fn an_amount_to_compute_or_to_guess_is_asked_about() {
    let about: &[&str] = &["amount_eur"];
    asks(
        &amounts(),
        &[
            ("5% of 90 euros", json!({}), about),
            ("half of 90 euros", json!({}), about),
            ("15 + 4 euros", json!({}), about),
            ("15+4 euros", json!({}), about),
            ("15 euros plus 4 euros", json!({}), about),
            ("15 euros plus shipping", json!({}), about),
            ("15 euros minus 4 euros", json!({}), about),
            ("15-20 euros", json!({}), about),
            ("about 15 euros", json!({}), about),
            ("roughly 15 euros", json!({}), about),
            ("~15 euros", json!({}), about),
            ("15 euros or so", json!({}), about),
            ("-15 euros", json!({}), about),
            ("minus 15 euros", json!({}), about),
            ("amount=-15", json!({}), about),
        ],
    );
    let signed = json!([{"name": "amount_eur", "type": "number", "example": -5}]);
    states(&signed, &[("-15 euros", json!({"amount_eur": -15}))]);
    let offset = json!([{"name": "offset", "type": "integer"}]);
    states(&offset, &[("offset=-3", json!({"offset": -3}))]);
}

/// The duration of an existing state is not a duration to wait for.
#[test]
fn a_length_of_time_that_tells_of_a_state_is_no_value() {
    let declared = json!([
        {"name": "pump", "type": "string", "example": "pump-01"},
        {"name": "grace_seconds", "type": "integer"},
    ]);
    let pump = json!({"pump": "pump-07"});
    let both = json!({"pump": "pump-07", "grace_seconds": 45});
    states(
        &declared,
        &[
            ("flush pump-07 (leaking for 45 seconds now)", pump.clone()),
            (
                "flush pump-07, which has been dry for 45 seconds",
                pump.clone(),
            ),
            ("flush pump-07, 45 seconds late already", pump.clone()),
            ("pump-07 is down for 45 seconds, flush it", pump),
            ("flush pump-07 with 45 seconds of grace", both.clone()),
            ("flush pump-07 and wait for 45 seconds", both.clone()),
            ("flush pump-07 (45 seconds)", both.clone()),
            ("flush pump-07 (grace of 45 seconds)", both),
        ],
    );
}

#[test]
fn lengths_of_time_of_several_parts_are_one() {
    let declared = json!([{"name": "lookback_hours", "type": "number"}]);
    states(
        &declared,
        &[
            ("the last 2 days 3 hours", json!({"lookback_hours": 51})),
            ("the last 2 days and 3 hours", json!({"lookback_hours": 51})),
            ("the last half a day", json!({"lookback_hours": 12})),
            (
                "the last two and a half hours",
                json!({"lookback_hours": 2.5}),
            ),
        ],
    );
    let size = json!([{"name": "min_size_gb", "type": "number"}]);
    states(
        &size,
        &[("more than a terabyte", json!({"min_size_gb": 1000}))],
    );
    let days = json!([{"name": "min_age_days", "type": "integer"}]);
    asks(
        &days,
        &[("older than half a year", json!({}), &["min_age_days"])],
    );
}

/// Two values for one parameter are ambiguous, so neither is chosen.
#[test]
fn a_second_value_after_a_name_is_asked_about() {
    let declared = json!([
        {"name": "profile", "type": "string", "example": "ops_ro"},
        {"name": "parcel", "type": "string", "example": "P-3001"},
        {"name": "zone", "type": "string", "enum": ["north", "south", "west"]},
        {"name": "limit", "type": "integer"},
    ]);
    asks(
        &declared,
        &[
            ("with profile night_ro or day_ro", json!({}), &["profile"]),
            ("with profile night_ro and day_ro", json!({}), &["profile"]),
            ("with profile night or day", json!({}), &["profile"]),
            (
                "use the night_ro or day_ro profile",
                json!({}),
                &["profile"],
            ),
            ("parcel P-3007 or P-3008", json!({}), &["parcel"]),
            ("parcel P-3007 and P-3008", json!({}), &["parcel"]),
            ("zone north or south", json!({}), &["zone"]),
            ("zone north, south and west", json!({}), &["zone"]),
            ("limit 5 or 10", json!({}), &["limit"]),
            // A word next to the name that is not an allowed value.
            ("parcels, zone east", json!({}), &["zone"]),
            ("parcels in the east zone", json!({}), &["zone"]),
        ],
    );
    states(
        &declared,
        &[
            ("which zone applies?", json!({})),
            ("the zone is unknown", json!({})),
            (
                "with profile night_ro and parcel P-3007",
                json!({"profile": "night_ro", "parcel": "P-3007"}),
            ),
            ("for ops_ro", json!({"profile": "ops_ro"})),
            ("PARCELS FOR OPS_RO", json!({"profile": "ops_ro"})),
        ],
    );
}

/// No entry of a list is dropped.
#[test]
fn an_entry_of_a_list_that_is_not_as_the_example_is_taken_or_asked_about() {
    let declared = json!([
        {"name": "pumps", "type": "array", "example": ["pump-01"]},
        {"name": "ticket", "type": "string", "pattern": "^SEC-[0-9]+$"},
    ]);
    states(
        &declared,
        &[
            (
                "pumps pump-01, valve-02 and drain-03",
                json!({"pumps": ["pump-01", "valve-02", "drain-03"]}),
            ),
            (
                "pumps pump-01 and pump-02, SEC-7",
                json!({"pumps": ["pump-01", "pump-02"], "ticket": "SEC-7"}),
            ),
        ],
    );
    asks(
        &declared,
        &[
            ("pumps pump-01 and valve_2", json!({}), &["pumps"]),
            ("flush pump-01, valve-02", json!({}), &["pumps"]),
            ("flush valve-02 and pump-01", json!({}), &["pumps"]),
        ],
    );
}

#[test]
fn a_day_that_there_is_not_is_asked_about() {
    let declared = json!([{"name": "since", "type": "string", "example": "2026-01-31"}]);
    for text in [
        "since 2026-02-30",
        "since 30 February",
        "since 30 February 2026",
        "since 31.06.2026",
        "since 02/30/2026",
        "since 2026-04-31T10:00:00Z",
        "since=2026-02-30",
        "since 32 April",
    ] {
        let reading = reading(&declared, text);
        let unclear = reading.unclear.iter();
        let unclear: Vec<String> = unclear.map(ToString::to_string).collect();
        assert_eq!(unclear.len(), 1, "{text}");
        let why = "is not a value for `since`: the date does not exist";
        assert!(unclear[0].ends_with(why), "{text}: {unclear:?}");
    }
    states(&declared, &[("build 2026-02-30", json!({}))]);
}

/// A text in capitals may refer to values in lower case.
#[test]
fn a_text_in_capitals_names_what_is_written_in_small_letters() {
    let declared = json!([
        {"name": "pump", "type": "string", "example": "pump-01"},
        {"name": "vault", "type": "string", "pattern": "^vault-[a-z]$"},
        {"name": "ticket", "type": "string", "example": "SEC-12"},
    ]);
    states(
        &declared,
        &[
            ("FLUSH PUMP-07", json!({"pump": "pump-07"})),
            ("OPEN VAULT-C NOW", json!({"vault": "vault-c"})),
            ("FLUSH IT, SEC-14", json!({"ticket": "SEC-14"})),
            ("flush PUMP-07", json!({"pump": "PUMP-07"})),
        ],
    );
}

/// An answer about everything must not look like one about a part.
#[test]
fn restrictions_that_no_parameter_takes_are_reported() {
    let declared = json!([
        {"name": "stage", "type": "string", "enum": ["open", "shut"]},
        {"name": "min_age_days", "type": "integer"},
    ]);
    let told = |text: &str| reading(&declared, text).restrictions;
    for (text, expected) in [
        ("pumps smaller than 5 GB", vec!["smaller than 5 GB"]),
        ("pumps with more than 3 leaks", vec!["more than 3"]),
        ("pumps over 20 euros", vec!["over 20 euros"]),
        ("at least 5 of them", vec!["at least 5"]),
        ("up to 30 minutes", vec!["up to 30 minutes"]),
        ("pumps that leaked since March", vec!["since March"]),
        ("only the leaking ones", vec!["only the leaking ones"]),
        ("the leaking ones only", vec!["leaking ones only"]),
        ("only those that leak", vec!["only those that leak"]),
        ("non-open pumps", vec!["non-open"]),
        ("pumps older than 40 days", vec![]),
        ("only the open ones", vec![]),
        ("which pumps leak?", vec![]),
        ("I'd rather have 3 days", vec![]),
        ("only one thing: which pumps leak?", vec![]),
    ] {
        assert_eq!(told(text), expected, "{text}");
    }
}
