//! API keys: made by a tenant's admins for that tenant, shown once, rotated and revoked.
//!
//! A key is looked up each time it is presented and never cached. So every process refuses a revoked key at once.

mod admins;
mod form;
mod made;
mod text;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::identity::{AccessScope, AccessScopes, CatalogueRole, KeyHolder, Rights};
use charter_contract::ids::{KeyId, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_domain::clock::Clock;
use charter_store::key::{KeyHash, KeyRecord, Revocation};
use charter_store::outbox::NewMessage;
use charter_store::page::PageRequest;
use charter_store::{SharedStore, StoreError};
use serde_json::json;
use tokio::sync::Notify;

pub use charter_store::key::KeyPresence;
pub use form::{KeyEventRef, KeyOrder, KeyPage, KeyRotation, KeyState, KeyView, NewKey};
use made::KeyPresenceCache;
pub use text::KeyText;

use crate::ground::error::newest_known;
use crate::ground::ids::IdSource;
use crate::ground::moments;
use crate::{Caller, CredentialId, EngineError, Role, SkillGrants};

/// Maximum lifetime of a key, in seconds: ten years.
const MAX_LIFETIME_S: u64 = 10 * 366 * 24 * 3_600;

/// Maximum overlap of a key with its replacement, in seconds: thirty days.
const LONGEST_OVERLAP_S: u64 = 30 * 24 * 3_600;

/// Minimum interval between records of a key's last use.
const LAST_USED_RESOLUTION: Duration = Duration::from_secs(60);

/// The settings that keys depend on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeySettings {
    /// Whether callers have credentials outside the store.
    pub(crate) credentials: bool,
    /// Whether a second person must approve by default, if configured.
    pub(crate) four_eyes: Option<bool>,
}

/// The agent skills that keys may grant.
pub(crate) trait GrantableSkills: Send + Sync {
    /// Refuses grants of skills that are not visible to the caller. A misspelled id would grant nothing now, and
    /// perhaps another skill later.
    ///
    /// # Errors
    /// `invalid_request` that names the unknown skills.
    fn must_know(&self, caller: &Caller, grants: &SkillGrants) -> Result<(), EngineError>;
}

/// The keys of all tenants.
pub struct KeyService {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    news: Arc<Notify>,
    settings: KeySettings,
    skills: Arc<dyn GrantableSkills>,
    presence: KeyPresenceCache,
}

impl std::fmt::Debug for KeyService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyService").finish_non_exhaustive()
    }
}

impl KeyService {
    pub(crate) fn new(
        store: SharedStore,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
        news: Arc<Notify>,
        settings: KeySettings,
        skills: Arc<dyn GrantableSkills>,
    ) -> Self {
        Self {
            store,
            clock,
            ids,
            news,
            settings,
            skills,
            presence: KeyPresenceCache::default(),
        }
    }

    /// Makes a key for the caller's tenant.
    ///
    /// # Errors
    /// `permission_denied` for a caller who is not an admin, and for a key with more rights than the caller;
    /// `invalid_request` for an invalid lifetime, for unknown agent skills, and for a first key that would not admit an
    /// admin.
    pub async fn create(&self, caller: &Caller, order: KeyOrder) -> Result<NewKey, EngineError> {
        must_keep_keys(caller)?;
        let now = self.clock.now();
        let rights = Rights {
            role: order.role,
            tier: order.tier,
            catalogue: order
                .catalogue
                .unwrap_or_else(|| CatalogueRole::default_for(order.role)),
            agent_skills: order
                .agent_skills
                .unwrap_or_else(|| SkillGrants::default_for(order.role)),
            scopes: scopes(caller, order.holder, order.scopes)?,
            profile: order.profile.or_else(|| caller.profile.clone()),
        };
        let (secret, key) = self.fresh_key(KeyRecord {
            key_id: KeyId::from_uuid(self.ids.uuid()),
            tenant_id: caller.tenant.clone(),
            name: order.name,
            hash: KeyHash([0; 32]),
            user_id: order.user.unwrap_or_else(|| caller.user.clone()),
            rights,
            created_by: caller.user.clone(),
            makers: makers(caller),
            created_at: now,
            expires_at: self.end_of(now, order.expires_in_s)?,
            last_used_at: None,
            revoked: None,
            rotated_from: None,
        })?;
        must_hold(caller, &key.rights)?;
        self.skills.must_know(caller, &key.rights.agent_skills)?;
        self.must_let_an_admin_in(&key).await?;
        let told = vec![about(caller, &key, "created", now)];
        self.store.create_key(&key, told).await?;
        self.presence.note();
        self.noted(&key, "created", caller);
        Ok(NewKey {
            secret,
            key: KeyView::new(key, now),
        })
    }

