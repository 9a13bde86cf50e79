//! Channels as configured, checked before anything is sent.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::ids::{Label, TenantId};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::email::Mailer;
use super::settings::{ChannelSetupError, EmailOptions, SlackOptions};
use super::slack::{ButtonAnswer, SlackApp, SlackRequest};
use super::{ChannelFailure, ChannelFault, ChannelKey, ChannelMessage, Channels};
use crate::http::HttpRunner;
use crate::patience::RetryPolicy;
use crate::webhook::{
    Delivery, DeliveryFault, HttpWebhooks, SystemOfRecord, WebhookOptions, Webhooks,
};

/// Configuration of the channels.
#[derive(Debug, Clone, Default)]
pub struct ChannelOptions {
    /// The channels of every tenant.
    pub channels: BTreeMap<Label, ChannelTransport>,
    /// Channels of one tenant. They override shared channels of the same name.
    pub tenants: BTreeMap<TenantId, BTreeMap<Label, ChannelTransport>>,
}

/// How a channel is reached.
#[derive(Debug, Clone)]
pub enum ChannelTransport {
    /// A conversation in Slack.
    Slack(SlackOptions),
    /// E-mail over SMTP.
    Email(EmailOptions),
    /// Signed requests to exactly this URL (Standard Webhooks).
    Webhook(SystemOfRecord),
}

/// A channel, ready for messages.
#[derive(Debug)]
enum Channel {
    Slack(Box<SlackApp>),
    Email(Box<Mailer>),
    Webhook {
        webhooks: Box<HttpWebhooks>,
        url: String,
    },
}

/// The channels of the configuration.
#[derive(Debug)]
pub struct ConfiguredChannels {
    shared: BTreeMap<Label, Channel>,
    tenants: BTreeMap<TenantId, BTreeMap<Label, Channel>>,
}

impl ConfiguredChannels {
    /// Prepares the channels. Sends nothing.
    ///
    /// # Errors
    /// [`ChannelSetupError`] when the configuration cannot work.
    pub fn new(options: ChannelOptions) -> Result<Self, ChannelSetupError> {
        let http = HttpRunner::new().map_err(|source| ChannelSetupError::Tls { source })?;
        let tenants = options.tenants.into_iter();
        let tenants = tenants.map(|(tenant, own)| Ok((tenant, set_up(own, &http)?)));
        Ok(Self {
            shared: set_up(options.channels, &http)?,
            tenants: tenants.collect::<Result<_, _>>()?,
        })
    }

    /// Describes each channel: its name and its destination. A tenant's channels have the tenant before the name.
    pub fn described(&self) -> impl Iterator<Item = String> {
        let shared = self.shared.iter();
        let shared = shared.map(|(name, channel)| format!("{name}: {}", channel.described()));
        let own = self.tenants.iter().flat_map(|(tenant, own)| {
            let own = own.iter();
            own.map(move |(name, channel)| format!("{tenant}: {name}: {}", channel.described()))
        });
        shared.chain(own)
    }

    fn channel(&self, tenant: &TenantId, name: &Label) -> Option<&Channel> {
        let own = self.tenants.get(tenant).and_then(|own| own.get(name));
        own.or_else(|| self.shared.get(name))
    }

    fn keyed(&self, key: &ChannelKey) -> Option<&Channel> {
        match &key.tenant {
            Some(tenant) => self.tenants.get(tenant)?.get(&key.channel),
            None => self.shared.get(&key.channel),
        }
    }

    /// Every Slack channel with its key.
    fn slack_apps(&self) -> impl Iterator<Item = (ChannelKey, &SlackApp)> {
        let shared = self.shared.iter().map(|of| (None, of));
        let own = self
            .tenants
            .iter()
            .flat_map(|(tenant, own)| own.iter().map(move |of| (Some(tenant.clone()), of)));
        shared
            .chain(own)
            .filter_map(|(tenant, (name, channel))| match channel {
                Channel::Slack(app) => {
                    let channel = name.clone();
                    Some((ChannelKey { tenant, channel }, &**app))
                }
                Channel::Email(_) | Channel::Webhook { .. } => None,
            })
    }
}

