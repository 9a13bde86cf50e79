//! Tests of expressions at the gate, and of their cost limits.

mod standard;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::*;

fn answer(source: &str, variables: &Value, budget: &mut Budget) -> Result<bool, ExpressionError> {
    let facts = Facts::from(variables.as_object().unwrap());
    Condition::compile(source, Roots::Gate)?.holds(&facts, budget)
}

fn of_call(source: &str) -> Result<bool, ExpressionError> {
    let tool = json!({"id": "aws.x", "class": "write"});
    let parameters = json!({"n": 3, "below": -3, "half": 0.5, "text": "größe", "none": null,
        "list": [1, "a"], "object": {"a": {"b": true}}});
    let variables = json!({"dry_run": false, "tool": tool, "parameters": parameters});
    answer(source, &variables, &mut Budget::default())
}

/// B000-12: an expression that does not compile is rejected; an expression that fails has no result.
#[test]
fn b000_12_expressions_answer_true_false_or_an_error() {
    assert_eq!(
        of_call("tool.class == 'write' && parameters.n > 2"),
        Ok(true)
    );
    assert_eq!(of_call("dry_run == true"), Ok(false));
    assert!(matches!(
        of_call("dry_run =="),
        Err(ExpressionError::Syntax(_))
    ));
    assert!(matches!(
        of_call("parameters.gone == 1"),
        Err(ExpressionError::Failed(_))
    ));
    let unknown = ExpressionError::Unknown {
        name: "absent".to_owned(),
        roots: Roots::Gate,
    };
    assert_eq!(of_call("absent"), Err(unknown));
    assert_eq!(
        of_call("parameters.n"),
        Err(ExpressionError::NotBoolean("int".into()))
    );
    assert_eq!(of_call(&"1+".repeat(3000)), Err(ExpressionError::TooLong));
    assert_eq!(of_call(&"1+".repeat(300)), Err(ExpressionError::TooDeep));
}

#[test]
fn every_kind_of_value_is_what_it_is_in_the_parameters() {
    let holds = [
        "parameters.n == 3 && parameters.below == -3 && parameters.half == 0.5",
        "parameters.text == 'größe' && size(parameters.text) == 5 && parameters.none == null",
        "parameters.list == [1, 'a'] && parameters['list'][1] == 'a' && 'a' in parameters.list",
        "parameters.object.a.b && parameters.object == {'a': {'b': true}}",
        "has(parameters.object.a) && !has(parameters.gone) && 'n' in parameters",
        "size(parameters) == 7 && size(tool) == 2 && parameters['' + 'n'] == 3",
        "tool == {'id': 'aws.x', 'class': 'write'} && dry_run == false",
        "parameters.list.exists(item, item == 'a') && parameters.exists(name, name == 'n')",
        "parameters.list.filter(item, item == 'a').size() == 1",
        "parameters.text.matches('^gr.+e$') && matches(tool.id, '^aws[.]')",
        "!parameters.text.matches(tool.id)",
    ];
    for source in holds {
        assert_eq!(of_call(source), Ok(true), "{source}");
    }
}

/// B003-9, at the gate: nested loops and regular expressions are bounded.
#[test]
fn what_is_too_much_whatever_it_is_asked_about_is_refused_before_it_is_asked() {
    let nested = |levels: usize| {
        "[0,1,2,3,4,5,6,7,8,9].all(a,".repeat(levels) + "true" + &")".repeat(levels)
    };
    assert_eq!(of_call(&nested(3)), Ok(true));
    let refused = Condition::compile(&nested(10), Roots::Gate);
    assert_eq!(refused.unwrap_err(), ExpressionError::Costly);
    assert_eq!(of_call("[1, 2].map(i, [i, i]).size() == 2"), Ok(true));
    let patterns = [
        "parameters.list.all(i, i.matches('(\\\\w{500}){500}'))".to_owned(),
        format!("tool.id.matches('{}')", "a".repeat(600)),
        "tool.id.matches('(')".to_owned(),
    ];
    for source in patterns {
        let error = of_call(&source).unwrap_err();
        assert!(
            matches!(error, ExpressionError::Pattern { .. }),
            "{source}: {error}"
        );
    }
}

/// Each of these is a common rule on large values, and is evaluated.
#[test]
fn a_loop_over_a_long_list_is_answered() {
    let rules = vec![json!({"port": 80, "cidr": "10.0.0.0/8"}); 5_000];
    let content = "x".repeat(15 << 20);
    let lines = "allow tcp 443\n".repeat(10_000);
    let variables =
        json!({"parameters": {"rules": rules, "port": 22, "content": content, "lines": lines}});
    let holds = [
        "!parameters.rules.exists(rule, rule.port == parameters.port)",
        "parameters.rules.all(rule, rule.cidr.startsWith('10.') && rule.port in [80, 443])",
        "parameters.rules.filter(rule, rule.port == 80).size() == 5000",
        "size(parameters.rules) < 10000",
        "parameters.content.startsWith('xx') && !parameters.content.contains('secret')",
        "parameters.rules.map(rule, rule.port + 1).all(port, port == 81)",
        "parameters.lines.split('\\n').all(line, line == '' || line.startsWith('allow '))",
        "parameters.lines.split('\\n').filter(line, line != '').map(line, line.substring(6)).size() == 10000",
        "parameters.lines.indexOf('deny') == -1 && parameters.lines.lowerAscii().contains('tcp')",
        "parameters.rules.exists(rule, ['10.', '192.168.'].exists(start, rule.cidr.startsWith(start)))",
    ];
    for source in holds {
        let answered = answer(source, &variables, &mut Budget::default());
        assert_eq!(answered, Ok(true), "{source}");
    }
}

