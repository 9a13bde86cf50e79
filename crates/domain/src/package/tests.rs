use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::catalogue::Document;
use charter_contract::catalogue::domain::Domain;
use charter_contract::ids::{PackageName, TenantId};
use charter_contract::package::PackageBundle;
use charter_contract::scope::Scope;
use charter_contract::text::Text;

use super::*;
use crate::cancellation::Cancellation;
use crate::catalogue::{Layer, Origin, View};

mod definitions;
mod limits;
mod locate;
mod missions;
mod scripts;
mod warnings;

const MANIFEST_TEXT: &str = "name: demo\nversion: 1.0.0\ntitle: Demo\n";

const TOOL: &str = r"
tool_id: demo.list
name: list
provider: demo
tool_class: readonly
domain: security
description: Lists things.
language: python
parameters:
  - {name: region, type: string, required: true}
implementation: {type: script, path: scripts/list.py}
";

const SKILL: &str = r#"
skill_id: demo.find
name: find
domain: security
display_name: Find
description: Finds things.
purpose: find things
output_type: finding
parameters:
  - {name: region, type: string, default: eu-west-1}
execution_plan:
  steps:
    - step_id: step_1
      type: read
      tool_id: demo.list
      parameters: {region: "${user.region}"}
analysis:
  findings:
    - {rule_id: any, from: step_1, filter: ".[]"}
"#;

fn files(changes: &[(&str, &str)]) -> PackageBundle {
    let base = [
        ("package.yaml", MANIFEST_TEXT),
        ("tools/list.yaml", TOOL),
        ("skills/find.yaml", SKILL),
        ("scripts/list.py", "print('[]')"),
    ];
    let files: BTreeMap<String, String> = base
        .iter()
        .chain(changes)
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect();
    PackageBundle { files }
}

fn catalogue() -> View {
    let origin = Arc::new(Origin {
        scope: Scope::Global,
        package: PackageName::parse("charter").unwrap(),
        version: "0".into(),
    });
    let mut global = Layer::default();
    for domain in Domain::seeded() {
        global.insert(Document::Domain(domain), Arc::clone(&origin), String::new());
    }
    View {
        global: Arc::new(global),
        tenant: Arc::default(),
    }
}

/// `file:line message` of every problem.
fn problems(changes: &[(&str, &str)]) -> Vec<String> {
    let reading = read(files(changes), &Cancellation::default());
    let mut problems = reading.problems;
    if let Some(package) = reading.package {
        let scope = Scope::Tenant(TenantId::parse("acme").unwrap());
        let origin = Arc::new(Origin {
            scope: scope.clone(),
            package: package.manifest.value.name.clone(),
            version: "1.0.0".into(),
        });
        let before = catalogue();
        let documents = package
            .documents
            .iter()
            .map(|d| (d.value.clone(), String::new()));
        let after = before.with_package(&origin, documents);
        let against = Against {
            scope: &scope,
            before: &before,
            after: &after,
            origin: &origin,
            cancel: &Cancellation::default(),
        };
        problems.extend(check(&package, &against));
    }
    let line = |p: &Problem| format!("{}:{}:{} {}", p.file, p.line, p.column, p.message);
    problems.iter().map(line).collect()
}

#[test]
fn a_sound_package_has_no_problem() {
    assert_eq!(problems(&[]), Vec::<String>::new());
}

/// B000-7: every error is reported with file and line, in any file.
#[test]
fn b000_7_all_errors_of_all_files_are_reported() {
    let bad_tool = TOOL.replace("tool_class: readonly", "tool_class: readnoly");
    let bad_skill = SKILL
        .replace("domain: security", "domain: [")
        .replace('}', "");
    assert_eq!(
        problems(&[
            ("tools/list.yaml", &bad_tool),
            ("skills/find.yaml", &bad_skill),
            ("odd.yaml", "a: 1")
        ])
        .iter()
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .collect::<Vec<_>>(),
        [
            "odd.yaml:1:1",
            "skills/find.yaml:5:1",
            "tools/list.yaml:5:1"
        ]
    );
}

