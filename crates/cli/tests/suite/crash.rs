//! Servers that end in the middle of a request.

use serde_json::{Value, json};

use crate::home::{Home, Server, eventually, ids, request_of};
use crate::packages::{SCRIPT_FILE, SKILL, SKILL_FILE, backups};
use crate::service::{Call, Service, served};

/// The answer of a request that an earlier server left open, and its only run.
fn answered(server: &Server, asked: &Value) -> (Value, Value) {
    let path = format!("/v1/requests/{}", asked["id"].as_str().unwrap());
    let answer = eventually("the answer of the interrupted request", || {
        Some(server.api.get(&path).expect(200)["answer"].clone()).filter(|answer| !answer.is_null())
    });
    assert_eq!(ids(&answer["metadata"]["findings"], "resource_id"), ["b-1"]);
    let evidence = server.api.get("/v1/evidence").expect(200);
    assert_eq!(
        ids(&evidence["entries"], "id"),
        ids(
            &json!([{"id": answer["metadata"]["evidence_ids"][0]}]),
            "id"
        )
    );
    let run = answer["metadata"]["run_ids"][0].as_str().unwrap();
    let run = server.api.get(&format!("/v1/runs/{run}")).expect(200);
    assert_eq!(server.api.ask(asked).expect(200), answer);
    (answer, run)
}

/// The answer of the next server to a request that a killed server left open.
fn taken_up(home: &Home, service: &Service, asked: &Value, first: &Call) -> Value {
    let server = home.serve();
    let second = service.next();
    assert_eq!(second.idempotency_key, first.idempotency_key);
    second.answer();
    let (_, run) = answered(&server, asked);
    assert!(!service.was_called());
    run
}

/// The attempts of a run's steps, each with its key.
fn attempts(run: &Value) -> Vec<Value> {
    let events = run["events"].as_array().unwrap().iter();
    let begun = events.filter(|event| event["event"] == "step_begun");
    let begun = begun.map(|event| json!([event["attempt"], event["idempotency_key"]]));
    begun.collect()
}

/// A home whose analyses ask a model that the test answers for.
fn analysing(model: &Service) -> Home {
    Home::new().configured(&format!(
        "[models.providers.lab]\napi = \"openai\"\nbase_url = \"http://{}/v1\"\nstream = false\n\
         [models.routes]\ntier_fast = \"lab/small\"\n",
        model.address()
    ))
}

/// A draft of an analysis as a provider answers with it.
fn completion(draft: &Value) -> String {
    let message = json!({"role": "assistant", "content": draft.to_string()});
    let completion = json!({
        "object": "chat.completion", "model": "small",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 70, "completion_tokens": 9, "total_tokens": 79},
    });
    completion.to_string()
}

