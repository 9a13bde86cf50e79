//! Route examples: confirmed sentences that an owner of the tenant's catalogue accepts.

use serde_json::{Value, json};

use crate::home::{Api, Key, ids, request};
use crate::intent::different_things;
use crate::packages::{Package, QUESTION, SKILL, backups, skill};
use crate::playbooks::{
    PLAYBOOK, PLAYBOOK_FILE, confirm as confirm_run, purge, triggered_by_findings,
};
use crate::service::Service;
use crate::shared::Tenants;

/// An owner and a user of one tenant, and the owner of another.
const KEYS: [Key; 3] = [
    ("owner", "acme", "olga", "operator"),
    ("asker", "acme", "ann", "user"),
    ("rival", "rival", "rob", "operator"),
];

/// Two skills with the same purpose.
const ALIKE: [&str; 2] = ["reliability.alpha", "reliability.beta"];

/// A question in other words than their purpose.
const PARAPHRASE: &str = "how many cartridge units are in the racks";

fn alike() -> Package {
    ALIKE.iter().fold(backups(), |package, id| {
        let text = skill(id, "count the tape drives");
        package.with(&format!("skills/{id}.yaml"), &text)
    })
}

/// Asks a skill; returns the request's id.
fn asked(api: &Api, skill: &str, text: &str) -> String {
    let mut asked = request(text);
    asked["metadata"] = json!({"skill_id": skill});
    api.ask(&asked).expect(200);
    asked["id"].as_str().unwrap().to_owned()
}

fn confirmed(api: &Api, request: &str) -> Value {
    let path = format!("/v1/requests/{request}/confirm");
    api.post(&path, &json!({})).expect(200)
}

fn examples(api: &Api, query: &str) -> Value {
    let path = format!("/v1/route/examples{query}");
    api.get(&path).expect(200)["entries"].clone()
}

fn decide(api: &Api, example: &str, word: &str) -> crate::home::Answer {
    let path = format!("/v1/route/examples/{example}/{word}");
    api.call("POST", &path, &[], Vec::new())
}

/// The kind of a query's verdict, and its best candidate.
fn routed(api: &Api, text: &str) -> (String, Option<String>) {
    let path = format!("/v1/route?query={}", text.replace(' ', "+"));
    let verdict = api.get(&path).expect(200);
    let best = verdict["candidates"][0]["id"].as_str().map(str::to_owned);
    (verdict["kind"].as_str().unwrap().to_owned(), best)
}

/// The playbook with another example, so that its trigger condition is no near-duplicate.
fn purge_otherwise(service: &Service) -> Package {
    purge(service).edit(
        PLAYBOOK_FILE,
        "examples: [purge the vault for good]",
        "examples: [make room in the strongroom]",
    )
}

/// A thumb's example is suggested, accepted, used by the router and withdrawn, and never affects another tenant.
#[test]
fn a_confirmed_sentence_routes_its_tenant_once_an_owner_accepts_it() {
    let server = Tenants::with_keys(&KEYS);
    let [owner, asker, rival] = ["owner", "asker", "rival"].map(|key| server.key(key));
    for api in [&owner, &rival] {
        api.register(&alike());
    }
    let request = asked(&asker, ALIKE[1], PARAPHRASE);
    // An uncorrected answer suggests nothing.
    assert_eq!(examples(&owner, ""), json!([]));
    let path = format!("/v1/requests/{request}/confirm");
    rival.post(&path, &json!({})).fails(404, "not_found");
    let confirmed_so = confirmed(&asker, &request);
    assert_eq!(confirmed_so["document"], ALIKE[1], "{confirmed_so:#}");
    let example = confirmed_so["example_id"].as_str().unwrap();
    assert_eq!(
        confirmed(&asker, &request)["not_suggested_reason"],
        "near_duplicate"
    );

    let listed = examples(&owner, "?status=suggested");
    assert_eq!(ids(&listed, "example_id"), [example]);
    assert_eq!(listed[0]["text"], PARAPHRASE);
    assert_eq!(
        (&listed[0]["source"], &listed[0]["request_id"]),
        (&json!("thumb"), &json!(request))
    );
    asker
        .get("/v1/route/examples")
        .fails(403, "permission_denied");
    assert_eq!(examples(&rival, ""), json!([]));
    assert_ne!(routed(&owner, PARAPHRASE).0, "narrow");

    decide(&rival, example, "accept").fails(404, "not_found");
    decide(&asker, example, "accept").fails(403, "permission_denied");
    let accepted = decide(&owner, example, "accept").expect(200);
    assert_eq!(
        (&accepted["status"], &accepted["decided_by"]),
        (&json!("accepted"), &json!("olga"))
    );
    let narrow = ("narrow".to_owned(), Some(ALIKE[1].to_owned()));
    assert_eq!(routed(&owner, PARAPHRASE), narrow);
    assert_eq!(routed(&asker, PARAPHRASE), narrow);
    assert_ne!(routed(&rival, PARAPHRASE).0, "narrow");
    decide(&owner, example, "accept").fails(409, "illegal_transition");
    decide(&owner, example, "reject").fails(409, "illegal_transition");

    decide(&owner, example, "withdraw").expect(200);
    assert_ne!(routed(&owner, PARAPHRASE).0, "narrow");
    let events = owner.get("/v1/events?topic=route_example").expect(200);
    assert_eq!(
        ids(&events["entries"], "topic"),
        ["route_example.accepted", "route_example.withdrawn"]
    );
}

