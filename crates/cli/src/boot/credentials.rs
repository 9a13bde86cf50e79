//! The credentials that tools act with, from the configuration. Invalid configuration, secrets included, stops the
//! start; no request is sent to an authorization server.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use charter_contract::ids::Label;
use charter_effects::{
    ClientAuth, ClientRegistration, HostPattern, OAuthClient, ServerLocation, StaticSecret,
};
use charter_engine::{
    CredentialDefinition, CredentialKind, CredentialSettings, SealingKeys, TokenExchange,
};

use crate::config::{
    ClientAuthConfig, Config, CredentialConfig, CredentialKindConfig, SecretConfig,
    StaticSecretConfig,
};
use crate::secrets::{plain_http, secret};
use crate::seed_file;

/// The configured credentials; may be empty.
pub(super) fn credentials(config: &Config) -> anyhow::Result<CredentialSettings> {
    let credentials = &config.credentials;
    let tenants = credentials.tenants.iter().map(|(tenant, own)| {
        let at = format!("credentials.tenants.{tenant}.definitions");
        Ok((tenant.clone(), definitions(config, &own.definitions, &at)?))
    });
    let shared = definitions(config, &credentials.definitions, "credentials.definitions")?;
    let tenants: BTreeMap<_, _> = tenants.collect::<anyhow::Result<_>>()?;
    let own = tenants.values().flat_map(BTreeMap::values);
    let has_accounts = shared
        .values()
        .chain(own)
        .any(|one| one.kind.has_accounts());
    let has_console = config.auth.oidc.iter().any(|oidc| oidc.console.is_some());
    let has_sealed = has_accounts || has_console;
    Ok(CredentialSettings {
        definitions: shared,
        // Without accounts and a console, the key seals the secrets of webhook triggers.
        keys: (has_sealed || credentials.key_file.is_some())
            .then(|| keys(config))
            .transpose()?,
        tenants,
        public_url: public_url(config),
        plain: config.tools.plain.iter().cloned().collect(),
    })
}

/// The address at which people reach the console, if it is known.
pub(super) fn public_url(config: &Config) -> Option<String> {
    config.a2a.public_url.clone().or_else(|| own_url(config))
}

/// The address of a server on this machine only. One on other addresses needs `a2a.public_url`.
fn own_url(config: &Config) -> Option<String> {
    let address = config.listen;
    (address.ip().is_loopback() && address.port() > 0).then(|| format!("http://{address}"))
}

/// The keys that seal connected accounts and console sessions.
fn keys(config: &Config) -> anyhow::Result<SealingKeys> {
    ensure!(
        config.store.url.is_none() || config.credentials.key_file.is_some(),
        "credentials.key_file: replicas over one database need the same key: name its file on each of them"
    );
    let earlier = config.credentials.previous_key_files.iter();
    let earlier = earlier.map(|path| {
        ensure!(
            path.exists(),
            "credentials.previous_key_files: {} is missing",
            path.display()
        );
        seed_file::load(path, "opens connected accounts and console sessions")
    });
    let purpose = "seals connected accounts and console sessions";
    let current = seed_file::load(&config.credentials_key_file(), purpose)?;
    Ok(SealingKeys::new(
        current,
        earlier.collect::<anyhow::Result<_>>()?,
    ))
}

fn definitions(
    config: &Config,
    configured: &BTreeMap<Label, CredentialConfig>,
    at: &str,
) -> anyhow::Result<BTreeMap<Label, CredentialDefinition>> {
    let definitions = configured.iter().map(|(name, one)| {
        let definition = definition(config, one).with_context(|| format!("{at}.{name}"))?;
        Ok((name.clone(), definition))
    });
    definitions.collect()
}

fn definition(config: &Config, one: &CredentialConfig) -> anyhow::Result<CredentialDefinition> {
    ensure!(one.timeout_ms > 0, "`timeout_ms` must be more than 0");
    let is_static = one.kind == CredentialKindConfig::Static;
    ensure!(
        is_static == one.secret.is_some(),
        "`secret` is for the kind `static`, which needs it; clients of OAuth have a `client_secret`"
    );
    let exchanges = one.kind == CredentialKindConfig::TokenExchange;
    ensure!(
        exchanges == one.subject_issuer.is_some(),
        "`subject_issuer` is for the kind `token_exchange`, which needs it"
    );
    ensure!(
        exchanges || one.audience.is_none(),
        "`audience` is for the kind `token_exchange`: other kinds have `parameters`"
    );
    ensure!(
        !is_static || one.resource.is_none(),
        "`resource` is for clients of OAuth"
    );
    let kind = match one.kind {
        CredentialKindConfig::Static => CredentialKind::Static(static_secret(one)?),
        CredentialKindConfig::ClientCredentials => {
            ensure!(one.client_secret.is_some(), "it needs a `client_secret`");
            CredentialKind::ClientCredentials(client(one)?)
        }
        CredentialKindConfig::AuthorizationCode => CredentialKind::AuthorizationCode(client(one)?),
        CredentialKindConfig::TokenExchange => {
            let subject_issuer = one.subject_issuer.clone().unwrap_or_default();
            let mut known = config.auth.oidc.iter();
            ensure!(
                known.any(|oidc| oidc.issuer == subject_issuer),
                "`subject_issuer` is {subject_issuer:?}, which is not an issuer in `auth.oidc`"
            );
            CredentialKind::TokenExchange(TokenExchange {
                client: client(one)?,
                subject_issuer,
                audience: one.audience.clone(),
                resource: one.resource.clone(),
            })
        }
    };
    Ok(CredentialDefinition {
        hosts: patterns("hosts", &one.hosts)?,
        kind,
    })
}

