//! Versions of mission artifacts (B002-1). `tests/versions` contains artifacts in version v0, which is this project's
//! own, and their current forms. Both are frozen.

use charter_contract::mission::envelope::MissionEnvelope;
use charter_contract::mission::upcast::{read_stored, upcast, versions};
use charter_contract::mission::{Artifact, ArtifactKind, MissionRoot, MissionState};
use charter_contract::validate::parse;
use charter_contract::violation::Violation;
use serde_json::{Value, json};

const RESULT: &str = include_str!("../versions/worker_result.v0.json");
const RESULT_NOW: &str = include_str!("../versions/worker_result.v0.as_v1.json");
const REVIEW: &str = include_str!("../versions/review_packet.v0.json");
const REVIEW_NOW: &str = include_str!("../versions/review_packet.v0.as_v1.json");

fn mission() -> MissionRoot {
    let envelope = include_str!("../seeds/mission_envelope.json");
    let envelope: MissionEnvelope = parse(envelope.as_bytes()).unwrap();
    envelope.mission_root()
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Returns the artifact with one field replaced or removed.
fn with_field(text: &str, field: &str, new: Option<Value>) -> String {
    let mut value = value(text);
    match new {
        Some(new) => value[field] = new,
        None => drop(value.as_object_mut().unwrap().remove(field)),
    }
    value.to_string()
}

/// Returns the pointer, keyword and message of each violation.
fn violation_fields(found: Vec<Violation>) -> Vec<(String, String, String)> {
    let fields = |v: Violation| (v.pointer, v.keyword, v.message);
    found.into_iter().map(fields).collect()
}

fn expected_violation(pointer: &str, keyword: &str, message: &str) -> (String, String, String) {
    (pointer.to_owned(), keyword.to_owned(), message.to_owned())
}

#[test]
fn b002_1_an_older_version_is_read_as_the_current_version() {
    for (old, now) in [(RESULT, RESULT_NOW), (REVIEW, REVIEW_NOW)] {
        assert_eq!(upcast(value(old), &mission()), Ok(value(now)));
        let read = read_stored(old, &mission()).unwrap();
        assert_eq!(read.as_ref(), &Artifact::parse(now.as_bytes()).unwrap());
        assert_eq!(read_stored(now, &mission()), Ok(read));
    }
}

/// Every readable form has a fixture here, so that dropping one is noticed.
#[test]
fn b002_1_every_older_version_has_a_fixture() {
    let mut older: Vec<(ArtifactKind, &str)> = Vec::new();
    for kind in ArtifactKind::ALL {
        let versions = versions(*kind);
        let (_, before) = versions.split_last().unwrap();
        older.extend(before.iter().map(|version| (*kind, *version)));
    }
    let fixtures: Vec<(ArtifactKind, String)> = [RESULT, REVIEW]
        .iter()
        .map(|text| {
            let value = value(text);
            let kind = value["schema_name"].as_str().unwrap().parse().unwrap();
            (kind, value["schema_version"].as_str().unwrap().to_owned())
        })
        .collect();
    let fixtures: Vec<(ArtifactKind, &str)> =
        fixtures.iter().map(|(k, v)| (*k, v.as_str())).collect();
    assert_eq!(older, fixtures);
}

#[test]
fn b002_1_an_older_version_is_never_accepted_where_artifacts_are_written() {
    for old in [RESULT, REVIEW] {
        assert_eq!(
            violation_fields(Artifact::parse(old.as_bytes()).unwrap_err()),
            [expected_violation(
                "/schema_version",
                "unsupported_version",
                "the version `v0` is not supported; known: `v1`"
            )]
        );
    }
}

#[test]
fn b002_1_an_unknown_version_is_refused_and_never_coerced() {
    for (text, version) in [
        (RESULT_NOW.to_owned(), "v2"),
        (RESULT.to_owned(), "v00"),
        (RESULT.to_owned(), "V0"),
        // A kind that never had such a version.
        (
            include_str!("../seeds/policy_decision.json").to_owned(),
            "v0",
        ),
    ] {
        let text = with_field(&text, "schema_version", Some(json!(version)));
        let found = violation_fields(read_stored(&text, &mission()).unwrap_err());
        let message = format!("the version `{version}` is not supported; known: `v1`");
        let expected = expected_violation("/schema_version", "unsupported_version", &message);
        assert_eq!(found, [expected]);
    }
}

/// The faults of an older artifact are reported, not repaired.
#[test]
fn b002_1_an_older_version_is_validated_by_its_own_schema() {
    let cases = [
        (
            with_field(RESULT, "confidence", Some(json!(0.5))),
            expected_violation(
                "/confidence",
                "additionalProperties",
                "unknown field `confidence`",
            ),
        ),
        (
            with_field(RESULT, "confidence_percent", Some(json!(101))),
            expected_violation("/confidence", "maximum", "1.01 is greater than 1"),
        ),
        (
            with_field(RESULT, "confidence_percent", None),
            expected_violation("", "required", "the field `confidence` is missing"),
        ),
        (
            with_field(RESULT, "sources", Some(json!([7]))),
            expected_violation("/citations/0/ref", "type", "expected string, found number"),
        ),
        (
            with_field(RESULT, "sources", Some(json!("lead_123"))),
            expected_violation(
                "/sources",
                "additionalProperties",
                "unknown field `sources`",
            ),
        ),
        (
            with_field(REVIEW, "review_status", Some(json!("approved_with_edits"))),
            expected_violation(
                "/review_status",
                "enum",
                "`approved_with_edits` is not one of `approved`, `needs_edits`, `rejected`",
            ),
        ),
        (
            with_field(REVIEW, "issues", Some(json!([]))),
            expected_violation(
                "/required_edits",
                "minItems",
                "a review that is approved_with_edits needs at least one edit",
            ),
        ),
        (
            with_field(REVIEW, "mission_id", Some(json!("other"))),
            expected_violation(
                "/mission_id",
                "root_metadata",
                "`other` differs from the mission's mission_id, `uuid`",
            ),
        ),
    ];
    for (text, expected) in cases {
        let found = violation_fields(read_stored(&text, &mission()).unwrap_err());
        assert_eq!(found, [expected], "{text}");
    }
}

/// The example mission that other crates use in tests: every kind at least once, in stored form.
#[test]
fn the_example_mission_is_stored_in_its_canonical_text() {
    let artifacts: Vec<&str> = include_str!("../missions/waterfront.jsonl")
        .lines()
        .collect();
    let mut kinds = std::collections::BTreeSet::new();
    for text in artifacts {
        let stored = read_stored(text, &mission()).unwrap();
        assert_eq!(stored.canonical().unwrap(), text);
        kinds.insert(stored.as_ref().kind());
    }
    assert_eq!(Vec::from_iter(kinds), ArtifactKind::ALL);
}

/// B002-12: these five states have no transition, and every other state has one.
#[test]
fn b002_12_five_states_are_final() {
    let ends = MissionState::ALL.iter().filter(|state| state.is_final());
    let ends: Vec<&str> = ends.map(|state| state.as_str()).collect();
    let expected = [
        "completed",
        "rejected",
        "failed",
        "cancelled",
        "budget_exceeded",
    ];
    assert_eq!(ends, expected);
}
