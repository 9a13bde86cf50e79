//! Errors of a server: unknown ids, refused callers, refused and failed runs, missions.

use serde_json::json;

use super::Transcript;
use crate::home::request_of;
use crate::packages::{SCRIPT_FILE, SKILL, SKILL_FILE, TOOL_FILE, backups, guardrail};
use crate::shared::Tenants;

#[test]
fn errors_of_unknown_ids_are_as_recorded() {
    let server = Tenants::one();
    let mut shown = Transcript::to(&server.api);
    server.api.register(&backups());
    for line in [
        "charter runs show run-1",
        "charter runs show run-01930000-0000-7000-8000-000000000001",
        "charter runs pause run-01930000-0000-7000-8000-000000000001",
        "charter approvals show apr-01930000-0000-7000-8000-000000000001",
        "charter evidence show ev_nothing",
        "charter memory show mem-01930000-0000-7000-8000-000000000001",
        "charter mission show none",
        "charter key show key-01930000-0000-7000-8000-000000000001",
        "charter lens show security.none",
        "charter lens reindex security.none",
        "charter skills show net.none",
        "charter resolve skill reliability.find_stale_backup",
        "charter resolve tool vault.list_backup",
        "charter resolve playbook reliability.none",
        "charter resolve agent domain.none",
        "charter resolve mission-type none.none",
        "charter resolve prompt-template none",
        "charter resolve guardrails --skill reliability.none",
        "charter resolve policies --tool vault.none",
        "charter list skil",
        "charter package history backup",
        "charter playbook run reliability.none",
        "charter ask 'Which backups are stale?' --skill reliability.none",
        "charter candidate promote reliability.none --run run-01930000-0000-7000-8000-000000000001",
        "charter graph query neighbours none",
        "charter graph query coverage SOC9",
        "charter gate explain vault.none",
        "charter route confirm req-01930000-0000-7000-8000-000000000001",
    ] {
        shown.fails(line);
    }
    shown.compare("errors/unknown_ids.txt");
}

/// Values that a server refuses.
#[test]
fn errors_of_values_are_as_recorded() {
    let server = Tenants::one();
    let mut shown = Transcript::to(&server.api);
    for line in [
        "charter runs list --status waiting",
        "charter runs list --origin robot",
        "charter runs list --from yesterday",
        "charter runs list --after x",
        "charter approvals list --state open",
        "charter evidence list --from yesterday",
        "charter memory find --limit 0",
        "charter memory add 'We deploy to eu-west-1.' --title Region --tag aws --importance 11",
        "charter mission list --state open",
        "charter graph query neighbours none --direction up",
        "charter route x --floor 2",
        "charter key create ci --role king",
        "charter key create ci --scope runs:everything",
        "charter key list --tenant acme",
    ] {
        shown.fails(line);
    }
    shown.compare("errors/values.txt");
}

/// Callers that a server does not know, or that may not do what they ask for.
#[test]
fn errors_of_access_are_as_recorded() {
    let server = Tenants::with_keys(&[
        ("root", "acme", "root", "admin"),
        ("uma", "acme", "uma", "user"),
    ]);
    let root = server.key("root");
    root.register(&backups());
    let mut shown = Transcript::to(&root);
    shown.package("package", &backups().version("1.0.0", "1.1.0"));
    shown.part("Without a key");
    shown.use_key(None);
    shown.fails("charter runs list");
    shown.part("With a key that the server does not know");
    shown.use_key(Some("wrong"));
    shown.fails("charter runs list");
    shown.fails("charter ask 'Which backups are stale?'");
    shown.part("With a key of the role `user`");
    shown.use_key(server.key("uma").key.as_deref());
    for line in [
        "charter package register package",
        "charter package unregister backups",
        "charter key list",
        "charter key create ci",
        "charter candidate promote reliability.none --run run-01930000-0000-7000-8000-000000000001",
    ] {
        shown.fails(line);
    }
    shown.part("With a key of the scope `runs:read`");
    let order = json!({"name": "reads", "user": "root", "role": "admin", "scopes": ["runs:read"]});
    let made = root.post("/v1/keys", &order).expect(201);
    shown.use_key(made["secret"].as_str());
    shown.fails("charter ask 'Which backups are stale?'");
    shown.fails("charter package list");
    shown.compare("errors/access.txt");
}

