//! `charter mission assignments`, `claim`, `submit` and `release`: tasks of missions that outside agents carry out.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::show;
use crate::client::Client;
use crate::commands::runs::document;
use crate::commands::{encoded, query};
use crate::failure::EXIT_OK;
use crate::output::{self, Format};

/// Assignments of one page.
const PAGE: &str = "100";

/// List the tasks of missions that your agent may claim.
#[derive(Debug, Args)]
pub(crate) struct Assignments {
    /// All assignments of this mission, also claimed ones.
    #[arg(long, value_name = "ID")]
    mission: Option<String>,
    /// The cursor: `next` of the previous page.
    #[arg(long)]
    after: Option<String>,
}

/// Claim a task of a mission; prints its lease and its input.
#[derive(Debug, Args)]
pub(crate) struct Claim {
    /// The assignment: `asg-…`.
    id: String,
}

/// Submit the result of a claimed task.
///
/// The file (JSON or YAML) has `artifacts`, a list in the form of their contracts, or `calls`, a list of `tool` and
/// `parameters` that the task needs first.
#[derive(Debug, Args)]
pub(crate) struct Submit {
    /// The assignment: `asg-…`.
    id: String,
    /// The file with the result.
    file: PathBuf,
    /// The lease that `claim` printed.
    #[arg(long, value_name = "LEASE")]
    lease: String,
}

/// Release a claimed task for other agents.
#[derive(Debug, Args)]
pub(crate) struct Release {
    /// The assignment: `asg-…`.
    id: String,
    /// The lease that `claim` printed.
    #[arg(long, value_name = "LEASE")]
    lease: String,
}

pub(super) async fn list(
    command: &Assignments,
    client: &Client,
    format: Format,
) -> anyhow::Result<u8> {
    let asked = [
        ("mission", command.mission.as_deref()),
        ("after", command.after.as_deref()),
        ("limit", Some(PAGE)),
    ];
    let found = client
        .get(&format!("/v1/mission-assignments{}", query(&asked)))
        .await?;
    output::print(format, &found, show::assignments)?;
    Ok(EXIT_OK)
}

pub(super) async fn claim(command: &Claim, client: &Client, format: Format) -> anyhow::Result<u8> {
    let claimed = client.post(&path(&command.id, "claim"), None).await?;
    output::print(format, &claimed, output::fields)?;
    Ok(EXIT_OK)
}

pub(super) async fn submit(
    command: &Submit,
    client: &Client,
    format: Format,
) -> anyhow::Result<u8> {
    let mut body = document(&command.file)?;
    let Value::Object(fields) = &mut body else {
        anyhow::bail!(
            "{} has no `artifacts` and no `calls`: write an object with one of them",
            command.file.display()
        );
    };
    fields.insert("lease_id".to_owned(), json!(command.lease));
    let submitted = client
        .post(&path(&command.id, "submissions"), Some(&body))
        .await?;
    output::print(format, &submitted, output::fields)?;
    Ok(EXIT_OK)
}

pub(super) async fn release(
    command: &Release,
    client: &Client,
    format: Format,
) -> anyhow::Result<u8> {
    let body = json!({"lease_id": command.lease});
    let released = client
        .post(&path(&command.id, "release"), Some(&body))
        .await?;
    output::print(format, &released, output::fields)?;
    Ok(EXIT_OK)
}

fn path(assignment: &str, action: &str) -> String {
    format!("/v1/mission-assignments/{}/{action}", encoded(assignment))
}
