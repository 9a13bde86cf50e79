//! The embedding model that a package installed with this program. Must not know the model's files.

use std::path::{Path, PathBuf};

use charter_embed::fetch::MODEL_DIRECTORY;

/// The installed model: a package puts it into `share/charter/models`, beside the directory of this program.
pub(super) fn installed_model() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    model_below(program.parent()?.parent()?)
}

/// The model that is installed below a prefix such as `/usr`.
fn model_below(prefix: &Path) -> Option<PathBuf> {
    let model = prefix.join("share/charter/models").join(MODEL_DIRECTORY);
    model.is_dir().then_some(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installed_model_is_found_below_the_prefix_of_the_program() {
        let prefix = tempfile::tempdir().unwrap();
        assert_eq!(model_below(prefix.path()), None);
        let model = prefix.path().join("share/charter/models/all-MiniLM-L6-v2");
        std::fs::create_dir_all(&model).unwrap();
        assert_eq!(model_below(prefix.path()), Some(model));
    }
}
