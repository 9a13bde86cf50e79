//! Mission types and prompt templates of a package: every invalid reference and every misfit is reported with its line.

use super::*;

const CHANGE: &str = r"
tool_id: demo.change
name: change
provider: demo
tool_class: write
domain: security
description: Changes a thing.
language: python
parameters:
  - {name: id, type: string, required: true}
  - {name: stage, type: string, enum: [open, closed]}
implementation: {type: script, path: scripts/list.py}
";

const GET: &str = r"
tool_id: demo.get
name: get
provider: demo
tool_class: readonly
domain: security
description: Shows a thing.
language: python
parameters:
  - {name: id, type: string, required: true}
implementation: {type: script, path: scripts/list.py}
";

const LENS: &str = r"
lens_id: demo.handbook
domain: security
tier: advanced
title: Handbook
description: How things are done.
source: {type: file, ref: sources/handbook.md}
content_type: reference
";

const PLAYBOOK: &str = r"
playbook_id: demo.close
name: Close
domain: security
trigger_conditions: [close a thing]
mandatory_parameters:
  - {name: id, type: string}
optional_parameters:
  - {name: note, type: string}
steps:
  - {step_id: close, type: write, tool_id: demo.change, parameters: {id: '${user.id}', stage: closed}}
safety: {safety_class: supervised}
";

const PROMPT: &str = r"
prompt_id: demo.worker
domain: security
title: Worker
role_type: worker
system_prompt: You look at things.
task_prompt: 'Do this: ${objective}'
model_route: tier_high_reasoning
";

const MISSION: &str = r"
mission_type: demo.brief
domain: security
title: Brief
description: What stands open.
sensitivity_class: internal_business
resource_families:
  things:
    description: All things.
    tools: [demo.list, demo.get]
    lenses: [demo.handbook]
prompts:
  worker: demo.worker
outline:
  - task_id: look
    role_type: worker
    objective: 'Look at ${goal}'
    allowed_tools: [demo.list]
    required_data_scopes: [things]
write_backs:
  - action_type: close
    target_entity_type: thing
    description: Closes it.
    by: {tool: demo.change}
    parameters: {id: '${target_entity_id}', stage: '${payload.stage}'}
    target: {tool: demo.get, parameters: {id: '${target_entity_id}'}}
  - action_type: close_with_note
    target_entity_type: thing
    description: Closes it by the book.
    by: {playbook: demo.close}
    parameters: {id: '${target_entity_id}', note: 'Because ${payload.reason}'}
  - action_type: announce
    target_entity_type: thing
    description: Tells of it.
    by: {webhook: 'https://example.com/hooks/things'}
    parameters: {thing: '${target_entity_id}'}
";

const FILE: &str = "missions/brief.yaml";

/// Returns the problems of the package with one file changed.
fn said(file: &str, from: &str, to: &str) -> Vec<String> {
    let base = [
        ("tools/change.yaml", CHANGE),
        ("tools/get.yaml", GET),
        ("lenses/handbook.yaml", LENS),
        ("sources/handbook.md", "# Handbook\n"),
        ("playbooks/close.yaml", PLAYBOOK),
        ("prompts/worker.yaml", PROMPT),
        (FILE, MISSION),
    ];
    let changed: Vec<(&str, String)> = base
        .iter()
        .map(|(path, text)| {
            assert!(*path != file || text.contains(from), "{path} has no {from}");
            let text = if *path == file {
                text.replacen(from, to, 1)
            } else {
                (*text).to_owned()
            };
            (*path, text)
        })
        .collect();
    let changed: Vec<(&str, &str)> = changed
        .iter()
        .map(|(path, t)| (*path, t.as_str()))
        .collect();
    problems(&changed)
}

#[test]
fn a_sound_mission_type_has_no_problem() {
    let judged = "required_capabilities: [demo.find]\n    required_data_scopes: [things]";
    for scopes in ["required_data_scopes: [things]", judged] {
        let from = "required_data_scopes: [things]";
        assert_eq!(said(FILE, from, scopes), Vec::<String>::new());
    }
}

