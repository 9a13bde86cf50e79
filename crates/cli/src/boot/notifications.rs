//! Channels and rules, from the configuration. Invalid configuration, secrets included, stops the start; nothing is
//! sent.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use charter_contract::identity::Rights;
use charter_contract::ids::{Label, TenantId};
use charter_domain::notification::{NotificationRule, QuietHours};
use charter_domain::rate_limit::Rate;
use charter_effects::HostPattern;
use charter_effects::channel::{
    ChannelOptions, ChannelTransport, ConfiguredChannels, EmailOptions, SlackOptions, SmtpSecurity,
};
use charter_effects::webhook::SystemOfRecord;
use charter_engine::{
    AccessScope, AccessScopes, CatalogueRole, ChannelSettings, NotificationSettings, Role,
    SkillGrants, SlackPeople, SlackPerson, TenantNotifications, Tier,
};

use crate::config::{
    ChannelConfig, ChannelKindConfig, Config, PersonConfig, RuleConfig, SmtpSecurityConfig,
};
use crate::secrets::{plain_http, secret};

/// The configured channels; may be none.
pub(crate) fn channels(config: &Config) -> anyhow::Result<ConfiguredChannels> {
    let notifications = &config.notifications;
    let tenants = notifications.tenants.iter().map(|(tenant, own)| {
        let at = format!("notifications.tenants.{tenant}.channels");
        Ok((tenant.clone(), transports(&own.channels, &at)?))
    });
    let options = ChannelOptions {
        channels: transports(&notifications.channels, "notifications.channels")?,
        tenants: tenants.collect::<anyhow::Result<_>>()?,
    };
    ConfiguredChannels::new(options).context("setting up `notifications`")
}

/// The rules, and the channels as far as rules and decisions need them.
pub(super) fn notifications(
    config: &Config,
    public_url: Option<String>,
) -> anyhow::Result<NotificationSettings> {
    let notifications = &config.notifications;
    let at = "notifications";
    let shared: BTreeSet<&Label> = notifications.channels.keys().collect();
    let tenants = notifications.tenants.iter().map(|(tenant, own)| {
        let at = format!("notifications.tenants.{tenant}");
        let known = shared.iter().copied().chain(own.channels.keys()).collect();
        let own_rules = own.rules.as_ref();
        let own_rules = own_rules.map(|own| rules(own, &known, &at)).transpose()?;
        let settings = TenantNotifications {
            channels: settings(&own.channels, Some(tenant), &at)?,
            rules: own_rules,
        };
        Ok((tenant.clone(), settings))
    });
    let tenants = tenants.collect::<anyhow::Result<_>>()?;
    // A shared rule may name a channel that only tenants have.
    let own = notifications.tenants.values();
    let own = own.flat_map(|own| own.channels.keys());
    let known = shared.iter().copied().chain(own).collect();
    Ok(NotificationSettings {
        channels: settings(&notifications.channels, None, at)?,
        rules: rules(&notifications.rules, &known, at)?,
        tenants,
        public_url,
        expiring: Duration::from_secs(notifications.expiring_s),
        give_up: Duration::from_secs(notifications.give_up_s),
    })
}

fn rules(
    configured: &[RuleConfig],
    known: &BTreeSet<&Label>,
    at: &str,
) -> anyhow::Result<Vec<NotificationRule>> {
    let rules = configured.iter().enumerate().map(|(number, rule)| {
        let at = format!("{at}.rules, rule {}", number + 1);
        ensure!(!rule.topics.is_empty(), "{at}: `topics` is empty");
        for channel in &rule.channels {
            ensure!(
                known.contains(channel),
                "{at}: there is no channel `{channel}`"
            );
        }
        ensure!(
            rule.digest_s != Some(0),
            "{at}: `digest_s` must be more than 0"
        );
        Ok(NotificationRule {
            topics: rule.topics.clone(),
            channels: rule.channels.clone(),
            severity: rule.severity,
            domains: rule.domains.clone(),
            digest: rule.digest_s.map(Duration::from_secs),
        })
    });
    rules.collect()
}

