//! The authenticated caller. Its tenant comes from the credential and from nowhere else.

use std::collections::BTreeSet;

pub use charter_contract::catalogue::vocabulary::{Role, Tier};
use charter_contract::error_code::ErrorCode;
use charter_contract::identity::Rights;
pub use charter_contract::identity::{AccessScope, AccessScopes, CatalogueRole};
use charter_contract::ids::{KeyId, Label, TenantId, UserId};
pub use charter_contract::link_graph::SkillGrants;
use charter_contract::package::PackageScope;
use charter_contract::scope::Scope;
use charter_domain::catalogue::View;
use charter_domain::person::CredentialUser;
use charter_domain::profile;
use charter_domain::tier::ServedTiers;
use serde_json::json;

use crate::EngineError;

/// The credential of a caller. It names the credential and grants nothing: limits for each credential are counted by
/// it, and a session belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CredentialId {
    /// None is needed: the local user.
    Local,
    /// A key of the store.
    Key(KeyId),
    /// A key of the configuration, by its SHA-256.
    Configured([u8; 32]),
    /// All tokens of an identity provider for the same holder.
    Token {
        /// The provider.
        issuer: String,
        /// The holder, as the provider knows it.
        subject: String,
    },
}

/// An authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The tenant whose data the caller sees.
    pub tenant: TenantId,
    /// The user within the tenant.
    pub user: UserId,
    /// Its level.
    pub role: Role,
    /// Its maximum tier: lenses and the expert graph need the advanced one.
    pub tier: Tier,
    /// Its catalogue role.
    pub catalogue: CatalogueRole,
    /// The skills of the link graph within its reach.
    pub agent_skills: SkillGrants,
    /// The parts of the interface that its credential opens.
    pub scopes: AccessScopes,
    /// The profile that restricts the agents whose skills it may use.
    pub profile: Option<Label>,
    /// The credential.
    pub credential: CredentialId,
    /// The users who made the credential, directly or through the key that made it.
    pub makers: BTreeSet<UserId>,
}

impl Caller {
    /// Creates a caller with these rights that needs no credential; [`Caller::with_credential`] sets one.
    #[must_use]
    pub fn new(tenant: TenantId, user: UserId, rights: Rights) -> Self {
        Self {
            tenant,
            user,
            role: rights.role,
            tier: rights.tier,
            catalogue: rights.catalogue,
            agent_skills: rights.agent_skills,
            scopes: rights.scopes,
            profile: rights.profile,
            credential: CredentialId::Local,
            makers: BTreeSet::new(),
        }
    }

    /// Returns the same caller with this credential.
    #[must_use]
    pub fn with_credential(self, credential: CredentialId) -> Self {
        Self { credential, ..self }
    }

    /// Returns the same caller with a credential that these users made.
    #[must_use]
    pub fn with_makers(self, makers: BTreeSet<UserId>) -> Self {
        Self { makers, ..self }
    }

    /// Returns the caller as a person who requests and approves.
    #[must_use]
    pub fn person(&self) -> CredentialUser {
        CredentialUser {
            user: self.user.clone(),
            makers: self.makers.clone(),
        }
    }

    /// Returns the user, if the caller sees only that user's data; `None` for operators, who see the data of the whole
    /// tenant.
    #[must_use]
    pub(crate) fn only_own(&self) -> Option<&UserId> {
        (self.role < Role::Operator).then_some(&self.user)
    }

    /// Returns whether the data of a user of the tenant is visible to the caller. Only operators see data without a
    /// known user.
    #[must_use]
    pub(crate) fn sees(&self, owner: Option<&UserId>) -> bool {
        self.only_own().is_none_or(|user| owner == Some(user))
    }

