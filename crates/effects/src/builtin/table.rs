//! The one list of built-in tools: what each takes, answers, needs and is bounded by. Their
//! catalogue documents are made from it, calls are checked against it, and `docs/reference/builtin-tools.md`
//! is held to it.

mod parameter;

use charter_contract::catalogue::builtin::Builtin;
use charter_contract::catalogue::tool::Tool;
use charter_contract::catalogue::vocabulary::PermissionLevel;
use charter_contract::validate;
use charter_contract::violation::Violation;
use serde_json::{Value, json};

use parameter as takes;
pub(super) use parameter::Parameter;

/// Returns the catalogue documents of all built-in tools.
///
/// # Errors
/// The violations of an invalid document; tests ensure that the table has none.
pub fn documents() -> Result<Vec<Tool>, Vec<Violation>> {
    let built = Builtin::ALL.iter().map(|builtin| document(*builtin));
    let read = |value: Value| validate::read_value::<Tool>(&value).map(|(tool, _)| tool);
    built.map(read).collect()
}

fn document(builtin: Builtin) -> Value {
    let (service, _) = builtin
        .as_str()
        .split_once('.')
        .unwrap_or((builtin.as_str(), ""));
    let parameters: Vec<Value> = parameters(builtin)
        .iter()
        .map(Parameter::document)
        .collect();
    json!({
        "tool_id": builtin.tool_id(),
        "name": builtin.as_str(),
        "provider": "charter",
        "service": service,
        "tool_class": builtin.tool_class(),
        "domain": "platform",
        "description": description(builtin),
        "parameters": parameters,
        "output_schema": output(builtin),
        "execution_target": "server",
        "language": "builtin",
        "requires_approval": requires_approval(builtin),
        "rate_limit": rate_limit(builtin),
        "permission_level": permission(builtin),
        "implementation": { "type": "builtin", "name": builtin },
    })
}

fn description(builtin: Builtin) -> &'static str {
    match builtin {
        Builtin::FsRead => "Reads a file below a granted root, or a range of its lines.",
        Builtin::FsWrite => "Replaces the content of an existing file atomically.",
        Builtin::FsCreate => {
            "Creates a file atomically; replaces an existing one only with `overwrite`."
        }
        Builtin::FsEdit => "Replaces, inserts and removes ranges of lines of a text file.",
        Builtin::FsMove => "Moves a file or directory within the same root.",
        Builtin::FsCopy => "Copies a file, or a directory with its content.",
        Builtin::FsDelete => "Removes a file, a link or a directory.",
        Builtin::FsList => "Lists a directory, and with `recursive` its subdirectories.",
        Builtin::FsSearch => "Finds lines that match in text files.",
        Builtin::FsStat => "Shows a file's kind, size and times.",
        Builtin::FsMakeDirectory => "Creates a directory.",
        Builtin::EnvGet => "Reads granted environment variables.",
        Builtin::NetGet => "Fetches from a granted host over HTTP, by GET or HEAD.",
        Builtin::NetRequest => "Sends an HTTP request of any method to a granted host.",
        Builtin::WebSearch => "Searches the web by the provider that the operator configured.",
        Builtin::CommandRun => "Runs a granted program in the sandbox, without a shell or network.",
        Builtin::Visualise => "Builds a chart as a Vega-Lite 5 document with its data in it.",
    }
}

/// Returns the required permission: users may read, operators may change, administrators may run programs.
fn permission(builtin: Builtin) -> PermissionLevel {
    match builtin {
        Builtin::FsRead
        | Builtin::FsList
        | Builtin::FsSearch
        | Builtin::FsStat
        | Builtin::NetGet
        | Builtin::WebSearch
        | Builtin::Visualise => PermissionLevel::User,
        Builtin::FsWrite
        | Builtin::FsCreate
        | Builtin::FsEdit
        | Builtin::FsMove
        | Builtin::FsCopy
        | Builtin::FsDelete
        | Builtin::FsMakeDirectory
        | Builtin::EnvGet
        | Builtin::NetRequest => PermissionLevel::System,
        Builtin::CommandRun => PermissionLevel::Admin,
    }
}

/// Ruling 10: irreversible operations require approval first.
fn requires_approval(builtin: Builtin) -> bool {
    matches!(
        builtin,
        Builtin::FsDelete | Builtin::NetRequest | Builtin::CommandRun
    )
}

