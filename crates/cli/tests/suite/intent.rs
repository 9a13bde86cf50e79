//! B000-20: what a sentence asks for decides what is done for it.

use serde_json::{Value, json};

use crate::home::{Api, Home, ids, request};
use crate::lenses::lens;
use crate::packages::{Package, QUESTION, SKILL, backups, skill};
use crate::playbooks::{PLAYBOOK, PLAYBOOK_FILE, purge, shared, triggered_by_findings};
use crate::service::Service;
use crate::shared::Tenants;

/// The playbook in the class of which nobody has to approve a call.
fn automated(service: &Service) -> Package {
    purge(service).edit(
        PLAYBOOK_FILE,
        "safety_class: supervised",
        "safety_class: automated",
    )
}

/// Skills of different domains that the same words fit, with the package's own beside them.
pub(crate) const DIFFERENT: [&str; 3] = [
    "reliability.alpha",
    "reliability.find_stale_backups",
    "security.beta",
];

/// The package of [`DIFFERENT`].
pub(crate) fn different_things() -> Package {
    let ids = [DIFFERENT[0], DIFFERENT[2]];
    ids.iter().fold(backups(), |package, id| {
        let file = format!("skills/{id}.yaml");
        package.with(&file, &skill(id, "count the tape drives"))
    })
}

fn runs(api: &Api) -> Vec<String> {
    ids(&api.get("/v1/runs").expect(200)["entries"], "run_id")
}

/// What is forbidden, asked about, joked about or written in a language that is not understood begins nothing, though one
/// playbook is all there is.
#[test]
fn b000_20_only_an_order_begins_a_change() {
    let server = Tenants::one();
    let service = Service::start();
    server.api.register(&automated(&service));
    for text in [
        "do not purge the vault for good",
        "tell me a joke about the vault",
        "what does it mean to purge the vault for good?",
        "bitte den Tresor endgültig leeren",
        "Vault endgültig löschen",
        "Purge el vault por completo",
        "prge the vault for good",
        "purge the vault for good if it is full",
        "purge the vault for good next week",
    ] {
        let answer = server.api.ask(&request(text));
        assert_ne!(answer.body["metadata"]["flow"], "skill", "{text}");
        assert_eq!(answer.body["metadata"]["run_ids"], Value::Null, "{text}");
    }
    assert_eq!(runs(&server.api), [""; 0]);
    assert!(!service.was_called());
}

/// A change that is put off or depends on something is offered with its values.
#[test]
fn b000_20_a_doubtful_change_is_offered() {
    let (server, service) = shared();
    let mut asked = request("purge the vault for good next week");
    asked["metadata"] = json!({"parameters": {"vault": "main"}});
    let answer = server.key("uma").ask(&asked).expect(200);
    let offers = &answer["metadata"]["offers"];
    assert_eq!(
        offers,
        &json!([{"playbook_id": PLAYBOOK, "title": "Purge a vault", "parameters": {"vault": "main"}, "missing": []}])
    );
    let content = answer["content"].as_str().unwrap();
    assert!(
        content.starts_with("Nothing was begun: it is to happen later."),
        "{content}"
    );
    assert!(
        content.ends_with(&format!(
            "To do this: Purge a vault. charter playbook run {PLAYBOOK} -p vault=main"
        )),
        "{content}"
    );
    assert!(!service.was_called());
}

/// What was chosen from words is shown first, whatever the class of its document.
#[test]
fn b000_20_an_automated_playbook_chosen_from_words_waits_to_be_confirmed() {
    let server = Tenants::one();
    let service = Service::start();
    server.api.register(&automated(&service));
    let mut asked = request("purge the vault for good");
    asked["metadata"] = json!({"parameters": {"vault": "main"}});
    let answer = server.api.ask(&asked).expect(200);
    let metadata = &answer["metadata"];
    assert_eq!(metadata["status"], "awaiting_confirmation", "{answer:#}");
    assert_eq!(metadata["verdict"]["intent"], "change");
    assert!(!service.was_called());
}

