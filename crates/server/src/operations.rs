//! The required permissions of each operation: one table for REST, MCP and A2A.
//!
//! Operations missing from the table are denied. The engine checks the level for a decision (an approval, a key, a
//! global package) when the decision is made.

use std::collections::HashMap;

use axum::http::Method;
use charter_contract::error_code::ErrorCode;
use charter_engine::AccessScope::{
    self, AdminRead, AdminWrite, ApprovalsRead, ApprovalsWrite, CatalogueRead, CatalogueWrite,
    EvidenceRead, EvidenceWrite, MemoryRead, MemoryWrite, MissionsRead, MissionsWrite,
    RequestsRead, RequestsWrite, RunsRead, RunsWrite,
};
use charter_engine::{Caller, CatalogueRole, EngineError};
use serde_json::json;
use utoipa::openapi::path::Operation;
use utoipa::openapi::{OpenApi, PathItem};

use crate::query::QueryNames;

/// The required permission of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequiredPermission {
    /// None: there is no caller.
    Public,
    /// Any caller, regardless of scopes: it is about the caller, or contains another operation with its own rule.
    Caller,
    /// All of these scopes.
    Scopes(&'static [AccessScope]),
    /// The scope and catalogue role for changes of the catalogue; the engine requires more for a global change.
    Edit,
}

use RequiredPermission::{Edit, Public, Scopes};

/// The scopes to read requests, runs and missions.
const LOOKS: RequiredPermission = Scopes(&[RequestsRead, RunsRead, MissionsRead]);

/// The scopes to stop any of these.
const STOPS: RequiredPermission = Scopes(&[RequestsWrite, RunsWrite, MissionsWrite]);

