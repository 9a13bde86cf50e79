//! Requests from question to answer.

use serde_json::{Value, json};

use crate::home::{Api, Home, eventually, ids, request, request_of};
use crate::mcp::peers::python;
use crate::mcp::{over_http, with};
use crate::packages::{QUESTION, SKILL, SKILL_FILE, TOOL_FILE, backups, skill};
use crate::service::{Service, served_tenant};
use crate::shared::Tenants;

/// The road of a narrow request: routed, run, analysed, rendered, recorded.
#[test]
fn a_narrow_request_is_answered_with_findings_and_evidence() {
    let server = Tenants::one();
    server.api.register(&backups());
    let asked = request(QUESTION);
    let answer = server.api.ask(&asked).expect(200);
    let metadata = &answer["metadata"];
    assert_eq!(answer["request_id"], asked["id"]);
    assert_eq!(
        answer["content"],
        "1 stale backup(s).\n- [high] The backup b-1 is 40 days old."
    );
    assert_eq!(
        (&metadata["flow"], &metadata["verdict"]["kind"]),
        (&json!("skill"), &json!("narrow"))
    );
    assert_eq!(metadata["tools_used"], json!(["vault.list_backups"]));
    assert!(metadata["execution_time_ms"].as_u64().unwrap() > 0);
    let finding = &metadata["findings"][0];
    let fields = [
        "rule_id",
        "skill_id",
        "severity",
        "resource_type",
        "resource_id",
    ]
    .map(|field| finding[field].clone());
    assert_eq!(fields, ["stale_backup", SKILL, "high", "aws.backup", "b-1"]);
    assert_eq!(finding["fields"], json!({"age_days": 40}));
    let action = &answer["actions"][0];
    assert_eq!(
        (
            &action["action_type"],
            &action["details"]["tool_id"],
            &action["details"]["cached"]
        ),
        (
            &json!("command_execution"),
            &json!("vault.list_backups"),
            &json!(false)
        ),
        "{answer:#}"
    );
    let shown = server
        .api
        .get(&format!("/v1/requests/{}", asked["id"].as_str().unwrap()))
        .expect(200);
    assert_eq!(shown["answer"], answer);
}

/// B002-15 in spirit: the same id and content is a repeat, with other content a conflict.
#[test]
fn a_repeated_request_gets_its_recorded_answer() {
    let home = Home::new();
    let server = home.serve();
    server.api.register(&backups());
    let asked = request(QUESTION);
    let first = server.api.ask(&asked).expect(200);
    assert_eq!(server.api.ask(&asked).expect(200), first);
    let runs = server.api.get("/v1/runs").expect(200);
    assert_eq!(runs["entries"].as_array().unwrap().len(), 1);
    let mut other = asked.clone();
    other["input"] = json!("Which backups are fresh?");
    server.api.ask(&other).fails(409, "already_exists");
    drop(server);
    let server = home.serve();
    assert_eq!(server.api.ask(&asked).expect(200), first);
}

/// The same request while it is being answered is not answered twice.
#[test]
fn a_request_under_way_is_not_started_again() {
    let (server, service) = served_tenant();
    let asked = request_of(SKILL, json!({}));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| server.api.ask(&asked));
        let call = service.next();
        server.api.ask(&asked).fails(503, "overloaded");
        call.answer();
        let answer = first.join().unwrap().expect(200);
        assert_eq!(server.api.ask(&asked).expect(200), answer);
    });
    assert!(!service.was_called());
}

/// The answer of a request that somebody else waits for, or nobody.
fn answer_of(api: &Api, asked: &Value) -> Value {
    let path = format!("/v1/requests/{}", asked["id"].as_str().unwrap());
    eventually("the answer", || {
        let shown = api.get(&path);
        Some(shown.body["answer"].clone()).filter(|answer| !answer.is_null())
    })
}

