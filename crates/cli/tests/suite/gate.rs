//! Explanations of the gate's decisions on calls and in runs, and the policies in force: over HTTP and on the command
//! line.

use serde_json::{Value, json};

use crate::home::{Api, Home, Key, Ran, ids, request_of};
use crate::packages::{Package, SKILL, TOOL_FILE, backups, global_backups, guardrail};
use crate::playbooks::{KEYS, decide, path_of, purge, purge_tool, settled, waiting_run_on};
use crate::service::Service;
use crate::shared::Tenants;

const PLAYBOOK: &str = "reliability.purge_vault";
const READ: &str = "vault.list_backups";
const PURGE: &str = "vault.purge";
const PURGE_FILE: &str = "tools/purge.yaml";

/// Operators may read; changes need an approved call.
const POLICY: &str = r#"policy_id: vault.who
title: Who may use the vault
governs: ["vault.*"]
cedar: |
  @id("reads")
  permit (principal in Role::"operator", action in Action::"read", resource);
  @id("changes")
  permit (principal, action in Action::"write", resource) when { context.run.approved };
  @id("crown")
  @message("Nobody looks into the crown vault.")
  forbid (principal, action == Action::"vault.list_backups", resource)
  when { context.parameters.vault == "crown" };
"#;

/// [`KEYS`], and an admin of Acme who creates keys for commands.
const WITH_ROOT: [Key; 5] = [
    KEYS[0],
    KEYS[1],
    KEYS[2],
    KEYS[3],
    ("root", "acme", "root", "admin"),
];

/// Acme with the purging playbook and more files, on the shared server.
fn served(more: &[(&str, &str)]) -> (Tenants, Service) {
    let server = Tenants::with_keys(&WITH_ROOT);
    let service = Service::start();
    let package = more.iter().fold(purge(&service), |package, (path, text)| {
        package.with(path, text)
    });
    server.key("ann").register(&package);
    (server, service)
}

#[track_caller]
fn explained(api: &Api, asked: Value) -> Value {
    api.post("/v1/gate/explain", &asked).expect(200)
}

/// The purge of a vault as a step of its playbook.
fn purging(vault: &str) -> Value {
    json!({"tool": PURGE, "parameters": {"vault": vault}, "playbook": PLAYBOOK})
}

/// The only rule of a kind and id whose effect is not that it permits or does not apply; else the last of that kind and
/// id.
#[track_caller]
fn rule<'e>(explained: &'e Value, kind: &str, id: &str) -> &'e Value {
    let rules = explained["rules"].as_array().unwrap().iter();
    let mut of_id: Vec<&Value> = rules
        .filter(|rule| rule["kind"] == kind && rule["id"] == id)
        .collect();
    of_id.sort_by_key(|rule| rule["effect"] != "allow" && rule["effect"] != "not_applicable");
    of_id.pop().unwrap_or_else(|| panic!("{explained:#}"))
}

/// Runs a command against the server with this key, from a new home.
fn charter(base: &str, key: &str, arguments: &[&str]) -> Ran {
    let home = Home::new()
        .with("CHARTER_SERVER", base)
        .with("CHARTER_API_KEY", key);
    home.run_in_home(arguments)
}

/// Runs a command as one of the callers of [`served`], with a new key.
fn charter_as(server: &Tenants, caller: &str, arguments: &[&str]) -> Ran {
    let mut callers = KEYS.into_iter();
    let (_, _, user, role) = callers.find(|(key, ..)| *key == caller).unwrap();
    let order = json!({"name": "commands", "user": user, "role": role});
    let made = server.key("root").post("/v1/keys", &order).expect(201);
    charter(
        &server.api.base,
        made["secret"].as_str().unwrap(),
        arguments,
    )
}

