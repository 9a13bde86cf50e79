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
    /// The highest permission level of tools that this role may call (seed 003: user < system <
    /// admin).
    #[must_use]
    pub fn level(self) -> PermissionLevel {
        match self {
            Self::User => PermissionLevel::User,
            Self::Operator => PermissionLevel::System,
            Self::Admin => PermissionLevel::Admin,
        }
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