    /// Lists the keys of the caller's tenant, newest first, including ended ones.
    ///
    /// # Errors
    /// `permission_denied` for a caller who is not an admin.
    pub async fn list(&self, caller: &Caller, page: &PageRequest) -> Result<KeyPage, EngineError> {
        must_keep_keys(caller)?;
        let page = self.store.keys(&caller.tenant, page).await?;
        let now = self.clock.now();
        let entries = page.entries.into_iter();
        Ok(KeyPage {
            entries: entries.map(|key| KeyView::new(key, now)).collect(),
            next: page.next,
        })
    }

    /// Returns a key of the caller's tenant.
    ///
    /// # Errors
    /// `permission_denied` for a caller who is not an admin; `not_found`.
    pub async fn get(&self, caller: &Caller, key: &KeyId) -> Result<KeyView, EngineError> {
        must_keep_keys(caller)?;
        let found = self.key_of(&caller.tenant, key).await?;
        Ok(KeyView::new(found, self.clock.now()))
    }

    /// Makes a replacement with the same rights for a key, which ends after the overlap.
    ///
    /// # Errors
    /// `permission_denied` for a caller who is not an admin, or has fewer rights than the key; `not_found`;
    /// `illegal_transition` for a key that ended or was replaced before, and for one whose rotation would leave the
    /// tenant without an admin.
    pub async fn rotate(
        &self,
        caller: &Caller,
        key: &KeyId,
        rotation: KeyRotation,
    ) -> Result<NewKey, EngineError> {
        must_keep_keys(caller)?;
        let old = self.key_of(&caller.tenant, key).await?;
        must_hold(caller, &old.rights)?;
        let now = self.clock.now();
        if rotation.overlap_s > LONGEST_OVERLAP_S {
            return Err(out_of_range(
                "overlap_s",
                rotation.overlap_s,
                0,
                LONGEST_OVERLAP_S,
            ));
        }
        let end = moments::after(now, Duration::from_secs(rotation.overlap_s));
        let expires_at = match (rotation.expires_in_s, old.expires_at) {
            (None, None) => None,
            (None, Some(end)) => {
                let lived = end.as_micros().saturating_sub(old.created_at.as_micros());
                let lived = Duration::from_micros(u64::try_from(lived).unwrap_or(0));
                Some(moments::after(now, lived))
            }
            (Some(_), _) => self.end_of(now, rotation.expires_in_s)?,
        };
        if expires_at.is_some() {
            self.must_keep_an_admin(caller, &old).await?;
        }
        let (secret, new) = self.fresh_key(KeyRecord {
            key_id: KeyId::from_uuid(self.ids.uuid()),
            created_by: caller.user.clone(),
            // The rotating admin learns the new secret.
            makers: &old.makers | &makers(caller),
            created_at: now,
            expires_at,
            last_used_at: None,
            revoked: None,
            rotated_from: Some(key.clone()),
            ..old
        })?;
        let told = vec![about(caller, &new, "rotated", now)];
        match self.store.rotate_key(&new, end, told).await {
            Ok(()) => {}
            Err(StoreError::Refused { detail, .. }) => {
                let message = format!("the key `{key}` cannot be rotated: {detail}");
                return Err(EngineError::new(ErrorCode::IllegalTransition, message));
            }
            Err(error) => return Err(error.into()),
        }
        self.noted(&new, "rotated", caller);
        Ok(NewKey {
            secret,
            key: KeyView::new(new, now),
        })
    }

    /// Ends a key of the caller's tenant at once; a revoked key stays unchanged.
    ///
    /// # Errors
    /// `permission_denied` for a caller who is not an admin; `not_found`; `illegal_transition` for the last key that
    /// admits an admin of the tenant.
    pub async fn revoke(&self, caller: &Caller, key: &KeyId) -> Result<KeyView, EngineError> {
        must_keep_keys(caller)?;
        let found = self.key_of(&caller.tenant, key).await?;
        let revocation = Revocation {
            at: self.clock.now(),
            by: caller.user.clone(),
        };
        self.must_keep_an_admin(caller, &found).await?;
        let told = vec![about(caller, &found, "revoked", revocation.at)];
        let revoked = self
            .store
            .revoke_key(&caller.tenant, key, &revocation, told);
        if revoked.await? {
            self.noted(&found, "revoked", caller);
        }
        self.get(caller, key).await
    }

