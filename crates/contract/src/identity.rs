//! What a credential lets its holder do: level, tier, role in the catalogue, grants and scopes. A
//! credential can hand on no more than it holds, which [`Rights::exceeds`] decides.
//!
//! It knows no credential, no request and no tenant.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::vocabulary::{Role, Tier};
use crate::ids::{Label, UnknownValue};
use crate::link_graph::SkillGrants;

string_enum! {
    /// What may be done to the catalogue (this project). Each role may do what the ones before it may.
    #[derive(Default)]
    pub enum CatalogueRole {
        /// Look.
        #[default]
        Viewer = "viewer",
        /// Change what is the own tenant's.
        Editor = "editor",
        /// Change what is global.
        Admin = "admin",
    }
}

impl CatalogueRole {
    /// The role that goes with a level where no other is said.
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
    /// Who acts with a key (this project).
    #[derive(Default)]
    pub enum KeyHolder {
        /// A person.
        #[default]
        Person = "person",
        /// A program that acts on a person's behalf and does not decide on approvals.
        Agent = "agent",
    }
}

string_enum! {
    /// One part of the interface, and whether it is read or written (this project). Neither includes the
    /// other.
    pub enum AccessScope {
        /// See requests, their answers, sessions and tasks.
        RequestsRead = "requests:read",
        /// Ask, and open sessions.
        RequestsWrite = "requests:write",
        /// See runs, their journals and events.
        RunsRead = "runs:read",
        /// Start and steer runs, call tools, carry out calls as an executor.
        RunsWrite = "runs:write",
        /// See approvals.
        ApprovalsRead = "approvals:read",
        /// Decide on approvals.
        ApprovalsWrite = "approvals:write",
        /// See, search and resolve what is registered, lenses and skills included.
        CatalogueRead = "catalogue:read",
        /// Register and unregister, change skills, index lenses.
        CatalogueWrite = "catalogue:write",
        /// See missions and what they produced.
        MissionsRead = "missions:read",
        /// Start, cancel and import missions.
        MissionsWrite = "missions:write",
        /// Look memories up.
        MemoryRead = "memory:read",
        /// Remember, decide on proposals, forget.
        MemoryWrite = "memory:write",
        /// See evidence, its log and proofs.
        EvidenceRead = "evidence:read",
        /// Attach evidence.
        EvidenceWrite = "evidence:write",
        /// See keys.
        AdminRead = "admin:read",
        /// Make, rotate and revoke keys.
        AdminWrite = "admin:write",
    }
}

/// Which parts of the interface a credential opens, within its level.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub enum AccessScopes {
    /// All, also those that are added later; written `["*"]`.
    #[default]
    All,
    /// These; an empty set is nothing.
    Only(BTreeSet<AccessScope>),
}

impl AccessScopes {
    /// Whether a scope is open.
    #[must_use]
    pub fn opens(&self, scope: AccessScope) -> bool {
        match self {
            Self::All => true,
            Self::Only(scopes) => scopes.contains(&scope),
        }
    }

    /// Whether a scope is named. `*` opens all scopes and names none.
    #[must_use]
    pub fn names(&self, scope: AccessScope) -> bool {
        match self {
            Self::All => false,
            Self::Only(scopes) => scopes.contains(&scope),
        }
    }

    /// All of these but one.
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

/// What the holder of a credential may do within its tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rights {
    /// `user`, `operator` or `admin`.
    pub role: Role,
    /// Its maximum tier.
    pub tier: Tier,
    /// Its role for the catalogue.
    pub catalogue: CatalogueRole,
    /// The skills of the link graph within its reach.
    #[schemars(with = "Vec<String>")]
    pub agent_skills: SkillGrants,
    /// Which parts of the interface it opens.
    #[schemars(with = "Vec<String>")]
    pub scopes: AccessScopes,
    /// The profile that narrows the agents whose skills it is served: those that list it in `usable_in_profiles`, and
    /// those that list none (000 §2.11); all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Label>,
}

impl Rights {
    /// Whether its holder decides on approvals.
    #[must_use]
    pub fn decides(&self) -> bool {
        self.role >= Role::Operator && self.scopes.opens(AccessScope::ApprovalsWrite)
    }

    /// The first right that goes beyond `held`, as the name of its field; `None` when all are within. A
    /// grant of a skill is within only if the same skill, or all, is held.
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

    /// Each right by itself, so that none is forgotten in the comparison.
    #[test]
    fn a_right_beyond_what_is_held_is_named() {
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
