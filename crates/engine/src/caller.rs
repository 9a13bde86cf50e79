//! Who asks. The tenant comes from the credential and from nowhere else.

pub use charter_contract::catalogue::vocabulary::{Role, Tier};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{TenantId, UserId};
pub use charter_contract::link_graph::SkillGrants;

use crate::error::EngineError;

/// An authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Whose data the caller sees.
    pub tenant: TenantId,
    /// Who it is within the tenant.
    pub user: UserId,
    /// What it may do.
    pub role: Role,
    /// The tier up to which it is served: lenses and the expert graph need the advanced one.
    pub tier: Tier,
    /// Which skills of the link graph it may reach.
    pub agent_skills: SkillGrants,
}

impl Caller {
    /// Whoever uses the machine that Charter runs on, where nobody is told apart by a key: admin
    /// of the tenant `local`, with everything granted.
    ///
    /// # Errors
    /// Never in practice; the names are constants.
    pub fn local() -> Result<Self, charter_contract::ids::IdError> {
        Ok(Self {
            tenant: TenantId::parse("local")?,
            user: UserId::parse("local")?,
            role: Role::Admin,
            tier: Tier::Advanced,
            agent_skills: SkillGrants::All,
        })
    }

    /// Refuses a caller below `role`; `rule` says who may, for whom it concerns.
    pub(crate) fn must_be(&self, role: Role, rule: &str) -> Result<(), EngineError> {
        if self.role >= role {
            return Ok(());
        }
        Err(EngineError::new(ErrorCode::PermissionDenied, rule))
    }

    /// Refuses a caller below `tier`; `rule` says what needs it.
    pub(crate) fn must_have(&self, tier: Tier, rule: &str) -> Result<(), EngineError> {
        if self.tier >= tier {
            return Ok(());
        }
        Err(EngineError::new(ErrorCode::PermissionDenied, rule))
    }
}
