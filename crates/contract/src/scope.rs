//! Where a document is in force: for everyone, or for one tenant. How layers
//! combine is the domain's business, not this file's.

use std::fmt;

use crate::ids::TenantId;

/// The layer that a document belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// In force for every tenant.
    Global,
    /// In force for one tenant, over the global layer.
    Tenant(TenantId),
}

impl Scope {
    /// The tenant, unless the scope is global.
    #[must_use]
    pub fn tenant(&self) -> Option<&TenantId> {
        match self {
            Self::Global => None,
            Self::Tenant(tenant) => Some(tenant),
        }
    }
}

impl From<Option<TenantId>> for Scope {
    fn from(tenant: Option<TenantId>) -> Self {
        tenant.map_or(Self::Global, Self::Tenant)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => f.write_str("global"),
            Self::Tenant(tenant) => write!(f, "tenant {tenant}"),
        }
    }
}
