//! The process that fills in a template with expressions. Only the sandbox starts it, because a template may loop or
//! grow.
//!
//! It speaks the protocol of tool scripts: the sets of values come as `parameters.values` on standard input, one
//! outcome for each goes as a list to standard output, a failure as JSON to standard error.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use charter_contract::json::decode_stored;
use charter_domain::template::{self, Filled};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::failure::{EXIT_ERROR, EXIT_OK};
use crate::messages;

/// The first argument that makes this binary a renderer.
pub(crate) const ARGUMENT: &str = "__render";

/// A call, as far as it matters here.
#[derive(Deserialize)]
struct Call {
    parameters: Parameters,
}

#[derive(Deserialize)]
struct Parameters {
    values: Vec<Map<String, Value>>,
}

/// Fills in the template in a file; the number is the exit code.
pub(crate) fn run(template: &Path) -> u8 {
    match rendered(template).and_then(|filled| written(&filled)) {
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

fn rendered(template: &Path) -> anyhow::Result<Vec<Filled>> {
    let structure = std::fs::read_to_string(template).context("reading the template")?;
    let structure: Value = decode_stored(&structure).context("reading the template")?;
    let call = io::read_to_string(io::stdin()).context("reading the values")?;
    let call: Call = decode_stored(&call).context("reading the values")?;
    Ok(template::evaluate(&structure, &call.parameters.values))
}

fn written(filled: &[Filled]) -> anyhow::Result<()> {
    let mut output = io::BufWriter::new(io::stdout().lock());
    serde_json::to_writer(&mut output, filled).context("writing the outcomes")?;
    output.flush().context("writing the outcomes")
}