/// Requests and runs that are refused, or fail.
#[test]
fn errors_of_runs_are_as_recorded() {
    let server = Tenants::one();
    let mut shown = Transcript::to(&server.api);
    let ask = format!("charter ask 'Which backups are stale?' --skill {SKILL}");
    shown.fails("charter ask ''");
    let parameters = backups().edit(
        SKILL_FILE,
        ", default: main}",
        "}\n  - {name: days, type: integer, description: the least age}",
    );
    server.api.register(&parameters);
    shown.fails(&ask);
    shown.fails(&format!("{ask} -p vault=main -p days=many -p color=red"));
    let next = |version: &str| backups().version("1.0.0", version);
    shown.part("The tool fails");
    let failing = "import sys\nsys.exit('the vault is sealed')\n";
    server
        .api
        .register(&next("1.1.0").with(SCRIPT_FILE, failing));
    shown.fails(&ask);
    shown.part("The tool prints no JSON");
    server
        .api
        .register(&next("1.2.0").with(SCRIPT_FILE, "print('done')\n"));
    shown.fails(&ask);
    shown.part("The result breaks the schema of the tool");
    let schema = "language: python\noutput_schema: {type: object, required: [tapes]}";
    let strict = next("1.3.0").edit(TOOL_FILE, "language: python", schema);
    server.api.register(&strict);
    shown.fails(&ask);
    shown.part("The tool takes too long");
    let slow = next("1.4.0")
        .with(SCRIPT_FILE, "import time\ntime.sleep(600)\n")
        .edit(
            TOOL_FILE,
            "language: python",
            "language: python\ntimeout_ms: 300",
        );
    server.api.register(&slow);
    shown.fails(&ask);
    shown.part("A guardrail blocks the call");
    let on_reads = "when: 'tool.tool_class == \"readonly\"'";
    let rail = guardrail("reliability.no_reads", "skill", "*", "hard_block", on_reads);
    let guarded = next("1.5.0").with("guardrails/no_reads.yaml", &rail);
    server.api.register(&guarded);
    shown.fails(&ask);
    shown.fails(&format!(
        "charter gate explain vault.list_backups -p vault=main --skill {SKILL}"
    ));
    shown.part("The run has ended");
    server.api.register(&next("1.6.0"));
    let answer = server.api.ask(&request_of(SKILL, json!({}))).expect(200);
    let run = answer["metadata"]["run_ids"][0].as_str().unwrap();
    for line in [
        format!("charter runs show {run} --at 99"),
        format!("charter runs set {run} vault=main"),
        format!("charter runs confirm {run} --digest 00"),
        format!("charter runs pause {run}"),
        format!("charter runs resume {run}"),
        format!("charter runs abort {run}"),
        format!("charter runs rollback {run}"),
    ] {
        shown.fails(&line);
    }
    shown.part("The plan is refused");
    shown.file("plan.yaml", "id: plan-1\nsteps: []\n");
    shown.file("skill.yaml", "skill_id: a.b\n");
    shown.fails("charter runs start plan.yaml");
    shown.fails("charter runs start skill.yaml");
    shown.compare("errors/runs.txt");
}

#[test]
fn errors_of_missions_are_as_recorded() {
    let server = Tenants::one();
    let mut shown = Transcript::to(&server.api);
    shown.file("text.txt", "a text\n");
    for line in [
        "charter mission start ''",
        "charter mission start 'Look at the backups' --type none.none",
        "charter mission start 'Look at the backups' --time-budget soon",
        "charter mission start 'Look at the backups' --token-budget 0",
        "charter mission start 'Look at the backups' --id ../x",
        "charter mission watch none",
        "charter mission cancel none",
        "charter mission approve none --all",
        "charter mission artifacts none",
        "charter mission replay none",
        "charter mission export none",
        "charter mission diff none other",
        "charter mission import text.txt",
    ] {
        shown.fails(line);
    }
    shown.compare("errors/missions.txt");
}
