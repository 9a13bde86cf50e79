use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use charter_contract::ids::Label;
use serde_json::Map;

use super::super::{McpTransport, ToolSelection};
use super::*;
use crate::TraceContext;

fn options(readonly: &[&str]) -> McpServerOptions {
    McpServerOptions {
        name: Label::parse("files").unwrap(),
        transport: McpTransport::Http {
            url: "https://mcp.example.com/".to_owned(),
            headers: Vec::new(),
            egress: Vec::new(),
        },
        selection: ToolSelection::default(),
        readonly: readonly.iter().map(ToString::to_string).collect(),
        start_timeout: Duration::from_secs(60),
        timeout: Duration::from_secs(9),
        refresh: Duration::from_secs(60),
        trace: TraceContext::default(),
        credential: None,
        listing: None,
        asks: false,
        offers: false,
    }
}

fn tool(name: &str, schema: Value) -> rmcp::model::Tool {
    let Value::Object(schema) = schema else {
        panic!("no object")
    };
    let description = Cow::Owned(format!("Does {name}.\u{1b}[2J"));
    rmcp::model::Tool::new(name.to_owned(), description, Arc::new(schema))
}

/// A tool that is not offered is not imported and needs no warning; a name that the server does not list does, because the tool
/// may have another name now.
#[test]
fn only_offered_tools_are_imported() {
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    let options = McpServerOptions {
        selection: ToolSelection {
            only: Some(names(&["read", "drop", "gone"])),
            denied: names(&["drop", "erase"]),
        },
        ..options(&[])
    };
    let tools = ["read", "drop", "write"].map(|name| tool(name, empty()));
    let (made, left_out) = import_tools(&options, &tools);
    let ids: Vec<&str> = made
        .iter()
        .map(|made| made.document.tool_id.as_str())
        .collect();
    assert_eq!(ids, ["mcp.files.read"]);
    let reasons: Vec<String> = left_out.iter().map(ToString::to_string).collect();
    assert_eq!(
        reasons,
        [
            "gone: `tools` names it, but the server does not list it",
            "erase: `deny` names it, but the server does not list it",
        ]
    );
}

fn empty() -> Value {
    json!({"type": "object"})
}

#[test]
fn a_tool_needs_approval_unless_configured_as_reading() {
    let hint = rmcp::model::ToolAnnotations::new().read_only(true);
    let tools = [
        tool("read", empty()),
        tool("drop", empty()).with_annotations(hint),
    ];
    let (made, left_out) = import_tools(&options(&["read", "gone"]), &tools);
    let seen: Vec<_> = made
        .iter()
        .map(|made| {
            let document = &made.document;
            (
                document.tool_id.as_str(),
                document.tool_class,
                document.requires_approval,
                document.permission_level,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (
                "mcp.files.drop",
                ToolClass::Write,
                true,
                PermissionLevel::System
            ),
            (
                "mcp.files.read",
                ToolClass::Readonly,
                false,
                PermissionLevel::User
            ),
        ]
    );
    assert_eq!(
        made[0].document.description.as_str(),
        "The MCP server `files` describes it as: Does drop.[2J"
    );
    let gone = SkippedTool {
        tool: "gone".to_owned(),
        part: None,
        reason: "`readonly` names it, but the server does not list it".to_owned(),
    };
    assert_eq!(left_out, [gone]);
}

#[test]
fn invalid_names_become_distinct_ids() {
    assert_eq!(id_of("files", "read_file"), "mcp.files.read_file");
    assert_eq!(id_of("files", "a/b"), "mcp.files.xa_b-c14cddc0");
    assert_ne!(id_of("files", "a/b"), id_of("files", "a:b"));
    assert_ne!(
        id_of("files", &"a".repeat(300)),
        id_of("files", &"a".repeat(301))
    );
    assert_eq!(id_of("files", ""), "mcp.files.x-e3b0c442");
    assert!(id_of("files", "../x").starts_with("mcp.files.x.._x-"));
    assert_eq!(id_of("files", &"a".repeat(190)).len(), MAX_ID);
    assert!(id_of("files", &"a".repeat(191)).len() < MAX_ID);
}

/// A tool named like the id derived from another tool's name does not replace that tool.
#[test]
fn of_two_tools_with_one_id_the_second_is_reported() {
    let taken = "xa_b-c14cddc0";
    let (made, left_out) =
        import_tools(&options(&[]), &[tool("a/b", empty()), tool(taken, empty())]);
    let told: Vec<_> = made.iter().map(|made| json!(made.document)).collect();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["tool_id"], format!("mcp.files.{taken}"));
    assert_eq!(told[0]["implementation"]["tool"], "a/b");
    let left = SkippedTool {
        tool: taken.to_owned(),
        part: None,
        reason: format!("another tool has the id `mcp.files.{taken}`"),
    };
    assert_eq!(left_out, [left]);
}

