//! Settings of a conversation in Slack and of a mail server, and their faults.

use std::time::Duration;

use charter_contract::ids::Label;

use crate::http::PlainHttp;
use crate::secret::{Secret, SecretSource};
use crate::webhook::WebhookSetupError;

/// A conversation in Slack.
#[derive(Debug, Clone)]
pub struct SlackOptions {
    /// Base URL of the Web API.
    pub api_url: String,
    /// Origin of the addresses at which Slack takes answers to interactions.
    pub answers_url: String,
    /// The app's token.
    pub token: Secret,
    /// The app's signing secret. Without it, messages have no buttons.
    pub signing_secret: Option<Secret>,
    /// The conversation: its id, or a channel's name.
    pub conversation: String,
    /// Hosts to which connections without TLS are allowed.
    pub plain_http: PlainHttp,
    /// Timeout of one request.
    pub timeout: Duration,
}

impl SlackOptions {
    /// The Web API of Slack.
    pub const API_URL: &'static str = "https://slack.com/api";
    /// Where Slack takes answers to interactions.
    pub const ANSWERS_URL: &'static str = "https://hooks.slack.com";
}

/// E-mail over SMTP.
#[derive(Debug, Clone)]
pub struct EmailOptions {
    /// The server.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// How the connection is protected.
    pub security: SmtpSecurity,
    /// The user and the password.
    pub login: Option<(String, Secret)>,
    /// The sender.
    pub from: String,
    /// The recipients.
    pub to: Vec<String>,
    /// Timeout of one command.
    pub timeout: Duration,
}

/// How a connection to a mail server is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmtpSecurity {
    /// TLS from the beginning (port 465).
    Tls,
    /// TLS after STARTTLS, which the server must offer (port 587).
    StartTls,
    /// None; for a server on this machine.
    None,
}

/// Why the configuration of channels is invalid.
#[derive(Debug, thiserror::Error)]
pub enum ChannelSetupError {
    /// A setting cannot be used.
    #[error("the channel `{channel}`: `{setting}` is {why}")]
    Setting {
        /// The channel.
        channel: Label,
        /// The setting.
        setting: &'static str,
        /// Its fault.
        why: String,
    },
    /// A secret is invalid.
    #[error("the channel `{channel}`: a secret ({of}) {why}")]
    Secret {
        /// The channel.
        channel: Label,
        /// Its source.
        of: SecretSource,
        /// The fault of the secret.
        why: &'static str,
    },
    /// The settings of a webhook are invalid.
    #[error("the channel `{channel}`")]
    Webhook {
        /// The channel.
        channel: Label,
        /// The cause.
        source: WebhookSetupError,
    },
    /// TLS initialisation failed.
    #[error("setting up TLS")]
    Tls {
        /// The cause.
        source: rustls::Error,
    },
}
