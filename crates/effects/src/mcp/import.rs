//! Converts a server's definition of a tool to a document of the catalogue, or explains why it cannot. Pure. A server's
//! claims about a tool's effects (its annotations) are not trusted.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use charter_contract::canonical;
use charter_contract::catalogue::tool::{IMPORTED_PREFIX, Tool, ToolClass};
use charter_contract::catalogue::vocabulary::PermissionLevel;
use charter_contract::foreign_schema::SchemaAllowance;
use charter_contract::input_schema::ToolInput;
use charter_contract::parameter::Parameter;
use charter_contract::validate;
use charter_contract::violation::Violation;
use charter_contract::visible::clean;
use serde_json::{Value, json};

use super::offers::{self, content_hash};
use super::{ImportedTool, McpServerOptions, SkippedTool};

/// Largest definition of one tool, in bytes of JSON.
const MAX_DEFINITION_BYTES: usize = 64 << 10;
/// Most characters of a tool's description that are kept.
const MAX_DESCRIPTION: usize = 1_000;
/// Most characters of a reason.
const MAX_REASON: usize = 300;
/// Most characters of a reason's location.
const MAX_PLACE: usize = 80;
/// The field of a document that the arguments of its calls are checked against, and the note for a tool without it.
const INPUT_SCHEMA: &str = "input_schema";
const UNCHECKED_INPUT: &str = "its input schema, so only names and types of arguments are checked";
/// The field of a document that its answers are checked against, and the note for a tool without it.
const OUTPUT_SCHEMA: &str = "output_schema";
const UNCHECKED_OUTPUT: &str = "its output schema, so answers are not checked";
/// Longest id of a catalogue document.
const MAX_ID: usize = 200;
/// Characters of an invalid name that remain in the id.
const KEPT_OF_NAME: usize = 100;

