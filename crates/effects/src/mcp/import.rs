//! Converts a server's definition of a tool to a document of the catalogue, or explains why it cannot. Pure. A server's
//! claims about a tool's effects (its annotations) are not trusted.

mod arguments;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use charter_contract::canonical;
use charter_contract::catalogue::tool::{IMPORTED_PREFIX, Tool, ToolClass};
use charter_contract::catalogue::vocabulary::PermissionLevel;
use charter_contract::foreign_schema::SchemaAllowance;
use charter_contract::validate;
use charter_contract::violation::Violation;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{ImportedTool, McpServerOptions, SkippedTool};
use crate::text::clean;
pub(super) use arguments::null_when_absent;
use arguments::{Parameters, parameters};

/// Largest definition of one tool, in bytes of JSON.
const MAX_DEFINITION_BYTES: usize = 64 << 10;
/// Most characters of a tool's description that are kept.
const MAX_DESCRIPTION: usize = 1_000;
/// Most characters of a reason.
const MAX_REASON: usize = 300;
/// Most characters of a reason's location.
const MAX_PLACE: usize = 80;
/// The field of a document that its answers are checked against, and the note for a tool without it.
const OUTPUT_SCHEMA: &str = "output_schema";
const UNCHECKED: &str = "its output schema, so answers are not checked";
/// Longest id of a catalogue document.
const MAX_ID: usize = 200;
/// Characters of an invalid name that remain in the id.
const KEPT_OF_NAME: usize = 100;

/// Converts a list of tools: returns the documents by id, and the tools that are left out. Compiles their schemas,
/// which may take seconds if the server is malicious.
#[must_use]
pub fn import_tools(
    options: &McpServerOptions,
    listed: &[rmcp::model::Tool],
) -> (Vec<ImportedTool>, Vec<SkippedTool>) {
    let mut tools: BTreeMap<String, ImportedTool> = BTreeMap::new();
    let mut left_out = Vec::new();
    let mut leave = |tool: &str, part: Option<String>, reason: &str| {
        left_out.push(SkippedTool {
            tool: clean(tool, MAX_REASON),
            part,
            reason: clean(reason, MAX_REASON),
        });
    };
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let mut schemas = SchemaAllowance::of_server();
    for tool in listed {
        if !names.insert(&tool.name) {
            leave(&tool.name, None, "the server lists it twice");
            continue;
        }
        match document(options, tool, &mut schemas) {
            Err(reason) => leave(&tool.name, None, &reason),
            Ok((made, without)) => match tools.entry(made.document.tool_id.to_string()) {
                Entry::Occupied(taken) => {
                    let reason = format!("another tool has the id `{}`", taken.key());
                    leave(&tool.name, None, &reason);
                }
                Entry::Vacant(free) => {
                    free.insert(made);
                    for (part, reason) in without {
                        leave(&tool.name, Some(part), &reason);
                    }
                }
            },
        }
    }
    for name in &options.readonly {
        if !names.contains(name.as_str()) {
            leave(
                name,
                None,
                "`readonly` names it, but the server does not list it",
            );
        }
    }
    (tools.into_values().collect(), left_out)
}

/// Returns `sha256:…` of every part of a definition that affects a call or its appearance. Pictures and protocol
/// metadata do not.
pub(super) fn digest(tool: &rmcp::model::Tool) -> String {
    let said = json!({
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": &*tool.input_schema,
        "outputSchema": tool.output_schema.as_deref(),
        "annotations": tool.annotations,
    });
    hash(&canonical::text(said))
}

fn hash(text: &str) -> String {
    let digits = Sha256::digest(text);
    let digits: String = digits.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digits}")
}

/// Parts of a tool that are left out, each with its reason.
type OmittedParts = Vec<(String, String)>;

