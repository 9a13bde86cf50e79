//! Who asks. The tenant comes from the credential and from nowhere else.

use charter_contract::catalogue::vocabulary::PermissionLevel;
use charter_contract::ids::{TenantId, UserId};
use serde::{Deserialize, Serialize};

/// What a caller may do. Each role may do what the ones before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Ask, search, read.
    User,
    /// Register packages for the own tenant.
    Operator,
    /// Register global packages and see the whole server.
    Admin,
}

impl Role {
    /// Whether a tool of this permission level may be called (seed 003: user < system < admin).
    #[must_use]
    pub fn may_call(self, level: PermissionLevel) -> bool {
        let needed = match level {
            PermissionLevel::User => Self::User,
            PermissionLevel::System => Self::Operator,
            PermissionLevel::Admin => Self::Admin,
        };
        self >= needed
    }
}

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