    /// Returns the caller of a key, and records the use.
    ///
    /// # Errors
    /// `unauthenticated` for an invalid, unknown or ended key; errors of storage.
    pub async fn caller_of_key(&self, text: &str) -> Result<Caller, EngineError> {
        let refused = |why: &str| EngineError::new(ErrorCode::Unauthenticated, why);
        let text = KeyText::parse(text)
            .ok_or_else(|| refused("not an API key: characters are missing, too many or wrong"))?;
        let found = self.store.key_of_hash(&text.hash()).await?;
        let key = found.ok_or_else(|| refused("the API key is unknown"))?;
        let now = self.clock.now();
        if key.revoked.is_some() {
            return Err(refused("the API key was revoked"));
        }
        if !key.is_live(now) {
            return Err(refused("the API key has expired"));
        }
        self.note_use(&key, now).await;
        let credential = CredentialId::Key(key.key_id);
        let caller = Caller::new(key.tenant_id, key.user_id, key.rights);
        Ok(caller.with_credential(credential).with_makers(key.makers))
    }

    /// Returns which keys exist, in all tenants together.
    ///
    /// # Errors
    /// If storage fails.
    pub async fn keys_kept(&self) -> Result<KeyPresence, EngineError> {
        Ok(self.store.keys_kept(self.clock.now()).await?)
    }

    /// Records a use, once per interval. A failure to record it does not refuse the caller.
    async fn note_use(&self, key: &KeyRecord, now: Timestamp) {
        let due = moments::before(now, LAST_USED_RESOLUTION);
        if key.last_used_at.is_some_and(|noted| noted > due) {
            return;
        }
        let noted = self
            .store
            .note_key_use(&key.tenant_id, &key.key_id, now, due);
        if let Err(error) = noted.await {
            tracing::warn!(error = %error, key.id = %key.key_id, "the use of a key could not be recorded");
        }
    }

    async fn key_of(&self, tenant: &TenantId, key: &KeyId) -> Result<KeyRecord, EngineError> {
        let found = self.store.key(tenant, key).await?;
        match found {
            Some(found) => Ok(found),
            None => Err(self.no_key(tenant, key).await?),
        }
    }

    /// Makes a secret for a key. Randomness comes from the operating system and from nowhere else.
    fn fresh_key(&self, key: KeyRecord) -> Result<(KeyText, KeyRecord), EngineError> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret)
            .map_err(|error| EngineError::internal("creating a key", error))?;
        let text = KeyText::new(&key.key_id, &secret);
        let hash = text.hash();
        Ok((text, KeyRecord { hash, ..key }))
    }

    /// Returns the end of a new key with a lifetime of this many seconds.
    fn end_of(
        &self,
        now: Timestamp,
        seconds: Option<u64>,
    ) -> Result<Option<Timestamp>, EngineError> {
        match seconds {
            None => Ok(None),
            Some(seconds @ 1..=MAX_LIFETIME_S) => {
                Ok(Some(moments::after(now, Duration::from_secs(seconds))))
            }
            Some(seconds) => Err(out_of_range("expires_in_s", seconds, 1, MAX_LIFETIME_S)),
        }
    }

    fn noted(&self, key: &KeyRecord, what: &str, by: &Caller) {
        tracing::info!(key.id = %key.key_id, tenant.id = %key.tenant_id, user.id = %by.user, "key {what}");
        self.news.notify_waiters();
    }
}

fn out_of_range(field: &str, given: u64, least: u64, most: u64) -> EngineError {
    let message = format!("`{field}` is {given}; it must be {least} to {most} seconds");
    EngineError::new(ErrorCode::InvalidRequest, message)
}

fn must_keep_keys(caller: &Caller) -> Result<(), EngineError> {
    caller.must_be(Role::Admin, "only admins can manage keys")
}

