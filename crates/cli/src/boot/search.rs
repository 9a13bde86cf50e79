//! The search provider, from the configuration. Invalid configuration, the key included, stops the start. No request is
//! sent.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use charter_effects::{SearchOptions, SearchProvider, WebSearch};

use crate::config::{Config, SearchConfig, SearchProviderConfig};
use crate::secrets::{plain_http, secret};

/// The configured provider; `None` if web search is off.
pub(crate) fn search(config: &Config) -> anyhow::Result<Option<Arc<WebSearch>>> {
    set_up(&config.search).context("setting up `search`")
}

fn set_up(config: &SearchConfig) -> anyhow::Result<Option<Arc<WebSearch>>> {
    let Some(provider) = config.provider else {
        if config.url.is_some() || config.key.is_some() {
            bail!("`url` and `key` need a `provider`");
        }
        return Ok(None);
    };
    ensure!(config.timeout_ms > 0, "`timeout_ms` must be more than 0");
    let provider = match provider {
        SearchProviderConfig::Brave => SearchProvider::Brave,
        SearchProviderConfig::SearxNg => SearchProvider::SearxNg,
    };
    let search = WebSearch::new(SearchOptions {
        url: config.url.clone(),
        key: config.key.as_ref().map(secret).transpose()?,
        plain_http: plain_http(config.plain_http),
        attempt_timeout: Duration::from_millis(config.timeout_ms),
        ..SearchOptions::new(provider)
    })?;
    Ok(Some(Arc::new(search)))
}