/// Every operation: of REST by its id in the OpenAPI document, of the other protocols by protocol and name.
const TABLE: &[(&str, RequiredPermission)] = &[
    // No caller needed.
    ("get_agent_card", Public),
    ("get_agent_card_keys", Public),
    ("list_schemas", Public),
    ("get_openapi", Public),
    ("get_schema", Public),
    // Signed: the signature is the credential.
    ("receive_webhook", Public),
    // No caller: the signature of Slack's app is checked with the request.
    ("decide_in_slack", Public),
    ("complete_sign_in", Public),
    ("get_sign_in_options", Public),
    ("start_sign_in", Public),
    // Any caller, regardless of scopes.
    ("delete_console_session", RequiredPermission::Caller),
    ("get_caller", RequiredPermission::Caller),
    ("get_console_session", RequiredPermission::Caller),
    // Connected accounts: the caller's own; the engine asks for an admin where it is another user's.
    ("list_credentials", Scopes(&[RunsRead])),
    ("get_credential", Scopes(&[RunsRead])),
    ("connect_credential", Scopes(&[RunsWrite])),
    ("complete_credential", Scopes(&[RunsWrite])),
    ("disconnect_credential", Scopes(&[RunsWrite])),
    ("list_credential_accounts", Scopes(&[AdminRead])),
    // Requests, sessions and tags.
    ("create_request", Scopes(&[RequestsWrite])),
    ("confirm_request", Scopes(&[RequestsWrite])),
    ("list_requests", Scopes(&[RequestsRead])),
    ("get_tags", Scopes(&[RequestsRead])),
    ("create_session", Scopes(&[RequestsWrite])),
    ("put_tags", Scopes(&[RequestsWrite])),
    ("get_request", Scopes(&[RequestsRead])),
    ("get_session", Scopes(&[RequestsRead])),
    // Runs.
    ("abort_run", Scopes(&[RunsWrite])),
    ("confirm_run", Scopes(&[RunsWrite])),
    ("list_events", Scopes(&[RunsRead])),
    ("list_executor_call_files", Scopes(&[RunsWrite])),
    ("set_run_parameters", Scopes(&[RunsWrite])),
    ("lease_executor_call", Scopes(&[RunsWrite])),
    ("list_runs", Scopes(&[RunsRead])),
    ("pause_run", Scopes(&[RunsWrite])),
    ("renew_executor_lease", Scopes(&[RunsWrite])),
    ("replay_run", Scopes(&[RunsRead])),
    ("report_executor_outcome", Scopes(&[RunsWrite])),
    ("resume_run", Scopes(&[RunsWrite])),
    ("rollback_run", Scopes(&[RunsWrite])),
    ("list_run_events", Scopes(&[RunsRead])),
    ("get_run", Scopes(&[RunsRead])),
    ("get_run_at", Scopes(&[RunsRead])),
    ("get_run_content", Scopes(&[RunsRead])),
    ("start_playbook_run", Scopes(&[RunsWrite])),
    ("start_run", Scopes(&[RunsWrite])),
    ("invoke_tool", Scopes(&[RunsWrite])),
    // Schedules; the engine asks for the scope of the work that is enabled.
    ("delete_schedule", Scopes(&[RunsWrite])),
    ("enable_schedule", Scopes(&[RunsWrite])),
    ("get_schedule", Scopes(&[RunsRead])),
    ("get_schedule_occurrence", Scopes(&[RunsRead])),
    ("get_schedule_report", Scopes(&[RunsRead])),
    ("list_schedule_occurrences", Scopes(&[RunsRead])),
    ("list_schedules", Scopes(&[RunsRead])),
    ("pause_schedule", Scopes(&[RunsWrite])),
    ("resume_schedule", Scopes(&[RunsWrite])),
    ("start_schedule", Scopes(&[RunsWrite])),
    // Approvals.
    ("approve", Scopes(&[ApprovalsWrite])),
    ("preview_approval", Scopes(&[ApprovalsWrite])),
    ("escalate_approval", Scopes(&[ApprovalsWrite])),
    ("report_approval_result", Scopes(&[ApprovalsWrite])),
    ("list_approvals", Scopes(&[ApprovalsRead])),
    ("reject", Scopes(&[ApprovalsWrite])),
    ("get_approval", Scopes(&[ApprovalsRead])),
    // The catalogue, lenses and skills.
    ("accept_route_example", Edit),
    ("list_agent_skill_children", Scopes(&[CatalogueRead])),
    ("get_agent_skill_file", Scopes(&[CatalogueRead])),
    ("list_agent_skill_files", Scopes(&[CatalogueRead])),
    ("list_agent_skill_roots", Scopes(&[CatalogueRead])),
    ("get_agent_skills_mapping", Scopes(&[CatalogueRead])),
    ("bulk_agent_skills", Edit),
    ("delete_agent_skill", Edit),
    ("delete_tool", Edit),
    ("diff_package", Scopes(&[CatalogueRead])),
    ("diff_package_versions", Scopes(&[CatalogueRead])),
    ("get_document_dependencies", Scopes(&[CatalogueRead])),
    ("explain_gate", Scopes(&[CatalogueRead])),
    ("get_agent_skill_instruction", Scopes(&[CatalogueRead])),
    ("import_agent_skills", Edit),
    ("lint_agent_skills", Scopes(&[CatalogueRead])),
    ("list_documents", Scopes(&[CatalogueRead])),
    ("list_lenses", Scopes(&[CatalogueRead])),
    ("list_packages", Scopes(&[CatalogueRead])),
    ("list_route_examples", Edit),
    ("list_package_history", Scopes(&[CatalogueRead])),
    ("promote_candidate", Edit),
    ("get_published_agent_skills", Scopes(&[CatalogueRead])),
    ("get_published_agent_skill_file", Scopes(&[CatalogueRead])),
    ("put_agent_skill", Edit),
    ("query_graph", Scopes(&[CatalogueRead])),
    ("register_package", Edit),
    ("register_tool", Edit),
    ("reindex_lens", Edit),
    ("reject_route_example", Edit),
    ("resolve_agent", Scopes(&[CatalogueRead])),
    ("resolve_guardrails", Scopes(&[CatalogueRead])),
    ("resolve_mission_type", Scopes(&[CatalogueRead])),
    ("resolve_playbook", Scopes(&[CatalogueRead])),
    ("resolve_policies", Scopes(&[CatalogueRead])),
    ("resolve_prompt_template", Scopes(&[CatalogueRead])),
    ("resolve_skill", Scopes(&[CatalogueRead])),
    ("resolve_template", Scopes(&[CatalogueRead])),
    ("resolve_tool", Scopes(&[CatalogueRead])),
    ("resolve_tools", Scopes(&[CatalogueRead])),
    ("rollback_package", Edit),
    ("route_query", Scopes(&[CatalogueRead])),
    ("search_agent_skills", Scopes(&[CatalogueRead])),
    ("search_lens", Scopes(&[CatalogueRead])),
    ("search_lenses", Scopes(&[CatalogueRead])),
    ("get_agent_skill", Scopes(&[CatalogueRead])),
    ("get_catalogue", Scopes(&[CatalogueRead])),
    ("get_document", Scopes(&[CatalogueRead])),
    ("get_lens", Scopes(&[CatalogueRead])),
    ("get_tool", Scopes(&[CatalogueRead])),
    ("unregister_package", Edit),
    ("validate_package", Scopes(&[CatalogueRead])),
    ("withdraw_route_example", Edit),
    // Missions.
    ("cancel_mission", Scopes(&[MissionsWrite])),
    ("claim_mission_assignment", Scopes(&[MissionsWrite])),
    ("diff_missions", Scopes(&[MissionsRead])),
    ("export_mission", Scopes(&[MissionsRead])),
    ("import_mission", Scopes(&[MissionsWrite])),
    ("list_mission_artifacts", Scopes(&[MissionsRead])),
    ("list_mission_assignments", Scopes(&[MissionsRead])),
    ("list_missions", Scopes(&[MissionsRead])),
    ("list_mission_events", Scopes(&[MissionsRead])),
    ("replay_mission", Scopes(&[MissionsRead])),
    ("get_mission", Scopes(&[MissionsRead])),
    ("get_mission_artifact", Scopes(&[MissionsRead])),
    ("get_mission_assignment", Scopes(&[MissionsRead])),
    ("release_mission_assignment", Scopes(&[MissionsWrite])),
    ("start_mission", Scopes(&[MissionsWrite])),
    ("submit_mission_assignment", Scopes(&[MissionsWrite])),
    // Memories.
    ("accept_memory", Scopes(&[MemoryWrite])),
    ("search_memories", Scopes(&[MemoryRead])),
    ("list_memories", Scopes(&[MemoryRead])),
    ("list_memory_versions", Scopes(&[MemoryRead])),
    ("reject_memory", Scopes(&[MemoryWrite])),
    ("list_related_memories", Scopes(&[MemoryRead])),
    ("create_memory", Scopes(&[MemoryWrite])),
    ("delete_memory", Scopes(&[MemoryWrite])),
    ("get_memory", Scopes(&[MemoryRead])),
    ("supersede_memory", Scopes(&[MemoryWrite])),
    // Evidence.
    ("attach_evidence", Scopes(&[EvidenceWrite])),
    ("submit_evidence", Scopes(&[EvidenceWrite])),
    ("get_evidence_checkpoint", Scopes(&[EvidenceRead])),
    ("get_evidence_consistency_proof", Scopes(&[EvidenceRead])),
    ("get_evidence_key", Scopes(&[EvidenceRead])),
    ("get_evidence_proof", Scopes(&[EvidenceRead])),
    ("export_evidence", Scopes(&[EvidenceRead])),
    ("list_evidence", Scopes(&[EvidenceRead])),
    ("get_evidence", Scopes(&[EvidenceRead])),
    // Notifications; the engine asks for an admin.
    ("list_notifications", Scopes(&[AdminRead])),
    ("list_notification_channels", Scopes(&[AdminRead])),
    (
        "test_notification_channel",
        Scopes(&[AdminRead, AdminWrite]),
    ),
    // Keys.
    ("create_key", Scopes(&[AdminWrite])),
    ("list_keys", Scopes(&[AdminRead])),
    ("revoke_key", Scopes(&[AdminWrite])),
    ("rotate_key", Scopes(&[AdminWrite])),
    ("get_key", Scopes(&[AdminRead])),
    // A2A: the bindings, and the methods in them. A task is a request or a mission, and a reply may control its run.
    ("a2a_act_on_task", RequiredPermission::Caller),
    ("a2a_call", RequiredPermission::Caller),
    ("a2a_list_tasks", RequiredPermission::Caller),
    ("a2a_push", RequiredPermission::Caller),
    ("a2a_send_message", RequiredPermission::Caller),
    ("a2a_stream_message", RequiredPermission::Caller),
    ("a2a_get_task", RequiredPermission::Caller),
    ("get_extended_agent_card", RequiredPermission::Caller),
    ("a2a:CancelTask", STOPS),
    ("a2a:GetExtendedAgentCard", Scopes(&[CatalogueRead])),
    ("a2a:GetTask", LOOKS),
    ("a2a:ListTasks", LOOKS),
    ("a2a:PushNotifications", Scopes(&[])),
    ("a2a:SendMessage", STOPS),
    ("a2a:SendStreamingMessage", STOPS),
    ("a2a:SubscribeToTask", LOOKS),
    // MCP: tools and other methods by their names, resources by the kind of their data.
    ("mcp:ask_lens", Scopes(&[CatalogueRead])),
    ("mcp:call", Scopes(&[RunsWrite])),
    ("mcp:cancel", STOPS),
    ("mcp:claim_assignment", Scopes(&[MissionsWrite])),
    ("mcp:find", Scopes(&[CatalogueRead])),
    ("mcp:open", Scopes(&[CatalogueRead])),
    ("mcp:recall", Scopes(&[MemoryRead])),
    ("mcp:remember", Scopes(&[MemoryWrite])),
    ("mcp:run", Scopes(&[RequestsWrite, RunsWrite])),
    ("mcp:start_mission", Scopes(&[MissionsWrite])),
    ("mcp:status", LOOKS),
    ("mcp:submit_assignment", Scopes(&[MissionsWrite])),
    ("mcp:completion/complete", Scopes(&[CatalogueRead])),
    ("mcp:logging/setLevel", Scopes(&[])),
    ("mcp:prompts/get", Scopes(&[CatalogueRead])),
    ("mcp:prompts/get of a server", Scopes(&[RunsWrite])),
    ("mcp:prompts/list", Scopes(&[CatalogueRead])),
    ("mcp:resources/list", Scopes(&[CatalogueRead, EvidenceRead])),
    ("mcp:resources/read content", Scopes(&[RunsRead])),
    ("mcp:resources/read evidence", Scopes(&[EvidenceRead])),
    ("mcp:resources/read mission", Scopes(&[MissionsRead])),
    ("mcp:resources/read server", Scopes(&[RunsWrite])),
    ("mcp:resources/read skill", Scopes(&[CatalogueRead])),
    ("mcp:skills/get", Scopes(&[CatalogueRead])),
    ("mcp:skills/list", Scopes(&[CatalogueRead])),
    ("mcp:tasks/cancel", STOPS),
    ("mcp:tasks/get", LOOKS),
    ("mcp:tasks/update", STOPS),
];

