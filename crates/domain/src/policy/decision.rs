//! The policies' input and decision in Charter's terms. Knows nothing of Cedar.

use std::collections::BTreeMap;
use std::fmt;

use charter_contract::catalogue::policy::{MissionFacts, RunKind};
use charter_contract::catalogue::tool::Tool;
use charter_contract::catalogue::vocabulary::Role;
use charter_contract::ids::{PolicyId, TenantId, ToolId, UserId};
use charter_contract::package::PackageScope;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One exact call to decide about.
#[derive(Debug, Clone, Copy)]
pub struct PolicyQuestion<'a> {
    /// The caller.
    pub principal: Principal<'a>,
    /// The tool, in the version that would be called.
    pub tool: &'a Tool,
    /// The resolved arguments, with defaults.
    pub arguments: &'a Map<String, Value>,
    /// Whether this is a dry run.
    pub dry_run: bool,
    /// The run that the call belongs to.
    pub run: &'a RunFacts,
}

/// The caller.
#[derive(Debug, Clone, Copy)]
pub struct Principal<'a> {
    /// The tenant, from the credential.
    pub tenant: &'a TenantId,
    /// The user within the tenant.
    pub user: &'a UserId,
    /// The caller's level.
    pub role: Role,
}

/// A run and its history, from its journal before this call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFacts {
    /// The kind of the executed document.
    pub kind: RunKind,
    /// The id of the skill, playbook or other document; for a single call, the id of the tool.
    pub subject: String,
    /// The mission's metadata.
    pub mission: Option<MissionFacts>,
    /// The users that approved exactly this call.
    pub approvers: Vec<UserId>,
    /// The number of approvals in the run so far, for any call.
    pub approvals: u64,
    /// The number of calls that the run has begun so far, by tool.
    pub calls: BTreeMap<ToolId, u64>,
}

/// One Cedar rule of a policy document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rule {
    /// The document.
    pub policy_id: PolicyId,
    /// The rule's `@id`.
    pub rule: String,
    /// The document's layer: two layers may have documents with the same id.
    pub scope: PackageScope,
    /// The rule's `@message` for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A layer that governs a tool without a rule that permits the call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Unpermitted {
    /// The layer.
    pub scope: PackageScope,
    /// Its documents that govern the tool.
    pub governed_by: Vec<PolicyId>,
}

/// A rule or document that cannot be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PolicyFailure {
    /// The document, if only one document is faulty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_id: Option<PolicyId>,
    /// The reason.
    pub message: String,
}

/// The decision of the policies in force about one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum PolicyDecision {
    /// No policy governs the tool.
    Ungoverned,
    /// Every layer that governs the tool permits the call, by these rules.
    Allow {
        /// The rules, ordered by id.
        by: Vec<Rule>,
    },
    /// The call is denied.
    Deny(Denial),
}

/// The reasons for a denial; at least one of the lists is not empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// Rules that forbid it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forbidden_by: Vec<Rule>,
    /// Layers that do not permit the call: the default is to deny.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unpermitted: Vec<Unpermitted>,
    /// Rules and documents that could not be evaluated, which denies the call too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<PolicyFailure>,
}

impl Denial {
    pub(super) fn of_failures(failures: Vec<PolicyFailure>) -> Self {
        Self {
            failures,
            ..Self::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.forbidden_by.is_empty() && self.unpermitted.is_empty() && self.failures.is_empty()
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}#{}`", self.policy_id, self.rule)?;
        match &self.message {
            Some(message) => write!(f, " ({message})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let forbidden = self
            .forbidden_by
            .iter()
            .map(|rule| format!("forbidden by {rule}"));
        let unpermitted = self.unpermitted.iter().map(|layer| {
            let ids: Vec<String> = layer
                .governed_by
                .iter()
                .map(|id| format!("`{id}`"))
                .collect();
            format!("no rule of {} permits it", ids.join(", "))
        });
        let failures = self
            .failures
            .iter()
            .map(|failure| match &failure.policy_id {
                Some(id) => format!("`{id}` failed: {}", failure.message),
                None => failure.message.clone(),
            });
        let reasons: Vec<String> = forbidden.chain(unpermitted).chain(failures).collect();
        f.write_str(&reasons.join("; "))
    }
}

impl fmt::Display for PolicyDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ungoverned => f.write_str("ungoverned: no policy governs the tool"),
            Self::Allow { by } => {
                let rules: Vec<String> = by.iter().map(ToString::to_string).collect();
                write!(f, "allowed by {}", rules.join(", "))
            }
            Self::Deny(denial) => write!(f, "denied: {denial}"),
        }
    }
}
