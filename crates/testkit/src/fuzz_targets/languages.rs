//! The languages inside documents: templates, CEL, jq, and `${…}` references.

use std::collections::BTreeMap;
use std::str::from_utf8;
use std::sync::LazyLock;

use charter_contract::bounds::{FILLED_BYTES, FILLED_TOGETHER, JSON_LEVELS, JSON_MEMORY};
use charter_contract::filling::FillBudget;
use charter_contract::ids::StepId;
use charter_contract::json::{Profile, decode, extent_of};
use charter_domain::expression::{Budget, Condition, Fact, Facts, Numbers, Roots};
use charter_domain::jq::Filter;
use charter_domain::reference::{self, Bindings, resolve};
use charter_domain::template::{self, Filled, Structure};
use serde_json::{Map, Value, json};

use super::Verdict;

pub(super) const TEMPLATE_WORDS: &[&str] = &[
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    " if ",
    " else ",
    " elif ",
    " endif ",
    " for x in list ",
    " endfor ",
    " set a = ",
    " not ",
    " and ",
    " or ",
    " in ",
    " is ",
    "-",
    "+",
    "~",
    "*",
    "/",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ".a",
    "|join",
    "|replace(\"a\",\"aa\")",
    "|indent(9999)",
    "|format",
    "|batch(2)",
    "|slice(2)",
    "name",
    "list",
    "deep",
    "'%9999999d'",
];

pub(super) const CEL_WORDS: &[&str] = &[
    "parameters",
    "tool",
    "dry_run",
    "steps",
    ".list",
    ".text",
    "[0]",
    "[\"a\"]",
    ".all(x, ",
    ".exists(x, ",
    ".map(x, ",
    ".filter(x, ",
    ".matches(\"",
    "size(",
    ".contains(",
    "has(",
    " && ",
    " || ",
    "!",
    "-",
    " == ",
    " in ",
    " ? ",
    " : ",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "(\\\\w{500}){500}",
    "1e999",
    "true",
];

pub(super) const JQ_WORDS: &[&str] = &[
    ".",
    "..",
    ".[]",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    " | ",
    ",",
    "-",
    " and ",
    " or ",
    "//",
    " as $x | ",
    "reduce .[] as $x (",
    "foreach .[] as $x (",
    "def f: ",
    ";",
    "if ",
    " then ",
    " else ",
    " end",
    "try ",
    " catch ",
    "label $a | ",
    "break $a",
    "\"",
    "\\(",
    "@json",
    "?",
    "$__loc__",
    "limit(",
    "import \"a\" as a;",
];

pub(super) const REFERENCE_WORDS: &[&str] = &[
    "${",
    "}",
    "${user.text}",
    "${user.list}",
    "${user.deep}",
    "${step_1}",
    "${step_1.list.0}",
    "user.",
    ".",
    "[",
    "]",
    "{\"a\":",
    "\"",
    ",",
];

/// Values for filling documents: a text, a list, and deeply nested values.
static VALUES: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let list: Vec<Value> = (0..2_000)
        .map(|at| json!({"name": format!("n{at}"), "at": at}))
        .collect();
    let deep = (0..40).fold(json!("end"), |inner, _| json!({"in": [inner]}));
    let mut values = Map::new();
    values.insert("name".to_owned(), json!("a name"));
    values.insert(
        "text".to_owned(),
        json!("a longer text, of 1,000 words. ".repeat(160)),
    );
    values.insert("list".to_owned(), Value::Array(list));
    values.insert("deep".to_owned(), deep);
    values
});

/// Parses the input as a JSON structure, or else takes it as one text.
fn structure(input: &[u8]) -> Option<Value> {
    let read = decode::<Value>(input, Profile::OUTPUT).ok();
    read.or_else(|| from_utf8(input).ok().map(Value::from))
}

