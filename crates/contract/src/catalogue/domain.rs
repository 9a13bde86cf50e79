//! Domains of the registry (seed 000 §2.13), including the six predefined ones.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::vocabulary::Status;
use crate::ids::{DomainId, TenantId};
use crate::schema::SchemaName;
use crate::text::{Text, Version};
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(Domain);

/// A domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Domain {
    /// Id of the domain.
    pub domain_id: DomainId,
    /// Display name.
    pub display_name: Text,
    /// Scope of the domain.
    #[serde(default)]
    pub description: String,
    /// Type of the domain: the platform itself, or a field of work.
    pub domain_type: DomainType,
    /// Status; documents may be registered only in an active domain.
    #[serde(default)]
    pub status: Status,
    /// Tenant of the domain; absent for a global domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Version of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Time of the first registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Time of the last registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

string_enum! {
    /// Type of a domain (000 §2.13).
    pub enum DomainType {
        /// The platform itself.
        Platform = "platform",
        /// A field of work.
        Domain = "domain",
    }
}

/// The predefined domains (000 §2.13): id, display name, description, type. The description of `security` is the
/// seed's; the others are this project's.
const SEEDED: [(&str, &str, &str, DomainType); 6] = [
    (
        "platform",
        "Platform",
        "The platform itself",
        DomainType::Platform,
    ),
    (
        "security",
        "Security",
        "Cloud security posture, exposure detection, and threat analysis",
        DomainType::Domain,
    ),
    (
        "compliance",
        "Compliance",
        "Frameworks, controls and their evidence",
        DomainType::Domain,
    ),
    (
        "cost",
        "Cost Optimization",
        "Spend, waste and savings",
        DomainType::Domain,
    ),
    (
        "performance",
        "Performance",
        "Latency, throughput and capacity",
        DomainType::Domain,
    ),
    (
        "reliability",
        "Reliability",
        "Availability, recovery and resilience",
        DomainType::Domain,
    ),
];

impl Domain {
    /// Returns the six predefined domains.
    #[must_use]
    pub fn seeded() -> [Self; 6] {
        SEEDED.map(|(id, display_name, description, domain_type)| Self {
            domain_id: DomainId::from_checked(id.to_owned()),
            display_name: Text::from_checked(display_name.to_owned()),
            description: description.to_owned(),
            domain_type,
            status: Status::Active,
            tenant_id: None,
            version: None,
            created_at: None,
            updated_at: None,
        })
    }
}

impl Contract for Domain {
    const NAME: SchemaName = SchemaName::Domain;

    fn check(&self, _: &mut Report) {}
}
