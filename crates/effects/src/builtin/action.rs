//! The effects of a call, in the form of the response's actions (seed 003, Response Schema) without the time. Must not
//! know how an effect is implemented.

use std::io::{self, Write};

use charter_contract::agentic::response::ActionType;
use charter_contract::hex;
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::outcome::{Failure, Success};

/// One effect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Action {
    action_type: ActionType,
    details: Map<String, Value>,
}

impl Action {
    pub(super) fn new(action_type: ActionType, details: &impl Serialize) -> Result<Self, Failure> {
        Ok(Self {
            action_type,
            details: object(details)?,
        })
    }
}

/// A content before or after a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Content {
    /// `sha256:` and 64 hexadecimal digits.
    pub(super) hash: String,
    /// In bytes.
    pub(super) size: u64,
}

impl Content {
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let mut digest = Digester::default();
        digest.update(bytes);
        digest.finish()
    }

    /// Measures the JSON text of a value without building the text.
    pub(super) fn of_json(value: &Value) -> Result<Self, Failure> {
        let mut digest = Digester::default();
        serde_json::to_writer(&mut digest, value).map_err(|error| unwritable(&error))?;
        Ok(digest.finish())
    }
}

/// Digest of a content that is read piece by piece.
#[derive(Default)]
pub(super) struct Digester {
    hash: Sha256,
    size: u64,
}

impl Digester {
    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.size += bytes.len() as u64;
    }

    pub(super) fn finish(self) -> Content {
        let digits = hex::encode(&self.hash.finalize());
        Content {
            hash: format!("sha256:{digits}"),
            size: self.size,
        }
    }
}

impl Write for Digester {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Builds a result with its actions.
pub(super) fn answer(result: &impl Serialize, actions: &[Action]) -> Result<Success, Failure> {
    answered(object(result)?, actions)
}

/// Builds a large result with its actions, without copying the result.
pub(super) fn answered(
    mut output: Map<String, Value>,
    actions: &[Action],
) -> Result<Success, Failure> {
    let actions = serde_json::to_value(actions).map_err(|error| unwritable(&error))?;
    output.insert("actions".to_owned(), actions);
    Ok(Success {
        output: Value::Object(output),
        log: String::new(),
    })
}

fn object(value: &impl Serialize) -> Result<Map<String, Value>, Failure> {
    match serde_json::to_value(value) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(other) => Err(Failure::system(format!("{other} is not an object"))),
        Err(error) => Err(unwritable(&error)),
    }
}

fn unwritable(error: &serde_json::Error) -> Failure {
    Failure::system(format!("writing a built-in tool's result: {error}"))
}