fn document(
    options: &McpServerOptions,
    tool: &rmcp::model::Tool,
    schemas: &mut SchemaAllowance,
) -> Result<(ImportedTool, OmittedParts), String> {
    let size = json!(tool).to_string().len();
    if size > MAX_DEFINITION_BYTES {
        return Err(format!(
            "its definition has {size} bytes, more than {MAX_DEFINITION_BYTES}"
        ));
    }
    let server = options.name.as_ref();
    let reads = options.readonly.contains(&*tool.name);
    let (class, permission) = if reads {
        (ToolClass::Readonly, PermissionLevel::User)
    } else {
        (ToolClass::Write, PermissionLevel::System)
    };
    let said = clean(
        tool.description.as_deref().unwrap_or_default(),
        MAX_DESCRIPTION,
    );
    let told = if said.is_empty() {
        format!("A tool of the MCP server `{server}`, without a description.")
    } else {
        format!("The MCP server `{server}` describes it as: {said}")
    };
    let Parameters { written, left_out } = parameters(&tool.input_schema)?;
    let mut without: OmittedParts = Vec::new();
    for (name, reason) in left_out {
        let name = clean(&name, MAX_PLACE);
        without.push((format!("the parameter `{name}`"), reason));
    }
    let id = id_of(server, &tool.name);
    let name = id[IMPORTED_PREFIX.len() + server.len() + 1..].to_owned();
    let mut document = json!({
        "tool_id": id,
        "name": name,
        "provider": "mcp",
        "service": server,
        "tool_class": class,
        "domain": "platform",
        "description": told,
        "parameters": written,
        "execution_target": "server",
        "language": "mcp",
        "requires_approval": !reads,
        "permission_level": permission,
        "timeout_ms": u64::try_from(options.timeout.as_millis()).unwrap_or(u64::MAX),
        "implementation": {
            "type": "mcp", "server": server, "tool": tool.name, "definition": digest(tool),
            "input_schema": &*tool.input_schema,
        },
    });
    if let Some(schema) = &tool.output_schema {
        let with = json!(&**schema);
        match schemas.take_schema(schema) {
            Ok(()) => document[OUTPUT_SCHEMA] = with,
            Err(spent) => without.push((UNCHECKED.to_owned(), spent.to_string())),
        }
    }
    let document = read(document, &mut without)?;
    let imported = ImportedTool {
        content_hash: hash(&canonical::text(json!(document))),
        document,
    };
    Ok((imported, without))
}

/// Returns the document of a tool; without its output schema, if that is its only fault.
fn read(mut document: Value, without: &mut OmittedParts) -> Result<Tool, String> {
    let violations = match validate::read_value::<Tool>(&document) {
        Ok((tool, _)) => return Ok(tool),
        Err(violations) => violations,
    };
    let of_output = |wrong: &Violation| {
        let rest = wrong.pointer.strip_prefix('/');
        rest.is_some_and(|rest| rest.split('/').next() == Some(OUTPUT_SCHEMA))
    };
    let alone = violations.iter().all(of_output);
    let said: Vec<String> = violations.into_iter().map(reason).collect();
    let said = said.join("; ");
    let removed = document
        .as_object_mut()
        .and_then(|fields| fields.remove(OUTPUT_SCHEMA));
    if !alone || removed.is_none() {
        return Err(said);
    }
    without.push((UNCHECKED.to_owned(), said));
    read(document, without)
}

/// Formats a violation; a long location leaves room for the reason.
fn reason(wrong: Violation) -> String {
    let pointer = clean(&wrong.pointer, MAX_PLACE);
    Violation { pointer, ..wrong }.to_string()
}

/// Returns `mcp.<server>.<tool>`. In a name that is too long or has invalid characters, these are replaced by `_`, it
/// is cut, and the beginning of its SHA-256 is appended, so that ids do not collide.
fn id_of(server: &str, name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let first = name
        .chars()
        .next()
        .is_some_and(|c| c.is_ascii_alphanumeric());
    let plain = format!("{IMPORTED_PREFIX}{server}.{name}");
    if first && name.chars().all(fits) && plain.len() <= MAX_ID {
        return plain;
    }
    let kept = name.chars().take(KEPT_OF_NAME);
    let kept: String = kept.map(|c| if fits(c) { c } else { '_' }).collect();
    let digest = hash(name);
    let digits = &digest["sha256:".len()..][..8];
    format!("{IMPORTED_PREFIX}{server}.x{kept}-{digits}")
}

#[cfg(test)]
mod tests;
