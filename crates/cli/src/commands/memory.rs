//! `charter memory …`

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{encoded, query};
use crate::client::Client;
use crate::config::Config;
use crate::failure::EXIT_OK;
use crate::output::{self, Format};

/// Remember, look up, decide on what agents propose, forget.
#[derive(Debug, Subcommand)]
pub(crate) enum Memory {
    /// Remember something.
    Add {
        #[command(flatten)]
        draft: Draft,
        /// For everybody of the tenant; an operator accepts it.
        #[arg(long)]
        shared: bool,
        /// The agent that writes it for you; it is then a proposal.
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
    },
    /// Write the next version of a memory; the one before it stays readable.
    Supersede {
        /// Its id.
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
        /// Those that have a proposal which waits for a decision.
        #[arg(long)]
        proposed: bool,
        /// Where the page starts: `next` of the page before.
        #[arg(long)]
        after: Option<String>,
    },
    /// Show a memory.
    Show {
        /// Its id.
        id: String,
        /// All its versions, newest first.
        #[arg(long, conflicts_with = "related")]
        history: bool,
        /// What it names as related, followed this many times (1 to 5).
        #[arg(long, value_name = "DEPTH")]
        related: Option<u8>,
    },
    /// Search memories by meaning and words; without a text, the ones changed last.
    Find(Find),
    /// Put a proposed version in force.
    Accept {
        /// The memory.
        id: String,
        /// The version.
        version: u64,
    },
    /// Refuse a proposed version.
    Reject {
        /// The memory.
        id: String,
        /// The version.
        version: u64,
    },
    /// Remove the content of a memory and of all its versions. That it existed stays.
    Delete {
        /// Its id.
        id: String,
    },
}

/// What is to be remembered.
#[derive(Debug, Args)]
pub(crate) struct Draft {
    /// Its title.
    #[arg(long)]
    title: String,
    /// What is remembered.
    content: String,
    /// A word to find it by; at least one, may be repeated.
    #[arg(long = "tag", value_name = "TAG", required = true)]
    tags: Vec<String>,
    /// Where it comes from.
    #[arg(long, default_value = "user_statement")]
    source: String,
    /// From 1 (low) to 10 (high, kept for good).
    #[arg(long)]
    importance: Option<u8>,
    /// A memory that it belongs with; may be repeated.
    #[arg(long = "related", value_name = "ID")]
    related: Vec<String>,
}

/// What to look for.
#[derive(Debug, Args)]
pub(crate) struct Find {
    /// In words.
    text: Option<String>,
    /// With this tag; all of several.
    #[arg(long = "tag", value_name = "TAG")]
    tags_all: Vec<String>,
    /// With this tag; any of several.
    #[arg(long = "any-tag", value_name = "TAG")]
    tags_any: Vec<String>,
    /// Written or changed at this moment or later, e.g. 2026-04-14T00:00:00Z.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Written or changed before this moment.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// At least this important.
    #[arg(long, value_name = "1-10")]
    min_importance: Option<u8>,
    /// Also what is only proposed.
    #[arg(long)]
    proposed: bool,
    /// How many.
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
