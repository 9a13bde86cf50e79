//! Generates the committed files: JSON Schemas, the OpenAPI document, the command line's reference, the limits, the
//! states of runs.
//!
//! Builds the programs that print them with one cargo call for the whole workspace. Features and outputs then do not
//! depend on the other built crates, and crates built for tests are not rebuilt. Knows nothing of the contents.

mod cli_reference;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::finding::Finding;
use crate::workspace::{Workspace, cargo};

/// Directory of the schemas; every `.json` file in it is generated.
const SCHEMAS: &str = "schemas";

/// Path of the OpenAPI document.
const OPENAPI: &str = "schemas/openapi.json";

/// Path of the command line's reference.
const CLI_REFERENCE: &str = "docs/reference/cli.md";

/// Path of the list of limits.
const LIMITS: &str = "docs/reference/limits.md";

/// Path of the description of run states.
const RUN_STATES: &str = "docs/reference/run-states.md";

/// Whether to write or to check the generated files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Writes the files.
    Write,
    /// Compares the files with the committed ones.
    Check,
}

/// Generated texts, by path relative to the root.
type Outputs = BTreeMap<String, String>;

/// Generates everything; in check mode, each difference is a finding.
///
/// # Errors
/// If a program cannot be built or run, or a file cannot be read or written.
pub(crate) fn run(workspace: &Workspace, mode: Mode) -> anyhow::Result<Vec<Finding>> {
    let outputs = generate(workspace)?;
    let present = read_present(&workspace.root, &outputs)?;
    match mode {
        Mode::Check => Ok(differences(&outputs, &present)),
        Mode::Write => {
            write(&workspace.root, &outputs, &present)?;
            Ok(Vec::new())
        }
    }
}

fn generate(workspace: &Workspace) -> anyhow::Result<Outputs> {
    let programs = build()?;
    let program = |name: &str| {
        let path = programs.get(name);
        path.with_context(|| format!("cargo built no `{name}`"))
    };
    let mut outputs = schemas(program("write_schemas")?, &workspace.target.join("codegen"))?;
    outputs.insert(
        OPENAPI.to_owned(),
        stdout_of(&mut Command::new(program("write_openapi")?))?,
    );
    outputs.insert(
        CLI_REFERENCE.to_owned(),
        cli_reference::generate(program("charter")?)?,
    );
    outputs.insert(
        LIMITS.to_owned(),
        stdout_of(&mut Command::new(program("write_limits")?))?,
    );
    outputs.insert(
        RUN_STATES.to_owned(),
        stdout_of(&mut Command::new(program("run_states")?))?,
    );
    Ok(outputs)
}

/// Builds the programs that print the files, and returns their paths by name.
fn build() -> anyhow::Result<BTreeMap<String, PathBuf>> {
    let output = cargo()
        .args([
            "build",
            "--workspace",
            "--quiet",
            "--message-format",
            "json-render-diagnostics",
        ])
        .args([
            "--example",
            "write_schemas",
            "--example",
            "write_openapi",
            "--example",
            "write_limits",
            "--example",
            "run_states",
            "--bin",
            "charter",
        ])
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("running cargo build")?;
    if !output.status.success() {
        bail!("cargo build failed");
    }
    let messages = String::from_utf8(output.stdout).context("reading what cargo build says")?;
    Ok(messages
        .lines()
        .filter_map(executable_from_message)
        .collect())
}

/// Returns the name and path of the program in a message from cargo.
fn executable_from_message(message: &str) -> Option<(String, PathBuf)> {
    let message: Value = serde_json::from_str(message).ok()?;
    let path = message["executable"].as_str()?;
    let name = message["target"]["name"].as_str()?;
    Some((name.to_owned(), PathBuf::from(path)))
}

fn schemas(program: &Path, folder: &Path) -> anyhow::Result<Outputs> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("clearing {}", folder.display()))?;
    }
    stdout_of(Command::new(program).arg(folder))?;
    let mut outputs = Outputs::new();
    for name in json_files(folder)? {
        let path = folder.join(&name);
        let text = fs::read_to_string(&path);
        let text = text.with_context(|| format!("reading {}", path.display()))?;
        outputs.insert(format!("{SCHEMAS}/{name}"), text);
    }
    Ok(outputs)
}