impl Channel {
    fn described(&self) -> String {
        match self {
            Self::Slack(app) => app.described(),
            Self::Email(mailer) => mailer.described(),
            Self::Webhook { url, .. } => format!("webhook to {url}"),
        }
    }
}

fn set_up(
    channels: BTreeMap<Label, ChannelTransport>,
    http: &HttpRunner,
) -> Result<BTreeMap<Label, Channel>, ChannelSetupError> {
    let ready = channels.into_iter().map(|(name, transport)| {
        let channel = match transport {
            ChannelTransport::Slack(options) => {
                Channel::Slack(Box::new(SlackApp::new(&name, options, http)?))
            }
            ChannelTransport::Email(options) => {
                Channel::Email(Box::new(Mailer::new(&name, &options)?))
            }
            ChannelTransport::Webhook(system) => webhook(&name, system)?,
        };
        Ok((name, channel))
    });
    ready.collect()
}

fn webhook(name: &Label, system: SystemOfRecord) -> Result<Channel, ChannelSetupError> {
    let url = system.url.clone();
    let options = WebhookOptions {
        systems: BTreeMap::from([(name.clone(), system)]),
        tenants: BTreeMap::new(),
        // Messages are sent again by their queue, which also survives a restart.
        patience: RetryPolicy {
            retries: 0,
            ..RetryPolicy::default()
        },
    };
    let webhooks = HttpWebhooks::new(options).map_err(|source| ChannelSetupError::Webhook {
        channel: name.clone(),
        source,
    })?;
    Ok(Channel::Webhook {
        webhooks: Box::new(webhooks),
        url,
    })
}

/// Longest time for one message to a webhook; its own setting may be shorter.
const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(60);

async fn send_to_webhook(
    webhooks: &HttpWebhooks,
    url: &str,
    message: &ChannelMessage,
    cancel: &CancellationToken,
) -> Result<(), ChannelFailure> {
    let content = &message.content;
    let delivery = Delivery {
        tenant: message.tenant.clone(),
        url: url.to_owned(),
        id: message.id.clone(),
        now: message.now,
        body: json!({"type": content.topic, "timestamp": content.at, "data": content.data}),
        timeout: WEBHOOK_TIMEOUT,
    };
    let sent = webhooks.deliver(&delivery, cancel).await;
    sent.map(|_| ()).map_err(|failed| {
        let fault = match failed.fault {
            DeliveryFault::Forbidden | DeliveryFault::Conflict | DeliveryFault::Refused => {
                ChannelFault::Refused
            }
            // A receiver detects a repeat by the id of the message.
            DeliveryFault::Unavailable | DeliveryFault::Unknown => ChannelFault::Unavailable,
        };
        ChannelFailure::new(fault, failed.message)
    })
}

#[async_trait]
impl Channels for ConfiguredChannels {
    async fn send(
        &self,
        message: &ChannelMessage,
        cancel: &CancellationToken,
    ) -> Result<(), ChannelFailure> {
        let sending = async {
            match self.channel(&message.tenant, &message.channel) {
                None => Err(ChannelFailure::unknown(&message.channel)),
                Some(Channel::Slack(app)) => app.send(message).await,
                Some(Channel::Email(mailer)) => mailer.send(message).await,
                Some(Channel::Webhook { webhooks, url }) => {
                    send_to_webhook(webhooks, url, message, cancel).await
                }
            }
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => {
                Err(ChannelFailure::new(ChannelFault::Unavailable, "the server is stopping"))
            }
            sent = sending => sent,
        }
    }

    fn signers(&self, request: &SlackRequest<'_>) -> Vec<ChannelKey> {
        let signed = self.slack_apps().filter(|(_, app)| app.signed(request));
        signed.map(|(key, _)| key).collect()
    }

    async fn answer(
        &self,
        channel: &ChannelKey,
        address: &str,
        text: &str,
        answers: ButtonAnswer,
    ) -> Result<(), ChannelFailure> {
        match self.keyed(channel) {
            Some(Channel::Slack(app)) => app.answer(address, text, answers).await,
            Some(Channel::Email(_) | Channel::Webhook { .. }) | None => {
                Err(ChannelFailure::unknown(&channel.channel))
            }
        }
    }
}
