//! The index of agent skills on a search node, from the configuration. No request is sent.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use charter_store::skill_index::SkillIndex;
use charter_store_es::{Credentials, EsOptions, EsSkillIndex};

use crate::config::{Config, ModelKind, PlainHttpConfig, SkillIndexConfig};
use crate::secrets::secret;

/// The configured index; `None` if this process searches skills in its own memory.
pub(crate) fn skill_index(config: &Config) -> anyhow::Result<Option<Arc<dyn SkillIndex>>> {
    let index = set_up(&config.skill_index).context("setting up `skill_index`")?;
    if index.is_some() && config.model.source == ModelKind::None {
        bail!("`skill_index` needs vectors, but `model.source` is `none`");
    }
    Ok(index.map(|index| Arc::new(index) as Arc<dyn SkillIndex>))
}

fn set_up(config: &SkillIndexConfig) -> anyhow::Result<Option<EsSkillIndex>> {
    let Some(url) = &config.url else {
        return Ok(None);
    };
    ensure!(config.timeout_ms > 0, "`timeout_ms` must be more than 0");
    let options = EsOptions {
        index: config.index.clone(),
        credentials: credentials(config)?,
        certificates: config.certificates.clone(),
        plain_http_anywhere: match config.plain_http {
            PlainHttpConfig::Anywhere => true,
            PlainHttpConfig::Loopback => false,
        },
        timeout: Duration::from_millis(config.timeout_ms),
        ..EsOptions::new(url)
    };
    Ok(Some(EsSkillIndex::new(&options)?))
}

fn credentials(config: &SkillIndexConfig) -> anyhow::Result<Option<Credentials>> {
    Ok(match (&config.user, &config.password, &config.api_key) {
        (None, None, None) => None,
        (Some(user), Some(password), None) => Some(Credentials::Basic {
            user: user.clone(),
            password: secret(password)?.expose().to_owned(),
        }),
        (None, None, Some(key)) => Some(Credentials::ApiKey(secret(key)?.expose().to_owned())),
        (_, _, _) => bail!("credentials must be `user` with `password`, or `api_key` alone"),
    })
}
