//! API keys of the store: created, shown once, rotated, revoked, and visible to their tenant only.

use std::sync::Arc;
use std::time::Duration;

use charter_testkit::postgres_server::PostgresServer;
use serde_json::{Value, json};

use crate::a2a::client::message;
use crate::home::{Api, Home, Key, Server, ids, request};
use crate::playbooks::{
    PLAYBOOK, confirm, decide, path_of, purge, settled, waiting_run_of, waiting_run_on,
};
use crate::service::Service;
use crate::shared::Tenants;
use crate::skills::{leaf, put};

/// Two admins of two tenants, and an operator.
const KEYS: [Key; 3] = [
    ("ann", "acme", "ann", "admin"),
    ("ope", "acme", "ope", "operator"),
    ("uma", "umbra", "uma", "admin"),
];

/// A server with configured callers, so that it has stored no key yet.
fn served() -> (Home, Server) {
    let home = Home::with_keys(&KEYS)
        .with("CHARTER_MODEL__SOURCE", "none")
        .with("CHARTER_LOG", "debug");
    let server = home.serve();
    (home, server)
}

#[track_caller]
fn make(api: &Api, order: Value) -> Value {
    api.post("/v1/keys", &order).expect(201)
}

fn secret(made: &Value) -> &str {
    made["secret"].as_str().unwrap()
}

fn path(made: &Value, act: &str) -> String {
    format!("/v1/keys/{}{act}", made["key_id"].as_str().unwrap())
}

/// A key has the requested rights; its secret appears only in the response that created it.
#[test]
fn a_key_is_shown_once_and_says_whose_data_is_seen() {
    let (home, server) = served();
    let ann = server.key("ann");
    let order = json!({"name": "ci", "user": "robot", "role": "operator", "expires_in_s": 3600});
    let mut made = make(&ann, order);
    let text = secret(&made).to_owned();
    assert!(text.starts_with("chk_") && text.len() == 109, "{text}");
    let robot = server.key(&text);
    let session = robot.post("/v1/sessions", &json!({})).expect(201);
    // It belongs to the tenant, and to the user that it authenticates.
    let session = format!("/v1/sessions/{}", session["session_id"].as_str().unwrap());
    robot.get(&session).expect(200);
    ann.get(&session).fails(404, "session_not_found");
    robot.get("/v1/keys").fails(403, "permission_denied");

    let shown = ann.get(&path(&made, "")).expect(200);
    assert!(shown["last_used_at"].is_string());
    made.as_object_mut().unwrap().remove("secret");
    let mut unused = shown.clone();
    unused["last_used_at"] = Value::Null;
    assert_eq!(unused, made);
    assert_eq!(
        (
            &made["state"],
            &made["role"],
            &made["catalogue"],
            &made["agent_skills"],
            &made["scopes"]
        ),
        (
            &json!("live"),
            &json!("operator"),
            &json!("editor"),
            &json!(["*"]),
            &json!(["*"])
        )
    );
    ann.post(&path(&made, "/rotate"), &json!({"overlap_s": 60}))
        .expect(201);
    ann.post(&path(&made, "/revoke"), &json!({})).expect(200);

    let (_, hidden) = text.rsplit_once('_').unwrap();
    let events = ann.get("/v1/events?topic=key").expect(200);
    let told = ids(&events["entries"], "topic");
    assert_eq!(told, ["key.created", "key.rotated", "key.revoked"]);
    let by = ids(&events["entries"], "data.by");
    assert_eq!(by, ["ann", "ann", "ann"]);
    for place in [
        events.to_string(),
        ann.get("/v1/keys").expect(200).to_string(),
        ann.get("/v1/evidence").expect(200).to_string(),
        shown.to_string(),
        server.log(),
    ] {
        assert!(!place.contains(hidden), "{place}");
    }
    assert!(server.log().contains("key created"), "{}", server.log());
    drop(server);
    for entry in walk(&home.data()) {
        let bytes = std::fs::read(&entry).unwrap();
        let found = bytes
            .windows(hidden.len())
            .any(|part| part == hidden.as_bytes());
        assert!(!found, "{}", entry.display());
    }
}

fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let (dirs, mut files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    files.extend(dirs.iter().flat_map(|dir| walk(dir)));
    files.retain(|file| file.is_file());
    files
}

/// A text that is not a key, a made-up key and an ended one are refused with the reason.
#[test]
fn an_invalid_key_is_refused() {
    let server = Tenants::with_keys(&KEYS);
    let ann = server.key("ann");
    let made = make(&ann, json!({"name": "short", "expires_in_s": 1}));
    let text = secret(&made).to_owned();
    let mistyped = format!(
        "{}{}",
        &text[..108],
        if text.ends_with('0') { "1" } else { "0" }
    );
    let ask = |key: &str| {
        ann.with_key(key)
            .get("/v1/packages")
            .fails(401, "unauthenticated")
    };
    assert!(ask(&mistyped).contains("not an API key"));
    assert!(ask("chk_").contains("not an API key"));
    assert!(ask("other").contains("is required"));
    crate::home::eventually("the key's end", || {
        (ann.with_key(&text).get("/v1/packages").status == 401).then_some(())
    });
    assert!(ask(&text).contains("has expired"));
    assert_eq!(ann.get(&path(&made, "")).expect(200)["state"], "expired");
    ann.post(&path(&made, "/rotate"), &json!({}))
        .fails(409, "illegal_transition");
}

/// A revocation applies to the next request, also on the same connection.
#[test]
fn a_revoked_key_is_refused_from_then_on() {
    let server = Tenants::with_keys(&KEYS);
    let ann = server.key("ann");
    let made = make(&ann, json!({"name": "gone"}));
    let holder = ann.with_key(secret(&made));
    holder.get("/v1/packages").expect(200);
    let revoked = ann.post(&path(&made, "/revoke"), &json!({})).expect(200);
    assert_eq!(
        (&revoked["state"], &revoked["revoked_by"]),
        (&json!("revoked"), &json!("ann"))
    );
    let message = holder.get("/v1/packages").fails(401, "unauthenticated");
    assert_eq!(message, "the API key was revoked");
    // A second revocation changes nothing.
    assert_eq!(
        ann.post(&path(&made, "/revoke"), &json!({})).expect(200),
        revoked
    );
}

/// How long a stream may stay open after its key has ended. The server checks the key every second.
const STREAM_ENDS: Duration = Duration::from_secs(3);

/// A stream that a key opened is closed soon after the key is revoked: no later event is sent over it.
#[test]
fn a_stream_ends_with_its_key() {
    let server = Tenants::with_keys(&KEYS);
    let ann = server.key("ann");
    let made = make(&ann, json!({"name": "watcher", "role": "admin"}));
    let holder = ann.with_key(secret(&made));
    let mut stream = holder.follow("/v1/events?after=0");
    // The stream is open after it has sent the earlier events.
    assert!(stream.any(|line| line.contains("key.created")));
    ann.post(&path(&made, "/revoke"), &json!({})).expect(200);
    let revoked = std::time::Instant::now();
    // The lines end when the server closes the stream; reading fails if it never does.
    let last: Vec<String> = stream.collect();
    let took = revoked.elapsed();
    assert!(took < STREAM_ENDS, "{took:?}: {last:?}");
}

/// Events of keys are visible to administrators of keys only.
#[test]
fn events_of_keys_are_for_who_keeps_them() {
    let server = Tenants::with_keys(&KEYS);
    let ann = server.key("ann");
    let lesser =
        json!({"name": "lesser", "scopes": ["runs:read", "catalogue:read"], "role": "admin"});
    let lesser = ann.with_key(secret(&make(&ann, lesser)));
    let told = |api: &Api| ids(&api.get("/v1/events").expect(200)["entries"], "topic");
    // The keys of `ann` and `ope`, and the lesser one.
    assert_eq!(told(&ann), ["key.created"; 3]);
    assert_eq!(told(&lesser), [""; 0]);
    assert_eq!(told(&server.key("ope")), [""; 0]);
}

