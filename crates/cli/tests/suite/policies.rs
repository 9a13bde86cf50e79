//! Policies as documents of packages: tested offline, checked at registration, listed.

use crate::home::Home;
use crate::packages::{Package, TOOL_FILE, backups};
use crate::shared::Tenants;

const POLICY_FILE: &str = "policies/readers.yaml";

const POLICY: &str = r#"policy_id: vault.readers
title: Who may read the vault
governs: ["vault.*"]
cedar: |
  @id("operators")
  permit (principal in Role::"operator", action in Action::"read", resource)
  when { context.parameters.vault == "main" };
tests:
  - name: an operator reads the main vault
    principal: {role: operator}
    tool: vault.list_backups
    arguments: {vault: main}
    expect: allow
  - name: a user does not
    tool: vault.list_backups
    arguments: {vault: main}
    expect: deny
"#;

fn governed() -> Package {
    backups().with(POLICY_FILE, POLICY)
}

/// Needs no server, data directory or configuration.
#[test]
fn policy_tests_run_on_a_desk_and_say_by_the_exit_code_whether_all_hold() {
    let home = Home::new();
    let folder = governed().write(&home.path("package"));
    let file = format!("{folder}/{POLICY_FILE}");
    for path in [&folder, &file] {
        let tested = home.run_in_home(&["policy", "test", path]);
        assert_eq!(tested.code, Some(0), "{tested:?}");
        assert_eq!(
            tested.out,
            format!(
                "ok     vault.readers: an operator reads the main vault\n\
                 ok     vault.readers: a user does not\n\
                 {path}: 1 policy document(s), 2 test(s), 0 failed\n"
            )
        );
    }
    let wrong = governed().edit(POLICY_FILE, "expect: deny", "expect: allow");
    let wrong = wrong.write(&home.path("wrong"));
    let tested = home.run_in_home(&["--output", "json", "policy", "test", &wrong, &folder]);
    let shown = tested.json(1);
    assert_eq!(
        shown[0]["tests"][1]["failure"],
        "expected allow, but the call is denied: no rule of `vault.readers` permits it"
    );
    assert_eq!(shown[0]["problems"][0]["line"], 17);
    assert_eq!(shown[1]["tests"][1]["passed"], true);
    assert!(!home.data().exists());
}

/// A package with a committed snapshot tests its policies over tools of MCP servers that no longer answer.
#[test]
fn policies_over_tools_of_mcp_servers_are_tested_with_the_snapshot_of_the_package() {
    let home = Home::new();
    let policy = r#"policy_id: files.droppers
title: Who may drop files
governs: ["mcp.files.*"]
cedar: |
  @id("operators")
  permit (principal in Role::"operator", action == Action::"mcp.files.drop", resource)
  when { context.parameters.path like "/tmp/*" };
tests:
  - name: an operator drops a temporary file
    principal: {role: operator}
    tool: mcp.files.drop
    arguments: {path: /tmp/x}
    expect: allow
  - name: an operator drops no other file
    principal: {role: operator}
    tool: mcp.files.drop
    arguments: {path: /etc/x}
    expect: deny
"#;
    let tool = serde_json::json!({
        "tool_id": "mcp.files.drop", "name": "drop", "provider": "mcp", "service": "files", "tool_class": "write",
        "domain": "platform", "description": "Drops a file.", "execution_target": "server", "language": "mcp",
        "requires_approval": true, "permission_level": "system",
        "implementation": {
            "type": "mcp", "server": "files", "tool": "drop", "definition": format!("sha256:{}", "0".repeat(64)),
        },
        "input_schema": {
            "type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"],
        },
    });
    let snapshot = serde_json::json!({ "tools": [tool] }).to_string();
    let package = backups().with("policies/droppers.yaml", policy);
    let known = package.clone().with("tests/mcp-tools.json", &snapshot);
    let known = known.write(&home.path("known"));
    let tested = home.run_in_home(&["policy", "test", &known]);
    assert_eq!(tested.code, Some(0), "{tested:?}");
    assert!(
        tested
            .out
            .contains("1 policy document(s), 2 test(s), 0 failed"),
        "{tested:?}"
    );
    let unknown = package.write(&home.path("unknown"));
    let tested = home.run_in_home(&["policy", "test", &unknown]);
    assert_eq!(tested.code, Some(1), "{tested:?}");
}

#[test]
fn policy_tests_that_cannot_be_run_fail_the_command() {
    let home = Home::new();
    let without = backups().write(&home.path("without"));
    let nowhere = home.path("nowhere").to_str().unwrap().to_owned();
    let outside = home.path("outside");
    std::fs::create_dir(&outside).unwrap();
    for path in [without.as_str(), &nowhere, outside.to_str().unwrap()] {
        let tested = home.run_in_home(&["policy", "test", path]);
        assert_eq!(tested.code, Some(2), "{tested:?}");
        assert!(tested.err.contains(path), "{tested:?}");
    }
}