/// B000-7: an unknown or inactive domain is rejected with a suggestion.
#[test]
fn b000_7_an_unknown_domain_is_refused() {
    let skill = SKILL.replace("domain: security", "domain: securty");
    assert_eq!(
        problems(&[("skills/find.yaml", &skill)]),
        ["skills/find.yaml:4:1 there is no domain `securty`"]
    );
    let inactive = "domain_id: odd\ndisplay_name: Odd\ndomain_type: domain\nstatus: inactive\n";
    let skill = SKILL.replace("domain: security", "domain: odd");
    assert_eq!(
        problems(&[("skills/find.yaml", &skill), ("domains/odd.yaml", inactive)]),
        ["skills/find.yaml:4:1 the domain `odd` is inactive"]
    );
}

#[test]
fn more_guardrails_than_one_call_is_asked_about_are_refused() {
    let guardrail = |n: usize| {
        let text = format!(
            "guardrail_id: demo.g{n}\nscope: global\napplies_to: ['*']\nrule: r\nwhen: 'true'\n\
             enforcement: soft_warn\nmessage: m\n"
        );
        (format!("guardrails/g{n}.yaml"), text)
    };
    let many: Vec<(String, String)> = (0..=500).map(guardrail).collect();
    let files = |count: usize| -> Vec<(&str, &str)> {
        let files = many.iter().take(count);
        files
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect()
    };
    assert_eq!(problems(&files(500)), Vec::<String>::new());
    assert_eq!(
        problems(&files(501)),
        [
            "package.yaml:1:1 501 guardrails would apply to `demo.find`; the limit is 500 (GUARDRAILS_PER_CALL): \
             each call would be denied"
        ]
    );
}

/// B000-11: a skill's plan may use only readonly tools.
#[test]
fn b000_11_a_write_tool_in_a_skill_is_refused() {
    let tool = TOOL.replace("readonly", "write");
    assert_eq!(
        problems(&[("tools/list.yaml", &tool)]),
        ["skills/find.yaml:15:7 a skill may use readonly tools only; `demo.list` is write"]
    );
}

/// B000-12: an expression that does not compile is refused at registration.
#[test]
fn b000_12_what_does_not_compile_is_refused() {
    let guardrail = "guardrail_id: demo.g\nscope: global\napplies_to: ['*']\nrule: r\n\
                     enforcement: soft_warn\nmessage: m\nwhen: 'tool.id =='\n";
    let found = problems(&[("guardrails/g.yaml", guardrail)]);
    assert!(
        found[0].starts_with("guardrails/g.yaml:7:1 the expression does not compile"),
        "{found:?}"
    );
    let unknown = guardrail.replace("'tool.id =='", "'tol.tool_class == 1'");
    assert_eq!(
        problems(&[("guardrails/g.yaml", &unknown)]),
        [
            "guardrails/g.yaml:7:1 unknown name `tol`: use tool, parameters, dry_run, flow, domain, persona, tier"
        ]
    );
    let called = guardrail.replace("'tool.id =='", "'tool.name.lowercase() == \"x\"'");
    assert_eq!(
        problems(&[("guardrails/g.yaml", &called)]),
        ["guardrails/g.yaml:7:1 there is no function `lowercase`; did you mean `lowerAscii`?"]
    );
    let excepted = guardrail.replace(
        "when: 'tool.id =='\n",
        "when: 'true'\nexceptions:\n  - {condition: 'dry_run && now() > timestamp(0)', allow: true}\n",
    );
    let found = problems(&[("guardrails/g.yaml", &excepted)]);
    assert!(
        found[0].starts_with(
            "guardrails/g.yaml:9:6 `now` is not available: an expression depends only on its inputs"
        ),
        "{found:?}"
    );
    let loops = guardrail.replace(
        "'tool.id =='",
        "'parameters.ports.exists(port, port == 22)'",
    );
    assert_eq!(
        problems(&[("guardrails/g.yaml", &loops)]),
        Vec::<String>::new()
    );
    let skill = SKILL.replace("filter: \".[]\"", "filter: \".[\"");
    let found = problems(&[("skills/find.yaml", &skill)]);
    assert!(
        found[0].starts_with("skills/find.yaml:19:36 the filter does not compile"),
        "{found:?}"
    );
}

