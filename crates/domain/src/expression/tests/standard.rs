//! Expected results of the standard functions of the CEL specification and of cel-go's strings extension.

use super::*;

/// Expressions, and literals of their results.
const ANSWERS: &[(&str, &str)] = &[
    // Numbers.
    ("2 + 3 * 4", "14"),
    ("7 / 2", "3"),
    ("-7 / 2", "-3"),
    ("-7 % 3", "-1"),
    ("7 % -3", "1"),
    ("7.0 / 2.0", "3.5"),
    ("-(2.5)", "-2.5"),
    ("2u * 3u", "6u"),
    ("1 + 0.5", "1.5"),
    ("0.5 * 3", "1.5"),
    ("10 / 4.0", "2.5"),
    ("5 - 0.5", "4.5"),
    ("-7.5 % 2", "-1.5"),
    ("8.0 % 3", "2.0"),
    ("1u + 1", "2"),
    ("5 - 7u", "-2"),
    ("9223372036854775807u + 1", "9223372036854775808u"),
    ("7u / 2", "3"),
    // Comparisons.
    ("1 < 1.5", "true"),
    ("1 == 1.0 && 1u == 1 && 1u == 1.0", "true"),
    ("2 in [1.0, 2.0]", "true"),
    ("'b' in {'a': 1}", "false"),
    ("'a' < 'b' && b'a' < b'b' && false < true", "true"),
    ("[1, 2] == [1.0, 2u]", "true"),
    ("{'a': 1} == {'a': 1.0}", "true"),
    ("null == 0 || '1' == 1", "false"),
    ("2 >= 2.0 && 2 <= 2u && !(2 > 2) && 2 != 3", "true"),
    // An error is ignored if the other operand decides.
    ("true || 1 / 0 == 1", "true"),
    ("1 / 0 == 1 || true", "true"),
    ("1 / 0 == 1 && false", "false"),
    ("1 < 2 ? 'a' : 'b'", "'a'"),
    // Conversions.
    ("int('-42')", "-42"),
    ("int(3.9)", "3"),
    ("int(-3.9)", "-3"),
    ("int(7u)", "7"),
    ("double(3)", "3.0"),
    ("double('1e3')", "1000.0"),
    ("uint(3)", "3u"),
    ("uint('9')", "9u"),
    (
        "string(42) + string(2.5) + string(true) + string(1u)",
        "'422.5true1'",
    ),
    ("string(b'ab')", "'ab'"),
    ("bytes('ab')", "b'ab'"),
    ("bool('true')", "true"),
    ("bool('0')", "false"),
    ("dyn(3) + 1", "4"),
    ("type(1)", "int"),
    ("type(1u)", "uint"),
    ("type(1.0)", "double"),
    ("type('')", "string"),
    ("type(b'')", "bytes"),
    ("type(true)", "bool"),
    ("type(null)", "null_type"),
    ("type([])", "list"),
    ("type({})", "map"),
    ("type(type(1))", "type"),
    ("type(timestamp(0))", "google.protobuf.Timestamp"),
    ("type(duration('1s'))", "google.protobuf.Duration"),
    // Texts, lists and maps.
    ("size('größe')", "5"),
    ("'größe'.size()", "5"),
    ("size(b'ab') + size([1, 2]) + size({'a': 1})", "5"),
    ("'a' + 'b'", "'ab'"),
    ("b'a' + b'b'", "b'ab'"),
    ("[1] + [2]", "[1, 2]"),
    ("[1, 2, 3][1]", "2"),
    ("{'a': {'b': 3}}.a['b']", "3"),
    (
        "'abc'.contains('b') && 'abc'.startsWith('ab') && 'abc'.endsWith('bc')",
        "true",
    ),
    ("'abc'.matches('^a.c$') && !matches('abc', '[0-9]')", "true"),
    // The strings extension.
    ("'tacocat'.charAt(3)", "'o'"),
    ("'tacocat'.indexOf('c')", "2"),
    ("'tacocat'.indexOf('c', 3)", "4"),
    ("'tacocat'.indexOf('x')", "-1"),
    ("'tacocat'.indexOf('')", "0"),
    ("'tacocat'.lastIndexOf('')", "7"),
    ("'tacocat'.lastIndexOf('c')", "4"),
    ("'tacocat'.lastIndexOf('c', 3)", "2"),
    ("['a', 'b'].join()", "'ab'"),
    ("['a', 'b'].join('-')", "'a-b'"),
    ("'TacoCÄt'.lowerAscii()", "'tacocÄt'"),
    ("'TacoCät'.upperAscii()", "'TACOCäT'"),
    ("'a-b-a'.replace('a', 'x')", "'x-b-x'"),
    ("'a-b-a'.replace('a', 'x', 1)", "'x-b-a'"),
    ("'a-b-a'.replace('a', 'x', 0)", "'a-b-a'"),
    ("'a-b-a'.replace('a', 'x', -1)", "'x-b-x'"),
    ("'ab'.replace('', '_')", "'_a_b_'"),
    ("'a,b,c'.split(',')", "['a', 'b', 'c']"),
    ("'a,b,c'.split(',', 2)", "['a', 'b,c']"),
    ("'a,b,c'.split(',', 1)", "['a,b,c']"),
    ("'a,b,c'.split(',', 0)", "[]"),
    ("'a,b,c'.split(',', -1)", "['a', 'b', 'c']"),
    ("'abé'.split('')", "['a', 'b', 'é']"),
    ("'tacocat'.substring(4)", "'cat'"),
    ("'tacocat'.substring(0, 4)", "'taco'"),
    ("' \\t x '.trim()", "'x'"),
    ("'aöc'.reverse()", "'cöa'"),
    ("strings.quote('a\"b')", "'\"a\\\\\"b\"'"),
    ("'%s is %d'.format(['x', 3])", "'x is 3'"),
    ("'%.2f and %x'.format([2.5, 255])", "'2.50 and ff'"),
    ("'%b %o %X %%'.format([5, 8, 255])", "'101 10 FF %'"),
    (
        "'%e %.1e'.format([1052.032911275, 0.5])",
        "'1.052033e+03 5.0e-01'",
    ),
    ("'%b %x %d'.format([-5, 'ok', 3u])", "'-101 6f6b 3'"),
    ("'%s %s'.format([double('NaN'), -1.5])", "'NaN -1.5'"),
    ("'%f'.format([2])", "'2.000000'"),
    (
        "'%s'.format([[1, 2.5, true, null]])",
        "'[1, 2.5, true, null]'",
    ),
    (
        "'%s after %s'.format([timestamp('2024-02-29T12:00:00Z'), duration('90m')])",
        "'2024-02-29T12:00:00Z after 5400s'",
    ),
    ("'%s'.format([{'a': [duration('1.5s')]}])", "'{a: [1.5s]}'"),
    // Macros, also nested.
    ("has({'a': null}.a) && !has({'a': 1}.b)", "true"),
    ("[1, 2, 3].all(x, x > 0)", "true"),
    ("{'a': 1, 'b': 2}.exists(key, key == 'b')", "true"),
    (
        "[1, 2, 2].exists_one(x, x == 1) && ![1, 1].existsOne(x, x == 1)",
        "true",
    ),
    ("[1, 2, 3].filter(x, x % 2 == 1)", "[1, 3]"),
    ("[1, 2, 3].map(x, x * 2)", "[2, 4, 6]"),
    ("[1, 2, 3].map(x, x > 1, x + 0.5)", "[2.5, 3.5]"),
    ("[[1, 2], [3]].map(row, row.map(x, x * x))", "[[1, 4], [9]]"),
    ("[1, 2].exists(x, [2, 3].exists(y, x == y))", "true"),
    (
        "[1, 2, 3].filter(x, x > 1).map(x, string(x)).join('+')",
        "'2+3'",
    ),
    // The parts of a timestamp are in UTC, for each offset of its text.
    (
        "timestamp('2024-02-29T23:30:00-02:00').getFullYear()",
        "2024",
    ),
    ("timestamp('2024-02-29T23:30:00-02:00').getMonth()", "2"),
    ("timestamp('2024-02-29T23:30:00-02:00').getDate()", "1"),
    (
        "timestamp('2024-02-29T23:30:00-02:00').getDayOfMonth()",
        "0",
    ),
    (
        "timestamp('2024-02-29T23:30:00-02:00').getDayOfYear()",
        "60",
    ),
    ("timestamp('2024-02-29T23:30:00-02:00').getDayOfWeek()", "5"),
    ("timestamp('2024-02-29T23:30:00-02:00').getHours()", "1"),
    ("timestamp('2024-02-29T23:30:59-02:00').getMinutes()", "30"),
    ("timestamp('2024-02-29T23:30:59-02:00').getSeconds()", "59"),
    (
        "timestamp('2024-02-29T23:30:00.1234-02:00').getMilliseconds()",
        "123",
    ),
    // Time zones.
    ("timestamp('2024-02-29T23:30:00Z').getHours('-02:30')", "21"),
    ("timestamp('2024-02-29T23:30:00Z').getHours('02:00')", "1"),
    ("timestamp('2024-02-29T23:30:00Z').getHours('UTC')", "23"),
    (
        "timestamp('2024-02-29T23:30:00Z').getDate('Asia/Kathmandu')",
        "1",
    ),
    (
        "timestamp('2024-02-29T23:30:00Z').getMinutes('Asia/Kathmandu')",
        "15",
    ),
    (
        "timestamp('2024-01-01T12:00:00Z').getHours('Europe/Berlin')",
        "13",
    ),
    (
        "timestamp('2024-07-01T12:00:00Z').getHours('Europe/Berlin')",
        "14",
    ),
    (
        "timestamp('2024-01-01T03:00:00Z').getFullYear('US/Central')",
        "2023",
    ),
    // Timestamps and durations.
    ("timestamp(86400)", "timestamp('1970-01-02T00:00:00Z')"),
    (
        "timestamp(timestamp('1970-01-01T01:00:00+01:00'))",
        "timestamp(0)",
    ),
    ("int(timestamp('1969-12-31T23:59:58.5Z'))", "-2"),
    (
        "string(timestamp('2024-01-01T01:00:00.250+01:00'))",
        "'2024-01-01T00:00:00.25Z'",
    ),
    (
        "timestamp('9999-12-31T23:59:59.999999999Z') > timestamp('0001-01-01T00:00:00Z')",
        "true",
    ),
    (
        "string(timestamp('9999-12-31T23:59:59.999999999Z'))",
        "'9999-12-31T23:59:59.999999999Z'",
    ),
    (
        "timestamp('2024-03-01T00:00:00Z') - timestamp('2024-02-01T00:00:00Z')",
        "duration('696h')",
    ),
    (
        "timestamp('2024-02-29T00:00:00Z') + duration('24h')",
        "timestamp('2024-03-01T00:00:00Z')",
    ),
    (
        "duration('-1ns') + timestamp(0)",
        "timestamp('1969-12-31T23:59:59.999999999Z')",
    ),
    (
        "timestamp('2024-03-01T00:00:00Z') - duration('1s')",
        "timestamp('2024-02-29T23:59:59Z')",
    ),
    ("duration('1h30m') + duration('15m')", "duration('105m')"),
    ("duration('1h') - duration('90m')", "duration('-30m')"),
    (
        "duration('1.5s') == duration('1500ms') && duration('100us') == duration('.1ms')",
        "true",
    ),
    ("duration('0') < duration('+1ns')", "true"),
    ("string(duration('1h45m47.25s'))", "'6347.25s'"),
    ("string(duration('-0.5s'))", "'-0.5s'"),
    ("duration(duration('3730s')).getHours()", "1"),
    ("duration('3730s').getMinutes()", "62"),
    ("duration('3730s').getSeconds()", "3730"),
    ("duration('123.321456789s').getMilliseconds()", "321"),
];

