//! B000-19: evidence of tools' results.

use serde_json::{Value, json};

use crate::home::{Home, ids, request_of};
use crate::packages::{SCRIPT_FILE, SKILL, backups};
use crate::shared::Tenants;

/// B000-19: one record per tool result, with the finding that it supports and a link to check it.
#[test]
fn b000_19_a_tool_result_becomes_one_record() {
    let server = Tenants::one();
    server.api.register(&backups());
    let answer = server
        .api
        .ask(&request_of(SKILL, json!({"vault": "tokyo"})))
        .expect(200);
    let metadata = &answer["metadata"];
    let id = metadata["evidence_ids"][0].as_str().unwrap();
    let finding = &metadata["findings"][0];
    assert_eq!(finding["evidence_ids"], json!([id]));
    let record = server.api.get(&format!("/v1/evidence/{id}")).expect(200);
    let attached =
        json!([{"run_id": metadata["run_ids"][0]}, {"finding_id": finding["finding_id"]}]);
    assert_eq!(record["attached_to"], attached);
    assert_eq!(
        record["source"],
        json!({"system": "aws.backup", "region": "eu-west-1", "native_id": "tokyo", "api_call": "list_backups"})
    );
    assert_eq!(record["payload"]["output"]["vault"], "tokyo");
    let href = record["console_links"][0]["href"].as_str().unwrap();
    assert!(
        href.starts_with("https://") && href.contains("eu-west-1"),
        "{href}"
    );
    // A listing contains neither payloads nor attachments.
    let fields = ["id", "type", "captured_at", "source", "summary"];
    let entry: Value = fields
        .map(|field| (field, record[field].clone()))
        .into_iter()
        .collect();
    assert_eq!(
        server.api.get("/v1/evidence").expect(200)["entries"],
        json!([entry])
    );
}

/// Integers that a double would round stay exact: in storage, in answers and in exports.
#[test]
fn integers_of_evidence_keep_their_digits() {
    let server = Tenants::one();
    let key = server.api.key.as_deref().unwrap();
    let home = Home::new().with("CHARTER_API_KEY", key);
    let digits = "[9007199254740993,18446744073709551615,-9223372036854775808]";
    let answers = format!("\"backups\": backups, \"digits\": {digits},");
    server
        .api
        .register(&backups().edit(SCRIPT_FILE, "\"backups\": backups,", &answers));
    let answer = server.api.ask(&request_of(SKILL, json!({}))).expect(200);
    let id = answer["metadata"]["evidence_ids"][0].as_str().unwrap();
    let record = server.api.get(&format!("/v1/evidence/{id}")).expect(200);
    assert_eq!(record["payload"]["output"]["digits"].to_string(), digits);
    let proof = home.path("proof.jsonl");
    let proof = proof.to_str().unwrap();
    let url = server.api.base.as_str();
    let run = |rest: &[&str]| {
        let common = ["--server", url, "--output", "json"];
        home.run_in_home(&[&common[..], rest].concat())
    };
    run(&["evidence", "export", proof]).json(0);
    let exported = std::fs::read_to_string(proof).unwrap();
    assert!(exported.contains(digits));
    let verify = ["evidence", "verify", proof, "--output", "json"];
    home.run_in_home(&verify).json(0);
    // A byte order mark that a transfer added before the first line is ignored.
    std::fs::write(proof, format!("\u{feff}{exported}")).unwrap();
    home.run_in_home(&verify).json(0);
}

