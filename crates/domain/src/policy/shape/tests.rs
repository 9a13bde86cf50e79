use proptest::prelude::*;

use super::*;

fn rule(condition: &str) -> String {
    format!("@id(\"a\") permit (principal, action, resource) when {{ {condition} }};")
}

/// Returns the result for a rule with this condition, in short form.
fn of_rule(condition: &str) -> &'static str {
    match shape(&rule(condition)) {
        Ok(_) => "passes",
        Err(fault) if fault.message.contains("(CEDAR_LEVELS)") => "levels",
        Err(fault) if fault.message.contains("(CEDAR_OPERATORS)") => "operators",
        Err(fault) if fault.message.contains("(CEDAR_BRACKETS)") => "brackets",
        Err(fault) if fault.message.contains("(CEDAR_LIKE_BYTES)") => "like",
        Err(_) => "otherwise",
    }
}

/// Builds a condition with a tree of about this depth.
type Deep = fn(usize) -> String;

const DEEP: [(&str, Deep); 14] = [
    ("brackets", |n| {
        format!("{}true{}", "(".repeat(n), ")".repeat(n))
    }),
    ("if in a condition", |n| {
        format!(
            "{}true{}",
            "if ".repeat(n),
            " then true else true".repeat(n)
        )
    }),
    ("else if", |n| "if true then true else ".repeat(n) + "true"),
    ("sets", |n| {
        format!("{}1{} == [1]", "[".repeat(n), "]".repeat(n))
    }),
    ("records", |n| {
        format!("{}1{} == {{}}", "{a: ".repeat(n), "}".repeat(n))
    }),
    ("calls", |n| {
        format!("{}true{}", "[true].contains(".repeat(n), ")".repeat(n))
    }),
    ("&&", |n| "true && ".repeat(n) + "true"),
    ("||", |n| "false || ".repeat(n) + "true"),
    ("+", |n| "1 + ".repeat(n) + "1 == 1"),
    ("members", |n| "context".to_owned() + &".a".repeat(n)),
    ("indexes", |n| "context".to_owned() + &"[\"a\"]".repeat(n)),
    ("not", |n| {
        format!("{}true{}", "!(".repeat(n), ")".repeat(n))
    }),
    ("in a row of !", |n| "!".repeat(n) + "true"),
    ("conditions", |n| "true } when { ".repeat(n) + "true"),
];

/// Every form for which the recursion of Cedar, or of code that reads its rules, is as deep as the text is long.
#[test]
fn every_deep_shape_is_refused_and_a_usual_one_passes() {
    for (name, deep) in DEEP {
        assert_eq!(of_rule(&deep(200)), "passes", "{name}");
        assert_eq!(of_rule(&deep(300)), "levels", "{name}");
        assert_ne!(of_rule(&deep(1_000)), "passes", "{name}");
        let most = CEDAR_BYTES / deep(100).len() * 100 / 2;
        assert_ne!(of_rule(&deep(most)), "passes", "{name} {most}");
    }
}

#[test]
fn long_flat_rules_pass() {
    let strings = "\"x\", ".repeat(10_000);
    let clauses = "context.parameters.region == \"eu-west-1\" || ".repeat(100);
    let fields: String = (0..2_000).map(|n| format!("f{n}: {n}, ")).collect();
    let flat = [
        format!("[{strings}].contains(principal.user)"),
        format!("{clauses}false"),
        format!("({clauses}false) && ({clauses}true)"),
        format!("{{ {fields} }} == {{}}"),
        "principal in [Role::\"user\", Role::\"admin\"] && context has a.b.c".to_owned(),
        // Texts and comments contain no operators.
        format!("\"{}\" == \"\\\"(\"", "(&&[".repeat(2_000)),
        format!("true // {}\n && true", "(".repeat(5_000)),
    ];
    for condition in flat {
        assert_eq!(of_rule(&condition), "passes", "{condition:.60}");
    }
}

#[test]
fn a_text_with_much_of_one_thing_is_refused() {
    let cases = [
        (rule("true").repeat(501), "more than 500 rules"),
        (rule(&"(true), ".repeat(4_001)), "more than 4000 brackets"),
        (
            rule(&format!("principal.user like \"{}*\"", "a".repeat(1_024))),
            "the pattern of this `like` has 1025 bytes",
        ),
        (
            rule(&format!("principal.user like (\"{}*\")", "a".repeat(1_024))),
            "the pattern of this `like` has 1025 bytes",
        ),
        (" ".repeat(CEDAR_BYTES + 1), "the limit is 65536"),
    ];
    for (text, message) in cases {
        let found = shape(&text).unwrap_err().message;
        assert!(found.contains(message), "{found}");
    }
    let many = "[true].contains(true) && ".repeat(400) + "true";
    assert_eq!(of_rule(&format!("({many}) || ({many})")), "operators");
}

#[test]
fn a_fault_shows_the_rule_that_it_is_in() {
    let deep = rule(&("(".repeat(300) + "true" + &")".repeat(300)));
    let text = format!("{}\n{deep} {}", rule("true"), rule("false"));
    let fault = shape(&text).unwrap_err();
    let span = fault.span.unwrap();
    assert_eq!(text.get(span), Some(deep.as_str()));
    assert_eq!(fault.advice.as_deref(), Some("split the rule"));
}

#[test]
fn rules_and_their_operators_are_counted() {
    let text = format!(
        "{}\n// {}\n{}",
        rule("1 + 1 == 2"),
        rule("!true"),
        rule("a.b(c)")
    );
    // For each rule: its scope, and its name, parameters and `when`.
    let expected = Shape {
        rules: 2,
        operators: (2 + 3) + (2 + 3),
    };
    assert_eq!(shape(&text), Ok(expected));
}

proptest! {
    /// Every text has a shape or a fault.
    #[test]
    fn a_shape_is_total(text in "[a-z{}()\\[\\]\".,;:&|!=<>+\\\\*/ @\nü-]{0,120}") {
        match shape(&text) {
            Ok(_) | Err(_) => {}
        }
    }
}