/// Paths of the A2A binding that the OpenAPI document omits, because they only answer with a refusal.
const UNDESCRIBED: [(&str, [Method; 2]); 2] = [
    (
        "/a2a/v1/tasks/{id}/pushNotificationConfigs",
        [Method::GET, Method::POST],
    ),
    (
        "/a2a/v1/tasks/{id}/pushNotificationConfigs/{config}",
        [Method::GET, Method::DELETE],
    ),
];

/// The methods of operations.
const METHODS: [Method; 5] = [
    Method::GET,
    Method::PUT,
    Method::POST,
    Method::DELETE,
    Method::PATCH,
];

/// The required permission of an operation; `None` if the table does not have it.
pub(crate) fn required_permission(operation: &str) -> Option<RequiredPermission> {
    let found = TABLE.iter().find(|(name, _)| *name == operation);
    found.map(|(_, need)| *need)
}

/// Admits a caller to an operation, or refuses the caller.
///
/// # Errors
/// `permission_denied`, with the missing scope or catalogue role.
pub(crate) fn admit(operation: &str, caller: &Caller) -> Result<(), EngineError> {
    admit_to(operation, required_permission(operation), caller)
}

fn admit_to(
    operation: &str,
    need: Option<RequiredPermission>,
    caller: &Caller,
) -> Result<(), EngineError> {
    let denied = |message: String| EngineError::new(ErrorCode::PermissionDenied, message);
    let scopes: &[AccessScope] = match need {
        Some(Public | RequiredPermission::Caller) => &[],
        Some(Scopes(scopes)) => scopes,
        Some(Edit) => &[CatalogueWrite],
        None => {
            return Err(denied(format!(
                "denied: operation `{operation}` has no access rule"
            )));
        }
    };
    if let Some(missing) = scopes.iter().find(|scope| !caller.scopes.opens(**scope)) {
        let message =
            format!("this needs the scope `{missing}`, which the credential does not have");
        return Err(denied(message).with_details(json!({"scope": missing})));
    }
    let editor = CatalogueRole::Editor;
    if need == Some(Edit) && caller.catalogue < editor {
        let message = format!("this needs the catalogue role `{editor}`");
        return Err(denied(message).with_details(json!({"catalogue": editor})));
    }
    Ok(())
}

