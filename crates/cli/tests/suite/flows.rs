//! Guardrails, templates and tiers in every flow of a request (seed 000 §2.10).

use serde_json::{Value, json};

use crate::candidates::{READ, with_kitchen};
use crate::home::{Api, eventually, ids, request, request_of};
use crate::lenses::lens;
use crate::packages::{
    Package, QUESTION, SKILL, SKILL_FILE, TEMPLATE_FILE, backups, guardrail, skill, template,
};
use crate::playbooks::{PLAYBOOK, confirm, purge, settled};
use crate::service::Service;
use crate::shared::Tenants;

/// The flows that these packages answer without a person.
const FLOWS: [&str; 7] = [
    "skill",
    "read_broad",
    "rag_search",
    "knowledge",
    "code_gen_read",
    "code_gen_write",
    "code_gen_direct",
];

const CHANGE: &str = "Flush the boiler of the coffee machine";

const HANDBOOK: &str = "# Locks\n\nEvery lock of the north gate is changed in spring.\n";

/// A package with something for each of [`FLOWS`].
fn of_every_flow(service: &Service) -> Package {
    let mut package = with_kitchen(backups(), service)
        .with(
            "lenses/handbook.yaml",
            &lens("security.handbook", "file", "sources/handbook.md"),
        )
        .with("sources/handbook.md", HANDBOOK);
    for name in ["alpha", "beta", "gamma"] {
        let twin = skill(&format!("reliability.{name}"), "count the tape drives");
        package = package.with(&format!("skills/{name}.yaml"), &twin);
    }
    package
}

/// A request that takes a flow.
fn asked(flow: &str) -> Value {
    let of = |text: &str, metadata: Value| {
        let mut asked = request(text);
        asked["metadata"] = metadata;
        asked
    };
    match flow {
        "skill" => request_of(SKILL, json!({})),
        "read_broad" => of("count the tape drives", json!({})),
        "code_gen_read" => of(READ, json!({})),
        "code_gen_write" => of(CHANGE, json!({})),
        "code_gen_direct" => of(READ, json!({"flow": flow})),
        flow => of("when are the locks changed", json!({"flow": flow})),
    }
}

/// The package with a guardrail on everything for each flow.
fn with_rules(package: Package, enforcement: &str) -> Package {
    FLOWS.iter().fold(package, |package, flow| {
        let when = format!("when: 'flow == \"{flow}\"'");
        let rule = guardrail(&format!("on.{flow}"), "global", "*", enforcement, &when);
        package.with(&format!("guardrails/{flow}.yaml"), &rule)
    })
}

fn message(flow: &str) -> String {
    format!("on.{flow}: The message of on.{flow}.")
}

/// B000-21, B000-13: a warning about a flow is in its answers only.
#[test]
fn b000_21_a_soft_warning_about_a_flow_is_in_its_answer() {
    let (server, service) = (Tenants::one(), Service::start());
    let package = with_rules(of_every_flow(&service), "soft_warn");
    server.api.register(&package);
    for flow in FLOWS {
        let answer = server.api.ask(&asked(flow)).expect(200);
        let metadata = &answer["metadata"];
        assert_eq!(metadata["flow"], flow, "{answer:#}");
        assert_eq!(metadata["warnings"], json!([message(flow)]), "{answer:#}");
        let content = answer["content"].as_str().unwrap();
        let warning = format!("\n\nWarning: {}", message(flow));
        assert!(content.ends_with(&warning), "{content}");
    }
}

/// B000-21, B000-13: a warning about a change is in its plan and in its result. So is a notice that a result leaves no
/// evidence (B000-19).
#[test]
fn b000_21_a_soft_warning_about_a_change_is_in_its_plan_and_in_its_result() {
    let (server, service) = (Tenants::one(), Service::start());
    let of = |id: &str, when: &str| guardrail(id, "global", "*", "soft_warn", when);
    let main = "when: 'flow == \"write\" && parameters.vault == \"main\"'";
    let other = "when: 'flow == \"write\" && parameters.vault == \"other\"'";
    let package = purge(&service)
        .edit("tools/purge.yaml", "provider: aws", "provider: vaults")
        .with("guardrails/write.yaml", &of("on.write", main))
        .with("guardrails/other.yaml", &of("on.other", other));
    server.api.register(&package);
    let expected = [
        message("write"),
        "the result of `vault.purge` leaves no evidence: declare `evidence` with a `console` in the tool, or set \
         `a2a.public_url` to an https address"
            .to_owned(),
    ];
    let check = |answer: &Value| {
        assert_eq!(
            answer["metadata"]["warnings"],
            json!(expected),
            "{answer:#}"
        );
        let content = answer["content"].as_str().unwrap();
        let end = expected.iter().map(|one| format!("\n\nWarning: {one}"));
        assert!(content.ends_with(&end.collect::<String>()), "{content}");
    };
    let mut asked = request("purge the vault for good");
    asked["metadata"] = json!({"parameters": {"vault": "main"}});
    let plan = server.api.ask(&asked).expect(200);
    let metadata = &plan["metadata"];
    assert_eq!(metadata["status"], "awaiting_confirmation", "{plan:#}");
    check(&plan);
    let run = json!({"run_id": metadata["run_ids"][0], "plan_digest": metadata["plan_digest"]});
    confirm(&server.api, &run).expect(200);
    service.next().answer();
    settled(&server.api, &run, "completed");
    let path = format!("/v1/requests/{}", asked["id"].as_str().unwrap());
    let result = eventually("the result", || {
        let shown = server.api.get(&path).expect(200);
        (!shown["result"].is_null()).then(|| shown["result"].clone())
    });
    check(&result);
}

