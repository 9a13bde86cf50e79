//! Missions for their users: started, watched, inspected, replayed, cancelled. The offline provider answers, so the
//! results are known.

mod briefs;
mod budgets;
mod decisions;
mod exchange;
mod external;
mod stored;
mod webhooks;

use serde_json::{Value, json};

use crate::home::{Api, Home, Server, eventually, ids};
use crate::packages::{Package, TOOL_FILE, backups};
use crate::playbooks::KEYS;
use crate::service::Service;
use crate::shared::Tenants;

/// The beginning of the policy of the package with a rule that permits everything but missions.
pub(crate) const OTHER_RUNS: &str = "cedar: |\n  @id(\"others\")\n  permit (principal, action, resource)\n  \
                                     unless { context.run.kind == RunKind::\"mission\" };\n\n";

/// The mission type of the package.
pub(crate) const KIND: &str = "backup_review";
pub(crate) const GOAL: &str = "Which backups have grown stale?";
pub(crate) const POLICY_FILE: &str = "policies/missions.yaml";
pub(crate) const KIND_FILE: &str = "missions/review.yaml";

const REVIEW: &str = r#"mission_type: backup_review
domain: reliability
title: Backup review
description: Which backups have grown stale, and which of them may go.
sensitivity_class: internal
requested_outputs: [reviewed_summary, writeback_proposal]
resource_families:
  vault.backups:
    description: Backups with their age.
    tools: [vault.list_backups]
write_backs:
  - action_type: backup_expiry
    target_entity_type: aws.backup
    description: Marks a stale backup for deletion.
    by: {tool: vault.expire}
    parameters: {backup: "${target_entity_id}"}
"#;

const POLICY: &str = r#"policy_id: reliability.missions
domain: reliability
title: What missions may do with backups
governs: ["vault.*"]
cedar: |
  @id("look")
  permit (principal, action in Action::"read", resource)
  when { context.run.kind == RunKind::"mission" };

  @id("approved")
  permit (principal, action == Action::"vault.expire", resource)
  when { context.run.kind == RunKind::"mission" && context.run.approved };
"#;

/// A tool that writes by calling the service.
fn expire_tool(address: &str) -> String {
    format!(
        "tool_id: vault.expire\nname: expire\nprovider: aws\ntool_class: write\ndomain: reliability\n\
         description: Marks a backup for deletion.\nlanguage: http\nexecution_target: server\n\
         parameters: [{{name: backup, type: string, required: true, description: the backup}}]\n\
         implementation: {{type: http, method: POST, url: \"http://{address}/expire\", body: {{backup: \"${{backup}}\"}}}}\n\
         egress: [\"{address}\"]\n"
    )
}

/// The backups with a mission type over them, whose one write calls the service.
pub(crate) fn review(service: &Service) -> Package {
    let parameter = "{name: vault, type: string, required: true, description: the vault";
    backups()
        .edit(TOOL_FILE, parameter, &format!("{parameter}, default: main"))
        .with(KIND_FILE, REVIEW)
        .with(POLICY_FILE, POLICY)
        .with("tools/expire.yaml", &expire_tool(service.address()))
}

/// The same package without any write-back.
pub(crate) fn look_only(service: &Service) -> Package {
    let write_backs = REVIEW.split_once("write_backs:").unwrap().1;
    let write_backs = format!("write_backs:{write_backs}");
    review(service)
        .edit(KIND_FILE, &write_backs, "")
        .edit(KIND_FILE, ", writeback_proposal", "")
}

/// The same package, but the tool that is read calls the service, which holds it back.
pub(crate) fn held(service: &Service) -> Package {
    let address = service.address();
    look_only(service)
        .edit(TOOL_FILE, "language: python", "language: http")
        .edit(
            TOOL_FILE,
            "implementation: {type: script, path: scripts/list_backups.py}",
            &format!(
                "implementation: {{type: http, method: POST, url: \"http://{address}/backups\"}}\negress: [\"{address}\"]"
            ),
        )
}

