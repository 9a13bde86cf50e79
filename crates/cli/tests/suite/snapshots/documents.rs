//! Errors in documents and packages.

use super::Transcript;
use crate::packages::{
    Package, SCRIPT_FILE, SKILL_FILE, TEMPLATE_FILE, TOOL_FILE, backups, guardrail,
};
use crate::shared::Tenants;

/// A document of each kind with the commonest mistakes: fields that are missing, misspelt or of another type.
const DOCUMENTS: [(&str, &str); 20] = [
    (
        "agent",
        "agent_id: recovery\nname: recovery\nagent_type: king\ncapabilities: restore\n",
    ),
    (
        "agent_request",
        "id: req-1\ntimestamp: yesterday\ninput: 7\n",
    ),
    ("decision_tree", "id: tree-1\nroot: 7\n"),
    ("domain", "domain: Reliability\ntitel: Reliability\n"),
    (
        "domain_lens",
        "lens_id: on_call\ndomain: reliability\nsource: {type: pigeon}\n",
    ),
    (
        "execution_plan",
        "id: plan-1\nsteps:\n  - {id: step-1, tool: vault.list_backups, parameter: {}}\n",
    ),
    ("graph_edge", "from: a\nto: b\ntype: knows\n"),
    ("graph_node", "node_id: a\ntype: thing\n"),
    (
        "guardrail",
        "guardrail_id: reliability.careful\ndomain: reliability\nscope: everywhere\napplies_to: \"*\"\n\
         rule: A rule.\nenforcement: refuse\n",
    ),
    ("memory_entry", "title: 5\ntags: []\n"),
    ("mission_type", "mission_type: Brief\nbudget: 5\n"),
    ("package_manifest", "name: My Package\nversion: one\n"),
    ("pipeline_definition", "id: pipe-1\nstages: 1\n"),
    (
        "playbook",
        "playbook_id: reliability.purge\nname: purge\nsteps: []\nsafety: {safety_class: careless}\n",
    ),
    ("policy", "policy_id: vault.readers\ngoverns: vault\n"),
    ("prompt_template", "template: Look.\n"),
    ("routing_test", "query: \"\"\nexpects: reliability.stale\n"),
    (
        "skill",
        "skill_id: reliability.stale\nname: stale\ndomain: reliability\ndescripton: Finds stale backups.\n\
         output_type: poem\n",
    ),
    (
        "template",
        "template_id: reliability.stale\noutput_type: poem\nstructure: text\n",
    ),
    (
        "tool",
        "tool_id: vault.list\nname: list\nprovider: aws\ntool_class: readonly\ndomain: cost\ndescription: d\n\
         language: cobol\n",
    ),
];

#[test]
fn errors_of_documents_are_as_recorded() {
    let mut shown = Transcript::new();
    for (kind, text) in DOCUMENTS {
        shown.file(&format!("{kind}.yaml"), text);
        shown.fails(&format!(
            "charter package validate {kind}.yaml --schema {kind}"
        ));
    }
    shown.compare("errors/documents.txt");
}

/// Files that are no document of any kind.
#[test]
fn errors_of_unreadable_documents_are_as_recorded() {
    let mut shown = Transcript::new();
    shown.package("package", &backups());
    shown.file("list.yaml", "tool_id: x\nname: [unclosed\n");
    shown.file("tabs.yaml", "tool_id: x\n\tname: y\n");
    shown.file("twice.yaml", "tool_id: x\ntool_id: y\n");
    shown.file("comma.json", "{\"id\": \"plan-1\",}\n");
    shown.file("number.json", "{\"id\": 98765432109876543210}\n");
    shown.file("latin.yaml", b"tool_id: caf\xe9\n");
    shown.file("empty.yaml", "");
    shown.file("other.yaml", "colour: red\n");
    for line in [
        "charter package validate missing.yaml",
        "charter package validate list.yaml",
        "charter package validate tabs.yaml",
        "charter package validate twice.yaml",
        "charter package validate comma.json --schema execution_plan",
        "charter package validate number.json --schema execution_plan",
        "charter package validate latin.yaml",
        "charter package validate empty.yaml",
        "charter package validate other.yaml",
        "charter package validate other.yaml --schema invoice",
        "charter package validate package other.yaml",
        "charter package validate package --schema tool",
    ] {
        shown.fails(line);
    }
    shown.compare("errors/unreadable_documents.txt");
}

