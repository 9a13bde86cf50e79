//! Missions that are exported as bundles, verified without a server, and imported elsewhere; and the differences of two
//! missions (B002-14).

use serde_json::{Value, json};

use super::{GOAL, KIND, done, held, keyed, look_only, order, path_of};
use crate::home::Home;
use crate::playbooks::KEYS;
use crate::service::Service;

/// B002-14: an export contains its own proof, is imported with everything, is read-only there, and exports as the same
/// text.
#[test]
fn b002_14_a_mission_goes_from_one_installation_to_another() {
    let (home, server, _service) = keyed(look_only);
    let ann = server.key("ann");
    let mission = done(&ann, "m-1");
    let bundle = ann.bytes(&path_of("m-1", "/bundle"));
    let file = home.path("m-1.bundle");
    std::fs::write(&file, &bundle).unwrap();
    let verified = home.run_in_home(&["mission", "verify", "m-1.bundle", "--output", "json"]);
    let verified = verified.json(0);
    assert_eq!(
        [
            &verified["good"],
            &verified["state"],
            &verified["artifacts"],
            &verified["tenant_id"]
        ],
        [
            &json!(true),
            &json!("completed"),
            &json!(10),
            &json!("acme")
        ]
    );
    // That installation is empty: it needs no tool, model or mission type.
    let there = Home::with_keys(&KEYS);
    let elsewhere = there.serve();
    let [uma, ann_there, eve] = ["uma", "ann", "eve"].map(|key| elsewhere.key(key));
    let import = "/v1/missions/import";
    uma.post_bytes(import, bundle.clone())
        .fails(403, "permission_denied");
    eve.post_bytes(import, bundle.clone())
        .fails(400, "invalid_request");
    let imported = ann_there.post_bytes(import, bundle.clone()).expect(201);
    assert!(imported["imported_at"].is_string());
    let without = |mut mission: Value, names: &[&str]| {
        let fields = mission.as_object_mut().unwrap();
        names.iter().for_each(|name| drop(fields.remove(*name)));
        mission
    };
    let moment = ["imported_at", "updated_at"];
    assert_eq!(
        without(imported.clone(), &moment),
        without(mission, &moment)
    );
    assert_eq!(
        ann_there.post_bytes(import, bundle.clone()).expect(200),
        imported
    );
    for what in ["/artifacts", "/events?limit=1000"] {
        let path = path_of("m-1", what);
        assert_eq!(ann_there.get(&path).expect(200), ann.get(&path).expect(200));
    }
    let replayed = ann_there
        .post(&path_of("m-1", "/replay"), &json!({}))
        .expect(200);
    assert_eq!(replayed["identical"], true, "{replayed:#}");
    assert_eq!(ann_there.bytes(&path_of("m-1", "/bundle")), bundle);
    ann_there
        .post(&path_of("m-1", "/cancel"), &json!({}))
        .fails(409, "illegal_transition");
    assert_eq!(eve.get("/v1/missions").expect(200)["entries"], json!([]));
}

/// B002-14, B002-15: a changed bundle is refused with the position of the change; so is a different mission with an
/// existing id, and an unfinished one.
#[test]
fn b002_14_a_bundle_that_was_changed_is_not_taken() {
    let (home, server, service) = keyed(held);
    let ann = server.key("ann");
    ann.post("/v1/missions", &order("m-1")).expect(201);
    let call = service.next();
    let unfinished = ann.bytes(&path_of("m-1", "/bundle"));
    call.answer();
    super::standing(&ann, "m-1", "completed");
    let bundle = String::from_utf8(ann.bytes(&path_of("m-1", "/bundle"))).unwrap();
    let import = |bytes: &[u8]| {
        let there = Home::with_keys(&KEYS);
        let elsewhere = there.serve();
        elsewhere
            .key("ann")
            .post_bytes("/v1/missions/import", bytes.to_vec())
    };
    let message = import(&unfinished).fails(400, "invalid_request");
    assert!(
        message.contains("it has not ended: it is running"),
        "{message}"
    );
    let changed = bundle.replacen("b-1, high", "b-9, high", 1);
    assert_ne!(changed, bundle);
    let refused = import(changed.as_bytes());
    assert_eq!(
        refused.body["technical_details"]["faults"][0]["pointer"],
        "/artifacts/7"
    );
    let message = refused.fails(400, "invalid_document");
    assert!(
        message.contains("line 9, /artifacts/7: artifact 8 was changed"),
        "{message}"
    );
    std::fs::write(home.path("changed"), &changed).unwrap();
    let verified = home.run_in_home(&["mission", "verify", "changed"]);
    assert_eq!(verified.code, Some(1), "{verified:?}");
    assert!(verified.out.ends_with("BAD\n"), "{verified:?}");
    assert_eq!(
        home.run_in_home(&["mission", "verify", "nowhere"]).code,
        Some(2)
    );
    // A different mission with the same id.
    let there = Home::with_keys(&KEYS);
    let elsewhere = there.serve();
    let mut other = order("m-1");
    other["mission_type"] = Value::Null;
    let ann_there = elsewhere.key("ann");
    ann_there.post("/v1/missions", &other).expect(201);
    super::standing(&ann_there, "m-1", "failed");
    ann_there
        .post_bytes("/v1/missions/import", bundle.into_bytes())
        .fails(409, "already_exists");
}

/// By commands and without a server, from one data directory to another.
#[test]
fn missions_are_exchanged_and_compared_by_commands() {
    let service = Service::start();
    let [home, there] = [Home::new(), Home::new()];
    let folder = look_only(&service).write(&home.path("package"));
    assert_eq!(home.run(&["package", "register", &folder]).code, Some(0));
    for (id, goal) in [
        ("m-1", GOAL),
        ("m-2", GOAL),
        ("m-3", "Find backups that are stale"),
    ] {
        let start = [
            "mission", "start", goal, "--type", KIND, "--model", "offline", "--id", id,
        ];
        assert_eq!(home.run(&start).code, Some(0));
    }
    let file = home.path("m-1.bundle");
    let file = file.to_str().unwrap();
    let exported = home.run(&["mission", "export", "m-1", "--out", file]);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    assert!(
        exported
            .out
            .starts_with("good: mission m-1 of local, completed"),
        "{exported:?}"
    );
    let printed = home.run(&["mission", "export", "m-1"]);
    assert_eq!(printed.out, std::fs::read_to_string(file).unwrap());
    let imported = there
        .run(&["mission", "import", file, "--output", "json"])
        .json(0);
    assert_eq!(imported["state"], "completed");
    assert_eq!(there.run(&["mission", "replay", "m-1"]).code, Some(0));
    let same = home.run(&["mission", "diff", "m-1", "m-2"]);
    assert_eq!(same.code, Some(0), "{same:?}");
    let differs = home.run(&["mission", "diff", "m-1", "m-3"]);
    assert_eq!(differs.code, Some(1), "{differs:?}");
    assert!(differs.out.contains("goal:     changed"), "{differs:?}");
    let shown = home
        .run(&["mission", "diff", "m-1", "m-3", "--output", "json"])
        .json(1);
    assert_eq!(shown["same"], false);
    assert_eq!(
        shown["differences"]["goal"]["change"], "changed",
        "{shown:#}"
    );
    let unknown = home.run(&["mission", "diff", "m-1", "m-9"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
}