/// The tenants of [`KEYS`] on the shared server, where requesters may approve their own missions' proposals.
pub(crate) fn shared(package: impl FnOnce(&Service) -> Package) -> (Tenants, Service) {
    let server = Tenants::with_keys(&KEYS);
    let service = Service::start();
    server.key("ann").register(&package(&service));
    (server, service)
}

/// The tenants of [`KEYS`] on a separate server, where another person must approve.
pub(crate) fn keyed(package: impl FnOnce(&Service) -> Package) -> (Home, Server, Service) {
    let home = Home::with_keys(&KEYS);
    let server = home.serve();
    let service = Service::start();
    server.key("ann").register(&package(&service));
    (home, server, service)
}

pub(crate) fn order(id: &str) -> Value {
    json!({"goal": GOAL, "mission_type": KIND, "mission_id": id, "model": "offline"})
}

pub(crate) fn path_of(id: &str, what: &str) -> String {
    format!("/v1/missions/{id}{what}")
}

/// The mission as soon as it is in this state.
#[track_caller]
pub(crate) fn standing(api: &Api, id: &str, state: &str) -> Value {
    let over = ["completed", "aborted", "incomplete", "failed"];
    let found = eventually(state, || {
        let shown = api.get(&path_of(id, "")).expect(200);
        let there = shown["state"] == state || over.contains(&shown["status"].as_str().unwrap());
        there.then_some(shown)
    });
    assert_eq!(found["state"], state, "{found:#}");
    found
}

/// A mission of Ann's that has ended.
pub(crate) fn done(api: &Api, id: &str) -> Value {
    api.post("/v1/missions", &order(id)).expect(201);
    standing(api, id, "completed")
}

/// The states of a mission in order, from its journal.
fn states(events: &Value) -> Vec<String> {
    let mut states = ids(events, "mission_state");
    states.dedup();
    states
}

const WAY: [&str; 7] = [
    "created",
    "planned",
    "prompted",
    "running",
    "aggregating",
    "reviewing",
    "completed",
];

const KINDS: [&str; 9] = [
    "mission_envelope",
    "mission_task_graph",
    "policy_decision",
    "prompt_package",
    "prompt_package",
    "prompt_package",
    "librarian_pass",
    "worker_result",
    "aggregation_packet",
];

/// B002-12 over the API: the states in order, the artifacts in order, and an output whose claims are based on them.
#[test]
fn b002_12_a_mission_goes_its_way_without_a_model() {
    let (server, _service) = shared(look_only);
    let uma = server.key("uma");
    let started = uma.post("/v1/missions", &order("m-1")).expect(201);
    assert_eq!(started["mission_id"], "m-1");
    let mission = standing(&uma, "m-1", "completed");
    assert_eq!(
        (
            &mission["goal"],
            &mission["mission_type"],
            &mission["offline"]
        ),
        (&json!(GOAL), &json!(KIND), &json!(true))
    );
    let output = &mission["output"];
    let claim = "b-1, high: The backup b-1 is 40 days old.";
    assert_eq!(
        output["summary"],
        format!("1 finding on 1 backup: 1 high.\nMost serious first:\n1. {claim}"),
        "{mission:#}"
    );
    assert_eq!(
        output["claims"],
        json!([{"claim": claim, "support_refs": ["wrk.look_1", "call.look_1.1.1"]}])
    );
    let tasks: Vec<String> = ids(&mission["tasks"], "state");
    assert!(
        tasks.iter().all(|state| state == "succeeded"),
        "{mission:#}"
    );
    let events = uma.get(&path_of("m-1", "/events")).expect(200);
    assert_eq!(states(&events["entries"]), WAY);
    let listed = uma.get(&path_of("m-1", "/artifacts")).expect(200);
    let kinds = ids(&listed["entries"], "kind");
    assert_eq!(kinds[..KINDS.len()], KINDS);
    assert_eq!(kinds[KINDS.len()..], ["review_packet"]);
    for entry in listed["entries"].as_array().unwrap() {
        let producer = entry["artifact"]["producer"].as_str().unwrap();
        let by_model = [
            "worker_agent",
            "aggregator_agent",
            "reviewer_agent",
            "planner_agent",
        ];
        assert!(!by_model.contains(&producer), "{entry:#}");
        let (kind, id) = (&entry["kind"], &entry["artifact_id"]);
        let one = format!(
            "/artifacts/{}/{}",
            kind.as_str().unwrap(),
            id.as_str().unwrap()
        );
        assert_eq!(&uma.get(&path_of("m-1", &one)).expect(200), entry);
    }
}

