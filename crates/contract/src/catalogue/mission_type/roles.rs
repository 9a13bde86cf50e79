//! Who carries out the roles of a mission type's missions: Charter itself, a model, or an outside agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MissionType;
use crate::ids::{Label, UserId};
use crate::mission::task_graph::Role;
use crate::violation::Report;

object_only!(RoleAssignment);

/// Maximum users whose credentials may claim the tasks of a role.
pub const MAX_AGENTS: usize = 100;

/// Who carries out a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct RoleAssignment {
    /// The performer of the role.
    pub by: RolePerformer,
    /// Route to the model; that of the role's prompt template when absent. Only for `by: model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_route: Option<Label>,
    /// Users whose credentials may claim the role's tasks; operators when empty. Only for `by: external`.
    #[schemars(length(max = MAX_AGENTS))]
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::list::between::<0, MAX_AGENTS, _, _>"
    )]
    pub agents: Vec<UserId>,
}

string_enum! {
    /// The performer of a role.
    pub enum RolePerformer {
        /// Charter, without a model.
        Charter = "charter",
        /// The model behind the role's route.
        Model = "model",
        /// An outside agent that claims the task.
        External = "external",
    }
}

impl RolePerformer {
    /// Returns the performer of a role that the mission type does not assign.
    #[must_use]
    pub const fn default_for(role: Role) -> Self {
        match role {
            Role::Planner | Role::Worker | Role::Aggregator | Role::Reviewer => Self::Model,
            Role::PromptMaster | Role::Researcher | Role::Librarian => Self::Charter,
        }
    }
}

impl MissionType {
    /// Returns the performer of a role.
    #[must_use]
    pub fn performer(&self, role: Role) -> RolePerformer {
        let assigned = self.roles.get(&role).map(|assigned| assigned.by);
        assigned.unwrap_or_else(|| RolePerformer::default_for(role))
    }

    /// Returns the route that the mission type names for a role's model.
    #[must_use]
    pub fn model_route(&self, role: Role) -> Option<&Label> {
        self.roles.get(&role)?.model_route.as_ref()
    }

    /// Returns the users whose credentials may claim a role's tasks; none when operators may.
    #[must_use]
    pub fn agents(&self, role: Role) -> &[UserId] {
        let assigned = self.roles.get(&role);
        assigned.map_or(&[], |assigned| assigned.agents.as_slice())
    }

    pub(super) fn check_roles(&self, report: &mut Report) {
        for (role, assigned) in &self.roles {
            let here = format!("/roles/{role}");
            if assigned.model_route.is_some() && assigned.by != RolePerformer::Model {
                let message = format!("a role by `{}` has no model route", assigned.by);
                report.meaning(format!("{here}/model_route"), "by", message);
            }
            if !assigned.agents.is_empty() && assigned.by != RolePerformer::External {
                let message = format!("a role by `{}` has no agents", assigned.by);
                report.meaning(format!("{here}/agents"), "by", message);
            }
        }
    }
}
