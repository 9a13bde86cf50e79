//! Builds the call of a tool from its document: body, grants, limits. Decides nothing.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use charter_contract::catalogue::tool::{Implementation, Tool, ToolClass};
use charter_contract::catalogue::vocabulary::{ExecutionTarget, Language};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::TenantId;
use charter_domain::run::{ErrorKind, StepFailure};
use charter_domain::script::{PythonSource, python_returns};
use charter_effects::{
    BuiltinGrants, BuiltinTool, ClientCall, ClientGrants, DryRun, HostPattern, HttpTool, Limits,
    McpTool, OutputBudget, PackageFiles, Repeat, ScriptTool, Target, ToolCall, ToolImplementation,
};
use serde_json::{Value, json};

use super::effect::{Prepared, failure};
use super::tool_calls::ToolCallService;
use crate::ground::grants::ToolGrants;
use crate::ground::moments;
use crate::ground::servers::ToolServer;
use crate::identity::credentials::CallSecrets;

impl Prepared {
    /// Builds the call for the tool runner.
    pub(super) fn tool_call(
        self,
        calls: &ToolCallService,
        secrets: CallSecrets,
        idempotency_key: String,
        room: Arc<dyn OutputBudget>,
    ) -> Result<ToolCall, StepFailure> {
        let document = &self.tool.entry.document;
        let grants = calls.grants.for_tenant(&self.tenant);
        let mut environment = grants.variables(&document.environment);
        let readable = grants.files(&environment);
        environment.extend(secrets.variables);
        let server = server(document, grants);
        let egress = egress(document, grants, server.as_ref().map(|(_, server)| *server))?;
        // A secret goes to the hosts that it is for, and a tool without network access gets none by it. The hosts of an
        // MCP server's tool are not those of its document.
        let is_of_server = matches!(document.implementation, Some(Implementation::Mcp { .. }));
        let egress = match secrets.hosts {
            Some(hosts) if is_of_server || !egress.is_empty() => hosts,
            Some(_) | None => egress,
        };
        let begin_within = self
            .approved_until
            .map(|end| moments::span(calls.clock.now(), end));
        let dry_run = DryRun::from(self.dry_run);
        let target = target(document, &self.tenant, dry_run, begin_within);
        let mut implementation = match self.script {
            Some(script) => ToolImplementation::Script(script),
            None => implementation(document, &self.tool.files, &grants.builtin)?,
        };
        if let ToolImplementation::Mcp(tool) = &mut implementation {
            tool.link = calls.linked.link_of_effect(&idempotency_key);
        }
        if let (ToolImplementation::Http(tool), Some((url, _))) = (&mut implementation, server) {
            tool.url = url;
        }
        Ok(ToolCall {
            tool_id: document.tool_id.clone(),
            implementation,
            target,
            parameters: self.call.parameters,
            dry_run,
            limits: Limits {
                timeout: self.timeout,
                ..Limits::default()
            },
            environment,
            egress,
            readable,
            idempotency_key,
            room,
        })
    }
}

/// Returns the URL of an HTTP tool with the address that the operator names for its server, and the server.
fn server<'g>(document: &Tool, grants: &'g ToolGrants) -> Option<(String, &'g ToolServer)> {
    match &document.implementation {
        Some(Implementation::Http { url, .. }) => grants.server(url.as_str()),
        Some(_) | None => None,
    }
}

/// Returns the hosts that a tool may reach by its document and the operator's grants.
fn egress(
    document: &Tool,
    grants: &ToolGrants,
    server: Option<&ToolServer>,
) -> Result<Vec<HostPattern>, StepFailure> {
    let own = grants.hosts(&document.egress);
    let mut egress = own.map_err(|fault| {
        let cause = fault.source().map(ToString::to_string).unwrap_or_default();
        let message = format!("{fault} of `{}`: {cause}", document.tool_id);
        failure(ErrorKind::SystemError, ErrorCode::InvalidDocument, message)
    })?;
    // The operator names the address, so it may be private. A tool without network access gets none by it.
    if !egress.is_empty() {
        egress.extend(server.map(|server| server.host().clone()));
    }
    Ok(egress)
}

/// Returns where a tool runs.
fn target(
    tool: &Tool,
    tenant: &TenantId,
    dry_run: DryRun,
    begin_within: Option<Duration>,
) -> Target {
    match tool.execution_target {
        ExecutionTarget::Server => Target::Here,
        ExecutionTarget::Client => Target::Client(ClientCall {
            tenant: tenant.clone(),
            grants: match &tool.implementation {
                None => ClientGrants::Own,
                Some(_) => ClientGrants::Asked {
                    environment: tool.environment.clone(),
                    egress: tool.egress.clone(),
                },
            },
            repeat: repeat(tool, dry_run),
            begin_within,
        }),
    }
}

/// The names of parameters on the tool's server, where they differ from the names in Charter.
fn wire_names(tool: &Tool) -> BTreeMap<String, String> {
    let renamed = tool.parameters().iter().filter_map(|parameter| {
        let wire_name = parameter.wire_name.as_ref()?;
        Some((parameter.name.to_string(), wire_name.to_string()))
    });
    renamed.collect()
}

