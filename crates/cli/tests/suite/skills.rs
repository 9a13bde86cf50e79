//! The skill link graph over HTTP (seed 001): documents, discovery, navigation, targeted fetch, access.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::home::{Answer, Api, Home, Server, ids};

/// Keys by name: tenant, role and grants.
pub(crate) type Keys<'k> = &'k [(&'k str, &'k str, &'k str, Option<&'k [&'k str]>)];

/// A home without a model whose server has these keys.
pub(crate) fn home_with(keys: Keys<'_>) -> Home {
    let home = Home::new().with("CHARTER_MODEL__SOURCE", "none");
    let mut text = String::new();
    for (key, tenant, role, grants) in keys {
        let digest = Sha256::digest(key.as_bytes());
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        text += &format!(
            "[[auth.keys]]\nsha256 = \"{digest}\"\ntenant = \"{tenant}\"\nuser = \"{key}\"\nrole = \"{role}\"\n"
        );
        if let Some(grants) = grants {
            text += &format!("agent_skills = {grants:?}\n");
        }
    }
    let file = home.path("config.toml");
    std::fs::write(&file, text).unwrap();
    home.with("CHARTER_CONFIG", file.to_str().unwrap())
}

/// A server without keys and without a model.
fn local() -> (Home, Server) {
    let home = Home::new().with("CHARTER_MODEL__SOURCE", "none");
    let server = home.serve();
    (home, server)
}

pub(crate) fn put(api: &Api, skill: &Value) -> Answer {
    let id = skill["skill_id"].as_str().unwrap();
    let path = format!("/v1/agent-skills/{id}");
    api.call("PUT", &path, &[], skill.to_string().into_bytes())
}

pub(crate) fn delete(api: &Api, path: &str) -> Answer {
    let path = format!("/v1/agent-skills/{path}");
    api.call("DELETE", &path, &[], Vec::new())
}

pub(crate) fn leaf(id: &str, summary: &str) -> Value {
    json!({
        "skill_id": id, "summary": summary, "is_folder": false, "sub_skills": [],
        "instruction": format!("INSTRUCTION-OF-{id}"),
    })
}

fn folder(id: &str, children: &[&str]) -> Value {
    json!({
        "skill_id": id, "summary": format!("folder {id}"), "is_folder": true,
        "sub_skills": children, "instruction": format!("INSTRUCTION-OF-{id}"),
    })
}

fn found(api: &Api, search: Value) -> Vec<String> {
    let hits = api.post("/v1/agent-skills/search", &search).expect(200);
    ids(&hits["hits"], "skill_id")
}

fn children(api: &Api, id: &str) -> Vec<String> {
    let page = api.get(&format!("/v1/agent-skills/{id}/children"));
    ids(&page.expect(200)["entries"], "skill_id")
}

#[test]
fn b001_1_put_is_idempotent_and_the_path_is_the_bodys_id() {
    let (_home, server) = local();
    let api = &server.api;
    let skill = leaf("SQL_SKILL_MIGRATION", "Database migration");
    let created = put(api, &skill).expect(201);
    let written = json!({"skill_id": "SQL_SKILL_MIGRATION", "created": true, "embedded": false});
    assert_eq!(created, written);
    assert_eq!(put(api, &skill).expect(200)["created"], false);
    let shown = api.get("/v1/agent-skills/SQL_SKILL_MIGRATION").expect(200);
    assert_eq!(
        shown,
        json!({
            "skill_id": "SQL_SKILL_MIGRATION", "summary": "Database migration",
            "is_folder": false, "sub_skills": [], "scope": "tenant",
        })
    );
    let body = skill.to_string().into_bytes();
    api.call("PUT", "/v1/agent-skills/OTHER", &[], body)
        .fails(400, "invalid_request");
    let nameless = json!({"skill_id": "", "summary": "s", "is_folder": false});
    api.call(
        "PUT",
        "/v1/agent-skills/x",
        &[],
        nameless.to_string().into(),
    )
    .fails(400, "invalid_document");
    // Words of other routes are valid ids too.
    for id in ["search", "bulk", "import", "lint"] {
        put(api, &leaf(id, "taken")).expect(201);
        let path = format!("/v1/agent-skills/{id}/instruction");
        let fetched = api.get(&path).expect(200);
        assert_eq!(fetched["instruction"], format!("INSTRUCTION-OF-{id}"));
        let shown = api.get(&format!("/v1/agent-skills/{id}")).expect(200);
        assert_eq!(shown["skill_id"], id);
        delete(api, id).expect(204);
    }
}

/// The model defines the dims; a vector of other dims is refused.
#[test]
fn b001_2_a_supplied_vector_is_the_indexs() {
    let home = Home::new();
    let server = home.serve();
    let api = &server.api;
    let vector = |at: usize| {
        let mut components = vec![0.0; 384];
        components[at] = 1.0;
        json!(components)
    };
    let with = |id: &str, vector: Value| {
        let mut skill = leaf(id, &format!("summary of {id}"));
        skill["skill_desc_vector"] = vector;
        skill
    };
    assert_eq!(
        put(api, &with("a", vector(3))).expect(201)["embedded"],
        false
    );
    put(api, &with("b", vector(7))).expect(201);
    for bad in [
        json!([1.0, 2.0]),
        json!(vec![0.0; 384]),
        json!([]),
        json!([null]),
    ] {
        put(api, &with("c", bad)).fails(400, "invalid_document");
    }
    assert_eq!(found(api, json!({"vector": vector(7), "top_k": 1})), ["b"]);
    api.post("/v1/agent-skills/search", &json!({"vector": [1.0]}))
        .fails(400, "invalid_request");
    let mapping = api.get("/v1/agent-skills/_mapping").expect(200);
    let properties = &mapping["mappings"]["properties"];
    assert_eq!(properties["skill_desc_vector"]["dims"], 384);
    assert_eq!(
        properties["instruction"],
        json!({"type": "text", "index": false})
    );
    // B001-8: a summary is embedded only if it is new or changed.
    let mut skill = leaf("d", "rotate the keys of a vault");
    for (summary, status, embedded) in [("one", 201, true), ("one", 200, false), ("two", 200, true)]
    {
        skill["summary"] = json!(summary);
        let written = put(api, &skill).expect(status);
        assert_eq!(written["embedded"], embedded, "{summary}");
    }
    skill["summary"] = json!("rotate the keys of a vault");
    put(api, &skill).expect(200);
    assert_eq!(
        found(
            api,
            json!({"query": "how do I replace secrets?", "top_k": 1})
        ),
        ["d"]
    );
    drop(server);
    // The stored skills serve the next process; another model's index is refused until a reindex.
    let server = home.serve();
    assert_eq!(
        found(&server.api, json!({"vector": vector(7), "top_k": 1})),
        ["b"]
    );
    drop(server);
    let other = home
        .with("CHARTER_MODEL__SOURCE", "remote")
        .with("CHARTER_MODEL__BASE_URL", "http://127.0.0.1:9/v1")
        .with("CHARTER_MODEL__NAME", "other")
        .with("CHARTER_MODEL__DIMS", "8");
    let ran = other.run(&["skills", "tree"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("error[model_mismatch]"), "{ran:?}");
    assert!(ran.err.contains("charter reindex"), "{ran:?}");
}

const MARKED: [(&str, &str); 4] = [
    ("sql.migration", "moves tables between databases"),
    ("sql.tuning", "makes slow queries of databases fast"),
    ("secret.keys", "FORBIDDEN-SUMMARY keys of databases"),
    ("secret.alone", "FORBIDDEN-SUMMARY databases alone"),
];

/// Two folders and their skills; every instruction contains a marker.
fn plant(api: &Api) {
    for (id, summary) in MARKED {
        put(api, &leaf(id, summary)).expect(201);
    }
    put(api, &folder("sql", &["sql.migration", "sql.tuning"])).expect(201);
    put(api, &folder("secret", &["secret.keys"])).expect(201);
    put(api, &folder("root", &["sql", "secret", "missing"])).expect(201);
}

/// The bytes of every answer about skills that is neither a targeted fetch nor a file.
fn every_answer(api: &Api) -> Vec<(String, String)> {
    let mut paths = vec![
        "/v1/agent-skills".to_owned(),
        "/v1/agent-skills/_mapping".to_owned(),
        "/.well-known/agent-skills/index.json".to_owned(),
        "/v1/agent-skills?limit=1&after=root".to_owned(),
    ];
    for id in [
        "root",
        "sql",
        "secret",
        "missing",
        "sql.tuning",
        "secret.alone",
    ] {
        for rest in ["", "/children", "/files", "/files/SKILL.md"] {
            paths.push(format!("/v1/agent-skills/{id}{rest}"));
        }
        paths.push(format!("/.well-known/agent-skills/{id}/SKILL.md"));
    }
    let mut answers: Vec<(String, String)> = paths
        .into_iter()
        .map(|path| {
            let answer = api.get(&path);
            (path, format!("{} {}", answer.status, answer.body))
        })
        .collect();
    for search in [
        json!({"query": "databases", "top_k": 100}),
        json!({"query": "FORBIDDEN SUMMARY keys alone", "top_k": 100}),
        json!({"query": "INSTRUCTION OF", "top_k": 100}),
        json!({"query": "databases", "only": "leaves"}),
        json!({"query": "folder", "only": "folders"}),
        json!({"query": ""}),
        json!({}),
    ] {
        let answer = api.post("/v1/agent-skills/search", &search);
        answers.push((
            search.to_string(),
            format!("{} {}", answer.status, answer.body),
        ));
    }
    let lint = api.post("/v1/agent-skills/lint", &json!({}));
    answers.push(("lint".to_owned(), format!("{} {}", lint.status, lint.body)));
    answers
}

/// B001-3: no byte of an instruction appears outside of its own targeted fetch.
#[test]
fn b001_3_discovery_and_navigation_never_leak_an_instruction() {
    let (_home, server) = local();
    let api = &server.api;
    plant(api);
    let batch = json!({"skills": [leaf("more", "more"), folder("bad", &["bad"])]});
    let bulk = api.post("/v1/agent-skills/bulk", &batch).expect(200);
    let mut answers = every_answer(api);
    answers.push(("bulk".to_owned(), bulk.to_string()));
    answers.push((
        "put".to_owned(),
        put(api, &leaf("more", "less")).expect(200).to_string(),
    ));
    for (asked, said) in &answers {
        assert!(!said.contains("INSTRUCTION-OF"), "{asked}: {said}");
        assert!(!said.contains("skill_desc_vector\":["), "{asked}: {said}");
    }
    let hits = api.post("/v1/agent-skills/search", &json!({"query": "slow queries"}));
    let hit = &hits.expect(200)["hits"][0];
    let fields: Vec<&String> = hit.as_object().unwrap().keys().collect();
    assert_eq!(
        fields,
        ["skill_id", "summary", "is_folder", "sub_skills", "score"]
    );
    for (id, _) in MARKED {
        let fetched = api
            .get(&format!("/v1/agent-skills/{id}/instruction"))
            .expect(200);
        let expected = json!({"skill_id": id, "instruction": format!("INSTRUCTION-OF-{id}")});
        assert_eq!(fetched, expected);
    }
    // A missing child is skipped, and each skill is listed under each of its parents.
    assert_eq!(children(api, "root"), ["sql", "secret"]);
    put(api, &folder("also", &["sql.tuning"])).expect(201);
    assert_eq!(children(api, "also"), ["sql.tuning"]);
    assert_eq!(children(api, "sql"), ["sql.migration", "sql.tuning"]);
    let page = api.get("/v1/agent-skills/sql/children?limit=1").expect(200);
    assert_eq!(
        (ids(&page["entries"], "skill_id"), &page["next"]),
        (vec!["sql.migration".to_owned()], &json!("sql.migration"))
    );
}

/// B001-6
#[test]
fn b001_6_a_denied_skill_never_appears() {
    let home = home_with(&[
        ("writer", "acme", "operator", None),
        ("sql", "acme", "user", Some(&["sql", "elsewhere"])),
        ("all", "acme", "user", Some(&["*"])),
        ("none", "acme", "user", None),
        ("empty", "acme", "operator", Some(&[])),
        ("other", "umbrella", "operator", None),
    ]);
    let server = home.serve();
    plant(&server.key("writer"));
    let sql = server.key("sql");
    for (asked, said) in every_answer(&sql) {
        let denied = ["FORBIDDEN", "\"secret", "\"root", "INSTRUCTION-OF"];
        // A refusal repeats the requested id, whether it exists or not.
        let refused = said.starts_with("404") || said.starts_with("403");
        let leaks = denied.iter().find(|text| said.contains(**text));
        assert!(refused || leaks.is_none(), "{asked}: {said}");
        assert!(!said.contains("FORBIDDEN"), "{asked}: {said}");
    }
    let found_by = |key: &str| {
        found(
            &server.key(key),
            json!({"query": "databases FORBIDDEN", "top_k": 50}),
        )
    };
    assert_eq!(found_by("sql").len(), 2);
    assert_eq!(found_by("all").len(), 4);
    for key in ["none", "empty", "other"] {
        assert_eq!(found_by(key), [""; 0], "{key}");
        let roots = server.key(key).get("/v1/agent-skills").expect(200);
        assert_eq!(roots["entries"], json!([]), "{key}");
    }
    assert_eq!(
        ids(
            &sql.get("/v1/agent-skills").expect(200)["entries"],
            "skill_id"
        ),
        ["sql"]
    );
    // The answers for a denied and an absent skill differ only in the requested id.
    let said = |id: &str, rest: &str| {
        let answer = sql.get(&format!("/v1/agent-skills/{id}{rest}"));
        let message = answer.fails(404, "not_found");
        message.replace(id, "ID")
    };
    for rest in ["", "/instruction", "/children", "/files", "/files/SKILL.md"] {
        for denied in ["root", "secret", "secret.keys"] {
            assert_eq!(said(denied, rest), said("nothing", rest), "{denied}{rest}");
        }
    }
    // A descendant at any depth is reachable; a new link applies at once, and so does its removal.
    let fetched = sql
        .get("/v1/agent-skills/sql.tuning/instruction")
        .expect(200);
    assert_eq!(fetched["instruction"], "INSTRUCTION-OF-sql.tuning");
    let writer = server.key("writer");
    put(&writer, &folder("sql", &["sql.tuning", "secret"])).expect(200);
    sql.get("/v1/agent-skills/secret.keys/instruction")
        .expect(200);
    sql.get("/v1/agent-skills/sql.migration")
        .fails(404, "not_found");
    put(&writer, &folder("sql", &["sql.tuning"])).expect(200);
    sql.get("/v1/agent-skills/secret.keys/instruction")
        .fails(404, "not_found");
}

/// B001-6: for a misspelled id, suggestions come only from the skills in reach.
#[test]
fn b001_6_a_denied_skill_is_not_suggested() {
    let home = home_with(&[
        ("writer", "acme", "operator", None),
        ("sql", "acme", "user", Some(&["sql"])),
        ("other", "umbrella", "operator", None),
    ]);
    let server = home.serve();
    plant(&server.key("writer"));
    let sql = server.key("sql");
    let near = |api: &Api, id: &str| {
        let answer = api.get(&format!("/v1/agent-skills/{id}"));
        answer.fails(404, "not_found")
    };
    assert_eq!(
        near(&sql, "sql.tunin"),
        "there is no skill `sql.tunin`; did you mean `sql.tuning`?"
    );
    assert_eq!(near(&sql, "secret.key"), "there is no skill `secret.key`");
    assert_eq!(
        near(&server.key("other"), "sql.tunin"),
        "there is no skill `sql.tunin`"
    );
}

/// The callers that may change the graph: a link to a skill would grant it.
#[test]
fn b001_6_only_callers_with_all_skills_may_change_the_graph() {
    let home = home_with(&[
        ("admin", "acme", "admin", None),
        ("writer", "acme", "operator", None),
        ("narrow", "acme", "operator", Some(&["sql"])),
        ("user", "acme", "user", Some(&["*"])),
    ]);
    let server = home.serve();
    let skill = leaf("sql", "s");
    let by = |key: &str, scope: &str| {
        let path = format!("/v1/agent-skills/sql?scope={scope}");
        server
            .key(key)
            .call("PUT", &path, &[], skill.to_string().into())
    };
    by("user", "tenant").fails(403, "permission_denied");
    by("narrow", "tenant").fails(403, "permission_denied");
    by("writer", "global").fails(403, "permission_denied");
    by("admin", "global").expect(201);
    by("writer", "tenant").expect(201);
    let narrow = server.key("narrow");
    delete(&narrow, "sql").fails(403, "permission_denied");
    for (path, body) in [
        ("bulk", json!({"skills": []})),
        ("import", json!({"files": []})),
    ] {
        let path = format!("/v1/agent-skills/{path}");
        narrow.post(&path, &body).fails(403, "permission_denied");
    }
    // The tenant's document shadows the global one; after its deletion, the global one is visible.
    let shown =
        |key: &str| server.key(key).get("/v1/agent-skills/sql").expect(200)["scope"].clone();
    assert_eq!(shown("writer"), "tenant");
    delete(&server.key("writer"), "sql").expect(204);
    assert_eq!(shown("writer"), "global");
}

#[test]
fn b001_4_what_makes_no_tree_is_refused_or_reported() {
    let (_home, server) = local();
    let api = &server.api;
    put(api, &folder("a", &["b"])).expect(201);
    put(api, &folder("b", &["c"])).expect(201);
    let cycle = put(api, &folder("c", &["a"])).fails(400, "invalid_document");
    assert!(cycle.contains("cycle: c → a → b → c"), "{cycle}");
    let own = put(api, &folder("d", &["d"])).fails(400, "invalid_document");
    assert!(own.contains("cycle: d → d"), "{own}");
    let mut bad = leaf("e", "e");
    bad["sub_skills"] = json!(["a"]);
    put(api, &bad).fails(400, "invalid_document");
    let empty = put(api, &folder("empty", &[])).expect(201);
    assert_eq!(empty["warnings"][0]["keyword"], "empty_folder");
    let lint = api.post("/v1/agent-skills/lint", &json!({})).expect(200);
    assert_eq!(
        lint["findings"],
        json!([
            {"skill_id": "b", "rule": "dangling_child", "message": "`c` does not exist"},
            {"skill_id": "empty", "rule": "empty_folder", "message": "the folder is empty"},
        ])
    );
    assert_eq!(children(api, "b"), [""; 0]);
}

#[test]
fn b001_7_a_skill_that_others_point_at_stays_unless_forced() {
    let (home, server) = local();
    let api = &server.api;
    put(api, &folder("a", &["x"])).expect(201);
    put(api, &folder("b", &["x"])).expect(201);
    put(api, &leaf("x", "x")).expect(201);
    let refused = delete(api, "x").fails(409, "still_referenced");
    assert_eq!(refused, "`x` is referenced by 2 skill(s): a, b");
    delete(api, "missing").fails(404, "not_found");
    put(api, &folder("b", &[])).expect(200);
    delete(api, "x").fails(409, "still_referenced");
    delete(api, "x?force=true").expect(204);
    api.get("/v1/agent-skills/x").fails(404, "not_found");
    assert_eq!(children(api, "a"), [""; 0]);
    // Also from the command line, which uses the server that holds the directory.
    put(api, &leaf("x", "x")).expect(201);
    let ran = home.run(&["skills", "delete", "x"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("error[still_referenced]"), "{ran:?}");
    assert_eq!(home.run(&["skills", "lint"]).code, Some(1));
    assert_eq!(
        home.run(&["skills", "delete", "x", "--force"]).code,
        Some(0)
    );
}

#[test]
fn b001_8_a_bulk_write_answers_per_item() {
    let (_home, server) = local();
    let api = &server.api;
    let bulk = |skills: Value| api.post("/v1/agent-skills/bulk", &json!({"skills": skills}));
    let twice = bulk(json!([leaf("a", "a"), leaf("b", "b"), leaf("a", "c")]));
    let message = twice.fails(400, "invalid_request");
    assert_eq!(message, "these ids are duplicated: a");
    api.get("/v1/agent-skills/b").fails(404, "not_found");
    let answer = bulk(json!([
        leaf("a", "a"),
        {"skill_id": "broken"},
        folder("f", &["a", "g"]),
        folder("g", &["f"]),
        ["array", null, "of the fields", false, [], ""],
        leaf("z", "z"),
    ]))
    .expect(200);
    assert_eq!(
        (&answer["written"], &answer["refused"]),
        (&json!(3), &json!(3))
    );
    let results: Vec<&str> = answer["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["result"].as_str().unwrap())
        .collect();
    assert_eq!(
        results,
        [
            "written", "refused", "written", "refused", "refused", "written"
        ]
    );
    let refused = answer["items"][3]["message"].as_str().unwrap();
    assert!(refused.contains("cycle: g → f → g"), "{refused}");
    assert_eq!(found(api, json!({"query": "z"})), ["z"]);
}

/// Required demonstration: a chain of 10,000 folders, written at once, is reachable to its end.
#[test]
fn b001_6_a_chain_of_ten_thousand_folders_is_served() {
    const DEEP: usize = 10_000;
    let home = home_with(&[
        ("writer", "acme", "operator", None),
        ("top", "acme", "user", Some(&["n0"])),
        ("middle", "acme", "user", Some(&["n5000"])),
    ]);
    let server = home.serve();
    let chain: Vec<Value> = (0..DEEP)
        .map(|at| {
            let child = format!("n{}", at + 1);
            match at + 1 < DEEP {
                true => folder(&format!("n{at}"), &[&child]),
                false => leaf(&format!("n{at}"), "the last"),
            }
        })
        .collect();
    let writer = server.key("writer");
    let written = writer
        .post("/v1/agent-skills/bulk", &json!({"skills": chain}))
        .expect(200);
    assert_eq!(
        (&written["written"], &written["refused"]),
        (&json!(DEEP), &json!(0))
    );
    for key in ["top", "middle"] {
        let api = server.key(key);
        assert_eq!(found(&api, json!({"query": "the last"})), ["n9999"]);
        let fetched = api.get("/v1/agent-skills/n9999/instruction").expect(200);
        assert_eq!(fetched["instruction"], "INSTRUCTION-OF-n9999");
    }
    server
        .key("middle")
        .get("/v1/agent-skills/n4999")
        .fails(404, "not_found");
    let cycle = put(&writer, &folder("n9999", &["n0"])).fails(400, "invalid_document");
    assert!(cycle.contains("more …"), "{cycle}");
    assert!(cycle.len() < 1_000, "{}", cycle.len());
}
