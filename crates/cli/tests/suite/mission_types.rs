//! Mission types and prompt templates as documents of packages: checked at registration, listed, fetched, overlaid by a
//! tenant, and kept while other documents refer to them.

use serde_json::{Value, json};

use crate::guides::Reader;
use crate::home::{Api, Home, ids};
use crate::packages::Package;
use crate::shared::Tenants;

const MISSION: &str = "sales.lead_brief";
const PROMPT: &str = "sales.lead_worker";
const MISSION_FILE: &str = "missions/lead_brief.yaml";
const PROMPT_FILE: &str = "prompts/lead_worker.yaml";

const KEYS: [(&str, &str, &str, &str); 3] = [
    ("root-key", "root", "root", "admin"),
    ("acme-key", "acme", "ann", "operator"),
    ("umbra-key", "umbra", "uma", "operator"),
];

const DOMAIN: &str = "domain_id: sales\ndisplay_name: Sales\ndomain_type: domain\n";

const LEAD_WORKER: &str = "prompt_id: sales.lead_worker
domain: sales
title: Lead worker
role_type: worker
system_prompt: You are a lead intelligence specialist.
task_prompt: 'Analyse the leads for this: ${objective}'
model_route: tier_high_reasoning
";

const LEAD_BRIEF: &str = "mission_type: sales.lead_brief
domain: sales
title: Lead brief
description: Which leads deserve attention now, and why.
sensitivity_class: internal_business
token_budget: 180000
resource_families:
  crm.leads:
    description: Leads with stage and score.
    tools: [crm.search_leads, crm.get_lead]
    lenses: [sales.handbook]
prompts:
  worker: sales.lead_worker
outline:
  - task_id: rank
    role_type: worker
    objective: 'Rank the leads for: ${goal}'
    allowed_tools: [crm.search_leads]
    required_data_scopes: [crm.leads]
write_backs:
  - action_type: lead_stage_update
    target_entity_type: lead
    description: Moves a lead to another stage.
    by: {tool: crm.update_lead}
    parameters: {lead: '${target_entity_id}', stage: '${payload.stage}'}
    target: {tool: crm.get_lead, parameters: {lead: '${target_entity_id}'}}
  - action_type: lead_follow_up
    target_entity_type: lead
    description: Has somebody call the lead.
    by: {playbook: sales.follow_up}
    parameters: {lead: '${target_entity_id}'}
";

const FOLLOW_UP: &str = "playbook_id: sales.follow_up
name: Follow up
domain: sales
trigger_conditions: [somebody is to call a lead]
mandatory_parameters: [{name: lead, type: string}]
steps:
  - {step_id: plan, type: write, tool_id: crm.update_lead, parameters: {lead: '${user.lead}', stage: call}}
safety: {safety_class: supervised}
";

const HANDBOOK: &str = "lens_id: sales.handbook
domain: sales
title: Handbook of sales
description: How leads are judged.
content_type: reference
source: {type: file, ref: sources/handbook.md}
";

fn tool(name: &str, class: &str, parameters: &str) -> String {
    format!(
        "tool_id: crm.{name}\nname: {name}\nprovider: crm\ntool_class: {class}\ndomain: sales\n\
         description: Works with leads.\nlanguage: http\nparameters: [{parameters}]\n\
         implementation: {{type: http, method: POST, url: 'https://crm.example.com/{name}'}}\n"
    )
}

/// The documents of missions about leads, without the mission type.
fn crm(scope: &str) -> Package {
    let lead = "{name: lead, type: string, required: true}";
    let stage = "{name: stage, type: string}";
    Package::new("crm", "1.0.0", scope)
        .with("domains/sales.yaml", DOMAIN)
        .with(
            "tools/search_leads.yaml",
            &tool("search_leads", "readonly", ""),
        )
        .with("tools/get_lead.yaml", &tool("get_lead", "readonly", lead))
        .with(
            "tools/update_lead.yaml",
            &tool("update_lead", "write", &format!("{lead}, {stage}")),
        )
        .with("playbooks/follow_up.yaml", FOLLOW_UP)
        .with("lenses/handbook.yaml", HANDBOOK)
        .with("sources/handbook.md", "# Handbook\n\nCall within a day.\n")
        .with(PROMPT_FILE, LEAD_WORKER)
}