/// The old key stays valid for the overlap only, and the new one has the same rights.
#[test]
fn a_rotated_key_takes_over() {
    let server = Tenants::with_keys(&KEYS);
    let ann = server.key("ann");
    let old = make(
        &ann,
        json!({"name": "app", "user": "app", "scopes": ["catalogue:read"]}),
    );
    let new = ann.post(&path(&old, "/rotate"), &json!({})).expect(201);
    ann.with_key(secret(&old))
        .get("/v1/packages")
        .fails(401, "unauthenticated");
    ann.with_key(secret(&new)).get("/v1/packages").expect(200);
    for field in [
        "name",
        "user",
        "role",
        "tier",
        "catalogue",
        "agent_skills",
        "scopes",
    ] {
        assert_eq!(new[field], old[field], "{field}");
    }
    assert_eq!(new["rotated_from"], old["key_id"]);
    let newer = ann
        .post(&path(&new, "/rotate"), &json!({"overlap_s": 600}))
        .expect(201);
    ann.with_key(secret(&new)).get("/v1/packages").expect(200);
    ann.with_key(secret(&newer)).get("/v1/packages").expect(200);
    // There is one successor.
    ann.post(&path(&new, "/rotate"), &json!({}))
        .fails(409, "illegal_transition");
    ann.post(&path(&newer, "/rotate"), &json!({"overlap_s": 9_999_999}))
        .fails(400, "invalid_request");
}

/// A key's creator cannot grant more rights than their own, by creating a key or by rotating a stronger one.
#[test]
fn a_key_may_do_no_more_than_who_makes_it() {
    let server = Tenants::with_keys(&KEYS);
    let ann = server.key("ann");
    put(&ann, &leaf("net", "mend the network")).expect(201);
    let held = json!({"name": "limited", "role": "admin", "catalogue": "editor", "tier": "basic",
        "agent_skills": ["net"], "scopes": ["admin:read", "admin:write"]});
    let limited = make(&ann, held);
    let limited = ann.with_key(secret(&limited));
    let least =
        json!({"name": "least", "role": "user", "agent_skills": [], "scopes": ["admin:read"]});
    make(&limited, least.clone());
    for (field, value) in [
        ("catalogue", json!("admin")),
        ("tier", json!("advanced")),
        ("agent_skills", json!(["net", "db"])),
        ("scopes", json!(["runs:read"])),
        ("scopes", json!(["*"])),
    ] {
        let mut order = least.clone();
        order[field] = value;
        let refused = limited.post("/v1/keys", &order);
        refused.clone().fails(403, "permission_denied");
        assert_eq!(refused.body["technical_details"]["field"], field);
    }
    let strong = make(&ann, json!({"name": "strong", "role": "admin"}));
    limited
        .post(&path(&strong, "/rotate"), &json!({}))
        .fails(403, "permission_denied");
    // A caller with a lower level creates no keys.
    server
        .key("ope")
        .post("/v1/keys", &least)
        .fails(403, "permission_denied");
}

/// A misspelled grant gives no access; a later skill of that name may be a different one.
#[test]
fn a_key_for_agent_skills_that_do_not_exist_is_refused_with_the_nearest() {
    let server = Tenants::with_keys(&KEYS);
    let ann = server.key("ann");
    put(&ann, &leaf("sql.migration", "migrate databases")).expect(201);
    put(&server.key("uma"), &leaf("billing", "refund customers")).expect(201);
    let order = |skills: &[&str]| json!({"name": "reads", "agent_skills": skills});
    let refused = ann.post(
        "/v1/keys",
        &order(&["sql.migraton", "billing", "sql.migration"]),
    );
    refused.clone().fails(400, "invalid_request");
    let violations = &refused.body["technical_details"]["violations"];
    let said = violations.as_array().unwrap().iter();
    let said = said.map(|one| (one["message"].as_str().unwrap(), &one["suggestion"]));
    assert_eq!(
        said.collect::<Vec<_>>(),
        [
            ("there is no agent skill `billing`", &Value::Null),
            (
                "there is no agent skill `sql.migraton`",
                &json!("did you mean `sql.migration`?")
            ),
        ]
    );
    make(&ann, order(&["sql.migration"]));
    make(&ann, order(&["*"]));
    make(&ann, order(&[]));
}

