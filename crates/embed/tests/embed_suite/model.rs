//! Finds the model for the tests that need it. Only tests read the environment.

use std::path::{Path, PathBuf};

use charter_embed::{MiniLm, MiniLmOptions};

/// The variable with the model's directory; the default is the one that `make model` fills.
const VARIABLE: &str = "CHARTER_TEST_MODEL_DIR";

/// The model's directory.
///
/// Panics when there is none: a test that needs the model and skips itself would hide regressions.
pub(crate) fn directory() -> PathBuf {
    let default =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/models/all-MiniLM-L6-v2");
    let directory = std::env::var_os(VARIABLE).map_or(default, PathBuf::from);
    assert!(
        directory.join("model.safetensors").is_file(),
        "no embedding model in {}: run `make model`, or set {VARIABLE}",
        directory.display()
    );
    directory
}

/// The model with default options.
pub(crate) fn load() -> MiniLm {
    MiniLm::load(&directory(), &MiniLmOptions::default()).unwrap()
}
