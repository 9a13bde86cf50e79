//! Candidates by a model: a draft outside of the boundary becomes none.

use charter_testkit::http_stub::{HttpStub, Reply};

use super::*;

fn says(answer: &Value) -> Reply {
    let completion = json!({"object": "chat.completion", "model": "m", "choices": [{
        "index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": answer.to_string()}}],
        "usage": {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35}});
    Reply::json(200, completion.to_string())
}

fn draft(tool: &str, argument: &str) -> Value {
    json!({"candidate": {
        "name": "Boiler pressure", "description": "Measures a boiler.",
        "requests": ["how much pressure is on the boiler of the coffee machine"],
        "parameters": [{"name": "which", "tool": "kitchen.measure_pressure", "parameter": "machine"}],
        "steps": [{"step_id": "measure", "tool": tool, "arguments": {"machine": argument}}],
    }})
}

/// A kitchen whose code agent uses a model server.
fn kitchen_with(models: &HttpStub) -> (Home, Server, Service) {
    let home = Home::with_keys(&KEYS);
    let config = home.path("config.toml");
    let keys = std::fs::read_to_string(&config).unwrap();
    let text = format!(
        "{keys}[models.providers.lab]\napi = \"openai\"\nbase_url = \"{}\"\nstream = false\n\
         [models.routes]\ncode_agent = \"lab/coder\"\n",
        models.url("/v1")
    );
    std::fs::write(&config, text).unwrap();
    let server = home.serve();
    let service = Service::start();
    server
        .key("root")
        .register(&with_kitchen(global_backups(), &service));
    (home, server, service)
}

/// The body of a request to a model, without the model's own answers and the content of its data blocks.
fn outside_the_data(body: &Value) -> String {
    let mut rest = body.clone();
    let messages = rest["messages"].as_array_mut().unwrap();
    messages.retain(|message| message["role"] != "assistant");
    for message in messages {
        let text = message["content"].as_str().unwrap();
        let parts = text.split("<data>\n").enumerate();
        let outside = parts.map(|(at, part)| match part.split_once("\n</data>") {
            Some((_, behind)) if at > 0 => behind,
            Some(_) | None => part,
        });
        let outside: String = outside.collect();
        message["content"] = json!(outside);
    }
    rest.to_string()
}

/// B000-5: the model's plan becomes an ordinary candidate: shown, run by name, accepted after a run that succeeded, and
/// then reached by the requests that the model listed.
#[test]
fn b000_5_a_model_drafts_a_candidate_within_the_boundary() {
    let models = HttpStub::start(|_, number| match number {
        // A tool outside the boundary, and then an invalid reference: both are returned for correction.
        0 => says(&draft("a.measure_boiler_pressure", "${user.which}")),
        1 => says(&draft("kitchen.measure_pressure", "${user.other}")),
        _ => says(&draft("kitchen.measure_pressure", "${user.which}")),
    })
    .unwrap();
    let (_home, server, _service) = kitchen_with(&models);
    let [uma, ann] = ["uma", "ann"].map(|key| server.key(key));
    let candidate = proposed(&uma, READ);
    let steps = json!([{"step": "measure", "tool": "kitchen.measure_pressure", "writes": false}]);
    assert_eq!(candidate["steps"], steps);
    let seen = models.seen();
    assert_eq!(seen.len(), 3, "two drafts were sent back");
    let told = seen[2].body.to_string();
    assert!(
        told.contains("user.other"),
        "what was wrong is told: {told}"
    );
    // The request, the tools' descriptions and the faults of a draft are data.
    for asked in &seen {
        assert!(asked.body.to_string().contains("coffee"));
        let outside = outside_the_data(&asked.body);
        for mark in ["coffee", "boiler", "Boiler", "user.other"] {
            assert!(!outside.contains(mark), "{mark}: {outside}");
        }
    }
    assert!(
        !seen[0].body.to_string().contains("kitchen.flush_boiler"),
        "a question is not offered what writes"
    );
    assert_eq!(
        proposed(&ann, READ),
        candidate,
        "an equal request asks nobody"
    );
    assert_eq!(models.seen().len(), 3);

    let id = id_of(&candidate);
    let answer = uma.ask(&request_of(id, json!({"which": "m"}))).expect(200);
    promote(&ann, &candidate, &answer["metadata"]["run_ids"][0]).expect(200);
    let asked = "how much pressure is on the boiler of the coffee machine";
    assert_eq!(uma.routed(asked)[0], id);
}

/// B000-4: a model that declines, or does not correct its draft, leaves no candidate; the answer states the reason.
#[test]
fn b000_4_a_model_that_finds_no_way_leaves_no_candidate() {
    let models = HttpStub::start(|_, number| match number {
        0 => says(&json!({"declined": "no tool measures steam"})),
        _ => says(&draft("kitchen.measure_pressure", "${user.other}")),
    })
    .unwrap();
    let (_home, server, _service) = kitchen_with(&models);
    let uma = server.key("uma");
    let refused = uma.ask(&request(READ)).fails(404, "no_match");
    assert!(refused.contains("no tool measures steam"), "{refused}");
    let refused = uma.ask(&request(READ)).fails(404, "no_match");
    assert!(refused.contains("`${user.other}` is neither"), "{refused}");
}

/// B000-5: with an explicit request (`code_gen_direct`), a candidate is made although a registered document fits, and
/// nothing is run.
#[test]
fn b000_5_a_candidate_may_be_asked_for_directly() {
    let models = HttpStub::start(|_, _| says(&draft("kitchen.measure_pressure", "${user.which}")));
    let models = models.unwrap();
    let (_home, server, _service) = kitchen_with(&models);
    let uma = server.key("uma");
    let mut asked = request("find backups that have grown stale on the coffee machine boiler");
    asked["metadata"] = json!({"flow": "code_gen_direct"});
    let answer = uma.ask(&asked).expect(200);
    assert_eq!(answer["metadata"]["flow"], "code_gen_direct");
    assert_eq!(answer["metadata"]["candidate"]["is_candidate"], true);
    assert_eq!(answer["metadata"].get("run_ids"), None);
}
