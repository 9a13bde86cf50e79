//! The identity providers, from the configuration. Invalid configuration stops the start; nothing is fetched.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use charter_effects::IssuerOptions;
use charter_engine::{Claim, ClaimGrant, Provider, Providers, Tenancy};

use crate::config::{Config, GrantConfig, OidcConfig};

/// The configured providers; may be empty.
pub(crate) fn providers(config: &Config) -> anyhow::Result<Providers> {
    let providers = config.auth.oidc.iter().map(|oidc| {
        let provider = provider(oidc);
        provider.with_context(|| format!("auth.oidc: the issuer {:?}", oidc.issuer))
    });
    let providers = providers.collect::<anyhow::Result<_>>()?;
    Providers::new(providers).context("setting up `auth.oidc`")
}

fn provider(oidc: &OidcConfig) -> anyhow::Result<Provider> {
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
