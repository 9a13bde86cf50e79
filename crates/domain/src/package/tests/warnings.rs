//! Warnings of a registration, which do not stop it.

use super::*;

const GUARDRAIL: &str = "guardrail_id: demo.g\nscope: global\napplies_to: ['*']\nrule: r\n\
                         enforcement: hard_block\nmessage: m\n";

/// Ruling 30: the warning shows how to bind reads, and each of the conditions that it shows is accepted.
#[test]
fn ruling_30_a_guardrail_without_when_is_warned_about_with_the_conditions_that_bind_reads() {
    let changes = [("guardrails/g.yaml", GUARDRAIL)];
    let reading = read(files(&changes), &Cancellation::default());
    let [warning] = reading.problems.as_slice() else {
        panic!("{:#?}", reading.problems);
    };
    let place = (warning.gravity, warning.line, warning.keyword.as_str());
    assert_eq!(place, (Gravity::Warning, 5, "when"));
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

/// B000-23: both the skill and the agent lead to what is to be mended.
#[test]
fn b000_23_a_skill_that_no_caller_reaches_is_warned_about() {
    let advanced = format!("{SKILL}tier: advanced\n");
    let message = "the skill `demo.find` is of the tier advanced, and its agent supports no such tier: no caller \
                   reaches it";
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