/// B003-9: an expression that would process too much is refused, and the estimate itself is fast.
#[test]
fn what_goes_over_too_much_is_refused_and_ends_soon() {
    let texts = vec!["a".repeat(200); 20_000];
    let variables =
        json!({"parameters": {"texts": texts, "text": "ab".repeat(4 << 20), "p": "^a+$"}});
    let zeros = "0,".repeat(1_900) + "0";
    let costly = [
        // Each iteration compares, copies or fails on the whole value.
        "parameters.texts.all(t, parameters.texts == parameters.texts)".to_owned(),
        "parameters.texts.all(t, (parameters.texts + parameters.texts).size() > 0)".to_owned(),
        "parameters.texts.exists(t, parameters.texts + 1 == 2)".to_owned(),
        "parameters.texts.exists(t, t in parameters.texts && t == 'b')".to_owned(),
        // The list is a literal, or concatenated.
        format!("[{zeros}].all(t, size(parameters.text) > 0)"),
        format!(
            "({}parameters.texts).all(t, true)",
            "parameters.texts + ".repeat(60)
        ),
        // Regular expressions.
        "parameters.texts.all(t, t.matches('^a+$'))".to_owned(),
        "parameters.texts.all(t, t.matches(parameters.p))".to_owned(),
        "parameters.text.matches('[ab]*a[ab]{1000}c')".to_owned(),
        // Nested loops.
        "parameters.texts.exists(a, parameters.texts.exists(b, a == b + 'c'))".to_owned(),
        // The result is larger than the input.
        "parameters.texts.map(t, parameters.text).size() > 0".to_owned(),
        "parameters.text.replace('', parameters.text).size() > 0".to_owned(),
        "parameters.text.split('').size() > 0".to_owned(),
        "parameters.texts.join(parameters.text).size() > 0".to_owned(),
        "'%s'.format([parameters.texts.map(t, '%.100f'.format([1e300]))]).size() > 0".to_owned(),
        // A search compares at every offset.
        "parameters.text.indexOf(parameters.text + 'c') > 0".to_owned(),
    ];
    let started = Instant::now();
    for source in costly {
        let answered = answer(&source, &variables, &mut Budget::default());
        assert_eq!(answered, Err(ExpressionError::Costly), "{source}");
    }
    assert!(
        started.elapsed() < Duration::from_secs(5),
        "{:?}",
        started.elapsed()
    );
}

/// One budget covers all expressions of an evaluation. An expression that exceeds it leaves it to the others.
#[test]
fn expressions_share_a_budget_and_one_that_is_refused_takes_none_of_it() {
    let list = vec![1; 10_000];
    let variables = json!({"parameters": {"list": list, "n": 1}});
    let facts = Facts::from(variables.as_object().unwrap());
    let heavy = LazyCondition::new("parameters.list.all(i, i > 0 && i < 9)", Roots::Gate);
    let light = LazyCondition::new("parameters.n == 1", Roots::Gate);
    let budget = &mut Budget::default();
    let answers: Vec<_> = (0..20).map(|_| heavy.holds(&facts, budget)).collect();
    let answered = answers.iter().filter(|answer| **answer == Ok(true)).count();
    assert!((1..10).contains(&answered), "{answered} were answered");
    assert_eq!(answers.last(), Some(&Err(ExpressionError::Costly)));
    assert_eq!(light.holds(&facts, budget), Ok(true));
    // Compilation is charged every time, so that the result does not depend on earlier calls.
    let long = format!("parameters.n == 1{}", " ".repeat(4_000));
    let long = LazyCondition::new(&long, Roots::Gate);
    let budget = &mut Budget::default();
    let answered = (0..100)
        .filter(|_| long.holds(&facts, budget) == Ok(true))
        .count();
    assert!((40..60).contains(&answered), "{answered} were answered");
}

#[test]
fn the_error_of_an_operator_that_fails_does_not_show_a_large_value() {
    let variables = json!({"parameters": {"list": vec!["large"; 50_000]}});
    let failed = answer("parameters.list < 1", &variables, &mut Budget::default());
    let error = failed.unwrap_err().to_string();
    assert!(error.starts_with("the expression failed: "), "{error}");
    let summed = answer(
        "parameters.list + 1 == [2]",
        &variables,
        &mut Budget::default(),
    );
    let error = summed.unwrap_err().to_string();
    assert!(error.len() < 600 && error.ends_with('…'), "{error}");
}
