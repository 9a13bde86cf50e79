//! JSON from external sources: messages, outputs of tools, bodies of requests.
//!
//! `expect` states what holds for every input that was accepted. The fuzzer reports a panic as a fault of the input.

use charter_contract::agentic::request::AgentRequest;
use charter_contract::bounds::JSON_ENVELOPE_LEVELS;
use charter_contract::canonical;
use charter_contract::json::{
    JsonLimitExceeded, Meter, Profile, decode, decode_stored, extent, extent_of, to_stored,
};
use charter_contract::plan::ExecutionPlan;
use charter_contract::validate::parse;
use serde_json::Value;

use super::Verdict;

pub(super) const WORDS: &[&str] = &[
    "[", "]", "{", "}", ",", ":", "\"", "\\u", "\\ud800", "{\"\":0}", "[]", "null", "1e9", "-0.0",
];

pub(super) const BODY_WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"id\"",
    "\"timestamp\"",
    "\"input\"",
    "\"metadata\"",
    "\"parameters\"",
    "\"steps\"",
    "\"tool\"",
    "\"dependencies\"",
    "\"condition\"",
    "\"step-001\"",
    "\"request_id\"",
    "\"error_handling\"",
    "\"${step-001.a}\"",
    "null",
];

/// Measures a message in one piece and in two, and parses it; the result is no larger than the measurement.
pub(super) fn message(input: &[u8]) -> Verdict {
    let whole = extent(input, Profile::MESSAGE);
    let (first, rest) = input.split_at(input.len() / 2);
    let mut meter = Meter::new(Profile::MESSAGE);
    let fed = meter.feed(first).and_then(|()| meter.feed(rest));
    // The meter does not check numbers.
    if !matches!(whole, Err(JsonLimitExceeded::Number { .. })) {
        assert_eq!(fed.map(|()| meter.extent()), whole, "in two pieces");
    }
    let Ok(value) = decode::<Value>(input, Profile::MESSAGE) else {
        return Verdict::Refused;
    };
    let measured = whole.expect("what was read was measured");
    let built = extent_of(&value, Profile::STORED).expect("the levels of storage");
    assert!(built.levels <= measured.levels, "{built:?} {measured:?}");
    assert!(built.memory <= measured.memory, "{built:?} {measured:?}");
    Verdict::Accepted
}

/// An accepted output can be put into an envelope, stored and parsed again, also by a client with a limit of 127
/// levels.
pub(super) fn output(input: &[u8]) -> Verdict {
    let Ok(value) = decode::<Value>(input, Profile::OUTPUT) else {
        return Verdict::Refused;
    };
    extent_of(&value, Profile::OUTPUT).expect("what was read is within its profile");
    let enclosed = (0..JSON_ENVELOPE_LEVELS).fold(canonical::sorted(value), |inner, _| {
        Value::Array(vec![inner])
    });
    let stored = to_stored(&enclosed).expect("what is admitted is stored");
    drop(enclosed);
    drop(decode_stored::<Value>(&stored).expect("what is stored is read"));
    serde_json::from_str::<Value>(&stored).expect("what is stored is read by clients");
    Verdict::Accepted
}

/// Parses the body of a request and of a plan, with all violations of each.
pub(super) fn body(input: &[u8]) -> Verdict {
    let request = parse::<AgentRequest>(input);
    let plan = parse::<ExecutionPlan>(input);
    Verdict::from_result(&request.map(drop).or(plan.map(drop)))
}
