//! Forms of declarations, limits, and arbitrary texts.

use charter_contract::bounds::{SENTENCE_BYTES, SENTENCE_WORK};
use charter_contract::parameter::Parameter;
use charter_contract::time::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{NOW, asks, reading, states, told};
use crate::parameters::sentence::read;

/// Returns the value in a text for one parameter with a pattern.
fn found(pattern: &str, text: &str) -> Option<String> {
    let declared = json!([{"name": "it", "type": "string", "pattern": pattern}]);
    let (values, _) = told(&reading(&declared, text));
    Some(values.get("it")?.as_str().unwrap().to_owned())
}

/// A pattern that matches ordinary words would match the first word of the question.
#[test]
fn a_pattern_that_ordinary_words_fit_finds_nothing_unnamed() {
    let text = "Which of the vaults did Mary-Ann purge with svc-42 on Tuesday, and WHY?";
    for pattern in [
        "^[a-z][a-z0-9-]{0,62}$",
        "^[a-z]+$",
        "[a-z]+",
        r"^\w+$",
        r"\S+",
        ".*",
        "^[^ ]+$",
        "^[A-Za-z0-9_.-]{1,63}$",
        "^[A-Z][a-z]+$",
        "^[A-Z]{3}$",
        "^[A-Z]+$",
        "^[0-9a-f]+$",
        "^[a-z]+(-[a-z]+)*$",
        "^[A-Z][a-z]+-[A-Z][a-z]+$|^[a-z]{2,}-[a-z]{2,}$",
        r"^\p{L}+$",
        "^p[a-z]+$",
        "^[a-z]+ge$",
        "^(svc-[0-9]+|[a-z]+)$",
        "(?i)^V[A-Z]{3,}S$",
    ] {
        assert_eq!(found(pattern, text), None, "{pattern}");
    }
}

#[test]
fn a_pattern_of_codes_finds_its_code() {
    for (pattern, text, value) in [
        (
            "^[a-z]{2}(-[a-z]+)+-[0-9]+$",
            "open in ap-southeast-2?",
            "ap-southeast-2",
        ),
        (
            "^sg-[0-9a-f]{8,17}$",
            "lock sg-0a1b2c3d, please",
            "sg-0a1b2c3d",
        ),
        ("sg-[0-9a-f]+", "lock sg-deadbeef now", "sg-deadbeef"),
        (
            "^[0-9]{12}$",
            "in the account 111122223333.",
            "111122223333",
        ),
        ("^[A-Z]{2,5}-[0-9]+$", "WHO works on OPS-123?", "OPS-123"),
        ("^lead_[0-9]+$", "show lead_101", "lead_101"),
        ("^v[0-9]+(\\.[0-9]+)*$", "what is new in v2.14?", "v2.14"),
        (
            "^[^@ ]+@[^@ ]+$",
            "remind ann@example.com of it",
            "ann@example.com",
        ),
        (
            "^arn:aws:[a-z0-9]+:.*$",
            "who may read arn:aws:s3:::b",
            "arn:aws:s3:::b",
        ),
        ("^(prod|staging)$", "what is new on staging", "staging"),
        ("^(PROD|STAGING)$", "what is new on PROD?", "PROD"),
        ("^[0-9a-f]{8}$", "the commit 0a1b2c3d broke it", "0a1b2c3d"),
    ] {
        assert_eq!(found(pattern, text).as_deref(), Some(value), "{pattern}");
    }
}

#[test]
fn words_of_any_script_are_ordinary() {
    assert_eq!(found("^[а-я]+$", "кому принадлежит сервис"), None);
    assert_eq!(
        found("^[а-я]{2}[0-9]+$", "кому нужен аб42").as_deref(),
        Some("аб42")
    );
}

/// Two parameters of one form are distinguished by prepositions, or have no value.
#[test]
fn of_two_parameters_of_one_form_neither_has_a_word_that_may_be_either() {
    let declared = json!([
        {"name": "source_bucket", "type": "string", "example": "bkt-001"},
        {"name": "target_bucket", "type": "string", "example": "bkt-001"},
    ]);
    states(
        &declared,
        &[
            (
                "copy from bkt-007 to bkt-008",
                json!({"source_bucket": "bkt-007", "target_bucket": "bkt-008"}),
            ),
            ("copy bkt-007", json!({})),
            ("source bucket bkt-007", json!({"source_bucket": "bkt-007"})),
        ],
    );
    let plain = json!([
        {"name": "region", "type": "string", "example": "eu-west-1"},
        {"name": "backup_region", "type": "string", "example": "eu-west-1"},
    ]);
    states(
        &plain,
        &[
            ("in us-east-2", json!({"region": "us-east-2"})),
            (
                "in us-east-2 with backup region us-west-2",
                json!({"region": "us-east-2", "backup_region": "us-west-2"}),
            ),
        ],
    );
}

