//! `charter skills …`

mod export;
mod read_directory;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use charter_engine::{Problem, SkillsSent};
use clap::{Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::package::Scope;
use super::{encoded, query};
use crate::client::Client;
use crate::config::Config;
use crate::failure::{EXIT_NEGATIVE, EXIT_OK, ReportedFailure};
use crate::output::{self, Format};
use crate::terminal;

/// The page size of the listings that a command reads.
const PAGE: &str = "1000";

/// Import, find, show, check, export and delete Agent Skills.
#[derive(Debug, Subcommand)]
pub(crate) enum Skills {
    /// Import directories of Agent Skills. An unreadable skill is skipped, with its file and the reason, and the others
    /// are imported; exit 1 when one is skipped, 2 when none can be imported. Scripts that `allowed-tools` of a skill
    /// grants become tools; the others are served only.
    Import {
        /// A skill's directory, or one that holds skills.
        dir: PathBuf,
        /// The scope of the skills.
        #[arg(long, value_enum, default_value_t = Scope::Tenant)]
        scope: Scope,
        /// Make tools of all scripts, also of those that `allowed-tools` does not grant.
        #[arg(long)]
        allow_scripts: bool,
        /// Show what would happen, and write nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Write skills into a new directory, as they were imported; exit 1 when the open format cannot hold some.
    Export {
        /// The directory; it must be new or empty.
        dir: PathBuf,
        /// Only this skill and those under it.
        #[arg(long, value_name = "ID")]
        under: Option<String>,
    },
    /// Show the links between skills as a tree.
    Tree {
        /// Only this skill and those under it.
        id: Option<String>,
        /// The largest depth.
        #[arg(long, default_value_t = 16)]
        depth: usize,
    },
    /// Find skills by words.
    Find {
        /// The text to search for.
        query: String,
        /// The largest number of skills.
        #[arg(long, default_value_t = 10)]
        top_k: usize,
        /// Only folders, or only leaves.
        #[arg(long, value_enum)]
        only: Option<SkillKindFilter>,
    },
    /// Show a skill, its instruction, or one of its files.
    Show {
        /// The skill's id.
        id: String,
        /// Print only its instruction.
        #[arg(long, conflicts_with = "file")]
        instruction: bool,
        /// Print only this file of it.
        #[arg(long, value_name = "PATH")]
        file: Option<String>,
    },
    /// Check the skills for missing children, empty folders and cycles; exit 1 when there are any.
    Lint,
    /// Delete a skill.
    Delete {
        /// The skill's id.
        id: String,
        /// The scope of the skill.
        #[arg(long, value_enum, default_value_t = Scope::Tenant)]
        scope: Scope,
        /// Delete it even if other skills point at it.
        #[arg(long)]
        force: bool,
    },
}

/// The kind of skills to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SkillKindFilter {
    /// Skills that point at others.
    Folders,
    /// Skills that point at no others.
    Leaves,
}

impl SkillKindFilter {
    fn as_str(self) -> &'static str {
        match self {
            Self::Folders => "folders",
            Self::Leaves => "leaves",
        }
    }
}

pub(crate) async fn run(command: &Skills, config: &Config, format: Format) -> anyhow::Result<u8> {
    let client = Client::connect(config).await?;
    let done = execute(command, &client, format).await;
    client.close().await?;
    done
}