/// Returns the scopes of a new key. An agent's key does not decide on approvals.
fn scopes(
    caller: &Caller,
    holder: KeyHolder,
    given: Option<AccessScopes>,
) -> Result<AccessScopes, EngineError> {
    let decides = AccessScope::ApprovalsWrite;
    match (holder, given) {
        (KeyHolder::Person, given) => Ok(given.unwrap_or_else(|| caller.scopes.clone())),
        (KeyHolder::Agent, None) => Ok(caller.scopes.without(decides)),
        (KeyHolder::Agent, Some(given)) if given.opens(decides) => {
            let message = format!(
                "a key for an agent cannot have the scope `{decides}`: omit the scope, or `for`"
            );
            Err(EngineError::new(ErrorCode::InvalidRequest, message))
        }
        (KeyHolder::Agent, Some(given)) => Ok(given),
    }
}

/// Returns the makers of a key that the caller creates. The local caller has the data directory and could edit the
/// configuration as well, so its keys count as configured ones: they have no maker.
fn makers(caller: &Caller) -> BTreeSet<UserId> {
    match caller.credential {
        CredentialId::Local => BTreeSet::new(),
        CredentialId::Key(_) | CredentialId::Configured(_) | CredentialId::Token { .. } => {
            caller.person().names().cloned().collect()
        }
    }
}

/// Checks that a caller grants no right that it lacks.
fn must_hold(caller: &Caller, rights: &Rights) -> Result<(), EngineError> {
    match rights.exceeds(&caller.rights()) {
        None => Ok(()),
        Some(field) => {
            let message = format!("cannot grant `{field}`: it exceeds your own access");
            let error = EngineError::new(ErrorCode::PermissionDenied, message);
            Err(error.with_details(json!({"field": field})))
        }
    }
}

/// Builds the event: the user, the change and the key. It contains no secret, nor anything derived from one.
fn about(caller: &Caller, key: &KeyRecord, word: &str, at: Timestamp) -> NewMessage {
    let said = KeyEventRef {
        key_id: key.key_id.clone(),
        name: key.name.clone(),
        user: key.user_id.clone(),
        by: caller.user.clone(),
        rights: key.rights.clone(),
        rotated_from: key.rotated_from.clone(),
    };
    NewMessage {
        topic: format!("key.{word}"),
        tenant: Some(key.tenant_id.to_string()),
        user_id: None,
        payload: json!(said).to_string(),
        at,
    }
}

impl KeyService {
    /// The error for a key that a tenant does not have, which lists its newest. For admins, who see all of them.
    pub(crate) async fn no_key(
        &self,
        tenant: &TenantId,
        key: &KeyId,
    ) -> Result<EngineError, EngineError> {
        let seen = self.store.keys(tenant, &newest_known()).await?;
        let ids = seen.entries.iter().map(|seen| seen.key_id.as_str());
        Ok(EngineError::not_found("key", key).knowing(ids))
    }
}
#[cfg(test)]
mod tests {
    use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
    use charter_testkit::clock::SimulatedClock;

    use super::*;
    use crate::ground::ids::RandomIds;

    struct AnySkill;

    impl GrantableSkills for AnySkill {
        fn must_know(&self, _: &Caller, _: &SkillGrants) -> Result<(), EngineError> {
            Ok(())
        }
    }

    /// Without the rest of the engine, a key is created, admits its user, and is refused once it has expired.
    #[tokio::test]
    async fn a_key_admits_its_user_until_it_expires() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path(), &SqliteOptions::default()).unwrap();
        let clock = SimulatedClock::at(Timestamp::parse("2026-04-14T12:00:00Z").unwrap());
        let settings = KeySettings {
            credentials: true,
            four_eyes: None,
        };
        let keys = KeyService::new(
            Arc::new(store),
            Arc::new(clock.clone()),
            Arc::new(RandomIds),
            Arc::new(Notify::new()),
            settings,
            Arc::new(AnySkill),
        );
        let order = json!({"name": "a key", "user": "mia", "expires_in_s": 60});
        let order: KeyOrder = serde_json::from_value(order).unwrap();
        let local = Caller::local().unwrap();
        let made = keys.create(&local, order).await.unwrap();
        let secret = json!(made.secret);
        let text = secret.as_str().unwrap();
        let caller = keys.caller_of_key(text).await.unwrap();
        assert_eq!(caller.user.as_str(), "mia");
        clock.advance(Duration::from_secs(61)).unwrap();
        let refused = keys.caller_of_key(text).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Unauthenticated);
    }
}
