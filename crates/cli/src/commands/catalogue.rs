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
    /// skill, tool, guardrail, domain_lens, template, playbook, agent, graph_node, graph_edge, domain, policy,
    /// mission_type or prompt_template.
    kind: String,
    /// Start after this id.
    #[arg(long)]
    after: Option<String>,
}

pub(crate) async fn run(command: &List, config: &Config, format: Format) -> anyhow::Result<u8> {
    let client = Client::connect(config).await?;
    let query = query(&[("after", command.after.as_deref())]);
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