/// The creator of a request counts as the creator of its run.
fn waiting_run_of_request(by: &Api) -> Value {
    let mut asked = request("purge the vault for good");
    let parameters = json!({"vault": "fourth"});
    asked["metadata"] = json!({"playbook_id": PLAYBOOK, "parameters": parameters, "confirm": true});
    let answer = by.ask(&asked).expect(200);
    let run = json!({"run_id": answer["metadata"]["run_ids"][0]});
    settled(by, &run, "awaiting_confirmation")
}

/// The run of a request that began as a message over A2A.
fn waiting_run_of_message(by: &Api) -> Value {
    let mut sent = message("purge the vault for good");
    let wishes = json!({"parameters": {"vault": "fifth"}});
    let parts = sent["message"]["parts"].as_array_mut().unwrap();
    parts.push(json!({"data": wishes}));
    let headers = [("a2a-version", "1.0"), ("content-type", "application/json")];
    let body = sent.to_string().into_bytes();
    let answer = by.call_plainly("POST", "/a2a/v1/message:send", &headers, body);
    let task = answer.expect(200)["task"].clone();
    let run = json!({"run_id": task["metadata"]["run_ids"][0]});
    settled(by, &run, "awaiting_confirmation")
}

/// Ruling 33: the user who creates or rotates a key learns its secret. Such a key cannot approve a call that its makers
/// requested, nor a call that was requested with another of their keys. Keys of the configuration, and keys created on
/// the server's machine, have no maker.
#[test]
fn a_user_cannot_approve_with_a_key_they_created() {
    let home = Home::with_keys(&KEYS).with("CHARTER_MODEL__SOURCE", "none");
    let own = [
        "key", "--tenant", "acme", "create", "own", "--user", "max", "--role", "operator",
        "--output", "json",
    ];
    let own = home.run(&own).json(0);
    let server = home.serve();
    let service = Service::start();
    let [ann, ope, max] = ["ann", "ope", secret(&own)].map(|key| server.key(key));
    ann.register(&purge(&service));
    let key = |by: &Api, user: &str, role: &str| {
        let order = json!({"name": user, "user": user, "role": role});
        server.key(secret(&make(by, order)))
    };
    let zoe = key(&ann, "zoe", "operator");
    let sub = key(&ann, "sub", "admin");
    let deep = key(&sub, "deep", "operator");
    let rotated = ann.post(&path(&own, "/rotate"), &json!({"overlap_s": 600}));
    let rotated = server.key(secret(&rotated.expect(201)));

    let seen = |by: &Api, run: &Value| {
        let id = run["approvals"][0]["approval_id"].as_str().unwrap();
        by.get(&format!("/v1/approvals/{id}")).expect(200)
    };
    let refused = |by: &Api, run: &Value| {
        assert_eq!(seen(by, run)["can_approve"], false);
        decide(by, &run["approvals"][0], "approve").fails(403, "permission_denied");
    };
    // Requested by a maker, by a user with a key of that maker, and by callers that gave values and confirmed.
    let of_ann = waiting_run_of(&ann);
    let of_zoe = waiting_run_on(&zoe, "second");
    let start = format!("/v1/playbooks/{PLAYBOOK}/runs");
    let of_all = max.post(&start, &json!({"parameters": {}})).expect(201);
    let given = json!({"parameters": {"vault": "third"}});
    let of_all = ope
        .post(&path_of(&of_all, "/parameters"), &given)
        .expect(200);
    confirm(&zoe, &of_all).expect(200);
    let of_all = settled(&ann, &of_all, "awaiting_approval");
    // Confirmed by an operator whose key has no maker, so that the requesters come from the request itself.
    let begun = [waiting_run_of_request(&zoe), waiting_run_of_message(&zoe)];
    let [of_request, of_message] = begun.map(|run| {
        confirm(&ope, &run).expect(200);
        settled(&ann, &run, "awaiting_approval")
    });
    for run in [&of_ann, &of_zoe, &of_all, &of_request, &of_message] {
        for by in [&ann, &zoe, &sub, &deep, &rotated] {
            refused(by, run);
        }
    }
    for by in [&max, &ope] {
        refused(by, &of_all);
        for run in [&of_ann, &of_zoe] {
            assert_eq!(seen(by, run)["can_approve"], true);
        }
    }
    let requesters = |run: &Value| seen(&max, run)["requesters"].clone();
    assert_eq!(requesters(&of_all), json!(["ann", "max", "ope", "zoe"]));
    for run in [&of_request, &of_message] {
        assert_eq!(requesters(run), json!(["ann", "ope", "zoe"]));
    }
    // Every approver is a requester, or made the key of one.
    assert!(of_all["notes"][0].is_string(), "{of_all:#}");
    assert_eq!(of_ann.get("notes"), None);
    assert!(!service.was_called());

    for (by, run) in [(&max, &of_ann), (&ope, &of_zoe)] {
        decide(by, &run["approvals"][0], "approve").expect(200);
        service.next().answer_with("{}");
        settled(by, run, "completed");
    }
    // A requester may withdraw the request.
    decide(&zoe, &of_all["approvals"][0], "reject").expect(200);
    settled(&max, &of_all, "rejected");
    assert!(!service.was_called());
}

