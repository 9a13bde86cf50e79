//! B003-11: sessions.

use serde_json::{Value, json};

use crate::home::{Home, eventually, ids, request, request_of};
use crate::packages::{Package, SKILL, global_backups};
use crate::playbooks::{confirm, shared};
use crate::quickstart::{self, Simulator, compared};
use crate::shared::Tenants;

/// B003-11
#[test]
fn b003_11_an_unknown_or_foreign_session_is_refused() {
    let home = Home::with_keys(&[
        ("ann", "acme", "ann", "admin"),
        ("bob", "acme", "bob", "user"),
        ("uma", "umbra", "uma", "user"),
    ]);
    let server = home.serve();
    let ann = server.key("ann");
    ann.register(&global_backups());
    let session = ann.post("/v1/sessions", &json!({})).expect(201)["session_id"].clone();
    let mut asked = request_of(SKILL, json!({}));
    asked["session_id"] = session.clone();
    for stranger in ["bob", "uma"] {
        server
            .key(stranger)
            .ask(&asked)
            .fails(404, "session_not_found");
    }
    let mut lost = request_of(SKILL, json!({}));
    lost["session_id"] = json!("sess-01930000-0000-7000-8000-000000000001");
    ann.ask(&lost).fails(404, "session_not_found");
    // A refused request was not recorded under its id.
    ann.get(&format!("/v1/requests/{}", lost["id"].as_str().unwrap()))
        .fails(404, "not_found");
    let answer = ann.ask(&asked).expect(200);
    let shown = ann
        .get(&format!("/v1/sessions/{}", session.as_str().unwrap()))
        .expect(200);
    assert_eq!(
        ids(&shown["turns"], "request_id"),
        [asked["id"].as_str().unwrap()]
    );
    assert_eq!(shown["turns"][0]["output"], answer["content"]);
}

/// The previous question is asked again with the replacements of the new text; the verdict shows that. The findings
/// equal those of an independent script for the region.
#[test]
fn b003_11_a_short_text_takes_up_what_the_session_asked_before() {
    let simulator = Simulator::start();
    let home = simulator.granted_to(Home::new());
    let server = home.serve();
    quickstart::register(&home);
    let api = &server.api;
    let session = api.post("/v1/sessions", &json!({})).expect(201)["session_id"].clone();
    let ask = |text: &str| {
        let mut asked = request(text);
        asked["session_id"] = session.clone();
        let answer = api.ask(&asked).expect(200);
        (asked["id"].clone(), answer["metadata"].clone())
    };
    let expected = |region: &str| simulator.expected(region);
    let (first, answer) = ask("Which of my security groups in eu-west-1 are open to the internet?");
    assert_eq!(compared(&answer["findings"]), expected("eu-west-1"));
    assert_eq!(answer["verdict"]["follow_up"], Value::Null);
    let (second, answer) = ask("And the other region?");
    assert_eq!(compared(&answer["findings"]), expected("us-east-1"));
    let verdict = &answer["verdict"];
    assert_eq!(verdict["kind"], "narrow", "{verdict:#}");
    assert_eq!(verdict["follow_up"]["request_id"], first, "{verdict:#}");
    let reason = verdict["reason"].as_str().unwrap();
    let said = format!(
        "a follow-up of `{}`, because it is short, begins with `and` and",
        first.as_str().unwrap()
    );
    assert!(reason.starts_with(&said), "{reason}");
    // A series of follow-ups is based on the question that began it.
    let (_, answer) = ask("and in eu-west-1 again?");
    assert_eq!(compared(&answer["findings"]), expected("eu-west-1"));
    assert_eq!(answer["verdict"]["follow_up"]["request_id"], second);
    let query = answer["verdict"]["query"].as_str().unwrap();
    assert_eq!(
        query,
        "Which of my security groups in eu-west-1 are open to the internet?\nand in eu-west-1 again?"
    );
    // A complete question is not joined to a previous one.
    let (_, answer) = ask("and are any S3 buckets readable by the public?");
    assert_eq!(
        answer["verdict"]["candidates"][0]["id"],
        "security.detect_public_storage_access"
    );
    assert_eq!(answer["verdict"]["follow_up"], Value::Null);
    // Without the session there is no previous question.
    let alone = api.ask(&request("And the other region?"));
    assert_eq!(alone.body["metadata"]["verdict"]["follow_up"], Value::Null);
    assert_ne!(alone.body["metadata"]["verdict"]["kind"], "narrow");
}

