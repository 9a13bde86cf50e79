//! `charter list`

use clap::Args;

use super::{encoded, query};
use crate::client::Client;
use crate::config::Config;
use crate::failure::EXIT_OK;
use crate::output::{self, Format};

/// List registered documents of one kind.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// The kind: skill, tool, guardrail, domain_lens, template, playbook, agent, graph_node, graph_edge, domain,
    /// policy, mission_type, prompt_template or schedule.
    kind: String,
    /// The cursor: list only ids after this one.
    #[arg(long)]
    after: Option<String>,
    /// Only documents whose id or title contains this text.
    #[arg(long)]
    query: Option<String>,
    /// Only documents of this domain.
    #[arg(long)]
    domain: Option<String>,
    /// Only documents with this status: `active` or `inactive`.
    #[arg(long)]
    status: Option<String>,
    /// Only documents of this package.
    #[arg(long)]
    package: Option<String>,
}

pub(crate) async fn run(command: &List, config: &Config, format: Format) -> anyhow::Result<u8> {
    let client = Client::connect(config).await?;
    let query = query(&[
        ("after", command.after.as_deref()),
        ("query", command.query.as_deref()),
        ("domain", command.domain.as_deref()),
        ("status", command.status.as_deref()),
        ("package", command.package.as_deref()),
    ]);
    let listed = client
        .get(&format!("/v1/list/{}{query}", encoded(&command.kind)))
        .await;
    client.close().await?;
    output::print(format, &listed?, |listing| {
        output::rows(
            &listing["entries"],
            &[
                "id",
                "domain",
                "status",
                "is_candidate",
                "package",
                "package_version",
            ],
        )
    })?;
    Ok(EXIT_OK)
}
