//! Prints the OpenAPI document of the REST API: `cargo run -p charter-server --example
//! write_openapi`. `cargo run -p xtask -- codegen` keeps `schemas/openapi.json` by it.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let document = charter_server::openapi_document();
    println!("{}", serde_json::to_string_pretty(&document)?);
    Ok(())
}
