//! The rights of a credential: level, tier, catalogue role, grants and scopes. A credential can pass on only rights
//! that it holds, which [`Rights::exceeds`] checks.
//!
//! It knows no credential, no request and no tenant.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::vocabulary::{Role, Tier};
use crate::ids::{Label, UnknownValue};
use crate::link_graph::SkillGrants;

string_enum! {
    /// Catalogue role of a caller (this project). Each role includes the rights of the previous ones.
    #[derive(Default)]
    pub enum CatalogueRole {
        /// Reads the catalogue.
        #[default]
        Viewer = "viewer",
        /// Changes documents of its own tenant.
        Editor = "editor",
        /// Changes global documents.
        Admin = "admin",
    }
}

impl CatalogueRole {
    /// Returns the default catalogue role of a level.
    #[must_use]
    pub fn default_for(level: Role) -> Self {
        match level {
            Role::User => Self::Viewer,
            Role::Operator => Self::Editor,
            Role::Admin => Self::Admin,
        }
    }
}

string_enum! {
    /// Kind of holder of an API key (this project).
    #[derive(Default)]
    pub enum KeyHolder {
        /// A person.
        #[default]
        Person = "person",
        /// A program that acts on a person's behalf and may not decide approvals.
        Agent = "agent",
    }
}

string_enum! {
    /// Access to one part of the interface, for reading or writing (this project). Neither includes the other.
    pub enum AccessScope {
        /// Reads requests, their answers, sessions and tasks.
        RequestsRead = "requests:read",
        /// Sends requests and opens sessions.
        RequestsWrite = "requests:write",
        /// Reads runs, their journals and events.
        RunsRead = "runs:read",
        /// Starts and controls runs, calls tools, and executes calls as an executor.
        RunsWrite = "runs:write",
        /// Reads approvals.
        ApprovalsRead = "approvals:read",
        /// Decides approvals.
        ApprovalsWrite = "approvals:write",
        /// Reads, searches and resolves registered documents, including lenses and skills.
        CatalogueRead = "catalogue:read",
        /// Registers and unregisters, changes skills, and indexes lenses.
        CatalogueWrite = "catalogue:write",
        /// Reads missions and their artifacts.
        MissionsRead = "missions:read",
        /// Starts, cancels and imports missions.
        MissionsWrite = "missions:write",
        /// Reads memories.
        MemoryRead = "memory:read",
        /// Writes and deletes memories, and decides proposals.
        MemoryWrite = "memory:write",
        /// Reads evidence, its log and proofs.
        EvidenceRead = "evidence:read",
        /// Attaches evidence.
        EvidenceWrite = "evidence:write",
        /// Reads API keys.
        AdminRead = "admin:read",
        /// Creates, rotates and revokes API keys.
        AdminWrite = "admin:write",
    }
}

/// The scopes of a credential, within its level.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub enum AccessScopes {
    /// All scopes, including those added later; written `["*"]`.
    #[default]
    All,
    /// These scopes; an empty set grants nothing.
    Only(BTreeSet<AccessScope>),
}

impl AccessScopes {
    /// Whether the credential includes a scope.
    #[must_use]
    pub fn opens(&self, scope: AccessScope) -> bool {
        match self {
            Self::All => true,
            Self::Only(scopes) => scopes.contains(&scope),
        }
    }

    /// Whether a scope is listed by name. `*` includes all scopes and lists none.
    #[must_use]
    pub fn names(&self, scope: AccessScope) -> bool {
        match self {
            Self::All => false,
            Self::Only(scopes) => scopes.contains(&scope),
        }
    }

    /// Returns these scopes without one of them.
    #[must_use]
    pub fn without(&self, scope: AccessScope) -> Self {
        let mut scopes: BTreeSet<AccessScope> = match self {
            Self::All => AccessScope::ALL.iter().copied().collect(),
            Self::Only(scopes) => scopes.clone(),
        };
        scopes.remove(&scope);
        Self::Only(scopes)
    }

    fn includes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, Self::All | Self::Only(_)) => true,
            (Self::Only(_), Self::All) => false,
            (Self::Only(held), Self::Only(asked)) => asked.is_subset(held),
        }
    }
}

impl TryFrom<Vec<String>> for AccessScopes {
    type Error = UnknownValue;

    fn try_from(scopes: Vec<String>) -> Result<Self, UnknownValue> {
        if scopes == ["*"] {
            return Ok(Self::All);
        }
        let scopes = scopes.iter().map(|scope| scope.parse());
        Ok(Self::Only(scopes.collect::<Result<_, _>>()?))
    }
}

