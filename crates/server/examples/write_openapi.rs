//! Prints the OpenAPI document of the REST API: `cargo run -p charter-server --example write_openapi`. The command
//! `cargo run -p xtask -- codegen` uses it to update `schemas/openapi.json`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let document = charter_server::openapi_document();
    println!("{}", serde_json::to_string_pretty(&document)?);
    Ok(())
}