    /// Returns the local user of the machine that Charter runs on, without keys: admin of the tenant `local`, with
    /// every right.
    ///
    /// # Errors
    /// Never in practice; the names are constants.
    pub fn local() -> Result<Self, charter_contract::ids::IdError> {
        Ok(Self {
            tenant: TenantId::parse("local")?,
            user: UserId::parse("local")?,
            role: Role::Admin,
            tier: Tier::Advanced,
            catalogue: CatalogueRole::Admin,
            agent_skills: SkillGrants::All,
            scopes: AccessScopes::All,
            profile: None,
            credential: CredentialId::Local,
            makers: BTreeSet::new(),
        })
    }

    /// Returns the caller's rights.
    #[must_use]
    pub fn rights(&self) -> Rights {
        Rights {
            role: self.role,
            tier: self.tier,
            catalogue: self.catalogue,
            agent_skills: self.agent_skills.clone(),
            scopes: self.scopes.clone(),
            profile: self.profile.clone(),
        }
    }

    /// The scope that the caller means: its own tenant's, or the global one.
    pub(crate) fn scope_of(&self, scope: PackageScope) -> Scope {
        match scope {
            PackageScope::Global => Scope::Global,
            PackageScope::Tenant => Scope::Tenant(self.tenant.clone()),
        }
    }

    /// Refuses a caller whose level is below `role`; `rule` states the requirement.
    pub(crate) fn must_be(&self, role: Role, rule: &str) -> Result<(), EngineError> {
        if self.role >= role {
            return Ok(());
        }
        Err(EngineError::new(ErrorCode::PermissionDenied, rule))
    }

    /// Refuses a caller who may not change `what` of a scope of the catalogue.
    pub(crate) fn must_edit(&self, scope: &Scope, what: &str) -> Result<(), EngineError> {
        let (needed, whose) = match scope {
            Scope::Global => (CatalogueRole::Admin, "global "),
            Scope::Tenant(_) => (CatalogueRole::Editor, ""),
        };
        if self.catalogue >= needed {
            return Ok(());
        }
        let message = format!("changing {whose}{what} needs the catalogue role `{needed}`");
        let error = EngineError::new(ErrorCode::PermissionDenied, message);
        Err(error.with_details(json!({"catalogue": needed})))
    }

    /// Refuses a caller whose credential does not open `scope`.
    pub(crate) fn must_open(&self, scope: AccessScope) -> Result<(), EngineError> {
        if self.scopes.opens(scope) {
            return Ok(());
        }
        let message = format!("this needs the scope `{scope}`, which the credential does not have");
        let error = EngineError::new(ErrorCode::PermissionDenied, message);
        Err(error.with_details(json!({"scope": scope})))
    }

    /// Refuses a caller below `tier`; `rule` states the requirement.
    pub(crate) fn must_have(&self, tier: Tier, rule: &str) -> Result<(), EngineError> {
        if self.tier >= tier {
            return Ok(());
        }
        Err(EngineError::new(ErrorCode::PermissionDenied, rule))
    }

    /// Refuses a skill or playbook whose agent is not usable in the caller's profile; `what` is its kind.
    pub(crate) fn must_be_usable(
        &self,
        view: &View,
        what: &str,
        id: &str,
    ) -> Result<(), EngineError> {
        match &self.profile {
            Some(profile) if !profile::serves(view, id, profile) => {
                let message = format!(
                    "the {what} `{id}` belongs to an agent that is not usable in the profile `{profile}` of this key"
                );
                Err(EngineError::new(ErrorCode::PermissionDenied, message))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Refuses a document above the caller's tier; `what` is its kind.
    pub(crate) fn must_reach(
        &self,
        served: ServedTiers,
        what: &str,
        id: &str,
    ) -> Result<(), EngineError> {
        let message = match served {
            served if served.reaches(self.tier) => return Ok(()),
            ServedTiers::From(tier) => format!(
                "the {what} `{id}` needs the tier {tier}, but the request has the tier {}",
                self.tier
            ),
            ServedTiers::Never => {
                format!(
                    "the {what} `{id}` is not available on any tier: its agent does not support its tier"
                )
            }
        };
        Err(EngineError::new(ErrorCode::PermissionDenied, message))
    }
}

#[cfg(test)]
pub(crate) mod tests;