/// The same documents with the mission type.
fn leads(scope: &str) -> Package {
    crm(scope).with(MISSION_FILE, LEAD_BRIEF)
}

fn mission_type(api: &Api) -> Value {
    api.get(&format!("/v1/resolve/mission_type/{MISSION}"))
        .expect(200)
}

fn prompt(api: &Api) -> Value {
    api.get(&format!("/v1/resolve/prompt_template/{PROMPT}"))
        .expect(200)
}

fn delete(api: &Api, package: &str) -> crate::home::Answer {
    let path = format!("/v1/packages/{package}");
    api.call("DELETE", &path, &[], Vec::new())
}

/// `file:line keyword` of every problem, and the message of the first.
fn refused(api: &Api, package: &Package) -> (Vec<String>, String) {
    let answer = api.post("/v1/packages", &package.bundle());
    assert_eq!(answer.status, 400, "{:#}", answer.body);
    let problems = answer.body["technical_details"]["problems"].clone();
    let place = |p: &Value| {
        let [file, keyword] = ["file", "keyword"].map(|field| p[field].as_str().unwrap());
        format!("{file}:{} {keyword}", p["line"])
    };
    let places = problems.as_array().unwrap().iter().map(place).collect();
    let message = problems[0]["message"].as_str().unwrap().to_owned();
    (places, message)
}

/// B000-6, B000-7: like every kind, over REST and by the commands; none of them is routed to or embedded.
#[test]
fn b000_7_mission_types_and_prompts_are_registered_listed_and_fetched() {
    let home = Home::new();
    let server = home.serve();
    server.api.register(&crm("tenant"));
    let briefs = Package::new("briefs", "1.0.0", "tenant").with(MISSION_FILE, LEAD_BRIEF);
    assert_eq!(server.api.register(&briefs)["embedded"], 0);
    assert_eq!(server.api.brought("mission_type"), [MISSION]);
    assert_eq!(server.api.brought("prompt_template"), [PROMPT]);
    let found = mission_type(&server.api);
    let document = &found["document"];
    assert_eq!(document["token_budget"], 180_000);
    assert_eq!(document["risk_level"], "medium");
    assert_eq!(
        document["write_backs"][0]["by"],
        json!({"tool": "crm.update_lead"})
    );
    assert_eq!(document["write_backs"][1]["requires_approval"], true);
    assert_eq!(
        (
            &found["package"],
            &found["package_version"],
            &found["layer"]
        ),
        (&json!("briefs"), &json!("1.0.0"), &json!("tenant"))
    );
    assert_eq!(prompt(&server.api)["document"]["role_type"], "worker");
    let routed = server
        .api
        .routed("lead brief: which leads deserve attention now");
    assert!(!routed.contains(&MISSION.to_owned()), "{routed:?}");
    assert!(!routed.contains(&PROMPT.to_owned()), "{routed:?}");

    let shown = |arguments: &[&str]| {
        let arguments = [arguments, &["--output", "json"]].concat();
        home.run(&arguments).json(0)
    };
    let listed = shown(&["list", "mission_type"]);
    assert_eq!(ids(&listed["entries"], "id"), [MISSION]);
    assert_eq!(listed["entries"][0]["domain"], "sales");
    let listed = shown(&["list", "prompt_template"]);
    assert_eq!(ids(&listed["entries"], "id"), [PROMPT]);
    assert_eq!(shown(&["resolve", "mission-type", MISSION]), found);
    assert_eq!(
        shown(&["resolve", "prompt-template", PROMPT]),
        prompt(&server.api)
    );
    for path in ["mission_type", "prompt_template"] {
        let gone = server.api.get(&format!("/v1/resolve/{path}/sales.gone"));
        gone.fails(404, "not_found");
    }
}