/// Nested loops are rejected at registration, with their line, before any call evaluates them.
#[test]
fn b000_12_an_expression_that_is_too_much_for_every_call_is_refused() {
    let nested = |levels: usize| {
        "[0,1,2,3,4,5,6,7,8,9].all(a,".repeat(levels) + "true" + &")".repeat(levels)
    };
    let guardrail = "guardrail_id: demo.g\nscope: global\napplies_to: ['*']\nrule: r\n\
                     enforcement: soft_warn\nmessage: m\n";
    let when = |levels| format!("{guardrail}when: '{}'\n", nested(levels));
    let excepted = |levels| {
        let condition = nested(levels);
        format!(
            "{guardrail}when: 'true'\nexceptions:\n  - {{condition: '{condition}', allow: true}}\n"
        )
    };
    let costly = "the expression reads too much data";
    for (file, line) in [(when(10), "7:1"), (excepted(10), "9:6")] {
        let found = problems(&[("guardrails/g.yaml", &file)]);
        let expected = format!("guardrails/g.yaml:{line} {costly}");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(&expected), "{found:?}");
    }
    for file in [when(3), excepted(3)] {
        let found = problems(&[("guardrails/g.yaml", &file)]);
        assert_eq!(found, Vec::<String>::new());
    }
}

/// A schema's problem is reported with its line, and a limit with its name.
#[test]
fn a_schema_that_takes_too_much_is_refused() {
    let of = |schema: &str| format!("{TOOL}output_schema:\n{schema}");
    let small = of("  type: array\n  items: {type: string, pattern: '^sg-'}\n");
    assert_eq!(
        problems(&[("tools/list.yaml", &small)]),
        Vec::<String>::new()
    );
    let mut doubles = "  items: {$ref: '#/$defs/a0'}\n  $defs:\n".to_owned();
    for at in 0..14 {
        let next = format!("{{$ref: '#/$defs/a{}'}}", at + 1);
        doubles += &format!("    a{at}: {{oneOf: [{next}, {next}]}}\n");
    }
    doubles += "    a14: {type: string}\n";
    let found = problems(&[("tools/list.yaml", &of(&doubles))]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("exceeds the limit SCHEMA_EXPANSION of 4000"),
        "{found:?}"
    );
    let circle = of("  $defs:\n    a: {allOf: [{$ref: '#/$defs/a'}]}\n  $ref: '#/$defs/a'\n");
    let found = problems(&[("tools/list.yaml", &circle)]);
    assert!(
        found[0].contains("applies to the same value as itself"),
        "{found:?}"
    );
}

/// The check of a schema costs something, regardless of its result.
#[test]
fn all_schemas_of_a_package_have_one_allowance() {
    let tools = (0..105).map(|at| {
        let tool = TOOL.replace("demo.list", &format!("demo.t{at:03}"));
        let schema = "output_schema: {$ref: '#'}\n";
        (format!("tools/t{at:03}.yaml"), format!("{tool}{schema}"))
    });
    let tools: Vec<(String, String)> = tools.collect();
    let tools: Vec<(&str, &str)> = tools
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let found = problems(&tools);
    let (first, last) = (&found[0], &found[found.len() - 1]);
    assert!(
        first.starts_with("tools/t000.yaml:") && first.contains("to the same value as itself"),
        "{found:?}"
    );
    assert!(
        last.starts_with("tools/t104.yaml:")
            && last.contains("exceed the limit PACKAGE_SCHEMA_PARTS of 1000000"),
        "{found:?}"
    );
}

#[test]
fn a_tool_that_frames_its_request_is_refused() {
    let script = "implementation: {type: script, path: scripts/list.py}";
    let http = "implementation:\n  type: http\n  method: GET\n  url: https://example.com/\n  \
                headers: {Content-Length: '7', x-token: t, Proxy-Authorization: p}";
    let tool = TOOL.replace("language: python", "language: http");
    let mut found = problems(&[("tools/list.yaml", &tool.replace(script, http))]);
    found.retain(|problem| problem.contains("the header"));
    assert_eq!(
        found,
        [
            "tools/list.yaml:15:13 a tool cannot set the header `Content-Length`",
            "tools/list.yaml:15:46 a tool cannot set the header `Proxy-Authorization`"
        ]
    );
}

