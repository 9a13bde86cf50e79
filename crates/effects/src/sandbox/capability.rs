//! A guarantee of the sandbox, and whether it holds. Must not know how it is enforced.

use std::fmt;

/// One guarantee and whether it holds on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capability {
    /// A stable name, such as `files`.
    pub name: &'static str,
    /// Description of the guarantee.
    pub guarantee: &'static str,
    /// Whether it holds.
    pub state: CapabilityState,
}

/// Whether a guarantee holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CapabilityState {
    /// The kernel enforces it.
    Enforced,
    /// It holds except for the stated gap.
    Partial {
        /// The case that is not covered.
        gap: String,
    },
    /// It does not hold.
    Missing {
        /// The reason.
        reason: String,
    },
}

impl fmt::Display for CapabilityState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enforced => f.write_str("enforced"),
            Self::Partial { gap } => write!(f, "partial: {gap}"),
            Self::Missing { reason } => write!(f, "missing: {reason}"),
        }
    }
}
