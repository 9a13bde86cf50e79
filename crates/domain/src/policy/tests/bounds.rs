//! Rules that exceed a limit are rejected at registration; rules that were registered before the limit deny calls.

use std::time::{Duration, Instant};

use super::*;

/// Builds a true condition with a tree of this depth.
type Deep = fn(usize) -> String;

/// All nested constructs of rules.
const DEEP: [(&str, Deep); 11] = [
    ("brackets", |n| nested("(", n, "true", ")")),
    ("if in a condition", |n| {
        nested("if ", n, "true", " then true else true")
    }),
    ("else if", |n| "if true then true else ".repeat(n) + "true"),
    ("sets", |n| {
        let set = nested("[", n, "1", "]");
        format!("{set} == {set}")
    }),
    ("records", |n| {
        let record = nested("{a: ", n, "1", "}");
        format!("{record} == {record}")
    }),
    ("calls", |n| nested("[true].contains(", n, "true", ")")),
    ("&&", |n| "true && ".repeat(n) + "true"),
    ("||", |n| "false || ".repeat(n) + "true"),
    ("+", |n| format!("{}1 == {}", "1 + ".repeat(n), n + 1)),
    ("not", |n| nested("!(", n, "true", ")")),
    ("conditions", |n| "true } when { ".repeat(n) + "true"),
];

/// Constructs that Cedar rejects for another reason at any length.
const ODD: [(&str, Deep); 3] = [
    ("members", |n| "context".to_owned() + &".a".repeat(n)),
    ("indexes", |n| "context".to_owned() + &"[\"a\"]".repeat(n)),
    ("a row of !", |n| "!".repeat(n) + "true"),
];

fn nested(open: &str, levels: usize, within: &str, close: &str) -> String {
    open.repeat(levels) + within + &close.repeat(levels)
}

fn is_of_a_limit(fault: &str) -> bool {
    fault.contains("(CEDAR_")
}

#[test]
fn rules_of_some_hundred_levels_are_checked_decided_and_explained() {
    for (name, deep) in DEEP {
        let rule = permit(&deep(200));
        assert_eq!(errors(&rule), Vec::<String>::new(), "{name}");
        assert_eq!(call().by(&rule), ALLOWED, "{name}");
        let view = view(&[lock()], &[policy("p.one", "aws.*", &rule)], &[]);
        let (_, heard) = call().explain(&view);
        assert!(
            matches!(heard.as_slice(), [PolicyStatement::Rule(_)]),
            "{name}"
        );
    }
    for (name, deep) in ODD {
        let found = errors(&permit(&deep(200)));
        assert!(!found.is_empty(), "{name}");
        assert!(
            !found.iter().any(|fault| is_of_a_limit(fault)),
            "{name}: {found:?}"
        );
    }
}

#[test]
fn deeper_rules_are_refused_and_deny_where_they_were_registered_before() {
    for (name, deep) in DEEP.into_iter().chain(ODD) {
        for levels in [1_000, 2_500] {
            let rule = permit(&deep(levels));
            let found = errors(&rule);
            assert!(
                found.iter().all(|fault| is_of_a_limit(fault)),
                "{name}: {found:?}"
            );
            assert_eq!(found.len(), 1, "{name}: {found:?}");
            let decided = call().by(&rule);
            assert!(
                decided.starts_with("denied: `p.one` failed: "),
                "{name}: {decided}"
            );
            let view = view(&[lock()], &[policy("p.one", "aws.*", &rule)], &[]);
            let (decision, heard) = call().explain(&view);
            assert!(matches!(decision, PolicyDecision::Deny(_)), "{name}");
            assert!(
                matches!(heard.as_slice(), [PolicyStatement::Failure(_)]),
                "{name}: {heard:?}"
            );
        }
    }
}

/// Rules `a0`, `a1` and so on that permit everything.
fn rules(count: usize) -> String {
    let rules =
        (0..count).map(|n| format!("@id(\"a{n}\") permit (principal, action, resource);\n"));
    rules.collect()
}

#[test]
fn a_tool_that_more_rules_or_longer_texts_govern_than_are_asked_is_denied() {
    let two = |first: usize, second: usize| {
        [
            policy("p.one", "aws.*", &rules(first)),
            policy("p.two", "aws.*", &rules(second)),
        ]
    };
    let decided = |policies: &[Policy]| call().decide(&view(&[lock()], policies, &[])).to_string();
    assert!(decided(&two(300, 200)).starts_with("allowed by "));
    let refused = "denied: more than 500 rules of one layer govern the tool `aws.lock`";
    assert!(decided(&two(300, 201)).starts_with(refused));
    let long = format!("// {}\n{}", "a".repeat(60_000), rules(1));
    let texts: Vec<Policy> = (0..5)
        .map(|n| policy(&format!("p.p{n}"), "aws.*", &long))
        .collect();
    assert!(decided(&texts[..4]).starts_with("allowed by "));
    let denied = decided(&texts);
    assert!(
        denied.contains("bytes of Cedar; the limit is 262144"),
        "{denied}"
    );
    let crowd = |policies: &[Policy]| crowded(&view(&[lock()], policies, &[]), |_, _| true);
    assert_eq!(crowd(&two(300, 200)), None);
    assert!(crowd(&two(300, 201)).is_some_and(|why| is_of_a_limit(&why)));
    assert_eq!(crowd(&texts[..4]), None);
    assert!(crowd(&texts).is_some_and(|why| is_of_a_limit(&why)));
    assert_eq!(crowded(&view(&[lock()], &texts, &[]), |_, _| false), None);
}

