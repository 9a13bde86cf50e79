//! Tests of the sources of values, and of the conditions that exclude sources.

use serde_json::json;

use super::*;

fn declared() -> Vec<Parameter> {
    serde_json::from_value(json!([
        {"name": "region", "type": "string", "required": true, "default": "us-east-1",
         "pattern": "^[a-z]{2}(-[a-z]+)+-[0-9]$"},
        {"name": "profile", "type": "string", "required": true, "description": "which", "example": "ops_ro"},
        {"name": "language", "type": "string", "enum": ["rust", "python"]},
        {"name": "limit", "type": "integer", "default": 10}
    ]))
    .unwrap()
}

fn object(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).unwrap()
}

fn now() -> Timestamp {
    Timestamp::parse("2026-06-17T10:30:00Z").unwrap()
}

fn request() -> RequestId {
    RequestId::parse("req-00000000-0000-4000-8000-000000000001").unwrap()
}

fn sources(bound: &Bound) -> Value {
    serde_json::to_value(&bound.sources).unwrap()
}

#[test]
fn each_value_comes_from_the_surest_source_which_is_recorded() {
    let declared = declared();
    let metadata: RequestMetadata = serde_json::from_value(json!({
        "project": {"language": "rust", "name": "shop"}, "environment": {"profile": "ops_env", "limit": 3}
    }))
    .unwrap();
    let collected = Collected::given(&declared, &object(json!({"limit": 5, "language": null})))
        .read("in eu-west-1", now())
        .inherit(
            &request(),
            &object(json!({"region": "eu-west-2", "profile": "ops_then"})),
        )
        .add_context(&metadata);
    let bound = collected.settle().unwrap();
    assert_eq!(
        Value::Object(bound.values.clone()),
        json!({"region": "eu-west-1", "profile": "ops_then", "language": "rust", "limit": 5})
    );
    assert_eq!(
        sources(&bound),
        json!({
            "region": {"from": "sentence", "words": "eu-west-1"},
            "profile": {"from": "session", "request_id": request()},
            "language": {"from": "request_context", "field": "project.language"},
            "limit": {"from": "given"},
        })
    );
    assert_eq!((bound.missing, bound.faults), (vec![], vec![]));
}

#[test]
fn what_nothing_gives_is_the_default_or_is_asked_for() {
    let declared = declared();
    let bound = Collected::given(&declared, &Map::new())
        .read("list them", now())
        .settle()
        .unwrap();
    assert_eq!(
        Value::Object(bound.values.clone()),
        json!({"region": "us-east-1", "limit": 10})
    );
    assert_eq!(
        sources(&bound),
        json!({"region": {"from": "default"}, "limit": {"from": "default"}})
    );
    let said: Vec<String> = bound.faults.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["`profile` is missing: which"]);
    assert_eq!(bound.missing, [Label::parse("profile").unwrap()]);
}

/// An optional parameter that was not understood causes a question, and hides no missing parameter.
#[test]
fn an_optional_value_that_was_not_understood_is_asked_about() {
    let declared: Vec<Parameter> = serde_json::from_value(json!([
        {"name": "limit", "type": "integer", "example": 5},
        {"name": "shelf", "type": "string", "required": true, "description": "where"},
    ]))
    .unwrap();
    let bound = Collected::given(&declared, &Map::new()).read("limit=many", now());
    let bound = bound.settle().unwrap();
    let said: Vec<String> = bound.faults.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[0].starts_with("`many` is not a value for `limit`"),
        "{said:?}"
    );
    assert_eq!(said[1], "`shelf` is missing: where");
    let missing: Vec<&str> = bound.missing.iter().map(Label::as_str).collect();
    assert_eq!(missing, ["limit", "shelf"]);
    let unclear = bound.unclear();
    assert_eq!(unclear.keys().collect::<Vec<_>>(), ["limit"]);
    let declined = object(json!({"limit": null, "shelf": "a"}));
    let bound = Collected::given(&declared, &declined).read("limit=many", now());
    let bound = bound.settle().unwrap();
    assert_eq!(bound.missing, []);
    assert_eq!(Value::Object(bound.values), json!({"shelf": "a"}));
}

/// A change of everything must not look like a change of the named things.
#[test]
fn words_that_no_parameter_takes_are_told_where_one_has_the_default() {
    let declared: Vec<Parameter> = serde_json::from_value(json!([
        {"name": "shelves", "type": "array", "default": []},
        {"name": "wing", "type": "string", "example": "w-2"},
    ]))
    .unwrap();
    let unread = |given: Value, text: &str| {
        let bound = Collected::given(&declared, &object(given)).read(text, now());
        bound.settle().unwrap().unread
    };
    let text = "empty sh-0a9c in w-3";
    assert_eq!(unread(json!({}), text), ["sh-0a9c"]);
    assert_eq!(
        unread(json!({"shelves": ["x"]}), text),
        Vec::<String>::new()
    );
    assert_eq!(unread(json!({}), "empty all in w-3"), Vec::<String>::new());
}