#[test]
fn server_texts_are_truncated() {
    let long = |letter: &str| letter.repeat(5_000);
    let schema = json!({"type": "object", "properties": {
        "path": {"type": "string", "description": long("p"), "pattern": long("r")}}});
    let mut talks = tool("read", schema);
    talks.description = Some(Cow::Owned(long("d")));
    let (made, _) = import_tools(&options(&[&long("n")]), &[talks]);
    let document = &made[0].document;
    let of = |text: &str, letter: char| text.chars().filter(|c| *c == letter).count();
    let description = json!(document.description).to_string();
    // The additional one is in `describes it as`.
    assert_eq!(of(&description, 'd'), MAX_DESCRIPTION + 1);
    assert_eq!(of(&document.parameters()[0].description, 'p'), 500);
    let (_, left_out) = import_tools(&options(&[&long("n")]), &[]);
    assert_eq!(left_out[0].tool.chars().count(), MAX_REASON + 1);
}

#[test]
fn parameters_are_read_from_the_input_schema() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#", "title": "Args", "type": "object", "required": ["path"],
        "properties": {
            "path": {"type": "string", "title": "Path", "description": "Where", "minLength": 1},
            "depth": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": null},
            "mode": {"type": ["string", "null"], "enum": ["a", "b", null], "default": "a"},
        },
    });
    let (made, left_out) = import_tools(&options(&[]), &[tool("walk", schema)]);
    assert_eq!(left_out, []);
    assert_eq!(
        json!(made[0].document.parameters()),
        json!([
            {"name": "depth", "type": "integer", "required": false, "description": ""},
            {"name": "mode", "type": "string", "required": false, "description": "",
             "default": "a", "enum": ["a", "b"]},
            {"name": "path", "type": "string", "required": true,
             "description": "Where",
             "schema": {"type": "string", "title": "Path", "description": "Where", "minLength": 1,
                        "$schema": "http://json-schema.org/draft-07/schema#"}},
        ])
    );
}

/// A tool has the schema of its server, unchanged.
#[test]
fn a_tool_has_the_input_schema_of_its_server() {
    let schema = json!({
        "type": "object",
        "properties": {
            "at": {"type": "object", "required": ["x"], "properties": {"x": {"type": "string"}}},
            "$skip": {"type": "integer"},
        },
        "required": ["at"],
        "if": {"properties": {"$skip": {"const": 1}}},
        "$defs": {"Unused": {"type": "object", "required": ["y"]}},
    });
    let tools = [
        tool("nested", schema.clone()),
        tool("defs", json!({"type": "object", "$defs": {}})),
        tool("untyped", json!({"properties": {"a": {"const": 3}}})),
    ];
    let (made, left_out) = import_tools(&options(&[]), &tools);
    assert_eq!(left_out, []);
    assert_eq!(
        ids(&made),
        ["mcp.files.defs", "mcp.files.nested", "mcp.files.untyped"]
    );
    let nested = json!(made[1].document);
    assert_eq!(nested["input_schema"], schema);
    assert_eq!(nested["parameters"], json!([]));
    let parameters = json!(made[1].document.parameters());
    let parameters = parameters.as_array().unwrap().iter();
    let parameters = parameters.map(|p| {
        (
            p["name"].clone(),
            p["wire_name"].clone(),
            p["required"].clone(),
        )
    });
    assert_eq!(
        parameters.collect::<Vec<_>>(),
        [
            (json!("skip"), json!("$skip"), json!(false)),
            (json!("at"), Value::Null, json!(true)),
        ]
    );
}

