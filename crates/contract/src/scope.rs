//! The scope of a document: all tenants, or one. The domain crate combines the layers.

use std::fmt;

use crate::ids::TenantId;

/// Scope of a document: the layer that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// In force for every tenant.
    Global,
    /// In force for one tenant, over the global layer.
    Tenant(TenantId),
}

impl Scope {
    /// Returns the tenant; `None` for the global scope.
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