/// Packages whose files, names or references are wrong, by the name of their directory.
fn wrong_references() -> [(&'static str, Package); 10] {
    let again = backups().text(SKILL_FILE).to_owned();
    [
        (
            "manifest",
            backups().with("package.yaml", "name: [unclosed\n"),
        ),
        (
            "name",
            backups().edit("package.yaml", "backups", "back/ups"),
        ),
        (
            "syntax",
            backups().with("tools/bad.yaml", "tool_id: x\nname: [unclosed\n"),
        ),
        (
            "field",
            backups().edit(SKILL_FILE, "description:", "descripton:"),
        ),
        (
            "domain",
            backups().edit(SKILL_FILE, "domain: reliability", "domain: relability"),
        ),
        (
            "tool",
            backups().edit(
                SKILL_FILE,
                "tool_id: vault.list_backups",
                "tool_id: vault.list_backup",
            ),
        ),
        (
            "argument",
            backups().edit(SKILL_FILE, "parameters: {vault:", "parameters: {vualt:"),
        ),
        (
            "script",
            backups().edit(TOOL_FILE, SCRIPT_FILE, "scripts/list_backup.py"),
        ),
        (
            "outside",
            backups().edit(TOOL_FILE, SCRIPT_FILE, "../list_backups.py"),
        ),
        ("twice", backups().with("skills/again.yaml", &again)),
    ]
}

/// Packages whose filters, templates, conditions, policies or tests are wrong.
fn wrong_rules() -> [(&'static str, Package); 6] {
    let rail = |rest: &str| guardrail("reliability.careful", "skill", "*", "hard_block", rest);
    let policy = "policy_id: vault.readers\ntitle: Who may read\ngoverns: [\"vault.*\"]\n\
                  cedar: |\n  permit (principal, action, resource)\n";
    let test = "- query: which backups have grown stale\n  expect_miss: true\n";
    [
        (
            "filter",
            backups().edit(SKILL_FILE, "select(.age_days > 30)", "select(.age_days > )"),
        ),
        (
            "template",
            backups().edit(
                TEMPLATE_FILE,
                "backup {{resource_id}}",
                "backup {{resource_id",
            ),
        ),
        (
            "condition",
            backups().with(
                "guardrails/careful.yaml",
                &rail("when: 'tool.tool_class =='"),
            ),
        ),
        (
            "unknown_name",
            backups().with(
                "guardrails/careful.yaml",
                &rail("when: 'user.name == \"ann\"'"),
            ),
        ),
        ("policy", backups().with("policies/readers.yaml", policy)),
        ("routing_test", backups().with("tests/routing.yaml", test)),
    ]
}

/// Packages that a server refuses.
#[test]
fn errors_of_packages_are_as_recorded() {
    let server = Tenants::one();
    let mut shown = Transcript::to(&server.api);
    std::fs::create_dir(shown.home.path("empty")).unwrap();
    shown.fails("charter package register missing");
    shown.fails("charter package register empty");
    for (name, package) in wrong_references().into_iter().chain(wrong_rules()) {
        shown.package(name, &package);
        shown.fails(&format!("charter package register {name}"));
    }
    shown.package("unmarked", &backups());
    std::fs::remove_file(shown.home.path("unmarked/package.yaml")).unwrap();
    shown.fails("charter package register unmarked");
    shown.package("encoding", &backups());
    shown.file("encoding/skills/odd.yaml", b"a: b\nc: \xff\n");
    shown.fails("charter package register encoding");
    shown.part("A registered version does not change");
    let first = backups().version("1.0.0", "2.0.0");
    shown.package("first", &first);
    shown.prepare("charter package register first");
    shown.package("second", &first.edit(TOOL_FILE, "Lists", "Names"));
    shown.fails("charter package register second");
    shown.fails("charter package rollback backups 9.9.9");
    shown.fails("charter package unregister backup");
    shown.compare("errors/packages.txt");
}
