use serde_json::json;

use super::*;

fn refused(source: &str) -> String {
    Filter::compile(source).unwrap_err().to_string()
}

#[test]
fn what_does_not_compile_says_where() {
    assert_eq!(
        refused(".a |\n  .b[0"),
        "the filter does not compile: closing bracket is expected where the filter ends (2:7)"
    );
    assert_eq!(
        refused(".[] | selct(.x)"),
        "the filter does not compile: the filter `selct` is not defined (1:7)"
    );
    assert_eq!(
        refused(&".".repeat(JQ_BYTES + 1)),
        FilterError::TooLong.to_string()
    );
}

/// A filter that nests as deep as the number.
type Deep = fn(usize) -> String;

/// Each way in which a filter nests.
const DEEP: [(&str, Deep); 12] = [
    ("arrays", |n| nested("[", n, "1", "]")),
    ("brackets", |n| nested("(", n, "1", ")")),
    ("objects", |n| nested("{a:", n, "1", "}")),
    ("paths", |n| nested(".[", n, "0", "]")),
    ("texts", |n| nested("\"\\(", n, "1", ")\"")),
    ("signs", |n| "-".repeat(n) + "1"),
    ("pipes", |n| ".|".repeat(n) + "."),
    ("commas", |n| "1,".repeat(n) + "1"),
    ("sums", |n| "1+".repeat(n) + "1"),
    ("try", |n| "try ".repeat(n) + "1"),
    ("if", |n| nested("if ", n, "1", " then 1 end")),
    ("definitions", |n| nested("def f: ", n, "1", "; 1")),
];

