use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::expression::{Budget, Condition, Facts};

const MAX_OPERATORS: usize = charter_contract::bounds::CEL_OPERATORS;

fn reads(source: &str) -> Result<(Vec<String>, Vec<String>), ExpressionError> {
    let condition = Condition::compile(source, Roots::Steps)?;
    let list = |names: &BTreeSet<String>| names.iter().cloned().collect();
    let reads = condition.reads();
    Ok((list(&reads.steps), list(&reads.parameters)))
}

fn answer(source: &str, variables: &Value) -> Result<bool, ExpressionError> {
    let facts = Facts::from(variables.as_object().unwrap());
    Condition::compile(source, Roots::Steps)?.holds(&facts, &mut Budget::default())
}

/// B003-5: the steps that an expression waits for follow from its text.
#[test]
fn b003_5_an_expression_names_the_steps_that_it_reads() {
    let cases: [(&str, &[&str], &[&str]); 8] = [
        ("steps.a.output.n > 3", &["a"], &[]),
        (r#"steps["step-001"].state == "failed""#, &["step-001"], &[]),
        (
            "has(steps.a.output.x) && steps.b.output == steps.a.output",
            &["a", "b"],
            &[],
        ),
        (
            r#"has(parameters.x) || parameters.y == 1 || parameters["z"]"#,
            &[],
            &["y", "z"],
        ),
        (
            "steps.a.output.items.filter(i, i.age > parameters.age).size() > 3",
            &["a"],
            &["age"],
        ),
        ("[1, 2].exists(steps, steps > 1)", &[], &[]),
        (
            "[1].exists(i, [2].exists(j, i < j && steps.a.output[j] == type(i))) && steps.b.state == 'x'",
            &["a", "b"],
            &[],
        ),
        (
            "type(parameters.x) == google.protobuf.Timestamp || strings.quote(parameters.y) == ''",
            &[],
            &["x", "y"],
        ),
    ];
    for (source, steps, parameters) in cases {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        assert_eq!(
            reads(source),
            Ok((owned(steps), owned(parameters))),
            "{source}"
        );
    }
}

/// B003-9: an expression is rejected if its reads are unknown or its cost is unbounded.
#[test]
fn b003_9_an_expression_that_cannot_be_bounded_is_refused() {
    let unknown = |name: &str| ExpressionError::Unknown {
        name: name.to_owned(),
        roots: Roots::Steps,
    };
    let cases = [
        ("tags.role == 'web'", unknown("tags")),
        ("i > 3", unknown("i")),
        ("[1].all(i, i > 0) && i == 1", unknown("i")),
        ("size(steps) > 3", ExpressionError::Whole("steps")),
        ("'a' in steps", ExpressionError::Whole("steps")),
        (
            "steps[parameters.x].output",
            ExpressionError::Whole("steps"),
        ),
        ("parameters == {}", ExpressionError::Whole("parameters")),
        ("[1].all(i, [i].all(j, j > 0) && j > 0)", unknown("j")),
        ("[1].map(i, i).all(j, i > 0)", unknown("i")),
    ];
    for (source, error) in cases {
        assert_eq!(reads(source), Err(error), "{source}");
    }
}

/// B003-9: evaluation is refused if its work could exceed the budget, and only then.
#[test]
fn b003_9_evaluation_is_bounded_by_what_is_read() {
    let source = "steps.a.output.exists(i, i == steps.a.output[0] + 'x')";
    let with = |items: usize, bytes: usize| {
        let output = vec!["y".repeat(bytes); items];
        json!({"steps": {"a": {"state": "succeeded", "output": output}}, "parameters": {}})
    };
    assert_eq!(answer(source, &with(100, 100)), Ok(false));
    assert_eq!(
        answer(source, &with(100_000, 100)),
        Err(ExpressionError::Costly)
    );
}

/// B003-9: deep and long texts are rejected or evaluated; none crashes the process.
#[test]
fn b003_9_hostile_expressions_end() {
    let long = [
        "(".repeat(MAX_OPERATORS),
        format!(
            "{}true{}",
            "(".repeat(MAX_OPERATORS),
            ")".repeat(MAX_OPERATORS)
        ),
        "!".repeat(MAX_OPERATORS) + "true",
        "-".repeat(MAX_OPERATORS) + "1 > 0",
        format!(
            "{}1{}",
            "[".repeat(MAX_OPERATORS),
            "]".repeat(MAX_OPERATORS)
        ),
        "steps.a".to_owned() + &".b".repeat(MAX_OPERATORS - 1),
        "steps.a".to_owned() + &"[0]".repeat(MAX_OPERATORS - 1),
        "1".to_owned() + &"+1".repeat(MAX_OPERATORS - 1) + " > 0",
        "1".to_owned() + &" in 1".repeat(MAX_OPERATORS),
        "true".to_owned() + &"&&true".repeat(MAX_OPERATORS / 2),
        "true".to_owned() + &"?true:false".repeat(MAX_OPERATORS / 2),
        "[1]".to_owned() + &".filter(i,true)".repeat(MAX_OPERATORS / 2 - 1),
        "(".repeat(4_000),
        format!("{}true{}", "(".repeat(1_500), ")".repeat(1_500)),
        "!".repeat(4_000) + "true",
        format!("{}1{}", "[".repeat(1_500), "]".repeat(1_500)),
        "steps.a".to_owned() + &".b".repeat(2_000),
        "steps.a".to_owned() + &"[0]".repeat(1_300),
        "1".to_owned() + &"+1".repeat(2_000) + " > 0",
        "true".to_owned() + &"&&true".repeat(600),
        "true".to_owned() + &"?true:false".repeat(300),
        "[1]".to_owned() + &".filter(i,true)".repeat(250),
    ];
    for source in long {
        let variables = json!({"steps": {"a": {}}, "parameters": {}});
        match answer(&source, &variables) {
            Ok(_) | Err(_) => {}
        }
    }
}

proptest! {
    /// B003-9: every text yields a result or an error.
    #[test]
    fn b003_9_expressions_are_total(source in "[a-z0-9 .()\\[\\]!&|<>=+?:,'{}-]{0,60}") {
        let variables = json!({"steps": {"a": {"output": [1, "x", null]}}, "parameters": {"n": 3}});
        match answer(&source, &variables) {
            Ok(_) | Err(_) => {}
        }
    }
}
