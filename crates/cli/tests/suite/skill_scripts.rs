//! Scripts of agent skills as tools: the grants of an import, a call in the sandbox, the callers who reach it, and its
//! removal.

use std::fs;

use serde_json::{Value, json};

use crate::home::{Api, Home, ids};
use crate::plans::{PLAN, abort, plan};
use crate::playbooks::{decide, settled};
use crate::shared::Tenants;

const COUNT: &str = "agent_skills.office.report.count";
const SAVE: &str = "agent_skills.office.report.save";

/// An operator, and a user who reaches no skill.
const KEYS: [(&str, &str, &str, &str); 2] = [
    ("ann", "acme", "ann", "operator"),
    ("uma", "acme", "uma", "user"),
];

const SKILL_MD: &str = "---\nname: report\ndescription: Counts words.\n\
    allowed-tools: Bash(python3 scripts/count.py:*) Bash(scripts/save.sh:*)\n\
    metadata:\n  charter-readonly: scripts/count.py\n---\nRun `scripts/count.py FILE`.\n";

const COUNT_PY: &str = "import sys\nfrom shared.words import words\n\
    text = open(sys.argv[1]).read()\nprint(words(text), len(open('assets/logo.bin', 'rb').read()))\n";

const SAVE_SH: &str = "#!/bin/bash\ncat references/note.md > out.txt\necho \"saved $1\"\n";

/// The files of a skill; `count` is the text of its first script.
fn files(skill_md: &str, count: &str) -> Value {
    json!({"files": [
        {"path": "office/report/SKILL.md", "text": skill_md},
        {"path": "office/report/scripts/count.py", "text": count},
        {"path": "office/report/scripts/save.sh", "text": SAVE_SH, "executable": true},
        {"path": "office/report/scripts/other.sh", "text": "echo no"},
        {"path": "office/report/scripts/shared/words.py", "text": "def words(text):\n    return len(text.split())\n"},
        {"path": "office/report/references/note.md", "text": "# Note\n"},
        {"path": "office/report/assets/logo.bin", "base64": "/wAB"},
    ]})
}

fn import(api: &Api, sent: &Value) -> Value {
    api.post("/v1/agent-skills/import", sent).expect(200)
}

/// The run of a plan that calls one tool.
fn called(api: &Api, tool: &str, parameters: Value) -> Value {
    let step = json!({"id": "step-001", "tool": tool, "parameters": parameters});
    let mut sent = json!({"execution_plan": plan(PLAN, json!([step]), abort())});
    let request = format!("req-{}", uuid::Uuid::now_v7());
    sent["execution_plan"]["request_id"] = request.into();
    api.post("/v1/runs", &sent).expect(201)
}

/// The output of a run's only step.
fn output(run: &Value) -> &Value {
    let mut events = run["events"].as_array().unwrap().iter();
    let ended = events.find(|event| event["event"] == "step_succeeded");
    &ended.unwrap()["output"]
}

/// Granted scripts are tools, the others are served. A readonly one runs at once, a write waits for a person; both see
/// the skill's own files.
#[test]
fn granted_scripts_run_on_the_skills_own_files() {
    let server = Tenants::with_keys(&KEYS);
    let ann = server.key("ann");
    let imported = import(&ann, &files(SKILL_MD, COUNT_PY));
    assert_eq!(ids(&imported["tools"], "tool_id"), [COUNT, SAVE]);
    assert_eq!(ids(&imported["tools"], "tool_class"), ["readonly", "write"]);
    assert_eq!(
        ids(&imported["served_scripts"], "path"),
        ["scripts/other.sh"]
    );
    let read = called(&ann, COUNT, json!({"arguments": ["references/note.md"]}));
    let read = settled(&ann, &read, "completed");
    assert_eq!(output(&read)["stdout"], "2 3\n", "{read:#}");
    let written = called(&ann, SAVE, json!({"arguments": ["it"]}));
    let waiting = settled(&ann, &written, "awaiting_approval");
    decide(&ann, &waiting["approvals"][0], "approve").expect(200);
    let written = settled(&ann, &written, "completed");
    let saved = json!([{"path": "out.txt", "bytes": 7, "text": "# Note\n"}]);
    assert_eq!(output(&written)["stdout"], "saved it\n");
    assert_eq!(output(&written)["files"], saved);
    // The files are served.
    let note = ann.get("/v1/agent-skills/office.report/files/references/note.md");
    assert_eq!(note.expect(200), "# Note\n");
}