async fn execute(command: &Skills, client: &Client, format: Format) -> anyhow::Result<u8> {
    match command {
        Skills::Import {
            dir,
            scope,
            allow_scripts,
            dry_run,
        } => {
            let query = query(&[
                ("scope", Some(scope.as_str())),
                ("allow_scripts", allow_scripts.then_some("true")),
                ("dry_run", dry_run.then_some("true")),
            ]);
            import(dir, &query, client, format).await
        }
        Skills::Export { dir, under } => export::run(dir, under.as_deref(), client, format).await,
        Skills::Tree { id, depth } => tree(id.as_deref(), *depth, client, format).await,
        Skills::Find { query, top_k, only } => {
            let mut search = json!({"query": query, "top_k": top_k});
            if let Some(only) = only {
                search["only"] = only.as_str().into();
            }
            let found = client
                .post("/v1/agent-skills/search", Some(&search))
                .await?;
            let columns = ["score", "skill_id", "is_folder", "summary"];
            output::print(format, &found["hits"], |hits| output::rows(hits, &columns))?;
            Ok(EXIT_OK)
        }
        Skills::Show {
            id,
            instruction,
            file,
        } => show(id, *instruction, file.as_deref(), client, format).await,
        Skills::Lint => {
            let found = client.post("/v1/agent-skills/lint", None).await?;
            let findings = &found["findings"];
            let columns = ["skill_id", "rule", "message"];
            output::print(format, findings, |findings| {
                output::rows(findings, &columns)
            })?;
            let clean = findings.as_array().is_some_and(Vec::is_empty);
            Ok(if clean { EXIT_OK } else { EXIT_NEGATIVE })
        }
        Skills::Delete { id, scope, force } => {
            let force = force.then_some("true");
            let query = query(&[("scope", Some(scope.as_str())), ("force", force)]);
            client.delete(&format!("{}{query}", path(id))).await?;
            output::print(format, &json!({"deleted": id}), output::fields)?;
            Ok(EXIT_OK)
        }
    }
}

/// A skill's path in the API.
fn path(id: &str) -> String {
    format!("/v1/agent-skills/{}", encoded(id))
}

async fn import(dir: &Path, query: &str, client: &Client, format: Format) -> anyhow::Result<u8> {
    let read = read_directory::read(dir)?;
    let sent = serde_json::to_value(SkillsSent { files: read.files })?;
    let bar = terminal::spinner("checking, embedding and writing");
    let imported = client
        .post(&format!("/v1/agent-skills/import{query}"), Some(&sent))
        .await;
    bar.finish_and_clear();
    match imported {
        Ok(mut imported) => {
            let problems = with_those_found(read.problems, &imported);
            imported["problems"] = serde_json::to_value(problems)?;
            output::print(format, &imported, imported_table)?;
            let whole = imported["left_out"].as_array().is_none_or(Vec::is_empty);
            Ok(if whole { EXIT_OK } else { EXIT_NEGATIVE })
        }
        Err(error) => Err(refusal(read.problems, error, dir)),
    }
}

/// The problems of reading, with those that the server found in the files.
fn with_those_found(mut problems: Vec<Problem>, answer: &Value) -> Vec<Problem> {
    // A response without problems adds none.
    let found = serde_json::from_value::<Vec<Problem>>(answer["problems"].clone());
    problems.extend(found.unwrap_or_default());
    problems.sort();
    problems
}

/// A refusal with all problems, and a hint for directories of skills.
fn refusal(problems: Vec<Problem>, error: anyhow::Error, dir: &Path) -> anyhow::Error {
    match error.downcast::<ReportedFailure>() {
        Ok(reported) if reported.details["problems"].is_array() => {
            let problems = with_those_found(problems, &reported.details);
            let hint = format!(
                "Correct the listed problems; `charter skills import {} --dry-run` checks again without writing.",
                dir.display()
            );
            let refused = ReportedFailure {
                details: json!({"problems": problems}),
                hint: Some(hint),
                ..reported
            };
            refused.into()
        }
        Ok(reported) => reported.into(),
        Err(error) => error,
    }
}

fn imported_table(imported: &Value) -> String {
    let problems: Vec<Problem> =
        serde_json::from_value(imported["problems"].clone()).unwrap_or_default();
    let count = |field: &str| imported[field].as_array().map_or(0, Vec::len);
    let left_out = match count("left_out") {
        0 => String::new(),
        some => format!(", {some} skipped, for the reasons above"),
    };
    format!(
        "{}{}{} new, {} changed, {} unchanged{left_out}; {} summaries embedded",
        output::problems(&problems),
        scripts_table(imported),
        count("created"),
        count("changed"),
        count("unchanged"),
        imported["embedded"]
    )
}