/// The turn of a change has the change's result, after the change has ended.
#[test]
fn b003_11_the_turn_of_a_change_has_its_result() {
    let (server, service) = shared();
    let ann = server.key("ann");
    let session = ann.post("/v1/sessions", &json!({})).expect(201)["session_id"].clone();
    let mut asked = request("purge the vault for good");
    asked["session_id"] = session.clone();
    asked["metadata"] = json!({"parameters": {"vault": "main"}});
    let answer = ann.ask(&asked).expect(200);
    let turn = || {
        let path = format!("/v1/sessions/{}", session.as_str().unwrap());
        let shown = ann.get(&path).expect(200);
        assert_eq!(
            ids(&shown["turns"], "request_id"),
            [asked["id"].as_str().unwrap()]
        );
        shown["turns"][0]["output"].clone()
    };
    assert_eq!(turn(), answer["content"]);
    let metadata = &answer["metadata"];
    let run = json!({"run_id": metadata["run_ids"][0], "plan_digest": metadata["plan_digest"]});
    // Without four eyes, an operator's confirmation is the approval.
    confirm(&ann, &run).expect(200);
    service.next().answer_with("{}");
    let path = format!("/v1/requests/{}", asked["id"].as_str().unwrap());
    let result = eventually("the result", || {
        let recorded = ann.get(&path).expect(200);
        Some(recorded["result"].clone()).filter(|result| !result.is_null())
    });
    assert_ne!(result["content"], answer["content"]);
    assert_eq!(turn(), result["content"]);
}

/// Two unrelated playbooks.
fn two_changes() -> Package {
    let tool = |name: &str, parameter: &str| {
        format!(
            "tool_id: fleet.{name}\nname: {name}\nprovider: fleet\ntool_class: write\ndomain: reliability\n\
             description: The {name} of the fleet.\nlanguage: python\nexecution_target: server\n\
             parameters: [{parameter}]\nimplementation: {{type: script, body: \"pass\"}}\n"
        )
    };
    let playbook = |name: &str, title: &str, examples: &str, parameter: &str, of: &str| {
        format!(
            "playbook_id: fleet.{name}\nname: {title}\ndomain: reliability\ntrigger_conditions: [{examples}]\n\
             examples: [{examples}]\nmandatory_parameters: [{parameter}]\n\
             steps:\n  - {{step_id: s1, type: write, tool_id: fleet.{name}, on_failure: stop, \
             parameters: {{{of}: \"${{user.{of}}}\"}}}}\nsafety: {{safety_class: supervised}}\n"
        )
    };
    let host = "{name: host, type: string, required: true, description: Host name, \
                pattern: \"^(web|db)-[0-9][0-9]$\"}";
    let cert = "{name: cert, type: string, required: true, description: Certificate id, \
                pattern: \"^cert-[a-z][0-9]$\"}";
    let restart = "restart web-01, reboot the host db-01";
    let rotate = "rotate cert-a1, renew the certificate cert-b2";
    Package::new("fleet", "1.0.0", "tenant")
        .with("tools/restart.yaml", &tool("restart", host))
        .with("tools/rotate.yaml", &tool("rotate", cert))
        .with(
            "playbooks/restart.yaml",
            &playbook("restart", "Bring a host up again", restart, host, "host"),
        )
        .with(
            "playbooks/rotate.yaml",
            &playbook("rotate", "Rotate a certificate", rotate, cert, "cert"),
        )
}

/// If a question asks for two changes, the answer to the chosen one lists what the other needs, and the next turn may
/// choose the other.
#[test]
fn b003_11_of_two_changes_that_were_meant_each_may_be_chosen() {
    let server = Tenants::one();
    server.api.register(&two_changes());
    let session = server.api.post("/v1/sessions", &json!({})).expect(201)["session_id"].clone();
    let say = |text: &str| {
        let mut asked = request(text);
        asked["session_id"] = session.clone();
        server.api.ask(&asked).expect(200)
    };
    let asked = say("rotate cert-a1 and restart web-01");
    let clarification = &asked["metadata"]["clarification"];
    assert!(clarification.is_object(), "{asked:#}");
    let options = ids(&clarification["options"], "id");
    assert_eq!(options.len(), 2, "{asked:#}");
    let values = |id: &str| match id {
        "fleet.restart" => json!({"host": "web-01"}),
        _ => json!({"cert": "cert-a1"}),
    };
    let first = say("1");
    assert_eq!(
        first["metadata"]["status"], "awaiting_confirmation",
        "{first:#}"
    );
    let other = &first["metadata"]["offers"][0];
    assert_eq!(
        (
            &other["playbook_id"],
            &other["parameters"],
            &other["missing"]
        ),
        (&json!(options[1]), &values(&options[1]), &json!([])),
        "{first:#}"
    );
    let content = first["content"].as_str().unwrap();
    assert!(
        content.contains("The question has more parts:"),
        "{content}"
    );
    let second = say("the second one");
    let metadata = &second["metadata"];
    assert_eq!(metadata["status"], "awaiting_confirmation", "{second:#}");
    assert_ne!(metadata["run_ids"], first["metadata"]["run_ids"]);
    assert_eq!(metadata["offers"], Value::Null);
}