/// jq writes a character above U+FFFF as JSON does.
#[test]
fn two_escapes_of_one_character_are_one_in_a_filter() {
    let emitted = |source: &str| {
        let filter = Filter::compile(source).unwrap();
        filter
            .run(&serde_json::json!({"a": "\u{1f980}"}), 9)
            .unwrap()
    };
    assert_eq!(
        emitted(r#"select(.a == "\ud83e\udd80") | "x\uD83E\uDD80\("y")""#),
        ["x\u{1f980}y"]
    );
    assert_eq!(emitted(r#""\\ud83e\\udd80""#), [r"\ud83e\udd80"]);
    assert!(refused(r#""\ud83e""#).starts_with("the filter does not compile: "));
}

fn nested(open: &str, levels: usize, within: &str, close: &str) -> String {
    open.repeat(levels) + within + &close.repeat(levels)
}

#[test]
fn a_filter_that_nests_deep_is_refused_and_a_usual_one_compiles() {
    for (name, deep) in DEEP {
        assert!(Filter::compile(&deep(100)).is_ok(), "{name}");
        for levels in [1_100, 1_800, 5_000] {
            match Filter::compile(&deep(levels)) {
                Err(FilterError::TooDeep(_)) => {}
                Err(FilterError::TooLong) if deep(levels).len() > JQ_BYTES => {}
                other => panic!("{name} {levels}: {other:?}"),
            }
        }
    }
    let open = "[".repeat(JQ_BYTES);
    assert!(matches!(
        Filter::compile(&open),
        Err(FilterError::TooDeep(_))
    ));
    // Chains of commas and pipes go on where a definition or a condition ends.
    let hidden = [
        format!("{{a: def f: 1; {}1}}", "1,".repeat(1_500)),
        format!("{{a: if 1 then 1 end, {}1}}", "(1),".repeat(1_500)),
        "1 | def f: 1; ".repeat(1_100) + "1",
    ];
    for filter in hidden {
        assert!(matches!(
            Filter::compile(&filter),
            Err(FilterError::TooDeep(_))
        ));
    }
    let fields: String = (0..1_200).map(|n| format!("f{n}: .a,")).collect();
    let long = [
        format!("{{{fields} last: .b}}"),
        format!("\"{}\" # {}", "[(|-".repeat(400), "[(|-".repeat(400)),
        ".a.b[0][1].c".repeat(200),
    ];
    for filter in long {
        let compiled = Filter::compile(&filter);
        assert!(compiled.is_ok(), "{compiled:?}");
    }
}

#[test]
fn a_filter_with_many_faults_reports_the_first() {
    let error = refused(&"[".repeat(1_000));
    assert!(error.len() < 2_000, "{error}");
}

#[test]
fn outputs_are_bounded_and_failures_are_values() {
    let filter = Filter::compile(".[]").unwrap();
    assert_eq!(
        filter.run(&json!([1, "a", null]), 3),
        Ok(vec![json!(1), json!("a"), json!(null)])
    );
    assert_eq!(filter.run(&json!([1, 2]), 1), Err(FilterError::TooMany(1)));
    assert!(matches!(
        filter.run(&json!(1), 1),
        Err(FilterError::Failed(_))
    ));
}

fn skill() -> Skill {
    serde_json::from_value(json!({
        "skill_id": "s.a", "name": "a", "domain": "s", "display_name": "A", "description": "d",
        "purpose": "p", "output_type": "finding",
        "execution_plan": {"steps": [{"step_id": "step_1", "type": "read", "tool_id": "t"}]},
        "analysis": {"findings": [{"rule_id": "open", "from": "step_1", "filter": ".[]"}]}
    }))
    .unwrap()
}

/// A finding's id follows from what was found, so that the same exposure keeps it.
#[test]
fn the_same_finding_keeps_its_id() {
    let skill = skill();
    let rule = &skill.analysis.as_ref().unwrap().findings[0];
    let emitted = |port: u16| {
        vec![
            json!({"severity": "high", "resource_type": "group", "resource_id": "sg-1", "port": port}),
        ]
    };
    let of = |port| findings(&skill, rule, emitted(port)).unwrap().remove(0);
    assert_eq!(of(22), of(22));
    assert_ne!(of(22).finding_id, of(80).finding_id);
    assert_eq!(
        of(22).fields,
        json!({"port": 22}).as_object().unwrap().clone()
    );
}

fn scored((id, score): (&str, Value)) -> Value {
    json!({"severity": "low", "resource_type": "t", "resource_id": id, "score": score})
}

/// What a rule scores comes in the order of its scores; texts and what has no score follow.
#[test]
fn findings_are_ordered_by_a_field() {
    let skill = skill();
    let rule = &skill.analysis.as_ref().unwrap().findings[0];
    let emitted = [
        ("a", json!(9)),
        ("b", json!(null)),
        ("c", json!(10.5)),
        ("d", json!("low")),
        ("e", json!(-3)),
        ("f", json!(9)),
        ("g", json!("mid")),
    ];
    let found = findings(&skill, rule, emitted.map(scored).to_vec()).unwrap();
    let mut found: Vec<(Finding, ())> = found.into_iter().map(|finding| (finding, ())).collect();
    for field in ["score", "missing"] {
        order_by(&mut found, field);
        let ids: String = found
            .iter()
            .map(|(finding, ())| finding.resource_id.to_string())
            .collect();
        assert_eq!(ids, "cafegdb", "{field}");
    }
}

#[test]
fn what_is_no_finding_is_refused_with_the_reason() {
    let skill = skill();
    let rule = &skill.analysis.as_ref().unwrap().findings[0];
    let cases = [
        (
            json!(1),
            "the filter emitted something that is no finding: 1",
        ),
        (
            json!({"severity": "grave", "resource_type": "g", "resource_id": "r"}),
            "the filter emitted something that is no finding: severity",
        ),
        (
            json!({"severity": "high", "resource_type": "g"}),
            "the filter emitted something that is no finding: it has no resource_id",
        ),
    ];
    for (emitted, message) in cases {
        let refused = findings(&skill, rule, vec![emitted])
            .unwrap_err()
            .to_string();
        assert!(refused.starts_with(message), "{refused}");
    }
}
