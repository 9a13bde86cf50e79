//! Measures the largest expressions that `CEL_STEPS` allows, each over as many values as are accepted.

use charter_contract::bounds::{CEL_BYTES, CEL_OPERATORS, CEL_STEPS};
use charter_domain::expression::{Budget, Condition, ExpressionError, Facts, Roots};
use charter_testkit::measured::measured;
use serde_json::{Map, Value, json};

use super::{Failure, head, kibibytes, milliseconds, most, row};

/// An expression over parameters whose size depends on a number.
struct Growing {
    name: &'static str,
    source: &'static str,
    /// Builds the parameter `values` of a given size.
    values: fn(usize) -> Value,
}

const NUMBERS: fn(usize) -> Value = |count| json!(vec![7; count]);
const TEXTS: fn(usize) -> Value = |count| json!(vec!["abcdefgh"; count]);
const TEXT: fn(usize) -> Value = |count| json!("ab,".repeat(count));
const RULES: fn(usize) -> Value =
    |count| json!(vec![json!({"port": 80, "cidr": "10.0.0.0/8"}); count]);

const GROWING: [Growing; 16] = [
    growing(
        "a loop over numbers",
        "parameters.values.all(i, i > 0 && i < 9)",
        NUMBERS,
    ),
    growing(
        "a loop that makes a list",
        "parameters.values.map(i, i + 1).size() > 0",
        NUMBERS,
    ),
    growing(
        "a list of lists",
        "parameters.values.map(i, [i, i, i]).size() > 0",
        NUMBERS,
    ),
    growing(
        "a loop in a loop",
        "parameters.values.all(i, parameters.values.all(j, i <= j))",
        NUMBERS,
    ),
    growing(
        "a search in a loop",
        "parameters.values.all(i, i in parameters.values)",
        NUMBERS,
    ),
    growing(
        "a loop over objects",
        "parameters.values.all(o, o.port == 80 && o.cidr != '')",
        RULES,
    ),
    growing(
        "objects that are copied",
        "parameters.values.map(o, o).size() > 0",
        RULES,
    ),
    growing(
        "a comparison",
        "parameters.values == parameters.values",
        RULES,
    ),
    growing(
        "texts that are joined",
        "parameters.values.join(',').size() > 0",
        TEXTS,
    ),
    growing(
        "texts that are matched",
        "parameters.values.all(t, t.matches('^[a-h]+$'))",
        TEXTS,
    ),
    growing(
        "a text that is split",
        "parameters.values.split(',').size() > 0",
        TEXT,
    ),
    growing(
        "a text that is replaced",
        "parameters.values.replace('a', 'bb').size() > 0",
        TEXT,
    ),
    growing(
        "a text that is searched",
        "parameters.values.indexOf('abc') == -1",
        TEXT,
    ),
    growing(
        "a text that is matched",
        "!parameters.values.matches('[ab]*a[ab]{20}c')",
        TEXT,
    ),
    growing(
        "a computed pattern",
        "!parameters.values.matches('[ab]*' + 'a[ab]{20}c')",
        TEXT,
    ),
    growing(
        "a list that is written out",
        "'%s'.format([parameters.values]).size() > 0",
        NUMBERS,
    ),
];

const fn growing(name: &'static str, source: &'static str, values: fn(usize) -> Value) -> Growing {
    Growing {
        name,
        source,
        values,
    }
}

/// Maximum number of values: no parameter may have more bytes.
const MOST_VALUES: usize = 16 << 20;

pub(super) fn measure() -> Result<(), Failure> {
    let title = format!("The largest evaluations within CEL_STEPS = {CEL_STEPS}");
    head(&title, &["Expression", "Values", "Time", "Memory"]);
    for Growing {
        name,
        source,
        values,
    } in GROWING
    {
        let condition = match Condition::compile(source, Roots::Gate) {
            Ok(condition) => condition,
            Err(error) => {
                row(&[
                    name.to_owned(),
                    error.to_string(),
                    String::new(),
                    String::new(),
                ]);
                continue;
            }
        };
        let count = most(MOST_VALUES, |count| {
            !is_costly(&condition, &facts(values(count)))
        });
        let facts = facts(values(count));
        let (answer, cost) = measured(|| holds(&condition, &facts));
        let values = match answer {
            Ok(_) => count.to_string(),
            Err(error) => format!("{count}: {error}"),
        };
        row(&[
            name.to_owned(),
            values,
            milliseconds(cost.time),
            kibibytes(cost.heap),
        ]);
    }
    compile();
    Ok(())
}

/// Builds an expression with the given number of parts.
type Source = fn(usize) -> String;

/// Measures the largest expressions that compile.
fn compile() {
    let title = format!("Compiling at CEL_BYTES = {CEL_BYTES}, CEL_OPERATORS = {CEL_OPERATORS}");
    head(&title, &["Expression", "Parts", "Time", "Memory"]);
    let sources: [(&str, Source); 5] = [
        ("a sum", |count| format!("{}1 > 0", "1+".repeat(count))),
        ("brackets", |count| {
            format!("{}true{}", "(".repeat(count), ")".repeat(count))
        }),
        ("members", |count| {
            format!("has(parameters.a{})", ".b".repeat(count))
        }),
        ("loops in a row", |count| {
            format!("[1]{}.size() == 1", ".map(i,i)".repeat(count))
        }),
        ("patterns", |count| {
            let pattern = |at| format!("tool.id.matches('(?i)[\\\\w.-]+@[\\\\w-]+{at}$')");
            (0..=count).map(pattern).collect::<Vec<_>>().join("||")
        }),
    ];
    for (name, source) in sources {
        let compiles = |count| Condition::compile(&source(count), Roots::Gate).is_ok();
        let count = most(CEL_BYTES, compiles);
        let source = source(count);
        let (_condition, cost) = measured(|| Condition::compile(&source, Roots::Gate));
        row(&[
            name.to_owned(),
            count.to_string(),
            milliseconds(cost.time),
            kibibytes(cost.heap),
        ]);
    }
}

fn facts(values: Value) -> Map<String, Value> {
    let parameters = Map::from_iter([("values".to_owned(), values)]);
    Map::from_iter([
        ("parameters".to_owned(), Value::Object(parameters)),
        ("tool".to_owned(), json!({"id": "aws.x"})),
    ])
}

fn holds(condition: &Condition, names: &Map<String, Value>) -> Result<bool, ExpressionError> {
    condition.holds(&Facts::from(names), &mut Budget::default())
}

fn is_costly(condition: &Condition, names: &Map<String, Value>) -> bool {
    holds(condition, names) == Err(ExpressionError::Costly)
}
