//! The official conformance suite. Scenarios that need a tool, prompt or resource of the suite's own test server are
//! expected to fail and listed with the reason; the suite itself fails on an entry that passes.

use std::process::Stdio;

use serde_json::{Value, json};

use super::knowledge::skill_md;
use super::peers::{node, scripts};
use crate::home::Home;
use crate::packages::Package;

/// The suite's entry point, below the folder of installed packages.
const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

#[test]
fn every_applicable_conformance_scenario_passes() {
    // Without a revision the suite runs all its scenarios, each in its newest revision.
    let newest: &[&str] = &[];
    let before: &[&str] = &["--spec-version", "2025-11-25"];
    for (list, revision, least) in [("latest", newest, 20), ("2025-11-25", before, 12)] {
        let home = Home::new();
        let server = home.serve();
        server.api.register(&prompts());
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

/// Skills for the scenarios of the Skills extension.
fn skills() -> Value {
    json!({"files": [
        {"path": "sql/migration/SKILL.md", "text": skill_md("migration")},
        {"path": "sql/migration/scripts/run it.sh", "text": "#!/bin/sh\n", "executable": true},
        {"path": "sql/migration/undo/SKILL.md", "text": skill_md("undo")},
    ]})
}

/// The suite's prompts as playbooks, because prompts are made from playbooks.
fn prompts() -> Package {
    let playbook = |id: &str, parameters: &str| {
        format!(
            "playbook_id: {id}\nname: A prompt of the suite\ndomain: reliability\n\
             trigger_conditions: [the suite asks]\ntarget_language: python\nmandatory_parameters: [{parameters}]\n\
             steps:\n  - {{step_id: s1, type: read, tool_id: charter.env.get, parameters: {{names: [HOME]}}}}\n\
             safety: {{safety_class: supervised}}\n"
        )
    };
    let arguments = "{name: arg1, type: string, description: one}, {name: arg2, type: string, description: two}";
    Package::new("prompts", "1.0.0", "tenant")
        .with("playbooks/simple.yaml", &playbook("test_simple_prompt", ""))
        .with(
            "playbooks/arguments.yaml",
            &playbook("test_prompt_with_arguments", arguments),
        )
}
