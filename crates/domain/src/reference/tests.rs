use serde_json::json;

use super::*;

fn resolve_with(value: &Value) -> Result<Value, ReferenceError> {
    let parameters = json!({"region": "us-east-1", "tricky": "'; ${step_1.id} {{x}} \n\"", "n": 3});
    let outputs = BTreeMap::from([(
        StepId::parse("step_1").unwrap(),
        json!({"id": "sg-1", "rules": [{"port": 22}]}),
    )]);
    let bindings = Bindings {
        parameters: parameters.as_object().unwrap(),
        outputs: &outputs,
        item: None,
    };
    resolve(value, bindings, &mut FillBudget::with_limit(10_000))
}

#[test]
fn a_lone_reference_keeps_its_type_and_one_in_a_text_is_written_out() {
    let value = json!({
        "n": "${user.n}", "port": "${step_1.rules.0.port}", "all": "${step_1.rules}",
        "text": "in ${user.region}: ${step_1.rules.0}"
    });
    assert_eq!(
        resolve_with(&value).unwrap(),
        json!({
            "n": 3, "port": 22, "all": [{"port": 22}],
            "text": "in us-east-1: {\"port\":22}"
        })
    );
}

/// Escapes are resolved, also in a text with references.
#[test]
fn two_dollar_signs_write_one_that_refers_to_nothing() {
    let value = json!({
        "shell": "echo $${HOME:-/root} in ${user.region}", "lone": "$${user.n}", "price": "$$${user.n}",
        "deep": [{"ci": "$${{ github.sha }}"}]
    });
    assert_eq!(
        resolve_with(&value).unwrap(),
        json!({
            "shell": "echo ${HOME:-/root} in us-east-1", "lone": "${user.n}", "price": "$3",
            "deep": [{"ci": "${{ github.sha }}"}]
        })
    );
    let written = json!(["$${a}", {"b": "$$$${c}"}]);
    assert_eq!(
        literal(&written).unwrap().into_owned(),
        json!(["${a}", {"b": "$${c}"}])
    );
    for template in [json!("${user.n}"), json!(["${"])] {
        assert_eq!(literal(&template), None, "{template}");
    }
}

/// Ruling 13: values are data; quotes, newlines and references inside them remain unchanged.
#[test]
fn a_value_is_never_read_again() {
    assert_eq!(
        resolve_with(&json!("<${user.tricky}>")).unwrap(),
        json!("<'; ${step_1.id} {{x}} \n\">")
    );
}

#[test]
fn what_has_no_value_is_named() {
    let cases = [
        ("${user.gone}", "the parameter `gone` has no value"),
        (
            "${step_2.id}",
            "`${step_2.id}` has no value: the step `step_2` has no output",
        ),
        (
            "${step_1.rules.7}",
            "`${step_1.rules.7}` has no value: there is no `7`",
        ),
        (
            "${user.a.b}",
            "`${user.a.b}` is not a placeholder: write `${user.name}` or `${step.path}`, or `$${` for the text `${`",
        ),
        (
            "${open",
            "`${` is not closed: write `$${` for these two characters",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(resolve_with(&json!(text)).unwrap_err().to_string(), message);
    }
}

/// A short text with many references to a value, and such structures, exceed the limits.
#[test]
fn what_is_filled_in_is_bounded_in_size_and_depth() {
    let over = Err(ReferenceError::Overfull(FillBudgetExceeded::Size(10_000)));
    let twice = json!({"text": "${user.region}".repeat(1_100)});
    assert_eq!(resolve_with(&twice), over);
    assert_eq!(
        resolve_with(&Value::from(vec!["${step_1.rules}"; 50])),
        over
    );
    assert_eq!(resolve_with(&Value::from(vec![0; 200])), over);
    let within = |levels: usize| {
        let whole = (0..levels).fold(json!("${step_1.rules}"), |inner, _| json!([inner]));
        resolve_with(&whole).map(drop)
    };
    assert_eq!(within(62), Ok(()));
    let deep = Err(ReferenceError::Overfull(FillBudgetExceeded::Depth));
    assert_eq!(within(63), deep);
}
