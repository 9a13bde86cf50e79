//! Who asks. The tenant comes from the credential and from nowhere else.

pub use charter_contract::catalogue::vocabulary::Role;
use charter_contract::ids::{TenantId, UserId};

/// An authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Whose data the caller sees.
    pub tenant: TenantId,
    /// Who it is within the tenant.
    pub user: UserId,
    /// What it may do.
    pub role: Role,
}
