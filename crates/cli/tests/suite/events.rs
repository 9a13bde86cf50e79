//! Events: listed and followed.

use serde_json::{Value, json};

use crate::home::{Api, Home, eventually, ids};
use crate::missions::streamed;
use crate::playbooks::{decide, keyed, path_of, settled, shared, waiting, waiting_run_of};

fn topics(api: &Api, query: &str) -> Vec<(String, Value)> {
    let page = api.get(&format!("/v1/events{query}")).expect(200);
    let entries = page["entries"].as_array().unwrap().iter();
    let said = entries.map(|event| {
        let topic = event["topic"].as_str().unwrap().to_owned();
        (topic, event["data"].clone())
    });
    said.collect()
}

/// Ruling 28: every step of an approval is announced atomically with the change, to its tenant only. The event contains
/// the approval's id and nothing of its call.
#[test]
fn ruling_28_every_step_of_an_approval_is_announced() {
    let (server, service) = shared();
    let run = waiting_run_of(&server.key("ann"));
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
    let way = ["awaiting_approval", "working", "completed"];
    assert_eq!(words, way);
    let all = bob.get("/v1/events").expect(200);
    let rest = format!("?after={}", all["next"]);
    assert_eq!(topics(&bob, &rest), []);
    bob.get("/v1/events?after=x").fails(400, "invalid_request");
}

/// Runs are listed by their properties; each is shown with its state after any of its events, to its tenant only; an
/// approval contains its run's title.
#[test]
fn runs_are_found_by_what_they_are_and_shown_as_they_stood() {
    let (server, _service) = shared();
    let run = waiting_run_of(&server.key("ann"));
    let [ann, eve] = ["ann", "eve"].map(|key| server.key(key));
    let listed = |query: &str| {
        ids(
            &ann.get(&format!("/v1/runs?{query}")).expect(200)["entries"],
            "run_id",
        )
    };
    let shown = ann.get(&path_of(&run, "")).expect(200);
    let title = shown["title"].as_str().unwrap();
    let of_title = format!("title={}", title.split_once(' ').unwrap().1.to_uppercase());
    for query in [
        "status=awaiting_approval",
        "status=open",
        "origin=playbook",
        &of_title,
    ] {
        assert_eq!(listed(query), [run["run_id"].as_str().unwrap()], "{query}");
    }
    for query in [
        "status=ended",
        "origin=mission",
        "title=nothing",
        "created_until=2001-01-01T00:00:00Z",
    ] {
        assert_eq!(listed(query), [""; 0], "{query}");
    }
    ann.get("/v1/runs?status=done")
        .fails(400, "invalid_request");
    ann.get("/v1/runs?origin=whim")
        .fails(400, "invalid_request");
    let approvals = ann.get("/v1/approvals").expect(200);
    assert_eq!(approvals["entries"][0]["run_title"], title);
    let journal = ann.get(&path_of(&run, "/events?limit=1000")).expect(200);
    for event in journal["entries"].as_array().unwrap() {
        let at = format!("/at/{}", event["sequence"]);
        let stood = ann.get(&path_of(&run, &at)).expect(200);
        assert_eq!(
            (&stood["status"], &stood["at"]),
            (&event["status"], &event["at"])
        );
    }
    let last = format!("/at/{}", shown["version"]);
    let stood = ann.get(&path_of(&run, &last)).expect(200);
    assert_eq!(
        (&stood["steps"], &stood["outcome"]),
        (&shown["steps"], &shown["outcome"])
    );
    ann.get(&path_of(&run, "/at/0")).fails(404, "not_found");
    ann.get(&path_of(&run, "/at/99")).fails(404, "not_found");
    eve.get(&path_of(&run, &last)).fails(404, "not_found");
}

/// A run's journal is read by page, and streamed until the run ends. Each event carries the run's status after it. The
/// steps list what they wait for.
#[test]
fn a_run_is_followed_to_its_end() {
    let (server, service) = shared();
    let run = waiting_run_of(&server.key("ann"));
    let [ann, eve] = ["ann", "eve"].map(|key| server.key(key));
    let path = path_of(&run, "/events");
    let told = std::thread::scope(|scope| {
        let following = scope.spawn(|| streamed(&ann, &path, None));
        decide(&server.key("bob"), &run["approvals"][0], "approve").expect(200);
        service.next().answer_with("{}");
        following.join().unwrap()
    });
    let page = ann.get(&format!("{path}?limit=1000")).expect(200);
    let data: Vec<&Value> = told.iter().map(|(_, _, data)| data).collect();
    let journal: Vec<&Value> = page["entries"].as_array().unwrap().iter().collect();
    assert_eq!(data, journal);
    let shown = settled(&ann, &run, "completed");
    assert_eq!(
        ids(&shown["events"], "event"),
        ids(&page["entries"], "event")
    );
    let moves = told.iter().filter(|(name, ..)| name == "status");
    let moves: Vec<&Value> = moves.map(|(_, _, data)| &data["status"]).collect();
    let way = json!(["working", "awaiting_approval", "working", "completed"]);
    assert_eq!(json!(moves), way);
    assert_eq!(streamed(&ann, &path, Some("2")), told[2..]);
    let page = ann.get(&format!("{path}?after=2&limit=1")).expect(200);
    assert_eq!((&page["entries"][0], &page["next"]), (data[2], &json!(3)));
    let claims = shown["steps"].as_array().unwrap().iter();
    let claims = claims.map(|step| step["entry"]["edges"].clone());
    assert!(claims.clone().all(|claims| claims.is_array()), "{shown:#}");
    eve.get(&path).fails(404, "not_found");
    let headers = [("accept", "text/event-stream")];
    let refused = eve.call("GET", &path, &headers, Vec::new());
    refused.fails(404, "not_found");
}

/// A watcher sees events as they happen, can resume, and does not delay the server's stop.
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
