//! Bad input: each gets a clear error with a code, and nothing is lost.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::home::{Home, ids, request, request_of};
use crate::packages::{QUESTION, SKILL, SKILL_FILE, backups};
use crate::shared::Tenants;

/// A YAML error is shown at its position, with a caret.
#[test]
fn a_malformed_package_is_shown_with_a_caret() {
    let home = Home::new();
    let broken = backups().with(
        "tools/bad.yaml",
        "tool_id: x\nname: [unclosed\nprovider: aws\n",
    );
    let folder = broken.write(&home.path("package"));
    let checked = home.run(&["package", "validate", &folder]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    let shown = &checked.out;
    assert!(shown.contains("error[syntax]"), "{shown}");
    assert!(shown.contains("--> tools/bad.yaml:"), "{shown}");
    assert!(
        shown
            .lines()
            .any(|line| line.contains('|') && line.trim_end().ends_with('^')),
        "{shown}"
    );
    // The manifest and the other documents are readable, so they are named and counted.
    assert!(shown.contains("backups 1.0.0: "), "{shown}");
    assert!(!shown.contains(" 0 document(s)"), "{shown}");
    let registered = home.run(&["package", "register", &folder]);
    assert_eq!(registered.code, Some(2), "{registered:?}");
    assert!(
        registered.err.starts_with("error[invalid_document]"),
        "{registered:?}"
    );
    assert!(
        registered.err.contains("--> tools/bad.yaml:"),
        "{registered:?}"
    );
}

#[test]
fn a_package_whose_manifest_cannot_be_read_is_not_named() {
    let home = Home::new();
    let folder = backups().write(&home.path("package"));
    std::fs::write(home.path("package/package.yaml"), "name: [unclosed\n").unwrap();
    let checked = home.run(&["package", "validate", &folder]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    let shown = &checked.out;
    assert!(
        shown.contains("no name and version can be read in package.yaml: "),
        "{shown}"
    );
    assert!(!shown.contains(" 0 document(s)"), "{shown}");
}

#[test]
fn an_unknown_domain_is_shown_at_its_line() {
    let home = Home::new();
    let package = backups().edit(SKILL_FILE, "domain: reliability", "domain: relability");
    let checked = home.run(&["package", "validate", &package.write(&home.path("package"))]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    let at = format!(
        "--> {SKILL_FILE}:3:1\n  |\n3 | domain: relability\n  | ^^^^^^\n  = did you mean `reliability`?\n"
    );
    assert!(checked.out.contains(&at), "{}", checked.out);
}

/// A package file that is not UTF-8 is named with its line.
#[test]
fn a_file_that_is_no_utf_8_is_named() {
    let home = Home::new();
    let folder = backups().write(&home.path("package"));
    std::fs::write(home.path("package/skills/odd.yaml"), b"a: b\nc: \xff\n").unwrap();
    let checked = home.run(&["package", "validate", &folder]);
    assert_eq!(checked.code, Some(2), "{checked:?}");
    assert!(
        checked.err.contains("error[invalid_utf8]") && checked.err.contains("odd.yaml:2"),
        "{checked:?}"
    );
}

/// Editors write byte order marks and UTF-16; the content of the file is equal.
#[test]
fn a_package_in_other_encodings_is_valid() {
    let home = Home::new();
    let folder = backups().write(&home.path("package"));
    let rewrite = |file: &str, encode: fn(&str) -> Vec<u8>| {
        let file = home.path("package").join(file);
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, encode(&text)).unwrap();
    };
    rewrite("package.yaml", |text| {
        format!("\u{feff}{}", text.replace('\n', "\r\n")).into_bytes()
    });
    rewrite(SKILL_FILE, |text| {
        let units: Vec<u16> = format!("\u{feff}{text}").encode_utf16().collect();
        units.into_iter().flat_map(u16::to_le_bytes).collect()
    });
    let checked = home.run(&["package", "validate", &folder]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
}

#[test]
fn a_body_of_20_mib_is_too_large() {
    let server = Tenants::one();
    let refused = server.api.post_bytes("/v1/packages", vec![b' '; 20 << 20]);
    refused.clone().fails(413, "too_large");
    assert_eq!(refused.body["technical_details"]["limit_bytes"], 16 << 20);
    server.api.register(&backups());
}

#[test]
fn a_body_that_is_no_utf_8_or_no_json_is_refused() {
    let server = Tenants::one();
    let said = server
        .api
        .post_bytes("/v1/requests", b"{\"input\": \"\xff\"}".to_vec())
        .fails(400, "invalid_utf8");
    assert_eq!(said, "the body is not valid UTF-8 at byte 11");
    let utf16 = "{}".encode_utf16().flat_map(u16::to_le_bytes);
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(utf16).collect();
    let said = server.api.post_bytes("/v1/requests", utf16);
    let said = said.fails(400, "invalid_utf8");
    assert_eq!(said, "the body is not valid UTF-8 at byte 0");
    let asked = json!({"text": "x"});
    let marked = format!("\u{feff}{asked}").into_bytes();
    let marked = server.api.post_bytes("/v1/memories/search", marked);
    let plain = server.api.post("/v1/memories/search", &asked);
    assert_eq!(marked.expect(200), plain.expect(200));
    server
        .api
        .post_bytes("/v1/requests", b"{\"input\": ".to_vec())
        .fails(400, "invalid_document");
    server
        .api
        .post_bytes("/v1/requests", Vec::new())
        .fails(400, "invalid_document");
    let refused = server
        .api
        .ask(&json!({"id": "req-1", "timestamp": "yesterday", "input": 7}));
    refused.clone().fails(400, "invalid_document");
    let violations = refused.body["technical_details"]["violations"]
        .as_array()
        .unwrap();
    let mut pointers: Vec<&str> = violations
        .iter()
        .map(|v| v["pointer"].as_str().unwrap())
        .collect();
    pointers.sort_unstable();
    pointers.dedup();
    assert_eq!(pointers, ["/id", "/input", "/timestamp"]);
    let mut odd = request("x");
    odd["metadata"] = json!({"parameters": "not a map"});
    server.api.ask(&odd).fails(400, "invalid_request");
    server
        .api
        .ask(&request("   "))
        .fails(400, "invalid_request");
}

/// An integer that would be rounded is refused with its position, in every kind of body.
#[test]
fn a_long_integer_is_refused_with_its_place() {
    let server = Tenants::one();
    let step =
        json!({"id": "step-001", "name": "x", "tool": "no.such", "parameters": {"x": "LONG"}});
    let plan = json!({
        "id": "plan-01930000-0000-7000-8000-000000000001", "steps": [step],
        "request_id": "req-01930000-0000-7000-8000-000000000001", "created_at": "2026-04-14T12:00:00Z",
    });
    for (path, body, code, pointer) in [
        (
            "/v1/requests",
            request_of("no.such", json!({"x": "LONG"})),
            "invalid_document",
            "/metadata/parameters/x",
        ),
        (
            "/v1/runs",
            json!({"execution_plan": plan}),
            "invalid_request",
            "/execution_plan/steps/0/parameters/x",
        ),
        (
            "/v1/gate/explain",
            json!({"tool": "no.such", "parameters": {"x": ["LONG"]}}),
            "invalid_request",
            "/parameters/x/0",
        ),
    ] {
        let long = body
            .to_string()
            .replace(r#""LONG""#, "-98765432109876543210");
        let refused = server.api.post_bytes(path, long.into_bytes());
        let message = refused.clone().fails(400, code);
        assert!(
            message.contains("the number -98765432109876543210 at"),
            "{message}"
        );
        let violation = &refused.body["technical_details"]["violations"][0];
        assert_eq!(violation["pointer"], pointer, "{path}");
    }
}

/// B003-2: all faults of a body are listed, each with its position and the probably intended word.
#[test]
fn b003_2_every_body_is_refused_with_all_its_faults() {
    let server = Tenants::one();
    let document = server.api.get("/v1/openapi.json").expect(200);
    let mut tried = 0;
    for (template, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let body = &operation["requestBody"]["content"]["application/json"]["schema"]["$ref"];
            let schema = body.as_str().and_then(|to| document.pointer(&to[1..]));
            // A schema that accepts further fields has no unknown ones.
            let Some(schema) = schema.filter(|schema| schema["additionalProperties"] == false)
            else {
                continue;
            };
            let names = schema["properties"].as_object().unwrap().keys();
            let meant = names.max_by_key(|name| name.len()).unwrap();
            let body = json!({ (format!("{meant}x")): 1, "zz": 2 }).to_string();
            let parts = template.split('/');
            let parts = parts.map(|part| if part.starts_with('{') { "x" } else { part });
            let path = parts.collect::<Vec<_>>().join("/");
            let method = method.to_uppercase();
            let refused = server.api.call(&method, &path, &[], body.into_bytes());
            assert_eq!(refused.status, 400, "{method} {path}: {:#}", refused.body);
            let violations = &refused.body["technical_details"]["violations"];
            let at = |pointer: String| {
                let mut all = violations.as_array().unwrap().iter();
                let found = all.find(|violation| violation["pointer"] == pointer);
                found.unwrap_or_else(|| panic!("{method} {path}: {violations:#}"))
            };
            let suggestion = &at(format!("/{meant}x"))["suggestion"];
            assert_eq!(*suggestion, format!("did you mean `{meant}`?"), "{path}");
            at("/zz".to_owned());
            tried += 1;
        }
    }
    assert!(tried > 20, "{tried}");
}

#[test]
fn b003_2_a_memory_and_a_search_are_refused_with_all_their_faults() {
    let server = Tenants::one();
    let faults = |path: &str, body: Value| {
        let refused = server.api.post(path, &body);
        refused.clone().fails(400, "invalid_request");
        let mut pointers = ids(&refused.body["technical_details"]["violations"], "pointer");
        pointers.sort();
        pointers
    };
    let memory = json!({
        "memory": {"title": 5, "content": "c", "tags": [], "metadata": {"importance": 11}},
        "visibilty": "shared",
    });
    assert_eq!(
        faults("/v1/memories", memory),
        [
            "/memory/metadata",
            "/memory/metadata/importance",
            "/memory/tags",
            "/memory/title",
            "/visibilty",
        ]
    );
    let search = json!({"text": " ", "limit": 0, "from": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"});
    assert_eq!(
        faults("/v1/memories/search", search),
        ["/limit", "/text", "/until"]
    );
    let mut odd = request("x");
    odd["metadata"] = json!({"flow": "skil", "dry_run": "no", "rag_params": {"top_k": "all"}});
    assert_eq!(
        faults("/v1/requests", odd),
        [
            "/metadata/dry_run",
            "/metadata/flow",
            "/metadata/rag_params/top_k",
        ]
    );
}

#[test]
fn b003_2_a_mission_and_a_question_to_the_graph_are_refused_with_all_their_faults() {
    let server = Tenants::one();
    let faults = |path: &str, body: Value| {
        let refused = server.api.post(path, &body);
        refused.clone().fails(400, "invalid_request");
        let violations = refused.body["technical_details"]["violations"].as_array();
        let told = violations.unwrap().iter().map(|violation| {
            let text = |field: &str| violation[field].as_str().unwrap_or_default().to_owned();
            (text("pointer"), text("suggestion"))
        });
        told.collect::<BTreeMap<_, _>>()
    };
    let expected = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter().map(|(pointer, meant)| {
            let suggestion = match *meant {
                "" => String::new(),
                meant => format!("did you mean `{meant}`?"),
            };
            ((*pointer).to_owned(), suggestion)
        });
        pairs.collect::<BTreeMap<_, _>>()
    };
    let order =
        json!({"goal": "", "token_budget": 0, "model": "clever", "mission_id": "../x", "gaol": 1});
    assert_eq!(
        faults("/v1/missions", order),
        expected(&[
            ("/gaol", "goal"),
            ("/goal", ""),
            ("/mission_id", ""),
            ("/model", ""),
            ("/token_budget", ""),
        ])
    );
    let question = json!({"query": "neighbours", "node": "", "edges": ["requirez"], "dept": 1, "direction": "up"});
    assert_eq!(
        faults("/v1/graph/query", question),
        expected(&[
            ("/dept", "depth"),
            ("/direction", ""),
            ("/edges/0", "requires"),
            ("/node", ""),
        ])
    );
}

/// A path that leaves the package is refused, also over HTTP.
#[test]
fn a_package_stays_inside_itself() {
    let server = Tenants::one();
    for path in ["../evil.py", "/etc/passwd", "scripts/../../x"] {
        let bundle = backups().with(path, "x").bundle();
        server
            .api
            .post("/v1/packages", &bundle)
            .fails(400, "invalid_document");
    }
}

#[test]
fn a_missing_model_is_said_with_what_to_do() {
    let mut home = Home::new();
    home.set(
        "CHARTER_MODEL__DIRECTORY",
        home.path("nothing").to_str().unwrap(),
    );
    let ran = home.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("\nerror[model_missing]: "), "{ran:?}");
    assert!(
        ran.err.contains("omit it, so that `charter model fetch`"),
        "{ran:?}"
    );
}

/// The error for an empty cache without a reachable source is the same.
#[test]
fn an_unreachable_model_is_missing() {
    let mut home = Home::new();
    let empty = home.path("empty");
    home.set("CHARTER_MODEL__CACHE", empty.to_str().unwrap());
    home.set("CHARTER_TOOLS__PYTHON", "/nonexistent/python");
    for proxy in [
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "ALL_PROXY",
        "https_proxy",
        "http_proxy",
        "all_proxy",
    ] {
        home.set(proxy, "http://127.0.0.1:9");
    }
    let ran = home.run(&["model", "fetch"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("\nerror[model_missing]: "), "{ran:?}");
    assert!(
        !empty.join("all-MiniLM-L6-v2").exists(),
        "nothing half-fetched stays"
    );
}

/// The error for a catalogue with another model's vectors names the remedy.
#[test]
fn a_catalogue_without_vectors_is_mended_by_reindex() {
    let mut home = Home::new().with("CHARTER_MODEL__SOURCE", "none");
    let server = home.serve();
    server.api.register(&backups());
    let routed = server.api.get("/v1/route?query=stale+backups").expect(200);
    assert_eq!(
        (&routed["model"], &routed["candidates"][0]["id"]),
        (&json!(null), &json!(SKILL))
    );
    drop(server);
    home.set("CHARTER_MODEL__SOURCE", "local");
    let before = home.run(&["package", "list"]);
    assert_eq!(before.code, Some(2), "{before:?}");
    assert!(
        before.err.starts_with("error[model_mismatch]: ") && before.err.contains("charter reindex"),
        "{before:?}"
    );
    assert_eq!(home.run(&["reindex"]).code, Some(0));
    let server = home.serve();
    assert_eq!(server.api.routed(QUESTION.trim_end_matches('?')), [SKILL]);
}

/// Full disk: registration fails with a code, existing data stays, and registration works again afterwards.
#[test]
fn a_full_disk_loses_nothing() {
    let mut home = Home::new().embedded();
    let server = home.serve();
    server.api.register(&backups());
    let answer = server.api.ask(&request(QUESTION)).expect(200);
    drop(server);
    home.set("CHARTER_LIMITS__STORAGE_BYTES", "700000");
    let server = home.serve();
    let large = backups()
        .version("1.0.0", "1.1.0")
        .with("docs/large.md", &"all work and no play\n".repeat(50_000));
    server
        .api
        .post("/v1/packages", &large.bundle())
        .fails(507, "storage_full");
    assert_eq!(
        server.api.get("/v1/packages").expect(200)[0]["version"],
        "1.0.0"
    );
    let shown = server
        .api
        .get(&format!(
            "/v1/requests/{}",
            answer["request_id"].as_str().unwrap()
        ))
        .expect(200);
    assert_eq!(shown["answer"], answer);
    drop(server);
    home.set("CHARTER_LIMITS__STORAGE_BYTES", "100000000");
    let server = home.serve();
    assert_eq!(
        server.api.get("/v1/packages").expect(200)[0]["version"],
        "1.0.0"
    );
    server.api.register(&large);
    server.api.ask(&request_of(SKILL, json!({}))).expect(200);
}

/// A data directory has at most one server; commands use the running one.
#[test]
fn a_second_server_on_one_data_directory_names_the_first() {
    let home = Home::new();
    let server = home.serve();
    server.api.register(&backups());
    let second = home.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(second.code, Some(2), "{second:?}");
    assert!(
        second.err.starts_with("error[data_directory_locked]: "),
        "{second:?}"
    );
    for part in [format!("pid {}", server.pid()), server.api.base.clone()] {
        assert!(second.err.contains(&part), "{part} in {second:?}");
    }
    let listed = home.run(&["package", "list", "--output", "json"]).json(0);
    assert_eq!(listed, server.api.get("/v1/packages").expect(200));
    let asked = home.run(&["ask", QUESTION, "--output", "json"]).json(0);
    assert_eq!(asked["metadata"]["findings"][0]["resource_id"], "b-1");
    drop(server);
    assert_eq!(
        home.run(&["package", "list", "--output", "json"]).json(0),
        listed
    );
}

#[test]
fn an_open_address_without_keys_is_refused() {
    let home = Home::new();
    let ran = home.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.err
            .contains("0.0.0.0:0 can be reached from other machines, but no API key"),
        "{ran:?}"
    );
}
