//! Whether users have connected their accounts, and the wait for it. Uses no token.

use std::time::Duration;

use charter_contract::catalogue::tool::Tool;
use charter_contract::ids::{Label, TenantId, UserId};
use tokio::time::Instant;

use super::{CredentialService, CredentialState, account_key};
use crate::ground::change_wait::{ChangeWait, POLL_INTERVAL, WaitEnd};
use crate::{Caller, EngineError};

impl CredentialService {
    /// Checks that a user has connected every account that a tool acts with. An unknown credential is reported when the
    /// tool is called.
    ///
    /// # Errors
    /// `credential_required`; if storage fails.
    pub(crate) async fn require_connected(
        &self,
        tenant: &TenantId,
        user: &UserId,
        tool: &Tool,
    ) -> Result<(), EngineError> {
        for named in &tool.credentials {
            let Ok(credential) = self.credential(tenant, &named.name) else {
                continue;
            };
            if !credential.definition.kind.has_accounts() {
                continue;
            }
            let key = account_key(tenant, &named.name, user);
            let (account, tokens) = self.tokens_of(&key).await?;
            if !tokens.is_live(&account, self.now()) {
                return Err(self.required(&key, "has ended"));
            }
        }
        Ok(())
    }

    /// Whether calls of a user can use a credential.
    ///
    /// # Errors
    /// `not_found`; if storage fails.
    pub async fn is_connected(&self, caller: &Caller, name: &Label) -> Result<bool, EngineError> {
        Ok(match self.get(caller, name).await?.state {
            CredentialState::Ready | CredentialState::Connected => true,
            CredentialState::NotConnected | CredentialState::Ended => false,
        })
    }

    /// Waits until the caller has connected an account, at most `longest`. Returns whether the caller has.
    ///
    /// # Errors
    /// `not_found`; `unavailable` if the server stops; if storage fails.
    pub async fn wait_until_connected(
        &self,
        caller: &Caller,
        name: &Label,
        longest: Duration,
    ) -> Result<bool, EngineError> {
        let until = Instant::now() + longest;
        loop {
            // Registered before looking, so that no notification in between is missed.
            let change = ChangeWait::register(&self.ports.news);
            if self.is_connected(caller, name).await? {
                return Ok(true);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            let stop = &self.ports.background.shutdown;
            match change.wait(POLL_INTERVAL.min(left), stop).await {
                WaitEnd::LookAgain => {}
                WaitEnd::Stopped => return Err(EngineError::interrupted()),
            }
        }
    }
}