/// Converts a list of tools: returns the documents by id, and the tools that are left out. A tool that is not offered is
/// in neither. Compiles their schemas, which may take seconds if the server is malicious.
#[must_use]
pub fn import_tools(
    options: &McpServerOptions,
    listed: &[rmcp::model::Tool],
) -> (Vec<ImportedTool>, Vec<SkippedTool>) {
    let own = offers::tools(options).into_iter();
    let own = own.map(|tool| (tool.document.tool_id.to_string(), tool));
    let mut tools: BTreeMap<String, ImportedTool> = own.collect();
    let mut left_out = Vec::new();
    let mut leave = |tool: &str, part: Option<String>, reason: &str| {
        left_out.push(SkippedTool {
            tool: clean(tool, MAX_REASON),
            part,
            reason: clean(reason, MAX_REASON),
        });
    };
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let mut allowances = Allowances {
        input: SchemaAllowance::of_server(),
        output: SchemaAllowance::of_server(),
    };
    for tool in listed {
        if !names.insert(&tool.name) {
            leave(&tool.name, None, "the server lists it twice");
            continue;
        }
        if !options.selection.offers(&tool.name) {
            continue;
        }
        match document(options, tool, &mut allowances) {
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
    let readonly = options.readonly.iter().map(|name| ("readonly", &**name));
    for (setting, name) in readonly.chain(options.selection.names()) {
        if !names.contains(name) {
            let reason = format!("`{setting}` names it, but the server does not list it");
            leave(name, None, &reason);
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
    content_hash(&canonical::text(said))
}

/// The remaining budgets for the schemas of a server's tools.
struct Allowances {
    input: SchemaAllowance,
    output: SchemaAllowance,
}

/// Parts of a tool that are left out, each with its reason.
type OmittedParts = Vec<(String, String)>;

fn document(
    options: &McpServerOptions,
    tool: &rmcp::model::Tool,
    allowances: &mut Allowances,
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
    let input = ToolInput::from_schema(&tool.input_schema.as_ref().clone().into());
    let mut without = omitted(&input)?;
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
        "execution_target": "server",
        "language": "mcp",
        "requires_approval": !reads,
        "permission_level": permission,
        "timeout_ms": u64::try_from(options.timeout.as_millis()).unwrap_or(u64::MAX),
        "implementation": {
            "type": "mcp", "server": server, "tool": tool.name, "definition": digest(tool),
        },
        "input_schema": &*tool.input_schema,
    });
    options.add_credential(&mut document);
    if let Err(spent) = allowances.input.take_schema(&tool.input_schema) {
        list_parameters(&mut document, &input);
        without.push((UNCHECKED_INPUT.to_owned(), spent.to_string()));
    }
    if let Some(schema) = &tool.output_schema {
        let with = json!(&**schema);
        match allowances.output.take_schema(schema) {
            Ok(()) => document[OUTPUT_SCHEMA] = with,
            Err(spent) => without.push((UNCHECKED_OUTPUT.to_owned(), spent.to_string())),
        }
    }
    let document = read(document, &input, &mut without)?;
    let imported = ImportedTool {
        content_hash: content_hash(&canonical::text(json!(document))),
        document,
    };
    Ok((imported, without))
}

/// Returns the arguments that no call can have, with the reasons.
///
/// # Errors
/// When a call needs such an argument.
fn omitted(input: &ToolInput) -> Result<OmittedParts, String> {
    let mut without = Vec::new();
    for argument in input.omitted() {
        let (name, reason) = (&argument.name, &argument.reason);
        if argument.required {
            return Err(format!("it needs the parameter `{name}`: {reason}"));
        }
        let name = clean(name, MAX_PLACE);
        without.push((format!("the parameter `{name}`"), reason.clone()));
    }
    Ok(without)
}

/// Replaces the input schema of a document by the parameters that can be read from it. The server still enforces its
/// schema.
fn list_parameters(document: &mut Value, input: &ToolInput) {
    if let Some(schema) = take_field(document, INPUT_SCHEMA) {
        document["implementation"][INPUT_SCHEMA] = schema;
    }
    let parameters = input.parameters().iter();
    let parameters = parameters.map(|parameter| Parameter {
        pattern: None,
        schema: None,
        ..parameter.clone()
    });
    document["parameters"] = json!(parameters.collect::<Vec<_>>());
}

fn take_field(document: &mut Value, name: &str) -> Option<Value> {
    document
        .as_object_mut()
        .and_then(|fields| fields.remove(name))
}

/// Returns the document of a tool; without its input or output schema, if these are its only faults.
fn read(
    mut document: Value,
    input: &ToolInput,
    without: &mut OmittedParts,
) -> Result<Tool, String> {
    let violations = match validate::read_value::<Tool>(&document) {
        Ok((tool, _)) => return Ok(tool),
        Err(violations) => violations,
    };
    let is_of = |wrong: &Violation, field: &str| {
        let rest = wrong.pointer.strip_prefix('/');
        rest.is_some_and(|rest| rest.split('/').next() == Some(field))
    };
    let mut of_input = Vec::new();
    let mut of_output = Vec::new();
    let mut of_others = Vec::new();
    for wrong in violations {
        let list = match (is_of(&wrong, INPUT_SCHEMA), is_of(&wrong, OUTPUT_SCHEMA)) {
            (true, _) => &mut of_input,
            (_, true) => &mut of_output,
            (false, false) => &mut of_others,
        };
        list.push(reason(wrong));
    }
    let can_omit =
        |faults: &[String], field: &str| faults.is_empty() || document.get(field).is_some();
    let can_omit = can_omit(&of_input, INPUT_SCHEMA) && can_omit(&of_output, OUTPUT_SCHEMA);
    if !of_others.is_empty() || !can_omit {
        let faults = [of_input, of_output, of_others].concat();
        return Err(faults.join("; "));
    }
    if !of_input.is_empty() {
        list_parameters(&mut document, input);
        without.push((UNCHECKED_INPUT.to_owned(), of_input.join("; ")));
    }
    if !of_output.is_empty() {
        take_field(&mut document, OUTPUT_SCHEMA);
        without.push((UNCHECKED_OUTPUT.to_owned(), of_output.join("; ")));
    }
    read(document, input, without)
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
    let digest = content_hash(name);
    let digits = &digest["sha256:".len()..][..8];
    format!("{IMPORTED_PREFIX}{server}.x{kept}-{digits}")
}

#[cfg(test)]
mod tests;
