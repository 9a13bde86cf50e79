//! B000-19: evidence that a third party can verify: the log, its proofs, exports, and the remains of a record with a
//! withheld or removed payload.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::home::{Api, Home, Server, eventually, request_of};
use crate::packages::{SKILL, TOOL_FILE, backups};

/// The id of the evidence of one answered request.
fn ask(server: &Server, vault: &str) -> String {
    let answer = server.api.ask(&request_of(SKILL, json!({"vault": vault})));
    let metadata = &answer.expect(200)["metadata"];
    metadata["evidence_ids"][0].as_str().unwrap().to_owned()
}

/// A server with the records of three vaults.
fn three(home: &Home) -> (Server, [String; 3]) {
    let server = home.serve();
    server.api.register(&backups());
    let ids = ["one", "two", "three"].map(|vault| ask(&server, vault));
    (server, ids)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value:#}"))
}

/// Exports everything; returns the lines of the file.
fn export(home: &Home, file: &Path) -> Vec<Value> {
    let ran = home.run(&[
        "evidence",
        "export",
        file.to_str().unwrap(),
        "--output",
        "json",
    ]);
    assert_eq!(ran.json(0)["good"], json!(true));
    let text = std::fs::read_to_string(file).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn write(file: &Path, lines: &[Value]) {
    let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(file, lines.concat()).unwrap();
}

/// A third party has the file and the key, but no installation.
#[test]
fn b000_19_an_export_verifies_without_a_server_or_data() {
    let home = Home::new();
    let (server, ids) = three(&home);
    let key = server.api.get("/v1/evidence/log/key").expect(200);
    let file = home.path("export.jsonl");
    let lines = export(&home, &file);
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0]["key"], key["key"]);
    assert_eq!(server.terminate(), Some(0));
    let elsewhere = Home::new();
    let verify = |key: &str| {
        let file = file.to_str().unwrap();
        elsewhere.run_in_home(&["evidence", "verify", file, "--key", key, "--output", "json"])
    };
    let verdict = verify(text(&key["key"])).json(0);
    let counted = [
        "size", "leaves", "records", "payloads", "removed", "withheld",
    ]
    .map(|of| verdict[of].as_u64());
    assert_eq!(counted, [3, 3, 3, 3, 0, 0].map(Some));
    let key_file = home.path("key");
    std::fs::write(&key_file, format!("{}\n", text(&key["key"]))).unwrap();
    assert_eq!(verify(key_file.to_str().unwrap()).code, Some(0));
    assert!(!elsewhere.data().exists() && !elsewhere.path(".local").exists());
    // Another installation's key did not sign this.
    let other = Home::new();
    let theirs = other.run(&["evidence", "key"]);
    assert_eq!(theirs.code, Some(0), "{theirs:?}");
    let refused = verify(theirs.out.trim());
    assert!(text(&refused.json(1)["faults"][0]["problem"]).contains("it is signed by"));
    assert_eq!(verify("no key").code, Some(2));
    assert!(text(&lines[2]["record"]).contains(&ids[1]));
}

/// Every manipulation of a file is detected, and its record named.
#[test]
fn b000_19_a_tampered_removed_or_reordered_record_is_found_and_named() {
    let home = Home::new();
    let (_server, ids) = three(&home);
    let file = home.path("export.jsonl");
    let good = export(&home, &file);
    let judged = || home.run_in_home(&["evidence", "verify", file.to_str().unwrap()]);
    let verify = |lines: &[Value]| {
        write(&file, lines);
        judged()
    };
    assert_eq!(verify(&good).code, Some(0));
    let swap = |text: &Value, from: &str, to: &str| {
        let text = text.as_str().unwrap();
        assert!(text.contains(from), "{text}");
        json!(text.replace(from, to))
    };
    let found = |bend: &dyn Fn(&mut Vec<Value>), expected: &str| {
        let mut lines = good.clone();
        bend(&mut lines);
        let ran = verify(&lines);
        assert_eq!(ran.code, Some(1), "{expected}: {ran:?}");
        assert!(ran.out.contains(expected), "{expected}: {ran:?}");
    };
    let second = &ids[1];
    found(
        &|lines| lines[2]["record"] = swap(&lines[2]["record"], "aws.backup", "aws.vaults"),
        &format!("line 3: {second}: the record was changed"),
    );
    found(
        &|lines| lines[2]["payload"]["text"] = swap(&lines[2]["payload"]["text"], "two", "2"),
        &format!("line 3: {second}: the payload was changed"),
    );
    found(
        &|lines| drop(lines.remove(2)),
        &format!(
            "line 3: leaf 1 was removed after {} before {}",
            ids[0], ids[2]
        ),
    );
    let cut = format!("leaf 2 was removed after {second}");
    found(&|lines| drop(lines.pop()), &cut);
    found(
        &|lines| lines.swap(2, 3),
        &format!("line 4: {second}: leaf 1 is out of order"),
    );
    found(
        &|lines| drop(lines[2].as_object_mut().unwrap().remove("record")),
        &format!("line 3: {second}: the record was removed"),
    );
    found(
        &|lines| drop(lines[2].as_object_mut().unwrap().remove("payload")),
        &format!("line 3: {second}: the payload is missing"),
    );
    found(
        &|lines| lines[0]["checkpoint"] = swap(&lines[0]["checkpoint"], "\n3\n", "\n2\n"),
        "line 1: the checkpoint: the signature by the key",
    );
    found(&|lines| drop(lines.remove(0)), "not a header");
    write(&file, &good);
    let text = std::fs::read_to_string(&file).unwrap();
    for rewritten in [text.replace('\n', "\r\n"), text.trim_end().to_owned()] {
        std::fs::write(&file, rewritten).unwrap();
        let ran = judged();
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.out.contains("the line was rewritten"), "{ran:?}");
    }
    std::fs::write(&file, [0xff, 0xfe, b'\n']).unwrap();
    let binary = judged();
    assert_eq!(binary.code, Some(1), "{binary:?}");
    let absent = home.run_in_home(&["evidence", "verify", "nowhere.jsonl"]);
    assert_eq!(absent.code, Some(2), "{absent:?}");
}