/// Every rule is listed in the order of evaluation, and nothing is called.
#[test]
fn an_allowed_call_is_explained_rule_by_rule() {
    let (server, service) = served(&[]);
    let uma = server.key("uma");
    let found = explained(&uma, json!({"tool": READ, "parameters": {"vault": "main"}}));
    assert_eq!(found["verdict"], "allow", "{found:#}");
    assert_eq!(
        (&found["user"], &found["role"], &found["kind"]),
        (&json!("uma"), &json!("user"), &json!("execution_plan"))
    );
    let said = found["rules"].as_array().unwrap().iter();
    let said: Vec<Value> = said
        .map(|rule| json!([rule["kind"], rule["effect"], rule["phase"]]))
        .collect();
    let expected = json!([
        ["permission", "allow", "now"],
        ["permission", "allow", "now"],
        ["tool", "not_applicable", "now"],
        ["safety", "not_applicable", "now"],
        ["interrupted", "not_applicable", "now"],
        ["policy", "not_applicable", "now"],
        ["rate_limit", "not_applicable", "now"],
    ]);
    assert_eq!(json!(said), expected);
    let as_skill = json!({"tool": READ, "parameters": {"vault": "main"}, "skill": SKILL});
    let found = explained(&uma, as_skill);
    assert_eq!(
        (&found["subject"], &found["step"], &found["verdict"]),
        (&json!(SKILL), &json!("step_1"), &json!("allow"))
    );
    let shown = charter_as(
        &server,
        "uma",
        &[
            "gate",
            "explain",
            READ,
            "-p",
            "vault=main",
            "--skill",
            SKILL,
        ],
    );
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let head = format!("{READ} by uma (user) as the step step_1 of the skill {SKILL}: allow\n");
    assert!(shown.out.starts_with(&head), "{shown:?}");
    assert_eq!(uma.get("/v1/runs").expect(200)["entries"], json!([]));
    assert!(!service.was_called());
}

/// B000-12: an exception that applies, and the block where it does not; a run is refused by the same rule.
#[test]
fn b000_12_a_block_and_its_exception_are_explained() {
    let rest = "exceptions: [{condition: 'parameters.vault == \"scratch\"', allow: true}]";
    let block = guardrail("z.block", "skill", "reliability.*", "hard_block", rest);
    let (server, _service) = served(&[("guardrails/z.yaml", &block)]);
    let ann = server.key("ann");
    let refused = explained(&ann, purging("main"));
    assert_eq!(refused["verdict"], "deny");
    let found = rule(&refused, "guardrail", "z.block");
    assert_eq!(
        json!([
            found["effect"],
            found["reason"],
            found["message"],
            found["layer"],
            found["package"]
        ]),
        json!([
            "deny",
            "It applies to every write, and its exception does not hold.",
            "The message of z.block.",
            "tenant",
            "backups"
        ])
    );
    let asks = rule(&refused, "safety", PLAYBOOK);
    assert_eq!(
        (&asks["effect"], &asks["phase"]),
        (&json!("require_approval"), &json!("not_evaluated"))
    );
    let lifted = explained(&ann, purging("scratch"));
    assert_eq!(lifted["verdict"], "needs_approval");
    let found = rule(&lifted, "guardrail", "z.block");
    assert_eq!(
        json!([found["effect"], found["reason"]]),
        json!([
            "not_applicable",
            "Its exception `parameters.vault == \"scratch\"` holds."
        ])
    );
    let path = format!("/v1/playbooks/{PLAYBOOK}/runs");
    let run = ann.post(&path, &json!({"parameters": {"vault": "main"}}));
    let run = run.expect(201);
    settled(&ann, &run, "denied");
    let was = explained(&ann, json!({"run": run["run_id"], "step": "s1"}));
    let step = &was["steps"][0];
    assert_eq!(
        (&step["state"], &step["decisions"][0]["event"]),
        (&json!("failed"), &json!("step_refused"))
    );
    assert_eq!(
        step["decisions"][0]["policy_decision"], refused["decision"],
        "what would be is what was"
    );
}

