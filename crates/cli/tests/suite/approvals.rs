//! The queue of decisions at the command line.

use std::thread;

use serde_json::{Value, json};

use crate::home::request;
use crate::playbooks::{PLAYBOOK, keyed, settled, shared, waiting_run_on};
use crate::seeds::speaking_to;

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value:#}"))
}

/// A terminal shows the call, and binds its digest to the answer.
#[test]
fn a_decision_is_taken_on_a_terminal_about_the_call_that_it_shows() {
    let (server, service) = shared();
    let run = waiting_run_on(&server.key("ann"), "main");
    let bob = speaking_to(&server.key("bob"));
    let line = r"printf 'd\ny\n' | script -qec 'charter approvals' /dev/null";
    let ran = thread::scope(|scope| {
        let asked = scope.spawn(|| bob.shell(line));
        service.next().answer_with("{}");
        asked.join().unwrap()
    });
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let digest = text(&run["approvals"][0]["digest"]);
    for part in [
        "vault.purge",
        "\"vault\": \"main\"",
        "because",
        digest,
        "is completed",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    let again = bob.shell("script -qec 'charter approvals' /dev/null");
    assert!(again.out.contains("No decision waits."), "{again:?}");
}

/// Confirmations are in the queue; an id is found by its first characters; the exit code tells that a run waits.
#[test]
fn confirmations_and_approvals_are_one_queue() {
    let (_home, server, _service) = keyed();
    let ann = server.key("ann");
    let home = speaking_to(&ann);
    let empty = home.run(&["approvals", "list"]);
    assert_eq!((empty.code, empty.out.trim()), (Some(0), "(none)"));
    let mut asked = request("purge the vault for good");
    let parameters = json!({"vault": "main"});
    asked["metadata"] = json!({"playbook_id": PLAYBOOK, "parameters": parameters, "confirm": true});
    let answer = ann.ask(&asked).expect(200);
    let run = json!({"run_id": answer["metadata"]["run_ids"][0]});
    let run = settled(&ann, &run, "awaiting_confirmation");
    let (id, digest) = (text(&run["run_id"]), text(&run["plan_digest"]));
    let listed = home.run(&["approvals", "--output", "json"]).json(3);
    assert_eq!(listed["entries"], json!([]));
    let waiting = &listed["confirmations"][0];
    assert_eq!(
        (text(&waiting["run_id"]), text(&waiting["requested_by"])),
        (id, "ann")
    );
    let unseen = home.run(&["approvals", "approve", &id[..12]]);
    assert_eq!(unseen.code, Some(2), "{unseen:?}");
    assert!(unseen.err.contains("--digest"), "{unseen:?}");
    let confirm = ["approvals", "approve", &id[..12], "--digest", digest];
    let confirmed = home.run(&[&confirm[..], &["--output", "json"]].concat());
    assert_eq!(confirmed.json(3)["status"], "awaiting_approval");
    let listed = home.run(&["approvals", "list", "--output", "json"]).json(0);
    assert_eq!(listed["confirmations"], json!([]));
    let approval = text(&listed["entries"][0]["approval_id"]);
    let shown = home.run(&["approvals", "show", "apr-", "--output", "json"]);
    assert_eq!(shown.json(0)["approval_id"], approval);
    let rejected = home.run(&[
        "approvals",
        "reject",
        approval,
        "--digest",
        text(&listed["entries"][0]["digest"]),
        "--output",
        "json",
    ]);
    assert_ne!(rejected.json(0)["status"], "awaiting_approval");
}
