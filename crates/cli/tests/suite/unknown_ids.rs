//! Errors about ids that match nothing visible to the caller: they suggest the nearest id, and list existing ones.

use serde_json::{Value, json};

use crate::catalogue::KEYS;
use crate::home::{Answer, Api, ids, request_of};
use crate::lenses::{LENS, LENS_FILE, lens};
use crate::packages::{Package, SKILL, backups, skill};
use crate::playbooks::{purge, waiting_run_of};
use crate::service::Service;
use crate::shared::Tenants;

/// For a misspelled id, the error suggests the nearest one that is visible to the caller.
#[test]
fn an_unknown_id_comes_with_the_nearest_that_the_caller_sees() {
    let server = Tenants::with_keys(&KEYS);
    let [_, ann, uma] = KEYS.map(|(key, ..)| server.key(key));
    ann.register(&backups());
    let near = &SKILL[..SKILL.len() - 1];
    let paths = [
        format!("/v1/resolve/skill/{near}"),
        format!("/v1/documents/skill/{near}"),
        format!("/v1/documents/skill/{near}/dependencies"),
    ];
    for path in &paths {
        assert_eq!(
            ann.get(path).fails(404, "not_found"),
            format!("there is no skill `{near}`; did you mean `{SKILL}`?")
        );
        let message = uma.get(path).fails(404, "not_found");
        assert_eq!(message, format!("there is no skill `{near}`"));
    }
    let asked = ann.ask(&request_of(near, json!({})));
    assert_eq!(
        asked.fails(404, "not_found"),
        format!("there is no active skill `{near}`; did you mean `{SKILL}`?")
    );
    let message = ann
        .get("/v1/packages/backup/history")
        .fails(404, "not_found");
    assert_eq!(
        message,
        "there is no package `backup`; did you mean `backups`?"
    );
    let message = uma
        .get("/v1/packages/backup/history")
        .fails(404, "not_found");
    assert_eq!(message, "there is no package `backup`");
    let message = ann
        .post("/v1/packages/backup/rollback?version=1.0.0", &Value::Null)
        .fails(404, "not_found");
    assert_eq!(
        message,
        "there is no package `backup`; did you mean `backups`?"
    );
    let internal = "/v1/resolve/tool/charter.mission.pla";
    let message = ann.get(internal).fails(404, "not_found");
    assert_eq!(message, "there is no tool `charter.mission.pla`");
}

/// An admin and a user of a tenant, and the admin of another one.
const PEOPLE: [(&str, &str, &str, &str); 3] = [
    ("ann", "acme", "ann", "admin"),
    ("uma", "acme", "uma", "user"),
    ("eve", "umbra", "eve", "admin"),
];

/// Paths of records that do not exist.
const ABSENT: [&str; 4] = [
    "/v1/runs/run-01930000-0000-7000-8000-000000000001",
    "/v1/requests/req-01930000-0000-7000-8000-000000000001",
    "/v1/evidence/ev_nothing",
    "/v1/memories/mem-01930000-0000-7000-8000-000000000001",
];

/// The ids of a new run, its request, its evidence and a private memory, in the order of [`ABSENT`].
#[track_caller]
fn recorded_by(api: &Api) -> [String; 4] {
    let request = request_of(SKILL, json!({}));
    let answer = api.ask(&request).expect(200);
    let metadata = &answer["metadata"];
    let memory = json!({"visibility": "private", "memory": {
        "title": "Region", "content": "We deploy to eu-west-1.", "tags": ["aws"],
        "metadata": {"source": "user_statement", "importance": 5},
    }});
    let memory = api.post("/v1/memories", &memory).expect(201);
    let ids = [
        &metadata["run_ids"][0],
        &request["id"],
        &metadata["evidence_ids"][0],
        &memory["memory_id"],
    ];
    ids.map(|id| id.as_str().unwrap().to_owned())
}

/// The ids that an error lists, sorted.
#[track_caller]
fn known(refused: Answer) -> Vec<String> {
    let listed = refused.body["technical_details"]["known"].clone();
    refused.fails(404, "not_found");
    let mut known: Vec<String> = serde_json::from_value(listed).unwrap();
    known.sort();
    known
}

