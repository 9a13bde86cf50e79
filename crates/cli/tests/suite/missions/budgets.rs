//! Budgets stop a mission and keep its artifacts (B002-17).

use serde_json::json;

use super::{GOAL, KIND, held, keyed, look_only, order, path_of, shared};
use crate::home::{Home, eventually, ids};
use crate::service::Service;

/// B002-17: the time budget ends during a tool call. Nothing new starts; the artifacts remain, and can be replayed and
/// exported.
#[test]
fn b002_17_a_time_budget_ends_a_mission_and_keeps_its_artifacts() {
    let (_home, server, service) = keyed(held);
    let ann = server.key("ann");
    let mut order = order("m-1");
    order["time_budget_ms"] = json!(1_500);
    ann.post("/v1/missions", &order).expect(201);
    let _call = service.next();
    let mission = eventually("the end", || {
        let mission = ann.get(&path_of("m-1", "")).expect(200);
        (mission["state"] == "budget_exceeded").then_some(mission)
    });
    assert_eq!(mission["reason"], "it timed out");
    let listed = ann.get(&path_of("m-1", "/artifacts")).expect(200);
    let kinds = ids(&listed["entries"], "kind");
    assert_eq!(kinds.last().unwrap(), "librarian_pass", "{kinds:?}");
    let replayed = ann.post(&path_of("m-1", "/replay"), &json!({})).expect(200);
    assert_eq!(replayed["identical"], true, "{replayed:#}");
    ann.post(&path_of("m-1", "/cancel"), &json!({}))
        .fails(409, "illegal_transition");
}

/// The exit code of a waiting command reports the used-up budget.
#[test]
fn b002_17_the_exit_code_says_that_a_budget_was_used_up() {
    let service = Service::start();
    let home = Home::new();
    let folder = held(&service).write(&home.path("package"));
    assert_eq!(home.run(&["package", "register", &folder]).code, Some(0));
    let ran = home.run(&[
        "mission",
        "start",
        GOAL,
        "--type",
        KIND,
        "--model",
        "offline",
        "--wait",
        "--time-budget",
        "1500ms",
        "--output",
        "json",
    ]);
    let mission = ran.json(1);
    assert_eq!(mission["state"], "budget_exceeded");
    assert_eq!(mission["artifacts"], 7, "{mission:#}");
}

/// The offline provider uses no tokens, so the smallest budget is enough for it.
#[test]
fn the_offline_provider_uses_no_tokens() {
    let (server, _service) = shared(look_only);
    let ann = server.key("ann");
    let mut order = order("m-1");
    order["token_budget"] = json!(1);
    ann.post("/v1/missions", &order).expect(201);
    let mission = super::standing(&ann, "m-1", "completed");
    assert_eq!(
        (&mission["tokens"], &mission["token_budget"]),
        (&json!({"input": 0, "output": 0}), &json!(1))
    );
}