/// Rules for other tools do not count, even if their documents govern all tools.
#[test]
fn rules_about_other_tools_do_not_count() {
    let tools: Vec<Tool> = (0..600)
        .map(|n| tool(&format!("aws.t{n}"), "write", &json!([])))
        .collect();
    let of = |n: usize| {
        format!("@id(\"a{n}\") permit (principal, action == Action::\"aws.t{n}\", resource);\n")
    };
    let policies = [
        policy("p.one", "aws.*", &(0..300).map(of).collect::<String>()),
        policy("p.two", "aws.*", &(300..600).map(of).collect::<String>()),
    ];
    assert_eq!(crowded(&view(&tools, &policies, &[]), |_, _| true), None);
}

#[test]
fn many_policies_over_many_tools_are_refused_at_once() {
    let declared = |n: usize| json!([{"name": format!("p{n}"), "type": "string"}]);
    let differ: Vec<Tool> = (0..200)
        .map(|n| tool(&format!("aws.t{n}"), "write", &declared(n)))
        .collect();
    let alike: Vec<Tool> = (0..200)
        .map(|n| tool(&format!("aws.t{n}"), "write", &declared(0)))
        .collect();
    let policies: Vec<Policy> = (0..150)
        .map(|n| policy(&format!("p.p{n}"), "aws.*", &rules(1)))
        .collect();
    let found = |tools: &[Tool]| {
        let policies: Vec<&Policy> = policies.iter().collect();
        let found = misfits(&policies, &view(tools, &[], &[]), &mut Checks::default());
        let found = found.into_iter().flatten();
        let errors = found.filter_map(|misfit| match misfit {
            Misfit::Error(fault) => Some(fault.message),
            Misfit::Warning(_) => None,
        });
        errors.collect::<Vec<String>>()
    };
    let started = Instant::now();
    let refused = found(&differ);
    assert_eq!(refused.len(), policies.len());
    assert!(
        refused.iter().all(|fault| fault.contains("(CEDAR_CHECKS)")),
        "{refused:?}"
    );
    // Their declarations are equal, so they are checked as one.
    assert_eq!(found(&alike), Vec::<String>::new());
    let crowd: Vec<Policy> = (0..1_000)
        .map(|n| policy(&format!("p.p{n}"), "aws.*", &rules(1)))
        .collect();
    let why = crowded(&view(&differ, &crowd, &[]), |_, _| true);
    assert!(why.is_some_and(|why| is_of_a_limit(&why)));
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
}

/// A rule names one of two tools with equal declarations, so the tools must be checked separately.
#[test]
fn a_tool_that_a_rule_names_is_checked_for_itself() {
    let tools = [
        tool("aws.one", "write", &json!([])),
        tool("aws.two", "write", &json!([])),
    ];
    let named = permit("action == Action::\"aws.two\" && context.parameters.region == \"x\"");
    let policy = policy("p.one", "aws.*", &named);
    let faults: Vec<String> = misfits_of(&policy, &view(&tools, &[], &[]))
        .filter_map(|misfit| match misfit {
            Misfit::Error(fault) => Some(fault.message),
            Misfit::Warning(_) => None,
        })
        .collect();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(
        faults[0].starts_with("for the tool `aws.two`: "),
        "{faults:?}"
    );
}

#[test]
fn arguments_with_more_than_is_put_to_policies_are_denied() {
    let mut asked = call();
    asked.arguments["rules"] = json!(vec![1; 10_000]);
    assert_eq!(
        asked.by(&permit("context.parameters.rules.length == 10000")),
        ALLOWED
    );
    asked.arguments["rules"] = json!(vec![1; 30_000]);
    let decided = asked.by(&permit("true"));
    assert!(
        decided.starts_with("denied: the arguments have "),
        "{decided}"
    );
    let mut asked = call();
    asked.arguments["region"] = json!("a".repeat(4 << 20));
    assert_eq!(
        asked.by(&permit("context.parameters.region like \"a*\"")),
        ALLOWED
    );
    let like = format!("context.parameters.region like \"*{}b*\"", "a".repeat(500));
    let decided = asked.by(&permit(&like));
    assert!(
        decided.starts_with("denied: the policies would take "),
        "{decided}"
    );
}