/// Ruling 33: `doctor` checks that each tenant has a second person who can approve.
#[test]
fn doctor_finds_a_tenant_of_one_person() {
    let mut home = Home::with_keys(&[("ann", "acme", "ann", "admin")]).embedded();
    let found = |home: &Home, code: i32| {
        let checks = home.run(&["doctor", "--output", "json"]).json(code);
        let mut checks = checks.as_array().unwrap().iter();
        let check = checks.find(|check| check["check"] == "four eyes").unwrap();
        let word = |field: &str| check[field].as_str().unwrap().to_owned();
        (word("state"), word("found"))
    };
    let (state, text) = found(&home, 1);
    assert_eq!(state, "wrong");
    assert!(text.starts_with("acme: no user can approve"), "{text}");
    home.set("CHARTER_APPROVALS__FOUR_EYES", "false");
    let (state, text) = found(&home, 0);
    assert_eq!(state, "ok");
    assert!(
        text.starts_with("acme: approvals.four_eyes is off"),
        "{text}"
    );
    home.unset("CHARTER_APPROVALS__FOUR_EYES");
    let second = [
        "key", "--tenant", "acme", "create", "second", "--user", "bob", "--role", "operator",
    ];
    assert_eq!(home.run(&second).code, Some(0));
    let each = "acme: each request has an approver";
    assert_eq!(found(&home, 0), ("ok".to_owned(), each.to_owned()));
}

/// An agent's key has its maker's rights except decisions, and cannot receive them.
#[test]
fn a_key_for_an_agent_decides_nothing() {
    let server = Tenants::with_keys(&KEYS);
    let ann = server.key("ann");
    let service = Service::start();
    ann.register(&purge(&service));
    let made = make(
        &ann,
        json!({"name": "agent", "for": "agent", "role": "operator"}),
    );
    let scopes = made["scopes"].as_array().unwrap();
    assert!(!scopes.contains(&json!("approvals:write")), "{made:#}");
    assert!(scopes.contains(&json!("approvals:read")), "{made:#}");
    assert!(scopes.contains(&json!("runs:write")), "{made:#}");
    let agent = ann.with_key(secret(&made));
    let run = waiting_run_of(&agent);
    let refused = decide(&agent, &run["approvals"][0], "approve");
    refused.clone().fails(403, "permission_denied");
    assert_eq!(
        refused.body["technical_details"]["scope"],
        "approvals:write"
    );
    decide(&ann, &run["approvals"][0], "reject").expect(200);

    let some = json!({"name": "a", "for": "agent", "scopes": ["runs:read", "approvals:write"]});
    ann.post("/v1/keys", &some).fails(400, "invalid_request");
    let some = make(
        &ann,
        json!({"name": "a", "for": "agent", "scopes": ["runs:read"]}),
    );
    assert_eq!(some["scopes"], json!(["runs:read"]));

    let home = Home::new().with("CHARTER_API_KEY", ann.key.as_deref().unwrap());
    let create = [
        "key", "create", "bot", "--for", "agent", "--server", &ann.base, "--output", "json",
    ];
    assert_eq!(home.run(&create).json(0)["scopes"], made["scopes"]);
    let person = [&create[..3], &["--for", "person"], &create[5..]].concat();
    assert_eq!(home.run(&person).json(0)["scopes"], json!(["*"]));
}

