//! The filter process: one jq program over one input, started by the sandbox only.
//!
//! It speaks the protocol of tool scripts: the input comes as `parameters.input` on standard input,
//! everything emitted goes as one list to standard output, a failure as JSON to standard error.

use std::io::Read;
use std::path::Path;

use anyhow::Context;
use charter_contract::json::decode_stored;
use charter_domain::jq::Filter;
use serde_json::{Value, json};

use crate::failure::{EXIT_ERROR, EXIT_OK};
use crate::{messages, output};

/// The first argument that makes this binary a filter process.
pub(crate) const ARGUMENT: &str = "__filter";

/// Runs the program in a file; the number is the exit code.
pub(crate) fn run(program: &Path) -> u8 {
    let written = filtered(program).and_then(|emitted| output::line(&emitted.to_string()));
    match written {
        Ok(()) => EXIT_OK,
        Err(error) => {
            let message = format!("{error:#}");
            let failure =
                json!({"error_type": "execution_error", "message": message, "retryable": false});
            messages::line(&failure.to_string());
            EXIT_ERROR
        }
    }
}

fn filtered(program: &Path) -> anyhow::Result<Value> {
    let program = std::fs::read_to_string(program).context("reading the filter")?;
    let mut call = String::new();
    std::io::stdin()
        .read_to_string(&mut call)
        .context("reading the input")?;
    let call: Value = decode_stored(&call).context("reading the input")?;
    let limit = call["parameters"]["limit"]
        .as_u64()
        .and_then(|limit| usize::try_from(limit).ok());
    let emitted =
        Filter::compile(&program)?.run(&call["parameters"]["input"], limit.unwrap_or(1))?;
    Ok(Value::Array(emitted))
}