/// B002-1, B002-3: a page of artifacts starts after the previous one, and has one kind or task if requested.
#[test]
fn artifacts_are_paged_and_chosen() {
    let (server, _service) = shared(look_only);
    let ann = server.key("ann");
    done(&ann, "m-1");
    let page = |query: &str| {
        let path = path_of("m-1", &format!("/artifacts{query}"));
        let page = ann.get(&path).expect(200);
        (ids(&page["entries"], "artifact_id"), page["next"].clone())
    };
    let (all, next) = page("");
    assert_eq!((all.len(), next), (10, Value::Null));
    let (first, next) = page("?limit=4");
    assert_eq!((first.as_slice(), &next), (&all[..4], &json!(4)));
    let (rest, next) = page("?limit=6&after=4");
    assert_eq!((rest.as_slice(), &next), (&all[4..], &Value::Null));
    let packages = ["pkg.look_1", "pkg.aggregate", "pkg.review"];
    assert_eq!(page("?kind=prompt_package").0, packages);
    assert_eq!(
        page("?task=look_1").0,
        ["pkg.look_1", "pass.look_1", "wrk.look_1"]
    );
    let fails = |what: &str, status, code: &str| {
        ann.get(&path_of("m-1", what)).fails(status, code);
    };
    fails("/artifacts?kind=poem", 400, "invalid_request");
    fails("/artifacts/poem/1", 400, "invalid_request");
    fails("/artifacts/worker_result/none", 404, "not_found");
}

/// B002-15: the same command returns its mission, another one is a conflict; also if both arrive at once.
#[test]
fn b002_15_an_id_is_one_missions() {
    let (server, _service) = shared(look_only);
    let ann = server.key("ann");
    let both = std::thread::scope(|scope| {
        let mut orders = Vec::new();
        for _ in 0..4 {
            orders.push(scope.spawn(|| server.key("ann").post("/v1/missions", &order("m-1"))));
        }
        let statuses = orders.into_iter().map(|order| order.join().unwrap().status);
        let mut statuses: Vec<u16> = statuses.collect();
        statuses.sort_unstable();
        statuses
    });
    assert_eq!(both, [200, 200, 200, 201]);
    let mission = standing(&ann, "m-1", "completed");
    let again = ann.post("/v1/missions", &order("m-1")).expect(200);
    assert_eq!(again, mission);
    for (field, value) in [
        ("goal", json!("Something else")),
        ("token_budget", json!(1_000)),
        ("context_refs", json!({"vault": "other"})),
        ("mission_type", Value::Null),
    ] {
        let mut other = order("m-1");
        other[field] = value;
        let message = ann
            .post("/v1/missions", &other)
            .fails(409, "already_exists");
        assert!(message.contains("m-1"), "{message}");
    }
    assert_eq!(ann.get(&path_of("m-1", "")).expect(200), mission);
    // Another person's command is a different one, and another tenant's id is a different id.
    server
        .key("bob")
        .post("/v1/missions", &order("m-1"))
        .fails(409, "already_exists");
    let mut of_eve = order("m-1");
    of_eve["mission_type"] = Value::Null;
    server.key("eve").post("/v1/missions", &of_eve).expect(201);
}

/// A command without an id may have an idempotency key, which works like an id.
#[test]
fn an_order_without_an_id_may_have_a_key() {
    let (server, _service) = shared(look_only);
    let ann = server.key("ann");
    let mut order = order("m-1");
    order.as_object_mut().unwrap().remove("mission_id");
    let send = |order: &Value| {
        let headers = [
            ("content-type", "application/json"),
            ("idempotency-key", "order-1"),
        ];
        let body = order.to_string().into_bytes();
        ann.call_plainly("POST", "/v1/missions", &headers, body)
    };
    let id = send(&order).expect(201)["mission_id"].clone();
    assert_eq!(send(&order).expect(200)["mission_id"], id);
    order["goal"] = json!("Something else");
    send(&order).fails(409, "already_exists");
}