/// Another tenant's admin neither sees nor changes it.
#[test]
fn keys_are_their_tenants_own() {
    let server = Tenants::with_keys(&KEYS);
    let (ann, uma) = (server.key("ann"), server.key("uma"));
    let made = make(&ann, json!({"name": "ours"}));
    uma.get(&path(&made, "")).fails(404, "not_found");
    uma.post(&path(&made, "/rotate"), &json!({}))
        .fails(404, "not_found");
    uma.post(&path(&made, "/revoke"), &json!({}))
        .fails(404, "not_found");
    // The tenant has one key: that of `uma`.
    let keys = uma.get("/v1/keys").expect(200);
    assert_eq!(ids(&keys["entries"], "user"), ["uma"]);
    let events = uma.get("/v1/events?topic=key").expect(200);
    assert_eq!(
        ids(&events["entries"], "data.key_id"),
        ids(&keys["entries"], "key_id")
    );
    for name in ["b", "c"] {
        make(&ann, json!({"name": name}));
    }
    let first = ann.get("/v1/keys?limit=2").expect(200);
    let next = first["next"].as_str().unwrap();
    let second = ann
        .get(&format!("/v1/keys?limit=3&after={next}"))
        .expect(200);
    let mut names = ids(&first["entries"], "name");
    names.extend(ids(&second["entries"], "name"));
    // Those of `ope` and `ann` are older.
    assert_eq!(names, ["c", "b", "ours", "tests", "tests"]);
    ann.with_key(secret(&made)).get("/v1/packages").expect(200);
}

/// The first key of a tenant is created on the server's machine. From then on a server on any address starts, and on
/// loopback a caller without a key is refused.
#[test]
fn the_first_key_is_made_where_the_data_is() {
    let home = Home::new().with("CHARTER_MODEL__SOURCE", "none");
    let refused = home.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.err.contains("charter key create"),
        "{}",
        refused.err
    );
    let user = home.run(&["key", "--tenant", "acme", "create", "u", "--user", "uma"]);
    assert_eq!(user.code, Some(2), "{user:?}");
    assert!(
        user.err.contains("must be a permanent admin key"),
        "{user:?}"
    );
    let admin = [
        "key", "--tenant", "acme", "create", "root", "--role", "admin", "--user", "ann",
    ];
    let made = home.run(&[&admin[..], &["--output", "json"]].concat());
    assert!(made.err.contains("not shown again"), "{}", made.err);
    let made = made.json(0);
    assert_eq!(
        (&made["tenant_id"], &made["user"]),
        (&json!("acme"), &json!("ann"))
    );
    let server = home.serve();
    server.api.get("/v1/packages").fails(401, "unauthenticated");
    let root = server.key(secret(&made));
    assert_eq!(
        ids(&root.get("/v1/keys").expect(200)["entries"], "name"),
        ["root"]
    );
    // Commands send a key to a server, which uses the key's tenant.
    let home = home.with("CHARTER_API_KEY", secret(&made));
    let run = |arguments: &[&str]| {
        let all = [
            arguments,
            &["--server", &server.api.base, "--output", "json"],
        ]
        .concat();
        home.run(&all)
    };
    let child = run(&[
        "key",
        "create",
        "ci",
        "--scope",
        "runs:read",
        "--scope",
        "runs:write",
    ])
    .json(0);
    assert_eq!(child["scopes"], json!(["runs:read", "runs:write"]));
    let id = child["key_id"].as_str().unwrap();
    let next = run(&["key", "rotate", id, "--overlap-s", "60"]).json(0);
    let next = next["key_id"].as_str().unwrap();
    assert_eq!(run(&["key", "revoke", next]).json(0)["state"], "revoked");
    let states = ids(&run(&["key", "list"]).json(0)["entries"], "state");
    assert_eq!(states, ["revoked", "live", "live"]);
    let foreign = run(&["key", "--tenant", "umbra", "list"]);
    assert_eq!(foreign.code, Some(2));
    drop(server);
    // A server whose only key has ended does not become open again.
    let child = child["key_id"].as_str().unwrap();
    for id in [made["key_id"].as_str().unwrap(), next, child] {
        home.run(&["key", "--tenant", "acme", "revoke", id, "--output", "json"])
            .json(0);
    }
    let server = home.serve();
    server.api.get("/v1/packages").fails(401, "unauthenticated");
    assert_eq!(home.run(&["serve", "--listen", "0.0.0.0:0"]).code, Some(2));
}

