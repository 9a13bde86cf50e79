//! `visualise`: a chart as a Vega-Lite 5 document with its data. Builds and checks; draws nothing, fetches nothing. The
//! document contains no expressions and no links, so that displaying it runs no code of the caller.

use std::collections::BTreeMap;

use charter_contract::agentic::error::ErrorType;
use charter_contract::agentic::response::ActionType;
use charter_contract::catalogue::builtin::Builtin;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::action::{Action, Content, answer};
use super::parameters::{self, input};
use crate::outcome::{Failure, Success};

/// The grammar of the document (Vega-Lite 5).
const SCHEMA: &str = "https://vega.github.io/schema/vega-lite/v5.json";
/// Most rows of data.
const MAX_ROWS: usize = 10_000;
/// Most columns of a row.
const MAX_COLUMNS: usize = 50;
/// Largest document, in bytes: 2 MiB.
const MAX_BYTES: usize = 2 << 20;
/// Largest width and height, in pixels.
const MAX_PIXELS: u32 = 4_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    title: Option<String>,
    mark: Mark,
    data: Vec<Map<String, Value>>,
    encoding: BTreeMap<Channel, Field>,
    width: Option<u32>,
    height: Option<u32>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mark {
    Arc,
    Area,
    Bar,
    Circle,
    Line,
    Point,
    Rect,
    Rule,
    Square,
    Text,
    Tick,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Channel {
    X,
    Y,
    X2,
    Y2,
    Color,
    Column,
    Detail,
    Opacity,
    Order,
    Row,
    Shape,
    Size,
    Text,
    Theta,
    Tooltip,
}

/// The data of a channel.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Field {
    /// A column of the data; not required to count rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<Kind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aggregate: Option<Aggregate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bin: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_unit: Option<TimeUnit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sort: Option<Sort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stack: Option<Stack>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Quantitative,
    Temporal,
    Ordinal,
    Nominal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Aggregate {
    Count,
    Distinct,
    Max,
    Mean,
    Median,
    Min,
    Sum,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TimeUnit {
    Year,
    YearMonth,
    YearMonthDate,
    Month,
    Day,
    Hours,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Sort {
    Ascending,
    Descending,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Stack {
    Zero,
    Normalize,
    Center,
}

/// Builds the chart document.
pub(crate) fn build(given: &Map<String, Value>) -> Result<Success, Failure> {
    let chart: Parameters = parameters::typed(Builtin::Visualise, given)?;
    check_data(&chart.data)?;
    if chart.encoding.is_empty() {
        return Err(input("`encoding` shows nothing".to_owned()));
    }
    for (channel, field) in &chart.encoding {
        check_field(*channel, field, &chart.data)?;
    }
    let rows = chart.data.len();
    let specification = specification(chart)?;
    let written = specification.to_string();
    if written.len() > MAX_BYTES {
        let message = format!(
            "the chart takes {} bytes; the limit is {MAX_BYTES}",
            written.len()
        );
        return Err(Failure::new(ErrorType::ResourceError, message));
    }
    let details = json!({
        "operation": Builtin::Visualise, "mark": specification["mark"], "rows": rows,
        "after": Content::from_bytes(written.as_bytes()),
    });
    let action = Action::new(ActionType::Visualization, &details)?;
    answer(&json!({ "specification": specification }), &[action])
}

fn specification(chart: Parameters) -> Result<Value, Failure> {
    let mut encoding = BTreeMap::new();
    for (channel, field) in chart.encoding {
        let field = Field {
            field: field.field.map(|name| accessor(&name)),
            ..field
        };
        encoding.insert(channel, field);
    }
    let mut specification = json!({
        "$schema": SCHEMA,
        "mark": chart.mark,
        "data": { "values": chart.data },
        "encoding": encoding,
    });
    let optional = [
        ("title", chart.title.map(Value::from)),
        ("width", pixels("width", chart.width)?),
        ("height", pixels("height", chart.height)?),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            specification[name] = value;
        }
    }
    Ok(specification)
}

fn pixels(name: &str, given: Option<u32>) -> Result<Option<Value>, Failure> {
    match given {
        Some(pixels) if !(1..=MAX_PIXELS).contains(&pixels) => Err(input(format!(
            "`{name}` is {pixels}; it must be 1 to {MAX_PIXELS}"
        ))),
        given => Ok(given.map(Value::from)),
    }
}

/// Escapes dots and brackets in a field's name, which Vega-Lite reads as a path into the row.
fn accessor(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for character in name.chars() {
        if matches!(character, '.' | '[' | ']' | '\\' | '\'' | '"') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// Requires flat rows of single values.
fn check_data(rows: &[Map<String, Value>]) -> Result<(), Failure> {
    if rows.len() > MAX_ROWS {
        let message = format!("`data` has {} rows; the limit is {MAX_ROWS}", rows.len());
        return Err(Failure::new(ErrorType::ResourceError, message));
    }
    for (at, row) in rows.iter().enumerate() {
        if row.len() > MAX_COLUMNS {
            let message = format!(
                "row {at} has {} columns; the limit is {MAX_COLUMNS}",
                row.len()
            );
            return Err(Failure::new(ErrorType::ResourceError, message));
        }
        if let Some((name, _)) = row
            .iter()
            .find(|(_, value)| value.is_array() || value.is_object())
        {
            return Err(input(format!("row {at}: `{name}` is not a single value")));
        }
    }
    Ok(())
}

/// Requires an existing column whose values fit the type.
fn check_field(
    channel: Channel,
    shown: &Field,
    rows: &[Map<String, Value>],
) -> Result<(), Failure> {
    let wrong = |what: String| input(format!("the channel {}: {what}", json!(channel)));
    let Some(name) = &shown.field else {
        return match shown.aggregate {
            Some(Aggregate::Count) => Ok(()),
            Some(_) | None => Err(wrong("`field` is missing".to_owned())),
        };
    };
    let values: Vec<&Value> = rows.iter().filter_map(|row| row.get(name)).collect();
    if values.is_empty() && !rows.is_empty() {
        return Err(wrong(format!("no row has the column `{name}`")));
    }
    let sums = matches!(
        shown.aggregate,
        Some(Aggregate::Count | Aggregate::Distinct)
    );
    let fits = |value: &&Value| match shown.kind {
        Some(Kind::Quantitative) => value.is_number() || value.is_null() || sums,
        Some(Kind::Temporal) => value.is_string() || value.is_number() || value.is_null(),
        Some(Kind::Ordinal | Kind::Nominal) | None => true,
    };
    match values.into_iter().find(|value| !fits(value)) {
        None => Ok(()),
        Some(value) => Err(wrong(format!(
            "`{name}` has {value}, which is not {}",
            json!(shown.kind)
        ))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::needless_pass_by_value,
        reason = "literals read better by value"
    )]

    use super::*;

    fn built(given: Value) -> Result<Value, String> {
        let built = build(given.as_object().unwrap());
        built
            .map(|success| success.output)
            .map_err(|failure| failure.message)
    }

    fn spend(encoding: Value) -> Value {
        json!({
            "title": "Spend", "mark": "bar", "width": 400,
            "data": [{"team.name": "a", "cost": 1.5}, {"team.name": "b", "cost": 2}],
            "encoding": encoding,
        })
    }

    #[test]
    fn b003_a_chart_is_a_vega_lite_document_with_its_data() {
        let given = spend(json!({
            "x": {"field": "team.name", "type": "nominal", "sort": "descending"},
            "y": {"field": "cost", "type": "quantitative", "aggregate": "sum", "title": "USD"},
        }));
        let answered = built(given).unwrap();
        assert_eq!(
            answered["specification"],
            json!({
                "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
                "title": "Spend", "mark": "bar", "width": 400,
                "data": {"values": [{"team.name": "a", "cost": 1.5}, {"team.name": "b", "cost": 2}]},
                "encoding": {
                    "x": {"field": "team\\.name", "type": "nominal", "sort": "descending"},
                    "y": {"field": "cost", "type": "quantitative", "aggregate": "sum", "title": "USD"},
                },
            })
        );
        assert_eq!(answered["actions"][0]["action_type"], "visualization");
        assert_eq!(answered["actions"][0]["details"]["rows"], 2);
    }

    #[test]
    fn b003_a_chart_that_shows_nothing_or_runs_something_is_refused() {
        let x = |field: Value| spend(json!({ "x": field }));
        let cases = [
            (
                x(json!({"field": "absent"})),
                "the channel \"x\": no row has the column `absent`",
            ),
            (
                x(json!({"field": "team.name", "type": "quantitative"})),
                "the channel \"x\": `team.name` has \"a\", which is not \"quantitative\"",
            ),
            (
                x(json!({"type": "nominal"})),
                "the channel \"x\": `field` is missing",
            ),
            (spend(json!({})), "`encoding` shows nothing"),
        ];
        for (given, message) in cases {
            assert_eq!(built(given), Err(message.to_owned()));
        }
        for unsafe_field in [
            json!({"field": "cost", "condition": {"test": "1"}}),
            json!({"value": 1}),
        ] {
            assert!(
                built(x(unsafe_field))
                    .unwrap_err()
                    .starts_with("unknown field")
            );
        }
        let mut linked = spend(json!({"x": {"field": "cost"}}));
        linked["data"] = json!({"url": "https://x"});
        assert!(built(linked).unwrap_err().starts_with("invalid type"));
        let mut wide = spend(json!({"x": {"field": "cost"}}));
        wide["width"] = json!(4_001);
        assert_eq!(
            built(wide),
            Err("`width` is 4001; it must be 1 to 4000".to_owned())
        );
        let mut nested = spend(json!({"x": {"field": "cost"}}));
        nested["data"] = json!([{"cost": [1]}]);
        assert_eq!(
            built(nested),
            Err("row 0: `cost` is not a single value".to_owned())
        );
        let mut long = spend(json!({"x": {"field": "cost"}}));
        long["data"] = json!(vec![json!({"cost": 1}); MAX_ROWS + 1]);
        assert_eq!(
            built(long),
            Err("`data` has 10001 rows; the limit is 10000".to_owned())
        );
    }

    #[test]
    fn rows_are_counted_without_a_field() {
        let given = spend(json!({
            "x": {"field": "cost", "bin": true},
            "y": {"aggregate": "count", "type": "quantitative"},
        }));
        assert!(built(given).is_ok());
    }
}