/// Small talk is answered with what can be asked; no agent is searched and nothing is made.
#[test]
fn b000_20_text_without_a_request_lists_what_can_be_asked() {
    let server = Tenants::one();
    server.api.register(&backups());
    let answer = server.api.ask(&request("thanks a lot!")).expect(200);
    let metadata = &answer["metadata"];
    assert_eq!(metadata["verdict"]["intent"], "none");
    assert_eq!(metadata["verdict"]["candidates"], json!([]));
    let content = answer["content"].as_str().unwrap();
    assert!(
        content.contains("You can ask:\n") && content.contains("- Find stale backups"),
        "{content}"
    );
}

/// A text that asks for nothing is answered with what can be asked, without small talk too; a question or an order that
/// nothing fits is no match, and its refusal says what can be asked.
#[test]
fn b000_20_what_is_none_by_its_form_is_told_what_can_be_asked_and_a_miss_is_none() {
    let server = Tenants::one();
    server.api.register(&backups());
    let answer = server
        .api
        .ask(&request("translate good tidings into verse"));
    let answer = answer.expect(200);
    let metadata = &answer["metadata"];
    assert_eq!(
        (&metadata["verdict"]["intent"], &metadata["flow"]),
        (&json!("none"), &json!("knowledge")),
        "{answer:#}"
    );
    let content = answer["content"].as_str().unwrap();
    assert!(content.contains("- Find stale backups"), "{content}");
    for text in ["which ferries leave at noon?", "book me a table for two"] {
        let refused = server.api.ask(&request(text));
        let can_ask = refused.body["technical_details"]["can_ask"].clone();
        let message = refused.fails(404, "no_match");
        assert!(
            message.ends_with("for example: Find stale backups"),
            "{message}"
        );
        assert_eq!(can_ask, json!(["Find stale backups"]));
    }
    assert_eq!(server.api.brought("skill"), [SKILL]);
}

/// An example of a playbook that is quoted or asked about begins nothing, and `metadata.flow` comes before examples.
#[test]
fn b000_20_an_example_begins_a_change_only_as_an_order() {
    let (server, service) = shared();
    let uma = server.key("uma");
    let quoted = uma
        .ask(&request("\"purge the vault for good\""))
        .expect(200);
    assert_eq!(
        quoted["metadata"]["verdict"]["intent"], "none",
        "{quoted:#}"
    );
    for text in ["purge the vault for good?", "(purge the vault for good)"] {
        let answer = uma.ask(&request(text)).expect(200);
        let metadata = &answer["metadata"];
        assert_eq!(metadata["offers"][0]["playbook_id"], PLAYBOOK, "{answer:#}");
        assert_eq!(metadata["run_ids"], Value::Null, "{text}");
    }
    let intent = |text: &str, flow: &str| {
        let mut asked = request(text);
        asked["metadata"] = json!({"flow": flow});
        let flow = uma.ask(&asked).body["metadata"]["flow"].clone();
        let path = format!("/v1/requests/{}", asked["id"].as_str().unwrap());
        let recorded = uma.get(&path).expect(200);
        (recorded["verdict"]["verdict"]["intent"].clone(), flow)
    };
    for flow in ["skill", "read_broad", "code_gen_read"] {
        let (intent, answered) = intent("purge the vault for good", flow);
        assert_eq!(intent, "read", "{flow}");
        assert_ne!(answered, "write", "{flow}");
    }
    for flow in ["write", "code_gen_write"] {
        let (intent, answered) = intent(QUESTION, flow);
        assert_eq!(intent, "change", "{flow}");
        assert_ne!(answered, "skill", "{flow}");
    }
    let (intent, answered) = intent("purge the vault for good", "write");
    assert_eq!((intent, answered), (json!("change"), json!("write")));
    assert!(!service.was_called());
}