fn settings(
    configured: &BTreeMap<Label, ChannelConfig>,
    tenant: Option<&TenantId>,
    at: &str,
) -> anyhow::Result<BTreeMap<Label, ChannelSettings>> {
    let settings = configured.iter().map(|(name, channel)| {
        let found = channel_settings(channel, tenant);
        let found = found.with_context(|| format!("{at}.channels.{name}"))?;
        Ok((name.clone(), found))
    });
    settings.collect()
}

fn channel_settings(
    channel: &ChannelConfig,
    tenant: Option<&TenantId>,
) -> anyhow::Result<ChannelSettings> {
    let quiet = channel.quiet.as_ref().map(|quiet| {
        let hours = QuietHours::new(&quiet.from, &quiet.to, &quiet.zone, quiet.except.clone());
        hours.context("`quiet`")
    });
    let rate = NonZeroU64::new(channel.per_minute);
    let rate = rate.context("`per_minute` must be more than 0")?;
    Ok(ChannelSettings {
        kind: match channel.kind {
            ChannelKindConfig::Slack => "slack",
            ChannelKindConfig::Email => "email",
            ChannelKindConfig::Webhook => "webhook",
        },
        quiet: quiet.transpose()?,
        rate: Some(Rate::new(rate, rate)),
        slack: slack_people(channel, tenant)?,
    })
}

/// The people who decide with buttons; none without a signing secret.
fn slack_people(
    channel: &ChannelConfig,
    tenant: Option<&TenantId>,
) -> anyhow::Result<Option<SlackPeople>> {
    if channel.signing_secret.is_none() {
        ensure!(
            channel.people.is_empty(),
            "`people` decide with buttons, which need the `signing_secret`"
        );
        return Ok(None);
    }
    let team = channel.team.clone().filter(|team| !team.is_empty());
    let team = team.context("buttons need the `team`: the id of the workspace")?;
    let mut people = BTreeMap::new();
    for person in &channel.people {
        let identity = slack_person(person, tenant)
            .with_context(|| format!("`people`, Slack user `{}`", person.slack_user))?;
        let known = people.insert(person.slack_user.clone(), identity);
        ensure!(
            known.is_none(),
            "`people` has the Slack user `{}` twice",
            person.slack_user
        );
    }
    Ok(Some(SlackPeople { team, people }))
}

fn slack_person(person: &PersonConfig, tenant: Option<&TenantId>) -> anyhow::Result<SlackPerson> {
    ensure!(!person.slack_user.is_empty(), "`slack_user` is empty");
    ensure!(
        person.role >= Role::Operator,
        "`role` must be `operator` or `admin`: others do not decide"
    );
    let tenant = match (tenant, &person.tenant) {
        (Some(own), Some(named)) if own != named => {
            bail!("`tenant` is {named}, but the channel belongs to {own}")
        }
        (Some(own), _) => own.clone(),
        (None, Some(named)) => named.clone(),
        (None, None) => bail!("it needs a `tenant`, because the channel is shared"),
    };
    Ok(SlackPerson {
        tenant,
        user: person.user.clone(),
        rights: Rights {
            role: person.role,
            tier: Tier::default(),
            catalogue: CatalogueRole::Viewer,
            agent_skills: SkillGrants::default(),
            scopes: AccessScopes::Only(BTreeSet::from([
                AccessScope::ApprovalsRead,
                AccessScope::ApprovalsWrite,
            ])),
            profile: None,
        },
    })
}

fn transports(
    configured: &BTreeMap<Label, ChannelConfig>,
    at: &str,
) -> anyhow::Result<BTreeMap<Label, ChannelTransport>> {
    let transports = configured.iter().map(|(name, channel)| {
        let transport = transport(channel).with_context(|| format!("{at}.{name}"))?;
        Ok((name.clone(), transport))
    });
    transports.collect()
}

