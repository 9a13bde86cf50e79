//! Resolves a tenant's route to its target and key. Sends nothing.

use std::collections::BTreeMap;

use charter_contract::ids::{Label, TenantId};

use super::options::{ModelOptions, ProviderOptions, TenantModels};
use super::target::ModelTarget;
use super::{ModelRoute, SetBy};
use crate::secret::Secret;

/// The target of a route, with the key to use.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResolvedRoute<'o> {
    pub(super) target: &'o ModelTarget,
    pub(super) provider: &'o ProviderOptions,
    pub(super) key: Option<&'o Secret>,
    set_by: SetBy,
    key_of: SetBy,
}

/// Resolves a tenant's route. The tenant's own route and key take precedence over the server's.
pub(super) fn leads<'o>(
    options: &'o ModelOptions,
    tenant: &TenantId,
    route: &Label,
) -> Option<ResolvedRoute<'o>> {
    let own = options.tenants.get(tenant);
    let (target, set_by) = match own.and_then(|own| own.routes.get(route)) {
        Some(target) => (target, SetBy::Tenant),
        None => (options.routes.get(route)?, SetBy::Server),
    };
    let provider = options.providers.get(&target.provider)?;
    let (key, key_of) = match own.and_then(|own| own.keys.get(&target.provider)) {
        Some(key) => (Some(key), SetBy::Tenant),
        None => (provider.key.as_ref(), SetBy::Server),
    };
    Some(ResolvedRoute {
        target,
        provider,
        key,
        set_by,
        key_of,
    })
}

/// Returns all routes of a tenant.
pub(super) fn of_tenant(options: &ModelOptions, tenant: &TenantId) -> BTreeMap<Label, ModelRoute> {
    let none = TenantModels::default();
    let own = options.tenants.get(tenant).unwrap_or(&none);
    let names = options.routes.keys().chain(own.routes.keys());
    names
        .filter_map(|name| {
            let leads = leads(options, tenant, name)?;
            let route = ModelRoute {
                target: leads.target.clone(),
                set_by: leads.set_by,
                key: leads.key.map(|key| key.source().clone()),
                key_of: leads.key_of,
            };
            Some((name.clone(), route))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::options::ModelApi;
    use super::*;
    use crate::secret::SecretSource;

    fn label(text: &str) -> Label {
        Label::parse(text).unwrap()
    }

    fn key(variable: &str) -> Secret {
        Secret::new(
            format!("value of {variable}"),
            SecretSource::Variable(variable.to_owned()),
        )
    }

    fn options() -> ModelOptions {
        let mut provider = ProviderOptions::new(ModelApi::OpenAi, "http://127.0.0.1:1/v1");
        provider.key = Some(key("SERVER_KEY"));
        let target = |text: &str| text.parse::<ModelTarget>().unwrap();
        let acme = TenantModels {
            keys: BTreeMap::from([(label("one"), key("ACME_KEY"))]),
            routes: BTreeMap::from([(label("fast"), target("two/small"))]),
        };
        ModelOptions {
            providers: BTreeMap::from([
                (label("one"), provider),
                (
                    label("two"),
                    ProviderOptions::new(ModelApi::OpenAi, "http://127.0.0.1:1/v1"),
                ),
            ]),
            routes: BTreeMap::from([
                (label("fast"), target("one/medium")),
                (label("deep"), target("one/org/large")),
            ]),
            tenants: BTreeMap::from([(TenantId::parse("acme").unwrap(), acme)]),
            ..ModelOptions::default()
        }
    }

    /// A tenant's own key and routes take precedence over the server's; other tenants do not see them.
    #[test]
    fn a_tenants_own_route_wins_for_that_tenant_only() {
        let options = options();
        let seen = |tenant: &str| -> Vec<String> {
            let routes = of_tenant(&options, &TenantId::parse(tenant).unwrap());
            let line = |(name, route): (Label, ModelRoute)| {
                let key = route.key.map_or("none".to_owned(), |key| key.to_string());
                let (by, of) = (route.set_by.as_str(), route.key_of.as_str());
                format!("{name} -> {} ({by}), {key} ({of})", route.target)
            };
            routes.into_iter().map(line).collect()
        };
        assert_eq!(
            seen("acme"),
            [
                "deep -> one/org/large (server), environment variable ACME_KEY (tenant)",
                "fast -> two/small (tenant), none (server)",
            ]
        );
        assert_eq!(
            seen("other"),
            [
                "deep -> one/org/large (server), environment variable SERVER_KEY (server)",
                "fast -> one/medium (server), environment variable SERVER_KEY (server)",
            ]
        );
    }

    #[test]
    fn a_key_is_never_displayed() {
        assert_eq!(
            format!("{:?}", key("SERVER_KEY")),
            "Secret(… from environment variable SERVER_KEY)"
        );
        let shown = format!("{:?}", options());
        assert!(!shown.contains("value of"), "{shown}");
    }
}