/// Ids of absent tasks: one of a request, and one that is not a valid task id.
const ABSENT_TASKS: [&str; 2] = ["req-01930000-0000-7000-8000-000000000001", "task-1"];

/// The ids in the errors of A2A about an absent task, equal for all methods.
#[track_caller]
fn known_tasks(api: &Api, absent: &str) -> Value {
    let headers = [("content-type", "application/json"), ("a2a-version", "1.0")];
    let message = json!({"messageId": "m-1", "role": "ROLE_USER", "taskId": absent,
        "parts": [{"text": "go on"}]});
    let id = json!({ "id": absent });
    let mut listed = [
        ("GetTask", &id),
        ("CancelTask", &id),
        ("SubscribeToTask", &id),
        ("SendMessage", &json!({ "message": message })),
    ]
    .map(|(method, params)| {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = api.call_plainly("POST", "/a2a", &headers, call.to_string().into_bytes());
        let error = answer.expect(200)["error"].clone();
        assert_eq!(error["message"], format!("there is no task `{absent}`"));
        assert_eq!(error["data"][0]["reason"], "TASK_NOT_FOUND", "{method}");
        error["data"][0]["metadata"]["known"].clone()
    })
    .to_vec();
    listed.dedup();
    assert_eq!(listed.len(), 1, "{listed:#?}");
    listed.remove(0)
}

/// An error about an absent record lists ids of the caller's tenant, and for a user only ids of that user.
#[test]
fn an_unknown_id_comes_with_ids_of_records_that_the_caller_sees() {
    let server = Tenants::with_keys(&PEOPLE);
    let [ann, uma, eve] = ["ann", "uma", "eve"].map(|key| server.key(key));
    ann.register(&backups());
    eve.register(&backups());
    let of_ann = recorded_by(&ann);
    let of_uma = recorded_by(&uma);
    let of_eve = recorded_by(&eve);
    for (at, path) in ABSENT.into_iter().enumerate() {
        assert_eq!(known(uma.get(path)), [of_uma[at].as_str()], "{path}");
        assert_eq!(known(eve.get(path)), [of_eve[at].as_str()], "{path}");
        let mut seen = vec![of_ann[at].as_str()];
        // Operators see what users start, but not their private memories.
        if !path.starts_with("/v1/memories/") {
            seen.push(&of_uma[at]);
        }
        seen.sort_unstable();
        assert_eq!(known(ann.get(path)), seen, "{path}");
    }
    for absent in ABSENT_TASKS {
        assert_eq!(known_tasks(&uma, absent), of_uma[1], "{absent}");
        assert_eq!(known_tasks(&eve, absent), of_eve[1], "{absent}");
    }
    for api in [&ann, &eve] {
        let mut keys = ids(&api.get("/v1/keys").expect(200)["entries"], "key_id");
        keys.sort();
        let absent = "/v1/keys/key-01930000-0000-7000-8000-000000000001";
        assert_eq!(known(api.get(absent)), keys);
    }
}

/// Also for an absent approval or mission.
#[test]
fn an_unknown_id_comes_with_approvals_and_missions_that_the_caller_sees() {
    let server = Tenants::with_keys(&PEOPLE);
    let service = Service::start();
    let [ann, uma, eve] = ["ann", "uma", "eve"].map(|key| server.key(key));
    for admin in [&ann, &eve] {
        admin.register(&purge(&service));
    }
    let begun_by = |api: &Api| {
        let order = json!({"goal": "Look at the backups", "model": "offline"});
        let mission = api.post("/v1/missions", &order).expect(201);
        let run = waiting_run_of(api);
        let ids = [&run["approvals"][0]["approval_id"], &mission["mission_id"]];
        ids.map(|id| id.as_str().unwrap().to_owned())
    };
    let (of_uma, of_eve) = (begun_by(&uma), begun_by(&eve));
    let absent = [
        "/v1/approvals/apr-01930000-0000-7000-8000-000000000001",
        "/v1/missions/none",
    ];
    for (at, path) in absent.into_iter().enumerate() {
        // An operator sees what users start.
        for (api, seen) in [(&uma, &of_uma), (&ann, &of_uma), (&eve, &of_eve)] {
            assert_eq!(known(api.get(path)), [seen[at].as_str()], "{path}");
        }
    }
}