#[test]
fn what_refers_to_nothing_is_refused() {
    let skill = SKILL.replace("demo.list", "demo.lits");
    assert_eq!(
        problems(&[("skills/find.yaml", &skill)]),
        ["skills/find.yaml:15:7 there is no tool `demo.lits`"]
    );
    let tool = TOOL.replace("scripts/list.py", "scripts/gone.py");
    assert_eq!(
        problems(&[("tools/list.yaml", &tool)]),
        ["tools/list.yaml:11:32 the package has no file `scripts/gone.py`"]
    );
    let skill = SKILL.replace("{region: \"${user.region}\"}", "{region: null, regin: 1}");
    assert_eq!(
        problems(&[("skills/find.yaml", &skill)]),
        [
            "skills/find.yaml:16:7 the tool `demo.list` needs the parameter `region`",
            "skills/find.yaml:16:34 the tool `demo.list` has no parameter `regin`",
        ]
    );
    let test = "- query: find things\n  expect: demo.fnd\n";
    assert_eq!(
        problems(&[("tests/routing.yaml", test)]),
        ["tests/routing.yaml:2:3 there is no skill or playbook `demo.fnd`"]
    );
}

/// The skill of seed 000 declares no parameters and maps none, and its tools need two.
#[test]
fn a_skill_that_maps_nothing_passes_its_parameters_on_by_name() {
    let unmapped = SKILL.replace("      parameters: {region: \"${user.region}\"}\n", "");
    assert_eq!(
        problems(&[("skills/find.yaml", &unmapped)]),
        Vec::<String>::new()
    );
    let own = "parameters:\n  - {name: region, type: string, default: eu-west-1}\n";
    let undeclared = unmapped.replace(own, "");
    assert_eq!(
        problems(&[("skills/find.yaml", &undeclared)]),
        Vec::<String>::new()
    );
    let other = own.replace("string, default: eu-west-1", "integer");
    let of_another_type = unmapped.replace(own, &other);
    let found = problems(&[("skills/find.yaml", &of_another_type)]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].ends_with("the tool `demo.list` needs the parameter `region`"),
        "{found:?}"
    );
}

/// B000-19: a record needs a link, so a tool's evidence comes from a cloud with a known console, or the tool names the
/// page; not both.
#[test]
fn b000_19_evidence_without_a_valid_link_is_refused() {
    let evidence = |system: &str, console: &str| {
        format!("{TOOL}evidence:\n  type: api_call\n  system: {system}\n{console}")
    };
    let page = "  console: {label: View order, href: 'https://shop.example/${native_id}'}\n";
    let check = |tool: String| problems(&[("tools/list.yaml", &tool)]);
    let line = TOOL.lines().count() + 3;
    assert_eq!(
        check(evidence("shop.orders", "")),
        [format!(
            "tools/list.yaml:{line}:3 no cloud console shows `shop.orders`: write aws.…, azure.… or gcp.…, or set \
             `console` to the page that shows the original"
        )]
    );
    assert_eq!(
        check(evidence("aws.ec2", page)),
        [format!(
            "tools/list.yaml:{}:3 links for `aws.ec2` are built from type, source and native id: remove `console`",
            line + 1
        )]
    );
    assert!(check(evidence("shop.orders", page)).is_empty());
}

/// Ruling 8: a skill has one owner.
#[test]
fn a_skill_of_two_agents_is_refused() {
    let agent = |id: &str| {
        format!(
            "agent_id: {id}\nname: a\ndisplay_name: A\nagent_type: domain\ndomain: security\nskill_refs: [demo.find]\n"
        )
    };
    let found = problems(&[
        ("agents/a.yaml", &agent("demo.a")),
        ("agents/b.yaml", &agent("demo.b")),
    ]);
    assert_eq!(
        found,
        [
            "agents/a.yaml:6:14 the skill `demo.find` already belongs to the agent `demo.b`",
            "agents/b.yaml:6:14 the skill `demo.find` already belongs to the agent `demo.a`",
        ]
    );
}

/// The tenant comes from the credential, never from a document.
#[test]
fn another_tenants_id_is_refused() {
    let skill = format!("{SKILL}tenant_id: umbrella\n");
    assert_eq!(
        problems(&[("skills/find.yaml", &skill)]),
        [
            "skills/find.yaml:20:1 the document names a tenant other than the one it is registered for"
        ]
    );
}

#[test]
fn one_id_twice_is_refused() {
    assert_eq!(
        problems(&[("tools/again.yaml", TOOL)]),
        ["tools/list.yaml:2:1 the tool `demo.list` is duplicated"]
    );
}

