//! The official conformance suite, against Charter in front of a server with the suite's test tools, resources and
//! prompts, all pinned or offered. The few scenarios that may fail are listed with the reason; the suite itself fails
//! on an entry that passes.

use std::process::Stdio;

use serde_json::{Value, json};

use super::knowledge::skill_md;
use super::peers::{installed, node, scripts};
use crate::home::Home;
use crate::mcp_servers::python_folder;

/// The suite's entry point, below the folder of installed packages.
const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

#[test]
fn every_applicable_conformance_scenario_passes() {
    // Without a revision the suite runs all its scenarios, each in its newest revision.
    let newest: &[&str] = &[];
    let before: &[&str] = &["--spec-version", "2025-11-25"];
    for (list, revision, least) in [("latest", newest, 55), ("2025-11-25", before, 30)] {
        let home = Home::new().configured(&gateway());
        let server = home.serve();
        server
            .api
            .post("/v1/agent-skills/import", &skills())
            .expect(200);
        let url = format!("{}/mcp", server.api.base);
        let expected = scripts().join(format!("conformance-{list}.yml"));
        let results = home.path("conformance");
        let mut suite = node();
        suite.args([SUITE, "server", "--suite", "all", "--url", &url]);
        suite.args(revision);
        suite
            .arg("--expected-failures")
            .arg(&expected)
            .arg("-o")
            .arg(&results);
        let ran = suite.stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(
            ran.status.success(),
            "{list}: {}\n{said}",
            String::from_utf8_lossy(&ran.stderr)
        );
        let passed = said
            .lines()
            .filter(|line| line.trim_start().starts_with('✓'))
            .count();
        assert!(
            passed >= least,
            "{list}: only {passed} scenarios passed\n{said}"
        );
    }
}

/// At most three scenarios of each list may fail.
#[test]
fn the_lists_of_scenarios_that_may_fail_are_short() {
    for list in ["latest", "2025-11-25"] {
        let file = scripts().join(format!("conformance-{list}.yml"));
        let text = std::fs::read_to_string(file).unwrap();
        let entries = text
            .lines()
            .filter(|line| line.trim_start().starts_with("- "));
        assert!(entries.count() <= 3, "{list}");
    }
}

/// The configuration of a gateway to the server of the suite: its tools are pinned, its resources and prompts offered.
fn gateway() -> String {
    let script = scripts().join("conformance_server.py");
    let mut readable = vec![installed().join("venv"), scripts()];
    readable.extend(python_folder());
    let text = std::fs::read_to_string(&script).unwrap();
    // The table of tools has a line with a name and a schema for each.
    let table = text.split("\nTOOLS = {").nth(1).unwrap();
    let table = table.split("\n}\n").next().unwrap();
    let names = table.lines().filter_map(|line| {
        let name = line.strip_prefix("    \"")?.split_once("\": (")?.0;
        Some(name)
    });
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 30, "{names:?}");
    format!(
        "[[mcp.servers]]\nname = \"suite\"\ncommand = {:?}\nargs = {}\nreadable = {}\nreadonly = {}\n\
         [mcp.offer]\npinned = [{{ tool = \"mcp.suite.*\" }}]\nresources_of = [\"suite\"]\n",
        installed().join("venv/bin/python"),
        json!([script]),
        json!(readable),
        json!(names),
    )
}

/// Skills for the scenarios of the Skills extension.
fn skills() -> Value {
    json!({"files": [
        {"path": "sql/migration/SKILL.md", "text": skill_md("migration")},
        {"path": "sql/migration/scripts/run it.sh", "text": "#!/bin/sh\n", "executable": true},
        {"path": "sql/migration/undo/SKILL.md", "text": skill_md("undo")},
    ]})
}