/// An invalid command is refused with its faults, and nothing is started.
#[test]
fn an_order_that_cannot_be_carried_out_is_refused() {
    let (server, _service) = shared(look_only);
    let ann = server.key("ann");
    let cases = [
        (json!({"goal": ""}), 400, "invalid_request"),
        (
            json!({"goal": GOAL, "model": "offline", "mission_type": "none"}),
            404,
            "not_found",
        ),
        (
            json!({"goal": GOAL, "model": "offline", "token_budget": 0}),
            400,
            "invalid_request",
        ),
        (
            json!({"goal": GOAL, "model": "offline", "mission_id": "../x"}),
            400,
            "invalid_request",
        ),
        (
            json!({"goal": GOAL, "model": "offline", "tenant_id": "umbra"}),
            403,
            "permission_denied",
        ),
        (
            json!({"goal": GOAL, "model": "clever"}),
            400,
            "invalid_request",
        ),
    ];
    for (order, status, code) in cases {
        ann.post("/v1/missions", &order).fails(status, code);
    }
    let message = ann
        .post("/v1/missions", &json!({"goal": GOAL}))
        .fails(400, "invalid_request");
    assert!(message.contains("no model is configured"), "{message}");
    assert_eq!(ann.get("/v1/missions").expect(200)["entries"], json!([]));
}

/// Another tenant's mission looks absent in every operation.
#[test]
fn another_tenant_sees_nothing() {
    let (server, _service) = shared(look_only);
    let (ann, eve) = (server.key("ann"), server.key("eve"));
    done(&ann, "m-1");
    assert_eq!(eve.get("/v1/missions").expect(200)["entries"], json!([]));
    let reads = [
        "",
        "/artifacts",
        "/artifacts/worker_result/wrk.look_1",
        "/events",
        "/bundle",
        "/diff/m-1",
    ];
    for what in reads {
        eve.get(&path_of("m-1", what)).fails(404, "not_found");
    }
    for what in ["/cancel", "/replay"] {
        eve.post(&path_of("m-1", what), &json!({}))
            .fails(404, "not_found");
    }
    let headers = [("accept", "text/event-stream")];
    let streamed = eve.call("GET", &path_of("m-1", "/events"), &headers, Vec::new());
    streamed.fails(404, "not_found");
    assert_eq!(
        ann.get("/v1/missions").expect(200)["entries"][0]["mission_id"],
        "m-1"
    );
}

/// Missions are listed newest first, by page and by state.
#[test]
fn missions_are_listed() {
    let (server, _service) = shared(look_only);
    let ann = server.key("ann");
    for id in ["m-1", "m-2", "m-3"] {
        done(&ann, id);
    }
    let list = |query: &str| {
        let page = ann.get(&format!("/v1/missions{query}")).expect(200);
        (ids(&page["entries"], "mission_id"), page["next"].clone())
    };
    assert_eq!(list("").0, ["m-3", "m-2", "m-1"]);
    let (first, next) = list("?limit=2");
    assert_eq!(first, ["m-3", "m-2"]);
    let rest = format!("?limit=2&after={}", next.as_str().unwrap());
    assert_eq!(list(&rest).0, ["m-1"]);
    assert_eq!(list("?state=completed").0.len(), 3);
    assert_eq!(list("?state=failed").0, Vec::<String>::new());
    ann.get("/v1/missions?state=asleep")
        .fails(400, "invalid_request");
}

/// The events of a stream: name, id, data.
pub(crate) fn streamed(api: &Api, path: &str, after: Option<&str>) -> Vec<(String, u64, Value)> {
    let mut headers = vec![("accept", "text/event-stream")];
    headers.extend(after.map(|id| ("last-event-id", id)));
    let text = api.call("GET", path, &headers, Vec::new()).expect(200);
    let events = text.as_str().unwrap().split("\n\n").filter_map(|event| {
        let field = |name| event.lines().find_map(|line| line.strip_prefix(name));
        let id = field("id: ")?.parse().unwrap();
        let data = serde_json::from_str(field("data: ")?).unwrap();
        Some((field("event: ")?.to_owned(), id, data))
    });
    events.collect()
}