fn static_secret(one: &CredentialConfig) -> anyhow::Result<StaticSecret> {
    Ok(match &one.secret {
        Some(StaticSecretConfig::Variable(name)) => {
            StaticSecret::Value(secret(&SecretConfig::Variable(name.clone()))?)
        }
        Some(StaticSecretConfig::File(path)) => StaticSecret::File(path.clone()),
        Some(StaticSecretConfig::Command(words)) => {
            let Some((program, arguments)) = words.split_first() else {
                bail!("`secret.command` is empty: it is a program and its arguments");
            };
            ensure!(
                program.starts_with('/'),
                "`secret.command` must begin with an absolute path"
            );
            StaticSecret::Command {
                program: program.into(),
                arguments: arguments.to_vec(),
                timeout: Duration::from_millis(one.timeout_ms),
            }
        }
        None => bail!("it needs a `secret`"),
    })
}

fn client(one: &CredentialConfig) -> anyhow::Result<OAuthClient> {
    let server = server(one)?;
    let registers = one.kind == CredentialKindConfig::AuthorizationCode && one.client_id.is_none();
    let registration = match (&server, registers) {
        (ServerLocation::Discovered { .. } | ServerLocation::OfResource { .. }, true) => {
            ensure!(
                one.client_secret.is_none(),
                "a `client_secret` belongs to a `client_id`"
            );
            ClientRegistration::Dynamic
        }
        (
            ServerLocation::Given { .. }
            | ServerLocation::Discovered { .. }
            | ServerLocation::OfResource { .. },
            _,
        ) => {
            ensure!(one.client_id.is_some(), "it needs a `client_id`");
            ClientRegistration::Configured
        }
    };
    Ok(OAuthClient {
        server,
        registration,
        client_id: one.client_id.clone().unwrap_or_default(),
        client_secret: one.client_secret.as_ref().map(secret).transpose()?,
        client_auth: client_auth(one.client_auth),
        scopes: one.scopes.clone(),
        resource: one.resource.clone(),
        parameters: one.parameters.clone(),
        egress: patterns("egress", &one.egress)?,
        plain_http: plain_http(one.plain_http),
        timeout: Duration::from_millis(one.timeout_ms),
    })
}

/// How the secret of a client is sent.
pub(super) fn client_auth(configured: ClientAuthConfig) -> ClientAuth {
    match configured {
        ClientAuthConfig::Basic => ClientAuth::Basic,
        ClientAuthConfig::Post => ClientAuth::Post,
    }
}

fn server(one: &CredentialConfig) -> anyhow::Result<ServerLocation> {
    let given = one.authorization_url.is_some() || one.revocation_url.is_some();
    match (&one.issuer, &one.token_url) {
        (issuer, Some(token_url)) => {
            ensure!(
                one.kind != CredentialKindConfig::AuthorizationCode
                    || one.authorization_url.is_some(),
                "it needs an `authorization_url`, as it has a `token_url`"
            );
            Ok(ServerLocation::Given {
                issuer: issuer.clone(),
                authorization_url: one.authorization_url.clone(),
                token_url: token_url.clone(),
                revocation_url: one.revocation_url.clone(),
            })
        }
        (Some(issuer), None) if !given => Ok(ServerLocation::Discovered {
            issuer: issuer.clone(),
        }),
        (None, None) if !given && one.kind == CredentialKindConfig::AuthorizationCode => {
            let Some(resource) = &one.resource else {
                bail!(
                    "it needs an `issuer` with a discovery document, a `token_url`, or the `resource` that names its \
                     authorization server"
                )
            };
            // A resource could name a server of its own, to which the secret would be sent.
            ensure!(
                one.client_secret.is_none(),
                "a client with a `client_secret` needs an `issuer` or a `token_url`"
            );
            Ok(ServerLocation::OfResource {
                resource: resource.clone(),
            })
        }
        (_, None) => {
            bail!("it needs either an `issuer` with a discovery document, or a `token_url`")
        }
    }
}

pub(super) fn patterns(setting: &str, entries: &[String]) -> anyhow::Result<Vec<HostPattern>> {
    let patterns = entries.iter().map(|entry| {
        let pattern: Result<HostPattern, _> = entry.parse();
        pattern.with_context(|| format!("`{setting}`: {entry:?}"))
    });
    patterns.collect()
}
