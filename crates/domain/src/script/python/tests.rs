use proptest::prelude::*;

use super::*;

fn rewritten(source: &str) -> (String, Vec<(String, String)>) {
    let read = read(source).unwrap();
    (read.text, read.reads.into_iter().collect())
}

fn faults(source: &str) -> Vec<String> {
    let faults = read(source).unwrap_err();
    faults.iter().map(ToString::to_string).collect()
}

/// Each kind of literal that may contain a placeholder, and the preservation of its other contents.
#[test]
fn ruling_31_a_placeholder_in_a_string_literal_becomes_a_variable() {
    for (source, text) in [
        ("c('${user.zone}')", "c(f'{_charter_0}')"),
        ("x = \"a ${look.id} b\"", "x = f\"a {_charter_0} b\""),
        ("x = '''\n${look}\n'''", "x = f'''\n{_charter_0}\n'''"),
        ("x = r'\\d${look}'", "x = rf'\\d{_charter_0}'"),
        ("x = u'${look}'", "x = f'{_charter_0}'"),
        ("x = 'a' '${look}' \"b\"", "x = 'a' f'{_charter_0}' \"b\""),
        ("return'${look}'", "return f'{_charter_0}'"),
        // Contents with a different meaning in a formatted literal.
        ("x = '{\"a\": ${look}}'", "x = f'{{\"a\": {_charter_0}}}'"),
        (
            "x = '\\N{EM DASH}${look}'",
            "x = f'\\N{EM DASH}{_charter_0}'",
        ),
        ("x = '\\{${look}'", "x = f'\\\\{{{_charter_0}'"),
        ("x = '\\${look}'", "x = f'\\\\{_charter_0}'"),
        ("x = r'{${look}'", "x = rf'{{{_charter_0}'"),
        // The field of a formatted literal contains code.
        ("x = f\"{g('${look}')}\"", "x = f\"{g(f'{_charter_0}')}\""),
    ] {
        assert_eq!(rewritten(source).0, text, "{source}");
    }
}

/// Equal placeholders share a variable, and names in the source are not reused.
#[test]
fn variables_are_of_placeholders_and_of_nothing_else() {
    let (text, reads) = rewritten("_charter_1 = '${user.a}${look.b}${user.a}'\n");
    assert_eq!(
        text,
        "_charter_1 = f'{__charter_0}{__charter_1}{__charter_0}'\n"
    );
    let read = |placeholder: &str, variable: &str| (placeholder.to_owned(), variable.to_owned());
    assert_eq!(
        reads,
        [
            read("${look.b}", "__charter_1"),
            read("${user.a}", "__charter_0")
        ]
    );
}

/// Text that is not a placeholder is unchanged, and `$${` becomes the text `${`.
#[test]
fn a_source_without_placeholders_stays_as_it_is() {
    for source in [
        "run(['bash', '-c', 'echo ${HOME:-/root}'])\n",
        "print('$5 {x} ${')\n",
        "x = f'{a:{b}}' + b'{x}'.decode()  # {y}\n",
        "s = 'not closed\n",
    ] {
        assert_eq!(rewritten(source), (source.to_owned(), Vec::new()));
    }
    let (text, reads) = rewritten("x = '$${user.a}'");
    assert_eq!((text.as_str(), reads), ("x = '${user.a}'", Vec::new()));
    let (text, _) = rewritten("x = '$${A} ${HOME:-b} ${user.a}'");
    assert_eq!(text, "x = f'${{A}} ${{HOME:-b}} {_charter_0}'");
}

#[test]
fn ruling_31_a_placeholder_elsewhere_is_an_error_with_its_line() {
    let advice = [
        (
            "import a\nb(${user.zone})\n",
            "line 2 of the script: `${user.zone}` is outside a string literal: quote it; its value becomes a string, \
             encoded as JSON if it is not a string",
        ),
        (
            "x = '''\n\n''' # ${look}\n",
            "line 3 of the script: `${look}` is in a comment: a placeholder must be in a quoted string literal; \
             remove it",
        ),
        (
            "x = f'''\n${user.zone}'''\n",
            "line 2 of the script: `${user.zone}` is in a formatted literal, where Python itself reads the braces: \
             write a string literal without `f`, or remove the dollar sign",
        ),
        (
            "x = b'${look.id}'\n",
            "line 1 of the script: `${look.id}` is in a bytes literal: write a string literal, and `.encode()` after \
             it",
        ),
        (
            "x = '${look}\n'\n",
            "line 1 of the script: the string literal is not closed",
        ),
    ];
    for (source, fault) in advice {
        assert_eq!(faults(source), [fault]);
    }
    let two = faults("a(${user.x}, '${user.y}')\nb(${look})\n");
    assert_eq!(two.len(), 2, "{two:#?}");
}

/// The body itself returns only through a statement outside of functions.
#[test]
fn a_body_returns_where_a_statement_outside_of_functions_does() {
    for (source, returns) in [
        ("return 1", true),
        ("if a:\n    return 2\n", true),
        ("x = 1; return x", true),
        ("for i in (1,\n 2):\n return i", true),
        ("def f(): return 1\nreturn 2", true),
        (
            "with a:\n\tdef f():\n\t\tif x:\n\t\t\treturn 3\n\treturn 4",
            true,
        ),
        ("async def f():\n  return 1\n\nx = 1\n", false),
        ("def f(a,\nb):\n\treturn 1\n", false),
        ("class A:\n  def f(self):\n    return 1\n", false),
        ("x = 'return 1'  # return\n", false),
        ("x = \"\"\"\nreturn 1\n\"\"\"\n", false),
    ] {
        assert_eq!(read(source).unwrap().returns, returns, "{source}");
        assert_eq!(super::returns(source), returns, "{source}");
    }
}

proptest! {
    /// Every source is either parsed or rejected, and no placeholder remains in the executed source. (An escape may
    /// leave text that looks like one.)
    #[test]
    fn no_placeholder_is_left_of_any_source(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "'", "\"", "'''", "\"\"\"", "f'", "rb\"", "\\", "\n", "{", "}", "${user.x}", "${a.b}", "#", "é",
                "return ", "def f():", "  ", "(", ")", ":", "\r\n", "\\N{DASH}", "x ",
            ]),
            0..24,
        )
    ) {
        let source = parts.concat();
        if let Ok(found) = read(&source) {
            let again = read(&found.text);
            if !found.reads.is_empty() {
                prop_assert_eq!(again.map(|again| again.reads.len()), Ok(0), "{}", found.text);
            }
        }
    }
}