/// Of several kinds of things that are asked for, those that are not answered are named, in the answer and in the clauses.
#[test]
fn b000_20_what_an_answer_leaves_out_is_named() {
    let (server, service) = shared();
    let asked = request("which backups have grown stale, and purge the vault for good");
    let answer = server.key("uma").ask(&asked).expect(200);
    let metadata = &answer["metadata"];
    assert_eq!(metadata["flow"], "write", "{answer:#}");
    let left_out = &metadata["left_out"];
    assert_eq!(
        left_out,
        &json!([{"text": "which backups have grown stale", "reason": "it asks for the state of things"}])
    );
    let content = answer["content"].as_str().unwrap();
    assert!(
        content.contains("Left out: “which backups have grown stale”"),
        "{content}"
    );
    let clauses = metadata["verdict"]["clauses"].as_array().unwrap();
    let best = |at: usize| clauses[at]["candidates"][0]["id"].clone();
    assert_eq!((best(0), best(1)), (json!(PLAYBOOK), json!(SKILL)));
    assert!(!service.was_called());
}

/// Of two skills whose agents conflict the better one answers, and the other one is named.
#[test]
fn b000_20_the_skill_of_a_conflicting_agent_is_named_as_left_out() {
    let server = Tenants::one();
    let tapes = "reliability.count_tapes";
    let agent = format!(
        "agent_id: domain.reliability.tapes\nname: tapes\ndisplay_name: Tapes\nagent_type: domain\ndomain: reliability\n\
         capabilities: [count tape drives]\nskill_refs: [{tapes}]\n\
         composition: {{conflicts_with_agents: [domain.reliability.recovery]}}\n"
    );
    let package = backups()
        .with("skills/tapes.yaml", &skill(tapes, "count the tape drives"))
        .with("agents/tapes.yaml", &agent);
    server.api.register(&package);
    let asked = request("find stale backups and then count the tape drives");
    let answer = server.api.ask(&asked).expect(200);
    let metadata = &answer["metadata"];
    assert_eq!(metadata["run_ids"].as_array().map(Vec::len), Some(1));
    let left_out = &metadata["left_out"][0];
    let reason = left_out["reason"].as_str().unwrap();
    assert!(reason.starts_with("its agent conflicts with"), "{answer:#}");
    let other = left_out["skill_id"].as_str().unwrap();
    assert!([SKILL, tapes].contains(&other), "{answer:#}");
    assert_ne!(metadata["verdict"]["candidates"][0]["id"], other);
}

/// Findings lead to a playbook where their rule names one of its trigger conditions, and to no other.
#[test]
fn b000_20_findings_offer_the_playbook_that_their_rule_names() {
    let server = Tenants::one();
    let service = Service::start();
    let named = triggered_by_findings(purge(&service));
    server.api.register(&purge(&service));
    let unnamed = server.api.ask(&request(QUESTION)).expect(200);
    assert_eq!(unnamed["metadata"]["offers"], Value::Null);
    server.api.register(&named.version("1.0.0", "1.0.1"));
    let answer = server.api.ask(&request(QUESTION)).expect(200);
    assert_eq!(
        answer["metadata"]["offers"],
        json!([{
            "playbook_id": PLAYBOOK, "title": "Purge a vault", "parameters": {"vault": "b-1"}, "missing": [],
            "finding_skills": [SKILL],
        }])
    );
    assert!(!service.was_called());
}

/// A question for a rule is answered by a lens with its source, without any flag, where the caller has the tier for it.
#[test]
fn b000_20_a_rule_is_looked_up_in_lenses() {
    let server = Tenants::one();
    let library = backups()
        .with(
            "lenses/handbook.yaml",
            &lens("security.handbook", "file", "sources/handbook.md"),
        )
        .with(
            "sources/handbook.md",
            "# Locks\n\nEvery lock of the north gate is changed in spring.\n",
        );
    server.api.register(&library);
    let asked = request("What is the rule for the locks of the north gate?");
    let answer = server.api.ask(&asked).expect(200);
    let metadata = &answer["metadata"];
    assert_eq!(
        (&metadata["flow"], &metadata["verdict"]["intent"]),
        (&json!("rag_search"), &json!("knowledge")),
        "{answer:#}"
    );
    assert_eq!(metadata["passages"][0]["lens_id"], "security.handbook");
    let content = answer["content"].as_str().unwrap();
    assert!(
        content.contains("Every lock of the north gate is changed in spring."),
        "{content}"
    );
    // A caller below the tier for lenses gets no passage and no word about lenses.
    let order = json!({"name": "plain", "role": "user"});
    let made = server.api.post("/v1/keys", &order).expect(201);
    let plain = server.api.with_key(made["secret"].as_str().unwrap());
    let asked = request("What is the rule for the locks of the north gate?");
    let answer = plain.ask(&asked);
    assert_ne!(answer.status, 403, "{:#}", answer.body);
    assert_eq!(answer.body["metadata"]["passages"], Value::Null);
    assert!(!answer.body.to_string().contains("handbook"));
}