impl From<AccessScopes> for Vec<String> {
    fn from(scopes: AccessScopes) -> Self {
        match scopes {
            AccessScopes::All => vec!["*".to_owned()],
            AccessScopes::Only(scopes) => scopes.iter().map(ToString::to_string).collect(),
        }
    }
}

/// Rights of a credential within its tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rights {
    /// Level: `user`, `operator` or `admin`.
    pub role: Role,
    /// Its maximum tier.
    pub tier: Tier,
    /// Its catalogue role.
    pub catalogue: CatalogueRole,
    /// The skills of the link graph within its reach.
    #[schemars(with = "Vec<String>")]
    pub agent_skills: SkillGrants,
    /// Scopes: the parts of the interface that the credential may use.
    #[schemars(with = "Vec<String>")]
    pub scopes: AccessScopes,
    /// Profile that limits the agents whose skills the credential may use: those that list it in `usable_in_profiles`,
    /// and those that list none (000 §2.11). All agents when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Label>,
}

impl Rights {
    /// Whether the holder may decide approvals.
    #[must_use]
    pub fn decides(&self) -> bool {
        self.role >= Role::Operator && self.scopes.opens(AccessScope::ApprovalsWrite)
    }

    /// Returns the field name of the first right that exceeds `held`; `None` if none does. A skill grant is covered
    /// only if the same skill, or all skills, are held.
    #[must_use]
    pub fn exceeds(&self, held: &Self) -> Option<&'static str> {
        let skills = match (&held.agent_skills, &self.agent_skills) {
            (SkillGrants::All, SkillGrants::All | SkillGrants::Only(_)) => true,
            (SkillGrants::Only(_), SkillGrants::All) => false,
            (SkillGrants::Only(held), SkillGrants::Only(asked)) => asked.is_subset(held),
        };
        let within = [
            ("role", self.role <= held.role),
            ("tier", self.tier <= held.tier),
            ("catalogue", self.catalogue <= held.catalogue),
            ("agent_skills", skills),
            ("scopes", held.scopes.includes(&self.scopes)),
            (
                "profile",
                held.profile.is_none() || held.profile == self.profile,
            ),
        ];
        let beyond = within.into_iter().find(|(_, within)| !within);
        beyond.map(|(field, _)| field)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rights(of: &serde_json::Value) -> Rights {
        let mut all = json!({"role": "operator", "tier": "basic", "catalogue": "editor",
            "agent_skills": ["a", "b"], "scopes": ["runs:read", "runs:write"]});
        for (field, value) in of.as_object().unwrap() {
            all[field] = value.clone();
        }
        serde_json::from_value(all).unwrap()
    }

    /// Tests each right on its own, so that the comparison omits none.
    #[test]
    fn an_exceeded_right_is_named() {
        let held = rights(&json!({}));
        for (asked, beyond) in [
            (json!({}), None),
            (
                json!({"role": "user", "catalogue": "viewer", "agent_skills": [], "scopes": []}),
                None,
            ),
            (
                json!({"agent_skills": ["b"], "scopes": ["runs:read"]}),
                None,
            ),
            (json!({"role": "admin"}), Some("role")),
            (json!({"tier": "advanced"}), Some("tier")),
            (json!({"catalogue": "admin"}), Some("catalogue")),
            (json!({"agent_skills": ["a", "c"]}), Some("agent_skills")),
            (json!({"agent_skills": ["*"]}), Some("agent_skills")),
            (
                json!({"scopes": ["runs:read", "admin:read"]}),
                Some("scopes"),
            ),
            (json!({"scopes": ["*"]}), Some("scopes")),
        ] {
            assert_eq!(rights(&asked).exceeds(&held), beyond, "{asked}");
        }
        let narrowed = rights(&json!({"profile": "audit"}));
        assert_eq!(narrowed.exceeds(&held), None);
        for asked in [json!({}), json!({"profile": "other"})] {
            assert_eq!(
                rights(&asked).exceeds(&narrowed),
                Some("profile"),
                "{asked}"
            );
        }
        let all = rights(&json!({"scopes": ["*"], "agent_skills": ["*"]}));
        assert_eq!((held.exceeds(&all), all.exceeds(&all)), (None, None));
    }

    #[test]
    fn scopes_are_written_as_they_are_read() {
        for text in [
            json!(["*"]),
            json!([]),
            json!(["requests:write", "admin:read"]),
        ] {
            let scopes: AccessScopes = serde_json::from_value(text.clone()).unwrap();
            assert_eq!(serde_json::to_value(scopes).unwrap(), text);
        }
        for text in [
            json!(["runs"]),
            json!(["*", "runs:read"]),
            json!(["runs:*"]),
        ] {
            assert!(serde_json::from_value::<AccessScopes>(text).is_err());
        }
    }
}