#[test]
fn what_the_specification_defines_has_its_answer() {
    for (source, value) in ANSWERS {
        let same = format!("({source}) == ({value}) && type({source}) == type({value})");
        assert_eq!(of_call(&same), Ok(true), "{source}");
    }
}

/// The documentation lists every function.
#[test]
fn every_function_is_documented() {
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/expressions.md"
    );
    let page = std::fs::read_to_string(page).unwrap();
    for name in calls::names() {
        let named = [format!("`{name}`"), format!("`{name}(")];
        assert!(named.iter().any(|named| page.contains(named)), "{name}");
    }
}

/// Functions, methods and macros of the specification's standard definitions, operators apart, and of cel-go's strings
/// extension in version 4, in the order of their names.
const STANDARD: [&str; 45] = [
    "all",
    "bool",
    "bytes",
    "charAt",
    "contains",
    "double",
    "duration",
    "dyn",
    "endsWith",
    "exists",
    "existsOne",
    "exists_one",
    "filter",
    "format",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getFullYear",
    "getHours",
    "getMilliseconds",
    "getMinutes",
    "getMonth",
    "getSeconds",
    "has",
    "indexOf",
    "int",
    "join",
    "lastIndexOf",
    "lowerAscii",
    "map",
    "matches",
    "replace",
    "reverse",
    "size",
    "split",
    "startsWith",
    "string",
    "strings.quote",
    "substring",
    "timestamp",
    "trim",
    "type",
    "uint",
    "upperAscii",
];

