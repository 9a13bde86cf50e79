//! Sentences from several trades, with their values and their doubts.

mod cloud;
mod crm;
mod doubts;
mod exclusions;
mod form;
mod hr;
mod ops;
mod shop;
mod times;

use charter_contract::parameter::Parameter;
use charter_contract::time::Timestamp;
use serde_json::{Map, Value};

use super::{SentenceReading, read};

/// A Wednesday.
const NOW: &str = "2026-06-17T10:30:00Z";

fn reading(declared: &Value, text: &str) -> SentenceReading {
    let declared: Vec<Parameter> = serde_json::from_value(declared.clone()).unwrap();
    read(&declared, text, Timestamp::parse(NOW).unwrap())
}

/// Returns the values of a reading, and the names of the parameters with doubts.
fn told(reading: &SentenceReading) -> (Value, Vec<&str>) {
    let values = reading.stated.iter();
    let values: Map<String, Value> = values
        .map(|(name, stated)| (name.to_string(), stated.value.clone()))
        .collect();
    let unclear = reading
        .unclear
        .iter()
        .map(|unclear| unclear.parameter.as_str());
    (Value::Object(values), unclear.collect())
}

/// Each sentence has exactly these values, and no doubts.
fn states(declared: &Value, rows: &[(&str, Value)]) {
    let wrong = rows.iter().filter_map(|(text, expected)| {
        let reading = reading(declared, text);
        let (values, unclear) = told(&reading);
        (values != *expected || !unclear.is_empty()).then(|| {
            format!(
                "{text}\n  {values} {:?}\n  expected {expected}",
                reading.unclear
            )
        })
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each sentence has exactly these values, and doubts about these parameters.
fn asks(declared: &Value, rows: &[(&str, Value, &[&str])]) {
    let wrong = rows.iter().filter_map(|(text, expected, about)| {
        let reading = reading(declared, text);
        let (values, unclear) = told(&reading);
        (values != *expected || unclear != *about).then(|| {
            format!(
                "{text}\n  {values} {:?}\n  expected {expected} {about:?}",
                reading.unclear
            )
        })
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