#[test]
fn a_value_that_fits_the_example_and_not_the_pattern_is_not_used() {
    let declared =
        json!([{"name": "code", "type": "string", "pattern": "^X[0-9]{3}$", "example": "X123"}]);
    states(&declared, &[("code X555", json!({"code": "X555"}))]);
    asks(
        &declared,
        &[
            ("code=Y555", json!({}), &["code"]),
            ("code X5555", json!({}), &["code"]),
        ],
    );
}

/// A map is written as JSON.
#[test]
fn a_map_is_read_as_json() {
    let declared = json!([
        {"name": "filter", "type": "object"},
        {"name": "order", "type": "string", "example": "A-1002"},
    ]);
    states(
        &declared,
        &[
            (
                r#"with filter={"state": "open", "in": {"a": "}"}} for A-1003"#,
                json!({"filter": {"state": "open", "in": {"a": "}"}}, "order": "A-1003"}),
            ),
            (
                r#"{"filter": {"state": "new"}} please"#,
                json!({"filter": {"state": "new"}}),
            ),
            ("filter: {}", json!({"filter": {}})),
            ("filter the open ones", json!({})),
            ("filter {x}", json!({})),
            ("filter={open", json!({})),
        ],
    );
    asks(&declared, &[("filter={open}", json!({}), &["filter"])]);
}

/// A server's own name for a parameter counts as its name.
#[test]
fn the_name_of_a_server_counts() {
    let declared = json!([{"name": "max_results", "wire_name": "maxResults", "type": "integer"}]);
    states(
        &declared,
        &[
            ("maxResults=5", json!({"max_results": 5})),
            ("max results 5", json!({"max_results": 5})),
            ("max-results: 5", json!({"max_results": 5})),
            ("the first 5 results", json!({"max_results": 5})),
        ],
    );
}

#[test]
fn what_lies_beyond_the_limit_of_a_sentence_is_not_read() {
    let declared = json!([{"name": "order", "type": "string", "example": "A-1002"}]);
    let padded = |bytes: usize| format!("{}A-1003", "x ".repeat(bytes / 2));
    let (near, _) = told(&reading(&declared, &padded(SENTENCE_BYTES - 100)));
    assert_eq!(near, json!({"order": "A-1003"}));
    let (far, _) = told(&reading(&declared, &padded(SENTENCE_BYTES)));
    assert_eq!(far, json!({}));
}

/// With many parameters, a shorter part of the text is searched, so that a request is read in bounded time.
#[test]
fn the_more_parameters_the_shorter_the_text_that_is_read() {
    let count = 4 * SENTENCE_WORK / SENTENCE_BYTES;
    let others = (1..count).map(|at| json!({"name": format!("flag_{at}"), "type": "boolean"}));
    let order = json!({"name": "order", "type": "string", "example": "A-1002"});
    let declared: Value = others.chain([order]).collect();
    let padded = |bytes: usize| format!("{}A-1003", "x ".repeat(bytes / 2));
    let limit = SENTENCE_WORK / count;
    let (near, _) = told(&reading(&declared, &padded(limit - 100)));
    assert_eq!(near, json!({"order": "A-1003"}));
    let (far, _) = told(&reading(&declared, &padded(limit)));
    assert_eq!(far, json!({}));
}

/// A word that looks like a value but is invalid for every parameter is reported, with the parameters that it could
/// belong to.
#[test]
fn words_that_may_be_values_are_reported() {
    let declared = json!([
        {"name": "region", "type": "string", "example": "eu-west-1"},
        {"name": "team", "type": "string", "example": "platform"},
        {"name": "count", "type": "integer"},
    ]);
    let told = |text: &str| {
        let reading = reading(&declared, text);
        let unread = reading.unread.iter();
        let unread = unread.map(|one| {
            (
                one.word.clone(),
                one.parameters
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(","),
            )
        });
        unread.collect::<Vec<_>>()
    };
    let one = |word: &str, of: &str| vec![(word.to_owned(), of.to_owned())];
    assert_eq!(told("and in somewhere?"), one("somewhere", "region"));
    assert_eq!(told("and for riverside?"), one("riverside", "region,team"));
    assert_eq!(told("and x-99?"), one("x-99", "region,team,count"));
    assert_eq!(told("and Riverside?"), one("Riverside", "region,team"));
    assert_eq!(
        told("what about Riverside"),
        one("Riverside", "region,team")
    );
    // A code within the sentence is assigned to the parameters that it resembles.
    assert_eq!(
        told("list those of ticket x-99 again"),
        one("x-99", "team,count")
    );
    assert_eq!(told("buckets and databases?"), vec![]);
    assert_eq!(told("with region=eu-west-2"), vec![]);
    assert_eq!(told("and in eu-west-2?"), vec![]);
    assert_eq!(told("and for the buckets?"), vec![]);
    assert_eq!(told("again please"), vec![]);
}