/// A readonly script needs no approval, so its caller must not choose what it executes.
#[test]
fn files_of_a_call_are_data_and_never_code() {
    let server = Tenants::with_keys(&KEYS);
    let ann = server.key("ann");
    import(&ann, &files(SKILL_MD, COUNT_PY));
    let with_file = |path: &str| {
        let file = json!({"path": path, "text": "print('mine')"});
        json!({"arguments": ["input.txt"], "files": [file]})
    };
    let read = called(&ann, COUNT, with_file("input.txt"));
    let read = settled(&ann, &read, "completed");
    assert_eq!(output(&read)["stdout"], "1 3\n", "{read:#}");
    for path in [
        "scripts/count.py",
        "scripts/shared/words.py",
        "scripts/sys.py",
        "sys.py",
        "references/note.md",
        "node_modules/a/index",
        ".env",
    ] {
        let refused = called(&ann, COUNT, with_file(path));
        let refused = settled(&ann, &refused, "failed").to_string();
        assert!(
            refused.contains("a file of a call is data"),
            "{path}: {refused}"
        );
    }
}

/// A tool of a skill out of reach looks absent, and is not called.
#[test]
fn scripts_of_skills_out_of_reach_look_absent() {
    let server = Tenants::with_keys(&KEYS);
    let (ann, uma) = (server.key("ann"), server.key("uma"));
    import(&ann, &files(SKILL_MD, COUNT_PY));
    let path = format!("/v1/documents/tool/{COUNT}");
    ann.get(&path).expect(200);
    uma.get(&path).fails(404, "not_found");
    let step = json!({"id": "step-001", "tool": COUNT, "parameters": {}});
    let sent = json!({"execution_plan": plan(PLAN, json!([step]), abort())});
    uma.post("/v1/runs", &sent).fails(404, "not_found");
}

/// Importing again replaces the tools; without a grant, and with the skill, they go.
#[test]
fn tools_follow_their_skill() {
    let server = Tenants::with_keys(&KEYS);
    let ann = server.key("ann");
    let failing = "import sys\nprint('bad input', file=sys.stderr)\nsys.exit(3)\n";
    import(&ann, &files(SKILL_MD, COUNT_PY));
    import(&ann, &files(SKILL_MD, failing));
    let failed = called(&ann, COUNT, json!({}));
    let failed = settled(&ann, &failed, "failed").to_string();
    assert!(failed.contains("exited with 3: bad input"), "{failed}");
    let ungranted = "---\nname: report\ndescription: Counts words.\n---\nRun it.\n";
    let imported = import(&ann, &files(ungranted, COUNT_PY));
    assert_eq!(imported["tools"], json!([]));
    let path = format!("/v1/documents/tool/{COUNT}");
    ann.get(&path).fails(404, "not_found");
    let sent = files(ungranted, COUNT_PY);
    let all = ann.post("/v1/agent-skills/import?allow_scripts=true", &sent);
    assert_eq!(ids(&all.expect(200)["tools"], "tool_class"), ["write"; 3]);
    let deleted = "/v1/agent-skills/office.report?force=true";
    ann.call("DELETE", deleted, &[], Vec::new()).expect(204);
    ann.get(&path).fails(404, "not_found");
}

/// The command shows the tools, and the scripts that are only served with the correction.
#[test]
fn the_command_lists_tools_and_scripts_without_a_grant() {
    let home = Home::new().with("CHARTER_MODEL__SOURCE", "none");
    let sent = files(SKILL_MD, COUNT_PY);
    for file in sent["files"].as_array().unwrap() {
        let Some(text) = file["text"].as_str() else {
            continue;
        };
        let path = home.path("from").join(file["path"].as_str().unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let from = home.path("from");
    let ran = home.run(&["skills", "import", from.to_str().unwrap(), "--dry-run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for shown in [COUNT, SAVE, "`Bash(scripts/other.sh:*)`"] {
        assert!(ran.out.contains(shown), "{}", ran.out);
    }
}