/// An older checkpoint must be a prefix of the export, or the log was rewritten.
#[test]
fn b000_19_an_export_is_compared_with_an_older_checkpoint() {
    let home = Home::new();
    let server = home.serve();
    server.api.register(&backups());
    ask(&server, "one");
    let older = home.run(&["evidence", "checkpoint"]);
    assert_eq!(older.code, Some(0), "{older:?}");
    let older_file = home.path("older");
    std::fs::write(&older_file, &older.out).unwrap();
    ask(&server, "two");
    let file = home.path("export.jsonl");
    let good = export(&home, &file);
    let since = |older: &Path| {
        let (file, older) = (file.to_str().unwrap(), older.to_str().unwrap());
        home.run_in_home(&["evidence", "verify", file, "--since", older])
    };
    let ran = since(&older_file);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ask(&server, "three");
    let newer_file = home.path("newer.jsonl");
    export(&home, &newer_file);
    write(&file, &good);
    let ran = since(&newer_file);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.out
            .contains("the log has shrunk: it had 3 leaves and has 2"),
        "{ran:?}"
    );
    // A different history under the same key is detected.
    let forked = Home::new();
    std::fs::create_dir(forked.data()).unwrap();
    std::fs::copy(
        home.data().join("evidence.key"),
        forked.data().join("evidence.key"),
    )
    .unwrap();
    let fork = forked.serve();
    fork.api.register(&backups());
    ask(&fork, "four");
    let note = fork.api.get("/v1/evidence/log/checkpoint").expect(200);
    std::fs::write(&older_file, text(&note["checkpoint"])).unwrap();
    let ran = since(&older_file);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.contains("the log was rewritten"), "{ran:?}");
}