/// Killed during a step, and again while a model puts the results into words: the next server goes on where the journal
/// ends, under the same idempotency key. What was journaled is asked for once, and its tokens count once. Neither a replay
/// nor the recorded answer needs the model.
#[test]
fn a_killed_servers_request_is_taken_up_and_answered() {
    let (service, model) = (Service::start(), Service::start());
    let home = analysing(&model);
    let server = home.serve();
    let analysis = "analysis:\n  model: {route: tier_fast, may: [summary]}\n";
    let package = service.package().edit(SKILL_FILE, "analysis:\n", analysis);
    server.api.register(&package);
    let asked = request_of(SKILL, json!({}));
    let connection = server.api.send_and_hold(&asked);
    let first = service.next();
    server.kill();
    drop(connection);
    assert!(first.idempotency_key.is_some());

    let server = home.serve();
    let second = service.next();
    assert_eq!(second.idempotency_key, first.idempotency_key);
    second.answer();
    let drafting = model.next();
    server.kill();
    assert!(drafting.idempotency_key.is_some());

    let server = home.serve();
    let drafted = model.next();
    assert_eq!(drafted.idempotency_key, drafting.idempotency_key);
    let text = "The backup b-1 is 40 days old.";
    drafted.answer_with(&completion(
        &json!({"sentences": [{"text": text, "cites": ["f1"]}]}),
    ));
    let (answer, run) = answered(&server, &asked);
    assert!(!service.was_called() && !model.was_called());
    let metadata = &answer["metadata"];
    assert_eq!(ids(&metadata["sentences"], "text"), [text]);
    let tokens = json!({"input": 70, "output": 9});
    for counted in [
        &metadata["tokens"],
        &metadata["analysis"]["tokens"],
        &run["tokens"],
    ] {
        assert_eq!(*counted, tokens, "{metadata:#}");
    }
    assert_eq!(
        ids(&run["events"], "event"),
        [
            "started",
            "step_begun",
            "step_begun",
            "step_succeeded",
            "step_begun",
            "step_begun",
            "step_succeeded",
            "completed"
        ]
    );
    let id = run["run_id"].as_str().unwrap();
    let keys = ["step_1", "charter_analysis"].map(|step| format!("{id}/{step}"));
    let twice = keys
        .iter()
        .flat_map(|key| [json!([1, key]), json!([2, key])]);
    assert_eq!(attempts(&run), twice.collect::<Vec<_>>());

    drop((drafting, model));
    server.kill();
    let server = home.serve();
    let replayed = server.api.get(&format!("/v1/runs/{id}/replay")).expect(200);
    assert_eq!(replayed["divergence"], Value::Null, "{replayed:#}");
    assert_eq!(server.api.ask(&asked).expect(200), answer);
}

/// Asked to stop during a step: it ends in good order, and the next server goes on.
#[test]
fn a_stopped_servers_request_is_taken_up_and_answered() {
    let (home, server, service) = served();
    let asked = request_of(SKILL, json!({}));
    let connection = server.api.send_and_hold(&asked);
    let first = service.next();
    assert_eq!(server.terminate(), Some(0));
    drop(connection);
    taken_up(&home, &service, &asked, &first);
}

/// The processes that work in a folder of this home.
pub(crate) fn scripts_in(home: &Home) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().map_while(Result::ok);
    let places =
        processes.filter_map(|process| std::fs::read_link(process.path().join("cwd")).ok());
    places.filter(|cwd| cwd.starts_with(home.data())).count()
}

/// Neither a script nor its children outlive their server.
#[test]
fn a_killed_servers_scripts_end_with_their_children() {
    let home = Home::new();
    let server = home.serve();
    let endless = "import subprocess, time\n\
                   for _ in range(3): subprocess.Popen(['sh', '-c', 'sleep 600 & sleep 600'])\n\
                   time.sleep(600)\n";
    server.api.register(&backups().with(SCRIPT_FILE, endless));
    let connection = server.api.send_and_hold(&request_of(SKILL, json!({})));
    eventually("the script and its children", || {
        (scripts_in(&home) > 6).then_some(())
    });
    server.kill();
    drop(connection);
    eventually("the end of them all", || {
        (scripts_in(&home) == 0).then_some(())
    });
}

/// What was acknowledged is there after a kill, and the directory opens at once.
#[test]
fn a_killed_server_loses_nothing_acknowledged() {
    let home = Home::new();
    for round in 0..5 {
        let server = home.serve();
        let version = format!("1.0.{round}");
        let package = backups().version("1.0.0", &version);
        let status = server.api.post("/v1/packages", &package.bundle()).status;
        assert_eq!(status, 201);
        let session = server.api.post("/v1/sessions", &json!({})).expect(201);
        server.kill();
        let server = home.serve();
        assert_eq!(
            server.api.get("/v1/packages").expect(200)[0]["version"],
            json!(version)
        );
        server
            .api
            .get(&format!(
                "/v1/sessions/{}",
                session["session_id"].as_str().unwrap()
            ))
            .expect(200);
    }
}