/// A stream sends each event of the journal once, as it happens, until the mission has ended; an interrupted one
/// resumes after the last received event.
#[test]
fn a_mission_is_followed_to_its_end() {
    let (server, service) = shared(held);
    let ann = server.key("ann");
    ann.post("/v1/missions", &order("m-1")).expect(201);
    let call = service.next();
    let path = path_of("m-1", "/events");
    let (told, before) = std::thread::scope(|scope| {
        let following = scope.spawn(|| streamed(&server.key("ann"), &path, None));
        let before = ann.get(&path_of("m-1", "")).expect(200);
        call.answer();
        (following.join().unwrap(), before)
    });
    assert_eq!(before["state"], "running");
    let page = ann.get(&format!("{path}?limit=1000")).expect(200);
    let data: Vec<&Value> = told.iter().map(|(_, _, data)| data).collect();
    let journal: Vec<&Value> = page["entries"].as_array().unwrap().iter().collect();
    assert_eq!(data, journal);
    let numbers: Vec<u64> = told.iter().map(|(_, id, _)| *id).collect();
    let wanted: Vec<u64> = (1..=journal.len() as u64).collect();
    assert_eq!(numbers, wanted);
    let moves = told.iter().filter(|(name, _, _)| name == "state");
    let moves: Vec<&Value> = moves.map(|(_, _, data)| &data["mission_state"]).collect();
    assert_eq!(json!(moves), json!(WAY));
    let rest = streamed(&ann, &path, Some("7"));
    assert_eq!(rest, told[7..]);
    assert_eq!(streamed(&ann, &format!("{path}?after=7"), None), told[7..]);
    let page = ann.get(&format!("{path}?after=7&limit=3")).expect(200);
    assert_eq!(
        (ids(&page["entries"], "event").len(), &page["next"]),
        (3, &json!(10))
    );
}

/// B002-12: a mission is cancelled once, by its user or an operator; its artifacts remain. Other users do not see it.
#[test]
fn b002_12_a_mission_is_cancelled_once() {
    let (server, service) = shared(held);
    let [uma, bob] = ["uma", "bob"].map(|key| server.key(key));
    let ann = server.key("ann");
    ann.post("/v1/missions", &order("m-1")).expect(201);
    let call = service.next();
    let why = json!({"reason": "no longer wanted"});
    let cancel = path_of("m-1", "/cancel");
    uma.post(&cancel, &why).fails(404, "not_found");
    bob.post(&cancel, &why).expect(200);
    // A running call is waited for.
    call.answer();
    let mission = eventually("the end", || {
        let mission = ann.get(&path_of("m-1", "")).expect(200);
        (mission["state"] == "cancelled").then_some(mission)
    });
    assert_eq!(mission["reason"], "stopped by bob: no longer wanted");
    bob.post(&cancel, &why).fails(409, "illegal_transition");
    let listed = ann.get(&path_of("m-1", "/artifacts")).expect(200);
    assert_eq!(ids(&listed["entries"], "kind"), KINDS[..7]);
    let replayed = ann.post(&path_of("m-1", "/replay"), &json!({})).expect(200);
    assert_eq!(replayed["identical"], true, "{replayed:#}");
}

