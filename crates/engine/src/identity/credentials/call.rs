//! The secrets of one call: those of the credentials that its tool names, for the user on whose behalf it is made.

use std::fmt;
use std::sync::Arc;

use charter_contract::catalogue::tool::Tool;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{Label, TenantId, UserId};
use charter_effects::HostPattern;
use charter_store::connected_account::AccountKey;

use super::shared_token::PreparedCredential;
use super::{CredentialService, account_key};
use crate::EngineError;
use crate::ground::credentials::CredentialKind;

/// The secrets of a call.
#[derive(Clone, Default)]
pub(crate) struct CallSecrets {
    /// Variables with their values.
    pub(crate) variables: Vec<(String, String)>,
    /// The only hosts that the call may reach; `None` for a tool without credentials.
    pub(crate) hosts: Option<Vec<HostPattern>>,
}

impl fmt::Debug for CallSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.variables.iter().map(|(name, _)| name);
        f.debug_list().entries(names).finish()
    }
}

impl CredentialService {
    /// Returns the secrets of a call on behalf of a user. A call with several credentials reaches only hosts that each
    /// of them names, so that no host gets a secret that is not for it.
    ///
    /// # Errors
    /// `credential_required` if the user has not connected an account; `not_found` for an unknown credential; failures
    /// of authorization servers.
    pub(crate) async fn for_call(
        self: &Arc<Self>,
        tenant: &TenantId,
        user: &UserId,
        tool: &Tool,
    ) -> Result<CallSecrets, EngineError> {
        let mut secrets = CallSecrets::default();
        for named in &tool.credentials {
            let variable = named.variable.as_str();
            if self.plain.contains(variable) {
                let message = format!(
                    "the tool `{}` wants a credential in the variable `{variable}`, which `tools.plain` declares not \
                     secret",
                    tool.tool_id
                );
                return Err(EngineError::new(ErrorCode::InvalidDocument, message));
            }
            let credential = self.credential(tenant, &named.name)?;
            let hosts = &credential.definition.hosts;
            secrets.hosts = Some(match secrets.hosts {
                None => hosts.clone(),
                Some(others) => others
                    .into_iter()
                    .filter(|host| hosts.contains(host))
                    .collect(),
            });
            let key = account_key(tenant, &named.name, user);
            let secret = self.secret_of(&credential, &key).await?;
            secrets.variables.push((variable.to_owned(), secret));
        }
        Ok(secrets)
    }

    /// Returns the present secret of a user's credential, for a connection that the server itself keeps, and the hosts
    /// that it is for.
    ///
    /// # Errors
    /// As for a call.
    pub async fn present_secret(
        self: &Arc<Self>,
        tenant: &TenantId,
        user: &UserId,
        name: &Label,
    ) -> Result<(String, Vec<HostPattern>), EngineError> {
        let credential = self.credential(tenant, name)?;
        let key = account_key(tenant, name, user);
        let secret = self.secret_of(&credential, &key).await?;
        Ok((secret, credential.definition.hosts.clone()))
    }

    async fn secret_of(
        self: &Arc<Self>,
        credential: &Arc<PreparedCredential>,
        key: &AccountKey,
    ) -> Result<String, EngineError> {
        match &credential.definition.kind {
            CredentialKind::Static(source) => credential.static_secret(source, self.now()).await,
            CredentialKind::ClientCredentials(client) => {
                let servers = self.ports.servers.as_ref();
                credential.client_token(client, servers, self.now()).await
            }
            CredentialKind::AuthorizationCode(_) | CredentialKind::TokenExchange(_) => {
                self.user_token(credential, key).await
            }
        }
    }
}