/// A tool whose input schema is unusable here is kept, with the parameters that can be read from the schema.
#[test]
fn a_tool_with_an_unusable_input_schema_has_a_list_of_parameters() {
    let twice = |at: usize| {
        let next = json!({"$ref": format!("#/$defs/a{}", at + 1)});
        (format!("a{at}"), json!({"anyOf": [next, next]}))
    };
    let mut doubling: Map<String, Value> = (0..40).map(twice).collect();
    doubling.insert("a40".to_owned(), json!({"type": "string"}));
    let id = json!({"type": "string", "minLength": 2});
    let with = |more: Value| json!({"type": "object", "required": ["id"], "properties": {"id": id, "more": more}, "$defs": doubling});
    let tools = [
        tool("doubles", with(json!({"$ref": "#/$defs/a0"}))),
        tool("dynamic", with(json!({"$dynamicRef": "#x"}))),
        tool("recursive", with(json!({"$ref": "#/properties/more"}))),
        tool("elsewhere", with(json!({"$ref": "https://a.example/s"}))),
        tool("ahead", with(json!({"pattern": "(?=a)"}))),
        tool(
            "good",
            json!({"type": "object", "properties": {"id": id}, "required": ["id"]}),
        ),
    ];
    let (made, left_out) = import_tools(&options(&[]), &tools);
    assert_eq!(made.len(), tools.len());
    for made in &made {
        let document = &made.document;
        let is_good = document.tool_id.as_str() == "mcp.files.good";
        assert_eq!(document.input_schema.is_some(), is_good, "{document:?}");
        let id = document
            .parameters()
            .iter()
            .find(|parameter| parameter.name.as_str() == "id");
        let id = id.unwrap();
        assert_eq!((id.required, id.schema.is_some()), (true, is_good));
    }
    let parts: Vec<_> = left_out.iter().map(|left| left.part.as_deref()).collect();
    assert_eq!(parts, [Some(UNCHECKED_INPUT); 5]);
    assert!(left_out[0].reason.contains("SCHEMA_CHAIN"), "{left_out:?}");
    let kept = json!(made[0].document)["implementation"]["input_schema"].clone();
    assert_eq!(kept, json!(&*tools[4].input_schema));
}

#[test]
fn tools_that_cannot_be_imported_are_skipped_by_name() {
    let unseen = json!({"type": "object", "properties": {"a\u{7}": {"type": "string"}}});
    let mut needed = unseen.clone();
    needed["required"] = json!(["a\u{7}"]);
    let tools = [
        tool("unseen", unseen),
        tool("needed", needed),
        tool("twice", empty()),
        tool("twice", empty()),
        tool(
            "large",
            json!({"type": "object", "title": "x".repeat(MAX_DEFINITION_BYTES)}),
        ),
    ];
    let (made, left_out) = import_tools(&options(&[]), &tools);
    assert_eq!(ids(&made), ["mcp.files.twice", "mcp.files.unseen"]);
    let said: Vec<_> = left_out.iter().map(ToString::to_string).collect();
    assert_eq!(
        said[..3],
        [
            "unseen: the parameter `a`: its name must have 1 to 200 visible characters",
            "needed: it needs the parameter `a`: its name must have 1 to 200 visible characters",
            "twice: the server lists it twice",
        ]
    );
    assert!(
        said[3].starts_with("large: its definition has "),
        "{said:?}"
    );
    let whole: Vec<_> = left_out.iter().map(|left| left.part.is_none()).collect();
    assert_eq!(whole, [false, true, true, true]);
}

/// Builds a tool with an output schema.
fn answering(name: &str, schema: Value) -> rmcp::model::Tool {
    let Value::Object(schema) = schema else {
        panic!("no object")
    };
    let mut tool = tool(name, empty());
    tool.output_schema = Some(Arc::new(schema));
    tool
}

fn ids(made: &[ImportedTool]) -> Vec<&str> {
    let ids = made.iter().map(|made| made.document.tool_id.as_str());
    ids.collect()
}