fn every_form() -> Vec<Parameter> {
    serde_json::from_value(json!([
        {"name": "region", "type": "string", "example": "eu-west-1", "pattern": "^[a-z]{2}(-[a-z]+)+-[0-9]+$"},
        {"name": "order", "type": "string", "example": "A-1002"},
        {"name": "profile", "type": "string", "example": "prod_infra"},
        {"name": "city", "type": "string", "example": "Berlin"},
        {"name": "reason", "type": "string"},
        {"name": "stage", "type": "string", "enum": ["open", "in progress"]},
        {"name": "amount_eur", "type": "number"},
        {"name": "min_age_days", "type": "integer"},
        {"name": "since", "type": "string", "example": "2026-01-31"},
        {"name": "window", "type": "string", "example": "7d"},
        {"name": "dry_run", "type": "boolean"},
        {"name": "ids", "type": "array", "example": ["sg-0a1b2c3d"]},
        {"name": "filter", "type": "object"},
    ]))
    .unwrap()
}

proptest! {
    /// A pattern of letters alone finds nothing, for any length and beginning of words.
    #[test]
    fn a_pattern_of_letters_finds_nothing(length in 1_usize..20, first in "[a-z]", text in "[a-z ]{0,60}") {
        prop_assert_eq!(found(&format!("^[a-z]{{{length}}}$"), &text), None);
        prop_assert_eq!(found(&format!("^{first}[a-z]*$"), &text), None);
    }

    /// Any text can be read, and every value is valid for its declaration.
    #[test]
    fn any_text_is_read_and_every_value_fits(text in r"(\PC|[ ,.:='\x22]|since|euros|[0-9]|A-1002|in |not |profile|days){0,60}") {
        let declared = every_form();
        let reading = read(&declared, &text, Timestamp::parse(NOW).unwrap());
        for (name, stated) in &reading.stated {
            let parameter = declared.iter().find(|parameter| parameter.name == *name).unwrap();
            prop_assert!(parameter.fits(&stated.value));
            prop_assert!(text.contains(&stated.words));
        }
    }

    /// An explicit value is accepted at any position of the sentence.
    #[test]
    fn a_written_value_is_taken(value in "[a-z]{2,8}_[a-z0-9]{1,8}", before in "(please |look |show me all |){0,2}", after in "( now|, thanks| please|)") {
        let declared = every_form();
        let text = format!("{before}profile={value}{after}");
        let reading = read(&declared, &text, Timestamp::parse(NOW).unwrap());
        let (values, _) = told(&reading);
        prop_assert_eq!(values.get("profile"), Some(&Value::String(value)));
    }
}

/// "Order #A-1003" is the order A-1003, unless the example has the sign.
#[test]
fn a_number_sign_announces_a_code() {
    let declared = json!([{"name": "order", "type": "string", "example": "A-1002"}]);
    let order = json!({"order": "A-1003"});
    states(&declared, &[("refund order #A-1003 in full", order)]);
    let declared = json!([{"name": "ticket", "type": "string", "example": "#4711"}]);
    let ticket = json!({"ticket": "#4712"});
    states(&declared, &[("close #4712", ticket)]);
    assert_eq!(found("^[0-9]{4}$", "close #4712"), Some("4712".to_owned()));
}

/// "The tea kettle" may be a kind of kettle or the name of one; an example shows that words are names.
#[test]
fn a_word_before_a_name_of_which_no_value_is_known_is_no_value() {
    let unknown = json!([{"name": "kettle", "type": "string", "description": "which one"}]);
    states(
        &unknown,
        &[
            ("clean the tea kettle", json!({})),
            ("clean the \"tea\" kettle", json!({"kettle": "tea"})),
            ("clean the kettle called tea", json!({"kettle": "tea"})),
            ("clean the K-7 kettle", json!({"kettle": "K-7"})),
        ],
    );
    let shown = json!([{"name": "kettle", "type": "string", "example": "kitchen"}]);
    states(
        &shown,
        &[("clean the lobby kettle", json!({"kettle": "lobby"}))],
    );
}
