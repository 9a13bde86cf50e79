//! The policy question about tools before they are called.

use std::collections::BTreeMap;

use charter_contract::catalogue::policy::RunKind;
use charter_contract::catalogue::tool::Tool;
use charter_contract::parameter::{Parameter, ParameterType};
use charter_domain::policy::{PolicyQuestion, Principal, RunFacts};
use serde_json::{Map, Value, json};

use super::stage::StageExecution;
use crate::execution::runs::StageRunner;

/// Builds a call of the tool from the defaults or examples of its parameters.
pub(super) fn sample(tool: &Tool) -> Map<String, Value> {
    let shown = tool.parameters().iter().filter_map(|parameter| {
        let value = parameter
            .default
            .clone()
            .filter(|value| !value.is_null())
            .or_else(|| parameter.example.clone())
            .or_else(|| parameter.allowed.as_ref()?.first().cloned())
            .or_else(|| parameter.required.then(|| plain(parameter)))?;
        Some((parameter.name.to_string(), value))
    });
    shown.collect()
}

fn plain(parameter: &Parameter) -> Value {
    match parameter.kind {
        ParameterType::String => json!(""),
        ParameterType::Number | ParameterType::Integer => json!(0),
        ParameterType::Boolean => json!(false),
        ParameterType::Array => json!([]),
        ParameterType::Object => json!({}),
    }
}

/// Returns the facts of a mission before its first call.
pub(super) fn facts(work: &StageExecution) -> RunFacts {
    RunFacts {
        kind: RunKind::Mission,
        subject: work.desk.kind.mission_type.to_string(),
        mission: Some(work.desk.facts()),
        approvers: Vec::new(),
        approvals: 0,
        calls: BTreeMap::new(),
    }
}

/// Builds the policy question about a tool.
pub(super) fn question<'a>(
    work: &'a StageExecution,
    tool: &'a Tool,
    arguments: &'a Map<String, Value>,
    run: &'a RunFacts,
) -> PolicyQuestion<'a> {
    PolicyQuestion {
        principal: Principal {
            tenant: &work.caller.tenant,
            user: &work.caller.user,
            role: work.caller.role,
        },
        tool,
        arguments,
        dry_run: false,
        run,
    }
}