/// The work goes on when the client goes away.
#[test]
fn a_client_that_leaves_finds_its_answer_later() {
    let (server, service) = served_tenant();
    let asked = request_of(SKILL, json!({}));
    let connection = server.api.send_and_hold(&asked);
    let call = service.next();
    drop(connection);
    call.answer();
    let answer = answer_of(&server.api, &asked);
    assert_eq!(server.api.ask(&asked).expect(200), answer);
}

/// A wait has its limit; the work goes on after it.
#[test]
fn a_wait_that_is_too_long_ends_with_request_timeout() {
    let mut home = Home::new();
    let service = Service::start();
    let server = home.serve();
    server.api.register(&service.package());
    drop(server);
    home.set("CHARTER_LIMITS__TIMEOUT_MS", "1000");
    let server = home.serve();
    let asked = request_of(SKILL, json!({}));
    server.api.ask(&asked).fails(504, "request_timeout");
    service.next().answer();
    let answer = answer_of(&server.api, &asked);
    assert_eq!(ids(&answer["metadata"]["findings"], "resource_id"), ["b-1"]);
}

/// A broad verdict runs the best few skills and says so.
#[test]
fn b000_3_a_broad_verdict_runs_several_skills() {
    let home = Home::new().with("CHARTER_REQUESTS__BROAD_SKILLS", "2");
    let server = home.serve();
    let mut package = backups();
    for name in ["alpha", "beta", "gamma"] {
        let twin = skill(&format!("reliability.{name}"), "count the tape drives");
        package = package.with(&format!("skills/{name}.yaml"), &twin);
    }
    server.api.register(&package);
    let answer = server
        .api
        .ask(&request("count the tape drives"))
        .expect(200);
    let metadata = &answer["metadata"];
    assert_eq!(
        (&metadata["flow"], &metadata["verdict"]["kind"]),
        (&json!("read_broad"), &json!("broad"))
    );
    assert_eq!(metadata["run_ids"].as_array().unwrap().len(), 2);
    assert_eq!(metadata["evidence_ids"].as_array().unwrap().len(), 2);
    let content = answer["content"].as_str().unwrap();
    assert!(
        content.starts_with("The question fits several skills; the best 2 were run: "),
        "{content}"
    );
}

/// Findings stand under the skill that made them, and results of a skill without rules under its own title.
#[test]
fn each_skill_of_a_broad_answer_has_its_own_title() {
    let server = Tenants::one();
    let tapes = skill("reliability.count_tapes", "count the tape drives");
    server
        .api
        .register(&backups().with("skills/tapes.yaml", &tapes));
    let asked = request("find stale backups and then count the tape drives");
    let answer = server.api.ask(&asked).expect(200);
    let content = answer["content"].as_str().unwrap();
    assert!(
        content.contains("1 stale backup(s).\n- [high] The backup b-1 is 40 days old."),
        "{content}"
    );
    let findings = content.find("- [high]").unwrap();
    assert!(
        content.find("count_tapes:\n\n").unwrap() > findings,
        "{content}"
    );
}

/// Where one of several skills lacks a parameter, the others answer and the parameter is asked for.
#[test]
fn a_missing_parameter_of_one_of_several_skills_is_asked_for() {
    let server = Tenants::one();
    let tapes = skill("reliability.count_tapes", "count the tape drives").replace(
        "output_type: finding\n",
        "output_type: finding\nparameters: [{name: library, type: string, required: true, description: which library}]\n",
    );
    server
        .api
        .register(&backups().with("skills/tapes.yaml", &tapes));
    let asked = request("find stale backups and then count the tape drives");
    let answer = server.api.ask(&asked).expect(200);
    let metadata = &answer["metadata"];
    assert_eq!(ids(&metadata["findings"], "resource_id"), ["b-1"]);
    assert_eq!(metadata["missing_parameters"], json!(["library"]));
    assert_eq!(
        metadata["unanswered"],
        json!([{
            "skill_id": "reliability.count_tapes", "title": "count_tapes", "missing_parameters": ["library"],
        }])
    );
    let warnings = metadata["warnings"].to_string();
    assert!(!warnings.contains("count_tapes"), "{warnings}");
    let content = answer["content"].as_str().unwrap();
    assert!(
        content.contains("count_tapes needs library. Ask for it by itself: charter ask"),
        "{content}"
    );
}