#[test]
fn an_oversized_output_schema_is_omitted_and_its_tool_kept() {
    let twice = |at: usize| {
        let next = json!({"$ref": format!("#/$defs/a{}", at + 1)});
        (format!("a{at}"), json!({"oneOf": [next, next]}))
    };
    let mut definitions: Map<String, Value> = (0..14).map(twice).collect();
    definitions.insert("a14".to_owned(), json!({"type": "string"}));
    let deep = (0..20).fold(
        json!({"$ref": "#/nowhere"}),
        |inner, _| json!({"properties": {"a long name of a property": inner}}),
    );
    let tools = [
        answering(
            "doubles",
            json!({"$defs": definitions, "$ref": "#/$defs/a0"}),
        ),
        answering("dynamic", json!({"items": {"$dynamicRef": "#x"}})),
        answering("circle", json!({"$ref": "#"})),
        answering("broken", json!({"type": "text"})),
        answering("repeats", json!({"pattern": "^((a{100}){100}){100}$"})),
        answering("deep", deep),
        answering(
            "good",
            json!({"type": "object", "properties": {"id": {"type": "string"}}}),
        ),
        tool("plain", empty()),
    ];
    let (made, left_out) = import_tools(&options(&[]), &tools);
    assert_eq!(made.len(), tools.len());
    let checked = made
        .iter()
        .filter(|made| made.document.output_schema.is_some());
    let checked: Vec<_> = checked.map(|made| made.document.tool_id.as_str()).collect();
    assert_eq!(checked, ["mcp.files.good"]);
    assert!(left_out.iter().all(|left| left.part.is_some()));
    let names: Vec<_> = left_out.iter().map(|left| left.tool.as_str()).collect();
    assert_eq!(
        names,
        ["doubles", "dynamic", "circle", "broken", "repeats", "deep"]
    );
    let reasons: Vec<_> = left_out.iter().map(|left| left.reason.as_str()).collect();
    assert!(
        reasons[0].contains("exceeds the limit SCHEMA_EXPANSION of 4000"),
        "{reasons:?}"
    );
    assert!(
        reasons[1].starts_with("/output_schema/items"),
        "{reasons:?}"
    );
    assert!(reasons[1].contains("$dynamicRef"), "{reasons:?}");
    assert!(
        reasons[5].contains("which does not exist: correct the reference"),
        "{reasons:?}"
    );
}

#[test]
fn all_output_schemas_of_a_server_have_one_allowance() {
    let fields = (0..1_000).map(|at| (format!("f{at}"), json!({"type": "string"})));
    let fields: Map<String, Value> = fields.collect();
    let large = |at: usize| answering(&format!("t{at:02}"), json!({"properties": fields}));
    let mut tools: Vec<_> = (0..40).map(large).collect();
    tools.push(tool("plain", empty()));
    let (made, left_out) = import_tools(&options(&[]), &tools);
    assert_eq!(made.len(), tools.len());
    let checked = made
        .iter()
        .filter(|made| made.document.output_schema.is_some());
    let checked = checked.count();
    assert!((3..20).contains(&checked), "{checked}");
    // A tool without such a schema does not count towards the limit.
    assert_eq!(checked + left_out.len(), tools.len() - 1);
    let last = &left_out[left_out.len() - 1];
    assert_eq!(last.tool, "t39");
    assert_eq!(
        last.reason,
        "its schemas and patterns, with the previous ones, exceed the limit SERVER_SCHEMA_PARTS of 200000: describe \
         fewer parts, or spread them over more than one server"
    );
}

#[test]
fn any_change_of_a_tool_changes_its_digest_and_document() {
    let of = |tool: rmcp::model::Tool| {
        let (made, _) = import_tools(&options(&[]), std::slice::from_ref(&tool));
        (digest(&tool), made[0].content_hash.clone())
    };
    let before = of(tool("a", empty()));
    assert_eq!(before, of(tool("a", empty())));
    let mut told = tool("a", empty());
    told.description = Some(Cow::Borrowed("Other."));
    let takes = json!({"type": "object", "properties": {"x": {"type": "string"}}});
    let mut named = tool("a", empty());
    named.title = Some("Another".to_owned());
    let mut answers = tool("a", empty());
    answers.output_schema = Some(Arc::new(Map::from_iter([(
        "type".to_owned(),
        json!("object"),
    )])));
    let hint = rmcp::model::ToolAnnotations::new().read_only(true);
    for after in [
        told,
        named,
        answers,
        tool("a", takes),
        tool("a", empty()).with_annotations(hint),
    ] {
        let after = of(after);
        assert_ne!((&before.0, &before.1), (&after.0, &after.1));
        assert_ne!(before.0, after.0);
        assert_ne!(before.1, after.1);
    }
}