/// The tools of an import, and the number of scripts that are only served, with the first reason.
fn scripts_table(imported: &Value) -> String {
    let mut lines = Vec::new();
    let tools = &imported["tools"];
    if tools.as_array().is_some_and(|tools| !tools.is_empty()) {
        lines.push(output::rows(tools, &["tool_id", "tool_class", "path"]));
    }
    let served = imported["served_scripts"].as_array();
    if let Some((first, served)) = served.and_then(|served| Some((served.first()?, served.len()))) {
        let text = |field: &str| first[field].as_str().unwrap_or_default();
        let (skill, path) = (text("skill_id"), text("path"));
        let reason = text("reason");
        lines.push(format!(
            "{served} scripts are served and not run, such as {path} of {skill}: {reason}"
        ));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

async fn show(
    id: &str,
    instruction: bool,
    file: Option<&str>,
    client: &Client,
    format: Format,
) -> anyhow::Result<u8> {
    let skill = path(id);
    if let Some(file) = file {
        let path = format!("{skill}/files/{}", encoded_path(file));
        client.download(&path, output::write).await?;
        return Ok(EXIT_OK);
    }
    if instruction {
        let fetched = client.get(&format!("{skill}/instruction")).await?;
        output::print(format, &fetched, |fetched| {
            fetched["instruction"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        })?;
        return Ok(EXIT_OK);
    }
    let mut shown = client.get(&skill).await?;
    let files = client.get(&format!("{skill}/files")).await?;
    shown["files"] = files["files"].clone();
    output::print(format, &shown, |shown| {
        let mut skill = shown.clone();
        let files = skill
            .as_object_mut()
            .and_then(|skill| skill.remove("files"));
        let files = files.unwrap_or_default();
        let columns = ["path", "bytes", "executable", "digest"];
        format!(
            "{}\n{}",
            output::fields(&skill),
            output::rows(&files, &columns)
        )
    })?;
    Ok(EXIT_OK)
}

/// A file's path, with each segment percent-encoded.
fn encoded_path(path: &str) -> String {
    let names: Vec<String> = path.split('/').map(encoded).collect();
    names.join("/")
}

async fn tree(
    id: Option<&str>,
    depth: usize,
    client: &Client,
    format: Format,
) -> anyhow::Result<u8> {
    let mut lines = Vec::new();
    walk(id, depth, client, |skill, at| {
        lines.push(json!({
            "depth": at, "skill_id": skill["skill_id"], "is_folder": skill["is_folder"],
            "summary": skill["summary"],
        }));
    })
    .await?;
    output::print(format, &Value::Array(lines), |lines| {
        let line = |line: &Value| {
            let indent =
                "  ".repeat(usize::try_from(line["depth"].as_u64().unwrap_or(0)).unwrap_or(0));
            let id = line["skill_id"].as_str().unwrap_or_default();
            let slash = if line["is_folder"] == true { "/" } else { "" };
            let summary = line["summary"].as_str().unwrap_or_default();
            let summary = summary.lines().next().unwrap_or_default();
            format!("{indent}{id}{slash}  {summary}")
        };
        let lines: Vec<String> = lines.as_array().into_iter().flatten().map(line).collect();
        lines.join("\n")
    })?;
    Ok(EXIT_OK)
}

/// Reports every skill from the roots, or from one skill, down to a depth: parents before children, each below each of
/// its parents, but a subtree only once.
async fn walk(
    from: Option<&str>,
    depth: usize,
    client: &Client,
    mut tell: impl FnMut(&Value, usize),
) -> anyhow::Result<()> {
    let start = match from {
        Some(id) => vec![client.get(&path(id)).await?],
        None => all(client, "/v1/agent-skills").await?,
    };
    let mut waiting: Vec<(Value, usize)> = start.into_iter().rev().map(|s| (s, 0)).collect();
    let mut opened = HashSet::new();
    while let Some((skill, at)) = waiting.pop() {
        tell(&skill, at);
        let id = skill["skill_id"].as_str().unwrap_or_default();
        if skill["is_folder"] != true || at >= depth || !opened.insert(id.to_owned()) {
            continue;
        }
        let below = all(client, &format!("{}/children", path(id))).await?;
        waiting.extend(below.into_iter().rev().map(|child| (child, at + 1)));
    }
    Ok(())
}

/// Every entry of a listing, page by page.
async fn all(client: &Client, listing: &str) -> anyhow::Result<Vec<Value>> {
    let mut entries = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let query = query(&[("limit", Some(PAGE)), ("after", after.as_deref())]);
        let mut page = client.get(&format!("{listing}{query}")).await?;
        if let Value::Array(found) = page["entries"].take() {
            entries.extend(found);
        }
        match page["next"].as_str() {
            Some(next) => after = Some(next.to_owned()),
            None => return Ok(entries),
        }
    }
}