/// B000-1
#[test]
fn b000_1_a_tenants_mission_type_and_prompt_are_over_the_global_ones() {
    let home = Home::with_keys(&KEYS);
    let server = home.serve();
    let [root, acme, umbra] = KEYS.map(|(key, ..)| server.key(key));
    root.register(&leads("global"));
    let own = Package::new("own", "1.0.0", "tenant")
        .with(
            MISSION_FILE,
            &LEAD_BRIEF.replace("title: Lead brief", "title: Acme's own"),
        )
        .with(
            PROMPT_FILE,
            &LEAD_WORKER.replace("title: Lead worker", "title: Acme's own"),
        );
    acme.register(&own);
    let seen = |found: Value| json!([found["document"]["title"], found["layer"]]);
    for found in [mission_type(&acme), prompt(&acme)] {
        assert_eq!(seen(found), json!(["Acme's own", "tenant_over_global"]));
    }
    assert_eq!(seen(mission_type(&umbra)), json!(["Lead brief", "global"]));
    assert_eq!(seen(prompt(&umbra)), json!(["Lead worker", "global"]));
    assert_eq!(acme.brought("mission_type"), [MISSION], "it stands once");
    delete(&acme, "own").expect(204);
    assert_eq!(seen(mission_type(&acme)), json!(["Lead brief", "global"]));
}

/// B000-1: a tenant may refer to global documents, but not to another tenant's.
#[test]
fn b000_1_another_tenants_mission_types_and_prompts_are_not_there() {
    let server = Tenants::with_keys(&KEYS);
    let [root, acme, umbra] = KEYS.map(|(key, ..)| server.key(key));
    acme.register(&leads("tenant"));
    for kind in ["mission_type", "prompt_template"] {
        assert_eq!(acme.brought(kind).len(), 1, "{kind}");
        assert_eq!(umbra.brought(kind), [""; 0], "{kind}");
        assert_eq!(root.brought(kind), [""; 0], "{kind}");
    }
    for path in [
        format!("/v1/resolve/mission_type/{MISSION}"),
        format!("/v1/resolve/prompt_template/{PROMPT}"),
    ] {
        acme.get(&path).expect(200);
        umbra.get(&path).fails(404, "not_found");
    }
    let foreign = Package::new("briefs", "1.0.0", "tenant").with(MISSION_FILE, LEAD_BRIEF);
    let (places, message) = refused(&umbra, &foreign);
    assert_eq!(places[0], format!("{MISSION_FILE}:2 reference"));
    assert_eq!(message, "there is no domain `sales`");
    let global = Package::new("briefs", "1.0.0", "global").with(MISSION_FILE, LEAD_BRIEF);
    let (places, _) = refused(&root, &global);
    assert_eq!(
        places.len(),
        8,
        "what is global leans on no tenant: {places:?}"
    );
}

