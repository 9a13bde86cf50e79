//! The systems of record, from the configuration. Invalid configuration, secrets included, stops the start; nothing is
//! sent.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, ensure};
use charter_contract::ids::Label;
use charter_effects::webhook::{HttpWebhooks, SystemOfRecord, WebhookOptions};
use charter_effects::{HostPattern, RetryPolicy};

use crate::config::{Config, SystemConfig};
use crate::secrets::{plain_http, secret};

/// The configured systems of record; may be empty.
pub(crate) fn webhooks(config: &Config) -> anyhow::Result<HttpWebhooks> {
    let webhooks = &config.webhooks;
    let tenants = webhooks.tenants.iter().map(|(tenant, own)| {
        let at = format!("webhooks.tenants.{tenant}.systems");
        Ok((tenant.clone(), systems(&own.systems, &at)?))
    });
    let options = WebhookOptions {
        systems: systems(&webhooks.systems, "webhooks.systems")?,
        tenants: tenants.collect::<anyhow::Result<_>>()?,
        patience: RetryPolicy {
            retries: webhooks.retries,
            ..RetryPolicy::default()
        },
    };
    HttpWebhooks::new(options).context("setting up `webhooks`")
}

fn systems(
    configured: &BTreeMap<Label, SystemConfig>,
    at: &str,
) -> anyhow::Result<BTreeMap<Label, SystemOfRecord>> {
    let systems = configured.iter().map(|(name, config)| {
        let system = system(config).with_context(|| format!("{at}.{name}"))?;
        Ok((name.clone(), system))
    });
    systems.collect()
}

fn system(config: &SystemConfig) -> anyhow::Result<SystemOfRecord> {
    ensure!(config.timeout_ms > 0, "`timeout_ms` must be more than 0");
    let egress = config.egress.iter().map(|entry| {
        let pattern: Result<HostPattern, _> = entry.parse();
        pattern.with_context(|| format!("`egress`: {entry:?}"))
    });
    Ok(SystemOfRecord {
        url: config.url.clone(),
        secrets: config
            .secrets
            .iter()
            .map(secret)
            .collect::<anyhow::Result<_>>()?,
        egress: egress.collect::<anyhow::Result<_>>()?,
        plain_http: plain_http(config.plain_http),
        attempt_timeout: Duration::from_millis(config.timeout_ms),
    })
}