/// A call that only reads, or only reports what it would do, is safe to repeat.
fn repeat(tool: &Tool, dry_run: DryRun) -> Repeat {
    let reads = match tool.tool_class {
        ToolClass::Readonly => true,
        ToolClass::Write | ToolClass::Internal => false,
    };
    if reads || tool.idempotent || dry_run == DryRun::Yes {
        Repeat::Safe
    } else {
        Repeat::Unsafe
    }
}

fn not_called(what: String) -> StepFailure {
    let message = what + ", which is not called as a tool";
    failure(ErrorKind::SystemError, ErrorCode::ToolFailed, message)
}

fn implementation(
    tool: &Tool,
    files: &Arc<PackageFiles>,
    builtin: &Arc<BuiltinGrants>,
) -> Result<ToolImplementation, StepFailure> {
    let unsupported = |what: &str| {
        let message = format!(
            "the tool `{}` has no {what} that can be run here",
            tool.tool_id
        );
        failure(ErrorKind::SystemError, ErrorCode::ToolFailed, message)
    };
    let own = |body: Body<'_>| {
        script(tool.tool_id.as_ref(), tool.language, body, files)
            .unwrap_or_else(|| Err(unsupported("script")))
            .map(ToolImplementation::Script)
    };
    match &tool.implementation {
        // The client has its own implementation.
        None if tool.execution_target == ExecutionTarget::Client => Ok(ToolImplementation::Handler),
        None => Err(unsupported("implementation")),
        Some(Implementation::Builtin { name }) => Ok(ToolImplementation::Builtin(BuiltinTool {
            name: *name,
            grants: Arc::clone(builtin),
        })),
        Some(Implementation::Stage { stage }) => {
            Err(not_called(format!("`{stage}` is a stage of missions")))
        }
        Some(Implementation::Analysis {}) => Err(not_called(
            "the analysis of results is a step of its own".to_owned(),
        )),
        Some(Implementation::Mcp {
            server,
            tool: name,
            definition,
            input_schema: _,
        }) => Ok(ToolImplementation::Mcp(McpTool {
            server: server.clone(),
            name: name.to_string(),
            definition: definition.to_string(),
            wire_names: wire_names(tool),
            repeat: repeat(tool, DryRun::No),
            link: None,
        })),
        Some(Implementation::Script { path, body }) => match (path, body) {
            (Some(path), _) => own(Body::File(path.as_str())),
            (None, Some(body)) => match returning(tool.language, body.as_str()) {
                Some(source) => own(Body::Launched(&source)),
                None => own(Body::Text(body.as_str())),
            },
            (None, None) => Err(unsupported("script")),
        },
        Some(Implementation::Http {
            method,
            url,
            headers,
            query,
            list_separators,
            body,
            body_format,
        }) => Ok(ToolImplementation::Http(HttpTool {
            method: *method,
            url: url.to_string(),
            headers: headers
                .iter()
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect(),
            query: query
                .iter()
                .map(|(k, v)| (k.clone(), Value::String(v.clone())))
                .collect(),
            list_separators: list_separators.clone(),
            body: body.clone(),
            body_format: *body_format,
        })),
    }
}

/// Python with a `return` outside of every function, which is not valid as a program.
fn returning(language: Language, body: &str) -> Option<PythonSource> {
    let returns = language == Language::Python && python_returns(body);
    returns.then(|| PythonSource {
        text: body.to_owned(),
        reads: BTreeMap::new(),
        returns,
    })
}

/// The location of a script's source.
#[derive(Debug, Clone, Copy)]
pub(super) enum Body<'b> {
    /// In a file of its package.
    File(&'b str),
    /// Inline in the document.
    Text(&'b str),
    /// Inline in the document, as Python that the launcher runs.
    Launched(&'b PythonSource),
}

/// Builds a script that is ready to run; `None` for a language without scripts.
pub(super) fn script(
    name: &str,
    language: Language,
    body: Body<'_>,
    files: &Arc<PackageFiles>,
) -> Option<Result<ScriptTool, StepFailure>> {
    let language = match language {
        Language::Python => charter_effects::Language::Python,
        Language::Bash => charter_effects::Language::Bash,
        Language::Http | Language::Builtin | Language::Mcp => return None,
    };
    let entry = format!("scripts/{name}");
    let alone = match body {
        Body::File(path) => {
            return Some(Ok(ScriptTool {
                language,
                entry: path.to_owned(),
                files: Arc::clone(files),
            }));
        }
        Body::Text(text) => BTreeMap::from([(entry.clone(), text.to_owned())]),
        Body::Launched(source) => launched(&entry, source),
    };
    Some(match PackageFiles::new(alone) {
        Ok(files) => Ok(ScriptTool {
            language,
            entry,
            files: Arc::new(files),
        }),
        Err(error) => {
            let code = ErrorCode::InvalidDocument;
            Err(failure(ErrorKind::SystemError, code, error.to_string()))
        }
    })
}

/// The launcher of Python that is inline in a document.
const LAUNCHER: &str = include_str!("launch_body.py");

/// The launcher's files: the launcher itself, and the source that it runs.
fn launched(entry: &str, source: &PythonSource) -> BTreeMap<String, String> {
    let told = json!({"reads": source.reads, "returns": source.returns});
    BTreeMap::from([
        (entry.to_owned(), LAUNCHER.to_owned()),
        (format!("{entry}.body"), source.text.clone()),
        (format!("{entry}.reads"), told.to_string()),
    ])
}