/// B000-21, B000-13: the user gets a block's message instead of the answer, and nothing is made.
#[test]
fn b000_21_a_hard_block_of_a_flow_gives_its_message_instead_of_the_answer() {
    let (server, service) = (Tenants::one(), Service::start());
    let package = with_rules(of_every_flow(&service), "hard_block");
    server.api.register(&package);
    let known = server.api.brought("skill");
    for flow in FLOWS {
        let refused = server.api.ask(&asked(flow));
        assert_eq!(refused.fails(403, "guardrail_blocked"), message(flow));
    }
    assert_eq!(server.api.brought("skill"), known, "no candidate is kept");
    assert_eq!(server.api.brought("playbook"), [""; 0]);
    // A write is gated before each call.
    let change = guardrail(
        "on.write",
        "skill",
        PLAYBOOK,
        "hard_block",
        "when: 'flow == \"write\" && domain == \"reliability\"'",
    );
    let (server, service) = (Tenants::one(), Service::start());
    server
        .api
        .register(&purge(&service).with("guardrails/write.yaml", &change));
    let call =
        json!({"tool": "vault.purge", "parameters": {"vault": "main"}, "playbook": PLAYBOOK});
    let explained = server.api.post("/v1/gate/explain", &call).expect(200);
    assert_eq!(explained["verdict"], "deny", "{explained:#}");
    assert!(!service.was_called());
}

