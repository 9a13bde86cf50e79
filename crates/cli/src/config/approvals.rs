//! Rules for approvals, in the configuration.

use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::time::Duration;

use anyhow::bail;
use charter_contract::ids::{Label, TenantId, UserId};
use charter_engine::ApproverGroup;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most groups of approvers.
const MOST_GROUPS: usize = 100;

/// How long an approval waits for a group by default, in seconds.
const ANSWERS_WITHIN_S: NonZeroU64 = match NonZeroU64::new(3_600) {
    Some(hour) => hour,
    None => NonZeroU64::MIN,
};

/// Rules for approvals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ApprovalsConfig {
    /// Whether a person other than the requester must approve. If absent: yes if callers have credentials, because
    /// without them all callers are one person. A destructive playbook always requires it.
    pub(crate) four_eyes: Option<bool>,
    /// How long an approval waits for a decision, in seconds.
    pub(crate) ttl_s: u64,
    /// Groups of approvers. An approval goes to the first one, and to each next one if the group before does not answer
    /// in time. Without one, every approver of a tenant may decide.
    pub(crate) groups: Vec<ApproverGroupConfig>,
}

/// A group of approvers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApproverGroupConfig {
    /// Its name.
    pub(crate) name: Label,
    /// The tenant whose approvals it gets; those of every tenant if absent.
    #[serde(default)]
    pub(crate) tenant: Option<TenantId>,
    /// Its members.
    pub(crate) users: BTreeSet<UserId>,
    /// How long an approval waits for the group before it goes to the next one, in seconds.
    #[serde(default = "answers_within_s")]
    pub(crate) answers_within_s: NonZeroU64,
}

fn answers_within_s() -> NonZeroU64 {
    ANSWERS_WITHIN_S
}

impl Default for ApprovalsConfig {
    fn default() -> Self {
        Self {
            four_eyes: None,
            ttl_s: 24 * 3_600,
            groups: Vec::new(),
        }
    }
}

impl ApprovalsConfig {
    /// Refuses groups without members, and names that are used twice in a tenant.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        if self.groups.len() > MOST_GROUPS {
            bail!("approvals.groups: at most {MOST_GROUPS}");
        }
        for (at, group) in self.groups.iter().enumerate() {
            let name = &group.name;
            if group.users.is_empty() {
                bail!("approvals.groups: `{name}` has no users, who could approve");
            }
            let twice = self.groups[..at]
                .iter()
                .any(|earlier| earlier.name == *name && earlier.tenant == group.tenant);
            if twice {
                bail!("approvals.groups: `{name}` is defined twice");
            }
        }
        Ok(())
    }

    /// The groups as the engine takes them.
    pub(crate) fn approver_groups(&self) -> Vec<ApproverGroup> {
        let groups = self.groups.iter().map(|group| ApproverGroup {
            name: group.name.clone(),
            tenant: group.tenant.clone(),
            users: group.users.clone(),
            answers_within: Duration::from_secs(group.answers_within_s.get()),
        });
        groups.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(groups: serde_json::Value) -> Result<(), String> {
        let config = ApprovalsConfig {
            groups: serde_json::from_value(groups).unwrap(),
            ..ApprovalsConfig::default()
        };
        config.check().map_err(|error| error.to_string())
    }

    #[test]
    fn a_group_has_members_and_a_name_of_its_own() {
        use serde_json::json;
        let one = json!({"name": "on-call", "users": ["bob"]});
        let other = json!({"name": "on-call", "tenant": "acme", "users": ["bob"]});
        assert_eq!(checked(json!([one, other])), Ok(()));
        let twice = checked(json!([one, one])).unwrap_err();
        assert_eq!(twice, "approvals.groups: `on-call` is defined twice");
        let empty = checked(json!([{"name": "leads", "users": []}])).unwrap_err();
        assert!(empty.contains("`leads` has no users"), "{empty}");
    }
}
