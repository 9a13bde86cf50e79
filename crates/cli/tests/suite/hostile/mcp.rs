//! Tools and methods of the Model Context Protocol, in its revision without sessions.

use charter_testkit::hostile::Hostile;
use serde_json::{Value, json};

use super::{Body, Hostility, PLACE, endures, long, places, short, viewer};
use crate::isolation::mcp::METHODS;

/// A message with a method, and with the name of its subject if the method has one.
fn message(what: &str, method: &str, name: &str, body: Body) -> Hostility {
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
        ("mcp-name", name),
    ];
    let what = format!("{method} {name}: {what}");
    Hostility::new(&what, ["POST", "/mcp"], &headers, body)
}

/// A call with its parameters.
fn call(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// The tools that are listed to a viewer.
fn tools() -> Vec<Value> {
    let (_tenants, viewer) = viewer();
    let listed = viewer.mcp(&json!({}), "tools/list", None, json!({}));
    let tools = listed["result"]["tools"].as_array();
    tools.unwrap_or_else(|| panic!("{listed:#}")).clone()
}

/// Calls of a tool: with each argument hostile, and with hostile arguments as a whole.
fn tool_calls(tool: &Value, shape: Hostile) -> Vec<Hostility> {
    let name = tool["name"].as_str().unwrap();
    let declared = tool["inputSchema"]["properties"].as_object();
    let declared = declared.into_iter().flat_map(|declared| declared.keys());
    let calls = [places(declared), json!(PLACE)].map(|arguments| {
        let what = format!("{shape:?} in {arguments:.200}");
        let body = call("tools/call", json!({"name": name, "arguments": arguments}));
        message(
            &what,
            "tools/call",
            name,
            Body::Filled(body, shape, short(shape)),
        )
    });
    calls.into()
}

/// Calls of a method: with parameters that are hostile except for the name in the headers, and with all hostile ones.
fn method_calls(method: &str, shape: Hostile) -> Vec<Hostility> {
    let hostile = json!({"cursor": PLACE, "arguments": PLACE, "argument": PLACE, "ref": PLACE});
    let mut named = hostile.clone();
    let mut all = hostile;
    for field in ["name", "uri", "taskId"] {
        named[field] = json!("x");
        all[field] = json!(PLACE);
    }
    let calls = [named, all].map(|params| {
        let what = format!("{shape:?} in {params}");
        let body = Body::Filled(call(method, params), shape, short(shape));
        message(&what, method, "x", body)
    });
    calls.into()
}

#[test]
fn every_tool_and_method_of_mcp_endures_hostile_shapes() {
    let tools = tools();
    let mut all = Vec::new();
    for shape in Hostile::ALL {
        all.extend(tools.iter().flat_map(|tool| tool_calls(tool, shape)));
        all.extend(
            METHODS
                .iter()
                .flat_map(|method| method_calls(method, shape)),
        );
        let find = call(
            "tools/call",
            json!({"name": "find", "arguments": {"query": PLACE}}),
        );
        let find = Body::Filled(find, shape, long(shape));
        all.push(message(
            &format!("{shape:?}, long"),
            "tools/call",
            "find",
            find,
        ));
        let whole = Body::Whole(shape, short(shape));
        all.push(message(
            &format!("{shape:?} as the body"),
            "ping",
            "x",
            whole,
        ));
    }
    assert!(all.len() > 400, "{}", all.len());
    endures(&all);
}
