//! Whose rights the work of a schedule has: those that its user had when the schedule was enabled, while the user's key
//! is valid. In the sense of ruling 33, its user and the makers of that user's key have asked for the work.

use std::collections::BTreeSet;

use charter_contract::error_code::ErrorCode;
use charter_contract::identity::Rights;
use charter_contract::ids::{KeyId, TenantId, UserId};
use charter_contract::json::{decode_stored, to_stored};
use charter_store::key::KeyRecord;
use charter_store::page::PageRequest;
use charter_store::schedule::ScheduleRecord;
use serde::{Deserialize, Serialize};

use super::ScheduleService;
use crate::{Caller, CredentialId, EngineError};

/// Keys that are looked through for the one that replaced a key.
const KEYS_LOOKED_AT: usize = 1_000;

/// Replacements of a key that are followed.
const ROTATIONS: usize = 16;

/// Whose rights the work of a schedule has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ScheduleIdentity {
    pub(super) user: UserId,
    pub(super) rights: Rights,
    /// Further users who have asked for the work.
    pub(super) makers: BTreeSet<UserId>,
    /// The stored key that the user had; absent for other credentials.
    pub(super) key: Option<KeyId>,
}

impl ScheduleIdentity {
    /// The identity of a caller who enables a schedule.
    pub(super) fn of(caller: &Caller) -> Self {
        let key = match &caller.credential {
            CredentialId::Key(key) => Some(key.clone()),
            CredentialId::Local | CredentialId::Configured(_) | CredentialId::Token { .. } => None,
        };
        Self {
            user: caller.user.clone(),
            rights: caller.rights(),
            makers: caller.makers.clone(),
            key,
        }
    }

    pub(super) fn read(record: &ScheduleRecord) -> Result<Self, EngineError> {
        decode_stored(&record.identity)
            .map_err(|error| EngineError::internal("reading a schedule's identity", error))
    }

    pub(super) fn to_json(&self) -> Result<String, EngineError> {
        to_stored(self)
            .map_err(|error| EngineError::internal("writing a schedule's identity", error))
    }

    /// Adds a caller who starts an occurrence or resumes the schedule: that caller has asked too.
    pub(super) fn asked_also_by(mut self, caller: &Caller) -> Self {
        let person = caller.person();
        let names = person.names().filter(|name| **name != self.user);
        self.makers.extend(names.cloned());
        self
    }

    /// Returns the caller that the work is started as.
    pub(super) fn caller(self, tenant: &TenantId) -> Caller {
        let credential = match self.key {
            Some(key) => CredentialId::Key(key),
            None => CredentialId::Local,
        };
        Caller::new(tenant.clone(), self.user, self.rights)
            .with_makers(self.makers)
            .with_credential(credential)
    }

    /// Refuses a caller who lacks a right that the work has.
    pub(super) fn must_be_within(&self, caller: &Caller) -> Result<(), EngineError> {
        match self.rights.exceeds(&caller.rights()) {
            None => Ok(()),
            Some(field) => {
                let message = format!(
                    "the schedule runs with more access than yours: `{field}`; enable it yourself instead"
                );
                Err(EngineError::new(ErrorCode::PermissionDenied, message))
            }
        }
    }
}

impl ScheduleService {
    /// Refuses work whose user has lost the key that the schedule was enabled with, unless another key replaced it and
    /// has the same rights.
    ///
    /// # Errors
    /// `permission_denied`.
    pub(super) async fn must_be_live(
        &self,
        tenant: &TenantId,
        identity: &ScheduleIdentity,
    ) -> Result<(), EngineError> {
        let Some(mut key) = identity.key.clone() else {
            return Ok(());
        };
        for _ in 0..ROTATIONS {
            let found = self.store.key(tenant, &key).await?;
            let now = self.clock.now();
            if let Some(live) = found.filter(|found| found.is_live(now)) {
                return within(identity, &live);
            }
            match self.replacement_of(tenant, &key).await? {
                Some(next) => key = next,
                None => break,
            }
        }
        let message = format!(
            "the key `{key}` with which `{}` enabled the schedule has ended; enable the schedule again",
            identity.user
        );
        Err(EngineError::new(ErrorCode::PermissionDenied, message))
    }

    async fn replacement_of(
        &self,
        tenant: &TenantId,
        key: &KeyId,
    ) -> Result<Option<KeyId>, EngineError> {
        let page = PageRequest::new(None, KEYS_LOOKED_AT);
        let keys = self.store.keys(tenant, &page).await?.entries;
        let mut keys = keys.into_iter();
        let next = keys.find(|other| other.rotated_from.as_ref() == Some(key));
        Ok(next.map(|next| next.key_id))
    }
}

fn within(identity: &ScheduleIdentity, live: &KeyRecord) -> Result<(), EngineError> {
    let is_same = live.user_id == identity.user;
    match identity.rights.exceeds(&live.rights) {
        None if is_same => Ok(()),
        None | Some(_) => {
            let message = format!(
                "the key `{}` no longer has the access with which the schedule was enabled; enable the schedule again",
                live.key_id
            );
            Err(EngineError::new(ErrorCode::PermissionDenied, message))
        }
    }
}
