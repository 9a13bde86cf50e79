//! The identity providers, from the configuration. Invalid configuration stops the start; nothing is fetched.

use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use charter_effects::{
    ClientRegistration, IssuerOptions, OAuthClient, PlainHttp, ServerLocation, operator_address,
};
use charter_engine::{Claim, ClaimGrant, ConsoleClient, Provider, Providers, Tenancy};

use super::credentials::{client_auth, patterns};
use crate::config::{Config, ConsoleClientConfig, GrantConfig, OidcConfig};
use crate::secrets::{plain_http, secret};

/// The configured providers; may be empty.
pub(crate) fn providers(config: &Config) -> anyhow::Result<Providers> {
    let providers = config.auth.oidc.iter().map(|oidc| {
        let provider = provider(config, oidc);
        provider.with_context(|| format!("auth.oidc: the issuer {:?}", oidc.issuer))
    });
    let providers = providers.collect::<anyhow::Result<_>>()?;
    Providers::new(providers).context("setting up `auth.oidc`")
}

fn provider(config: &Config, oidc: &OidcConfig) -> anyhow::Result<Provider> {
    ensure!(
        !oidc.grants.is_empty(),
        "it needs `grants`: without them it admits no caller"
    );
    ensure!(oidc.timeout_ms > 0, "`timeout_ms` must be more than 0");
    let tenancy = match (&oidc.tenant, &oidc.tenant_claim) {
        (Some(tenant), None) if oidc.tenants.is_empty() => Tenancy::One(tenant.clone()),
        (None, Some(claim)) if !oidc.tenants.is_empty() => Tenancy::Claimed {
            claim: Claim::new(claim.clone()),
            tenants: oidc.tenants.clone(),
        },
        _ => {
            bail!("it needs either `tenant`, or `tenant_claim` with its allowed `tenants`")
        }
    };
    Ok(Provider {
        issuer: IssuerOptions {
            issuer: oidc.issuer.clone(),
            audiences: oidc.audiences.clone(),
            jwks_url: oidc.jwks_url.clone(),
            algorithms: oidc.algorithms.clone(),
            leeway: Duration::from_secs(oidc.leeway_s),
            max_age: Duration::from_secs(oidc.keys_s),
            stale: Duration::from_secs(oidc.stale_s),
            refresh: Duration::from_secs(oidc.refresh_s),
            timeout: Duration::from_millis(oidc.timeout_ms),
        },
        tenancy,
        user: Claim::new(oidc.user_claim.clone()),
        grants: oidc
            .grants
            .iter()
            .map(grant)
            .collect::<anyhow::Result<_>>()?,
        scopes: oidc.scopes.clone(),
        console: match &oidc.console {
            Some(console) => Some(console_client(config, oidc, console).context("`console`")?),
            None => None,
        },
    })
}

/// The client by which users sign in to the console.
fn console_client(
    config: &Config,
    oidc: &OidcConfig,
    console: &ConsoleClientConfig,
) -> anyhow::Result<ConsoleClient> {
    match &config.a2a.public_url {
        Some(url) => {
            let checked = operator_address(url, PlainHttp::Loopback);
            checked.map_err(|what| {
                anyhow!("`a2a.public_url`, to which browsers come back, is {what}")
            })?;
        }
        None => ensure!(
            config.listen.ip().is_loopback(),
            "it needs `a2a.public_url`, because browsers on other machines come back to it"
        ),
    }
    ensure!(
        console.scopes.iter().any(|scope| scope == "openid"),
        "`scopes` must have `openid`: without it the provider issues no ID token"
    );
    let host = oidc.issuer.split("://").nth(1).unwrap_or(&oidc.issuer);
    let host = host.split('/').next().unwrap_or(host);
    Ok(ConsoleClient {
        label: console.label.clone().unwrap_or_else(|| host.to_owned()),
        client: OAuthClient {
            server: ServerLocation::Discovered {
                issuer: oidc.issuer.clone(),
            },
            registration: ClientRegistration::Configured,
            client_id: console.client_id.clone(),
            client_secret: console.client_secret.as_ref().map(secret).transpose()?,
            client_auth: client_auth(console.client_auth),
            scopes: console.scopes.clone(),
            resource: None,
            parameters: console.parameters.clone(),
            egress: patterns("egress", &console.egress)?,
            plain_http: plain_http(console.plain_http),
            timeout: Duration::from_millis(oidc.timeout_ms),
        },
    })
}

fn grant(grant: &GrantConfig) -> anyhow::Result<ClaimGrant> {
    let when = match (&grant.claim, &grant.value) {
        (Some(claim), Some(value)) => Some((Claim::new(claim.clone()), value.clone())),
        (None, None) => None,
        _ => bail!("a grant needs both `claim` and `value`, or neither"),
    };
    Ok(ClaimGrant {
        when,
        rights: grant.granted.rights(),
    })
}
