//! A node of the skill link graph (seed 001): a folder that lists skills, or a skill with instructions. The engine
//! handles navigation and grants.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::vocabulary::Role;
use crate::ids::{IdError, SkillId};
use crate::number::Vector;
use crate::schema::SchemaName;
use crate::text::Text;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(AgentSkill);

/// A document of the `agent_skills` index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct AgentSkill {
    /// Id of the skill, unique (B001-1).
    pub skill_id: SkillId,
    /// Embedding of the skill. Its length must match the index, which checks it (B001-2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill_desc_vector: Option<Vector>,
    /// Short description, shown on discovery.
    pub summary: Text,
    /// Whether the node lists other skills instead of holding instructions.
    pub is_folder: bool,
    /// Ids of the listed skills.
    #[serde(default)]
    pub sub_skills: Vec<SkillId>,
    /// Instructions, returned only by a fetch of this skill.
    #[serde(default)]
    pub instruction: String,
}

/// Granted skills of the link graph, including all their descendants. The default grants none (B001-6).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub enum SkillGrants {
    /// Every skill; written `["*"]`.
    All,
    /// These skills and their descendants; an empty set grants nothing.
    Only(BTreeSet<SkillId>),
}

impl Default for SkillGrants {
    fn default() -> Self {
        Self::Only(BTreeSet::new())
    }
}

impl SkillGrants {
    /// Returns the default grants for a level.
    #[must_use]
    pub fn default_for(level: Role) -> Self {
        match level {
            Role::Operator | Role::Admin => Self::All,
            Role::User => Self::default(),
        }
    }
}

impl TryFrom<Vec<String>> for SkillGrants {
    type Error = IdError;

    fn try_from(granted: Vec<String>) -> Result<Self, IdError> {
        if granted == ["*"] {
            return Ok(Self::All);
        }
        let ids = granted.iter().map(|id| SkillId::parse(id));
        Ok(Self::Only(ids.collect::<Result<_, _>>()?))
    }
}

impl From<SkillGrants> for Vec<String> {
    fn from(grants: SkillGrants) -> Self {
        match grants {
            SkillGrants::All => vec!["*".to_owned()],
            SkillGrants::Only(ids) => ids.iter().map(ToString::to_string).collect(),
        }
    }
}

impl Contract for AgentSkill {
    const NAME: SchemaName = SchemaName::AgentSkill;

    fn check(&self, report: &mut Report) {
        if self.skill_desc_vector.as_ref().is_some_and(Vector::is_zero) {
            let message = "the vector is all zeros and has no direction".to_owned();
            report.meaning("/skill_desc_vector", "zero_vector", message);
        }
        if !self.is_folder && !self.sub_skills.is_empty() {
            let message = format!("`{}` is a leaf but has sub-skills", self.skill_id);
            report.meaning("/sub_skills", "leaf", message);
        }
        if self.is_folder && self.sub_skills.is_empty() {
            let message = format!("the folder `{}` is empty", self.skill_id);
            report.warn("/sub_skills", "empty_folder", message);
        }
        let mut seen = BTreeSet::new();
        for (at, child) in self.sub_skills.iter().enumerate() {
            if *child == self.skill_id {
                let message = format!("cycle: {child} → {child}");
                report.meaning(format!("/sub_skills/{at}"), "cycle", message);
            }
            if !seen.insert(child) {
                let message = format!("`{child}` is listed twice");
                report.meaning(format!("/sub_skills/{at}"), "unique", message);
            }
        }
    }
}