/// B000-21: guardrails apply by the domain of the quoted source, the persona and the tier.
#[test]
fn b000_21_an_answer_is_judged_by_its_domain_its_persona_and_its_tier() {
    let (server, service) = (Tenants::one(), Service::start());
    let of = |id: &str, domain: &str, rest: &str| {
        guardrail(id, "domain", domain, "soft_warn", rest)
            .replace("domain: reliability", &format!("domain: {domain}"))
    };
    let package = of_every_flow(&service)
        .with(
            "guardrails/a.yaml",
            &of("a.domain", "security", "when: 'true'"),
        )
        .with(
            "guardrails/b.yaml",
            &of("b.other", "reliability", "when: 'true'"),
        )
        .with(
            "guardrails/c.yaml",
            &of(
                "c.audit",
                "security",
                "personas: [auditor]\nwhen: 'persona == \"auditor\"'",
            ),
        )
        .with(
            "guardrails/d.yaml",
            &of("d.writes", "security", "personas: [auditor]"),
        )
        .with(
            "guardrails/e.yaml",
            &of("e.calls", "security", "when: 'tool.provider == \"aws\"'"),
        );
    server.api.register(&package);
    let warned = |persona: Option<&str>| {
        let mut asked = asked("knowledge");
        if let Some(persona) = persona {
            asked["metadata"]["persona"] = json!(persona);
        }
        let answer = server.api.ask(&asked).expect(200);
        let warnings = answer["metadata"]["warnings"].as_array().unwrap().iter();
        let ids = warnings.map(|warning| warning.as_str().unwrap().split(':').next().unwrap());
        ids.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(warned(None), ["a.domain"]);
    assert_eq!(warned(Some("auditor")), ["c.audit", "a.domain"]);
    let found = |query: &str| {
        let path = format!("/v1/resolve/guardrails?domain=security{query}");
        ids(&server.api.get(&path).expect(200), "document.guardrail_id")
    };
    assert_eq!(found(""), ["a.domain", "e.calls"]);
    assert_eq!(
        found("&persona=auditor"),
        ["c.audit", "d.writes", "a.domain", "e.calls"]
    );
}

/// A template of the answers of a flow.
fn of_answers(id: &str, flow: &str, rest: &str) -> String {
    format!(
        "template_id: {id}\noutput_type: {flow}\n{rest}\nstructure:\n  title: \"{id} on {{{{question}}}}\"\n  \
         summary: \"{{{{answer}}}}\"\nrendering_hints: {{color: red}}\n"
    )
}

/// B000-21: an answer without findings is rendered by the template of its flow.
#[test]
fn b000_21_answers_without_a_call_have_the_shape_of_their_template() {
    let (server, service) = (Tenants::one(), Service::start());
    let flows = FLOWS
        .iter()
        .filter(|flow| flow.contains('_') || **flow == "knowledge");
    let flows: Vec<&str> = flows
        .copied()
        .filter(|flow| *flow != "read_broad")
        .collect();
    let package = flows.iter().fold(of_every_flow(&service), |package, flow| {
        let text = of_answers(&format!("t.{flow}"), flow, "");
        package.with(&format!("templates/{flow}.yaml"), &text)
    });
    server.api.register(&package);
    for flow in flows {
        let asked = asked(flow);
        let answer = server.api.ask(&asked).expect(200);
        let metadata = &answer["metadata"];
        let title = format!("t.{flow} on {}", asked["input"].as_str().unwrap());
        assert_eq!(metadata["template_id"], format!("t.{flow}"), "{answer:#}");
        assert_eq!(metadata["rendered"]["title"], title);
        assert_eq!(metadata["rendering_hints"], json!({"color": "red"}));
        let content = answer["content"].as_str().unwrap();
        let summary = metadata["rendered"]["summary"].as_str().unwrap();
        assert_eq!(content, format!("{title}\n\n{summary}"));
        // The repeated request is answered from the record.
        assert_eq!(server.api.ask(&asked).expect(200), answer);
    }
}

/// B000-21, B000-23: the persona's template before the general one, and none above the tier; for findings and answers.
#[test]
fn b000_21_templates_are_chosen_for_the_persona_and_the_tier() {
    let (server, service) = (Tenants::one(), Service::start());
    let own = |id: &str, rest: &str| template(id, &format!("skill_id: {SKILL}\n{rest}"));
    let package = of_every_flow(&service)
        .with(
            "templates/audit.yaml",
            &own("z.audit", "personas: [auditor]"),
        )
        .with("templates/all.yaml", &of_answers("k.all", "knowledge", ""))
        .with(
            "templates/high.yaml",
            &of_answers(
                "k.high",
                "knowledge",
                "domain: security\npersonas: [auditor]",
            ),
        )
        .edit(
            TEMPLATE_FILE,
            "output_type: finding",
            "output_type: finding\ntier: advanced",
        )
        .with(
            "templates/low.yaml",
            &template("a.low", "domain: reliability"),
        );
    server.api.register(&package);
    let resolved = |query: &str| {
        let path = format!("/v1/resolve/template?output_type=finding&skill_id={SKILL}{query}");
        let found = server.api.get(&path).expect(200);
        found["document"]["template_id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(resolved(""), "reliability.stale_backup");
    assert_eq!(resolved("&persona=auditor"), "z.audit");
    let title = |persona: &str, tier: &str| {
        let mut asked = request_of(SKILL, json!({}));
        asked["metadata"]["persona"] = json!(persona);
        asked["metadata"]["tier"] = json!(tier);
        let answer = server.api.ask(&asked).expect(200);
        answer["metadata"]["findings"][0]["rendered"]["title"].clone()
    };
    assert_eq!(title("operator", "advanced"), "Stale backup b-1");
    assert_eq!(title("operator", "basic"), "b-1", "the domain's");
    assert_eq!(title("auditor", "basic"), "b-1");
    let of_knowledge = |persona: &str| {
        let mut asked = asked("knowledge");
        asked["metadata"]["persona"] = json!(persona);
        let answer = server.api.ask(&asked).expect(200);
        answer["metadata"]["template_id"].clone()
    };
    assert_eq!(of_knowledge("operator"), "k.all");
    assert_eq!(of_knowledge("auditor"), "k.high");
}

/// A tenant with a skill and a playbook of the advanced tier, and its caller on the basic one.
fn tiers(service: &Service) -> (Tenants, Api) {
    let server = Tenants::one();
    let package = purge(service)
        .edit(
            SKILL_FILE,
            "domain: reliability",
            "domain: reliability\ntier: advanced",
        )
        .edit(
            "playbooks/purge.yaml",
            "domain: reliability",
            "domain: reliability\ntier: advanced",
        );
    server.api.register(&package);
    let order = json!({"name": "basic", "role": "operator"});
    let made = server.api.post("/v1/keys", &order).expect(201);
    let basic = server.api.with_key(made["secret"].as_str().unwrap());
    (server, basic)
}

/// B000-23: documents above the tier are not ranked or listed, and are refused by name.
#[test]
fn b000_23_skills_and_playbooks_above_the_tier_are_not_there() {
    let service = Service::start();
    let (server, basic) = tiers(&service);
    let change = "purge the vault for good";
    for (text, id) in [(QUESTION, SKILL), (change, PLAYBOOK)] {
        let text = text.trim_end_matches('?');
        assert_eq!(server.api.routed(text)[0], id);
        assert_eq!(basic.routed(text), [""; 0]);
    }
    let verdict = |api: &Api, tier: &str| {
        let mut asked = request(QUESTION);
        asked["metadata"] = json!({"tier": tier});
        let status = api.ask(&asked).status;
        let path = format!("/v1/requests/{}", asked["id"].as_str().unwrap());
        let kind = api.get(&path).expect(200)["verdict"]["verdict"]["kind"].clone();
        (status == 200, kind)
    };
    assert_eq!(verdict(&server.api, "advanced"), (true, json!("narrow")));
    // A request for a lower tier gets less.
    assert_eq!(verdict(&server.api, "basic").1, "miss");
    assert_eq!(verdict(&basic, "basic").1, "miss");
    let refusal = |what: &str, id: &str| {
        format!("the {what} `{id}` needs the tier advanced, but the request has the tier basic")
    };
    let named = basic.ask(&request_of(SKILL, json!({})));
    assert_eq!(
        named.fails(403, "permission_denied"),
        refusal("skill", SKILL)
    );
    let shown = basic.get(&format!("/v1/resolve/skill/{SKILL}"));
    assert_eq!(
        shown.fails(403, "permission_denied"),
        refusal("skill", SKILL)
    );
    let started = basic.post(
        &format!("/v1/playbooks/{PLAYBOOK}/runs"),
        &json!({"parameters": {"vault": "main"}}),
    );
    assert_eq!(
        started.fails(403, "permission_denied"),
        refusal("playbook", PLAYBOOK)
    );
    server.api.ask(&request_of(SKILL, json!({}))).expect(200);
}

/// B000-23: an agent's supported tiers limit its skills.
#[test]
fn b000_23_an_agents_tiers_bound_what_is_routed_to() {
    let server = Tenants::one();
    let order = json!({"name": "basic", "role": "operator"});
    let made = server.api.post("/v1/keys", &order).expect(201);
    let basic = server.api.with_key(made["secret"].as_str().unwrap());
    let support = |tiers: &str, version: &str| {
        backups()
            .edit(
                crate::packages::AGENT_FILE,
                "domain: reliability",
                &format!("domain: reliability\ntier_support: {tiers}"),
            )
            .version("1.0.0", version)
    };
    let text = QUESTION.trim_end_matches('?');
    for (tiers, version, reached) in [
        ("[basic]", "1.0.0", [true, true]),
        ("[advanced]", "1.0.1", [false, true]),
        ("[basic, advanced]", "1.0.2", [true, true]),
    ] {
        server.api.register(&support(tiers, version));
        let found = [&basic, &server.api].map(|api| api.routed(text) == [SKILL]);
        assert_eq!(found, reached, "{tiers}");
    }
}

/// A misspelled query parameter does not count as absent.
#[test]
fn unknown_query_parameters_are_refused_with_what_may_be_meant() {
    let server = Tenants::one();
    server.api.register(&backups());
    let refused = server
        .api
        .get(&format!("/v1/resolve/guardrails?skill={SKILL}"))
        .fails(400, "invalid_request");
    assert!(refused.contains("did you mean `skill_id`?"), "{refused}");
    for path in [
        "/v1/caller?all=true",
        "/v1/route?query=x&topk=3",
        "/v1/packages?draft=true",
        "/v1/resolve/skill/x?tier=basic",
    ] {
        server.api.get(path).fails(400, "invalid_request");
    }
}

/// An unknown id is refused: an empty list would look like an id without guardrails.
#[test]
fn unknown_subjects_are_refused_with_what_may_be_meant() {
    let server = Tenants::one();
    server.api.register(&backups());
    let near = format!("{SKILL}s");
    let both = [
        "/v1/resolve/guardrails?",
        "/v1/resolve/template?output_type=finding&",
    ];
    for path in both {
        let said = |query: &str| {
            let answer = server.api.get(&format!("{path}{query}"));
            answer.fails(404, "not_found")
        };
        assert_eq!(
            said(&format!("skill_id={near}")),
            format!("there is no skill or playbook `{near}`; did you mean `{SKILL}`?")
        );
        assert_eq!(
            said(&format!("skill_id={SKILL}&domain=reliabilty")),
            "there is no domain `reliabilty`; did you mean `reliability`?"
        );
        assert_eq!(
            said("agent_id=domain.reliability.recoveri"),
            "there is no agent `domain.reliability.recoveri`; did you mean `domain.reliability.recovery`?"
        );
        let answer = server.api.get(&format!("{path}skill_id=q"));
        let known = answer.body["technical_details"]["known"].as_array();
        assert!(known.unwrap().contains(&json!(SKILL)), "{:#}", answer.body);
    }
}