/// The first key is an admin's, does not expire, and applies at once: the server then requires a key, the local user's
/// streams end, and callers are two people. The last such key cannot be ended over the network.
#[test]
fn the_first_key_is_an_admins_and_counts_at_once() {
    let home = Home::new().with("CHARTER_MODEL__SOURCE", "none");
    let server = home.serve();
    let service = Service::start();
    server.api.register(&purge(&service));
    for order in [
        json!({"name": "first", "user": "ann"}),
        json!({"name": "first", "role": "admin", "scopes": ["admin:read"]}),
        json!({"name": "first", "role": "admin", "expires_in_s": 60}),
    ] {
        let refused = server.api.post("/v1/keys", &order);
        let message = refused.fails(400, "invalid_request");
        assert!(
            message.contains("must be a permanent admin key"),
            "{message}"
        );
    }
    let four_eyes = |run: &Value| run["approvals"][0]["four_eyes"].clone();
    assert_eq!(four_eyes(&waiting_run_of(&server.api)), false);
    let mut stream = server.api.follow("/v1/events?after=0");
    assert!(stream.any(|line| line.contains("catalogue.changed")));

    let first = make(
        &server.api,
        json!({"name": "first", "role": "admin", "user": "ann"}),
    );
    let made = std::time::Instant::now();
    server.api.get("/v1/packages").fails(401, "unauthenticated");
    let last: Vec<String> = stream.collect();
    assert!(made.elapsed() < STREAM_ENDS, "{last:?}");
    let ann = server.key(secret(&first));
    assert_eq!(four_eyes(&waiting_run_of(&ann)), true);
    let user = make(&ann, json!({"name": "second", "user": "bob"}));
    let user = server.key(secret(&user));
    user.get("/v1/keys").fails(403, "permission_denied");

    let revoke = |by: &Api, key: &Value| by.post(&path(key, "/revoke"), &json!({}));
    revoke(&ann, &first).fails(409, "illegal_transition");
    ann.post(&path(&first, "/rotate"), &json!({"expires_in_s": 60}))
        .fails(409, "illegal_transition");
    let next = ann.post(&path(&first, "/rotate"), &json!({})).expect(201);
    let ann = server.key(secret(&next));
    let other = make(&ann, json!({"name": "other", "role": "admin"}));
    revoke(&ann, &next).expect(200);
    ann.get("/v1/keys").fails(401, "unauthenticated");
    server.key(secret(&other)).get("/v1/keys").expect(200);
}

/// A key that one replica revokes is refused by the next request to another.
#[test]
fn a_revoked_key_is_refused_by_every_replica() {
    let database = Arc::new(PostgresServer::shared().database());
    let [(_a, one), (_b, other)] = [(); 2].map(|()| {
        let home = Home::with_keys(&[("ann", "acme", "ann", "admin")])
            .on(&database)
            .with("CHARTER_MODEL__SOURCE", "none");
        let server = home.serve();
        (home, server)
    });
    let made = make(&one.key("ann"), json!({"name": "both"}));
    let holder = other.key(secret(&made));
    holder.get("/v1/packages").expect(200);
    let start = std::time::Instant::now();
    one.key("ann")
        .post(&path(&made, "/revoke"), &json!({}))
        .expect(200);
    holder.get("/v1/packages").fails(401, "unauthenticated");
    assert!(
        start.elapsed() < Duration::from_secs(1),
        "{:?}",
        start.elapsed()
    );
}
