//! `charter key …`

use charter_contract::identity::KeyHolder;
use charter_contract::ids::{Label, TenantId, UserId};
use charter_engine::{AccessScope, CatalogueRole, Role, Tier};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{encoded, query};
use crate::client::Client;
use crate::config::Config;
use crate::failure::EXIT_OK;
use crate::messages;
use crate::output::{self, Format};

/// Create, list, rotate and revoke API keys.
#[derive(Debug, Args)]
pub(crate) struct Keys {
    /// The tenant, when the command opens the store itself, which holds the keys of every tenant. A server uses the
    /// tenant of the key that is sent to it.
    #[arg(long, global = true, value_name = "ID")]
    tenant: Option<TenantId>,
    #[command(subcommand)]
    command: Key,
}

#[derive(Debug, Subcommand)]
enum Key {
    /// Create a key. It is shown once.
    Create(Create),
    /// List keys, newest first, including expired and revoked ones.
    List {
        /// The cursor: `next` of the previous page.
        #[arg(long)]
        after: Option<String>,
    },
    /// Show a key without its secret.
    Show {
        /// The key's id.
        id: String,
    },
    /// Replace a key by a new one with the same rights. It is shown once.
    Rotate {
        /// The id of the key to replace.
        id: String,
        /// For how many seconds the old key stays valid.
        #[arg(long, value_name = "SECONDS", default_value_t = 0)]
        overlap_s: u64,
        /// For how many seconds the new key is valid; by default, the lifetime of the old one.
        #[arg(long, value_name = "SECONDS")]
        expires_in_s: Option<u64>,
    },
    /// Revoke a key at once.
    Revoke {
        /// The key's id.
        id: String,
    },
}

/// Create a key.
#[derive(Debug, Args)]
struct Create {
    /// The key's purpose, e.g. `ci`.
    name: String,
    /// The user that it authenticates; you by default.
    #[arg(long, value_name = "ID")]
    user: Option<UserId>,
    /// The level: `user`, `operator` or `admin`.
    #[arg(long, default_value_t)]
    role: Role,
    /// `basic` or `advanced`.
    #[arg(long, default_value_t)]
    tier: Tier,
    /// The catalogue role: `viewer`, `editor` or `admin`; follows from the level by default.
    #[arg(long)]
    catalogue: Option<CatalogueRole>,
    /// A skill of the link graph that it may reach, with everything under it, or `*`; by default, all for operators and
    /// admins, none for users. May be repeated.
    #[arg(long = "agent-skill", value_name = "ID")]
    agent_skills: Vec<String>,
    /// Its holder: `person`, or `agent` for a key that does not decide on approvals.
    #[arg(long = "for", value_name = "HOLDER", default_value_t)]
    holder: KeyHolder,
    /// A part of the API that it may use, e.g. `runs:read`; by default all that you may use, for an agent without
    /// `approvals:write`. May be repeated.
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<AccessScope>,
    /// The profile that limits the agents whose skills it gets to those usable in it; yours by default.
    #[arg(long, value_name = "PROFILE")]
    profile: Option<Label>,
    /// For how many seconds it is valid; for ever by default.
    #[arg(long, value_name = "SECONDS")]
    expires_in_s: Option<u64>,
}

impl Create {
    fn order(&self) -> Value {
        let mut order = json!({"name": self.name, "role": self.role, "tier": self.tier,
            "user": self.user, "catalogue": self.catalogue, "profile": self.profile,
            "expires_in_s": self.expires_in_s});
        if !self.agent_skills.is_empty() {
            order["agent_skills"] = json!(self.agent_skills);
        }
        if self.holder != KeyHolder::Person {
            order["for"] = json!(self.holder);
        }
        if !self.scopes.is_empty() {
            order["scopes"] = json!(self.scopes);
        }
        order
    }
}

pub(crate) async fn run(keys: &Keys, config: &Config, format: Format) -> anyhow::Result<u8> {
    let client = Client::connect_as(config, keys.tenant.as_ref()).await?;
    let found = send(&keys.command, &client).await;
    client.close().await?;
    output::print(format, &found?, |found| match &keys.command {
        Key::List { .. } => output::rows(
            &found["entries"],
            &[
                "key_id",
                "name",
                "state",
                "user",
                "role",
                "expires_at",
                "last_used_at",
            ],
        ),
        Key::Create(_) | Key::Show { .. } | Key::Rotate { .. } | Key::Revoke { .. } => {
            output::fields(found)
        }
    })?;
    if matches!(keys.command, Key::Create(_) | Key::Rotate { .. }) {
        messages::note("Save the secret now: it is not shown again.");
    }
    Ok(EXIT_OK)
}

async fn send(command: &Key, client: &Client) -> anyhow::Result<Value> {
    match command {
        Key::Create(create) => client.post("/v1/keys", Some(&create.order())).await,
        Key::List { after } => {
            let asked = query(&[("after", after.as_deref())]);
            client.get(&format!("/v1/keys{asked}")).await
        }
        Key::Show { id } => client.get(&format!("/v1/keys/{}", encoded(id))).await,
        Key::Rotate {
            id,
            overlap_s,
            expires_in_s,
        } => {
            let path = format!("/v1/keys/{}/rotate", encoded(id));
            let body = json!({"overlap_s": overlap_s, "expires_in_s": expires_in_s});
            client.post(&path, Some(&body)).await
        }
        Key::Revoke { id } => {
            let path = format!("/v1/keys/{}/revoke", encoded(id));
            client.post(&path, None).await
        }
    }
}