/// No function that is standard goes missing.
#[test]
fn every_standard_function_is_there() {
    for standard in STANDARD {
        assert!(calls::names().any(|name| name == standard), "{standard}");
    }
}

/// Every function has an expected result.
#[test]
fn every_function_that_may_be_called_is_tried() {
    for name in calls::names() {
        let tried = |(source, _): &(&str, &str)| source.contains(&format!("{name}("));
        assert!(ANSWERS.iter().any(tried), "{name}");
    }
}

#[test]
fn what_has_no_answer_says_why() {
    let cases = [
        ("1 / 0 == 1", "zero"),
        ("1u / 0 == 1", "zero"),
        ("1.0 % 0 == 1.0", "zero"),
        ("9223372036854775807 + 1 > 0", "Overflow"),
        ("18446744073709551615u + 1 > 0", "out of range"),
        ("1 + 'a' == 2", "add"),
        ("timestamp(0) + 1 == timestamp(1)", "_+_"),
        ("-'a' == 'a'", "-_"),
        ("int('x') == 1", "string parse error"),
        ("int(1e40) == 1", "integer overflow"),
        ("[1][1] == 1", "Index out of bounds"),
        ("'abc'.charAt(9) == ''", "index out of range"),
        ("'%d'.format(['x']) == ''", "was given string"),
        (
            "timestamp('2024-02-30T00:00:00Z') == timestamp(0)",
            "is not a date and time",
        ),
        (
            "timestamp('2024-02-03') == timestamp(0)",
            "is not a date and time",
        ),
        ("timestamp('0000-12-31T00:00:00Z') == timestamp(0)", "range"),
        (
            "timestamp('9999-12-31T23:59:59Z') + duration('1s') == timestamp(0)",
            "range",
        ),
        ("timestamp(253402300800) == timestamp(0)", "range"),
        (
            "timestamp(0).getHours('Mars/Base') == 1",
            "unknown time zone `Mars/Base`",
        ),
        (
            "timestamp(0).getHours('+24:00') == 1",
            "unknown time zone `+24:00`",
        ),
        ("duration('1h x') == duration('1h')", "is not a duration"),
        ("duration('1') == duration('1h')", "is not a duration"),
        ("duration('-') == duration('1h')", "is not a duration"),
        ("duration('1e3s') == duration('1h')", "is not a duration"),
        ("duration('3000000h') == duration('1h')", "range"),
        ("duration('1s') < timestamp(0)", "_<_"),
    ];
    for (source, reason) in cases {
        let error = of_call(source).unwrap_err();
        assert!(
            matches!(error, ExpressionError::Failed(_)),
            "{source}: {error}"
        );
        assert!(error.to_string().contains(reason), "{source}: {error}");
    }
}

