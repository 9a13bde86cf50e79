//! The documented differences from jq 1.8: `docs/reference/filters.md` has a row for each.

/// A row's first cell, a filter applied to null, and its first output here, or the message of its failure.
pub(super) type Difference = (
    &'static str,
    &'static str,
    Result<&'static str, &'static str>,
);

const EXTRAS: &str = "`@base32`, `@base32d`, `toarray`, `ascii`, `leaf_paths`, `dateadd`, `datesub`, `date`, `pow10`";

/// All differences, in the order of the page.
#[rustfmt::skip]
pub(super) const DIFFERENCES: &[Difference] = &[
    ("Integers beyond 2^53", "9007199254740993 * 3 | tojson", Ok(r#""27021597764222979""#)),
    ("Integers beyond 64 bits in what is emitted", "18446744073709551616 | tostring", Ok(r#""18446744073709551616""#)),
    (
        "Integers beyond 64 bits in what is emitted", "18446744073709551616",
        Err("it emitted the integer 18446744073709551616, which has more than 64 bits: emit it as a string, with \
             `tostring`"),
    ),
    ("Decimals", "1.50 | tojson", Ok(r#""1.50""#)),
    ("Decimals", "0.1234567890123456789 | tojson", Ok(r#""0.1234567890123456789""#)),
    ("Decimals", "0.1234567890123456789", Ok("0.12345678901234568")),
    ("Decimals", "[1e3, 1E+2, 1e-5] | tojson", Ok(r#""[1000,100,1e-05]""#)),
    ("`-0`", "-0 | tojson", Ok(r#""0""#)),
    ("Regular expressions", r#""ab" | test("(?<=a)b(?!c)")"#, Ok("true")),
    (
        "Regular expressions", r#""ab" | test("\\X")"#,
        Err(r"the filter does not compile: `test`: Regex failure: Parsing error at position 0: Invalid escape: \X (1:8)"),
    ),
    (
        "Regular expressions", r#""f" | test("\\h")"#,
        Err(r"the filter does not compile: `test`: Regex failure: `\h` is a letter in jq; write `[0-9A-Fa-f]` (1:7)"),
    ),
    ("Regular expressions", r#""ß" | test("ss"; "i")"#, Ok("false")),
    ("Regular expressions", r#""é" | test("\\xe9")"#, Ok("true")),
    (
        "Regular expressions", r#""a" * 40 | try test("^(a|a)*(?=b)c") catch ."#,
        Ok(r#""Regex failure: Error executing regex: Max limit for backtracking count exceeded""#),
    ),
    ("`.a?//1`", ".a?//1", Ok("1")),
    (
        "`?//` in `reduce` and `foreach`", "foreach .[] as [$a] ?// $a (0; $a)",
        Err("the filter does not compile: `(0; $a)`: `?//` is for `as … |` alone: bind the outputs first, and then fold them (1:28)"),
    ),
    (
        "`foreach` as a path, where its update may have several outputs", "[path(foreach 1 as $x (.; .a))]",
        Ok(r#"[["a"]]"#),
    ),
    (
        "`foreach` as a path, where its update may have several outputs", "path(foreach 1 as $x (.; .a, .b))",
        Err("invalid path expression with input null"),
    ),
    ("Dates", "253402207200 | todate", Ok(r#""9999-12-30T22:00:00Z""#)),
    ("Dates", "253402207201 | todate", Err("253402207201 seconds are outside the years -9999 to 9999")),
    ("Dates", "1e14 | gmtime", Err("100000000000000 seconds are outside the years -9999 to 9999")),
    ("Dates", "nan | gmtime", Err("null seconds are outside the years -9999 to 9999")),
    ("Dates", "[2024, 12, 1, 0, 0, 0] | mktime", Err("month 12 is not from 0 to 11")),
    ("Dates", r#"[2024, 127, 1, 0, 0, 0] | strftime("%Y")"#, Err("month 127 is not from 0 to 11")),
    ("Dates", r#"[2024, 0, 32, 0, 0, 0] | try mktime catch "refused""#, Ok(r#""refused""#)),
    ("Dates", r#""2024" | try strptime("%Y") catch "refused""#, Ok(r#""refused""#)),
    (
        "Messages of `fromjson`, dates and invalid paths", r#""[" | try fromjson catch ."#,
        Ok(r#""EOF while parsing a list at line 1 column 1 (while parsing '[')""#),
    ),
    ("`fromjson`", r#""nan" | fromjson"#, Ok("null")),
    ("`fromjson`", r#""[nan]" | try fromjson catch "refused""#, Ok(r#""refused""#)),
    ("Nesting", "reduce range(64) as $i (null; [.]) | tojson | length", Ok("132")),
    ("Nesting", r#""[" * 64 + "]" * 64 | fromjson | tojson | length"#, Ok("128")),
    ("Nesting", r#""[" * 65 + "]" * 65 | try fromjson catch "refused""#, Ok(r#""refused""#)),
    (
        "Nesting", "reduce range(65) as $i (null; [.])",
        Err("its output is invalid: the document nests more than 64 levels deep; flatten it"),
    ),
    (r#"`"x" * n`, `.[n] = x`"#, r#""x" * 16777217"#, Err("a repeated string may have at most 16777216 bytes \
                                                           (JSON_BYTES)")),
    (r#"`"x" * n`, `.[n] = x`"#, "[] | .[16777216] = 1", Err("Array index too large")),
    (
        "`builtins`, `get_search_list`, `get_jq_origin`, `get_prog_origin`, `modulemeta`", "get_search_list",
        Err("the filter does not compile: `get_search_list` is not available in filters (1:1): a filter cannot read \
             files"),
    ),
    ("`have_decnum`", "have_decnum", Ok("false")),
    (EXTRAS, r#""ab" | @base32"#, Ok(r#""MFRA====""#)),
    (EXTRAS, r#""MFRA====" | @base32d"#, Ok(r#""ab""#)),
    (EXTRAS, "1 | toarray", Ok("[1]")),
    (EXTRAS, "65 | ascii", Ok(r#""A""#)),
    (EXTRAS, "{a: [1]} | [leaf_paths]", Ok(r#"[["a",0]]"#)),
    (EXTRAS, r#"10 | [dateadd("seconds"; 5), datesub("seconds"; 5)]"#, Ok("[15,5]")),
    (EXTRAS, "0 | date", Ok(r#""1970-01-01T00:00:00Z""#)),
    (EXTRAS, "2 | pow10", Ok("100")),
];
