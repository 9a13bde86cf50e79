//! The Cedar schema: the shipped part, and one action per tool, typed by the tool's declared parameters. Knows no
//! policy and no request.

use std::sync::LazyLock;

use cedar_policy::{EntityUid, Schema, SchemaFragment};
use charter_contract::catalogue::tool::{Tool, ToolClass};
use charter_contract::input_schema::Shape;
use charter_contract::parameter::Parameter;
use serde_json::{Map, Value, json};

use super::error_text::described;
use super::names;

/// The names that every policy may use, in Cedar's schema language.
pub const SCHEMA: &str = include_str!("charter.cedarschema");

/// The actions for groups of tools: one for each class, and one for all. No governed tool may have such an id.
pub const ACTION_GROUPS: [&str; 4] = ["call", "read", "write", "internal"];

/// Returns the group of a tool's class.
pub(super) fn group(class: ToolClass) -> &'static str {
    match class {
        ToolClass::Readonly => "read",
        ToolClass::Write => "write",
        ToolClass::Internal => "internal",
    }
}

/// Returns the schema for calls of `tool`. `mentioned` are other actions that policies name; they exist and apply to
/// nothing.
///
/// # Errors
/// The tool has the id of a group, or the shipped text is invalid.
pub(super) fn for_tool(tool: &Tool, mentioned: &[EntityUid]) -> Result<Schema, String> {
    let id = tool.tool_id.as_ref();
    if ACTION_GROUPS.contains(&id) {
        return Err(format!(
            "the tool `{id}` cannot be governed: its id is reserved for a group of tools in policies"
        ));
    }
    let others = mentioned.iter().map(|action| action.id().unescaped());
    let others = others.filter(|other| *other != id && !ACTION_GROUPS.contains(other));
    let mut actions: Map<String, Value> =
        others.map(|other| (other.to_owned(), json!({}))).collect();
    actions.insert(id.to_owned(), action(tool));
    let shipped = shipped().clone()?;
    let own = fragment(&actions)?;
    Schema::from_schema_fragments([shipped, own]).map_err(|error| described(&error))
}

/// Returns the actions of tools in Cedar's schema language. Policies for the tools are validated against them and
/// [`SCHEMA`].
///
/// # Errors
/// When Cedar cannot write them.
pub fn actions_text<'t>(tools: impl IntoIterator<Item = &'t Tool>) -> Result<String, String> {
    let actions = tools
        .into_iter()
        .map(|tool| (tool.tool_id.to_string(), action(tool)))
        .collect();
    fragment(&actions)?
        .to_cedarschema()
        .map_err(|error| described(&error))
}

/// Returns the shipped part, which is parsed once, because each governed tool has a separate schema.
fn shipped() -> &'static Result<SchemaFragment, String> {
    static SHIPPED: LazyLock<Result<SchemaFragment, String>> = LazyLock::new(|| {
        SchemaFragment::from_cedarschema_str(SCHEMA)
            .map(|(fragment, _)| fragment)
            .map_err(|error| described(&error))
    });
    &SHIPPED
}

fn fragment(actions: &Map<String, Value>) -> Result<SchemaFragment, String> {
    SchemaFragment::from_json_value(json!({ "": { "entityTypes": {}, "actions": actions } }))
        .map_err(|error| described(&error))
}

fn action(tool: &Tool) -> Value {
    let parameters = tool.parameters().iter();
    let parameters: Map<String, Value> = parameters
        .map(|parameter| {
            let attribute = attribute(parameter, tool.input().shape(parameter));
            (parameter.name.to_string(), attribute)
        })
        .collect();
    json!({
        "memberOf": [{ "id": group(tool.tool_class) }],
        "appliesTo": {
            "principalTypes": [names::CALLER],
            "resourceTypes": [names::TOOL],
            "context": { "type": "Record", "attributes": {
                "parameters": { "type": "Record", "attributes": parameters },
                "dry_run": { "type": "Boolean" },
                "run": { "type": "Entity", "name": names::RUN },
            }},
        },
    })
}

fn attribute(parameter: &Parameter, shape: Option<&Shape>) -> Value {
    let present = parameter.required || parameter.default.as_ref().is_some_and(|d| !d.is_null());
    with_presence(shape.map_or_else(opaque, cedar_type), present)
}

fn with_presence(mut kind: Value, present: bool) -> Value {
    kind["required"] = Value::Bool(present);
    kind
}

fn opaque() -> Value {
    json!({ "type": "EntityOrCommon", "name": "Opaque" })
}

/// Returns the type of values in Cedar's JSON form.
fn cedar_type(shape: &Shape) -> Value {
    match shape {
        Shape::Text => json!({ "type": "String" }),
        Shape::Number => json!({ "type": "Extension", "name": "decimal" }),
        Shape::Integer => json!({ "type": "Long" }),
        Shape::Boolean => json!({ "type": "Boolean" }),
        Shape::List => json!({ "type": "EntityOrCommon", "name": "List" }),
        Shape::Object => json!({ "type": "EntityOrCommon", "name": "Object" }),
        Shape::Mixed => opaque(),
        Shape::Record(fields) => {
            let fields = fields.iter().map(|field| {
                let kind = with_presence(cedar_type(&field.shape), field.required);
                (field.name.clone(), kind)
            });
            json!({ "type": "Record", "attributes": fields.collect::<Map<String, Value>>() })
        }
    }
}
