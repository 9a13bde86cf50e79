//! The repository as input for the checks: its crates, and its text files by path.
//!
//! All files are read once, so that each check is a function from texts to findings. Knows no rule.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::Value;

/// Directories without files of the project.
const FOREIGN: [&str; 6] = [
    "target",
    ".git",
    "node_modules",
    ".venv",
    "data",
    "__pycache__",
];

/// File extensions to read: code, documents, scripts and packages.
const ENDINGS: [&str; 9] = [
    ".md", ".py", ".rs", ".sh", ".sql", ".ts", ".tsx", ".yaml", ".yml",
];

/// A text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextFile {
    /// Path relative to the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl TextFile {
    #[cfg(test)]
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    /// Returns the first line, from 1, that contains `part`; 1 if none does.
    pub(crate) fn line_of(&self, part: &str) -> usize {
        let lines = self.text.lines();
        lines
            .enumerate()
            .find_map(|(at, line)| line.contains(part).then_some(at + 1))
            .unwrap_or(1)
    }
}

/// Kind of use of a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// In the product or its build.
    Product,
    /// In tests, examples and benchmarks.
    Tests,
}

/// A dependency of a crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) used: Use,
}

/// A crate of the workspace.
#[derive(Debug, Clone)]
pub(crate) struct Crate {
    pub(crate) name: String,
    pub(crate) manifest: TextFile,
    pub(crate) dependencies: Vec<Dependency>,
}

/// The repository.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// Cargo's target directory.
    pub(crate) target: PathBuf,
    pub(crate) crates: Vec<Crate>,
    /// Every file with one of [`ENDINGS`], in order of path.
    pub(crate) files: Vec<TextFile>,
}

impl Workspace {
    /// Reads the repository that contains this crate.
    ///
    /// # Errors
    /// If `cargo metadata` fails or a file cannot be read.
    pub(crate) fn read() -> anyhow::Result<Self> {
        let metadata = metadata()?;
        let place = |field: &str| {
            let place = metadata[field].as_str().map(PathBuf::from);
            place.with_context(|| format!("cargo metadata has no {field}"))
        };
        let root = place("workspace_root")?;
        let packages = metadata["packages"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let crates = packages.iter().map(|package| member(&root, package));
        let crates = crates.collect::<anyhow::Result<_>>()?;
        let mut files = Vec::new();
        walk(&root, &root, &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self {
            target: place("target_directory")?,
            root,
            crates,
            files,
        })
    }

    /// Returns the Rust files below a directory.
    pub(crate) fn rust_below<'w>(&'w self, folder: &'w str) -> impl Iterator<Item = &'w TextFile> {
        self.files
            .iter()
            .filter(move |file| file.path.starts_with(folder) && file.path.ends_with(".rs"))
    }

    /// Returns the Markdown files.
    pub(crate) fn markdown(&self) -> impl Iterator<Item = &TextFile> {
        self.files.iter().filter(|file| file.path.ends_with(".md"))
    }
}

/// Returns the cargo that runs this program, with the environment of a shell. Build scripts watch variables that cargo
/// sets for the program it runs: with them, every crate with a dependency on such a script would be recompiled.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let set_by_cargo = |name: &str| {
            name == "CARGO_MANIFEST_DIR"
                || name == "CARGO_MANIFEST_PATH"
                || name.starts_with("CARGO_PKG_")
        };
        if name.to_str().is_some_and(set_by_cargo) {
            cargo.env_remove(name);
        }
    }
    cargo
}

fn metadata() -> anyhow::Result<Value> {
    let output = cargo()
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .output()
        .context("running cargo metadata")?;
    if !output.status.success() {
        bail!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    serde_json::from_slice(&output.stdout).context("reading what cargo metadata says")
}

fn member(root: &Path, package: &Value) -> anyhow::Result<Crate> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let name = text(&package["name"]).context("a package without a name")?;
    let manifest = text(&package["manifest_path"]).context("a package without a manifest")?;
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    let dependencies = dependencies.filter_map(|dependency| {
        Some(Dependency {
            name: text(&dependency["name"])?,
            used: match dependency["kind"].as_str() {
                Some("dev") => Use::Tests,
                Some(_) | None => Use::Product,
            },
        })
    });
    Ok(Crate {
        dependencies: dependencies.collect(),
        manifest: read_file(root, Path::new(&manifest))?,
        name,
    })
}

fn read_file(root: &Path, path: &Path) -> anyhow::Result<TextFile> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let relative = path.strip_prefix(root).unwrap_or(path);
    Ok(TextFile {
        path: relative.to_string_lossy().replace('\\', "/"),
        text,
    })
}

fn walk(root: &Path, folder: &Path, files: &mut Vec<TextFile>) -> anyhow::Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))?;
    for entry in entries {
        let path = entry
            .with_context(|| format!("listing {}", folder.display()))?
            .path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if path.is_dir() {
            if !FOREIGN.contains(&name) {
                walk(root, &path, files)?;
            }
        } else if ENDINGS.iter().any(|ending| name.ends_with(*ending)) {
            files.push(read_file(root, &path)?);
        }
    }
    Ok(())
}