/// Neither the session nor the default replaces a value in the words that was not understood.
#[test]
fn words_that_were_not_understood_keep_other_sources_out() {
    let declared = declared();
    let earlier = object(json!({"region": "eu-west-2", "profile": "ops_then", "limit": 4}));
    let asked = |text: &str| {
        let bound = Collected::given(&declared, &Map::new())
            .read(text, now())
            .inherit(&request(), &earlier);
        let bound = bound.settle().unwrap();
        let missing: Vec<String> = bound.missing.iter().map(ToString::to_string).collect();
        (missing.join(","), Value::Object(bound.values))
    };
    let kept = json!({"profile": "ops_then", "limit": 4});
    assert_eq!(
        asked("and in Frankfurt?"),
        ("region".to_owned(), kept.clone())
    );
    assert_eq!(
        asked("and region=atlantis"),
        ("region".to_owned(), kept.clone())
    );
    assert_eq!(
        asked("and in us-west?"),
        ("region".to_owned(), kept.clone())
    );
    assert_eq!(
        asked("eu-west-1 or eu-west-3?"),
        ("region".to_owned(), kept)
    );
    let all = json!({"region": "eu-west-2", "profile": "ops_then", "limit": 4});
    assert_eq!(asked("and again?"), (String::new(), all.clone()));
    assert_eq!(asked("and for the old ones?"), (String::new(), all));
    let region = json!({"region": "eu-west-3", "profile": "ops_then", "limit": 4});
    assert_eq!(asked("and in eu-west-3?"), (String::new(), region));
}

#[test]
fn what_the_caller_gives_is_checked_and_needs_no_words() {
    let declared = declared();
    let given = object(json!({"region": "mars", "profil": "x"}));
    let faults = Collected::given(&declared, &given)
        .read("in eu-west-1", now())
        .settle()
        .unwrap_err();
    let said: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "`region` must match `^[a-z]{2}(-[a-z]+)+-[0-9]$`",
            "unknown parameter `profil`",
            "`profile` is missing: which",
        ]
    );
    let given = object(json!({"region": "eu-west-3", "profile": "x"}));
    let bound = Collected::given(&declared, &given)
        .read("region: mars", now())
        .settle()
        .unwrap();
    assert_eq!(bound.missing, []);
}

/// A value from another source is used only for an open parameter, and only if it is valid.
#[test]
fn a_drafted_value_is_bound_by_the_declaration() {
    let declared = declared();
    let label = |name: &str| Label::parse(name).unwrap();
    let model = || ValueSource::Model {
        model: "p/m".to_owned(),
    };
    let mut collected = Collected::given(&declared, &Map::new()).read("region: mars", now());
    let open: Vec<&str> = collected
        .open()
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(open, ["region", "profile"]);
    assert!(
        !collected.add(&label("region"), json!("eu-west-1"), model()),
        "the words are asked about"
    );
    assert!(!collected.resolve(&label("region"), json!("mars"), model()));
    assert!(!collected.add(&label("language"), json!("cobol"), model()));
    assert!(!collected.add(&label("profil"), json!("x"), model()));
    assert!(collected.resolve(&label("region"), json!("eu-west-1"), model()));
    assert!(collected.add(&label("profile"), json!("ops"), model()));
    assert!(!collected.add(&label("profile"), json!("other"), model()));
    let bound = collected.settle().unwrap();
    assert_eq!(bound.missing, []);
    assert_eq!(
        sources(&bound)["region"],
        json!({"from": "model", "model": "p/m"})
    );
}

/// Neither the default nor a value of the session is used if the words exclude it.
#[test]
fn a_value_that_the_words_leave_out_is_taken_from_no_source() {
    let declared = declared();
    let bound = |text: &str, earlier: Value| {
        let given = object(json!({"profile": "ops"}));
        let collected = Collected::given(&declared, &given).read(text, now());
        let earlier = object(earlier);
        collected.inherit(&request(), &earlier).settle().unwrap()
    };
    let asked = bound("in every region but us-east-1", json!({}));
    let said: Vec<String> = asked.faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "`but us-east-1` is not a value for `region`: it excludes something; name the values instead"
        ]
    );
    assert_eq!(asked.disregarded, ["but us-east-1"]);
    let session = json!({"language": "rust"});
    let other = bound("all but those in rust", session.clone());
    assert_eq!(other.values.get("language"), None);
    assert_eq!(other.disregarded, ["all but those in rust"]);
    let kept = bound("all but those in python", session);
    assert_eq!(kept.values["language"], "rust");
    assert_eq!(kept.disregarded, Vec::<String>::new());
}

/// An exclusion is reported until a parameter that it could belong to has another value.
#[test]
fn what_is_left_out_is_told_until_a_value_is_known() {
    let declared = declared();
    let left_out = |given: Value, text: &str| {
        let collected = Collected::given(&declared, &object(given)).read(text, now());
        collected.left_out()
    };
    let text = "in all regions but eu-west-2";
    let region = Label::parse("region").unwrap();
    assert_eq!(
        left_out(json!({}), text),
        [LeftOut {
            words: "but eu-west-2".to_owned(),
            parameters: vec![region],
        }]
    );
    assert_eq!(left_out(json!({"region": "eu-west-1"}), text), []);
    assert_eq!(left_out(json!({}), "in eu-west-1, not in eu-west-2"), []);
    let unknown = left_out(json!({}), "all of them, but leave box-7 alone");
    let parameters: Vec<usize> = unknown.iter().map(|left| left.parameters.len()).collect();
    assert_eq!(parameters, [0]);
}
