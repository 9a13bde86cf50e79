//! `charter memory …`

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{encoded, query};
use crate::client::Client;
use crate::config::Config;
use crate::failure::EXIT_OK;
use crate::output::{self, Format};

/// Add, find and delete memories, and decide on proposed ones.
#[derive(Debug, Subcommand)]
pub(crate) enum Memory {
    /// Add a memory.
    Add {
        #[command(flatten)]
        draft: Draft,
        /// Share it with the whole tenant; an operator must accept it.
        #[arg(long)]
        shared: bool,
        /// The agent that writes it for you; it is then a proposal.
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
    },
    /// Write the next version of a memory; the previous one stays readable.
    Supersede {
        /// The memory's id.
        id: String,
        /// The version in force that you saw.
        #[arg(long, value_name = "VERSION")]
        expected: Option<u64>,
        #[command(flatten)]
        draft: Draft,
        /// The agent that writes it for you; it is then a proposal.
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
    },
    /// List memories, newest first.
    List {
        /// Only memories with a proposal that waits for a decision.
        #[arg(long)]
        proposed: bool,
        /// The cursor: `next` of the previous page.
        #[arg(long)]
        after: Option<String>,
    },
    /// Show a memory.
    Show {
        /// The memory's id.
        id: String,
        /// Show all its versions, newest first.
        #[arg(long, conflicts_with = "related")]
        history: bool,
        /// Follow its related memories to this depth (1 to 5).
        #[arg(long, value_name = "DEPTH")]
        related: Option<u8>,
    },
    /// Search memories by meaning and words; without a text, the most recently changed.
    Find(Find),
    /// Put a proposed version in force.
    Accept {
        /// The memory's id.
        id: String,
        /// The version.
        version: u64,
    },
    /// Reject a proposed version.
    Reject {
        /// The memory's id.
        id: String,
        /// The version.
        version: u64,
    },
    /// Delete the content of a memory and of all its versions. A record that it existed remains.
    Delete {
        /// The memory's id.
        id: String,
    },
}

/// The content of a memory.
#[derive(Debug, Args)]
pub(crate) struct Draft {
    /// Its title.
    #[arg(long)]
    title: String,
    /// The text.
    content: String,
    /// A tag to find it by; at least one, may be repeated.
    #[arg(long = "tag", value_name = "TAG", required = true)]
    tags: Vec<String>,
    /// The source.
    #[arg(long, default_value = "user_statement")]
    source: String,
    /// The importance, from 1 (low) to 10 (high, kept for ever).
    #[arg(long)]
    importance: Option<u8>,
    /// The id of a related memory; may be repeated.
    #[arg(long = "related", value_name = "ID")]
    related: Vec<String>,
}

/// The search.
#[derive(Debug, Args)]
pub(crate) struct Find {
    /// The text to search for.
    text: Option<String>,
    /// Only memories with this tag; with all of them if repeated.
    #[arg(long = "tag", value_name = "TAG")]
    tags_all: Vec<String>,
    /// Only memories with this tag; with any of them if repeated.
    #[arg(long = "any-tag", value_name = "TAG")]
    tags_any: Vec<String>,
    /// Only memories written or changed at this time or later, e.g. 2026-04-14T00:00:00Z.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Only memories written or changed before this time.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only memories of at least this importance.
    #[arg(long, value_name = "1-10")]
    min_importance: Option<u8>,
    /// Include proposals.
    #[arg(long)]
    proposed: bool,
    /// The largest number of memories.
    #[arg(long)]
    limit: Option<usize>,
}

pub(crate) async fn run(command: &Memory, config: &Config, format: Format) -> anyhow::Result<u8> {
    let client = Client::connect(config).await?;
    let found = send(command, &client).await;
    client.close().await?;
    output::print(format, &found?, |found| match command {
        Memory::List { .. } => output::rows(&found["entries"], &COLUMNS),
        Memory::Show { history: true, .. } => output::rows(found, &COLUMNS),
        Memory::Show {
            related: Some(_), ..
        } => output::rows(
            found,
            &["distance", "memory_id", "memory.title", "memory.content"],
        ),
        Memory::Find(_) => output::rows(
            found,
            &[
                "memory_id",
                "score",
                "memory.title",
                "memory.content",
                "memory.tags",
                "similar_to",
                "conflicts_with",
            ],
        ),
        Memory::Add { .. }
        | Memory::Supersede { .. }
        | Memory::Show { .. }
        | Memory::Accept { .. }
        | Memory::Reject { .. }
        | Memory::Delete { .. } => output::fields(found),
    })?;
    Ok(EXIT_OK)
}

const COLUMNS: [&str; 6] = [
    "memory_id",
    "version",
    "state",
    "visibility",
    "memory.title",
    "at",
];

async fn send(command: &Memory, client: &Client) -> anyhow::Result<Value> {
    let one = |id: &str| format!("/v1/memories/{}", encoded(id));
    match command {
        Memory::Add {
            draft,
            shared,
            agent,
        } => {
            let visibility = if *shared { "shared" } else { "private" };
            let body = json!({"memory": draft.body(), "visibility": visibility, "agent_id": agent});
            client.post("/v1/memories", Some(&body)).await
        }
        Memory::Supersede {
            id,
            expected,
            draft,
            agent,
        } => {
            let body =
                json!({"memory": draft.body(), "expected_version": expected, "agent_id": agent});
            let path = format!("{}/versions", one(id));
            client.post(&path, Some(&body)).await
        }
        Memory::List { proposed, after } => {
            let proposed = proposed.then_some("true");
            let asked = query(&[("proposed", proposed), ("after", after.as_deref())]);
            client.get(&format!("/v1/memories{asked}")).await
        }
        Memory::Show {
            id, history: true, ..
        } => client.get(&format!("{}/history", one(id))).await,
        Memory::Show {
            id,
            related: Some(depth),
            ..
        } => {
            client
                .get(&format!("{}/related?depth={depth}", one(id)))
                .await
        }
        Memory::Show { id, .. } => client.get(&one(id)).await,
        Memory::Find(find) => client.post("/v1/memories/search", Some(&find.body())).await,
        Memory::Accept { id, version } => {
            let path = format!("{}/versions/{version}/accept", one(id));
            client.post(&path, None).await
        }
        Memory::Reject { id, version } => {
            let path = format!("{}/versions/{version}/reject", one(id));
            client.post(&path, None).await
        }
        Memory::Delete { id } => client.delete(&one(id)).await,
    }
}

impl Draft {
    fn body(&self) -> Value {
        let mut metadata = json!({ "source": self.source });
        if let Some(importance) = self.importance {
            metadata["importance"] = json!(importance);
        }
        json!({"title": self.title, "content": self.content, "tags": self.tags,
            "metadata": metadata, "related_memories": self.related})
    }
}

impl Find {
    fn body(&self) -> Value {
        json!({"text": self.text, "tags_all": self.tags_all, "tags_any": self.tags_any,
            "from": self.from, "until": self.until, "min_importance": self.min_importance,
            "proposed": self.proposed, "limit": self.limit})
    }
}