fn transport(channel: &ChannelConfig) -> anyhow::Result<ChannelTransport> {
    ensure!(channel.timeout_ms > 0, "`timeout_ms` must be more than 0");
    check_kind(channel)?;
    Ok(match channel.kind {
        ChannelKindConfig::Slack => ChannelTransport::Slack(slack(channel)?),
        ChannelKindConfig::Email => ChannelTransport::Email(email(channel)?),
        ChannelKindConfig::Webhook => ChannelTransport::Webhook(webhook(channel)?),
    })
}

/// Refuses settings of another kind, which would have no effect.
fn check_kind(channel: &ChannelConfig) -> anyhow::Result<()> {
    use ChannelKindConfig::{Email, Slack, Webhook};
    let settings = [
        ("conversation", channel.conversation.is_some(), Slack),
        ("token", channel.token.is_some(), Slack),
        ("signing_secret", channel.signing_secret.is_some(), Slack),
        ("team", channel.team.is_some(), Slack),
        ("people", !channel.people.is_empty(), Slack),
        ("api_url", channel.api_url.is_some(), Slack),
        ("answers_url", channel.answers_url.is_some(), Slack),
        ("host", channel.host.is_some(), Email),
        ("port", channel.port.is_some(), Email),
        ("user", channel.user.is_some(), Email),
        ("password", channel.password.is_some(), Email),
        ("from", channel.from.is_some(), Email),
        ("to", !channel.to.is_empty(), Email),
        ("url", channel.url.is_some(), Webhook),
        ("secrets", !channel.secrets.is_empty(), Webhook),
        ("egress", !channel.egress.is_empty(), Webhook),
    ];
    for (name, given, kind) in settings {
        ensure!(
            !given || kind == channel.kind,
            "`{name}` is a setting of another kind of channel"
        );
    }
    Ok(())
}

fn slack(channel: &ChannelConfig) -> anyhow::Result<SlackOptions> {
    let token = channel.token.as_ref().context("it needs a `token`")?;
    let api_url = channel.api_url.as_deref().unwrap_or(SlackOptions::API_URL);
    let answers_url = channel.answers_url.as_deref();
    Ok(SlackOptions {
        api_url: api_url.to_owned(),
        answers_url: answers_url.unwrap_or(SlackOptions::ANSWERS_URL).to_owned(),
        token: secret(token)?,
        signing_secret: channel.signing_secret.as_ref().map(secret).transpose()?,
        conversation: channel
            .conversation
            .clone()
            .context("it needs a `conversation`")?,
        plain_http: plain_http(channel.plain_http),
        timeout: Duration::from_millis(channel.timeout_ms),
    })
}

fn email(channel: &ChannelConfig) -> anyhow::Result<EmailOptions> {
    let login = match (&channel.user, &channel.password) {
        (Some(user), Some(password)) => Some((user.clone(), secret(password)?)),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => bail!("`user` and `password` belong together"),
    };
    let (security, port) = match channel.security {
        SmtpSecurityConfig::Tls => (SmtpSecurity::Tls, 465),
        SmtpSecurityConfig::Starttls => (SmtpSecurity::StartTls, 587),
        SmtpSecurityConfig::None => (SmtpSecurity::None, 25),
    };
    Ok(EmailOptions {
        host: channel.host.clone().context("it needs a `host`")?,
        port: channel.port.unwrap_or(port),
        security,
        login,
        from: channel.from.clone().context("it needs a `from`")?,
        to: channel.to.clone(),
        timeout: Duration::from_millis(channel.timeout_ms),
    })
}

fn webhook(channel: &ChannelConfig) -> anyhow::Result<SystemOfRecord> {
    let egress = channel.egress.iter().map(|entry| {
        let pattern: Result<HostPattern, _> = entry.parse();
        pattern.with_context(|| format!("`egress`: {entry:?}"))
    });
    let secrets = channel.secrets.iter().map(secret);
    Ok(SystemOfRecord {
        url: channel.url.clone().context("it needs a `url`")?,
        secrets: secrets.collect::<anyhow::Result<_>>()?,
        egress: egress.collect::<anyhow::Result<_>>()?,
        plain_http: plain_http(channel.plain_http),
        attempt_timeout: Duration::from_millis(channel.timeout_ms),
    })
}
