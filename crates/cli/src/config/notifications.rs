//! Channels that reach people, and the rules that send events to them, in the configuration, which names where secrets
//! are and never holds them. Startup checks that the settings of a channel fit its kind.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::catalogue::vocabulary::Severity;
use charter_contract::ids::{DomainId, Label, TenantId, UserId};
use charter_contract::notification::NotificationTopic;
use charter_engine::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::remote::{PlainHttpConfig, SecretConfig};

/// Channels and rules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NotificationsConfig {
    /// The channels of every tenant, by name.
    pub(crate) channels: BTreeMap<Label, ChannelConfig>,
    /// The rules of every tenant that has none of its own.
    pub(crate) rules: Vec<RuleConfig>,
    /// Channels and rules of tenants.
    pub(crate) tenants: BTreeMap<TenantId, TenantNotificationsConfig>,
    /// How long before its end an approval is announced as `approval.expiring`, in seconds.
    pub(crate) expiring_s: u64,
    /// How long a message is retried after transient failures, in seconds.
    pub(crate) give_up_s: u64,
}

impl Default for NotificationsConfig {
    fn default() -> Self {
        Self {
            channels: BTreeMap::new(),
            rules: Vec::new(),
            tenants: BTreeMap::new(),
            expiring_s: 3_600,
            give_up_s: 24 * 3_600,
        }
    }
}

/// Channels and rules of a tenant.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TenantNotificationsConfig {
    /// Channels that only its events go to; one replaces the shared channel of the same name.
    pub(crate) channels: BTreeMap<Label, ChannelConfig>,
    /// Its rules, in place of the shared ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rules: Option<Vec<RuleConfig>>,
}

/// A rule: which events go to which channels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleConfig {
    /// The topics, e.g. `approval.requested`.
    pub(crate) topics: BTreeSet<NotificationTopic>,
    /// The names of the channels.
    pub(crate) channels: BTreeSet<Label>,
    /// For `finding.new` and `finding.resolved`: the least severe that is sent; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) severity: Option<Severity>,
    /// For `finding.new` and `finding.resolved`: the domains; all if empty.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(crate) domains: BTreeSet<DomainId>,
    /// For `finding.new` and `finding.resolved`: for how many seconds findings of a topic are collected for one
    /// message; those of each run are a message if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) digest_s: Option<u64>,
}

/// One channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChannelConfig {
    /// How it is reached.
    pub(crate) kind: ChannelKindConfig,
    /// The hours in which it gets nothing but the exceptions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) quiet: Option<QuietConfig>,
    /// The most messages in a minute, for each process.
    #[serde(default = "per_minute")]
    pub(crate) per_minute: u64,
    /// For `slack`: the conversation, by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) conversation: Option<String>,
    /// For `slack`: where the app's token is (`xoxb-…`, with the scope `chat:write`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<SecretConfig>,
    /// For `slack`: where the app's signing secret is. If absent, messages have no buttons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) signing_secret: Option<SecretConfig>,
    /// For `slack` with buttons: the id of the workspace (`T…`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) team: Option<String>,
    /// For `slack` with buttons: the users who decide with them.
    #[serde(default)]
    pub(crate) people: Vec<PersonConfig>,
    /// For `slack`: the base URL of the Web API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) api_url: Option<String>,
    /// For `slack`: the origin of the addresses at which Slack takes answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) answers_url: Option<String>,
    /// For `email`: the mail server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) host: Option<String>,
    /// For `email`: its port; 465 for `tls`, 587 for `starttls`, 25 for `none` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) port: Option<u16>,
    /// For `email`: how the connection is protected.
    #[serde(default)]
    pub(crate) security: SmtpSecurityConfig,
    /// For `email`: the user at the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    /// For `email`: where the user's password is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) password: Option<SecretConfig>,
    /// For `email`: the sender, e.g. `Charter <charter@example.com>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    /// For `email`: the recipients.
    #[serde(default)]
    pub(crate) to: Vec<String>,
    /// For `webhook`: the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// For `webhook`: where the secrets are that sign messages; several during a rotation.
    #[serde(default)]
    pub(crate) secrets: Vec<SecretConfig>,
    /// For `webhook`: private addresses, and hosts with ports other than 80 and 443, at which it may be.
    #[serde(default)]
    pub(crate) egress: Vec<String>,
    /// The hosts to which plain HTTP is allowed.
    #[serde(default)]
    pub(crate) plain_http: PlainHttpConfig,
    /// Timeout of one request or one command, in milliseconds.
    #[serde(default = "timeout_ms")]
    pub(crate) timeout_ms: u64,
}

fn per_minute() -> u64 {
    30
}

fn timeout_ms() -> u64 {
    10_000
}

/// How a channel is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChannelKindConfig {
    /// A conversation in Slack.
    Slack,
    /// E-mail over SMTP.
    Email,
    /// Signed requests (Standard Webhooks).
    Webhook,
}

/// How a connection to a mail server is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SmtpSecurityConfig {
    /// TLS from the beginning.
    #[default]
    Tls,
    /// TLS after STARTTLS, which the server must offer.
    Starttls,
    /// None; for a server on this machine.
    None,
}

/// Quiet hours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuietConfig {
    /// When they begin, e.g. `22:00`.
    pub(crate) from: String,
    /// When they end, e.g. `07:00`.
    pub(crate) to: String,
    /// The time zone, e.g. `Europe/Berlin`.
    #[serde(default = "utc")]
    pub(crate) zone: String,
    /// The topics that are sent nevertheless.
    #[serde(default)]
    pub(crate) except: BTreeSet<NotificationTopic>,
}

fn utc() -> String {
    "UTC".to_owned()
}

/// The identity of a user of Slack. It decides on approvals and may do nothing else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PersonConfig {
    /// The user's id in Slack (`U…`).
    pub(crate) slack_user: String,
    /// The user within the tenant: the name of the same person's key or token.
    pub(crate) user: UserId,
    /// The tenant; for shared channels, which need it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tenant: Option<TenantId>,
    /// `operator` or `admin`.
    #[serde(default = "operator")]
    #[schemars(with = "String")]
    pub(crate) role: Role,
}

fn operator() -> Role {
    Role::Operator
}
