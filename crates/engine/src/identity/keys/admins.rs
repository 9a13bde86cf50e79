//! An installation whose callers need keys keeps one that admits an admin.

use charter_contract::error_code::ErrorCode;
use charter_contract::identity::AccessScope;
use charter_store::key::{KeyPresence, KeyRecord};
use charter_store::page::{MAX_PAGE, PageRequest};

use super::KeyService;
use crate::{Caller, CredentialId, EngineError, Role};

/// Returns whether a key permanently admits an admin, who can create other keys.
fn is_lasting(key: &KeyRecord) -> bool {
    let mut scopes = [AccessScope::AdminRead, AccessScope::AdminWrite].into_iter();
    key.revoked.is_none()
        && key.expires_at.is_none()
        && key.rights.role >= Role::Admin
        && scopes.all(|scope| key.rights.scopes.opens(scope))
}

impl KeyService {
    /// Checks the first key: every caller needs a credential from then on.
    ///
    /// # Errors
    /// `invalid_request` for a first key that does not permanently admit an admin.
    pub(super) async fn must_let_an_admin_in(&self, key: &KeyRecord) -> Result<(), EngineError> {
        if self.settings.credentials || is_lasting(key) {
            return Ok(());
        }
        if self.keys_kept().await? != KeyPresence::None {
            return Ok(());
        }
        let message = "the first key must be a permanent admin key, because every caller needs a key from then on: \
                       create it with the level `admin` (`role`), the scopes `admin:read` and `admin:write` (or all), \
                       and without `expires_in_s`";
        Err(EngineError::new(ErrorCode::InvalidRequest, message))
    }

    /// Checks that a key may end. The local caller can always create another one.
    ///
    /// # Errors
    /// `illegal_transition` for the tenant's last key that permanently admits an admin.
    pub(super) async fn must_keep_an_admin(
        &self,
        caller: &Caller,
        key: &KeyRecord,
    ) -> Result<(), EngineError> {
        let is_local = caller.credential == CredentialId::Local;
        if self.settings.credentials || is_local || !is_lasting(key) {
            return Ok(());
        }
        let is_other = |other: &KeyRecord| other.key_id != key.key_id && is_lasting(other);
        let mut page = PageRequest::new(None, MAX_PAGE);
        loop {
            let found = self.store.keys(&key.tenant_id, &page).await?;
            if found.entries.iter().any(is_other) {
                return Ok(());
            }
            match found.next {
                Some(next) => page = PageRequest::new(Some(next), MAX_PAGE),
                None => break,
            }
        }
        let message = format!(
            "`{}` is the last permanent admin key of the tenant: create another one first, or revoke it by `charter \
             key` on the data directory",
            key.key_id
        );
        Err(EngineError::new(ErrorCode::IllegalTransition, message))
    }
}
