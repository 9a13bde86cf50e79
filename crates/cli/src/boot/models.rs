//! The language models, from the configuration. Invalid configuration, keys included, stops the start. No request is
//! sent to a provider.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use charter_contract::ids::Label;
use charter_effects::{
    Delivery, ModelApi, ModelOptions, ModelProviders, ModelTarget, Models, NoModels,
    ProviderOptions, Repairs, RetryPolicy, StructuredOutput, Temperature, TenantModels, TokenLimit,
};

use crate::config::{
    ApiConfig, Config, ProviderConfig, StructuredConfig, TemperatureConfig, TenantModelsConfig,
    TokenLimitConfig,
};
use crate::secrets::{plain_http, secret};
use crate::telemetry;

/// Returns the configured models; sends no request.
pub(crate) fn models(config: &Config) -> anyhow::Result<Arc<dyn Models>> {
    let models = &config.models;
    if models.providers.is_empty() && models.routes.is_empty() && models.tenants.is_empty() {
        return Ok(Arc::new(NoModels));
    }
    let providers = models.providers.iter().map(|(name, provider)| {
        let options = provider_options(provider);
        let options = options.with_context(|| format!("models.providers.{name}"))?;
        Ok((name.clone(), options))
    });
    let tenants = models.tenants.iter().map(|(tenant, own)| {
        let own = of_tenant(own).with_context(|| format!("models.tenants.{tenant}"))?;
        Ok((tenant.clone(), own))
    });
    let options = ModelOptions {
        providers: providers.collect::<anyhow::Result<_>>()?,
        routes: targets(&models.routes).context("models")?,
        tenants: tenants.collect::<anyhow::Result<_>>()?,
        repairs: Repairs(models.repairs),
        patience: RetryPolicy {
            retries: models.retries,
            ..RetryPolicy::default()
        },
        trace: telemetry::trace_context(config),
    };
    let providers = ModelProviders::new(options).context("setting up `models`")?;
    Ok(Arc::new(providers))
}

fn provider_options(config: &ProviderConfig) -> anyhow::Result<ProviderOptions> {
    ensure!(config.timeout_ms > 0, "`timeout_ms` must be more than 0");
    let api = match config.api {
        ApiConfig::OpenAi => ModelApi::OpenAi,
        ApiConfig::Anthropic => ModelApi::Anthropic,
    };
    let base_url = config.base_url.as_deref().unwrap_or(api.base_url());
    let defaults = ProviderOptions::new(api, base_url);
    Ok(ProviderOptions {
        key: config.key.as_ref().map(secret).transpose()?,
        structured: match config.structured {
            None => defaults.structured,
            Some(StructuredConfig::JsonSchema) => StructuredOutput::JsonSchema,
            Some(StructuredConfig::JsonObject) => StructuredOutput::JsonObject,
            Some(StructuredConfig::Tool) => StructuredOutput::Tool,
            Some(StructuredConfig::None) => StructuredOutput::None,
        },
        delivery: if config.stream {
            Delivery::Streamed
        } else {
            Delivery::Whole
        },
        token_limit: match config.token_limit {
            TokenLimitConfig::MaxCompletionTokens => TokenLimit::MaxCompletionTokens,
            TokenLimitConfig::MaxTokens => TokenLimit::MaxTokens,
        },
        temperature: match config.temperature {
            TemperatureConfig::Sent => Temperature::Sent,
            TemperatureConfig::Omitted => Temperature::Omitted,
        },
        plain_http: plain_http(config.plain_http),
        output_bytes: config.output_bytes,
        attempt_timeout: Duration::from_millis(config.timeout_ms),
        concurrency: config.concurrency,
        ..defaults
    })
}

fn of_tenant(config: &TenantModelsConfig) -> anyhow::Result<TenantModels> {
    let keys = config.keys.iter().map(|(provider, named)| {
        let key = secret(named).with_context(|| format!("keys.{provider}"))?;
        Ok((provider.clone(), key))
    });
    Ok(TenantModels {
        keys: keys.collect::<anyhow::Result<_>>()?,
        routes: targets(&config.routes)?,
    })
}

fn targets(routes: &BTreeMap<Label, String>) -> anyhow::Result<BTreeMap<Label, ModelTarget>> {
    let targets = routes.iter().map(|(route, target)| {
        let target = target.parse().with_context(|| format!("routes.{route}"))?;
        Ok((route.clone(), target))
    });
    targets.collect()
}