/// Where the Model Context Protocol is served. Its operations are named in the bodies of requests.
pub(crate) const MCP_PATH: &str = "/mcp";

/// The operations of REST by method and path.
#[derive(Debug)]
pub(crate) struct Operations(HashMap<(Method, String), Described>);

/// An operation: its id, and its query parameters.
#[derive(Debug, Clone)]
struct Described {
    id: String,
    query: QueryNames,
}

impl Operations {
    /// Reads the operations of the OpenAPI document.
    pub(crate) fn new(described: &OpenApi) -> Self {
        let mut found = HashMap::new();
        for (path, item) in &described.paths.paths {
            for (method, operation) in methods(item) {
                let operation = Described {
                    id: operation.operation_id.clone().unwrap_or_default(),
                    query: QueryNames::from_operation(operation),
                };
                found.insert((method, path.clone()), operation);
            }
        }
        for (path, methods) in UNDESCRIBED {
            for method in methods {
                let push = Described {
                    id: "a2a_push".to_owned(),
                    query: QueryNames::Any,
                };
                found.insert((method, path.to_owned()), push);
            }
        }
        Self(found)
    }

    /// Adds the operations of `path` at further addresses, where these have none of their own for a method.
    pub(crate) fn with_aliases(
        mut self,
        path: &str,
        aliases: impl Iterator<Item = String>,
    ) -> Self {
        for alias in aliases {
            for method in METHODS {
                let one = self.0.get(&(method.clone(), path.to_owned())).cloned();
                if let Some(one) = one {
                    self.0.entry((method, alias.clone())).or_insert(one);
                }
            }
        }
        self
    }

