//! `charter init`

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use charter_contract::ids::PackageName;
use clap::Args;
use serde_json::json;

use super::schema;
use crate::failure::EXIT_OK;
use crate::output::{self, Format};

/// Create a package to start from.
///
/// It has a skill, the tool of the skill, a guardrail, and routing tests that pass.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The package's name.
    #[arg(value_parser = PackageName::parse)]
    name: PackageName,
    /// The directory to create; named after the package if absent.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// A file of the package and its initial text.
struct Scaffold {
    path: &'static str,
    text: &'static str,
}

macro_rules! scaffold {
    ($($path:literal),* $(,)?) => {
        [$(Scaffold { path: $path, text: include_str!(concat!("init/scaffold/", $path)) }),*]
    };
}

/// Every file, the manifest last: a directory without it is not a package.
const FILES: [Scaffold; 8] = scaffold![
    "domains/own.yaml",
    "skills/who_owns.yaml",
    "tools/look_up_owner.yaml",
    "scripts/look_up_owner.py",
    "guardrails/directory_only.yaml",
    "templates/owner.yaml",
    "tests/routing.yaml",
    "package.yaml",
];

/// Hidden, so that it is not part of the package.
const SCHEMAS: &str = ".schemas";

pub(crate) fn run(command: &Init, format: Format) -> anyhow::Result<u8> {
    let name = command.name.as_str();
    let dir = command.dir.clone().unwrap_or_else(|| PathBuf::from(name));
    if dir.join("package.yaml").exists() {
        bail!(
            "{} is already a package; `charter dev {0}` watches it",
            dir.display()
        );
    }
    // Ids begin with a domain, whose name has no hyphen.
    let domain = name.replace('-', "_");
    let mut written = Vec::new();
    for file in FILES {
        let text = file
            .text
            .replace("@PACKAGE@", name)
            .replace("@DOMAIN@", &domain);
        write(&dir.join(file.path), &text)?;
        written.push(file.path);
    }
    schema::write_for_editors(&dir.join(SCHEMAS))?;
    let report = json!({"package": name, "directory": dir, "files": written, "schemas": SCHEMAS});
    output::print(format, &report, |_| summary_text(&dir, &written))?;
    Ok(EXIT_OK)
}

/// Writes a new file; fails if it exists.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let writing = || format!("writing {}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(writing)?;
    }
    let mut file = std::fs::File::create_new(path).with_context(writing)?;
    std::io::Write::write_all(&mut file, text.as_bytes()).with_context(writing)
}

fn summary_text(dir: &Path, files: &[&str]) -> String {
    let dir = dir.display();
    let mut lines: Vec<String> = files.iter().map(|file| format!("{dir}/{file}")).collect();
    lines.push(format!(
        "\nEditors that know YAML schemas (yaml-language-server) check the files by {dir}/{SCHEMAS}. Next:\n\n  \
         charter dev {dir}        # serves, checks each change, and shows the results of the routing tests"
    ));
    lines.join("\n")
}
