//! Templates that nest, grow or never end.

use charter_contract::bounds::{
    FILLED_BYTES, FILLED_TOGETHER, JSON_LEVELS, TEMPLATE_BYTES, TEMPLATE_OPERATORS,
};

use super::*;

/// A text of a repeated part.
type Shape = (&'static str, fn(usize) -> String);

/// Each nests an expression this many times, with one operator per level.
const EXPRESSIONS: [Shape; 20] = [
    ("minus", |n| format!("{{{{ {}a }}}}", "-".repeat(n))),
    ("not", |n| format!("{{{{ {}a }}}}", "not ".repeat(n))),
    ("plus", |n| format!("{{{{ a{} }}}}", " + a".repeat(n))),
    ("times", |n| format!("{{{{ a{} }}}}", " * 1".repeat(n))),
    ("power", |n| format!("{{{{ a{} }}}}", "**a".repeat(n))),
    ("divide", |n| format!("{{{{ a{} }}}}", "//a".repeat(n))),
    ("tilde", |n| format!("{{{{ a{} }}}}", "~a".repeat(n))),
    ("and", |n| format!("{{{{ a{} }}}}", " and a".repeat(n))),
    ("or", |n| format!("{{{{ a{} }}}}", " or a".repeat(n))),
    ("compare", |n| format!("{{{{ a{} }}}}", "<a".repeat(n))),
    ("in", |n| format!("{{{{ a{} }}}}", " in a".repeat(n))),
    ("test", |n| {
        format!("{{{{ a{} }}}}", " is defined".repeat(n))
    }),
    ("filter", |n| format!("{{{{ a{} }}}}", "|upper".repeat(n))),
    ("call", |n| format!("{{{{ a{} }}}}", "()".repeat(n))),
    ("index", |n| format!("{{{{ a{} }}}}", "[0]".repeat(n))),
    ("slice", |n| format!("{{{{ a{} }}}}", "[:]".repeat(n))),
    ("member", |n| {
        format!("{{{{ a{}|upper }}}}", ".b".repeat(n - 1))
    }),
    ("either", |n| {
        format!("{{{{ {}a }}}}", "a if a else ".repeat(n))
    }),
    ("if", |n| format!("{{{{ a{} }}}}", " if a".repeat(n))),
    ("set", |n| format!("{{% set a{} = 1 %}}", ".b".repeat(n))),
];

/// Each nests a part this many times; the parser has its own limit for these.
const NESTS: [Shape; 8] = [
    ("parentheses", |n| {
        format!("{{{{ {}a{} }}}}", "(".repeat(n), ")".repeat(n))
    }),
    ("lists", |n| {
        format!("{{{{ {}a{} }}}}", "[".repeat(n), "]".repeat(n))
    }),
    ("objects", |n| {
        format!("{{{{ {}a{} }}}}", "{0:".repeat(n), "}".repeat(n))
    }),
    ("arguments", |n| {
        format!("{{{{ {}a{} }}}}", "a(".repeat(n), ")".repeat(n))
    }),
    ("targets", |n| {
        format!("{{% set {}a{} = 1 %}}", "(".repeat(n), ")".repeat(n))
    }),
    ("ifs", |n| {
        format!("{}{}", "{%if a%}".repeat(n), "{%endif%}".repeat(n))
    }),
    ("fors", |n| {
        format!("{}{}", "{%for b in a%}".repeat(n), "{%endfor%}".repeat(n))
    }),
    ("captures", |n| {
        format!("{}{}", "{%set b%}".repeat(n), "{%endset%}".repeat(n))
    }),
];

fn branches(count: usize) -> String {
    format!("{{% if a %}}{}{{% endif %}}", "{% elif a %}".repeat(count))
}

/// Rejected texts never reach the parser, whose stack they would overflow. Accepted texts overflow neither the parser
/// nor the compiler and the evaluator.
#[test]
fn a_template_nests_as_deep_as_its_operators_allow() {
    let with_branches: Shape = ("branches", branches);
    let values = Map::from_iter([("a".to_owned(), json!([1]))]);
    for (name, shape) in EXPRESSIONS.iter().chain([&with_branches]) {
        for count in [1, 200, TEMPLATE_OPERATORS] {
            let text = json!(shape(count));
            assert_eq!(check(&text), Ok(()), "{name} × {count}");
            assert_eq!(evaluate(&text, std::slice::from_ref(&values)).len(), 1);
        }
        for count in [TEMPLATE_OPERATORS + 1, 300, 3_000, 50_000] {
            let refused = check(&json!(shape(count)));
            let expected = match shape(count).len() {
                FILLED_BYTES.. => matches!(refused, Err(RenderError::Structure)),
                TEMPLATE_BYTES.. => matches!(refused, Err(RenderError::TooLong { .. })),
                _ => matches!(refused, Err(RenderError::TooManyOperators { .. })),
            };
            assert!(expected, "{name} × {count}: {refused:?}");
        }
    }
}

#[test]
fn a_template_nests_as_deep_as_the_parser_allows() {
    let values = Map::from_iter([("a".to_owned(), json!([1]))]);
    for (name, shape) in NESTS {
        let text = json!(shape(70));
        assert_eq!(check(&text), Ok(()), "{name}");
        assert_eq!(evaluate(&text, std::slice::from_ref(&values)).len(), 1);
        for count in [300, 2_000, 50_000] {
            assert!(check(&json!(shape(count))).is_err(), "{name} × {count}");
        }
    }
}

/// The operators of a template are those of its tags: prose may contain any number.
#[test]
fn prose_and_many_tags_are_no_operators() {
    let prose = "a, b. (c) - d: not e | f ".repeat(1_000);
    assert_eq!(check(&json!(prose)), Ok(()));
    assert_eq!(check(&json!("{{ a + b }}".repeat(2_000))), Ok(()));
    assert_eq!(check(&json!("{{ '((((----' }}".repeat(100))), Ok(()));
}

#[test]
fn a_structure_is_bounded_in_size_and_depth() {
    let nested = |levels: usize| (0..levels).fold(json!("{{id}}"), |inner, _| json!([inner]));
    assert_eq!(check(&nested(JSON_LEVELS)), Ok(()));
    assert_eq!(check(&nested(JSON_LEVELS + 1)), Err(RenderError::Structure));
    assert_eq!(
        check(&Value::from(vec![0; 4_000])),
        Err(RenderError::Structure)
    );
    let text = "x".repeat(TEMPLATE_BYTES);
    assert_eq!(check(&Value::from(vec![text.as_str(); 3])), Ok(()));
    assert_eq!(
        check(&Value::from(vec![text.as_str(); 4])),
        Err(RenderError::Structure)
    );
}

/// Folding the constants of this text at registration would take six gigabytes.
#[test]
fn registration_evaluates_nothing() {
    let parts = ["('a' * 99999999)"; 60];
    assert_eq!(
        check(&json!(format!("{{{{ {} }}}}", parts.join(" ~ ")))),
        Ok(())
    );
}

#[test]
fn what_is_filled_in_is_bounded_in_size_and_depth() {
    let over = || RenderError::Overfull(FillBudgetExceeded::Size(FILLED_BYTES));
    let values = json!({"a": "x".repeat(10_000), "list": vec![0; 1_000], "deep": [[[[1]]]]});
    let values = values.as_object().unwrap();
    assert_eq!(render(&json!("{{a}}".repeat(26)), values).map(drop), Ok(()));
    assert_eq!(render(&json!("{{a}}".repeat(27)), values), Err(over()));
    assert_eq!(render(&Value::from(vec!["{{a}}"; 27]), values), Err(over()));
    assert_eq!(
        render(&Value::from(vec!["{{list}}"; 4]), values),
        Err(over())
    );
    let repeated = evaluated(&json!("{% for i in list %}{{ a }}{% endfor %}"), values);
    assert_eq!(repeated, Filled::Fault(over().to_string()));
    let nested = |levels: usize| (0..levels).fold(json!("{{deep}}"), |inner, _| json!([inner]));
    assert_eq!(render(&nested(JSON_LEVELS - 4), values).map(drop), Ok(()));
    let too_deep = Err(RenderError::Overfull(FillBudgetExceeded::Depth));
    assert_eq!(render(&nested(JSON_LEVELS - 3), values), too_deep);
}

/// Ten thousand findings share a budget, including those for which filling fails.
#[test]
fn what_is_filled_in_for_one_analysis_is_bounded_together() {
    let values = json!({"a": "x".repeat(100_000)});
    let values = values.as_object().unwrap();
    for text in ["{{a}}{{a}}", "{{a}}{{a}}{{gone}}", "{{a}}{{a}}{{a}}"] {
        let structure = json!(text);
        let Ok(Structure::Plain(plain)) = Structure::read(&structure) else {
            panic!("{text} is a program");
        };
        let mut together = together();
        let mut filled = Ok(Value::Null);
        for _ in 0..=FILLED_TOGETHER / 200_000 {
            filled = plain.fill(values, &mut together);
        }
        let used_up = Err(RenderError::Overfull(FillBudgetExceeded::Size(
            FILLED_TOGETHER,
        )));
        assert_eq!(filled, used_up, "{text}");
        assert_eq!(plain.fill(&Map::new(), &mut together), used_up, "{text}");
    }
}

#[test]
fn a_template_that_runs_for_ever_is_stopped() {
    let endless =
        json!("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}");
    let Filled::Fault(fault) = evaluated(&endless, &values()) else {
        panic!("it ended");
    };
    assert!(fault.contains("ran out of fuel"), "{fault}");
}