/// B002-5: without a policy that permits them, a mission makes no calls, and reports the gap.
#[test]
fn b002_5_without_a_policy_nothing_is_called() {
    let (server, service) = shared(|service| {
        held(service).edit(POLICY_FILE, "governs: [\"vault.*\"]", "governs: [vault.expire]").edit(
            POLICY_FILE,
            "  @id(\"look\")\n  permit (principal, action in Action::\"read\", resource)\n  when { context.run.kind == RunKind::\"mission\" };\n",
            "",
        )
    });
    let ann = server.key("ann");
    ann.post("/v1/missions", &order("m-1")).expect(201);
    let mission = standing(&ann, "m-1", "failed");
    assert!(!service.was_called());
    let of = |kind: &str| {
        let path = path_of("m-1", &format!("/artifacts?kind={kind}"));
        ann.get(&path).expect(200)["entries"][0]["artifact"].clone()
    };
    let decision = of("policy_decision");
    assert_eq!(
        (&decision["subject"], &decision["decision"]),
        (&json!("vault.list_backups"), &json!("deny"))
    );
    assert_eq!(of("prompt_package")["tool_scope"], json!([]));
    // A worker without sources makes no claims (B002-6), and a mission without results has no output.
    let reason = mission["reason"].as_str().unwrap();
    assert!(reason.contains("must cite its sources"), "{reason}");
    let tasks = ids(&mission["tasks"], "state");
    let wanted = ["succeeded", "succeeded", "failed", "failed", "cancelled"];
    assert_eq!(tasks, wanted);
}

/// A data directory with the package, and a mission of it that has ended.
fn on_disk() -> (Home, Value) {
    let home = Home::new().embedded();
    let folder = look_only(&Service::start()).write(&home.path("package"));
    assert_eq!(home.run(&["package", "register", &folder]).code, Some(0));
    let started = home.run(&START).json(0);
    (home, started)
}

const START: [&str; 12] = [
    "mission", "start", GOAL, "--type", KIND, "--model", "offline", "--id", "m-1", "--wait",
    "--output", "json",
];

/// The commands, without a server: they start a mission, run it, and show it.
#[test]
fn the_commands_work_on_a_data_directory() {
    let (home, started) = on_disk();
    assert_eq!(
        (&started["mission_id"], &started["state"]),
        (&json!("m-1"), &json!("completed"))
    );
    assert_eq!(home.run(&START).json(0), started);
    let json = |arguments: &[&str]| {
        let ran = home.run(&[&["mission"], arguments, &["--output", "json"]].concat());
        ran.json(0)
    };
    assert_eq!(json(&["show", "m-1"]), started);
    let listed = json(&["list", "--state", "completed"]);
    assert_eq!(ids(&listed["entries"], "mission_id"), ["m-1"]);
    let artifacts = json(&["artifacts", "m-1", "--task", "look_1"]);
    let kinds = ["prompt_package", "librarian_pass", "worker_result"];
    assert_eq!(ids(&artifacts["entries"], "kind"), kinds);
    let result = json(&["artifacts", "m-1", "wrk.look_1", "--kind", "worker_result"]);
    let finding = &result["artifact"]["structured_output"]["findings"][0]["finding"];
    assert_eq!(finding["resource_id"], "b-1");
    assert_eq!(json(&["replay", "m-1"])["identical"], true);
    let watched = home.run(&["mission", "watch", "m-1", "--output", "json"]);
    assert_eq!(watched.code, Some(0), "{watched:?}");
    let lines = watched.out.lines();
    let events: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(states(&Value::from(events)), WAY);
    let shown = home.run(&["mission", "show", "m-1"]);
    for part in [
        "b-1, high: The backup b-1 is 40 days old.",
        "the offline provider",
    ] {
        assert!(shown.out.contains(part), "{}", shown.out);
    }
}

/// A failed command reports the reason, and exits with 2.
#[test]
fn the_commands_say_why_they_failed() {
    let (home, _) = on_disk();
    let cases = [
        (
            &["start", "Another goal", "--model", "offline", "--id", "m-1"][..],
            "error[already_exists]",
        ),
        (
            &["start", GOAL],
            "error[invalid_request]: no model is configured",
        ),
        (
            &["start", GOAL, "--model", "offline", "--type", "none"],
            "error[not_found]",
        ),
        (
            &["start", GOAL, "--time-budget", "45"],
            "error: invalid value",
        ),
        (&["cancel", "m-1"], "error[illegal_transition]"),
        (&["show", "m-9"], "error[not_found]"),
        (
            &["approve", "m-1", "wb.1"],
            "error: the mission m-1 has no proposal wb.1",
        ),
    ];
    for (arguments, wanted) in cases {
        let ran = home.run(&[&["mission"], arguments].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.starts_with(wanted), "{ran:?}");
    }
}
