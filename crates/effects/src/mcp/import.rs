//! From a server's definition of a tool to a document of the catalogue, or why there is none.
//! Pure. What a server says of a tool's effects (its annotations) is not believed.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use charter_contract::agentic::tool_definition::{ParameterDefinition, parameters_from_schema};
use charter_contract::canonical;
use charter_contract::catalogue::tool::{IMPORTED_PREFIX, Tool, ToolClass};
use charter_contract::catalogue::vocabulary::PermissionLevel;
use charter_contract::foreign_schema::SchemaAllowance;
use charter_contract::validate;
use charter_contract::violation::Violation;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{ImportedTool, LeftOut, McpServerOptions};
use crate::text::clean;

/// Largest definition of one tool, in bytes of JSON.
const MAX_DEFINITION_BYTES: usize = 64 << 10;
/// Most characters of a tool's description that are kept.
const MAX_DESCRIPTION: usize = 1_000;
/// Most characters of a parameter's description that are kept, its further rules apart.
const MAX_PARAMETER_DESCRIPTION: usize = 500;
/// Most characters of the rules of a parameter that its document cannot say.
const MAX_RULES: usize = 1_000;
/// Most characters of a reason.
const MAX_REASON: usize = 300;
/// Most characters of the place that a reason is about.
const MAX_PLACE: usize = 80;
/// Longest id of a catalogue document.
const MAX_ID: usize = 200;
/// How much of a name that does not fit stays in the id.
const KEPT_OF_NAME: usize = 100;

/// What a list of tools comes to: the documents by id, and what is left out. Schemas are compiled for it, which may take
/// seconds where a server means harm.
#[must_use]
pub fn import_tools(
    options: &McpServerOptions,
    listed: &[rmcp::model::Tool],
) -> (Vec<ImportedTool>, Vec<LeftOut>) {
    let mut tools: BTreeMap<String, ImportedTool> = BTreeMap::new();
    let mut left_out = Vec::new();
    let mut leave = |tool: &str, reason: &str| {
        left_out.push(LeftOut {
            tool: clean(tool, MAX_REASON),
            reason: clean(reason, MAX_REASON),
        });
    };
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let mut schemas = SchemaAllowance::of_server();
    for tool in listed {
        if !names.insert(&tool.name) {
            leave(&tool.name, "the server lists it twice");
            continue;
        }
        match document(options, tool, &mut schemas) {
            Err(reason) => leave(&tool.name, &reason),
            Ok(made) => match tools.entry(made.document.tool_id.to_string()) {
                Entry::Occupied(taken) => {
                    leave(
                        &tool.name,
                        &format!("another tool has the id `{}`", taken.key()),
                    );
                }
                Entry::Vacant(free) => {
                    free.insert(made);
                }
            },
        }
    }
    for name in &options.readonly {
        if !names.contains(name.as_str()) {
            leave(name, "`readonly` names it, and the server does not list it");
        }
    }
    (tools.into_values().collect(), left_out)
}

/// `sha256:…` of everything in a definition that bears on what a call is or seems to be. Pictures
/// and metadata of the protocol do not.
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

fn document(
    options: &McpServerOptions,
    tool: &rmcp::model::Tool,
    schemas: &mut SchemaAllowance,
) -> Result<ImportedTool, String> {
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
        format!("A tool of the MCP server `{server}`, which does not describe it.")
    } else {
        format!("The MCP server `{server}` says of it: {said}")
    };
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
        "parameters": parameters(&tool.input_schema)?,
        "execution_target": "server",
        "language": "mcp",
        "requires_approval": !reads,
        "permission_level": permission,
        "timeout_ms": u64::try_from(options.timeout.as_millis()).unwrap_or(u64::MAX),
        "implementation": {
            "type": "mcp", "server": server, "tool": tool.name, "definition": digest(tool),
        },
    });
    if let Some(schema) = &tool.output_schema {
        let taken = schemas.take_schema(schema);
        taken.map_err(|spent| spent.to_string())?;
        document["output_schema"] = json!(&**schema);
    }
    let (document, _) = validate::read_value::<Tool>(&document).map_err(|violations| {
        let said: Vec<String> = violations.into_iter().map(reason).collect();
        said.join("; ")
    })?;
    Ok(ImportedTool {
        content_hash: hash(&canonical::text(json!(document))),
        document,
    })
}

/// What is wrong with a document, so that a long way to it does not leave no room for it.
fn reason(wrong: Violation) -> String {
    let pointer = clean(&wrong.pointer, MAX_PLACE);
    Violation { pointer, ..wrong }.to_string()
}

/// `mcp.<server>.<tool>`. A name with other characters than an id has, or that is too long, is cut,
/// gets `_` in their place, and the beginning of its SHA-256, so that no two meet by it.
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

/// The parameters of a tool, as the catalogue writes them.
fn parameters(schema: &Map<String, Value>) -> Result<Vec<Value>, String> {
    let plain = plain_object(schema);
    let definitions = parameters_from_schema(&plain).map_err(|error| error.to_string())?;
    Ok(definitions
        .into_iter()
        .map(|(name, definition)| parameter(&name, definition))
        .collect())
}

/// The schema without what says nothing about values, and with the ways of allowing null, which
/// leaving a parameter out does here.
fn plain_object(schema: &Map<String, Value>) -> Value {
    let mut plain = schema.clone();
    for note in [
        "$schema",
        "$id",
        "$comment",
        "title",
        "description",
        "examples",
    ] {
        plain.remove(note);
    }
    if plain.get("additionalProperties") == Some(&Value::Bool(true)) {
        plain.remove("additionalProperties");
    }
    if let Some(Value::Object(properties)) = plain.get_mut("properties") {
        for property in properties.values_mut() {
            if let Value::Object(property) = property {
                without_null(property);
            }
        }
    }
    Value::Object(plain)
}

fn without_null(property: &mut Map<String, Value>) {
    property.remove("title");
    if property.get("default") == Some(&Value::Null) {
        property.remove("default");
    }
    if let Some(Value::Array(kinds)) = property.get("anyOf")
        && let Some(Value::Object(kind)) = the_other_of_null(kinds).cloned()
    {
        property.remove("anyOf");
        for (keyword, value) in kind {
            property.entry(keyword).or_insert(value);
        }
    }
    if let Some(Value::Array(kinds)) = property.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
}

/// Of two schemas the one that is not that of null.
fn the_other_of_null(kinds: &[Value]) -> Option<&Value> {
    let null = json!({"type": "null"});
    match kinds {
        [kind, other] if *other == null => Some(kind),
        [other, kind] if *other == null => Some(kind),
        _ => None,
    }
}

/// Rules that a document cannot say are written into the description: the server holds calls to
/// them, and whoever calls can know them.
fn parameter(name: &str, definition: ParameterDefinition) -> Value {
    let mut description = clean(&definition.description, MAX_PARAMETER_DESCRIPTION);
    if !definition.extra.is_empty() {
        let rules = canonical::text(Value::Object(definition.extra));
        description = format!("{description} (JSON Schema: {})", clean(&rules, MAX_RULES));
    }
    let mut written = json!({
        "name": name,
        "type": definition.kind,
        "required": definition.required,
        "description": description.trim_start(),
    });
    if let Some(default) = definition.default {
        written["default"] = default;
    }
    if let Some(allowed) = definition.allowed {
        written["enum"] = Value::Array(allowed);
    }
    written
}

#[cfg(test)]
mod tests;
