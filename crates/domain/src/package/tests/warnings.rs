//! Warnings at registration, which do not prevent it.

use super::*;

const GUARDRAIL: &str = "guardrail_id: demo.g\nscope: global\napplies_to: ['*']\nrule: r\n\
                         enforcement: hard_block\nmessage: m\n";

/// Ruling 30: the warning shows conditions that extend the guardrail to reads, and each of them is valid.
#[test]
fn ruling_30_a_guardrail_without_when_is_warned_about_with_the_conditions_that_bind_reads() {
    let changes = [("guardrails/g.yaml", GUARDRAIL)];
    let reading = read(files(&changes), &Cancellation::default());
    let [warning] = reading.problems.as_slice() else {
        panic!("{:#?}", reading.problems);
    };
    let place = (warning.severity, warning.line, warning.keyword.as_str());
    assert_eq!(place, (ProblemSeverity::Warning, 5, "when"));
    let suggestion = warning.suggestion.as_deref().unwrap();
    let conditions: Vec<&str> = suggestion.split('`').skip(1).step_by(2).collect();
    assert_eq!(
        conditions,
        [
            "when: \"true\"",
            "when: 'tool.tool_class == \"readonly\"'",
            "when: 'tool.tool_class == \"write\"'",
        ]
    );
    for condition in conditions {
        let guardrail = format!("{GUARDRAIL}{condition}\n");
        let found = problems(&[("guardrails/g.yaml", &guardrail)]);
        assert_eq!(found, Vec::<String>::new(), "{condition}");
    }
}

const AGENT: &str = "agent_id: demo.agent\nname: agent\ndisplay_name: Agent\nagent_type: domain\n\
                     domain: security\nskill_refs: [demo.find]\ntier_support: [basic]\n";

/// B000-23: the warning appears both at the skill and at the agent.
#[test]
fn b000_23_a_skill_that_no_caller_reaches_is_warned_about() {
    let advanced = format!("{SKILL}tier: advanced\n");
    let message = "the skill `demo.find` has the tier advanced, which its agent does not support: no caller can \
                   reach it";
    let line = SKILL.lines().count() + 1;
    assert_eq!(
        problems(&[("skills/find.yaml", &advanced), ("agents/a.yaml", AGENT)]),
        [
            format!("agents/a.yaml:6:14 {message}"),
            format!("skills/find.yaml:{line}:1 {message}"),
        ]
    );
    let both = AGENT.replace("[basic]", "[basic, advanced]");
    let found = problems(&[("skills/find.yaml", &advanced), ("agents/a.yaml", &both)]);
    assert_eq!(found, Vec::<String>::new());
    let found = problems(&[("agents/a.yaml", AGENT)]);
    assert_eq!(found, Vec::<String>::new());
}

const PLAYBOOK: &str = "playbook_id: demo.mend\nname: Mend\ndomain: security\n\
                        trigger_conditions: [thing_is_broken]\nmandatory_parameters:\n\
                        \x20 - {name: region, type: string}\nsteps:\n\
                        \x20 - {step_id: look, type: readonly, tool_id: demo.list, parameters: {region: \"${user.region}\"}}\n\
                        safety: {safety_class: supervised}\n";

/// B000-20: a trigger needs a playbook that names it and defines how findings fill its parameters.
#[test]
fn b000_20_a_trigger_that_leads_nowhere_is_warned_about() {
    let triggering = SKILL.replace(
        "filter: \".[]\"}",
        "filter: \".[]\", triggers: [thing_is_broken]}",
    );
    let mapped = format!("{PLAYBOOK}parameters_from_findings: '{{region: .[0].fields.region}}'\n");
    let warned = |changes: &[(&str, &str)]| {
        let found = problems(changes);
        assert!(found.len() <= 1, "{found:#?}");
        found.first().map(|found| {
            let (_, message) = found.split_once(' ').unwrap();
            message.to_owned()
        })
    };
    let skill = ("skills/find.yaml", triggering.as_str());
    assert_eq!(
        warned(&[skill]).as_deref(),
        Some("no playbook has the trigger condition `thing_is_broken`, so none will be offered")
    );
    let unmapped = warned(&[skill, ("playbooks/mend.yaml", PLAYBOOK)]).unwrap();
    assert!(
        unmapped.ends_with("has `parameters_from_findings`, so none will be offered"),
        "{unmapped}"
    );
    assert_eq!(warned(&[skill, ("playbooks/mend.yaml", &mapped)]), None);
    let broken = format!("{PLAYBOOK}parameters_from_findings: '.[ | x'\n");
    assert!(warned(&[("playbooks/mend.yaml", &broken)]).is_some());
}

const MIXED: &str = r"
tool_id: demo.list
name: list
provider: demo
tool_class: readonly
domain: security
description: Lists things.
language: python
input_schema: {properties: {region: {type: string}, title: {type: [string, integer]}}}
implementation: {type: script, path: scripts/list.py}
";

/// A tool that no policy reads the arguments of has no warning about them, as after an import.
#[test]
fn opaque_arguments_are_warned_about_where_a_policy_reads_arguments() {
    let policy = |condition: &str| {
        format!(
            "policy_id: demo.p\ntitle: t\ngoverns: [demo.*]\ncedar: |\n  \
             @id(\"one\") permit (principal, action, resource) when {{ {condition} }};\n"
        )
    };
    let warned = |policy: Option<String>| {
        let mut changes = vec![("tools/list.yaml", MIXED)];
        changes.extend(policy.as_deref().map(|text| ("policies/p.yaml", text)));
        problems(&changes)
    };
    assert_eq!(warned(None), Vec::<String>::new());
    assert_eq!(
        warned(Some(policy("resource.id == \"demo.list\""))),
        Vec::<String>::new()
    );
    let reading = policy("context.parameters has region && context.parameters.region == \"a\"");
    let found = warned(Some(reading));
    let [warning] = found.as_slice() else {
        panic!("{found:#?}");
    };
    let message = "policies cannot look into `title`: the values have several types";
    assert!(warning.starts_with("tools/list.yaml:"), "{warning}");
    assert!(warning.ends_with(message), "{warning}");
}
