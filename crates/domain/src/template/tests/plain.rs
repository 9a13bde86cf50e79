//! Texts that are filled in without expressions, and texts that are not.

use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use proptest::prelude::*;

use super::*;

#[test]
fn text_and_names_are_plain_and_anything_else_is_a_program() {
    let plain = [
        "",
        "text { { %} }}",
        "{{id}}",
        "{{ rule.cidr }}: {{- port -}} !",
        "{{ tags.0 }}",
        "{# a note #}{{ id }}",
        "{% raw %}{{ not | a.name }}{% endraw %}",
    ];
    let program = [
        "{{ id | upper }}",
        "{{ port + 1 }}",
        "{{ -port }}",
        "{{ a-b }}",
        "{{ 1 }}",
        "{{ 'text' }}",
        "{{ true }}",
        "{{ none }}",
        "{{ tags[0] }}",
        "{{ id }}{% if id %}{% endif %}",
        "{{ id",
        "{{ }}",
    ];
    for text in plain {
        let structure = json!(text);
        let read = Structure::read(&structure);
        assert!(matches!(read, Ok(Structure::Plain(_))), "{text}");
    }
    for text in program {
        let structure = json!({"fine": "{{id}}", "this": [text]});
        let read = Structure::read(&structure);
        assert!(matches!(read, Ok(Structure::Program)), "{text}");
    }
}

#[test]
fn a_name_reaches_into_lists_and_a_text_is_written_as_it_stands() {
    let structure = json!({
        "second": "{{tags.1}}", "in_text": "the {{ tags.1 }}", "blank": "  {{port}}\n", "none": "{{gap}}",
        "closed": "  a  {{- id -}}  b  ", "whole": "{{rule}} and {{tags}}", "raw": "{% raw %}{{id}}{% endraw %}\n",
    });
    let mut values = values();
    values.insert("gap".to_owned(), Value::Null);
    assert_eq!(
        render(&structure, &values).unwrap(),
        json!({
            "second": "b", "in_text": "the b", "blank": 22, "none": null,
            "closed": "  asg-1b  ", "whole": "{'cidr': '0.0.0.0/0'} and ['a', 'b']", "raw": "{{id}}",
        })
    );
}

/// An error is short, even for a package with many long names.
#[test]
fn an_error_about_many_long_names_is_short() {
    let names = (0..400).map(|at| format!("{{{{ n{at}_{} }}}}", "x".repeat(100)));
    let text = json!(names.collect::<String>());
    let error = render(&text, &values()).unwrap_err();
    assert!(matches!(&error, RenderError::Missing(names) if names.len() == 400));
    let message = error.to_string();
    assert!(message.ends_with(", and 380 more"), "{message}");
    assert!(message.len() < 2_000, "{message}");
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        "[\\x00-\\x7f]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,3}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    /// A text has the same result whether it is filled in here or evaluated.
    #[test]
    fn a_value_is_written_as_expressions_write_it(value in any_value()) {
        let text = "<{{ v }}>{{ v}}\n";
        let values = Map::from_iter([("v".to_owned(), value)]);
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        let context = minijinja::Value::from(Serde(&values));
        let expected = environment.render_str(text, context).unwrap();
        prop_assert_eq!(render(&json!(text), &values), Ok(Value::String(expected)));
    }
}