/// Returns the rate limit per tenant. A limit applies if calls cost the operator money elsewhere.
fn rate_limit(builtin: Builtin) -> Option<Value> {
    (builtin == Builtin::WebSearch).then(|| json!({ "requests_per_minute": 60, "burst": 10 }))
}

/// Returns the parameters of a tool.
pub(super) fn parameters(builtin: Builtin) -> &'static [Parameter] {
    match builtin {
        Builtin::FsRead => takes::FS_READ,
        Builtin::FsWrite => takes::FS_WRITE,
        Builtin::FsCreate => takes::FS_CREATE,
        Builtin::FsEdit => takes::FS_EDIT,
        Builtin::FsMove => takes::FS_MOVE,
        Builtin::FsCopy => takes::FS_COPY,
        Builtin::FsDelete => takes::FS_DELETE,
        Builtin::FsList => takes::FS_LIST,
        Builtin::FsSearch => takes::FS_SEARCH,
        Builtin::FsStat => takes::FS_STAT,
        Builtin::FsMakeDirectory => takes::FS_MAKE_DIRECTORY,
        Builtin::EnvGet => takes::ENV_GET,
        Builtin::NetGet => takes::NET_GET,
        Builtin::NetRequest => takes::NET_REQUEST,
        Builtin::WebSearch => takes::WEB_SEARCH,
        Builtin::CommandRun => takes::COMMAND_RUN,
        Builtin::Visualise => takes::VISUALISE,
    }
}

/// Returns the JSON Schema of a tool's answer. The answer of a dry run has fewer fields, so only `actions` is required.
fn output(builtin: Builtin) -> Value {
    let text = json!({ "type": "string" });
    let count = json!({ "type": "integer", "minimum": 0 });
    let flag = json!({ "type": "boolean" });
    let content = json!({
        "type": "object", "required": ["hash", "size"],
        "properties": { "hash": text, "size": count },
    });
    let list_of = |properties: Value| json!({ "type": "array", "items": { "type": "object", "properties": properties } });
    let own = match builtin {
        Builtin::FsRead => json!({
            "path": text, "size": count, "hash": text, "encoding": text, "binary": flag,
            "content": { "type": ["string", "null"] },
            "lines": { "type": ["object", "null"], "properties": { "start_line": count, "end_line": count } },
        }),
        Builtin::FsWrite | Builtin::FsCreate | Builtin::FsEdit => {
            json!({ "path": text, "before": content, "after": content })
        }
        Builtin::FsMove | Builtin::FsCopy => json!({ "path": text, "destination": text }),
        Builtin::FsDelete => json!({ "path": text, "removed": count }),
        Builtin::FsList => json!({
            "path": text, "truncated": flag,
            "entries": list_of(json!({
                "path": text, "kind": text, "size": count, "usable": flag,
                "modified": { "type": ["string", "null"] },
            })),
        }),
        Builtin::FsSearch => json!({
            "path": text, "truncated": flag, "files_searched": count, "binary_files": count,
            "skipped_files": count,
            "matches": list_of(json!({ "path": text, "line": count, "text": text })),
        }),
        Builtin::FsStat => json!({
            "path": text, "kind": text, "size": count, "mode": text, "links": count,
            "modified": { "type": ["string", "null"] },
        }),
        Builtin::FsMakeDirectory => json!({ "path": text, "made": flag }),
        Builtin::EnvGet => json!({ "values": { "type": "object", "additionalProperties": text } }),
        Builtin::NetGet | Builtin::NetRequest => json!({ "response": {} }),
        Builtin::WebSearch => json!({
            "provider": text, "query": text,
            "results": list_of(json!({
                "title": text, "url": text, "snippet": text, "source_type": text,
                "published_at": text,
            })),
        }),
        Builtin::CommandRun => {
            json!({ "exit_code": { "type": "integer" }, "stdout": text, "stderr": text })
        }
        Builtin::Visualise => json!({ "specification": { "type": "object" } }),
    };
    let mut properties = json!({
        "dry_run": flag,
        "actions": {
            "type": "array",
            "items": { "type": "object", "required": ["action_type", "details"] },
        },
    });
    if let (Value::Object(all), Value::Object(own)) = (&mut properties, own) {
        all.extend(own);
    }
    json!({ "type": "object", "required": ["actions"], "properties": properties })
}

#[cfg(test)]
mod tests;