const POLICY: &str = r#"
policy_id: demo.readers
title: Who may list
governs: [demo.*]
cedar: |
  @id("operators")
  permit (principal in Role::"operator", action in Action::"read", resource)
  when { context.parameters.region like "eu-*" };
tests:
  - {name: an operator may, principal: {role: operator}, tool: demo.list, arguments: {region: eu-west-1}, expect: allow}
  - {name: a user may not, tool: demo.list, arguments: {region: eu-west-1}, expect: deny}
"#;

#[test]
fn a_sound_policy_in_yaml_or_in_a_file_has_no_problem() {
    assert_eq!(
        problems(&[("policies/readers.yaml", POLICY)]),
        Vec::<String>::new()
    );
    let start = POLICY.find("cedar:").unwrap();
    let end = POLICY.find("tests:").unwrap();
    let file = format!(
        "{}file: policies/readers.cedar\n{}",
        &POLICY[..start],
        &POLICY[end..]
    );
    let text = "@id(\"operators\")\npermit (principal in Role::\"operator\", action, resource);\n";
    let found = problems(&[
        ("policies/readers.yaml", &file),
        ("policies/readers.cedar", text),
    ]);
    assert_eq!(found, Vec::<String>::new());
    let broken = text.replace("action,", "action in Action::\"write\",");
    let found = problems(&[
        ("policies/readers.yaml", &file),
        ("policies/readers.cedar", &broken),
    ]);
    assert_eq!(
        found,
        [
            "policies/readers.cedar:1:1 the scope of the rule `operators` matches no tool that this policy governs"
        ]
    );
    assert_eq!(
        problems(&[("policies/readers.yaml", &file)]),
        ["policies/readers.yaml:5:1 the package has no file `policies/readers.cedar`"]
    );
    let both = format!("{POLICY}file: policies/readers.cedar\n");
    assert_eq!(
        problems(&[
            ("policies/readers.yaml", &both),
            ("policies/readers.cedar", text)
        ]),
        ["policies/readers.yaml:12:1 a policy has either `cedar` or `file`, not both"]
    );
}

#[test]
fn a_policy_that_does_not_parse_or_hold_is_shown_at_its_line() {
    let found = |from: &str, to: &str| {
        assert!(POLICY.contains(from));
        problems(&[("policies/readers.yaml", &POLICY.replace(from, to))])
    };
    assert_eq!(
        found("parameters.region", "parameters.regin"),
        [
            "policies/readers.yaml:8:10 for the tool `demo.list`: for policy `demo.readers#operators`, \
          attribute `parameters.regin` in context for Action::\"demo.list\" not found"
        ]
    );
    let parse = found("principal in Role::\"operator\",", "principal in,");
    assert_eq!(parse.len(), 1);
    assert!(
        parse[0].starts_with("policies/readers.yaml:7:23 unexpected token `,`"),
        "{parse:?}"
    );
    let folded = found("cedar: |", "cedar: >");
    assert_eq!(folded, Vec::<String>::new());
    let folded = POLICY
        .replace("cedar: |", "cedar: >")
        .replace("parameters.region", "parameters.regin");
    let folded = problems(&[("policies/readers.yaml", &folded)]);
    assert!(
        folded[0].starts_with("policies/readers.yaml:5:1 "),
        "{folded:?}"
    );
    assert!(
        folded[0].ends_with("(line 1, column 100 of the text)"),
        "{folded:?}"
    );
}

#[test]
fn a_failing_policy_test_refuses_the_package() {
    let wrong = POLICY.replace("expect: deny", "expect: allow");
    assert_eq!(
        problems(&[("policies/readers.yaml", &wrong)]),
        [
            "policies/readers.yaml:11:77 the test `a user may not` fails: expected allow, but the call is denied: no \
             rule of `demo.readers` permits it"
        ]
    );
    let unbound = POLICY.replace(
        "arguments: {region: eu-west-1}, expect: deny",
        "expect: deny",
    );
    assert_eq!(
        problems(&[("policies/readers.yaml", &unbound)]),
        [
            "policies/readers.yaml:11:45 the test `a user may not` fails: invalid arguments for `demo.list`: \
             `region` is missing: "
        ]
    );
}