/// B000-7: the documents that a mission type refers to must exist, and each problem is reported with its line.
#[test]
fn b000_7_what_a_mission_type_refers_to_has_to_be_there() {
    let cases = [
        (
            "domain: security",
            "domain: securty",
            "3:1 there is no domain `securty`",
        ),
        (
            "[demo.list, demo.get]",
            "[demo.list, demo.got]",
            "10:24 there is no tool `demo.got`",
        ),
        (
            "lenses: [demo.handbook]",
            "lenses: [demo.hand]",
            "11:14 there is no domain_lens `demo.hand`",
        ),
        (
            "worker: demo.worker",
            "worker: demo.wrker",
            "13:3 there is no prompt_template `demo.wrker`",
        ),
        (
            "required_data_scopes: [things]",
            "required_capabilities: [demo.fnd]",
            "19:29 there is no skill `demo.fnd`",
        ),
        (
            "by: {tool: demo.change}",
            "by: {tool: demo.chnge}",
            "24:10 there is no tool `demo.chnge`",
        ),
        (
            "target: {tool: demo.get,",
            "target: {tool: demo.gt,",
            "26:14 there is no tool `demo.gt`",
        ),
        (
            "by: {playbook: demo.close}",
            "by: {playbook: demo.clse}",
            "30:10 there is no playbook `demo.clse`",
        ),
    ];
    for (from, to, wanted) in cases {
        assert_eq!(said(FILE, from, to), [format!("{FILE}:{wanted}")]);
    }
    let inactive = "role_type: worker\nstatus: inactive";
    assert_eq!(
        said("prompts/worker.yaml", "role_type: worker", inactive),
        [format!(
            "{FILE}:13:3 the prompt_template `demo.worker` is inactive"
        )]
    );
}

/// B002-6: workers may only read. The tool that executes a proposal must write and accept its fields.
#[test]
fn b002_6_tools_and_prompts_of_a_mission_type_have_to_fit() {
    let cases = [
        (
            "tools: [demo.list, demo.get]",
            "tools: [demo.list, demo.get, demo.change]",
            "10:34 a worker may only read; `demo.change` is write",
        ),
        (
            "allowed_tools: [demo.list]",
            "required_capabilities: [demo.find]",
            "18:29 the skill `demo.find` calls `demo.list`, which the task may not use",
        ),
        (
            "worker: demo.worker",
            "reviewer: demo.worker",
            "13:3 the prompt template `demo.worker` is for a worker",
        ),
        (
            "target: {tool: demo.get,",
            "target: {tool: demo.change,",
            "26:14 the tool that reads a target must be readonly; `demo.change` is write",
        ),
        (
            "tool: demo.get, parameters: {id: '${target_entity_id}'}",
            "tool: demo.get, parameters: {id: 1}",
            "26:43 `id` must be of the type string",
        ),
        (
            "stage: '${payload.stage}'",
            "stage: shut",
            "25:45 `stage` must be one of [\"open\",\"closed\"]",
        ),
        (
            "parameters: {id: '${target_entity_id}', stage:",
            "parameters: {stage:",
            "25:5 the tool `demo.change` needs the parameter `id`",
        ),
        (
            "note: 'Because",
            "nte: 'Because",
            "31:45 the playbook `demo.close` has no parameter `nte`",
        ),
        (
            "parameters: {id: '${target_entity_id}', note:",
            "parameters: {note:",
            "31:5 the playbook `demo.close` needs the parameter `id`",
        ),
    ];
    for (from, to, wanted) in cases {
        assert_eq!(said(FILE, from, to), [format!("{FILE}:{wanted}")]);
    }
    let readonly = said(
        "tools/change.yaml",
        "tool_class: write",
        "tool_class: readonly",
    );
    assert!(
        readonly.contains(&format!(
            "{FILE}:24:10 a write-back needs a write tool; `demo.change` is readonly"
        )),
        "{readonly:?}"
    );
}

/// The stages of missions are tools, but only missions may use them.
#[test]
fn a_stage_of_missions_carries_out_no_proposal_and_no_step_of_a_playbook() {
    let wanted = "`charter.mission.webhook` is a mission stage, which cannot be used elsewhere";
    let stage = "charter.mission.webhook";
    let cases = [
        (FILE, "{tool: demo.change}", "{tool: STAGE}", "24:10"),
        (
            "playbooks/close.yaml",
            "tool_id: demo.change,",
            "tool_id: STAGE,",
            "11:35",
        ),
        (
            "playbooks/close.yaml",
            "safety:",
            "rollback_steps:\n  - {step_id: undo, reverses: close, tool_id: STAGE}\nsafety:",
            "13:38",
        ),
    ];
    for (file, from, to, place) in cases {
        let found = said(file, from, &to.replace("STAGE", stage));
        assert!(
            found.contains(&format!("{file}:{place} {wanted}")),
            "{found:?}"
        );
    }
}

