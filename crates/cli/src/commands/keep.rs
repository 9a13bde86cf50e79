//! The process that ends what scripts started when the server is killed, started by the sandbox and by nobody else.

use crate::failure::{EXIT_ERROR, EXIT_OK};

/// The first argument that makes this binary a keeper.
pub(crate) const ARGUMENT: &str = "__keep";

/// Keeps until standard input ends; the number is the exit code.
pub(crate) fn run() -> u8 {
    match charter_effects::keep() {
        Ok(()) => EXIT_OK,
        Err(error) => {
            eprintln!("error: {error}");
            EXIT_ERROR
        }
    }
}
