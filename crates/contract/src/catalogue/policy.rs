//! Policies (this project; no collection of the seeds): Cedar texts over tool calls, with the tools that they govern
//! and their tests. The domain crate parses, validates and evaluates them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::guardrail::Glob;
use super::vocabulary::{Role, Status};
use crate::ids::{DocumentId, DomainId, Label, PolicyId, TenantId, ToolId, UserId};
use crate::mission::envelope::RiskLevel;
use crate::number::Count;
use crate::schema::SchemaName;
use crate::text::{ShortText, Text, Version};
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(
    Policy,
    PolicyTest,
    TestPrincipal,
    TestContext,
    TestRun,
    MissionFacts
);

/// A policy: Cedar rules for the calls of the governed tools. A governed tool may be called only if a policy permits
/// the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Policy {
    /// Id of the policy.
    pub policy_id: PolicyId,
    /// Domain of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainId>,
    /// Title.
    pub title: Text,
    /// Purpose of the policy.
    #[serde(default)]
    pub description: String,
    /// Globs on dot segments, matched with tool ids: `aws.*`; at least one.
    #[schemars(length(min = 1, max = crate::list::MAX_LIST))]
    #[serde(deserialize_with = "crate::list::one_or_more")]
    pub governs: Vec<Glob>,
    /// Cedar text: one or more Cedar policies, each with an `@id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cedar: Option<Text>,
    /// Path of a package file with the Cedar text; registration fills `cedar` from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<Text>,
    /// Test calls with their expected decisions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<PolicyTest>,
    /// Tenant of the policy; absent for a global one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Whether the policy is in force.
    #[serde(default)]
    pub status: Status,
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

/// A test call with the expected decision of the package's policies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct PolicyTest {
    /// Summary of the result.
    pub name: ShortText,
    /// Caller.
    #[serde(default)]
    pub principal: TestPrincipal,
    /// Tool to call.
    pub tool: ToolId,
    /// Arguments of the call; the tool's defaults are filled in.
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// Circumstances of the call.
    #[serde(default)]
    pub context: TestContext,
    /// Expected decision.
    pub expect: Expectation,
}

/// The caller of a policy test.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct TestPrincipal {
    /// Level; `user` when absent.
    #[serde(default)]
    pub role: Role,
    /// Tenant; `tenant` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// User; `user` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
}

/// The circumstances of a policy test.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct TestContext {
    /// Whether the call is a dry run; the argument `dry_run` when absent, as in a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
    /// Run that the call belongs to.
    #[serde(default)]
    pub run: TestRun,
}

/// The run of a policy test.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct TestRun {
    /// Kind of run; `skill` when absent.
    #[serde(default)]
    pub kind: RunKind,
    /// Id of the skill, playbook or other document; `test` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<DocumentId>,
    /// Facts about the mission; absent for other runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mission: Option<MissionFacts>,
    /// Users who approved exactly this call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<UserId>,
    /// Number of approvals granted in the run so far.
    #[serde(default)]
    pub approvals: Count,
    /// Number of calls that the run started so far, by tool id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<String, Count>,
}

/// Facts from a mission's envelope that policies can use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct MissionFacts {
    /// Risk level of the mission.
    pub risk_level: RiskLevel,
    /// Data sensitivity of the mission.
    pub sensitivity_class: Label,
}

string_enum! {
    /// Kind of a run (this project): each compiles to one graph of steps.
    #[derive(Default)]
    pub enum RunKind {
        /// The plan of a skill.
        #[default]
        Skill = "skill",
        /// A playbook.
        Playbook = "playbook",
        /// An ExecutionPlan of seed 003.
        ExecutionPlan = "execution_plan",
        /// A PipelineDefinition of seed 003.
        Pipeline = "pipeline",
        /// A DecisionTree of seed 003.
        DecisionTree = "decision_tree",
        /// A mission of seed 002.
        Mission = "mission",
        /// A single tool call.
        ToolCall = "tool_call",
        /// The analysis of the results of several runs of a request.
        Analysis = "analysis",
    }
}

string_enum! {
    /// Expected decision of a policy test.
    pub enum Expectation {
        /// A policy permits the call.
        Allow = "allow",
        /// A policy forbids the call, or none permits it.
        Deny = "deny",
        /// No policy of the package governs the tool.
        Ungoverned = "ungoverned",
    }
}

impl Contract for Policy {
    const NAME: SchemaName = SchemaName::Policy;

    // Checks the rules that the schema cannot express.
    fn check(&self, report: &mut Report) {
        if self.cedar.is_none() && self.file.is_none() {
            let message = "a policy needs its Cedar text: `cedar`, or `file`".to_owned();
            report.meaning("/cedar", "required", message);
        }
        if let Some(file) = &self.file
            && !super::tool::is_package_path(file.as_str())
        {
            let message = format!("`{file}` does not stay inside the package");
            report.meaning("/file", "relative_path", message);
        }
        for (at, test) in self.tests.iter().enumerate() {
            if self.tests[..at]
                .iter()
                .any(|earlier| earlier.name == test.name)
            {
                let message = format!("the test `{}` is duplicated", test.name);
                report.meaning(format!("/tests/{at}/name"), "unique", message);
            }
        }
    }
}