/// Any file of a package may begin with a byte order mark; JSON files must be JSON.
#[test]
fn files_are_read_however_their_editor_saved_them() {
    let marked = |text: &str| format!("\u{feff}{text}");
    let policy =
        "policy_id: demo.readers\ntitle: t\ngoverns: [demo.*]\nfile: policies/readers.cedar\n";
    let cedar = "@id(\"a\") permit (principal, action, resource);\n";
    let domain =
        r#"{"domain_id": "crabs", "display_name": "\ud83e\udd80", "domain_type": "domain"}"#;
    let changes = [
        ("package.yaml", marked(MANIFEST_TEXT)),
        ("tools/list.yaml", marked(&TOOL.replace('\n', "\r\n"))),
        ("skills/find.yaml", SKILL.replace('\n', "\r")),
        ("policies/readers.yaml", marked(policy)),
        ("policies/readers.cedar", marked(cedar)),
        ("domains/crabs.json", marked(domain)),
    ];
    let changes: Vec<(&str, &str)> = changes
        .iter()
        .map(|(path, text)| (*path, text.as_str()))
        .collect();
    let reading = read(files(&changes), &Cancellation::default());
    let messages: Vec<&str> = reading
        .problems
        .iter()
        .map(|p| p.message.as_str())
        .collect();
    assert_eq!(messages, [""; 0]);
    let package = reading.package.unwrap();
    let domain = package.documents.iter().find_map(|d| match &d.value {
        Document::Domain(domain) => Some(domain.display_name.as_str()),
        _ => None,
    });
    assert_eq!(domain, Some("\u{1f980}"));
    let policy = package.documents.iter().find_map(|d| match &d.value {
        Document::Policy(policy) => policy.cedar.as_ref().map(Text::as_str),
        _ => None,
    });
    assert_eq!(policy, Some(cedar));
    let broken = [("domains/crabs.json", "{\"domain_id\": \"crabs\",}")];
    let reading = read(files(&broken), &Cancellation::default());
    let problem = &reading.problems[0];
    assert_eq!(
        (
            problem.file.as_str(),
            problem.line,
            problem.column,
            problem.message.as_str()
        ),
        (
            "domains/crabs.json",
            1,
            23,
            "not valid JSON: trailing comma"
        )
    );
}

#[test]
fn a_policy_that_governs_nothing_here_is_warned_about() {
    let policy = POLICY.replace("[demo.*]", "[dmeo.*]");
    let policy = &policy[..policy.find("tests:").unwrap()];
    assert_eq!(
        problems(&[("policies/readers.yaml", policy)]),
        ["policies/readers.yaml:5:1 it governs no registered tool, so its rules were only parsed"]
    );
}

/// Policies in force must stay valid for the new version of a tool.
#[test]
fn a_tool_that_would_break_another_packages_policy_is_refused() {
    let policy: charter_contract::catalogue::policy::Policy = serde_json::from_value(serde_json::json!({
        "policy_id": "other.readers", "title": "t", "governs": ["demo.*"],
        "cedar": "@id(\"a\") permit (principal, action, resource) when { context.parameters.zone == \"a\" };",
    }))
    .unwrap();
    let other = Arc::new(Origin {
        scope: Scope::Global,
        package: PackageName::parse("other").unwrap(),
        version: "1.0.0".into(),
    });
    let before = catalogue().with_package(&other, [(Document::Policy(policy), String::new())]);
    let package = read(files(&[]), &Cancellation::default()).package.unwrap();
    let scope = Scope::Tenant(TenantId::parse("acme").unwrap());
    let origin = Arc::new(Origin {
        scope: scope.clone(),
        package: package.manifest.value.name.clone(),
        version: "1.0.0".into(),
    });
    let documents = package
        .documents
        .iter()
        .map(|d| (d.value.clone(), String::new()));
    let after = before.with_package(&origin, documents);
    let against = Against {
        scope: &scope,
        before: &before,
        after: &after,
        origin: &origin,
        cancel: &Cancellation::default(),
    };
    let found: Vec<String> = check(&package, &against)
        .iter()
        .map(|p| format!("{}:{} {}", p.file, p.line, p.message))
        .collect();
    assert_eq!(
        found,
        [
            "tools/list.yaml:9 the policy `other.readers` of the package `other` would become invalid for this tool: \
             for policy `other.readers#a`, attribute `parameters.zone` in context for Action::\"demo.list\" not found"
        ]
    );
}
