//! Guesses the contract of a document from its contents. A guess may be wrong, and never accepts a document.

use serde_json::Value;

use crate::schema::SchemaName;

/// Returns the most likely contract of a document, from its `schema_name`, the prefix of its `id`, or fields that only
/// one contract has.
#[must_use]
pub fn guess(value: &Value) -> Option<SchemaName> {
    let fields = value.as_object()?;
    if let Some(name) = fields.get("schema_name").and_then(Value::as_str) {
        return name.parse().ok();
    }
    let has = |names: &[&str]| names.iter().all(|name| fields.contains_key(*name));
    by_prefix(
        fields.get("id").and_then(Value::as_str).unwrap_or_default(),
        &has,
    )
    .or_else(|| {
        BY_FIELDS
            .iter()
            .find(|(names, _)| has(names))
            .map(|(_, name)| *name)
    })
}

/// Guesses by the id prefixes of the agent contracts.
fn by_prefix(id: &str, has: &impl Fn(&[&str]) -> bool) -> Option<SchemaName> {
    const PREFIXES: &[(&str, SchemaName)] = &[
        ("req-", SchemaName::AgentRequest),
        ("resp-", SchemaName::AgentResponse),
        ("tool-", SchemaName::ToolDefinition),
        ("mem-", SchemaName::MemoryEntry),
        ("plan-", SchemaName::ExecutionPlan),
        ("inv-", SchemaName::ToolInvocation),
        ("sess-", SchemaName::Session),
        ("ctx-", SchemaName::ContextModel),
        ("fso-", SchemaName::FileSystemOperation),
        ("env-", SchemaName::EnvironmentAccess),
        ("net-", SchemaName::NetworkRequest),
        ("pipe-", SchemaName::PipelineDefinition),
        ("tree-", SchemaName::DecisionTree),
    ];
    // A graph node may be named `tool-x` or `env-y`; its type field identifies it.
    if has(&["type", "domain"]) || has(&["type", "provider"]) {
        return None;
    }
    PREFIXES
        .iter()
        .find(|(prefix, _)| id.starts_with(prefix))
        .map(|(_, name)| *name)
}

/// Fields that identify a contract, most specific first.
const BY_FIELDS: &[(&[&str], SchemaName)] = &[
    (&["error_id"], SchemaName::AgentError),
    (&["flow", "persona"], SchemaName::TagRecord),
    (&["captured_at"], SchemaName::Evidence),
    (&["console_links"], SchemaName::Evidence),
    (&["template_id", "structure"], SchemaName::Template),
    (&["finding_id", "rule_id"], SchemaName::Finding),
    (&["playbook_id"], SchemaName::Playbook),
    (&["guardrail_id"], SchemaName::Guardrail),
    (&["policy_id"], SchemaName::Policy),
    (&["prompt_id"], SchemaName::PromptTemplate),
    (&["mission_type", "domain"], SchemaName::MissionType),
    (&["lens_id"], SchemaName::DomainLens),
    (&["schedule_id"], SchemaName::Schedule),
    (&["template_id"], SchemaName::Template),
    (&["skill_id", "is_folder"], SchemaName::AgentSkill),
    (&["skill_id", "instruction"], SchemaName::AgentSkill),
    (&["agent_id"], SchemaName::Agent),
    (&["skill_id"], SchemaName::Skill),
    (&["lease_id"], SchemaName::ExecutorCall),
    (&["tool_id"], SchemaName::Tool),
    (&["domain_id"], SchemaName::Domain),
    (&["from", "to"], SchemaName::GraphEdge),
    (&["invocation_id"], SchemaName::ToolResult),
    (&["request_id", "input"], SchemaName::AgentRequest),
    (&["input", "timestamp"], SchemaName::AgentRequest),
    (&["request_id", "content"], SchemaName::AgentResponse),
    (&["result_schema"], SchemaName::ToolDefinition),
    (&["files"], SchemaName::PackageBundle),
    (&["result", "duration_ms"], SchemaName::ExecutorOutcome),
    (&["query", "expect"], SchemaName::RoutingTest),
    (&["query", "expect_miss"], SchemaName::RoutingTest),
    (&["query", "expect_not"], SchemaName::RoutingTest),
    (&["id", "type"], SchemaName::GraphNode),
    (&["name", "version", "scope"], SchemaName::PackageManifest),
    (&["name", "version", "licence"], SchemaName::PackageManifest),
];
