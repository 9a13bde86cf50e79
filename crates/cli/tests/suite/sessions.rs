//! B003-11: sessions.

use serde_json::{Value, json};

use crate::home::{Home, ids, request, request_of};
use crate::packages::{SKILL, global_backups};
use crate::quickstart::{self, Simulator, compared};

/// B003-11
#[test]
fn b003_11_an_unknown_or_foreign_session_is_refused() {
    let home = Home::with_keys(&[
        ("ann", "acme", "ann", "admin"),
        ("bob", "acme", "bob", "user"),
        ("uma", "umbra", "uma", "user"),
    ]);
    let server = home.serve();
    let ann = server.key("ann");
    ann.register(&global_backups());
    let session = ann.post("/v1/sessions", &json!({})).expect(201)["session_id"].clone();
    let mut asked = request_of(SKILL, json!({}));
    asked["session_id"] = session.clone();
    for stranger in ["bob", "uma"] {
        server
            .key(stranger)
            .ask(&asked)
            .fails(404, "session_not_found");
    }
    let mut lost = request_of(SKILL, json!({}));
    lost["session_id"] = json!("sess-01930000-0000-7000-8000-000000000001");
    ann.ask(&lost).fails(404, "session_not_found");
    // A refused request was not recorded under its id.
    ann.get(&format!("/v1/requests/{}", lost["id"].as_str().unwrap()))
        .fails(404, "not_found");
    let answer = ann.ask(&asked).expect(200);
    let shown = ann
        .get(&format!("/v1/sessions/{}", session.as_str().unwrap()))
        .expect(200);
    assert_eq!(
        ids(&shown["turns"], "request_id"),
        [asked["id"].as_str().unwrap()]
    );
    assert_eq!(shown["turns"][0]["output"], answer["content"]);
}

/// The question is asked again with what the new text replaces; the verdict says so. The findings are
/// those that an independent script counts in the region meant.
#[test]
fn b003_11_a_short_text_takes_up_what_the_session_asked_before() {
    let simulator = Simulator::start();
    let home = simulator.granted_to(Home::new());
    let server = home.serve();
    quickstart::register(&home);
    let api = &server.api;
    let session = api.post("/v1/sessions", &json!({})).expect(201)["session_id"].clone();
    let ask = |text: &str| {
        let mut asked = request(text);
        asked["session_id"] = session.clone();
        let answer = api.ask(&asked).expect(200);
        (asked["id"].clone(), answer["metadata"].clone())
    };
    let expected = |region: &str| simulator.expected(region);
    let (first, answer) = ask("Which of my security groups in eu-west-1 are open to the internet?");
    assert_eq!(compared(&answer["findings"]), expected("eu-west-1"));
    assert_eq!(answer["verdict"]["follows"], Value::Null);
    let (second, answer) = ask("And the other region?");
    assert_eq!(compared(&answer["findings"]), expected("us-east-1"));
    let verdict = &answer["verdict"];
    assert_eq!(verdict["kind"], "narrow", "{verdict:#}");
    assert_eq!(verdict["follows"]["request_id"], first, "{verdict:#}");
    let reason = verdict["reason"].as_str().unwrap();
    let said = format!(
        "a follow-up of `{}`, because it is short, begins with `and` and",
        first.as_str().unwrap()
    );
    assert!(reason.starts_with(&said), "{reason}");
    // A row of follow-ups rests on the question that began it.
    let (_, answer) = ask("and in eu-west-1 again?");
    assert_eq!(compared(&answer["findings"]), expected("eu-west-1"));
    assert_eq!(answer["verdict"]["follows"]["request_id"], second);
    let query = answer["verdict"]["query"].as_str().unwrap();
    assert_eq!(
        query,
        "Which of my security groups in eu-west-1 are open to the internet?\nand in eu-west-1 again?"
    );
    // What stands alone is not joined to anything.
    let (_, answer) = ask("and are any S3 buckets readable by the public?");
    assert_eq!(
        answer["verdict"]["candidates"][0]["id"],
        "security.detect_public_storage_access"
    );
    assert_eq!(answer["verdict"]["follows"], Value::Null);
    // Without the session there is nothing to lean on.
    let alone = api.ask(&request("And the other region?"));
    assert_eq!(alone.body["metadata"]["verdict"]["follows"], Value::Null);
    assert_ne!(alone.body["metadata"]["verdict"]["kind"], "narrow");
}
