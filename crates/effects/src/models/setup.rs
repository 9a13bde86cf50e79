//! Checks a configuration of models before any request, and builds the URLs of requests.

use charter_contract::ids::{Label, TenantId};
use reqwest::Url;
use tokio::sync::Semaphore;

use super::options::{ModelApi, ModelOptions, ProviderOptions, StructuredOutput};
use crate::http::base;

/// Why a configuration of models is invalid.
#[derive(Debug, thiserror::Error)]
pub enum ModelSetupError {
    /// TLS initialisation failed.
    #[error("setting up TLS for models")]
    Tls {
        /// The cause.
        source: rustls::Error,
    },
    /// Creating the HTTP client failed.
    #[error("setting up the HTTP client of the provider `{provider}`")]
    Client {
        /// The provider.
        provider: Label,
        /// The cause.
        source: reqwest::Error,
    },
    /// The base URL is invalid.
    #[error("the base URL of the provider `{provider}` is {why}")]
    BaseUrl {
        /// The provider.
        provider: Label,
        /// The fault of the URL.
        why: &'static str,
    },
    /// A setting of a provider is invalid.
    #[error("the provider `{provider}`: {why}")]
    Provider {
        /// The provider.
        provider: Label,
        /// The fault.
        why: &'static str,
    },
    /// A key is not a valid header value.
    #[error(
        "a key of the provider `{provider}` is empty or has a character that is invalid in headers"
    )]
    Key {
        /// The provider.
        provider: Label,
    },
    /// A route names an unknown provider.
    #[error("the route `{route}` uses the provider `{provider}`, which is not configured")]
    Route {
        /// The route.
        route: Label,
        /// The provider.
        provider: Label,
    },
    /// A tenant has a key for an unknown provider.
    #[error(
        "the tenant `{tenant}` has a key for the provider `{provider}`, which is not configured"
    )]
    TenantKey {
        /// The tenant.
        tenant: TenantId,
        /// The provider.
        provider: Label,
    },
}

/// Finds faults that are detectable without a request.
pub(super) fn check(options: &ModelOptions) -> Result<(), ModelSetupError> {
    for (name, provider) in &options.providers {
        let wrong = |why| ModelSetupError::Provider {
            provider: name.clone(),
            why,
        };
        if provider.concurrency == 0 || provider.concurrency > Semaphore::MAX_PERMITS {
            return Err(wrong("`concurrency` must be more than 0"));
        }
        let json_object = provider.structured == StructuredOutput::JsonObject;
        if json_object && provider.api == ModelApi::Anthropic {
            return Err(wrong("Anthropic's API has no `json_object`"));
        }
    }
    let own_routes = options.tenants.values().flat_map(|own| &own.routes);
    for (route, target) in options.routes.iter().chain(own_routes) {
        if !options.providers.contains_key(&target.provider) {
            return Err(ModelSetupError::Route {
                route: route.clone(),
                provider: target.provider.clone(),
            });
        }
    }
    for (tenant, own) in &options.tenants {
        if let Some(provider) = own
            .keys
            .keys()
            .find(|p| !options.providers.contains_key(*p))
        {
            return Err(ModelSetupError::TenantKey {
                tenant: tenant.clone(),
                provider: provider.clone(),
            });
        }
    }
    check_keys(options)
}

fn check_keys(options: &ModelOptions) -> Result<(), ModelSetupError> {
    let of_server = options
        .providers
        .iter()
        .filter_map(|(name, provider)| Some((name, provider.key.as_ref()?)));
    let of_tenants = options.tenants.values().flat_map(|own| &own.keys);
    for (provider, key) in of_server.chain(of_tenants) {
        if !key.fits_header() {
            return Err(ModelSetupError::Key {
                provider: provider.clone(),
            });
        }
    }
    Ok(())
}

/// Returns the URL of requests. Without TLS only if the operator allows it.
pub(super) fn endpoint(name: &Label, provider: &ProviderOptions) -> Result<Url, ModelSetupError> {
    let wrong = |why| ModelSetupError::BaseUrl {
        provider: name.clone(),
        why,
    };
    let mut url = base(&provider.base_url, provider.plain_http).map_err(wrong)?;
    let path: &[&str] = match provider.api {
        ModelApi::OpenAi => &["chat", "completions"],
        ModelApi::Anthropic => &["v1", "messages"],
    };
    url.path_segments_mut()
        .map_err(|()| wrong("not a base URL of an API"))?
        .pop_if_empty()
        .extend(path);
    Ok(url)
}
