//! B003-11: sessions.

use serde_json::json;

use crate::home::{Home, ids, request_of};
use crate::packages::{SKILL, global_backups};

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
