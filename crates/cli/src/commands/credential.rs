//! `charter credential …`

mod callback;

use anyhow::{Context, bail};
use clap::Subcommand;
use serde_json::{Value, json};

use super::{encoded, query, read_field};
use crate::client::Client;
use crate::config::Config;
use crate::failure::EXIT_OK;
use crate::messages;
use crate::output::{self, Format};
use callback::Callback;

/// List the credentials of tools, connect and disconnect accounts.
#[derive(Debug, Subcommand)]
pub(crate) enum Credential {
    /// List credentials, with the state of your accounts.
    List,
    /// Show a credential, with the state of your account.
    Show {
        /// The credential's name.
        name: String,
    },
    /// Connect your account in a browser on this machine.
    ///
    /// Prints the page on which you grant access, waits until the browser comes back to this machine, and completes the
    /// connection. The authorization server has to allow `http://127.0.0.1` with any port as a redirect address.
    Connect {
        /// The credential's name.
        name: String,
    },
    /// Disconnect an account: delete and revoke its tokens.
    Disconnect {
        /// The credential's name.
        name: String,
        /// The user whose account it is; you by default. Needs an admin for another user.
        #[arg(long, value_name = "ID")]
        user: Option<String>,
    },
    /// List the users who connected an account; for admins.
    Accounts {
        /// The credential's name.
        name: String,
        /// The cursor: `next` of the previous page.
        #[arg(long)]
        after: Option<String>,
    },
}

pub(crate) async fn run(
    command: &Credential,
    config: &Config,
    format: Format,
) -> anyhow::Result<u8> {
    let client = Client::connect(config).await?;
    let found = send(command, &client).await;
    client.close().await?;
    output::print(format, &found?, |found| match command {
        Credential::List => output::rows(found, &["name", "kind", "state", "connected_at"]),
        Credential::Accounts { .. } => {
            output::rows(&found["entries"], &["user", "connected_at", "changed_at"])
        }
        Credential::Show { .. } | Credential::Connect { .. } | Credential::Disconnect { .. } => {
            output::fields(found)
        }
    })?;
    Ok(EXIT_OK)
}

async fn send(command: &Credential, client: &Client) -> anyhow::Result<Value> {
    match command {
        Credential::List => client.get("/v1/credentials").await,
        Credential::Show { name } => client.get(&path(name, "")).await,
        Credential::Connect { name } => connect(client, name).await,
        Credential::Disconnect { name, user } => {
            let asked = query(&[("user", user.as_deref())]);
            client
                .delete(&format!("{}{asked}", path(name, "/account")))
                .await
        }
        Credential::Accounts { name, after } => {
            let asked = query(&[("after", after.as_deref())]);
            client
                .get(&format!("{}{asked}", path(name, "/accounts")))
                .await
        }
    }
}

fn path(name: &str, rest: &str) -> String {
    format!("/v1/credentials/{}{rest}", encoded(name))
}

/// Connects an account: the browser comes back to a listener of this command.
async fn connect(client: &Client, name: &str) -> anyhow::Result<Value> {
    let callback = Callback::listen().await?;
    let order = json!({"redirect_uri": callback.address()});
    let started = client.post(&path(name, "/connect"), Some(&order)).await?;
    let page: String = read_field(&started, "authorization_url")?;
    messages::note("Open this page in a browser on this machine, and grant access:");
    messages::note(&page);
    let answer = callback.answer().await.context("waiting for the browser")?;
    if let Some(error) = answer.error {
        bail!("the authorization server granted no access: {error}");
    }
    let code = json!({"code": answer.code, "state": answer.state, "iss": answer.iss});
    client.post(&path(name, "/complete"), Some(&code)).await
}
