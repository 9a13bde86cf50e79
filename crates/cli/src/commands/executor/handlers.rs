//! Handlers of an executor for tools without their own implementation (seed 000 §2.4): a directory with a script for
//! each, named after its tool. They use the protocol of every script.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use charter_contract::ids::ToolId;
use charter_effects::{Language, PackageFiles, ScriptTool};

use crate::commands::package::read_files;

/// The folder of a package in which Python finds modules.
const FOLDER: &str = "scripts";

/// Scripts by their tools.
#[derive(Debug, Default)]
pub(super) struct Handlers {
    files: Arc<PackageFiles>,
    by_tool: BTreeMap<ToolId, (Language, String)>,
}

impl Handlers {
    /// Reads a directory. Scripts that are not named after a tool can be imported by the others.
    pub(super) fn read(dir: &Path) -> anyhow::Result<Self> {
        let mut by_tool = BTreeMap::new();
        let mut files = BTreeMap::new();
        let read = read_files(dir).with_context(|| format!("--handlers {}", dir.display()))?;
        for (path, text) in read {
            let entry = format!("{FOLDER}/{path}");
            if let Some((tool, language)) = handler_name(&path) {
                let named = tool.clone();
                if by_tool.insert(tool, (language, entry.clone())).is_some() {
                    bail!(
                        "--handlers {}: the tool `{named}` has two handlers",
                        dir.display()
                    );
                }
            }
            files.insert(entry, text);
        }
        if by_tool.is_empty() {
            bail!(
                "--handlers {}: no file is named after a tool, such as `aws.describe_vpcs.py`",
                dir.display()
            );
        }
        Ok(Self {
            files: Arc::new(PackageFiles::new(files)?),
            by_tool,
        })
    }

    /// The tools that have handlers.
    pub(super) fn tools(&self) -> impl Iterator<Item = &ToolId> {
        self.by_tool.keys()
    }

    /// The handler of a tool, ready to run.
    pub(super) fn script(&self, tool: &ToolId) -> Option<ScriptTool> {
        let (language, entry) = self.by_tool.get(tool)?;
        Some(ScriptTool {
            language: *language,
            entry: entry.clone(),
            files: Arc::clone(&self.files),
        })
    }

    /// The number of handlers, for the start message.
    pub(super) fn count_text(&self) -> String {
        match self.by_tool.len() {
            0 => String::new(),
            count => format!(", with {count} handler(s)"),
        }
    }
}

/// The tool that a file of the directory handles.
fn handler_name(path: &str) -> Option<(ToolId, Language)> {
    let known = [(".py", Language::Python), (".sh", Language::Bash)];
    let mut known = known.into_iter();
    known.find_map(|(ending, language)| {
        let tool = ToolId::parse(path.strip_suffix(ending)?).ok()?;
        Some((tool, language))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(files: &[&str]) -> anyhow::Result<Handlers> {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("shared")).unwrap();
        for file in files {
            fs::write(dir.path().join(file), "print(1)\n").unwrap();
        }
        Handlers::read(dir.path())
    }

    /// A file handles the tool that it is named after; other files may be beside it.
    #[test]
    fn a_file_is_the_handler_of_the_tool_that_it_is_named_after() {
        let files = [
            "crane.lift.py",
            "crane.lower.sh",
            "notes.txt",
            "shared/a.py",
        ];
        let handlers = read(&files).unwrap();
        let tools: Vec<&str> = handlers.tools().map(AsRef::as_ref).collect();
        assert_eq!(tools, ["crane.lift", "crane.lower"]);
        let lift = handlers.script(&ToolId::parse("crane.lift").unwrap());
        let lift = lift.unwrap();
        assert_eq!(lift.entry, "scripts/crane.lift.py");
        assert!(lift.files.get("scripts/shared/a.py").is_some());
        let unknown = ToolId::parse("crane.turn").unwrap();
        assert!(handlers.script(&unknown).is_none());
    }

    #[test]
    fn two_handlers_of_a_tool_and_none_at_all_are_refused() {
        let two = read(&["crane.lift.py", "crane.lift.sh"]).unwrap_err();
        assert!(
            two.to_string().contains("`crane.lift` has two handlers"),
            "{two}"
        );
        let none = read(&["notes.txt"]).unwrap_err();
        assert!(none.to_string().contains("named after a tool"), "{none}");
    }
}
