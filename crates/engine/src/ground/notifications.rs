//! Channels and rules, as the operator configures them. Plain values.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use charter_contract::identity::Rights;
use charter_contract::ids::{Label, TenantId, UserId};
use charter_domain::notification::{NotificationEvent, NotificationRule, QuietHours};
use charter_domain::rate_limit::Rate;
use charter_effects::channel::ChannelKey;

/// Settings of notifications; without channels by default.
#[derive(Debug, Clone)]
pub struct NotificationSettings {
    /// The channels of every tenant.
    pub channels: BTreeMap<Label, ChannelSettings>,
    /// The rules of every tenant that has none of its own.
    pub rules: Vec<NotificationRule>,
    /// Channels and rules of one tenant.
    pub tenants: BTreeMap<TenantId, TenantNotifications>,
    /// The address of this server, for links to the console.
    pub public_url: Option<String>,
    /// How long before its end an approval is announced as expiring.
    pub expiring: Duration,
    /// How long a message is retried.
    pub give_up: Duration,
}

impl Default for NotificationSettings {
    fn default() -> Self {
        Self {
            channels: BTreeMap::new(),
            rules: Vec::new(),
            tenants: BTreeMap::new(),
            public_url: None,
            expiring: Duration::from_secs(3_600),
            give_up: Duration::from_secs(24 * 3_600),
        }
    }
}

/// Channels and rules of one tenant.
#[derive(Debug, Clone, Default)]
pub struct TenantNotifications {
    /// Its channels. They override shared channels of the same name.
    pub channels: BTreeMap<Label, ChannelSettings>,
    /// Its rules, in place of the shared ones.
    pub rules: Option<Vec<NotificationRule>>,
}

/// A channel, as far as rules and decisions are concerned.
#[derive(Debug, Clone)]
pub struct ChannelSettings {
    /// Its kind: `slack`, `email` or `webhook`.
    pub kind: &'static str,
    /// When it gets nothing but the exceptions.
    pub quiet: Option<QuietHours>,
    /// The most messages.
    pub rate: Option<Rate>,
    /// For Slack: who may decide with buttons.
    pub slack: Option<SlackPeople>,
}

/// The users of a Slack workspace who may decide.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SlackPeople {
    /// The workspace.
    pub team: String,
    /// The identities of its users, by their ids in Slack.
    pub people: BTreeMap<String, SlackPerson>,
}

/// The identity of a Slack user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlackPerson {
    /// The tenant.
    pub tenant: TenantId,
    /// The user within the tenant.
    pub user: UserId,
    /// The rights.
    pub rights: Rights,
}

impl NotificationSettings {
    /// Whether no tenant has a channel.
    pub(crate) fn is_empty(&self) -> bool {
        let mut own = self.tenants.values();
        self.channels.is_empty() && own.all(|own| own.channels.is_empty())
    }

    /// Returns the channels of a tenant, by name.
    pub(crate) fn channels_of(&self, tenant: &TenantId) -> BTreeMap<&Label, &ChannelSettings> {
        let own = self.tenants.get(tenant).map(|own| &own.channels);
        let all = self.channels.iter().chain(own.into_iter().flatten());
        all.collect()
    }

    /// Returns a channel of a tenant.
    pub(crate) fn channel(&self, tenant: &TenantId, name: &Label) -> Option<&ChannelSettings> {
        let own = self.tenants.get(tenant);
        let own = own.and_then(|own| own.channels.get(name));
        own.or_else(|| self.channels.get(name))
    }

    /// Returns a channel by its place in the configuration.
    pub(crate) fn keyed(&self, key: &ChannelKey) -> Option<&ChannelSettings> {
        match &key.tenant {
            Some(tenant) => self.tenants.get(tenant)?.channels.get(&key.channel),
            None => self.channels.get(&key.channel),
        }
    }

    /// Returns the place in the configuration of a tenant's channel.
    pub(crate) fn key(&self, tenant: &TenantId, name: &Label) -> ChannelKey {
        let own = self.tenants.get(tenant);
        let is_own = own.is_some_and(|own| own.channels.contains_key(name));
        ChannelKey {
            tenant: is_own.then(|| tenant.clone()),
            channel: name.clone(),
        }
    }

    /// Returns the tenants that have a channel of their own with a name.
    pub(crate) fn owners(&self, name: &Label) -> Vec<TenantId> {
        let owners = self.tenants.iter();
        let owners = owners.filter(|(_, own)| own.channels.contains_key(name));
        owners.map(|(tenant, _)| tenant.clone()).collect()
    }

    /// Returns the rules of a tenant.
    pub(crate) fn rules(&self, tenant: &TenantId) -> &[NotificationRule] {
        let own = self.tenants.get(tenant);
        let own = own.and_then(|own| own.rules.as_ref());
        own.unwrap_or(&self.rules)
    }

    /// Returns the channels that get an event, each with its digest: the shortest of the rules that send it, or none if
    /// one of them has none.
    pub(crate) fn channels_for(
        &self,
        tenant: &TenantId,
        event: NotificationEvent<'_>,
    ) -> BTreeMap<&Label, Option<Duration>> {
        let mut found: BTreeMap<&Label, Option<Duration>> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let rules = self.rules(tenant).iter();
        for rule in rules.filter(|rule| rule.covers(event)) {
            // Only findings are collected: the others are for one person to act on.
            let own = rule.digest.filter(|_| event.topic.is_about_findings());
            for channel in &rule.channels {
                let digest = match seen.insert(channel) {
                    true => own,
                    false => {
                        let known = found.get(channel).copied().flatten();
                        own.zip(known).map(|(one, other)| one.min(other))
                    }
                };
                found.insert(channel, digest);
            }
        }
        found
    }
}