/// Events: progress first, one answer last.
#[test]
fn a_streamed_request_sends_progress_then_the_answer() {
    let server = Tenants::one();
    server.api.register(&backups());
    let asked = request(QUESTION);
    let events = server.api.stream(&asked);
    let (last, progress) = events.split_last().unwrap();
    let stages: Vec<&str> = progress
        .iter()
        .map(|(name, data)| {
            assert_eq!(name, "progress");
            data["stage"].as_str().unwrap()
        })
        .collect();
    assert_eq!(
        stages,
        [
            "routed",
            "skill_started",
            "step_started",
            "step_finished",
            "analysed"
        ]
    );
    assert_eq!(last.0, "response");
    assert_eq!(server.api.ask(&asked).expect(200), last.1);
    let mut refused = request("x");
    refused["metadata"] = json!({"skill_id": "no.such"});
    let events = server.api.stream(&refused);
    assert_eq!(events.len(), 1);
    assert_eq!(
        (events[0].0.as_str(), &events[0].1["error_code"]),
        ("error", &json!("not_found"))
    );
}

/// A sentence of a model is progress like any other, over REST and over the Model Context Protocol, and the answer repeats
/// it with the same citations.
#[test]
fn a_sentence_of_a_model_is_streamed_as_progress() {
    let text = "The backup b-1 is 40 days old.";
    let draft = json!({"sentences": [{"text": text, "cites": ["f1"]}]});
    let server = Tenants::with_draft(&draft);
    let analysis = "analysis:\n  model: {route: tier_fast, may: [summary]}\n";
    let package = backups().edit(SKILL_FILE, "analysis:\n", analysis);
    server.api.register(&package);
    let events = server.api.stream(&request_of(SKILL, json!({})));
    let (last, progress) = events.split_last().unwrap();
    let sentences: Vec<&(String, Value)> = progress
        .iter()
        .filter(|(_, data)| data["stage"] == "sentence")
        .collect();
    let answered = &last.1["metadata"]["sentences"];
    let [(name, streamed)] = sentences.as_slice() else {
        panic!("{progress:#?}");
    };
    assert_eq!(
        (name.as_str(), &streamed["text"]),
        ("progress", &json!(text))
    );
    for cited in ["evidence_ids", "finding_ids"] {
        assert_eq!(streamed[cited], answered[0][cited], "{cited}: {last:#?}");
    }
    let call =
        json!({"do": "call", "mode": "auto", "tool": "run", "arguments": {"skill_id": SKILL}});
    let saw = python(&with(&over_http(&server.api), call)).end();
    let told = saw["told"].as_array().unwrap();
    assert_eq!(
        told.iter().filter(|told| **told == text).count(),
        1,
        "{saw:#}"
    );
}