/// B000-7: all invalid references are reported at once, with file and line, and nothing is written.
#[test]
fn b000_7_every_reference_that_leads_nowhere_is_refused_with_file_and_line() {
    let server = Tenants::one();
    let broken = leads("tenant")
        .edit(MISSION_FILE, "domain: sales", "domain: sails")
        .edit(MISSION_FILE, "crm.search_leads, crm", "crm.find_leads, crm")
        .edit(
            MISSION_FILE,
            "allowed_tools: [crm.search_leads]",
            "allowed_tools: []",
        )
        .edit(
            MISSION_FILE,
            "lenses: [sales.handbook]",
            "lenses: [sales.hand]",
        )
        .edit(
            MISSION_FILE,
            "worker: sales.lead_worker",
            "worker: sales.worker",
        )
        .edit(
            MISSION_FILE,
            "tool: crm.update_lead",
            "tool: crm.change_lead",
        )
        .edit(
            MISSION_FILE,
            "target: {tool: crm.get_lead",
            "target: {tool: crm.show_lead",
        )
        .edit(
            MISSION_FILE,
            "playbook: sales.follow_up",
            "playbook: sales.call",
        )
        .edit(PROMPT_FILE, "domain: sales", "domain: sails");
    let (places, message) = refused(&server.api, &broken);
    let wanted = [
        (MISSION_FILE, 2),
        (MISSION_FILE, 10),
        (MISSION_FILE, 11),
        (MISSION_FILE, 13),
        (MISSION_FILE, 24),
        (MISSION_FILE, 26),
        (MISSION_FILE, 30),
        (PROMPT_FILE, 2),
    ];
    let wanted = wanted.map(|(file, line)| format!("{file}:{line} reference"));
    assert_eq!(places, wanted);
    assert_eq!(message, "there is no domain `sails`");
    assert_eq!(server.api.brought("mission_type"), [""; 0]);
    assert_eq!(server.api.brought("prompt_template"), [""; 0]);
}

/// B000-7, B002-6: references to existing documents of the wrong kind.
#[test]
fn b000_7_what_does_not_fit_a_mission_is_refused_with_file_and_line() {
    let server = Tenants::one();
    let cases = [
        (
            "tools: [crm.search_leads, crm.get_lead]",
            "tools: [crm.search_leads, crm.get_lead, crm.update_lead]",
            "10 readonly",
            "a worker may only read; `crm.update_lead` is write",
        ),
        (
            "worker: sales.lead_worker",
            "reviewer: sales.lead_worker",
            "13 role_type",
            "the prompt template `sales.lead_worker` is for a worker",
        ),
        (
            "by: {tool: crm.update_lead}",
            "by: {tool: crm.get_lead}",
            "24 tool_class",
            "a write-back needs a write tool; `crm.get_lead` is readonly",
        ),
        (
            "target: {tool: crm.get_lead",
            "target: {tool: crm.update_lead",
            "26 readonly",
            "the tool that reads a target must be readonly; `crm.update_lead` is write",
        ),
        (
            "parameters: {lead: '${target_entity_id}', stage:",
            "parameters: {lead: '${target_entity_id}', phase:",
            "25 parameter",
            "the tool `crm.update_lead` has no parameter `phase`",
        ),
        (
            "    parameters: {lead: '${target_entity_id}'}\n",
            "    parameters: {}\n",
            "31 required",
            "the playbook `sales.follow_up` needs the parameter `lead`",
        ),
        (
            "${payload.stage}",
            "${user.stage}",
            "25 placeholder",
            "`${user.stage}` is not a placeholder here: use `${target_entity_id}`, `${payload.…}`",
        ),
        (
            "allowed_tools: [crm.search_leads]",
            "allowed_tools: [crm.update_lead]",
            "18 reference",
            "the tool `crm.update_lead` is not in any resource family",
        ),
        (
            "by: {playbook: sales.follow_up}",
            "by: {}",
            "30 exactly_one",
            "needs exactly one of `tool`, `playbook`, `webhook`",
        ),
    ];
    for (from, to, place, message) in cases {
        let (places, first) = refused(&server.api, &leads("tenant").edit(MISSION_FILE, from, to));
        let wanted = format!("{MISSION_FILE}:{place}");
        assert!(places.contains(&wanted), "{wanted} is not in {places:?}");
        assert_eq!(first, message);
    }
    server.api.register(&leads("tenant"));
}

/// B000-7: only Charter defines the stages of a mission.
#[test]
fn b000_7_a_package_brings_no_stage() {
    let server = Tenants::one();
    let stage = tool("search_leads", "internal", "")
        .replace("language: http", "language: builtin")
        .replace(
            "{type: http, method: POST, url: 'https://crm.example.com/search_leads'}",
            "{type: stage, stage: work}",
        );
    let staged = crm("tenant").with("tools/search_leads.yaml", &stage);
    let (places, message) = refused(&server.api, &staged);
    assert_eq!(places, ["tools/search_leads.yaml:9 builtin"]);
    assert_eq!(message, "a package cannot contain a mission stage");
}