/// Ruling 10: the playbook's class requires the approval, and the journal agrees with the explanation.
#[test]
fn ruling_10_an_approval_by_the_playbooks_class_is_explained() {
    let (server, service) = served(&[]);
    let ann = server.key("ann");
    let found = explained(&ann, purging("main"));
    assert_eq!(found["verdict"], "needs_approval");
    let safety = rule(&found, "safety", PLAYBOOK);
    assert_eq!(safety["effect"], "require_approval");
    assert_eq!(
        safety["reason"],
        "Each write of a supervised playbook needs an approval."
    );
    assert_eq!(ann.get("/v1/runs").expect(200)["entries"], json!([]));
    assert_eq!(ann.get("/v1/approvals").expect(200)["entries"], json!([]));
    assert!(!service.was_called());

    let run = waiting_run_on(&server.key("ann"), "main");
    let id = run["run_id"].as_str().unwrap();
    let was = explained(&ann, json!({"run": id}));
    let step = &was["steps"][0];
    assert_eq!(step["decisions"][0]["policy_decision"], found["decision"]);
    assert_eq!(ids(&step["waits_for"], "for"), ["approval"]);
    assert_eq!(ids(&step["approvals"], "state"), ["pending"]);
    decide(&server.key("bob"), &run["approvals"][0], "reject").expect(200);
    settled(&ann, &run, "rejected");
    let was = explained(&ann, json!({"run": id}));
    let step = &was["steps"][0];
    assert_eq!(
        ids(&step["decisions"], "event"),
        ["approval_requested", "approval_denied"]
    );
    assert_eq!(step["decisions"][1]["by"], "bob");
    assert_eq!(step["waits_for"], json!([]));
    assert_eq!(ids(&step["approvals"], "state"), ["rejected"]);
    let shown = charter_as(&server, "bob", &["gate", "explain", "--run", id]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(
        shown
            .out
            .contains("needs_approval safety reliability.purge_vault: Each write of a"),
        "{shown:?}"
    );
    assert!(shown.out.contains("approval denied by bob"), "{shown:?}");
}

/// The forbidding rule, the permit beside it, the layer without a permit, and the rules that are evaluated later.
#[test]
fn a_policys_refusal_is_explained_with_its_rule() {
    let (server, _service) = served(&[("policies/who.yaml", POLICY)]);
    let (uma, ann) = (server.key("uma"), server.key("ann"));
    let reading = |vault: &str| json!({"tool": READ, "parameters": {"vault": vault}});
    let crown = explained(&ann, reading("crown"));
    assert_eq!(crown["verdict"], "deny");
    let forbids = rule(&crown, "policy", "vault.who#crown");
    assert_eq!(
        json!([
            forbids["effect"],
            forbids["message"],
            forbids["layer"],
            forbids["package_version"]
        ]),
        json!([
            "deny",
            "Nobody looks into the crown vault.",
            "tenant",
            "1.0.0"
        ])
    );
    assert_eq!(rule(&crown, "policy", "vault.who#reads")["effect"], "allow");
    assert_eq!(ids(&crown["decision"]["rules"], "id"), ["vault.who#crown"]);
    assert_eq!(explained(&ann, reading("main"))["verdict"], "allow");
    let unpermitted = explained(&uma, reading("main"));
    assert_eq!(rule(&unpermitted, "policy", "vault.who")["effect"], "deny");
    assert_eq!(
        rule(&unpermitted, "policy", "vault.who#reads")["effect"],
        "not_applicable"
    );

    let later = explained(&ann, purging("main"));
    assert_eq!(later["verdict"], "needs_approval");
    let changes = rule(&later, "policy", "vault.who#changes");
    assert_eq!(
        json!([changes["effect"], changes["phase"], changes["run_facts"]]),
        json!(["not_applicable", "after_approval", ["approved"]])
    );
    assert_eq!(later["assumed"]["approvers"], json!([]));
    let asked = ["gate", "explain", READ, "-p", "vault=crown"];
    let shown = charter_as(&server, "ann", &asked);
    assert_eq!(shown.code, Some(1), "{shown:?}");
    assert!(shown.out.contains("vault.who#crown"), "{shown:?}");
    let whole = [&asked[..], &["--output", "json"]].concat();
    assert_eq!(charter_as(&server, "ann", &whole).json(1), crown);
}

/// B003-4: the caller's permission, and which steps may use a tool that writes.
#[test]
fn b003_4_a_permission_level_is_explained_to_the_caller() {
    let server = Tenants::with_keys(&KEYS);
    let package = backups().edit(
        TOOL_FILE,
        "execution_target: server",
        "execution_target: server\npermission_level: system",
    );
    server.key("ann").register(&package);
    let asked = || json!({"tool": READ, "parameters": {"vault": "main"}, "skill": SKILL});
    let refused = explained(&server.key("uma"), asked());
    assert_eq!(refused["verdict"], "deny");
    assert_eq!(
        rule(&refused, "permission", READ)["reason"],
        "The tool `vault.list_backups` needs the permission level system."
    );
    let limited = rule(&refused, "rate_limit", READ);
    assert_eq!(limited["phase"], "not_evaluated");
    let may = explained(&server.key("ann"), asked());
    assert_eq!(may["verdict"], "allow");
}

/// B003-4: explanations show the remaining calls without using any; a call counts once.
#[test]
fn b003_4_explaining_takes_no_turn_of_a_rate_limit() {
    let server = Tenants::with_keys(&KEYS);
    let package = backups().edit(
        TOOL_FILE,
        "execution_target: server",
        "execution_target: server\nrate_limit: {requests_per_minute: 1, burst: 2}",
    );
    server.key("ann").register(&package);
    let uma = server.key("uma");
    let limit = || {
        let asked = json!({"tool": READ, "parameters": {"vault": "main"}, "skill": SKILL});
        let found = explained(&uma, asked);
        let limited = rule(&found, "rate_limit", READ);
        json!([found["verdict"], limited["effect"], limited["reason"]])
    };
    let ask = || uma.ask(&request_of(SKILL, json!({"vault": "main"})));
    for left in [2, 1] {
        for _ in 0..3 {
            let why = format!("{left} of 2 calls are left.");
            assert_eq!(limit(), json!(["allow", "allow", why]));
        }
        ask().expect(200);
    }
    let refused = limit();
    assert_eq!((&refused[0], &refused[1]), (&json!("deny"), &json!("deny")));
    let why = refused[2].as_str().unwrap();
    assert!(why.starts_with("The tool may be called again in "), "{why}");
    ask().fails(429, "rate_limited");
}

/// B000-1: the global layer and the tenant's own are shown, but nothing of another tenant's, and nothing internal.
#[test]
fn b000_1_another_tenants_policies_and_hidden_tools_are_not_shown() {
    let keys = [KEYS[1], KEYS[3], ("root", "root", "root", "admin")];
    let home = Home::with_keys(&keys);
    let server = home.serve();
    let [ann, eve, root] = ["ann", "eve", "root"].map(|key| server.key(key));
    let permits = "policy_id: vault.everybody\ntitle: t\ngoverns: [\"vault.list_backups\"]\ncedar: |\n  @id(\"all\") permit (principal, action, resource);\n";
    let service = Service::start();
    let shared = global_backups()
        .with(PURGE_FILE, &purge_tool(&service))
        .with("policies/all.yaml", permits)
        .with(
            "tools/secret.yaml",
            "tool_id: vault.secret\nname: secret\nprovider: aws\ntool_class: internal\ndomain: reliability\ndescription: d\nlanguage: python\nimplementation: {type: script, path: scripts/list_backups.py}\n",
        );
    root.register(&shared);
    let own = Package::new("rules", "2.0.0", "tenant").with("policies/who.yaml", POLICY);
    eve.register(&own);
    let asked = || json!({"tool": READ, "parameters": {"vault": "crown"}});
    let free = explained(&ann, asked());
    assert_eq!(free["verdict"], "allow");
    assert!(!free.to_string().contains("vault.who"), "{free:#}");
    let refused = explained(&eve, asked());
    assert_eq!(refused["verdict"], "deny");
    let layers = ["vault.everybody#all", "vault.who#crown"]
        .map(|id| rule(&refused, "policy", id)["layer"].clone());
    assert_eq!(layers, ["global", "tenant"]);

    let path = format!("/v1/resolve/policies?tool={READ}");
    let in_force = |api: &Api| {
        let found = api.get(&path).expect(200);
        let rows = found.as_array().unwrap().iter();
        let rows = rows.map(|row| {
            json!([
                row["document"]["policy_id"],
                row["layer"],
                row["package"],
                row["matched"]
            ])
        });
        json!(rows.collect::<Vec<_>>())
    };
    let shared = json!(["vault.everybody", "global", "backups", READ]);
    assert_eq!(in_force(&ann), json!([shared]));
    let mine = json!(["vault.who", "tenant", "rules", "vault.*"]);
    assert_eq!(in_force(&eve), json!([mine, shared]));
    let arguments = ["resolve", "policies", "--tool", READ, "--output", "json"];
    let shown = charter(&server.api.base, "eve", &arguments).json(0);
    assert_eq!(
        ids(&shown, "document.policy_id"),
        ["vault.who", "vault.everybody"]
    );

    for hidden in ["vault.secret", "vault.nothing"] {
        let message = root
            .post("/v1/gate/explain", &json!({"tool": hidden}))
            .fails(404, "not_found");
        assert_eq!(message, format!("there is no tool `{hidden}`"));
        let path = format!("/v1/resolve/policies?tool={hidden}");
        root.get(&path).fails(404, "not_found");
    }
}

/// B000-18: a write without a dry run is skipped; one with a dry run needs no approval.
#[test]
fn b000_18_a_dry_run_is_explained() {
    let (server, service) = served(&[]);
    let ann = server.key("ann");
    let mut dry = purging("main");
    dry["dry_run"] = json!(true);
    let found = explained(&ann, dry.clone());
    assert_eq!(
        json!([found["verdict"], found["decision"], found["rules"]]),
        json!(["skipped", null, []])
    );
    let shown = charter_as(
        &server,
        "ann",
        &[
            "gate",
            "explain",
            PURGE,
            "-p",
            "vault=main",
            "--playbook",
            PLAYBOOK,
            "--dry-run",
        ],
    );
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(
        shown.out.contains(": skipped\nThe gate is not evaluated"),
        "{shown:?}"
    );
    let knowing = purge(&service).version("1.0.0", "1.1.0").edit(
        PURGE_FILE,
        "parameters: [",
        "parameters: [{name: dry_run, type: boolean, description: change nothing}, ",
    );
    ann.register(&knowing);
    let found = explained(&ann, dry);
    assert_eq!(found["verdict"], "allow", "{found:#}");
    assert_eq!(
        found["parameters"],
        json!({"vault": "main", "dry_run": true})
    );
    let why = &rule(&found, "safety", PLAYBOOK)["reason"];
    assert_ne!(
        *why,
        json!("Each write of a supervised playbook needs an approval.")
    );
    assert!(!service.was_called());
}

/// B000-18: the permission for a write includes its reversal, which must be named.
#[test]
fn b000_18_a_reversal_is_explained_when_it_is_named() {
    let server = Tenants::with_keys(&KEYS);
    let service = Service::start();
    let refill = purge_tool(&service).replace("vault.purge", "vault.refill");
    let package = purge(&service).with("tools/refill.yaml", &refill).edit(
        "playbooks/purge.yaml",
        "safety:",
        "rollback_support: true\nrollback_steps: [{step_id: undo, reverses: s1, tool_id: vault.refill, parameters: {vault: \"${user.vault}\"}}]\nsafety:",
    );
    let ann = server.key("ann");
    ann.register(&package);
    let mut asked =
        json!({"tool": "vault.refill", "parameters": {"vault": "main"}, "playbook": PLAYBOOK});
    let refused = ann.post("/v1/gate/explain", &asked);
    assert_eq!(
        refused.fails(400, "invalid_request"),
        "only reversals call `vault.refill`; name the step: `undo`"
    );
    asked["step"] = json!("undo");
    let found = explained(&ann, asked);
    assert_eq!(found["verdict"], "allow");
    assert_eq!(
        rule(&found, "safety", PLAYBOOK)["effect"],
        "require_approval"
    );
    let by = found["decision"]["permitted_by"].as_array().unwrap();
    assert_eq!(by.last().unwrap()["id"], "reversal of s1", "{found:#}");
}

/// A run that has not started shows what it waits for, to its own tenant only.
#[test]
fn a_run_that_has_not_begun_says_what_it_waits_for() {
    let (server, _service) = served(&[]);
    let ann = server.key("ann");
    let path = format!("/v1/playbooks/{PLAYBOOK}/runs");
    let run = ann.post(&path, &json!({})).expect(201);
    let asked = || json!({"run": run["run_id"]});
    let found = explained(&ann, asked());
    assert_eq!(
        found["steps"][0]["waits_for"],
        json!([{"for": "parameters", "missing": ["vault"]}, {"for": "confirmation"}])
    );
    assert_eq!(found["steps"][0]["decisions"], json!([]));
    let other = json!({"run": run["run_id"], "step": "s9"});
    ann.post("/v1/gate/explain", &other).fails(404, "not_found");
    let eve = server.key("eve");
    eve.post("/v1/gate/explain", &asked())
        .fails(404, "not_found");
    assert_eq!(
        ann.get(&path_of(&run, "")).expect(200)["version"],
        1,
        "nothing is journaled"
    );
}

/// Hostile and mistaken requests are refused with their faults.
#[test]
fn a_question_that_makes_no_sense_is_refused() {
    let (server, _service) = served(&[]);
    let ann = server.key("ann");
    let cases = [
        (json!({}), 400, "invalid_request"),
        (
            json!({"tool": READ, "run": "run-x"}),
            400,
            "invalid_request",
        ),
        (json!({"run": "run-x"}), 400, "invalid_request"),
        (json!({"tool": READ, "surprise": 1}), 400, "invalid_request"),
        (json!({"tool": READ, "step": "s1"}), 400, "invalid_request"),
        (
            json!({"tool": READ, "skill": SKILL, "playbook": PLAYBOOK}),
            400,
            "invalid_request",
        ),
        (
            json!({"tool": READ, "parameters": {"vault": "main"}, "skill": SKILL, "dry_run": true}),
            400,
            "invalid_request",
        ),
        (
            json!({"tool": READ, "playbook": PLAYBOOK}),
            400,
            "invalid_request",
        ),
        (json!({"tool": READ, "skill": "no.such"}), 404, "not_found"),
        (
            json!({"tool": PURGE, "playbook": "no.such"}),
            404,
            "not_found",
        ),
        (json!({"tool": READ}), 400, "missing_parameters"),
        (
            json!({"tool": READ, "parameters": {"vault": 7}}),
            400,
            "invalid_parameters",
        ),
    ];
    for (asked, status, code) in cases {
        let answer = ann.post("/v1/gate/explain", &asked);
        let found = (answer.status, answer.body["error_code"].as_str());
        assert_eq!(found, (status, Some(code)), "{asked}: {:#}", answer.body);
    }
    let literal = json!({"tool": READ, "parameters": {"vault": "${user.vault}"}});
    assert_eq!(
        explained(&ann, literal)["parameters"],
        json!({"vault": "${user.vault}"}),
        "what looks like a reference is a value"
    );
    let deep = (0..200).fold(json!("x"), |inner, _| json!([inner]));
    let sent = json!({"tool": READ, "parameters": {"vault": deep}});
    assert_eq!(ann.post("/v1/gate/explain", &sent).status, 400);
    let both = ["gate", "explain", READ, "--run", "run-x"];
    assert_eq!(charter_as(&server, "ann", &both).code, Some(2));
}
