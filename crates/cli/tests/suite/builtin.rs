//! Built-in tools in a package: granted by the configuration, called by a skill, reported in the answer.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::home::{Home, ids, request_of};
use crate::packages::Package;

const SKILL: &str = "security.find_open_networks";

const OPEN_NETWORKS: &str = r#"skill_id: security.find_open_networks
name: find_open_networks
domain: security
display_name: Find open networks
description: Searches infrastructure code for networks that are open to everybody.
purpose: find networks in infrastructure code that are open to everybody
output_type: finding
parameters:
  - {name: file, type: string, required: true, description: the file that is read, default: main.tf}
execution_plan:
  steps:
    - step_id: search
      type: read
      tool_id: charter.fs.search
      parameters: {path: ".", pattern: "0.0.0.0/0", pattern_type: literal, include: ["**/*.tf"], recursive: true}
    - step_id: read
      depends_on: [search]
      type: read
      tool_id: charter.fs.read
      parameters: {path: "${user.file}"}
analysis:
  findings:
    - rule_id: open_network
      from: search
      filter: |
        .matches[] | {severity: "high", resource_type: "file", resource_id: "\(.path):\(.line)", text: .text}
    - rule_id: unowned
      from: read
      filter: |
        select(.content | contains("owner") | not)
        | {severity: "low", resource_type: "file", resource_id: .path}
  summary: "{{ count }} finding(s)."
"#;

fn package() -> Package {
    Package::new("networks", "1.0.0", "tenant").with("skills/open_networks.yaml", OPEN_NETWORKS)
}

/// A home with infrastructure code, and a link that leads outside of it.
fn home() -> (Home, PathBuf) {
    let home = Home::new();
    let code = home.path("code");
    std::fs::create_dir_all(code.join("mod")).unwrap();
    std::fs::write(code.join("main.tf"), "a = 1\ncidr = \"0.0.0.0/0\"\n").unwrap();
    std::fs::write(code.join("mod/net.tf"), "cidr = \"10.0.0.0/8\"\n").unwrap();
    std::fs::write(home.path("beside.tf"), "cidr = \"0.0.0.0/0\"\n").unwrap();
    std::os::unix::fs::symlink("../beside.tf", code.join("link.tf")).unwrap();
    (home, code)
}

/// B000-11, B003-4: a skill's plan reads files beneath a granted root, and the answer lists the actions.
#[test]
fn b003_a_skill_answers_from_files_beneath_a_granted_root() {
    let (home, code) = home();
    let home = home.with(
        "CHARTER_TOOLS__BUILTIN__ROOTS__CODE__PATH",
        code.to_str().unwrap(),
    );
    let server = home.serve();
    server.api.register(&package());
    let answer = server.api.ask(&request_of(SKILL, json!({}))).expect(200);
    let metadata = &answer["metadata"];
    let found = ids(&metadata["findings"], "resource_id");
    assert_eq!(found, ["main.tf:2", "main.tf"]);
    assert_eq!(
        metadata["tools_used"],
        json!(["charter.fs.search", "charter.fs.read"])
    );
    let actions = answer["actions"].as_array().unwrap();
    let told: Vec<Value> = actions
        .iter()
        .map(|action| {
            let details = &action["details"];
            json!([
                action["action_type"],
                details["operation"],
                details["root"],
                details["path"],
                details["tool_id"]
            ])
        })
        .collect();
    assert_eq!(
        told,
        [
            json!(["search", "search", "code", ".", "charter.fs.search"]),
            json!([
                "command_execution",
                "read",
                "code",
                "main.tf",
                "charter.fs.read"
            ]),
        ]
    );
    let hash = actions[1]["details"]["before"]["hash"].as_str().unwrap();
    assert!(hash.starts_with("sha256:") && hash.len() == 71, "{hash}");
    for (file, why) in [
        ("../beside.tf", "leaves the root"),
        ("link.tf", "links are not followed"),
    ] {
        let refused = server.api.ask(&request_of(SKILL, json!({"file": file})));
        let message = refused.body["user_message"].as_str().unwrap();
        assert!(message.contains(why), "{message}");
    }
}

#[test]
fn b003_without_a_grant_no_file_is_read() {
    let (home, _) = home();
    let server = home.serve();
    server.api.register(&package());
    let refused = server.api.ask(&request_of(SKILL, json!({})));
    let message = refused.body["user_message"].as_str().unwrap();
    assert!(
        message.contains("no root is granted to file tools"),
        "{message}"
    );
}

#[test]
fn b003_a_root_that_holds_the_data_directory_stops_the_start() {
    let (home, _) = home();
    let own = home.path("").to_str().unwrap().to_owned();
    let home = home.with("CHARTER_TOOLS__BUILTIN__ROOTS__ALL__PATH", &own);
    let ran = home.run(&["package", "list"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("tools.builtin.roots.all.path"), "{ran:?}");
}

/// The built-in tools are in every catalogue, and packages cannot replace them.
#[test]
fn b003_a_package_cannot_redefine_a_built_in_tool() {
    let home = Home::with_keys(&[
        ("root", "root", "root", "admin"),
        ("acme", "acme", "ann", "operator"),
    ]);
    let server = home.serve();
    let shown = server
        .key("acme")
        .get("/v1/resolve/tool/charter.fs.read")
        .expect(200);
    assert_eq!(
        shown["document"]["implementation"],
        json!({"type": "builtin", "name": "fs.read"})
    );
    let tool = |id: &str, language: &str, implementation: &str| {
        format!(
            "tool_id: {id}\nname: read\nprovider: acme\ntool_class: readonly\ndomain: platform\n\
             description: Reads.\nlanguage: {language}\nimplementation: {implementation}\n"
        )
    };
    let script = "{type: script, body: \"print(1)\"}";
    for (key, scope) in [("root", "global"), ("acme", "tenant")] {
        let problem = |document: &str| {
            let package = Package::new("own", "1.0.0", scope).with("tools/t.yaml", document);
            let refused = server.key(key).post("/v1/packages", &package.bundle());
            refused.clone().fails(400, "invalid_document");
            refused.body["technical_details"]["problems"][0]["message"].clone()
        };
        assert_eq!(
            problem(&tool("charter.fs.read", "bash", script)),
            "the tool `charter.fs.read` belongs to the package `charter`"
        );
        assert_eq!(
            problem(&tool(
                "acme.read",
                "builtin",
                "{type: builtin, name: fs.read}"
            )),
            "a package cannot contain a built-in implementation"
        );
        assert_eq!(
            problem(&tool("mcp.notes.read", "bash", script)),
            "ids that begin with `mcp.` are reserved for tools of MCP servers"
        );
        let imported = "{type: mcp, server: notes, tool: read, definition: \"sha256:0\"}";
        assert_eq!(
            problem(&tool("acme.read", "mcp", imported)),
            "a package cannot contain a tool of an MCP server"
        );
    }
}
