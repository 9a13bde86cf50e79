//! Measures the memory of JSON per byte of text: the memory of a value compared with the estimate, and the memory of
//! parsing it. The memory budgets rely on the estimates.

use charter_contract::ids::StepId;
use charter_contract::json::{Profile, decode, decode_stored, extent, memory_of};
use charter_domain::run::{ResultSource, RunEvent};
use charter_testkit::fuzz_targets::FuzzTarget;
use charter_testkit::measured::{held, measured};
use serde_json::{Value, json};

use super::{Failure, head, row};

/// Approximate size of each text, in bytes.
const BYTES: usize = 1 << 20;

/// The items of a list of equal items, as text.
const PARTS: [(&str, &str); 9] = [
    ("empty lists", "[]"),
    ("empty objects", "{}"),
    ("objects of one field", r#"{"":0}"#),
    ("numbers of one digit", "0"),
    ("fractions", "0.123456"),
    ("empty texts", r#""""#),
    ("texts of 20 bytes", r#""abcdefghijklmnopqrst""#),
    (
        "findings",
        r#"{"severity":"high","resource_type":"aws.security_group","resource_id":"sg-0123456789abcdef0","port":22,"cidr":"0.0.0.0/0","description":"open to the internet","tags":["web","prod"]}"#,
    ),
    (
        "log lines",
        r#""2026-04-14T12:00:00Z host-17 sshd[4242]: Accepted publickey for deploy from 10.0.0.7 port 51234 ssh2""#,
    ),
];

pub(super) fn measure() -> Result<(), Failure> {
    values()?;
    events()?;
    messages()
}

fn list(part: &str) -> String {
    let count = BYTES / (part.len() + 1);
    format!("[{}]", vec![part; count].join(","))
}

/// Formats bytes per byte of text.
fn per_byte(bytes: usize, text: &str) -> String {
    // Memory sizes are exact in a double.
    format!("{:.1}", bytes as f64 / text.len() as f64)
}

fn values() -> Result<(), Failure> {
    let columns = [
        "List of",
        "Counted",
        "Kept",
        "Most while read",
        "Kept of counted",
    ];
    head("Bytes of memory for each byte of JSON", &columns);
    for (name, part) in PARTS {
        let text = list(part);
        let counted = extent(text.as_bytes(), Profile::OPERATOR)?.memory;
        let before = held();
        let (value, cost) = measured(|| decode::<Value>(text.as_bytes(), Profile::OPERATOR));
        let value = value?;
        let kept = held().saturating_sub(before);
        drop(value);
        row(&[
            name.to_owned(),
            per_byte(counted, &text),
            per_byte(kept, &text),
            per_byte(cost.heap, &text),
            format!("{:.0} %", 100.0 * kept as f64 / counted as f64),
        ]);
    }
    Ok(())
}

/// Measures a journal event with such an output: its parser keeps the parts of an event until it knows the event's
/// type.
fn events() -> Result<(), Failure> {
    let columns = ["Output: a list of", "Counted", "Kept", "Most while read"];
    head(
        "Bytes of memory for each byte of an event of a journal",
        &columns,
    );
    for (name, part) in PARTS {
        let output: Value = decode(list(part).as_bytes(), Profile::OPERATOR)?;
        let counted = memory_of(&output);
        let event = RunEvent::StepSucceeded {
            step: StepId::parse("step-001")?,
            output,
            source: ResultSource::Fresh,
            duration_ms: 1,
            brings: Box::default(),
        };
        let text = serde_json::to_string(&event)?;
        drop(event);
        let before = held();
        let (read, cost) = measured(|| decode_stored::<RunEvent>(&text));
        let read = read?;
        let kept = held().saturating_sub(before);
        drop(read);
        row(&[
            name.to_owned(),
            per_byte(counted, &text),
            per_byte(kept, &text),
            per_byte(cost.heap, &text),
        ]);
    }
    Ok(())
}

/// Measures documents as interfaces parse them: the peak of the memory, compared with the estimate.
fn messages() -> Result<(), Failure> {
    let columns = [
        "Read as",
        "A list of",
        "Counted",
        "Most while read",
        "Most of counted",
    ];
    head("Messages and bodies", &columns);
    for (target, around) in [
        ("mcp_message", message as fn(&str) -> String),
        ("body", request as fn(&str) -> String),
    ] {
        let reads = FuzzTarget::find(target).ok_or("there is no such target")?;
        for (name, part) in PARTS {
            let text = around(&list(part));
            let counted = extent(text.as_bytes(), Profile::OPERATOR)?.memory;
            let trial = reads.try_input(text.as_bytes());
            row(&[
                format!("{target}, {:?}", trial.verdict),
                name.to_owned(),
                per_byte(counted, &text),
                per_byte(trial.cost.heap, &text),
                format!("{:.0} %", 100.0 * trial.cost.heap as f64 / counted as f64),
            ]);
        }
    }
    Ok(())
}

fn message(list: &str) -> String {
    let arguments = json!({"tool_id": "vault.list_backups", "parameters": {"list": "LIST"}});
    let params = json!({"name": "call", "arguments": arguments});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    call.to_string().replace(r#""LIST""#, list)
}

fn request(list: &str) -> String {
    let request = json!({
        "id": "req-01930000-0000-7000-8000-000000000001", "timestamp": "2026-04-14T12:00:00Z",
        "input": "look", "metadata": {"parameters": {"list": "LIST"}},
    });
    request.to_string().replace(r#""LIST""#, list)
}
