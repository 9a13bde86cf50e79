//! `charter route examples …` and `charter route confirm`.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::client::Client;
use crate::commands::{encoded, query};
use crate::config::Config;
use crate::failure::EXIT_OK;
use crate::output::{self, Format};

/// Confirm the answer to a request.
#[derive(Debug, Args)]
pub(super) struct Confirm {
    /// The request's id.
    request: String,
    /// The skill or playbook with the right answer; required if several answered.
    #[arg(long, value_name = "ID")]
    document: Option<String>,
}

/// List and decide on route examples.
#[derive(Debug, Subcommand)]
pub(super) enum Examples {
    /// List route examples, newest first.
    List {
        /// Only examples with this status: `suggested`, `accepted`, `rejected` or `withdrawn`.
        #[arg(long)]
        status: Option<String>,
        /// Only examples of this skill or playbook.
        #[arg(long, value_name = "ID")]
        document: Option<String>,
        /// The cursor: `next` of the previous page.
        #[arg(long)]
        after: Option<String>,
        /// Page size, 1 to 1000.
        #[arg(long)]
        limit: Option<usize>,
    },
    /// Accept a suggested example: the router uses it at once.
    Accept {
        /// The example's id.
        id: String,
    },
    /// Reject a suggested example.
    Reject {
        /// The example's id.
        id: String,
    },
    /// Withdraw an accepted example: the router no longer uses it.
    Withdraw {
        /// The example's id.
        id: String,
    },
}

pub(super) async fn confirm(of: &Confirm, config: &Config, format: Format) -> anyhow::Result<u8> {
    let client = Client::connect(config).await?;
    let path = format!("/v1/requests/{}/confirm", encoded(&of.request));
    let body = match &of.document {
        Some(document) => json!({"document": document}),
        None => json!({}),
    };
    let confirmed = client.post(&path, Some(&body)).await;
    client.close().await?;
    output::print(format, &confirmed?, output::fields)?;
    Ok(EXIT_OK)
}

pub(super) async fn run(command: &Examples, config: &Config, format: Format) -> anyhow::Result<u8> {
    let client = Client::connect(config).await?;
    let found = send(command, &client).await;
    client.close().await?;
    output::print(format, &found?, |found| match command {
        Examples::List { .. } => output::rows(
            &found["entries"],
            &[
                "example_id",
                "status",
                "kind",
                "document",
                "text",
                "source",
                "suggested_at",
            ],
        ),
        Examples::Accept { .. } | Examples::Reject { .. } | Examples::Withdraw { .. } => {
            output::fields(found)
        }
    })?;
    Ok(EXIT_OK)
}

async fn send(command: &Examples, client: &Client) -> anyhow::Result<Value> {
    let (id, decision) = match command {
        Examples::List {
            status,
            document,
            after,
            limit,
        } => {
            let limit = limit.map(|limit| limit.to_string());
            let asked = query(&[
                ("status", status.as_deref()),
                ("document", document.as_deref()),
                ("after", after.as_deref()),
                ("limit", limit.as_deref()),
            ]);
            return client.get(&format!("/v1/route/examples{asked}")).await;
        }
        Examples::Accept { id } => (id, "accept"),
        Examples::Reject { id } => (id, "reject"),
        Examples::Withdraw { id } => (id, "withdraw"),
    };
    let path = format!("/v1/route/examples/{}/{decision}", encoded(id));
    client.post(&path, None).await
}
