//! Converts the JSON of a call to its contract or type. Must not know grants.

use std::time::{SystemTime, UNIX_EPOCH};

use charter_contract::agentic::error::ErrorType;
use charter_contract::catalogue::builtin::Builtin;
use charter_contract::time::Timestamp;
use charter_contract::validate::{self, Contract};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::table;
use crate::outcome::Failure;

/// Returns the contract document of a call: its parameters, and `fixed`, which the tool determines.
pub(super) fn document<T: Contract>(
    builtin: Builtin,
    parameters: &Map<String, Value>,
    fixed: &[(&str, Value)],
) -> Result<T, Failure> {
    refuse_unknown(builtin, parameters)?;
    let mut fields = parameters.clone();
    fields.insert("timestamp".to_owned(), now()?);
    for (name, value) in fixed {
        fields.insert((*name).to_owned(), value.clone());
    }
    let read = validate::read_value::<T>(&Value::Object(fields));
    read.map(|(document, _)| document).map_err(|violations| {
        let said: Vec<String> = violations.iter().map(ToString::to_string).collect();
        input(said.join("; "))
    })
}

/// Returns the parameters of a tool that no contract of the seed describes.
pub(super) fn typed<T: DeserializeOwned>(
    builtin: Builtin,
    parameters: &Map<String, Value>,
) -> Result<T, Failure> {
    refuse_unknown(builtin, parameters)?;
    T::deserialize(Value::Object(parameters.clone())).map_err(|error| input(error.to_string()))
}

/// Refuses parameters that the tool's document does not list.
fn refuse_unknown(builtin: Builtin, parameters: &Map<String, Value>) -> Result<(), Failure> {
    let known = table::parameters(builtin);
    match parameters.keys().find(|name| {
        known
            .iter()
            .all(|parameter| parameter.name != name.as_str())
    }) {
        None => Ok(()),
        Some(name) => Err(input(format!("`{builtin}` has no parameter `{name}`"))),
    }
}

fn now() -> Result<Value, Failure> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let micros = since
        .ok()
        .and_then(|since| i64::try_from(since.as_micros()).ok());
    let time = micros.and_then(|micros| Timestamp::from_micros(micros).ok());
    let time = time.ok_or_else(|| Failure::system("the clock is out of range"))?;
    Ok(Value::from(time.to_string()))
}

pub(super) fn input(message: String) -> Failure {
    Failure::new(ErrorType::InputError, message)
}