/// B000-7
#[test]
fn b000_7_a_difference_is_shown_and_a_version_is_rolled_back() {
    let server = Tenants::one();
    server.api.register(&leads("tenant"));
    let before = (mission_type(&server.api), prompt(&server.api));
    let next = leads("tenant")
        .version("1.0.0", "1.1.0")
        .edit(MISSION_FILE, "token_budget: 180000", "token_budget: 90000")
        .edit(
            PROMPT_FILE,
            "a lead intelligence specialist",
            "a seller of houses",
        );
    let diff = server
        .api
        .post("/v1/packages/diff", &next.bundle())
        .expect(200);
    let change = |at: usize| {
        let change = &diff["changes"][at];
        json!([
            change["kind"],
            change["difference"],
            change["id"],
            change["fields"]
        ])
    };
    assert_eq!(
        [change(0), change(1)],
        [
            json!(["mission_type", "changed", MISSION, ["/token_budget"]]),
            json!(["prompt_template", "changed", PROMPT, ["/system_prompt"]]),
        ]
    );
    assert_eq!(server.api.register(&next)["embedded"], 0);
    assert_eq!(
        mission_type(&server.api)["document"]["token_budget"],
        90_000
    );
    server
        .api
        .post("/v1/packages/crm/rollback?version=1.0.0", &Value::Null)
        .expect(200);
    assert_eq!((mission_type(&server.api), prompt(&server.api)), before);
}

/// B000-7: documents that a mission type of another package refers to stay, and stay valid for it.
#[test]
fn b000_7_what_a_mission_type_refers_to_cannot_be_taken_away() {
    let server = Tenants::one();
    let api = &server.api;
    api.register(&crm("tenant"));
    let briefs = Package::new("briefs", "1.0.0", "tenant").with(MISSION_FILE, LEAD_BRIEF);
    api.register(&briefs);
    let kept = delete(api, "crm").fails(409, "still_referenced");
    for needed in [
        "the domain `sales`",
        "the tool `crm.search_leads`",
        "the tool `crm.update_lead`",
        "the domain_lens `sales.handbook`",
        "the playbook `sales.follow_up`",
        "the prompt_template `sales.lead_worker`",
    ] {
        let loss = format!("the mission_type `{MISSION}` of `briefs` needs {needed}");
        assert!(kept.contains(&loss), "{kept}");
    }
    let next = || crm("tenant").version("1.0.0", "1.1.0");
    let without = next().with(PROMPT_FILE, "[]");
    let (places, message) = refused(api, &without);
    assert_eq!(places, ["package.yaml:1 breaks"]);
    assert_eq!(
        message,
        "the mission_type `sales.lead_brief` of the package `briefs` needs the prompt_template `sales.lead_worker`, \
         which would be removed"
    );
    let reviewing = next().edit(PROMPT_FILE, "role_type: worker", "role_type: reviewer");
    let (places, message) = refused(api, &reviewing);
    assert_eq!(places, ["package.yaml:1 breaks"]);
    assert_eq!(
        message,
        "the mission_type `sales.lead_brief` of the package `briefs` would become invalid: the prompt template \
         `sales.lead_worker` is for a reviewer"
    );
    assert_eq!(prompt(api)["package_version"], "1.0.0");
    for package in ["briefs", "crm"] {
        delete(api, package).expect(204);
    }
    assert_eq!(api.brought("prompt_template"), [""; 0]);
}

/// The page about mission types contains an example that registers unchanged.
#[test]
fn the_page_about_mission_types_does_what_it_says() {
    let commands = Reader::new().follows("docs/reference/mission-types.md");
    assert!(commands > 5);
}
