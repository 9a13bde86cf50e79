use serde_json::json;

use super::*;

fn skill() -> Skill {
    serde_json::from_value(json!({
        "skill_id": "s.a", "name": "a", "domain": "s", "display_name": "A", "description": "d",
        "purpose": "p", "output_type": "finding",
        "execution_plan": {"steps": [{"step_id": "step_1", "type": "read", "tool_id": "t"}]},
        "analysis": {"findings": [{"rule_id": "open", "from": "step_1", "filter": ".[]"}]}
    }))
    .unwrap()
}

/// A finding's id depends only on its content, so the same exposure keeps its id.
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

/// Findings with a score come first, in descending order; texts follow, then findings without the field.
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
        (json!(1), "the filter emitted an invalid finding: 1"),
        (
            json!({"severity": "grave", "resource_type": "g", "resource_id": "r"}),
            "the filter emitted an invalid finding: severity",
        ),
        (
            json!({"severity": "high", "resource_type": "g"}),
            "the filter emitted an invalid finding: it has no resource_id",
        ),
    ];
    for (emitted, message) in cases {
        let refused = findings(&skill, rule, vec![emitted])
            .unwrap_err()
            .to_string();
        assert!(refused.starts_with(message), "{refused}");
    }
}