/// `cache_ttl_seconds`: the second request takes the first one's result and says so; another
/// parameter or tenant does not. A result that is taken counts against no rate limit: nothing is called.
#[test]
fn cache_ttl_seconds_is_honoured() {
    let home = Home::with_keys(&[
        ("ann", "acme", "ann", "admin"),
        ("uma", "umbra", "uma", "user"),
    ]);
    let server = home.serve();
    let (ann, uma) = (server.key("ann"), server.key("uma"));
    let package = crate::packages::global_backups();
    let cached = package
        .clone()
        .edit(SKILL_FILE, "cache_ttl_seconds: 0", "cache_ttl_seconds: 300");
    ann.register(&package);
    let ask = |api: &Api, vault: &str| {
        let answer = api
            .ask(&request_of(SKILL, json!({"vault": vault})))
            .expect(200);
        let evidence = answer["metadata"]["evidence_ids"][0].as_str().unwrap();
        let once =
            api.get(&format!("/v1/evidence/{evidence}")).expect(200)["payload"]["output"]["once"]
                .clone();
        (answer["actions"][0]["details"]["cached"].clone(), once)
    };
    let (first, second) = (ask(&ann, "a"), ask(&ann, "a"));
    assert_eq!((&first.0, &second.0), (&json!(false), &json!(false)));
    assert_ne!(first.1, second.1);
    ann.register(&cached.clone().version("1.0.0", "1.0.1"));
    let third = ask(&ann, "b");
    assert_eq!(third.0, json!(false));
    assert_eq!(ask(&ann, "b"), (json!(true), third.1));
    assert_eq!(ask(&ann, "c").0, json!(false));
    assert_eq!(ask(&uma, "b").0, json!(false));
    let limited = cached.version("1.0.0", "1.0.2").edit(
        TOOL_FILE,
        "execution_target: server",
        "execution_target: server\nrate_limit: {requests_per_minute: 1, burst: 1}",
    );
    ann.register(&limited);
    assert_eq!(ask(&ann, "d").0, json!(false));
    for _ in 0..3 {
        assert_eq!(ask(&ann, "d").0, json!(true));
    }
    ann.ask(&request_of(SKILL, json!({"vault": "e"})))
        .fails(429, "rate_limited");
}

/// A question waits for the rate limit of its tool; it fails only where its turn is far away.
#[test]
fn a_question_waits_for_the_rate_limit_of_its_tool() {
    let server = Tenants::one();
    let limited = backups().edit(
        TOOL_FILE,
        "execution_target: server",
        "execution_target: server\nrate_limit: {requests_per_minute: 120, burst: 1}",
    );
    server.api.register(&limited);
    for vault in ["a", "b", "c"] {
        let asked = request_of(SKILL, json!({"vault": vault}));
        server.api.ask(&asked).expect(200);
    }
}

/// Steps get earlier outputs as data: quotes and newlines stay what they are (ruling 13).
#[test]
fn ruling_13_values_travel_between_steps_as_data() {
    let server = Tenants::one();
    let nasty = "'\"; import os #\n${user.vault} $(id)";
    let package = backups().edit(
        SKILL_FILE,
        "analysis:\n",
        "    - step_id: step_2\n      type: read\n      tool_id: vault.list_backups\n      depends_on: [step_1]\n      parameters: {vault: \"${step_1.vault}\"}\nanalysis:\n",
    );
    server.api.register(&package);
    let answer = server
        .api
        .ask(&request_of(SKILL, json!({"vault": nasty})))
        .expect(200);
    let run = server
        .api
        .get(&format!(
            "/v1/runs/{}",
            answer["metadata"]["run_ids"][0].as_str().unwrap()
        ))
        .expect(200);
    let begun: Vec<&Value> = run["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["event"] == "step_begun")
        .map(|event| &event["parameters"])
        .collect();
    assert_eq!(begun, [&json!({"vault": nasty}), &json!({"vault": nasty})]);
    assert_eq!(
        ids(&answer["actions"], "details.step_id"),
        ["step_1", "step_2"]
    );
}

/// A run's journal says what was done, in order, with the versions it ran.
#[test]
fn a_runs_journal_shows_what_was_done() {
    let server = Tenants::one();
    server.api.register(&backups());
    let answer = server.api.ask(&request_of(SKILL, json!({}))).expect(200);
    let run = server
        .api
        .get(&format!(
            "/v1/runs/{}",
            answer["metadata"]["run_ids"][0].as_str().unwrap()
        ))
        .expect(200);
    assert_eq!(
        ids(&run["events"], "event"),
        ["started", "step_begun", "step_succeeded", "completed"]
    );
    let pins: Vec<Value> = run["events"][0]["pins"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pin| json!([pin["id"], pin["version"]]))
        .collect();
    assert_eq!(
        pins,
        [
            json!([SKILL, "1.0.0"]),
            json!(["vault.list_backups", "1.0.0"])
        ]
    );
}