/// A change that no playbook makes is looked up in lenses before anything else: a runbook's heading is an order.
#[test]
fn b000_20_a_change_that_misses_is_looked_up_in_lenses() {
    let server = Tenants::one();
    let library = backups()
        .with(
            "lenses/runbook.yaml",
            &lens("security.runbook", "file", "sources/runbook.md"),
        )
        .with(
            "sources/runbook.md",
            "# Drain the north tank\n\nTo drain the north tank, open its lower valve and wait for an hour.\n",
        );
    server.api.register(&library);
    let answer = server.api.ask(&request("Drain the north tank")).expect(200);
    let metadata = &answer["metadata"];
    assert_eq!(
        (&metadata["flow"], &metadata["verdict"]["intent"]),
        (&json!("rag_search"), &json!("change")),
        "{answer:#}"
    );
    assert_eq!(metadata["passages"][0]["lens_id"], "security.runbook");
    assert_eq!(metadata["run_ids"], Value::Null);
}

/// Where different things fit, one question is asked back, and the next turn of the session answers it.
#[test]
fn b000_20_a_question_is_asked_back_and_answered_in_the_session() {
    let server = Tenants::one();
    server.api.register(&different_things());
    let session = server.api.post("/v1/sessions", &json!({})).expect(201)["session_id"].clone();
    let ask = |text: &str| {
        let mut asked = request(text);
        asked["session_id"] = session.clone();
        server.api.ask(&asked).expect(200)["metadata"].clone()
    };
    let asked = ask("count the tape drives");
    let options = ids(&asked["clarification"]["options"], "id");
    let mut sorted = options.clone();
    sorted.sort();
    assert_eq!(sorted, DIFFERENT);
    assert_eq!(asked["run_ids"], Value::Null);
    let answered = ask("the second one");
    assert_eq!(answered["flow"], "skill", "{answered:#}");
    assert_eq!(answered["run_ids"].as_array().map(Vec::len), Some(1));
    assert!(
        answered["verdict"]["reason"]
            .as_str()
            .unwrap()
            .ends_with(&format!("`{}`", options[1])),
        "{answered:#}"
    );
}

/// The command measures labelled sentences over what is registered.
#[test]
fn b000_20_labelled_sentences_are_measured() {
    let home = Home::new();
    let folder = home.path("package");
    let registered = home.run(&["package", "register", &backups().write(&folder)]);
    assert_eq!(registered.code, Some(0), "{registered:?}");
    let file = home.path("sentences.jsonl");
    let lines = [
        json!({"text": QUESTION, "intent": "read", "relevant": [SKILL], "tags": ["plain"]}),
        json!({"text": "thanks a lot!", "intent": "none", "tags": ["chitchat"]}),
    ];
    let lines = lines.map(|line| line.to_string()).join("\n");
    std::fs::write(&file, lines).unwrap();
    let measured = home.run(&[
        "route",
        "eval",
        "--intent",
        file.to_str().unwrap(),
        "--output",
        "json",
    ]);
    let report = measured.json(0);
    assert_eq!(report["english"]["sentences"], 2);
    assert_eq!(report["english"]["intent_right"], 2, "{report:#}");
    assert_eq!(report["english"]["first_right"], 1, "{report:#}");
    assert_eq!(report["missed"], json!([]), "{report:#}");
}