fn json_files(folder: &Path) -> anyhow::Result<Vec<String>> {
    let doing = || format!("listing {}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(doing)? {
        let name = entry
            .with_context(doing)?
            .file_name()
            .to_string_lossy()
            .into_owned();
        if name.ends_with(".json") {
            names.push(name);
        }
    }
    Ok(names)
}

/// Runs a program and returns its output.
fn stdout_of(command: &mut Command) -> anyhow::Result<String> {
    let output = command
        .output()
        .with_context(|| format!("running {command:?}"))?;
    if !output.status.success() {
        bail!(
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    String::from_utf8(output.stdout).with_context(|| format!("reading what {command:?} prints"))
}

/// Reads the present files at the paths of the outputs, and every other schema.
fn read_present(root: &Path, outputs: &Outputs) -> anyhow::Result<Outputs> {
    let folder = root.join(SCHEMAS);
    let schemas = if folder.is_dir() {
        json_files(&folder)?
    } else {
        Vec::new()
    };
    let schemas = schemas.into_iter().map(|name| format!("{SCHEMAS}/{name}"));
    let mut present = Outputs::new();
    for path in schemas.chain(outputs.keys().cloned()) {
        let file = root.join(&path);
        if file.exists() {
            let text = fs::read_to_string(&file);
            present.insert(
                path,
                text.with_context(|| format!("reading {}", file.display()))?,
            );
        }
    }
    Ok(present)
}

fn write(root: &Path, outputs: &Outputs, present: &Outputs) -> anyhow::Result<()> {
    for (path, text) in outputs
        .iter()
        .filter(|(path, text)| present.get(*path) != Some(text))
    {
        let file = root.join(path);
        fs::write(&file, text).with_context(|| format!("writing {}", file.display()))?;
        eprintln!("wrote {path}");
    }
    for path in present.keys().filter(|path| !outputs.contains_key(*path)) {
        let file = root.join(path);
        fs::remove_file(&file).with_context(|| format!("removing {}", file.display()))?;
        eprintln!("removed {path}");
    }
    Ok(())
}

fn differences(outputs: &Outputs, present: &Outputs) -> Vec<Finding> {
    const MEND: &str = "run `cargo run -p xtask -- codegen` and commit what it writes";
    let mut findings = Vec::new();
    for (path, expected) in outputs {
        match present.get(path) {
            None => findings.push(Finding::error(path, 1, format!("is not there; {MEND}"))),
            Some(found) if found != expected => {
                let line = first_difference(expected, found);
                let message = format!("differs from what the code says; {MEND}");
                findings.push(Finding::error(path, line, message));
            }
            Some(_) => {}
        }
    }
    let orphans = present.keys().filter(|path| !outputs.contains_key(*path));
    findings.extend(
        orphans.map(|path| Finding::error(path, 1, format!("is not generated any more; {MEND}"))),
    );
    findings
}

/// Returns the first line, from 1, in which two texts differ.
fn first_difference(expected: &str, found: &str) -> usize {
    let same = expected
        .lines()
        .zip(found.lines())
        .take_while(|(a, b)| a == b);
    same.count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(files: &[(&str, &str)]) -> Outputs {
        let files = files.iter();
        files
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect()
    }

    #[test]
    fn changed_missing_and_extra_files_are_found() {
        let expected = outputs(&[("a", "1\n2\n"), ("b", "1\n"), ("c", "1\n2\n")]);
        let present = outputs(&[("a", "1\n2\n"), ("c", "1\n3\n"), ("d", "1\n")]);
        let found = differences(&expected, &present);
        let places: Vec<(&str, usize)> = found.iter().map(|f| (f.file.as_str(), f.line)).collect();
        assert_eq!(places, [("b", 1), ("c", 2), ("d", 1)]);
        assert!(
            found
                .iter()
                .all(|f| f.message.contains("cargo run -p xtask -- codegen"))
        );
        assert_eq!(differences(&expected, &expected), []);
    }

    #[test]
    fn a_program_path_is_read_from_a_cargo_message() {
        let library = r#"{"reason":"compiler-artifact","target":{"name":"x"},"executable":null}"#;
        let program = r#"{"reason":"compiler-artifact","target":{"name":"charter"},"executable":"/t/charter"}"#;
        assert_eq!(executable_from_message(library), None);
        assert_eq!(
            executable_from_message(program),
            Some(("charter".to_owned(), PathBuf::from("/t/charter")))
        );
    }
}