/// Violations of a document's own contract are reported with their line too.
#[test]
fn placeholders_and_tools_outside_the_families_are_refused_at_their_line() {
    let cases = [
        (
            "Look at ${goal}",
            "Look at ${user_goal}",
            "17:5 `${user_goal}` is not a placeholder here: use `${goal}`",
        ),
        (
            "allowed_tools: [demo.list]",
            "allowed_tools: [demo.list, demo.change]",
            "18:32 the tool `demo.change` is not in any resource family",
        ),
        (
            "${payload.stage}",
            "${step_1.stage}",
            "25:45 `${step_1.stage}` is not a placeholder here: use `${target_entity_id}`, `${payload.…}`",
        ),
        (
            "by: {tool: demo.change}",
            "by: {tool: demo.change, playbook: demo.close}",
            "24:5 needs exactly one of `tool`, `playbook`, `webhook`",
        ),
    ];
    for (from, to, wanted) in cases {
        assert_eq!(said(FILE, from, to), [format!("{FILE}:{wanted}")]);
    }
    assert_eq!(
        said("prompts/worker.yaml", "${objective}", "${lead}"),
        [
            "prompts/worker.yaml:7:1 `${lead}` is not a placeholder here: use `${mission_type}`, `${goal}`, \
             `${objective}`, `${success_criteria}`"
        ]
    );
}

/// A schema of a write-back or a prompt has the limits of a tool's schema, and is rejected with its line.
#[test]
fn a_schema_of_a_mission_type_or_a_prompt_that_takes_too_much_is_refused() {
    let next = |at: usize| serde_json::json!({"$ref": format!("#/$defs/a{at}")});
    let alternatives = (0..14).map(|at| {
        let both = serde_json::json!({"oneOf": [next(at + 1), next(at + 1)]});
        (format!("a{at}"), both)
    });
    let last = ("a14".to_owned(), serde_json::json!({"type": "string"}));
    let defined: serde_json::Map<_, _> = alternatives.chain([last]).collect();
    let schema = serde_json::json!({
        "type": "object", "properties": {"stage": next(0)}, "$defs": defined,
    });
    let payload = format!("payload_schema: {schema}\n    by: {{tool: demo.change}}");
    let of_prompt = format!("output_schema: {schema}\nmodel_route");
    for (file, from, to, line) in [
        (FILE, "by: {tool: demo.change}", payload, "24:"),
        ("prompts/worker.yaml", "model_route", of_prompt, "8:"),
    ] {
        let found = said(file, from, &to);
        let place = format!("{file}:{line}");
        let is_told = found.iter().any(|one| {
            one.starts_with(&place) && one.contains("exceeds the limit SCHEMA_EXPANSION of 4000")
        });
        assert!(is_told, "{found:?}");
    }
}

/// Mission types of other packages must still fit this package's documents.
#[test]
fn b000_7_a_mission_type_of_another_package_that_would_not_fit_any_more_is_said() {
    let other = Arc::new(Origin {
        scope: Scope::Global,
        package: PackageName::parse("other").unwrap(),
        version: "1.0.0".into(),
    });
    let kind = serde_json::from_value(serde_json::json!({
        "mission_type": "other.brief", "domain": "security", "title": "t", "description": "d",
        "sensitivity_class": "internal_business",
        "resource_families": {"things": {"description": "d", "tools": ["demo.list"]}},
    }));
    let documents = |bundle: PackageBundle| {
        let package = read(bundle, &Cancellation::default()).package.unwrap();
        let documents: Vec<(Document, String)> = package
            .documents
            .iter()
            .map(|d| (d.value.clone(), String::new()))
            .collect();
        (package, documents)
    };
    let demo = Arc::new(Origin {
        scope: Scope::Global,
        package: PackageName::parse("demo").unwrap(),
        version: "1.0.0".into(),
    });
    let before = catalogue()
        .with_package(&demo, documents(files(&[])).1)
        .with_package(
            &other,
            [(Document::MissionType(kind.unwrap()), String::new())],
        );
    let writes = TOOL.replace("readonly", "write");
    let none = "[]";
    let (package, changed) = documents(files(&[
        ("tools/list.yaml", &writes),
        ("skills/find.yaml", none),
    ]));
    let after = before.with_package(&demo, changed);
    let against = Against {
        scope: &Scope::Global,
        before: &before,
        after: &after,
        origin: &demo,
        cancel: &Cancellation::default(),
    };
    let found: Vec<String> = check(&package, &against)
        .iter()
        .map(|p| format!("{}:{} {}", p.file, p.line, p.message))
        .collect();
    assert_eq!(
        found,
        [
            "package.yaml:1 the mission_type `other.brief` of the package `other` would become invalid: a worker may \
             only read; `demo.list` is write"
        ]
    );
}
