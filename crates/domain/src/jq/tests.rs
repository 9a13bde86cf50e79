mod differences;
mod rows;

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use self::differences::DIFFERENCES;
use self::rows::ROWS;
use super::*;

fn refused(source: &str) -> String {
    Filter::compile(source).unwrap_err().to_string()
}

#[test]
fn what_does_not_compile_says_where() {
    assert_eq!(
        refused(".a |\n  .b[0"),
        "the filter does not compile: expected closing bracket, found the end of the filter (2:7)"
    );
    assert_eq!(
        refused(".[] | selct(.x)"),
        "the filter does not compile: the filter `selct` is not defined (1:7); did you mean `select`?"
    );
    assert_eq!(
        refused(&".".repeat(JQ_BYTES + 1)),
        FilterError::TooLong.to_string()
    );
}

/// Builds a filter of this nesting depth.
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
    // Chains of commas and pipes continue after the end of a definition or a condition.
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

/// Returns all outputs of a filter, or the message of its failure.
fn run(filter: &str, input: &Value) -> Result<Vec<Value>, String> {
    let filter = Filter::compile(filter).map_err(|error| error.to_string())?;
    filter.run(input, 1_000).map_err(|error| match error {
        FilterError::Failed(message) => message,
        other => other.to_string(),
    })
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The rows come from jq 1.8.2 itself; the documentation lists the remaining differences.
#[test]
fn filters_give_what_jq_gives() {
    let mut wrong = Vec::new();
    for (filter, input, expected) in ROWS {
        let given = run(filter, &read(input));
        let expected: Result<Vec<Value>, String> = match expected {
            Ok(outputs) => Ok(outputs.iter().map(|output| read(output)).collect()),
            Err(message) => Err((*message).to_owned()),
        };
        if given != expected {
            wrong.push(format!("{input} | {filter}\n  {given:?}\n  {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The functions of jq 1.8.2, as its `builtins` lists them.
const BUILTINS: &str = "\
    IN/1 IN/2 INDEX/1 INDEX/2 JOIN/2 JOIN/3 JOIN/4 abs/0 acos/0 acosh/0 add/0 add/1 all/0 all/1 \
    all/2 any/0 any/1 any/2 arrays/0 ascii_downcase/0 ascii_upcase/0 asin/0 asinh/0 atan/0 atan2/2 \
    atanh/0 booleans/0 bsearch/1 builtins/0 capture/1 capture/2 cbrt/0 ceil/0 combinations/0 \
    combinations/1 contains/1 copysign/2 cos/0 cosh/0 debug/0 debug/1 del/1 delpaths/1 drem/2 \
    empty/0 endswith/1 env/0 erf/0 erfc/0 error/0 error/1 exp/0 exp10/0 exp2/0 explode/0 expm1/0 \
    fabs/0 fdim/2 finites/0 first/0 first/1 flatten/0 flatten/1 floor/0 fma/3 fmax/2 fmin/2 fmod/2 \
    format/1 frexp/0 from_entries/0 fromdate/0 fromdateiso8601/0 fromjson/0 fromstream/1 gamma/0 \
    get_jq_origin/0 get_prog_origin/0 get_search_list/0 getpath/1 gmtime/0 group_by/1 gsub/2 gsub/3 \
    halt/0 halt_error/0 halt_error/1 has/1 have_decnum/0 have_literal_numbers/0 hypot/2 implode/0 \
    in/1 index/1 indices/1 infinite/0 input/0 input_filename/0 input_line_number/0 inputs/0 inside/1 \
    isempty/1 isfinite/0 isinfinite/0 isnan/0 isnormal/0 iterables/0 j0/0 j1/0 jn/2 join/1 keys/0 \
    keys_unsorted/0 last/0 last/1 ldexp/2 length/0 lgamma/0 lgamma_r/0 limit/2 localtime/0 log/0 \
    log10/0 log1p/0 log2/0 logb/0 ltrim/0 ltrimstr/1 map/1 map_values/1 match/1 match/2 max/0 \
    max_by/1 min/0 min_by/1 mktime/0 modf/0 modulemeta/0 nan/0 nearbyint/0 nextafter/2 nexttoward/2 \
    normals/0 not/0 now/0 nth/1 nth/2 nulls/0 numbers/0 objects/0 path/1 paths/0 paths/1 pick/1 \
    pow/2 range/1 range/2 range/3 recurse/0 recurse/1 recurse/2 remainder/2 repeat/1 reverse/0 \
    rindex/1 rint/0 round/0 rtrim/0 rtrimstr/1 scalars/0 scalb/2 scalbln/2 scan/1 scan/2 select/1 \
    setpath/2 significand/0 sin/0 sinh/0 skip/2 sort/0 sort_by/1 split/1 split/2 splits/1 splits/2 \
    sqrt/0 startswith/1 stderr/0 strflocaltime/1 strftime/1 strings/0 strptime/1 sub/2 sub/3 tan/0 \
    tanh/0 test/1 test/2 tgamma/0 to_entries/0 toboolean/0 todate/0 todateiso8601/0 tojson/0 \
    tonumber/0 tostream/0 tostring/0 transpose/0 trim/0 trimstr/1 trunc/0 truncate_stream/1 type/0 \
    unique/0 unique_by/1 until/2 utf8bytelength/0 values/0 walk/1 while/2 with_entries/1 y0/0 y1/0 \
    yn/2";

#[test]
fn every_builtin_of_jq_compiles_or_is_refused_by_name() {
    let mut refused = BTreeSet::new();
    for builtin in BUILTINS.split_whitespace() {
        let (name, count) = builtin.split_once('/').unwrap();
        let arguments = vec!["."; count.parse().unwrap()].join("; ");
        let call = match arguments.as_str() {
            "" => name.to_owned(),
            arguments => format!("{name}({arguments})"),
        };
        match Filter::compile(&call) {
            Ok(_) => {}
            Err(FilterError::Syntax(message)) => {
                let outside = format!("`{name}` is not available in filters (1:1): ");
                assert!(message.starts_with(&outside), "{builtin}: {message}");
                refused.insert(name);
            }
            Err(other) => panic!("{builtin}: {other:?}"),
        }
    }
    let page = page();
    let unlisted: Vec<_> = refused
        .iter()
        .filter(|name| !page.contains(&format!("`{name}`")))
        .collect();
    assert!(unlisted.is_empty(), "{unlisted:?}");
    assert_eq!(refused.len(), 17, "{refused:?}");
}

/// The documentation of filters.
fn page() -> String {
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/filters.md"
    );
    std::fs::read_to_string(page).unwrap()
}

/// The rows equal those of the documentation's table.
#[test]
fn documented_differences_from_jq_hold() {
    let page = page();
    let (_, table) = page.split_once("## Differences").unwrap();
    let cells = table.lines().filter_map(|line| line.strip_prefix("| "));
    let cells = cells.filter_map(|line| line.split_once(" | "));
    let documented: BTreeSet<&str> = cells
        .map(|(what, _)| what)
        .filter(|what| *what != "What")
        .collect();
    let tried = DIFFERENCES.iter().map(|(what, ..)| *what);
    assert_eq!(tried.collect::<BTreeSet<_>>(), documented);
    for (what, filter, here) in DIFFERENCES {
        let here = here.map(read).map_err(str::to_owned);
        let given = run(filter, &Value::Null).map(|mut outputs| outputs.remove(0));
        assert_eq!(given, here, "{what}: {filter}");
    }
}

#[test]
fn integers_keep_their_digits_or_are_refused() {
    let exact = [
        (
            "123456789012345678901234567890 | tostring",
            json!("123456789012345678901234567890"),
        ),
        ("9007199254740993 + 2", json!(9_007_199_254_740_995_i64)),
        (
            "18446744073709551615",
            json!(18_446_744_073_709_551_615_u64),
        ),
        (
            "[9223372036854775807 + 1] | tojson",
            json!("[9223372036854775808]"),
        ),
        (
            "(1000000007 * 1000000009 * 1000000021) % 1000000007",
            json!(0),
        ),
        (
            "123456789012345678901234567891 - 123456789012345678901234567890",
            json!(1),
        ),
        (
            "123456789012345678901234567890 == 123456789012345678901234567891",
            json!(false),
        ),
        (
            "[20000000000000000001, 20000000000000000000] | min | tojson",
            json!("20000000000000000000"),
        ),
        (
            "40000000000000000000002 / 2 | tostring",
            json!("20000000000000000000001"),
        ),
        (
            "\"123456789012345678901234567890\" | tonumber | tojson",
            json!("123456789012345678901234567890"),
        ),
        (
            "-123456789012345678901234567890 | abs, floor | tojson | length",
            json!(30),
        ),
    ];
    for (filter, expected) in exact {
        assert_eq!(run(filter, &Value::Null).unwrap()[0], expected, "{filter}");
    }
    assert_eq!(
        run("{a: [123456789012345678901234567890]}", &Value::Null),
        Err(
            "it emitted the integer 123456789012345678901234567890, which has more than 64 bits: emit it as a \
             string, with `tostring`"
                .to_owned()
        )
    );
}

#[test]
fn what_reaches_out_of_a_filter_is_refused_when_it_is_compiled() {
    for name in [
        "now",
        "env",
        "$ENV",
        "input",
        "inputs",
        "debug",
        "stderr",
        "halt",
        "halt_error",
        "input_filename",
        "input_line_number",
        "$__prog_args",
        "localtime",
        "strflocaltime(\"%Y\")",
        "get_search_list",
        "debug(\"x\")",
        "builtins",
    ] {
        let error = refused(&format!(".[] | {name}"));
        let named = name.split('(').next().unwrap_or(name);
        let prefix =
            format!("the filter does not compile: `{named}` is not available in filters (1:7): ");
        assert!(error.starts_with(&prefix), "{error}");
    }
    // A filter may define a function with such a name.
    assert_eq!(run("def now: 5; now", &Value::Null), Ok(vec![json!(5)]));
}

#[test]
fn what_is_not_jq_is_refused_with_what_to_write() {
    let cases = [
        (
            "1 < 2 == true",
            "`==`: comparisons and assignments cannot be chained: write parentheses (1:7)",
        ),
        (
            ".a = .b = 1",
            "`=`: comparisons and assignments cannot be chained: write parentheses (1:9)",
        ),
        (
            "{(1): 2}",
            "`(1)`: a key must be a string: add `| tostring` (1:2)",
        ),
        (
            "import \"a\" as a; .",
            "`import`: a filter loads no modules: write the definitions into it (1:1)",
        ),
        (
            "1 | a::b",
            "`a::b`: a filter loads no modules: write the definitions into it (1:5)",
        ),
        ("@xml", "`@xml`: there is no such format (1:1)"),
        (
            "limit(1)",
            "the filter `limit` has 2 arguments, and is called with 1 (1:1)",
        ),
        (
            "test(1; 2; 3)",
            "the filter `test` has 1 or 2 arguments, and is called with 3 (1:1)",
        ),
        ("$x + 1", "the variable `$x` is not defined (1:1)"),
        ("break $out", "the label `$out` is not defined (1:7)"),
        (
            "reduce .[] as [$a] ?// $a (0; 1)",
            "`(0; 1)`: `?//` is for `as … |` alone: bind the outputs first, and then fold them (1:27)",
        ),
        (
            "if . then 1",
            "expected else or end, found the end of the filter (1:12)",
        ),
        ("{a: 1 b: 2}", "expected }, found `b` (1:7)"),
        ("def: 1; 2", "expected identifier, found `:` (1:4)"),
        (". as [] | 1", "expected pattern, found `]` (1:7)"),
        (
            "\"\\ud83c\"",
            "expected 4-digit hexadecimal UTF-8 code point, found `d83c\"` (1:4)",
        ),
    ];
    for (filter, message) in cases {
        assert_eq!(
            refused(filter),
            format!("the filter does not compile: {message}")
        );
    }
}

#[test]
fn patterns_are_checked_when_a_filter_is_compiled() {
    let cases = [
        (".[] | select(test(\"(a\"))", "`test`: Regex failure: "),
        ("gsub(\"[\"; \"\")", "`gsub`: Regex failure: "),
        ("split(\"a{\\\\\"; null)", "`split`: Regex failure: "),
        ("capture(\"(?<n>a\")", "`capture`: Regex failure: "),
        (
            "test(\"a\"; \"q\")",
            "`test`: q is not a valid modifier string (1:1)",
        ),
        (
            "sub(\"a\"; \"b\"; \"z\")",
            "`sub`: z is not a valid modifier string (1:1)",
        ),
        (
            r#"test("\\h")"#,
            r"`test`: Regex failure: `\h` is a letter in jq; write `[0-9A-Fa-f]` (1:1)",
        ),
        (
            r#"test("[^\\v]")"#,
            r"`test`: Regex failure: `\v` is a letter in jq; write `\x0b` (1:1)",
        ),
        (
            r#"test("\\pL")"#,
            r"`test`: Regex failure: `\p` needs braces; write `\p{…}` (1:1)",
        ),
        (
            "test(\"a{,3}\")",
            "`test`: Regex failure: `{,3}` is not an interval in jq; write `{0,3}` (1:1)",
        ),
        (
            "test(\"a{3,2}\")",
            "`test`: Regex failure: `{3,2}` has reversed bounds (1:1)",
        ),
        (
            "test(\"[[:letter:]]\")",
            "`test`: Regex failure: `[:letter:]` is not a class (1:1)",
        ),
        (
            "test(\"[+--]\")",
            r"`test`: Regex failure: `--` in a class is a range in jq; write `\-` for the character (1:1)",
        ),
    ];
    for (filter, message) in cases {
        let error = refused(filter);
        let prefix = format!("the filter does not compile: {message}");
        assert!(error.starts_with(&prefix), "{filter}: {error}");
    }
    // An invalid pattern in the input fails when it is used, and can be caught.
    assert!(run("test(.)", &json!("(")).is_err());
    assert_eq!(
        run("(test(.))? // false", &json!("(")),
        Ok(vec![json!(false)])
    );
}

#[test]
fn what_a_filter_makes_is_bounded() {
    let bounded = [
        "\"abcdefgh\" * 1e12",
        "[] | .[100000000] = 1",
        "reduce range(100) as $i (null; [.])",
    ];
    for filter in bounded {
        assert!(run(filter, &Value::Null).is_err(), "{filter}");
    }
}

/// Loops may have any length: tail calls need no stack.
#[test]
fn loops_take_no_stack() {
    let loops = [
        "def next: if . >= 100000 then . else . + 1 | next end; 0 | next",
        "0 | until(. >= 100000; . + 1)",
        "0 | last(while(. <= 100000; . + 1))",
        "reduce range(100001) as $i (null; $i)",
        "last(range(100001))",
    ];
    for filter in loops {
        assert_eq!(
            run(filter, &Value::Null),
            Ok(vec![json!(100_000)]),
            "{filter}"
        );
    }
}

/// Words and signs of the language.
const WORDS: [&str; 40] = [
    ".", ".a", ".[", "]", "[", "(", ")", "{", "}", "|", ",", ":", ";", "?", "//", "=", "|=", "+=",
    "==", "<", "and", "or", "-", "*", "$x", "as", "if", "then", "else", "end", "try", "catch",
    "reduce", "def", "label", "1", "\"t\"", "@csv", "length", "$__loc__",
];

proptest! {
    #[test]
    fn any_words_compile_or_are_refused_with_a_place(
        words in prop::collection::vec(prop::sample::select(WORDS.to_vec()), 0..14)
    ) {
        let source = words.join(" ");
        match Filter::compile(&source) {
            Ok(_) => {}
            Err(FilterError::Syntax(message)) => {
                prop_assert!(message.contains("(1:"), "{}: {}", source, message);
            }
            Err(other) => prop_assert!(false, "{}: {:?}", source, other),
        }
    }

    #[test]
    fn integers_are_calculated_exactly(left in any::<i64>(), right in any::<i64>()) {
        let (a, b) = (i128::from(left), i128::from(right));
        let remainder = (b != 0).then(|| (a % b).to_string());
        let quotient = (b != 0 && a % b == 0).then(|| (a / b).to_string());
        let filter = "[.[0] + .[1], .[0] - .[1], .[0] * .[1], -.[0], \
                      ((.[0] % .[1])? // null), .[0] < .[1], .[0] == .[1]] | map(tostring)";
        let given = run(filter, &json!([left, right]));
        let expected = [
            (a + b).to_string(),
            (a - b).to_string(),
            (a * b).to_string(),
            (-a).to_string(),
            remainder.unwrap_or("null".to_owned()),
            (a < b).to_string(),
            (a == b).to_string(),
        ];
        prop_assert_eq!(given, Ok(vec![json!(expected)]));
        if let Some(quotient) = quotient {
            let given = run(".[0] / .[1] | tostring", &json!([left, right]));
            prop_assert_eq!(given, Ok(vec![json!(quotient)]));
        }
    }

    #[test]
    fn a_double_keeps_its_value_through_text(bits in any::<u64>()) {
        let number = f64::from_bits(bits);
        prop_assume!(number.is_finite());
        let text = value::Number::Float(number).to_string();
        prop_assert_eq!(text.parse::<f64>(), Ok(number));
    }

    #[test]
    fn what_is_set_at_a_path_is_there(keys in prop::collection::vec(any::<Option<u8>>(), 0..6)) {
        let path: Vec<Value> = keys
            .iter()
            .map(|key| key.map_or(json!("k"), |index| json!(index)))
            .collect();
        let given = run(". as $path | null | setpath($path; 7) | getpath($path)", &json!(path));
        prop_assert_eq!(given, Ok(vec![json!(7)]));
    }
}