/// B000-19, ruling 17: a later attachment is a separate link record; the record stays as it was captured.
#[test]
fn b000_19_a_later_attachment_is_a_link_record() {
    let keys = [
        ("ann", "acme", "ann", "operator"),
        ("uma", "acme", "uma", "user"),
        ("eve", "umbra", "eve", "operator"),
    ];
    let home = Home::with_keys(&keys);
    let server = home.serve();
    let [ann, uma, eve] = keys.map(|(key, ..)| server.key(key));
    ann.register(&backups());
    let answer = uma.ask(&request_of(SKILL, json!({}))).expect(200);
    let id = answer["metadata"]["evidence_ids"][0].as_str().unwrap();
    let path = format!("/v1/evidence/{id}/attachments");
    let plan = json!({"plan_id": "plan_7"});
    uma.post(&path, &plan).fails(403, "permission_denied");
    eve.post(&path, &plan).fails(404, "not_found");
    let both = json!({"plan_id": "plan_7", "bundle_id": "b_1"});
    ann.post(&path, &both).fails(400, "invalid_request");
    ann.post(&path, &json!({"shelf": "3"}))
        .fails(400, "invalid_request");
    let head = || ann.get("/v1/evidence/log/checkpoint").expect(200)["size"].as_u64();
    let (before, size) = (ann.get(&format!("/v1/evidence/{id}")).expect(200), head());
    let after = ann.post(&path, &plan).expect(200);
    assert_eq!(ann.post(&path, &plan).expect(200), after, "said twice");
    assert_eq!(head(), size.map(|size| size + 1));
    let mut expected = before;
    expected["attached_to"].as_array_mut().unwrap().push(plan);
    assert_eq!(after, expected);
    let found = ann.get("/v1/evidence?plan_id=plan_7").expect(200);
    assert_eq!(ids(&found["entries"], "id"), [id]);
    let proof = home.path("proof.jsonl");
    let proof = proof.to_str().unwrap();
    let client = Home::new().with("CHARTER_API_KEY", "ann");
    let url = server.api.base.as_str();
    let run = |rest: &[&str]| {
        client.run_in_home(&[&["--server", url, "--output", "json"], rest].concat())
    };
    let bundled = run(&["evidence", "attach", id, "--bundle", "bundle_1"]).json(0);
    assert_eq!(bundled["attached_to"].as_array().unwrap().len(), 4);
    assert_eq!(run(&["evidence", "attach", id]).code, Some(2));
    run(&["evidence", "export", proof]).json(0);
    let verify = ["evidence", "verify", proof, "--output", "json"];
    client.run_in_home(&verify).json(0);
}

/// B000-19
#[test]
fn b000_19_evidence_is_never_changed_or_deleted() {
    let server = Tenants::one();
    server.api.register(&backups());
    let answer = server.api.ask(&request_of(SKILL, json!({}))).expect(200);
    let path = format!(
        "/v1/evidence/{}",
        answer["metadata"]["evidence_ids"][0].as_str().unwrap()
    );
    let before = server.api.get(&path).expect(200);
    for method in ["PUT", "DELETE", "PATCH", "POST"] {
        server
            .api
            .call(method, &path, &[], b"{}".to_vec())
            .fails(405, "immutable");
    }
    assert_eq!(server.api.get(&path).expect(200), before);
}

/// B000-19: by finding, run, type, system and time.
#[test]
fn b000_19_evidence_is_found_by_what_it_is() {
    let server = Tenants::one();
    server.api.register(&backups());
    let ask = |vault: &str| {
        server
            .api
            .ask(&request_of(SKILL, json!({"vault": vault})))
            .expect(200)["metadata"]
            .clone()
    };
    let (first, second) = (ask("one"), ask("two"));
    let all =
        [&first, &second].map(|answer| answer["evidence_ids"][0].as_str().unwrap().to_owned());
    let found = |query: &str| {
        ids(
            &server.api.get(&format!("/v1/evidence?{query}")).expect(200)["entries"],
            "id",
        )
    };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    assert_eq!(
        found(&format!("run_id={}", text(&first["run_ids"][0]))),
        all[..1]
    );
    assert_eq!(
        found(&format!(
            "finding_id={}",
            text(&first["findings"][0]["finding_id"])
        )),
        all
    );
    assert_eq!(found("type=config_snapshot"), all);
    assert_eq!(found("type=log_line"), [""; 0]);
    assert_eq!(found("system=aws.backup"), all);
    assert_eq!(found("system=aws.ec2"), [""; 0]);
    let record = server
        .api
        .get(&format!("/v1/evidence/{}", all[1]))
        .expect(200);
    let at = text(&record["captured_at"]);
    assert_eq!(found(&format!("captured_from={at}")), all[1..]);
    assert_eq!(found(&format!("captured_until={at}")), all[..1]);
    let page = server.api.get("/v1/evidence?limit=1").expect(200);
    assert_eq!(ids(&page["entries"], "id"), all[..1]);
    assert_eq!(
        found(&format!(
            "limit=1&after={}",
            text(&page["next"]).replace('+', "%2B").replace(' ', "%20")
        )),
        all[1..]
    );
}

