//! The secrets with which MCP servers list their tools. Servers are connected before the engine has started, which has
//! the credentials: until then, a server that needs a secret is not connected.

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use async_trait::async_trait;
use charter_contract::ids::Label;
use charter_effects::{HostPattern, ListingSecret};
use charter_engine::{CredentialService, Engine};

use crate::config::{McpCredentialConfig, McpListingConfig};

/// The credentials of an engine that may not have started yet.
#[derive(Clone, Default)]
pub(crate) struct LateCredentials(Arc<OnceLock<Weak<CredentialService>>>);

impl fmt::Debug for LateCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LateCredentials")
    }
}

impl LateCredentials {
    /// Provides the credentials of a started engine.
    pub(crate) fn provide(&self, engine: &Engine) {
        // A second engine of a process has credentials of the same configuration.
        drop(self.0.set(Arc::downgrade(engine.credentials())));
    }

    fn get(&self) -> Option<Arc<CredentialService>> {
        self.0.get().and_then(Weak::upgrade)
    }
}

/// The secret of one user.
#[derive(Debug)]
struct SecretOfUser {
    credentials: LateCredentials,
    credential: Label,
    listing: McpListingConfig,
}

#[async_trait]
impl ListingSecret for SecretOfUser {
    async fn secret(&self) -> Result<(String, Vec<HostPattern>), String> {
        let Some(credentials) = self.credentials.get() else {
            return Err("its tools are listed with a credential, by a running server".to_owned());
        };
        let McpListingConfig { tenant, user } = &self.listing;
        let secret = credentials.present_secret(tenant, user, &self.credential);
        secret.await.map_err(|error| error.to_string())
    }
}

/// Returns the secret that lists the tools of a server, if its credential names a user for that.
pub(super) fn secret(
    credential: &McpCredentialConfig,
    credentials: &LateCredentials,
) -> Option<Arc<dyn ListingSecret>> {
    let listing = credential.list_as.clone()?;
    Some(Arc::new(SecretOfUser {
        credentials: credentials.clone(),
        credential: credential.name.clone(),
        listing,
    }))
}