/// Proofs over REST: of one record, and of any two heads; each tenant sees only its own log.
#[test]
fn b000_19_proofs_are_given_over_rest_to_the_tenant_alone() {
    let home = Home::with_keys(&[
        ("operator-key", "acme", "ada", "operator"),
        ("other-key", "other", "olga", "admin"),
    ]);
    let server = home.serve();
    let (acme, other) = (server.key("operator-key"), server.key("other-key"));
    acme.register(&backups());
    let mut ids = Vec::new();
    let mut heads = vec![acme.get("/v1/evidence/log/checkpoint").expect(200)];
    for vault in ["one", "two", "three"] {
        let answer = acme
            .ask(&request_of(SKILL, json!({"vault": vault})))
            .expect(200);
        ids.push(text(&answer["metadata"]["evidence_ids"][0]).to_owned());
        heads.push(acme.get("/v1/evidence/log/checkpoint").expect(200));
    }
    let proof = acme
        .get(&format!("/v1/evidence/log/proof/{}", ids[1]))
        .expect(200);
    assert_eq!(proof["header"]["checkpoint"], heads[3]["checkpoint"]);
    assert_eq!(proof["header"]["coverage"], "selection");
    assert_eq!(proof["leaves"][0]["index"], 1);
    // The answer is an export of one record.
    let file = home.path("one.jsonl");
    write(
        &file,
        &[proof["header"].clone(), proof["leaves"][0].clone()],
    );
    let ran = home.run_in_home(&["evidence", "verify", file.to_str().unwrap(), "--selection"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let consistency = acme
        .get("/v1/evidence/log/consistency?from=2&to=3")
        .expect(200);
    for (side, head) in [("from", &heads[2]), ("to", &heads[3])] {
        for field in ["size", "root", "checkpoint"] {
            assert_eq!(consistency[side][field], head[field], "{side} {field}");
        }
    }
    assert_eq!(consistency["proof"].as_array().unwrap().len(), 1);
    for query in ["from=2&to=4", "from=3&to=2", "from=-1&to=2", "from=1"] {
        let path = format!("/v1/evidence/log/consistency?{query}");
        acme.get(&path).fails(400, "invalid_request");
    }
    assert_eq!(heads[3]["origin"], "charter/evidence/acme");
    assert_eq!(
        other.get("/v1/evidence/log/checkpoint").expect(200)["size"],
        0
    );
    other
        .get(&format!("/v1/evidence/log/proof/{}", ids[0]))
        .fails(404, "not_found");
    other
        .get("/v1/evidence/log/consistency?from=0&to=1")
        .fails(400, "invalid_request");
    let exported = other.get("/v1/evidence/export").expect(200);
    assert_eq!(exported["tenant_id"], "other", "a header and nothing else");
    for path in [
        "log/checkpoint",
        "log/key",
        "export",
        "log/consistency?from=0&to=0",
    ] {
        server
            .api
            .get(&format!("/v1/evidence/{path}"))
            .fails(401, "unauthenticated");
    }
}

/// A selection contains the requested records, and verifies as a selection.
#[test]
fn b000_19_a_selection_is_exported() {
    let home = Home::new();
    let (server, ids) = three(&home);
    let record = server
        .api
        .get(&format!("/v1/evidence/{}", ids[1]))
        .expect(200);
    let run = text(&record["attached_to"][0]["run_id"]);
    let file = home.path("selection.jsonl");
    let ran = home.run(&[
        "evidence",
        "export",
        file.to_str().unwrap(),
        "--run",
        run,
        "--output",
        "json",
    ]);
    let verdict = ran.json(0);
    assert_eq!(
        (&verdict["coverage"], &verdict["size"], &verdict["records"]),
        (&json!("selection"), &json!(3), &json!(1))
    );
    let file = file.to_str().unwrap();
    let accepted = home.run_in_home(&["evidence", "verify", file, "--selection"]);
    assert_eq!(accepted.code, Some(0), "{accepted:?}");
    // A file that claims to be a selection needs `--selection`.
    let refused = home.run_in_home(&["evidence", "verify", file]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.out.contains("line 1: the export is a selection"),
        "{refused:?}"
    );
    assert!(
        refused.err.contains("--selection accepts one"),
        "{refused:?}"
    );
}

/// The redaction class decides which callers see the payload, on reads and in exports; the proof is public.
#[test]
fn b000_19_a_redaction_class_withholds_the_payload() {
    let home = Home::with_keys(&[
        ("user-key", "acme", "ulf", "user"),
        ("operator-key", "acme", "ada", "operator"),
    ]);
    let server = home.serve();
    let (user, operator) = (server.key("user-key"), server.key("operator-key"));
    operator.register(&backups().edit(
        TOOL_FILE,
        "evidence:\n",
        "evidence:\n  redaction_class: restricted\n",
    ));
    let answer = user
        .ask(&request_of(SKILL, json!({"vault": "one"})))
        .expect(200);
    let path = format!(
        "/v1/evidence/{}",
        text(&answer["metadata"]["evidence_ids"][0])
    );
    let shown = operator.get(&path).expect(200);
    assert_eq!(shown["payload"]["output"]["vault"], "one");
    let withheld = json!({
        "reason": "withheld", "note": "payload withheld: its redaction class is `restricted`",
    });
    let record = user.get(&path).expect(200);
    assert_eq!(
        (&record["payload"], &record["payload_absent"]),
        (&json!({}), &withheld)
    );
    let listed = |api: &Api| api.get("/v1/evidence").expect(200)["entries"][0].clone();
    assert_eq!(listed(&user)["payload_absent"], withheld);
    assert_eq!(listed(&operator)["payload_absent"], Value::Null);
    let export = |key: &str, file: &str| {
        let file = home.path(file);
        let home = Home::new().with("CHARTER_API_KEY", key);
        let ran = home.run(&[
            "--server",
            &server.api.base,
            "evidence",
            "export",
            file.to_str().unwrap(),
            "--output",
            "json",
        ]);
        let verdict = ran.json(0);
        let text = std::fs::read_to_string(file).unwrap();
        (
            verdict["withheld"].clone(),
            verdict["payloads"].clone(),
            text.contains("age_days"),
        )
    };
    assert_eq!(export("user-key", "user"), (json!(1), json!(0), false));
    assert_eq!(
        export("operator-key", "operator"),
        (json!(0), json!(1), true)
    );
    let proof = user
        .get(&path.replace("evidence/", "evidence/log/proof/"))
        .expect(200);
    assert_eq!(proof["leaves"][0].get("payload"), None);
}

/// After its retention a payload is removed, with the time of removal, and all proofs stay valid.
#[test]
fn b000_19_a_payload_past_its_retention_is_gone_and_still_proves() {
    let mut home = Home::new().embedded();
    let (server, ids) = three(&home);
    let path = format!("/v1/evidence/{}", ids[0]);
    let before = server.api.get(&path).expect(200);
    let older = server.api.get("/v1/evidence/log/checkpoint").expect(200);
    assert_eq!(server.terminate(), Some(0));
    home.set("CHARTER_EVIDENCE__RETENTION_DAYS", "0");
    let server = home.serve();
    let gone = |id: &String| {
        eventually("the removal of a payload", || {
            let record = server.api.get(&format!("/v1/evidence/{id}")).expect(200);
            record.get("payload_absent").is_some().then_some(record)
        })
    };
    let mut after = ids.each_ref().map(gone)[0].clone();
    let absent = after["payload_absent"].take();
    assert_eq!(absent["reason"], "removed");
    assert!(
        text(&absent["note"]).starts_with("payload removed on 2"),
        "{absent}"
    );
    let mut expected = before;
    expected["payload"] = json!({});
    expected["payload_absent"] = Value::Null;
    assert_eq!(after, expected);
    let file = home.path("export.jsonl");
    let lines = export(&home, &file);
    assert_eq!(lines.len(), 7);
    let older_file = home.path("older");
    std::fs::write(&older_file, text(&older["checkpoint"])).unwrap();
    let ran = home.run_in_home(&[
        "evidence",
        "verify",
        file.to_str().unwrap(),
        "--since",
        older_file.to_str().unwrap(),
        "--output",
        "json",
    ]);
    let verdict = ran.json(0);
    assert_eq!(
        (
            &verdict["records"],
            &verdict["removed"],
            &verdict["payloads"]
        ),
        (&json!(3), &json!(3), &json!(0))
    );
    server.terminate();
    // The files also contain nothing of the payload.
    let database = std::fs::read(home.data().join("charter.db")).unwrap();
    let salt_free = |needle: &[u8]| {
        !database
            .windows(needle.len())
            .any(|window| window == needle)
    };
    assert!(salt_free(b"\"output_sha256\""));
}

/// The seed is created once, for the owner alone, and stays the same after a restart. A data directory without its
/// seed, or without its lock file, is refused.
#[test]
fn b000_19_the_signing_key_is_kept_and_guarded() {
    let mut home = Home::new().embedded();
    let key = |home: &Home| {
        let ran = home.run(&["evidence", "key"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.out
    };
    let first = key(&home);
    assert!(first.starts_with("charter/evidence/local+"), "{first}");
    assert_eq!(key(&home), first);
    let file = home.data().join("evidence.key");
    let mode = || std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let refused = home.run(&["evidence", "key"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("chmod 600"), "{refused:?}");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    for (file, because) in [
        (
            "evidence.key",
            "evidence.key is missing: it signs the evidence",
        ),
        (
            "charter.lock",
            "`charter.lock` is missing beside `charter.db`",
        ),
    ] {
        let (file, aside) = (home.data().join(file), home.path("aside"));
        std::fs::rename(&file, &aside).unwrap();
        for command in ["evidence key", "evidence key", "serve --listen 127.0.0.1:0"] {
            let line = format!("timeout 60 charter --data-dir data {command}");
            let refused = home.shell(&line);
            assert_eq!(refused.code, Some(2), "{refused:?}");
            assert!(refused.err.contains(because), "{refused:?}");
        }
        assert!(!file.exists());
        std::fs::rename(&aside, &file).unwrap();
        assert_eq!(key(&home), first);
    }
    // Rotation: another file is another key.
    home.set(
        "CHARTER_EVIDENCE__KEY_FILE",
        home.path("next.key").to_str().unwrap(),
    );
    home.set("CHARTER_EVIDENCE__LOG_NAME", "charter.example");
    let second = key(&home);
    assert!(
        second.starts_with("charter.example/evidence/local+"),
        "{second}"
    );
    assert_ne!(first, second);
    home.set("CHARTER_EVIDENCE__LOG_NAME", "two words");
    assert_eq!(home.run(&["evidence", "key"]).code, Some(2));
    std::fs::write(home.path("next.key"), "no seed\n").unwrap();
    assert_eq!(home.run(&["evidence", "key"]).code, Some(2));
}