/// Checks a template, and renders it if the server itself would.
pub(super) fn template(input: &[u8]) -> Verdict {
    let Some(structure) = structure(input) else {
        return Verdict::Refused;
    };
    let checked = template::check(&structure);
    if let Ok(Structure::Plain(plain)) = Structure::read(&structure) {
        let filled = plain.fill(&VALUES, &mut FillBudget::with_limit(FILLED_TOGETHER));
        if let Ok(filled) = filled {
            admit_filled(&filled);
        }
    }
    Verdict::from_result(&checked)
}

/// Renders a template with expressions, as its process does.
pub(super) fn evaluation(input: &[u8]) -> Verdict {
    let Some(structure) = structure(input) else {
        return Verdict::Refused;
    };
    let filled = template::evaluate(&structure, std::slice::from_ref(&*VALUES));
    match filled.as_slice() {
        [Filled::Value(value)] => {
            admit_filled(value);
            Verdict::Accepted
        }
        [Filled::Fault(_)] => Verdict::Refused,
        other => panic!("one set of values, and {} outcomes", other.len()),
    }
}

/// Checks that a filled structure is within the size limit and nests no deeper than an output may.
fn admit_filled(filled: &Value) {
    let texts = filled.to_string().len();
    // An escape takes up to six bytes of JSON.
    assert!(texts <= 6 * FILLED_BYTES, "{texts} bytes were filled in");
    assert!(
        extent_of(filled, Profile::OUTPUT).is_ok(),
        "too deep, or too large"
    );
}

/// Compiles an expression of a guardrail and of a plan, and evaluates it for a call with long lists.
pub(super) fn cel(input: &[u8]) -> Verdict {
    static STEPS: LazyLock<Value> =
        LazyLock::new(|| json!({"step_1": {"output": &*VALUES, "status": "completed"}}));
    static TOOL: LazyLock<Value> =
        LazyLock::new(|| json!({"tool_id": "aws.lock", "tool_class": "write"}));
    let Ok(source) = from_utf8(input) else {
        return Verdict::Refused;
    };
    let facts: Facts<'_> = [
        ("parameters", Fact::Parameters(&VALUES, Numbers::default())),
        ("steps", Fact::Value(&STEPS)),
        ("tool", Fact::Value(&TOOL)),
        ("dry_run", Fact::Flag(false)),
    ]
    .into_iter()
    .collect();
    let mut verdict = Verdict::Refused;
    for roots in [Roots::Gate, Roots::Steps] {
        if let Ok(condition) = Condition::compile(source, roots) {
            let first = condition.holds(&facts, &mut Budget::default());
            let again = condition.holds(&facts, &mut Budget::default());
            assert_eq!(first, again, "the same question has two answers");
            verdict = Verdict::Accepted;
        }
    }
    verdict
}

/// Compiles a filter; only its own process would run it.
pub(super) fn jq(input: &[u8]) -> Verdict {
    match from_utf8(input) {
        Ok(source) => Verdict::from_result(&Filter::compile(source)),
        Err(_) => Verdict::Refused,
    }
}

/// Lists the references of a value and fills them in.
pub(super) fn references(input: &[u8]) -> Verdict {
    static OUTPUTS: LazyLock<BTreeMap<StepId, Value>> = LazyLock::new(|| {
        let step = StepId::parse("step_1").expect("an id");
        BTreeMap::from([(step, Value::Object(VALUES.clone()))])
    });
    let Some(value) = structure(input) else {
        return Verdict::Refused;
    };
    drop(reference::references(&value));
    let bindings = Bindings {
        parameters: &VALUES,
        outputs: &OUTPUTS,
        item: None,
    };
    let filled = resolve(&value, bindings, &mut FillBudget::with_limit(JSON_MEMORY));
    if let Ok(filled) = &filled {
        let levels = extent_of(filled, Profile::STORED).map(|extent| extent.levels);
        assert!(
            levels.as_ref().is_ok_and(|levels| *levels <= JSON_LEVELS),
            "{levels:?}"
        );
    }
    Verdict::from_result(&filled)
}