/// Redaction happens before storage.
#[test]
fn a_suggested_sentence_has_no_values_and_names() {
    let server = Tenants::one();
    server.api.register(&alike());
    let said = "how many cartridge units did Jane Doe put into rack R-7741 at jane@example.org";
    let request = asked(&server.api, ALIKE[0], said);
    assert!(confirmed(&server.api, &request)["example_id"].is_string());
    let listed = examples(&server.api, &format!("?document={}", ALIKE[0]));
    let text = listed[0]["text"].as_str().unwrap();
    assert!(text.contains("cartridge units"), "{text}");
    for gone in ["Jane", "Doe", "7741", "example.org"] {
        assert!(!text.contains(gone), "{text}");
    }
}

/// A request without a skill or playbook cannot be confirmed.
#[test]
fn an_answer_of_no_document_is_not_confirmed() {
    let server = Tenants::one();
    server.api.register(&backups());
    let small_talk = request("thanks a lot!");
    server.api.ask(&small_talk).expect(200);
    let path = format!(
        "/v1/requests/{}/confirm",
        small_talk["id"].as_str().unwrap()
    );
    server
        .api
        .post(&path, &json!({}))
        .fails(409, "illegal_transition");
    let request = asked(&server.api, SKILL, QUESTION);
    let path = format!("/v1/requests/{request}/confirm");
    let other = json!({"document": ALIKE[0]});
    server.api.post(&path, &other).fails(400, "invalid_request");
    assert_eq!(examples(&server.api, ""), json!([]));
}

/// The clarified sentence becomes an example of the chosen option; the reply with the choice does not.
#[test]
fn a_chosen_option_gets_the_sentence_of_the_turn_before() {
    let server = Tenants::one();
    server.api.register(&different_things());
    let session = server.api.post("/v1/sessions", &json!({})).expect(201)["session_id"].clone();
    let ask = |text: &str| {
        let mut asked = request(text);
        asked["session_id"] = session.clone();
        let answer = server.api.ask(&asked).expect(200);
        (asked["id"].clone(), answer["metadata"].clone())
    };
    let (first, metadata) = ask("count the tape drives");
    let options = ids(&metadata["clarification"]["options"], "id");
    ask("the second one");
    let listed = examples(&server.api, "");
    assert_eq!(ids(&listed, "document"), [options[1].as_str()]);
    assert_eq!(
        (
            &listed[0]["text"],
            &listed[0]["source"],
            &listed[0]["request_id"]
        ),
        (
            &json!("count the tape drives"),
            &json!("chosen_option"),
            &first
        )
    );
}

/// The sentence of a change is suggested once its plan is confirmed.
#[test]
fn a_confirmed_plan_confirms_its_sentence() {
    let server = Tenants::one();
    let service = Service::start();
    server.api.register(&purge_otherwise(&service));
    let mut asked = request("purge the vault for good");
    asked["metadata"] = json!({"parameters": {"vault": "main"}});
    let answer = server.api.ask(&asked).expect(200);
    let metadata = &answer["metadata"];
    assert_eq!(metadata["status"], "awaiting_confirmation", "{answer:#}");
    assert_eq!(examples(&server.api, ""), json!([]));
    let run = metadata["run_ids"][0].as_str().unwrap();
    let run = server.api.get(&format!("/v1/runs/{run}")).expect(200);
    confirm_run(&server.api, &run).expect(200);
    let listed = examples(&server.api, "");
    assert_eq!(
        (&listed[0]["document"], &listed[0]["source"]),
        (&json!(PLAYBOOK), &json!("executed_offer")),
        "{listed:#}"
    );
    assert_eq!(listed[0]["text"], "purge the vault for good");
}

/// Starting an offered playbook confirms the sentence that asked for it. An offer of findings confirms nothing.
#[test]
fn a_started_offer_confirms_its_own_sentence_and_not_the_question_behind_findings() {
    let server = Tenants::one();
    let service = Service::start();
    let package = triggered_by_findings(purge_otherwise(&service));
    server.api.register(&package);
    let begin = |text: &str| {
        let asked = request(text);
        let answer = server.api.ask(&asked).expect(200);
        let offers = &answer["metadata"]["offers"];
        assert_eq!(offers[0]["playbook_id"], PLAYBOOK, "{answer:#}");
        let path = format!("/v1/playbooks/{PLAYBOOK}/runs");
        let order = json!({"parameters": {"vault": "main"}, "request_id": asked["id"]});
        server.api.post(&path, &order).expect(201);
    };
    begin(QUESTION);
    assert_eq!(examples(&server.api, ""), json!([]));
    begin("purge the vault for good next week");
    let listed = examples(&server.api, "");
    assert_eq!(ids(&listed, "document"), [PLAYBOOK]);
    assert_eq!(listed[0]["source"], "executed_offer");
}
