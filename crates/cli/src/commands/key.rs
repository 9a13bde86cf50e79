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

/// Make, list, replace and end API keys.
#[derive(Debug, Args)]
pub(crate) struct Keys {
    /// Whose keys, where no server is asked: whoever has the data directory or the database keeps those of
    /// every tenant. A server keeps those of the tenant of the key that is sent to it.
    #[arg(long, global = true, value_name = "ID")]
    tenant: Option<TenantId>,
    #[command(subcommand)]
    command: Key,
}

#[derive(Debug, Subcommand)]
enum Key {
    /// Make a key. It is shown once.
    Create(Create),
    /// List keys, newest first, ended ones too.
    List {
        /// Where the page starts: `next` of the page before.
        #[arg(long)]
        after: Option<String>,
    },
    /// Show a key without its secret.
    Show {
        /// Its id.
        id: String,
    },
    /// Put a new key with the same rights in the place of one. It is shown once.
    Rotate {
        /// The id of the one that ends.
        id: String,
        /// For how many seconds it still lets in.
        #[arg(long, value_name = "SECONDS", default_value_t = 0)]
        overlap_s: u64,
        /// For how many seconds the new one lets in; as long as the old one was made for by default.
        #[arg(long, value_name = "SECONDS")]
        expires_in_s: Option<u64>,
    },
    /// End a key at once.
    Revoke {
        /// Its id.
        id: String,
    },
}

/// Make a key.
#[derive(Debug, Args)]
struct Create {
    /// What it is for, e.g. `ci`.
    name: String,
    /// Whom it stands for; you by default.
    #[arg(long, value_name = "ID")]
    user: Option<UserId>,
    /// `user`, `operator` or `admin`.
    #[arg(long, default_value_t)]
    role: Role,
    /// `basic` or `advanced`.
    #[arg(long, default_value_t)]
    tier: Tier,
    /// `viewer`, `editor` or `admin` of the catalogue; what goes with the role by default.
    #[arg(long)]
    catalogue: Option<CatalogueRole>,
    /// A skill of the link graph that it may reach, with what is under it, or `*`; all for operators and
    /// admins by default, none for users. May be repeated.
    #[arg(long = "agent-skill", value_name = "ID")]
    agent_skills: Vec<String>,
    /// Who acts with it: `person`, or `agent` for a key that does not decide on approvals.
    #[arg(long = "for", value_name = "HOLDER", default_value_t)]
    holder: KeyHolder,
    /// A part of the interface that it opens, e.g. `runs:read`; all that you have by default, for an agent but
    /// `approvals:write`. May be repeated.
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<AccessScope>,
    /// A profile that narrows the agents whose skills it is served, to those usable in it; yours by default.
    #[arg(long, value_name = "PROFILE")]
    profile: Option<Label>,
    /// For how many seconds it lets in; for ever by default.
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
