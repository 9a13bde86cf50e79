//! Policies (this project; no collection of the seeds): Cedar texts over tool calls, with the
//! tools that they govern and tests. Parsing, validation and decision are the domain's business.

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

/// A policy: Cedar over the calls of the tools that it governs. A governed tool is called only
/// where a policy permits it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Policy {
    /// Its id.
    pub policy_id: PolicyId,
    /// The domain it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainId>,
    /// Its title.
    pub title: Text,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// Globs on dot segments, over tool ids: `aws.*`.
    #[schemars(length(min = 1, max = crate::list::MAX_LIST))]
    #[serde(deserialize_with = "crate::list::one_or_more")]
    pub governs: Vec<Glob>,
    /// One or more Cedar policies, each with an `@id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cedar: Option<Text>,
    /// A file of the package that holds the Cedar text instead; `cedar` is filled from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<Text>,
    /// Calls with the decision that they must get.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<PolicyTest>,
    /// Its tenant; absent for a global one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Whether it is in force.
    #[serde(default)]
    pub status: Status,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// When it was first registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it was last registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

/// A call with the decision that the policies of its package must give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct PolicyTest {
    /// What it shows.
    pub name: ShortText,
    /// Who calls.
    #[serde(default)]
    pub principal: TestPrincipal,
    /// What is called.
    pub tool: ToolId,
    /// With which arguments; the tool's defaults are filled in.
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// Under which circumstances.
    #[serde(default)]
    pub context: TestContext,
    /// The decision.
    pub expect: Expectation,
}

/// The caller of a test.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct TestPrincipal {
    /// Its role; `user` when absent.
    #[serde(default)]
    pub role: Role,
    /// Its tenant; `tenant` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// Its user; `user` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
}

/// The circumstances of a test.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct TestContext {
    /// Whether nothing is to be changed; the argument `dry_run` when absent, as in a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
    /// The run that the call belongs to.
    #[serde(default)]
    pub run: TestRun,
}

/// The run of a test.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct TestRun {
    /// What is executed; `skill` when absent.
    #[serde(default)]
    pub kind: RunKind,
    /// The id of the skill, playbook or other document; `test` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<DocumentId>,
    /// What the mission says of itself; absent for whatever else is executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mission: Option<MissionFacts>,
    /// Who approved exactly this call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<UserId>,
    /// Approvals that the run was given so far.
    #[serde(default)]
    pub approvals: Count,
    /// Calls that the run began so far, by tool id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<String, Count>,
}

/// What a mission's envelope says of it to policies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct MissionFacts {
    /// How risky it is.
    pub risk_level: RiskLevel,
    /// How sensitive its data are.
    pub sensitivity_class: Label,
}

string_enum! {
    /// What a run executes (this project): everything compiles to one graph of steps.
    #[derive(Default)]
    pub enum RunKind {
        /// A skill's plan.
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
        /// One tool call on its own.
        ToolCall = "tool_call",
        /// The analysis of what several runs of a request answered.
        Analysis = "analysis",
    }
}

string_enum! {
    /// What a policy test expects.
    pub enum Expectation {
        /// A policy permits the call.
        Allow = "allow",
        /// A policy forbids it, or none permits it.
        Deny = "deny",
        /// No policy of the package governs the tool.
        Ungoverned = "ungoverned",
    }
}

impl Contract for Policy {
    const NAME: SchemaName = SchemaName::Policy;

    // Checks what the schema cannot say.
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