/// Calls that fail for every input are refused at compilation, with a suggestion.
#[test]
fn a_function_that_is_not_there_is_refused_with_what_may_be_meant() {
    let cases = [
        (
            "'A'.lower() == 'a'",
            "there is no function `lower`; did you mean `lowerAscii`?",
        ),
        (
            "'A'.lowerascii() == 'a'",
            "there is no function `lowerascii`; did you mean `lowerAscii`?",
        ),
        (
            "timestmp('x') == 1",
            "there is no function `timestmp`; did you mean `timestamp`?",
        ),
        (
            "[1].len() == 1",
            "there is no function `len`; did you mean `size`?",
        ),
        (
            "true || frobnicate(1)",
            "there is no function `frobnicate`: use the standard functions of CEL and of its strings extension",
        ),
        ("[1].exists(x, x.frob() > 0)", "there is no function `frob`"),
        ("trim('a') == 'a'", "call `trim` as in `value.trim()`"),
        (
            "'a'.timestamp() == 'a'",
            "call `timestamp` as in `timestamp(a)`",
        ),
        ("'a'.trim(1) == 'a'", "`trim` takes no argument, not 1"),
        ("size() == 1", "`size` takes one argument, not 0"),
        (
            "'a'.replace('b') == 'a'",
            "`replace` takes 2 or 3 arguments, not 1",
        ),
        ("[1].all(x)", "call `all` as in `list.all(item, item > 0)`"),
        (
            "exists([1], x, x > 0)",
            "call `exists` as in `list.exists(item, item > 0)`",
        ),
        (
            "Message{a: 1} == 1",
            "unknown type `Message`: write a map, as in `{\"key\": 1}`",
        ),
        (
            "now() > timestamp(0)",
            "`now` is not available: an expression depends only on its inputs",
        ),
        (
            "timestamp(0) < now",
            "`now` is not available: an expression depends only on its inputs",
        ),
    ];
    for (source, reason) in cases {
        let refused = Condition::compile(source, Roots::Gate);
        let error = refused.unwrap_err().to_string();
        assert!(error.starts_with(reason), "{source}: {error}");
    }
}

