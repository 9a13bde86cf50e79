//! Knowledge over the Model Context Protocol: agent skills of the link graph, lenses and memory.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::peers::python;
use super::{MODES, over_http, with};
use crate::home::{Api, Home, Server, ids};
use crate::lenses::{LENS, handbook, library, words_only};
use crate::shared::Tenants;
use crate::site::Site;
use crate::skills::{home_with, put};

const RUN: &str = "#!/bin/sh\necho SECRET-OF-THE-FILE\n";

/// Runs the steps in order by the Python client, over HTTP with the caller's key; returns their results, and the
/// extensions of the server.
fn steps(api: &Api, mode: &str, steps: &Value) -> (Vec<Value>, Value) {
    let given = json!({"do": "steps", "mode": mode, "steps": steps});
    let saw = python(&with(&over_http(api), given)).end();
    (
        saw["steps"].as_array().unwrap().clone(),
        saw["extensions"].clone(),
    )
}

pub(crate) fn skill_md(name: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: The {name} of databases. Use it when {name} is wanted.\n\
         license: Apache-2.0\nmetadata: {{author: ann, level: \"2\"}}\n---\nINSTRUCTION-OF-{name}\n"
    )
}

/// Callers of a tenant with two groups of skills, of which Ned may reach one, and Eve of another tenant.
struct Callers {
    olga: Api,
    ned: Api,
    eve: Api,
}

fn served() -> Callers {
    let server = Tenants::with_keys(&[
        ("root", "acme", "root", "admin"),
        ("olga", "acme", "olga", "operator"),
        ("eve", "umbra", "eve", "operator"),
    ]);
    let olga = server.key("olga");
    fill(&olga);
    let order = json!({"name": "tests", "user": "ned", "role": "user", "agent_skills": ["sql"]});
    let made = server.api.post("/v1/keys", &order).expect(201);
    let ned = server.api.with_key(made["secret"].as_str().unwrap());
    let eve = server.key("eve");
    Callers { olga, ned, eve }
}

/// The same skills and callers on a separate server that searches by words only.
fn served_without_a_model() -> (Home, Server) {
    let home = home_with(&[
        ("olga", "acme", "operator", None),
        ("ned", "acme", "user", Some(&["sql"])),
        ("eve", "umbra", "operator", None),
    ]);
    let server = home.serve();
    fill(&server.key("olga"));
    (home, server)
}

fn fill(olga: &Api) {
    let files = json!({"files": [
        {"path": "sql/migration/SKILL.md", "text": skill_md("migration")},
        {"path": "sql/migration/scripts/run it.sh", "text": RUN, "executable": true},
        {"path": "sql/migration/assets/logo.bin", "base64": "AP8="},
        {"path": "sql/migration/undo/SKILL.md", "text": skill_md("undo")},
        {"path": "billing/refunds/SKILL.md", "text": skill_md("refunds")},
    ]});
    olga.post("/v1/agent-skills/import", &files).expect(200);
    let written = json!({
        "skill_id": "restore", "summary": "The restoring of databases", "is_folder": false,
        "instruction": "INSTRUCTION-OF-restore",
    });
    put(olga, &written).expect(201);
}

fn find(arguments: &Value) -> Value {
    json!({"tool": "find", "arguments": arguments})
}

fn open(arguments: &Value) -> Value {
    json!({"tool": "open", "arguments": arguments})
}

fn digest(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Every operation that finds, lists or describes skills without reading one.
fn looking_around() -> Value {
    json!([
        find(&json!({"query": "databases"})),
        find(&json!({"query": "databases", "kind": "agent_skill", "limit": 50})),
        find(&json!({"limit": 50})),
        find(&json!({"kind": "agent_skill", "limit": 1})),
        find(&json!({"under": "sql"})),
        {"resources": true},
        {"method": "skills/list", "params": {}},
        {"method": "skills/get", "params": {"uri": "skill://sql/migration/SKILL.md"}},
    ])
}

/// Skills are found, navigated and listed without instructions or files; each is read on request only.
#[test]
fn b001_3_a_client_finds_and_walks_agent_skills_without_their_instructions() {
    let (_home, server) = served_without_a_model();
    let olga = server.key("olga");
    for (mode, _) in MODES {
        let (saw, extensions) = steps(&olga, mode, &looking_around());
        assert_eq!(extensions["io.modelcontextprotocol/skills"], json!({}));
        let all = json!(saw).to_string();
        assert!(!all.contains("INSTRUCTION-OF"), "{mode}: {all}");
        assert!(!all.contains("SECRET-OF"), "{mode}: {all}");
        let found = |at: usize| {
            let entries = saw[at]["content"]["entries"].as_array().unwrap().iter();
            let skills = entries.filter(|entry| entry["kind"] == "agent_skill");
            let mut found = ids(&skills.cloned().collect(), "id");
            found.sort();
            found
        };
        let leaves = [
            "billing.refunds",
            "restore",
            "sql.migration",
            "sql.migration.undo",
        ];
        assert_eq!(found(0), leaves, "{:#}", saw[0]);
        assert_eq!(found(1), leaves);
        assert_eq!(found(2), ["billing", "restore", "sql"]);
        assert_eq!(saw[3]["content"]["entries"][0]["is_folder"], true);
        assert_eq!(saw[3]["content"]["next"], "agent_skill billing");
        assert_eq!(found(4), ["sql.migration"]);
        let next = json!([find(
            &json!({"kind": "agent_skill", "after": "agent_skill billing"})
        )]);
        let (next, _) = steps(&olga, mode, &next);
        assert_eq!(
            ids(&next[0]["content"]["entries"], "id"),
            ["restore", "sql"]
        );
    }
}

/// One instruction by its id, and a file on request.
#[test]
fn b001_3_a_client_opens_one_instruction_and_fetches_files_when_it_asks() {
    let Callers { ned, .. } = served();
    let kind = "agent_skill";
    let (saw, _) = steps(
        &ned,
        "auto",
        &json!([
            open(&json!({"kind": kind, "id": "sql.migration"})),
            open(&json!({"kind": kind, "id": "sql.migration", "file": "scripts/run it.sh"})),
            open(&json!({"kind": kind, "id": "sql.migration", "file": "assets/logo.bin"})),
            open(&json!({"kind": kind, "id": "sql.migration", "file": "../undo/SKILL.md"})),
            open(&json!({"kind": "tool", "id": "x", "file": "y"})),
            find(&json!({"kind": "tool", "under": "sql"})),
        ]),
    );
    let opened = &saw[0]["content"]["document"];
    assert_eq!(opened["instruction"], "INSTRUCTION-OF-migration\n");
    assert_eq!(opened["sub_skills"], json!(["sql.migration.undo"]));
    let files = ids(&opened["files"], "path");
    assert_eq!(files, ["SKILL.md", "assets/logo.bin", "scripts/run it.sh"]);
    assert!(!saw[0].to_string().contains("SECRET-OF"));
    assert!(!saw[0].to_string().contains("INSTRUCTION-OF-undo"));
    assert_eq!(saw[1]["content"]["document"]["text"], RUN);
    assert_eq!(saw[2]["content"]["document"]["base64"], "AP8=");
    assert_eq!(saw[3]["content"]["error_code"], "not_found");
    assert_eq!(saw[4]["content"]["error_code"], "invalid_request");
    assert_eq!(saw[5]["content"]["error_code"], "invalid_request");
}

/// Each skill equals its entry in `skills/list`, and each of its files has the listed digest and size.
fn check_promises(olga: &Api, skills: &[Value]) {
    let mut reading = Vec::new();
    for skill in skills {
        reading.push(json!({"method": "skills/get", "params": {"uri": skill["uri"]}}));
        for file in skill["resources"].as_array().unwrap() {
            reading.push(json!({"read": file["uri"]}));
        }
    }
    let (read, _) = steps(olga, "auto", &json!(reading));
    let mut read = read.iter();
    for skill in skills {
        assert_eq!(read.next().unwrap()["skill"], *skill);
        for file in skill["resources"].as_array().unwrap() {
            let content = read.next().unwrap();
            let bytes = match &content["text"] {
                Value::String(text) => text.clone().into_bytes(),
                _ => vec![0, 255],
            };
            assert_eq!(
                (&file["digest"], &file["size"]),
                (&json!(digest(&bytes)), &json!(bytes.len())),
                "{file} {content}"
            );
        }
    }
}

/// The Skills extension: manifests with the digests of the files, nested skills included.
#[test]
fn the_skills_extension_lists_manifests_and_serves_what_they_promise() {
    let Callers { olga, .. } = served();
    let list = json!([{"method": "skills/list", "params": {}}, {"resources": true}]);
    let (saw, _) = steps(&olga, "auto", &list);
    assert_eq!(
        (&saw[0]["resultType"], &saw[0]["cacheScope"]),
        (&json!("complete"), &json!("private"))
    );
    let skills = saw[0]["skills"].as_array().unwrap();
    assert_eq!(
        ids(&saw[0]["skills"], "uri"),
        [
            "skill://billing/refunds/SKILL.md",
            "skill://restore/SKILL.md",
            "skill://sql/migration/SKILL.md",
            "skill://sql/migration/undo/SKILL.md",
        ]
    );
    let migration = &skills[2];
    assert_eq!(
        migration["frontmatter"],
        json!({
            "name": "migration", "license": "Apache-2.0", "metadata": {"author": "ann", "level": "2"},
            "description": "The migration of databases. Use it when migration is wanted.",
        })
    );
    let files = ids(&migration["resources"], "uri");
    assert_eq!(
        files,
        [
            "skill://sql/migration/SKILL.md",
            "skill://sql/migration/assets/logo.bin",
            "skill://sql/migration/scripts/run%20it.sh",
            "skill://sql/migration/undo/SKILL.md",
        ]
    );
    check_promises(&olga, skills);
    // Every file is a resource once, even if two manifests contain it.
    let mut listed = ids(&saw[1], "uri");
    listed.sort();
    assert_eq!(
        listed,
        [
            "skill://billing/refunds/SKILL.md",
            "skill://restore/SKILL.md",
            "skill://sql/migration/SKILL.md",
            "skill://sql/migration/assets/logo.bin",
            "skill://sql/migration/scripts/run%20it.sh",
            "skill://sql/migration/undo/SKILL.md",
        ]
    );
}

/// More skills than one page has: each is listed once, except those that break a rule of the format, because a strict
/// client would refuse the others with them. These are served by name, if the extension can represent them.
#[test]
fn the_skills_extension_pages() {
    let home = home_with(&[("olga", "acme", "operator", None)]);
    let server = home.serve();
    let mut files: Vec<Value> = (0..45)
        .map(|n| json!({"path": format!("s-{n:02}/SKILL.md"), "text": skill_md(&format!("s-{n:02}"))}))
        .collect();
    let odd = "---\nname: s-99\ndescription: d\nmetadata: {labels: [a]}\n---\n";
    files.push(json!({"path": "s-98/SKILL.md", "text": odd}));
    files.push(json!({"path": "s-99/SKILL.md", "text": odd}));
    let olga = server.key("olga");
    olga.post("/v1/agent-skills/import", &json!({"files": files}))
        .expect(200);
    let mut cursor = None;
    let mut pages = Vec::new();
    loop {
        let params = cursor.map_or(json!({}), |cursor: Value| json!({"cursor": cursor}));
        let page = olga.mcp(&json!({}), "skills/list", None, params)["result"].clone();
        pages.push(ids(&page["skills"], "uri"));
        match page.get("nextCursor") {
            Some(next) => cursor = Some(next.clone()),
            None => break,
        }
    }
    let sizes: Vec<usize> = pages.iter().map(Vec::len).collect();
    assert_eq!(sizes, [20, 20, 5]);
    let all = pages.concat();
    let expected: Vec<String> = (0..45)
        .map(|n| format!("skill://s-{n:02}/SKILL.md"))
        .collect();
    assert_eq!(all, expected);
    let bad = olga.mcp(&json!({}), "skills/list", None, json!({"cursor": "../x"}));
    assert_eq!(bad["error"]["code"], -32602, "{bad:#}");
    let [misnamed, odd] = ["s-98", "s-99"].map(|name| format!("skill://{name}/SKILL.md"));
    let get = |uri: &str| json!({"method": "skills/get", "params": {"uri": uri}});
    let asked = json!([{"resources": true}, get(&odd), get(&misnamed)]);
    let (saw, _) = steps(&olga, "auto", &asked);
    let frontmatter = &saw[1]["skill"]["frontmatter"];
    assert_eq!(
        frontmatter["metadata"],
        json!({"labels": ["a"]}),
        "{saw:#?}"
    );
    assert_eq!(saw[2]["code"], -32602, "{saw:#?}");
    assert_eq!(
        ids(&saw[0], "uri"),
        [expected, vec![misnamed, odd]].concat()
    );
}

/// A skill beyond the caller's reach is in no answer, and looks absent.
#[test]
fn b001_6_a_denied_agent_skill_is_in_no_answer() {
    let (_home, server) = served_without_a_model();
    let (ned, eve) = (server.key("ned"), server.key("eve"));
    for (mode, _) in MODES {
        let mut around = looking_around();
        let asked = around.as_array_mut().unwrap();
        asked.push(find(&json!({"query": "refunds of billing"})));
        let (saw, _) = steps(&ned, mode, &around);
        let all = json!(saw).to_string();
        for denied in ["refunds", "billing", "restore"] {
            assert!(!all.contains(denied), "{mode}: {denied} in {all}");
        }
        assert!(all.contains("sql.migration"), "{all}");
        let denied = json!([
            open(&json!({"kind": "agent_skill", "id": "billing.refunds"})),
            open(&json!({"kind": "agent_skill", "id": "no.such"})),
            find(&json!({"under": "billing"})),
            {"method": "skills/get", "params": {"uri": "skill://billing/refunds/SKILL.md"}},
            {"method": "skills/get", "params": {"uri": "skill://no/such/SKILL.md"}},
            {"read": "skill://billing/refunds/SKILL.md"},
            {"read": "skill://no/such/SKILL.md"},
        ]);
        let (saw, _) = steps(&ned, mode, &denied);
        for absent in &saw[..3] {
            assert_eq!(absent["content"]["error_code"], "not_found", "{absent:#}");
        }
        assert_eq!(
            (&saw[3]["code"], &saw[4]["code"]),
            (&json!(-32602), &json!(-32602))
        );
        assert_eq!(saw[5]["code"], saw[6]["code"]);
        assert!(saw[5]["code"].is_i64(), "{:#}", saw[5]);
        // Another tenant sees nothing at all.
        let (saw, _) = steps(&eve, mode, &around);
        assert!(
            !json!(saw).to_string().contains("sql.migration\""),
            "{saw:#?}"
        );
    }
}

/// Hostile URIs look absent.
#[test]
fn hostile_addresses_of_skills_are_absent() {
    let Callers { olga, .. } = served();
    let long = format!("skill://{}SKILL.md", "a/".repeat(5_000));
    for uri in [
        "skill://",
        "skill:///SKILL.md",
        "skill://sql.migration/SKILL.md",
        "skill://sql/migration",
        "skill://sql/migration/",
        "skill://sql/migration/../undo/SKILL.md",
        "skill://sql/migration/%2e%2e/undo/SKILL.md",
        "skill://sql/migration/%ff",
        "skill://billing/../sql/migration/SKILL.md",
        long.as_str(),
    ] {
        let params = json!({"uri": uri});
        let read = olga.mcp(&json!({}), "resources/read", Some(uri), params.clone());
        assert_eq!(read["error"]["code"], -32602, "{uri}: {read:#}");
        let got = olga.mcp(&json!({}), "skills/get", Some(uri), params);
        assert_eq!(got["error"]["code"], -32602, "{uri}: {got:#}");
    }
}

/// B003-10: a model's memory waits for a person, and is visible to its user only.
#[test]
fn b003_10_what_a_client_remembers_is_a_proposal_and_its_users_alone() {
    let Callers { olga, ned, eve } = served();
    let memory = json!({
        "title": "Region", "content": "We deploy to eu-west-1.", "tags": ["aws"],
        "source": "user_statement", "importance": 7,
    });
    let recall =
        json!({"tool": "recall", "arguments": {"query": "where do we deploy", "tags": ["aws"]}});
    for (mode, _) in MODES {
        let remember = json!([{"tool": "remember", "arguments": memory}, recall.clone()]);
        let (saw, _) = steps(&ned, mode, &remember);
        let proposed = &saw[0]["content"];
        assert_eq!(proposed["state"], "proposed", "{proposed:#}");
        let id = proposed["memory_id"].as_str().unwrap();
        assert_eq!(
            proposed["hint"],
            format!("a person accepts it: charter memory accept {id} 1")
        );
        assert_eq!(saw[1]["content"]["memories"], json!([]));
        let shown = ned.get(&format!("/v1/memories/{id}")).expect(200);
        assert!(
            shown["agent_id"].as_str().unwrap().starts_with("mcp"),
            "{shown:#}"
        );
        ned.post(&format!("/v1/memories/{id}/versions/1/accept"), &json!({}))
            .expect(200);
        let (saw, _) = steps(&ned, mode, &json!([recall]));
        let recalled = &saw[0]["content"]["memories"];
        assert_eq!(ids(recalled, "memory_id"), [id]);
        assert_eq!(
            (
                &recalled[0]["content"],
                &recalled[0]["importance"],
                &recalled[0]["shared"]
            ),
            (&json!("We deploy to eu-west-1."), &json!(7), &json!(false))
        );
        for (name, other) in [("olga", &olga), ("eve", &eve)] {
            let (saw, _) = steps(other, mode, &json!([recall]));
            assert_eq!(saw[0]["content"]["memories"], json!([]), "{name}");
        }
        ned.call("DELETE", &format!("/v1/memories/{id}"), &[], Vec::new())
            .expect(200);
    }
    // The calling agent is the source of a memory without one.
    let unsaid = json!({"title": "Zone", "content": "It is eu-west-1b.", "tags": ["zone"]});
    let unsaid = json!([{"tool": "remember", "arguments": unsaid}]);
    let (saw, _) = steps(&ned, "auto", &unsaid);
    let path = format!(
        "/v1/memories/{}",
        saw[0]["content"]["memory_id"].as_str().unwrap()
    );
    let shown = ned.get(&path).expect(200);
    assert_eq!(shown["memory"]["metadata"]["source"], "system_observation");
    assert!(
        shown["agent_id"].as_str().unwrap().starts_with("mcp."),
        "{shown:#}"
    );
    ned.call("DELETE", &path, &[], Vec::new()).expect(200);
    let bad = json!([
        {"tool": "remember", "arguments": {"title": "t", "content": "c", "tags": []}},
        {"tool": "remember", "arguments": {"title": "t", "content": "c", "tags": ["a"], "importance": 11}},
        {"tool": "recall", "arguments": {"limit": 51}},
    ]);
    let (saw, _) = steps(&ned, "auto", &bad);
    for refused in saw {
        assert_eq!(
            refused["content"]["error_code"], "invalid_request",
            "{refused:#}"
        );
    }
}

/// B000-16: passages with their text, position and source; nothing on the basic tier.
#[test]
fn b000_16_a_client_asks_the_reference_library() {
    let site = Site::at("127.0.0.1");
    site.put("/handbook", handbook(&["keys", "locks"]));
    let home = words_only(&site);
    let words = home.serve();
    words.api.register(&library(&site.url("/handbook")));
    let ask = json!([
        {"tool": "ask_lens", "arguments": {"question": "which rules apply to locks?", "domain": "security", "limit": 1}},
        {"tool": "ask_lens", "arguments": {"question": "locks", "lens_ids": ["no.such"]}},
        {"tool": "ask_lens", "arguments": {"question": "locks", "lens_ids": ["../x"]}},
    ]);
    let given = json!({"do": "steps", "mode": "auto", "steps": ask});
    let saw = python(&with(&over_http(&words.api), given)).end()["steps"].clone();
    let passages = saw[0]["content"]["passages"].as_array().unwrap();
    let [passage] = passages.as_slice() else {
        panic!("{saw:#}")
    };
    assert_eq!(passage["lens_id"], LENS);
    assert!(
        passage["text"].as_str().unwrap().contains("locks rule"),
        "{passage:#}"
    );
    assert!(passage["position"]["headings"].is_array(), "{passage:#}");
    assert_eq!(passage["source"]["ref"], site.url("/handbook"));
    assert_eq!(saw[1]["content"]["error_code"], "not_found");
    assert_eq!(saw[2]["content"]["error_code"], "invalid_request");

    let Callers { ned, .. } = served();
    let (saw, _) = steps(&ned, "auto", &json!([ask[0]]));
    assert_eq!(
        saw[0]["content"]["error_code"], "permission_denied",
        "{:#}",
        saw[0]
    );
    // The tool is not listed on that tier either.
    let listed = |api: &Api| {
        let listed = api.mcp(&json!({}), "tools/list", None, json!({}));
        ids(&listed["result"]["tools"], "name")
    };
    let (all, basic) = (listed(&words.api), listed(&ned));
    let without = all.iter().filter(|name| *name != "ask_lens");
    assert_eq!(basic, without.cloned().collect::<Vec<_>>());
    assert_eq!(basic.len() + 1, all.len());
}
