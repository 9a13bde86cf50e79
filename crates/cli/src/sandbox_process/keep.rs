//! The keeper, which kills the children of scripts if the server is killed. Started by the sandbox only.

use crate::failure::{EXIT_ERROR, EXIT_OK};
use crate::messages;

/// The first argument that makes this binary a keeper.
pub(crate) const ARGUMENT: &str = "__keep";

/// Runs until standard input ends; the number is the exit code.
pub(crate) fn run() -> u8 {
    match charter_effects::keep() {
        Ok(()) => EXIT_OK,
        Err(error) => {
            messages::line(&format!("error: {error}"));
            EXIT_ERROR
        }
    }
}