    /// The operation of a route.
    fn find_operation(&self, method: &Method, path: &str) -> Option<&Described> {
        // A HEAD needs the permission of the GET.
        let method = if method == Method::HEAD {
            &Method::GET
        } else {
            method
        };
        self.0.get(&(method.clone(), path.to_owned()))
    }

    /// The query parameters of a route; `None` for a route without a description.
    pub(crate) fn query(&self, method: &Method, path: &str) -> Option<&QueryNames> {
        self.find_operation(method, path)
            .map(|operation| &operation.query)
    }

    /// Admits a caller to a route's operation; a route without a description is denied.
    pub(crate) fn admit(
        &self,
        method: &Method,
        path: &str,
        caller: &Caller,
    ) -> Result<(), EngineError> {
        match self.find_operation(method, path) {
            Some(operation) => admit(&operation.id, caller),
            None => admit_to(path, None, caller),
        }
    }

    /// The methods of an address, by the path that the router matched.
    pub(crate) fn methods(&self, path: &str) -> Vec<Method> {
        if path == MCP_PATH {
            return vec![Method::GET, Method::POST, Method::DELETE];
        }
        let place = |method: &Method| (method.clone(), path.to_owned());
        let mut methods = Vec::from(METHODS);
        methods.retain(|method| self.0.contains_key(&place(method)));
        if methods.is_empty() {
            // A page or a probe, which have no description.
            methods.push(Method::GET);
        }
        if methods.contains(&Method::GET) {
            methods.push(Method::HEAD);
        }
        methods
    }
}