/// An error about an absent candidate lists those of the caller's tenant.
#[test]
fn an_unknown_candidate_comes_with_those_of_the_tenant() {
    let server = Tenants::with_keys(&PEOPLE);
    let proof = json!({"run_id": "run-01930000-0000-7000-8000-000000000001"});
    for (key, id) in [
        ("ann", "reliability.tried_by_ann"),
        ("eve", "reliability.tried_by_eve"),
    ] {
        let api = server.key(key);
        let candidate = skill(id, "count backups") + "is_candidate: true\n";
        api.register(&backups().with("skills/tried.yaml", &candidate));
        let refused = api.post("/v1/candidates/reliability.none/promote", &proof);
        assert_eq!(known(refused), [id]);
    }
}

/// An error about an absent document, version or prompt lists those of the caller's tenant.
#[test]
fn an_unknown_id_comes_with_ids_of_the_catalogue_that_the_caller_sees() {
    let server = Tenants::with_keys(&PEOPLE);
    let [ann, uma, eve] = ["ann", "uma", "eve"].map(|key| server.key(key));
    let playbook = "playbook_id: reliability.look\nname: Look\ndomain: reliability\n\
                    trigger_conditions: [look for good]\ntarget_language: python\nmandatory_parameters: []\n\
                    steps:\n  - {step_id: s1, type: read, tool_id: vault.list_backups, parameters: {vault: main}}\n\
                    safety: {safety_class: supervised}\n";
    ann.register(&backups());
    ann.register(&backups().version("1.0.0", "1.1.0"));
    let own = skill("reliability.own", "count backups");
    let other = backups()
        .version("1.0.0", "2.0.0")
        .with("skills/own.yaml", &own)
        .with("playbooks/look.yaml", playbook);
    eve.register(&other);
    let document = "/v1/documents/skill/no.such";
    for api in [&ann, &uma] {
        assert_eq!(known(api.get(document)), [SKILL]);
    }
    assert_eq!(known(eve.get(document)), [SKILL, "reliability.own"]);
    let diff = "/v1/packages/backups/diff?to=9.9.9";
    let rollback = "/v1/packages/backups/rollback?version=9.9.9";
    for (api, versions) in [(&ann, &["1.0.0", "1.1.0"][..]), (&eve, &["2.0.0"])] {
        assert_eq!(known(api.get(diff)), versions);
        assert_eq!(known(api.post(rollback, &Value::Null)), versions);
    }
    let prompt = |api: &Api| {
        let params = json!({"name": "reliability.loo", "arguments": {}});
        let answer = api.mcp(&json!({}), "prompts/get", Some("reliability.loo"), params);
        let error = &answer["error"];
        json!([error["code"], error["message"], error["data"]["known"]])
    };
    let message = "there is no prompt `reliability.loo`";
    let meant = format!("{message}; did you mean `reliability.look`?");
    assert_eq!(prompt(&eve), json!([-32_602, meant, ["reliability.look"]]));
    assert_eq!(prompt(&ann), json!([-32_602, message, null]));
}

/// Only an active lens can be reindexed.
#[test]
fn an_inactive_lens_is_refused_with_the_active_ones() {
    let server = Tenants::one();
    let inactive = lens(LENS, "file", "sources/books") + "status: inactive\n";
    let active = lens("security.notes_of_guards", "file", "sources/books");
    let package = Package::new("library", "1.0.0", "tenant")
        .with(LENS_FILE, &inactive)
        .with("lenses/notes.yaml", &active)
        .with("sources/books/a.md", "# Keys\n\nRotate keys.\n");
    server.api.register(&package);
    let reindex = format!("/v1/lenses/{LENS}/reindex");
    let refused = server.api.post(&reindex, &json!({}));
    assert_eq!(known(refused.clone()), ["security.notes_of_guards"]);
    assert_eq!(
        refused.fails(404, "not_found"),
        format!("there is no active domain lens `{LENS}`")
    );
}
