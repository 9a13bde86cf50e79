//! The process that extracts the text of a source. Only the sandbox starts it: its input is hostile, and its time and
//! memory are bounded.
//!
//! It reads the kind of the file from standard input, writes the text as JSON to standard output, and a failure as JSON
//! to standard error.

use std::io::Read;
use std::path::Path;

use anyhow::Context;
use charter_contract::json::decode_stored;
use charter_effects::{Extracted, MediaType, extract};
use serde::Deserialize;
use serde_json::json;

use crate::failure::{EXIT_ERROR, EXIT_OK};
use crate::messages;

/// The first argument that makes this binary an extractor.
pub(crate) const ARGUMENT: &str = "__extract";

/// The kind of the file.
#[derive(Deserialize)]
struct SourceDescription {
    media_type: MediaType,
    charset: Option<String>,
}

/// Takes the text out of a file; the number is the exit code.
pub(crate) fn run(file: &Path) -> u8 {
    // The message of a panicking PDF reader is discarded.
    std::panic::set_hook(Box::new(|_| {}));
    let written = extracted(file).and_then(|extracted| {
        let output = std::io::stdout().lock();
        serde_json::to_writer(output, &extracted).context("writing the text")
    });
    match written {
        Ok(()) => EXIT_OK,
        Err(error) => {
            messages::line(&json!({ "message": format!("{error:#}") }).to_string());
            EXIT_ERROR
        }
    }
}

fn extracted(file: &Path) -> anyhow::Result<Extracted> {
    let mut told = String::new();
    std::io::stdin()
        .read_to_string(&mut told)
        .context("reading the kind of the source")?;
    let told: SourceDescription = decode_stored(&told).context("reading the kind of the source")?;
    let bytes = std::fs::read(file).context("reading the source")?;
    Ok(extract(&bytes, told.media_type, told.charset.as_deref())?)
}
