//! Systems of record as configured, checked before anything is sent, and the lookup of the system that an address
//! belongs to.

use std::collections::BTreeMap;
use std::time::Duration;

use charter_contract::ids::{Label, TenantId};
use reqwest::Url;

use super::sign::SigningSecret;
use crate::egress::{EgressPolicy, HostPattern};
use crate::http::{HttpRunner, PlainHttp, base};
use crate::patience::RetryPolicy;
use crate::secret::{Secret, SecretSource};

/// Configuration of the systems of record.
#[derive(Debug, Clone, Default)]
pub struct WebhookOptions {
    /// The systems for changes of every tenant.
    pub systems: BTreeMap<Label, SystemOfRecord>,
    /// Systems of one tenant. They override shared systems of the same name.
    pub tenants: BTreeMap<TenantId, BTreeMap<Label, SystemOfRecord>>,
    /// Retry policy for transient failures.
    pub patience: RetryPolicy,
}

/// One system of record.
#[derive(Debug, Clone)]
pub struct SystemOfRecord {
    /// URL prefix of its addresses: an origin, and a path up to a slash.
    pub url: String,
    /// Secrets that sign messages; several during a rotation.
    pub secrets: Vec<Secret>,
    /// Private addresses, and ports other than 80 and 443, where it may be reached.
    pub egress: Vec<HostPattern>,
    /// Hosts to which connections without TLS are allowed.
    pub plain_http: PlainHttp,
    /// Timeout of one attempt.
    pub attempt_timeout: Duration,
}

impl SystemOfRecord {
    /// Default timeout of one attempt.
    pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(20);
}

/// Why the configuration of systems of record is invalid.
#[derive(Debug, thiserror::Error)]
pub enum WebhookSetupError {
    /// The address is invalid.
    #[error("the `url` of the system of record `{system}` is {why}")]
    Url {
        /// The system.
        system: Label,
        /// The fault of the address.
        why: &'static str,
    },
    /// There is no secret to sign with.
    #[error("the system of record `{system}` has no `secrets`")]
    NoSecret {
        /// The system.
        system: Label,
    },
    /// A secret is invalid.
    #[error(
        "a secret of the system of record `{system}` ({of}) {why}; it is `whsec_` and the base64 of \
         24 to 64 random bytes"
    )]
    Secret {
        /// The system.
        system: Label,
        /// Its source.
        of: SecretSource,
        /// The fault of the secret.
        why: &'static str,
    },
    /// TLS initialisation failed.
    #[error("setting up TLS")]
    Tls {
        /// The cause.
        source: rustls::Error,
    },
}

/// Systems of record that are reached over HTTP.
#[derive(Debug)]
pub struct HttpWebhooks {
    systems: BTreeMap<Label, System>,
    tenants: BTreeMap<TenantId, BTreeMap<Label, System>>,
    pub(super) patience: RetryPolicy,
    pub(super) http: HttpRunner,
}

/// One system of record, ready for requests.
#[derive(Debug)]
pub(super) struct System {
    pub(super) name: Label,
    base: Url,
    pub(super) secrets: Vec<SigningSecret>,
    pub(super) wall: EgressPolicy,
    pub(super) attempt_timeout: Duration,
}

impl HttpWebhooks {
    /// Prepares the systems. Sends nothing.
    ///
    /// # Errors
    /// [`WebhookSetupError`] when the configuration cannot work.
    pub fn new(options: WebhookOptions) -> Result<Self, WebhookSetupError> {
        let http = HttpRunner::new().map_err(|source| WebhookSetupError::Tls { source })?;
        let tenants = options.tenants.into_iter();
        let tenants = tenants.map(|(tenant, own)| Ok((tenant, set_up(own)?)));
        Ok(Self {
            systems: set_up(options.systems)?,
            tenants: tenants.collect::<Result<_, _>>()?,
            patience: options.patience,
            http,
        })
    }

    /// Describes each system: its name, its address and the sources of its secrets. A tenant's systems have the tenant
    /// before the name.
    pub fn described(&self) -> impl Iterator<Item = String> {
        let of_all = self.systems.values().map(System::described);
        let own = self.tenants.iter().flat_map(|(tenant, own)| {
            let own = own.values();
            own.map(move |system| format!("{tenant}: {}", system.described()))
        });
        of_all.chain(own)
    }

    /// Returns the system that an address belongs to: of the tenant's and the server's systems the one with the longest
    /// matching prefix.
    pub(super) fn system_of(&self, tenant: &TenantId, url: &Url) -> Option<&System> {
        let own = self.tenants.get(tenant);
        let own_names = |name: &Label| own.is_some_and(|own| own.contains_key(name));
        let of_all = self.systems.iter().filter(|(name, _)| !own_names(name));
        let all = own.into_iter().flatten().chain(of_all);
        all.map(|(_, system)| system)
            .filter(|system| system.holds(url))
            .max_by_key(|system| system.base.path().len())
    }
}

impl System {
    /// Whether an address belongs to the system: the same origin, and its path or one below it. A path with an encoded
    /// slash does not, because servers interpret it differently.
    fn holds(&self, url: &Url) -> bool {
        let plain = url.username().is_empty() && url.password().is_none();
        let path = url.path().to_ascii_lowercase();
        let ambiguous = ["%2f", "%5c"].iter().any(|code| path.contains(code));
        let below = url.path().strip_prefix(self.base.path());
        let at_slash =
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || self.is_folder());
        plain && !ambiguous && at_slash && self.base.origin() == url.origin()
    }

    fn is_folder(&self) -> bool {
        self.base.path().ends_with('/')
    }

    fn described(&self) -> String {
        let secrets = self
            .secrets
            .iter()
            .map(|secret| secret.source().to_string());
        let secrets = secrets.collect::<Vec<_>>().join(", ");
        format!("{} at {}, secrets from {secrets}", self.name, self.base)
    }
}

fn set_up(
    systems: BTreeMap<Label, SystemOfRecord>,
) -> Result<BTreeMap<Label, System>, WebhookSetupError> {
    let set_up = systems.into_iter().map(|(name, system)| {
        let ready = system.ready(&name)?;
        Ok((name, ready))
    });
    set_up.collect()
}

impl SystemOfRecord {
    fn ready(self, name: &Label) -> Result<System, WebhookSetupError> {
        if self.secrets.is_empty() {
            let system = name.clone();
            return Err(WebhookSetupError::NoSecret { system });
        }
        let base = base(&self.url, self.plain_http).map_err(|why| WebhookSetupError::Url {
            system: name.clone(),
            why,
        })?;
        let secrets = self.secrets.iter().map(|secret| {
            SigningSecret::read(secret).map_err(|why| WebhookSetupError::Secret {
                system: name.clone(),
                of: secret.source().clone(),
                why,
            })
        });
        Ok(System {
            name: name.clone(),
            base,
            secrets: secrets.collect::<Result<_, _>>()?,
            wall: EgressPolicy::public_and(self.egress),
            attempt_timeout: self.attempt_timeout,
        })
    }
}