/// B000-19
#[test]
fn b000_19_an_inverted_range_or_an_unknown_type_is_refused() {
    let server = Tenants::one();
    let range = "captured_from=2026-02-01T00:00:00Z&captured_until=2026-01-01T00:00:00Z";
    for query in [
        range,
        "type=rumour",
        "captured_from=yesterday",
        "run_id=run-x&finding_id=f",
    ] {
        let refused = server.api.get(&format!("/v1/evidence?{query}"));
        assert_eq!(refused.status, 400, "{query}: {:#}", refused.body);
    }
}

/// B000-19: people and collectors submit records; the server makes links and receipt, and the log proves them.
#[test]
fn b000_19_a_submitted_record_is_signed_with_its_receipt() {
    let keys = [
        ("ann", "acme", "ann", "operator"),
        ("uma", "acme", "uma", "user"),
        ("eve", "umbra", "eve", "operator"),
    ];
    let server = Tenants::with_keys(&keys);
    let [ann, uma, eve] = keys.map(|(key, ..)| server.key(key));
    let line = json!({
        "_id": "ev_bill-7", "schema_version": 1, "type": "billing_line", "captured_at": "2025-05-13T09:14:22Z",
        "source": {"system": "aws.billing", "tenant_id": null, "native_id": "li-1"},
        "console_links": [{"label": "View", "href": "https://elsewhere.example/"}],
        "payload": {"usd": 12}, "summary": "The instance cost 12 dollars.",
        "attached_to": [{"report_item_id": "ri_1"}], "redaction_class": "restricted",
    });
    uma.post("/v1/evidence", &line)
        .fails(403, "permission_denied");
    let home = Home::new().with("CHARTER_API_KEY", ann.key.as_deref().unwrap());
    let file = home.path("line.json");
    std::fs::write(&file, line.to_string()).unwrap();
    let url = ann.base.as_str();
    let run =
        |rest: &[&str]| home.run_in_home(&[&["--server", url, "--output", "json"], rest].concat());
    let file = file.to_str().unwrap();
    let stored = run(&["evidence", "submit", file]).json(0)[0].clone();
    assert_eq!(stored["id"], "ev_bill-7");
    assert_eq!(stored["receipt"]["submitted_by"], "ann");
    let href = stored["console_links"][0]["href"].as_str().unwrap();
    assert!(href.contains("console.aws.amazon.com"), "{href}");
    ann.post("/v1/evidence", &line).fails(409, "already_exists");
    eve.get("/v1/evidence/ev_bill-7").fails(404, "not_found");
    // A user's own note waits for a page that shows it: this server has no public address.
    let note = json!({
        "type": "manual_note", "captured_at": "2025-05-13T09:14:22Z", "summary": "The owner agreed.",
    });
    let refused = uma.post("/v1/evidence", &note);
    assert!(
        refused
            .fails(400, "invalid_document")
            .contains("a2a.public_url")
    );
    let proof = ann.get("/v1/evidence/log/proof/ev_bill-7").expect(200);
    let leaf = proof["leaves"][0]["leaf"].as_str().unwrap();
    assert!(leaf.contains("\"submitted_by\":\"ann\""), "{leaf}");
    let export = home.path("export.jsonl");
    run(&["evidence", "export", export.to_str().unwrap()]).json(0);
}