#[test]
fn policies_over_another_packages_tools_are_tested_with_it() {
    let home = Home::new();
    let tools = backups().write(&home.path("tools"));
    let rules = Package::new("rules", "1.0.0", "tenant").with(POLICY_FILE, POLICY);
    let rules = rules.write(&home.path("rules"));
    let alone = home.run_in_home(&["policy", "test", &rules]);
    assert_eq!(alone.code, Some(1), "{alone:?}");
    assert!(
        alone.out.contains("there is no tool `vault.list_backups`"),
        "{alone:?}"
    );
    let together = home.run_in_home(&["policy", "test", &rules, "--with", &tools]);
    assert_eq!(together.code, Some(0), "{together:?}");
}

/// The built-in tools are available to every package, and so to its tests.
#[test]
fn policies_over_built_in_tools_are_tested_on_a_desk() {
    let home = Home::new();
    let policy = POLICY
        .replace("vault.*", "charter.fs.write")
        .replace("vault.list_backups", "charter.fs.write")
        .replace("Action::\"read\"", "Action::\"write\"")
        .replace("parameters.vault == \"main\"", "parameters.path == \"a\"")
        .replace("{vault: main}", "{path: a, content: b}");
    let rules = Package::new("rules", "1.0.0", "tenant").with(POLICY_FILE, &policy);
    let rules = rules.write(&home.path("rules"));
    let tested = home.run_in_home(&["--output", "json", "policy", "test", &rules]);
    let shown = tested.json(0);
    assert_eq!(shown[0]["problems"], serde_json::json!([]));
    assert_eq!(shown[0]["tests"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_policy_that_does_not_hold_is_refused_with_its_line() {
    let server = Tenants::one();
    let cases = [
        ("parameters.vault", "parameters.vualt", "cedar", 7, 10),
        ("resource)", "resource", "cedar", 7, 3),
        ("expect: deny", "expect: allow", "policy_test", 17, 5),
    ];
    for (from, to, keyword, line, column) in cases {
        let broken = governed().edit(POLICY_FILE, from, to);
        let refused = server.api.post("/v1/packages", &broken.bundle());
        refused.clone().fails(400, "invalid_document");
        let problem = &refused.body["technical_details"]["problems"][0];
        let found = (
            &problem["file"],
            &problem["keyword"],
            &problem["line"],
            &problem["column"],
        );
        let wanted = serde_json::json!([POLICY_FILE, keyword, line, column]);
        assert_eq!(
            serde_json::json!([found.0, found.1, found.2, found.3]),
            wanted,
            "{problem}"
        );
    }
    assert_eq!(
        server.api.get("/v1/list/policy").expect(200)["entries"],
        serde_json::json!([])
    );
}

#[test]
fn policies_are_registered_listed_and_withdrawn_with_their_package() {
    let server = Tenants::one();
    server.api.register(&governed());
    let listed = server.api.get("/v1/list/policy").expect(200);
    assert_eq!(listed["entries"][0]["id"], "vault.readers");
    assert_eq!(listed["entries"][0]["package"], "backups");
    let without = backups().version("1.0.0", "1.1.0");
    let diff = server
        .api
        .post("/v1/packages/diff", &without.bundle())
        .expect(200);
    assert_eq!(diff["changes"][0]["kind"], "policy", "{diff}");
    server.api.register(&without);
    assert_eq!(
        server.api.get("/v1/list/policy").expect(200)["entries"],
        serde_json::json!([])
    );
}

/// Policies rely on the declarations of tools.
#[test]
fn a_tool_that_another_packages_policy_cannot_judge_is_refused() {
    let server = Tenants::one();
    server.api.register(&backups());
    let rules = Package::new("rules", "1.0.0", "tenant").with(POLICY_FILE, POLICY);
    server.api.register(&rules);
    let renamed = backups().version("1.0.0", "1.1.0").edit(
        TOOL_FILE,
        "name: vault, type: string",
        "name: vault, type: array",
    );
    let refused = server.api.post("/v1/packages", &renamed.bundle());
    refused.clone().fails(400, "invalid_document");
    let problems = refused.body["technical_details"]["problems"].to_string();
    assert!(
        problems.contains(
            "the policy `vault.readers` of the package `rules` would become invalid for this tool"
        ),
        "{problems}"
    );
}

#[test]
fn the_schema_is_shown_and_with_a_package_its_tools() {
    let home = Home::new();
    let shipped = home.run_in_home(&["policy", "schema"]);
    assert_eq!(shipped.code, Some(0), "{shipped:?}");
    assert!(
        shipped.out.contains("entity Caller in [Role] = {"),
        "{shipped:?}"
    );
    let folder = backups().write(&home.path("package"));
    let with = home.run_in_home(&["policy", "schema", &folder]);
    assert_eq!(with.code, Some(0), "{with:?}");
    assert!(
        with.out.contains("action \"vault.list_backups\" in"),
        "{with:?}"
    );
}