fn methods(item: &PathItem) -> impl Iterator<Item = (Method, &Operation)> {
    let methods = [
        (Method::GET, &item.get),
        (Method::PUT, &item.put),
        (Method::POST, &item.post),
        (Method::DELETE, &item.delete),
        (Method::PATCH, &item.patch),
    ];
    methods
        .into_iter()
        .filter_map(|(method, operation)| Some((method, operation.as_ref()?)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use charter_engine::AccessScopes;

    use super::*;
    use crate::router::operations;

    fn described() -> BTreeSet<String> {
        let document = crate::openapi::document();
        let paths = document["paths"].as_object().unwrap().values();
        let operations = paths.flat_map(|item| item.as_object().unwrap().values());
        let ids = operations.filter_map(|operation| operation["operationId"].as_str());
        ids.map(str::to_owned).collect()
    }

    /// A new operation is denied until it is in the table, and a removed one must leave it.
    #[test]
    fn every_operation_of_the_document_is_in_the_table() {
        let listed = TABLE.iter().map(|(name, _)| (*name).to_owned());
        let mut listed: BTreeSet<String> = listed.filter(|name| !name.contains(':')).collect();
        assert!(listed.remove("a2a_push"));
        assert_eq!(listed, described());
        assert_eq!(
            TABLE.len(),
            TABLE
                .iter()
                .map(|(name, _)| name)
                .collect::<BTreeSet<_>>()
                .len()
        );
    }

    /// Every path of the router under the API is found by the path that the router matched.
    #[test]
    fn every_operation_is_found_by_its_path() {
        let found = operations().0.into_values();
        let found: BTreeSet<String> = found.map(|operation| operation.id).collect();
        let mut expected = described();
        expected.insert("a2a_push".to_owned());
        assert_eq!(found, expected);
    }

    #[test]
    fn a_path_accepts_only_methods_with_an_operation() {
        let operations = operations();
        let methods = |path: &str| {
            let methods = operations.methods(path);
            let names = methods.iter().map(Method::as_str);
            names.collect::<Vec<_>>().join(" ")
        };
        for (path, expected) in [
            ("/v1/route", "GET HEAD"),
            ("/v1/requests", "GET POST HEAD"),
            ("/v1/memories", "GET POST HEAD"),
            ("/v1/evidence/{id}", "GET HEAD"),
            ("/v1/agent-skills/search", "GET PUT POST DELETE HEAD"),
            (
                "/a2a/v1/tasks/{id}/pushNotificationConfigs/{config}",
                "GET DELETE HEAD",
            ),
            ("/mcp", "GET POST DELETE"),
            ("/healthz", "GET HEAD"),
        ] {
            assert_eq!(methods(path), expected, "{path}");
        }
    }

    #[test]
    fn every_tool_and_method_of_other_protocols_is_in_the_table() {
        for entry in &crate::mcp::TOOLS {
            let name = (entry.tool)().name;
            assert!(
                required_permission(&format!("mcp:{name}")).is_some(),
                "{name}"
            );
        }
        for method in crate::a2a::METHODS {
            assert!(
                required_permission(&format!("a2a:{method:?}")).is_some(),
                "{method:?}"
            );
        }
    }

    /// A missing scope is named; with all of them, the operation is allowed.
    #[test]
    fn each_operation_needs_each_of_its_scopes() {
        for (operation, need) in TABLE {
            let scopes: &[AccessScope] = match need {
                Public | RequiredPermission::Caller => &[],
                Scopes(scopes) => scopes,
                Edit => &[CatalogueWrite],
            };
            let mut caller = Caller::local().unwrap();
            caller.scopes = AccessScopes::Only(scopes.iter().copied().collect());
            assert!(admit(operation, &caller).is_ok(), "{operation}");
            for missing in scopes {
                let others = AccessScope::ALL.iter().filter(|scope| *scope != missing);
                caller.scopes = AccessScopes::Only(others.copied().collect());
                let refused = admit(operation, &caller).unwrap_err();
                assert_eq!(refused.code, ErrorCode::PermissionDenied);
                assert_eq!(
                    refused.details,
                    Some(json!({"scope": missing})),
                    "{operation}"
                );
            }
        }
    }

    #[test]
    fn a_viewer_cannot_change_the_catalogue() {
        let mut caller = Caller::local().unwrap();
        caller.catalogue = CatalogueRole::Viewer;
        for (operation, need) in TABLE {
            assert_eq!(
                admit(operation, &caller).is_err(),
                *need == Edit,
                "{operation}"
            );
        }
    }

    #[test]
    fn an_operation_without_a_rule_is_denied() {
        let caller = Caller::local().unwrap();
        let refused = admit("made_up", &caller).unwrap_err();
        assert_eq!(refused.code, ErrorCode::PermissionDenied);
        let refused = operations().admit(&Method::GET, "/v1/made-up", &caller);
        assert_eq!(refused.unwrap_err().code, ErrorCode::PermissionDenied);
    }
}
