//! What happened, and watching it happen.

use serde_json::{Value, json};

use crate::home::{Api, Home, eventually};
use crate::playbooks::{decide, keyed, settled, waiting};

fn topics(api: &Api, query: &str) -> Vec<(String, Value)> {
    let page = api.get(&format!("/v1/events{query}")).expect(200);
    let entries = page["entries"].as_array().unwrap().iter();
    let said = entries.map(|event| {
        let topic = event["topic"].as_str().unwrap().to_owned();
        (topic, event["data"].clone())
    });
    said.collect()
}

/// Ruling 28: every step of an approval is announced with the change itself, to its tenant only, and
/// names the approval and nothing of its call.
#[test]
fn ruling_28_every_step_of_an_approval_is_announced() {
    let (_home, server, service) = keyed();
    let run = waiting(&server);
    let [bob, eve] = ["bob", "eve"].map(|key| server.key(key));
    let approval = &run["approvals"][0];
    let about = json!({"approval_id": approval["approval_id"], "run_id": run["run_id"]});
    let said = |word: &str| (format!("approval.{word}"), about.clone());
    assert_eq!(topics(&bob, "?topic=approval"), [said("requested")]);
    decide(&bob, approval, "approve").expect(200);
    service.next().answer_with("{}");
    settled(&bob, &run, "completed");
    assert_eq!(
        topics(&bob, "?topic=approval"),
        [said("requested"), said("approved"), said("consumed")]
    );
    assert_eq!(topics(&bob, "?topic=approval.approved"), [said("approved")]);
    assert_eq!(topics(&bob, "?topic=appro"), []);
    assert_eq!(topics(&eve, "?topic=approval"), []);
    let statuses = topics(&bob, "?topic=run.status");
    let words: Vec<&str> = statuses
        .iter()
        .filter_map(|(_, data)| data["status"].as_str())
        .collect();
    let way = [
        "awaiting_confirmation",
        "working",
        "awaiting_approval",
        "working",
        "completed",
    ];
    assert_eq!(words, way);
    let all = bob.get("/v1/events").expect(200);
    let rest = format!("?after={}", all["next"]);
    assert_eq!(topics(&bob, &rest), []);
    bob.get("/v1/events?after=x").fails(400, "invalid_request");
}

/// A watcher sees what happens as it happens, may take up where it stopped, and does not keep the server
/// from ending.
#[test]
fn events_are_followed_as_they_happen() {
    let (home, server, service) = keyed();
    let url = server.api.base.clone();
    let watch = |arguments: &[&str]| {
        let home = Home::new().with("CHARTER_API_KEY", "bob");
        let fixed = [
            "--server", &url, "events", "--follow", "--topic", "approval",
        ];
        let watched = home.watch(&[&fixed[..], arguments].concat());
        (home, watched)
    };
    let (_one, all) = watch(&["--after", "0"]);
    let run = waiting(&server);
    let first = all.next();
    assert_eq!(first["topic"], "approval.requested");
    let id = first["id"].as_str().unwrap();
    let (_two, mut rest) = watch(&["--after", id]);
    decide(&server.key("bob"), &run["approvals"][0], "reject").expect(200);
    for watched in [&all, &rest] {
        let next = watched.next();
        assert_eq!(next["topic"], "approval.rejected");
        assert_eq!(next["data"]["run_id"], run["run_id"]);
    }
    assert_eq!(server.terminate(), Some(0));
    eventually("the end of the stream", || rest.has_ended().then_some(()));
    assert!(!service.was_called());
    drop(home);
}