/// A JSON integer has the type of an integer literal, also if it is not negative.
#[test]
fn arithmetic_with_numbers_of_json_has_the_same_answers_for_each_sign() {
    let variables = |n: Value| json!({"parameters": {"n": n, "list": [n, 0.5]}});
    for n in [
        json!(10),
        json!(-10),
        json!(10.0),
        json!(4_503_599_627_370_497_i64),
    ] {
        for source in [
            "parameters.n * 2 > 100 == (2 * parameters.n > 100)",
            "parameters.n + 0 == parameters.n && parameters.n - 1 < parameters.n",
            "-parameters.n == parameters.n * -1 && -(-parameters.n) == parameters.n",
            "parameters.n / 1 == parameters.n && parameters.n % 2 == parameters.n % 2.0",
            "parameters.n * 0.5 == parameters.n / 2.0 && parameters.list[0] + parameters.list[1] == parameters.n + 0.5",
        ] {
            let answered = answer(source, &variables(n.clone()), &mut Budget::default());
            assert_eq!(answered, Ok(true), "{source} of {n}");
        }
    }
    let ten = variables(json!(10));
    let below = variables(json!(-10));
    for (source, of_ten, of_below) in [
        ("parameters.n * 2 > 100", false, false),
        ("parameters.n % 2 == 0", true, true),
        ("parameters.n / 3 == 3", true, false),
        ("-parameters.n < 0", true, false),
        ("type(parameters.n) == int", true, true),
    ] {
        let of = |variables: &Value| answer(source, variables, &mut Budget::default());
        assert_eq!(
            (of(&ten), of(&below)),
            (Ok(of_ten), Ok(of_below)),
            "{source}"
        );
    }
    // Beyond the range of `int`, integers keep their digits.
    let most = variables(json!(u64::MAX));
    let source = "parameters.n == 18446744073709551615u && parameters.n > 9223372036854775807 && parameters.n - 1 < parameters.n";
    assert_eq!(answer(source, &most, &mut Budget::default()), Ok(true));
}

/// The declared type decides, and not the notation.
#[test]
fn a_declared_number_is_one_of_its_kind_however_it_is_written() {
    let declared: Vec<charter_contract::parameter::Parameter> = serde_json::from_value(json!([
        {"name": "rate", "type": "number"},
        {"name": "count", "type": "integer"},
        {"name": "free", "type": "object"},
    ]))
    .unwrap();
    let answered = |source: &str, parameters: Value| {
        let fields = parameters.as_object().unwrap();
        let fact = Fact::Parameters(fields, Numbers::among(&declared));
        let facts: Facts<'_> = [("parameters", fact)].into_iter().collect();
        let condition = Condition::compile(source, Roots::Gate).unwrap();
        condition.holds(&facts, &mut Budget::default())
    };
    for (source, parameters) in [
        ("type(parameters.rate) == double", json!({"rate": 3})),
        ("type(parameters.rate) == double", json!({"rate": 3.5})),
        (
            "parameters.rate / 2 == 1.5 && parameters.rate * 2.0 == 6.0",
            json!({"rate": 3}),
        ),
        ("parameters.rate % 2 == 1.0", json!({"rate": 3})),
        (
            "parameters.rate == 9007199254740993 && parameters.rate - 1 == 9007199254740992",
            json!({"rate": 9_007_199_254_740_993_i64}),
        ),
        ("type(parameters.count) == int", json!({"count": 3})),
        (
            "type(parameters.count) == int && parameters.count / 2 == 1",
            json!({"count": 3.0}),
        ),
        (
            "parameters == {'rate': 3.0, 'count': 2}",
            json!({"rate": 3, "count": 2.0}),
        ),
        (
            "type(parameters['free'].n) == int",
            json!({"free": {"n": 3}}),
        ),
    ] {
        assert_eq!(
            answered(source, parameters.clone()),
            Ok(true),
            "{source} of {parameters}"
        );
    }
}
