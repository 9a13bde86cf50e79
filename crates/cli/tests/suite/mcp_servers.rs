//! Tools of registered MCP servers in the catalogue: servers of the official Python SDK, over standard input and output
//! and over HTTP, and one that misbehaves, each in its own process.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use uuid::Uuid;

use crate::home::{Api, Home, Server, eventually, ids};
use crate::mcp::peers::{installed, scripts};
use crate::playbooks::{KEYS, decide, path_of, settled};

/// The value that only the servers may see.
const SECRET: &str = "s3cr3t-value-of-the-tests";

const PLAN: &str = "plan-01930000-0000-7000-8000-000000000001";

/// A home with servers to register, and their files.
struct Estate {
    home: Home,
    folder: PathBuf,
    config: String,
}

impl Estate {
    fn new() -> Self {
        let home = Home::with_keys(&KEYS).with("TESTS_SECRET", SECRET);
        let folder = home.path("estate");
        std::fs::create_dir(&folder).unwrap();
        let config = std::fs::read_to_string(home.path("config.toml")).unwrap();
        let estate = Self {
            home,
            folder,
            config,
        };
        estate.offer(&json!({}));
        estate
    }

    /// Replaces the offered tools of the SDK's servers, atomically.
    fn offer(&self, state: &Value) {
        let new = self.folder.join("state.new");
        std::fs::write(&new, state.to_string()).unwrap();
        std::fs::rename(new, self.folder.join("state.json")).unwrap();
    }

    fn given(&self, name: &str, http: bool) -> String {
        let (state, log) = (self.folder.join("state.json"), self.folder.join("log"));
        json!({"name": name, "state": state, "log": log, "http": http}).to_string()
    }

    /// The number of changes that servers made.
    fn changes(&self) -> usize {
        let log = std::fs::read_to_string(self.folder.join("log"));
        log.map_or(0, |log| log.lines().count())
    }

    /// Registers a script as a server on this machine.
    fn stdio(mut self, name: &str, script: &Path, more: &str) -> Self {
        let python = installed().join("venv/bin/python");
        let arguments = json!([script, self.given(name, false)]);
        let mut readable = vec![installed().join("venv"), scripts()];
        readable.extend(python_folder());
        self.config += &format!(
            "\n[[mcp.servers]]\nname = \"{name}\"\ncommand = {python:?}\nargs = {arguments}\n\
             readable = {}\nwritable = [{:?}]\nreadonly = [\"read\", \"environment\"]\n{more}\n",
            json!(readable),
            self.folder
        );
        self
    }

    /// Registers a server of the SDK on this machine.
    fn sdk(self, name: &str, more: &str) -> Self {
        self.stdio(name, &scripts().join("server.py"), more)
    }

    /// Registers a server of the SDK over HTTP.
    fn http(mut self, name: &str, more: &str) -> (Self, Remote) {
        let remote = Remote::start(&self.given(name, true));
        let port = remote.port;
        self.config += &format!(
            "\n[[mcp.servers]]\nname = \"{name}\"\nurl = \"http://127.0.0.1:{port}/mcp\"\n\
             headers = {{ \"x-key\" = \"TESTS_SECRET\" }}\nreadonly = [\"read\", \"environment\"]\n{more}\n",
        );
        (self, remote)
    }

    fn serve(self) -> (Home, Server, PathBuf) {
        self.write();
        let server = self.home.serve();
        (self.home, server, self.folder)
    }

    fn write(&self) {
        std::fs::write(self.home.path("config.toml"), &self.config).unwrap();
    }
}

/// The folder of the virtual environment's interpreter, unless it is the system's.
pub(crate) fn python_folder() -> Option<PathBuf> {
    let python = installed().join("venv/bin/python");
    let real = python.canonicalize().unwrap();
    let folder = real.ancestors().nth(2).unwrap().to_owned();
    (!folder.starts_with("/usr")).then_some(folder)
}

/// A listening server; killed when it goes out of scope.
struct Remote {
    child: Child,
    port: u16,
}

impl Remote {
    fn start(given: &str) -> Self {
        let mut command = Command::new(installed().join("venv/bin/python"));
        command.arg(scripts().join("server.py")).arg(given);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut port = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut port).unwrap();
        let port = port.trim().parse().unwrap();
        Self { child, port }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The ids of imported tools.
fn imported(api: &Api) -> Vec<String> {
    let listed = api.get("/v1/list/tool").expect(200);
    let mut ids = ids(&listed["entries"], "id");
    ids.retain(|id| id.starts_with("mcp."));
    ids
}

/// A plan of one step, for a new request.
fn plan(tool: &str, parameters: Value) -> Value {
    json!({
        "id": PLAN, "request_id": format!("req-{}", Uuid::now_v7()),
        "steps": [{"id": "step-001", "tool": tool, "parameters": parameters}],
        "error_handling": {"on_step_failure": "abort_plan"},
    })
}

/// Sends such a plan.
fn send(api: &Api, tool: &str, parameters: Value) -> Value {
    let sent = json!({"execution_plan": plan(tool, parameters)});
    api.post("/v1/runs", &sent).expect(201)
}

/// The output of a reading tool's call.
fn output(api: &Api, tool: &str, parameters: Value) -> Value {
    let done = settled(api, &send(api, tool, parameters), "completed");
    let mut newest_first = done["events"].as_array().unwrap().iter().rev();
    let ended = newest_first.find(|event| event["event"] == "step_succeeded");
    ended.unwrap()["output"].clone()
}

/// Sends a plan with a call of a writing tool, and returns its run as soon as it waits for an approval.
fn waiting(api: &Api, tool: &str, parameters: Value) -> Value {
    let run = send(api, tool, parameters);
    settled(api, &run, "awaiting_approval")
}

/// The failure of an approved call of a writing tool.
fn failure(server: &Server, tool: &str) -> Value {
    let run = waiting(&server.key("ann"), tool, json!({}));
    decide(&server.key("bob"), &run["approvals"][0], "approve").expect(200);
    let done = settled(&server.key("ann"), &run, "failed");
    done["outcome"]["cause"]["failure"].clone()
}

/// The question about an approved call of a writing tool whose answer was refused.
fn doubt(server: &Server, tool: &str) -> String {
    let ann = server.key("ann");
    let run = waiting(&ann, tool, json!({}));
    decide(&server.key("bob"), &run["approvals"][0], "approve").expect(200);
    eventually("the question about a repeat", || {
        let shown = ann.get(&path_of(&run, "")).expect(200);
        let approvals = shown["approvals"].as_array().unwrap().iter();
        let rules = approvals.flat_map(|asked| asked["rules"].as_array().unwrap());
        let mut doubts = rules.filter(|rule| rule["kind"] == "interrupted");
        let doubt = doubts.next()?;
        Some(doubt["message"].as_str().unwrap().to_owned())
    })
}

fn message(failure: &Value) -> &str {
    failure["message"].as_str().unwrap()
}

const OFFERED: [&str; 7] = [
    "die",
    "environment",
    "flood",
    "hang",
    "nested",
    "read",
    "write",
];

#[test]
fn tools_of_servers_are_imported_and_called_like_any_other() {
    let estate = Estate::new().sdk("local", "environment = [\"TESTS_SECRET\"]");
    let (estate, remote) = estate.http("remote", "egress = [\"127.0.0.1:*\"]");
    let (_home, server, _) = estate.serve();
    let uma = server.key("uma");
    let expected = ["local", "remote"]
        .into_iter()
        .flat_map(|name| OFFERED.map(|tool| format!("mcp.{name}.{tool}")));
    assert_eq!(imported(&uma), expected.collect::<Vec<_>>());
    // The description of `find` names the servers, so that an agent knows when to look.
    let listed = uma.mcp(&json!({}), "tools/list", None, json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let find = tools.iter().find(|tool| tool["name"] == "find").unwrap();
    let described = find["description"].as_str().unwrap();
    assert!(described.contains("MCP servers: local ("), "{described}");
    // Each server's tool of the same name is called.
    for name in ["local", "remote"] {
        let tool = format!("mcp.{name}.read");
        assert_eq!(output(&uma, &tool, json!({})), json!({"text": name}));
    }
    // The catalogue's own check refuses invalid parameters.
    let wrong = json!({"execution_plan": plan("mcp.local.read", json!({"text": 7}))});
    let said = uma.post("/v1/runs", &wrong).fails(400, "invalid_document");
    assert!(
        said.ends_with("`text` must be of the type string"),
        "{said}"
    );
    // A fresh environment: only granted values, and no secret in stored data.
    for (name, seen) in [
        ("local", "/environment/TESTS_SECRET"),
        ("remote", "/headers/x-key"),
    ] {
        let said = output(&uma, &format!("mcp.{name}.environment"), json!({}));
        let said: Value = serde_json::from_str(said["text"].as_str().unwrap()).unwrap();
        assert_eq!(
            said.pointer(seen),
            Some(&json!("[redacted:TESTS_SECRET]")),
            "{said:#}"
        );
        if name == "local" {
            let mut variables: Vec<_> = said["environment"].as_object().unwrap().keys().collect();
            variables.retain(|name| !name.starts_with("LC_"));
            assert_eq!(
                variables,
                [
                    "GIT_ATTR_NOSYSTEM",
                    "GIT_CONFIG_NOSYSTEM",
                    "HOME",
                    "LANG",
                    "PATH",
                    "TAR_OPTIONS",
                    "TESTS_SECRET",
                    "TMPDIR"
                ]
            );
        }
    }
    drop(remote);
    assert!(!server.log().contains(SECRET));
}

/// Offers all tools of the server `local` to the clients of one tenant, under their own names.
const PINNED: &str = "[mcp.tenants.acme]\npinned = [{ tool = \"mcp.local.*\" }]";

/// The names of the tools that a client of the Model Context Protocol is offered.
fn offered(api: &Api) -> Vec<String> {
    let listed = api.mcp(&json!({}), "tools/list", None, json!({}));
    ids(&listed["result"]["tools"], "name")
}

/// Regardless of the server's annotations, a write waits for an approval, and happens once; also as a pinned tool.
#[test]
fn b000_10_an_imported_write_waits_for_an_approval_and_happens_once() {
    let estate = Estate::new().sdk("local", PINNED);
    let (_home, server, folder) = estate.serve();
    let [uma, ann, bob] = ["uma", "ann", "bob"].map(|key| server.key(key));
    let changes = || std::fs::read_to_string(folder.join("log")).unwrap_or_default();
    let run = waiting(&ann, "mcp.local.write", json!({"text": "a"}));
    assert_eq!(changes(), "");
    decide(&ann, &run["approvals"][0], "approve").fails(403, "permission_denied");
    decide(&bob, &run["approvals"][0], "approve").expect(200);
    settled(&ann, &run, "completed");
    assert_eq!(changes(), "{'text': 'a'}\n");
    // A user is refused even with an approval.
    let refused = send(&uma, "mcp.local.write", json!({"text": "b"}));
    settled(&uma, &refused, "failed");
    // A tool's claim that it supports dry runs is ignored.
    let plan = plan("mcp.local.write", json!({"text": "c"}));
    let dry = json!({"execution_plan": plan, "dry_run": true});
    let dry = ann.post("/v1/runs", &dry).expect(201);
    settled(&ann, &dry, "completed");
    assert_eq!(changes(), "{'text': 'a'}\n");
    // A pinned tool is offered to its tenant, as far as the caller may call it.
    for (key, tool, is_offered) in [
        ("ann", "write", true),
        ("uma", "write", false),
        ("uma", "read", true),
        ("eve", "read", false),
    ] {
        let names = offered(&server.key(key));
        assert_eq!(names.contains(&tool.to_owned()), is_offered, "{key} {tool}");
    }
    let params = json!({"name": "write", "arguments": {"text": "d"}});
    let called = ann.mcp(&json!({}), "tools/call", Some("write"), params);
    let text = called["result"]["content"][0]["text"].as_str().unwrap();
    let work: Value = serde_json::from_str(text).unwrap();
    assert_eq!(work["status"], "awaiting_approval", "{called:#}");
    assert_eq!(changes(), "{'text': 'a'}\n");
    let run = format!("/v1/runs/{}", work["id"].as_str().unwrap());
    let run = ann.get(&run).expect(200);
    let run = settled(&ann, &run, "awaiting_approval");
    decide(&bob, &run["approvals"][0], "approve").expect(200);
    settled(&ann, &run, "completed");
    assert_eq!(changes(), "{'text': 'a'}\n{'text': 'd'}\n");
}

#[test]
fn a_change_that_is_told_of_is_in_force_without_a_start() {
    let estate = Estate::new().sdk("local", "");
    let (estate, _remote) = estate.http("remote", "egress = [\"127.0.0.1:*\"]");
    estate.write();
    let server = estate.home.serve();
    let uma = server.key("uma");
    assert_eq!(imported(&uma).len(), 2 * OFFERED.len());
    estate.offer(&json!({"more": true, "told": 1}));
    eventually("the new tools", || {
        let now = imported(&uma);
        let has = |id: &str| now.iter().any(|known| known == id);
        (has("mcp.local.more") && has("mcp.remote.more")).then_some(())
    });
    estate.offer(&json!({"told": 2}));
    eventually("them going again", || {
        (imported(&uma).len() == 2 * OFFERED.len()).then_some(())
    });
}

/// The approved tool is the one that was shown: a server that changes it silently is refused.
#[test]
fn a_tool_that_changed_since_it_was_imported_is_refused() {
    let estate = Estate::new().sdk("local", "");
    estate.write();
    let server = estate.home.serve();
    let [ann, bob] = ["ann", "bob"].map(|key| server.key(key));
    let run = waiting(&ann, "mcp.local.write", json!({"text": "a"}));
    estate.offer(&json!({"description": "Does something else."}));
    decide(&bob, &run["approvals"][0], "approve").expect(200);
    let done = settled(&ann, &run, "failed");
    let failure = &done["outcome"]["cause"]["failure"];
    assert_eq!(
        message(failure),
        "the tool `mcp.local.write` failed: the MCP server `local` changed the definition of the tool `write` since \
         its import; it is not called until the catalogue has the current definition"
    );
    assert_eq!(failure["kind"], "permission_error", "{failure:#}");
    assert_eq!(estate.changes(), 0);
    // The change was noticed: the catalogue has the new one, under a new approval.
    eventually("the new definition", || {
        let run = waiting(&ann, "mcp.local.write", json!({"text": "b"}));
        decide(&bob, &run["approvals"][0], "approve").expect(200);
        eventually("its end", || {
            let shown = ann.get(&path_of(&run, "")).expect(200);
            ["completed", "failed"]
                .contains(&shown["status"].as_str().unwrap())
                .then_some(())
        });
        (estate.changes() == 1).then_some(())
    });
}

/// A run continues with its pinned definition, even if Charter was killed in between. Without that definition the run
/// stops, and continues when the server offers it again.
#[test]
fn a_run_that_pinned_an_imported_tool_goes_on_after_a_restart_with_that_tool_only() {
    let estate = Estate::new().sdk("local", "refresh_s = 1");
    estate.write();
    let server = estate.home.serve();
    let ann = server.key("ann");
    let [first, second, third] = ["a", "b", "c"].map(|text| {
        let run = waiting(&ann, "mcp.local.write", json!({"text": text}));
        (path_of(&run, ""), run)
    });
    server.kill();

    let server = estate.home.serve();
    let [ann, bob] = ["ann", "bob"].map(|key| server.key(key));
    decide(&bob, &first.1["approvals"][0], "approve").expect(200);
    settled(&ann, &first.1, "completed");
    assert_eq!(estate.changes(), 1);
    server.kill();

    // The server offers a different definition, and the process no longer has the pinned one.
    estate.offer(&json!({"description": "Does something else."}));
    let server = estate.home.serve();
    let [ann, bob] = ["ann", "bob"].map(|key| server.key(key));
    for (_, run) in [&second, &third] {
        decide(&bob, &run["approvals"][0], "approve").expect(200);
    }
    ann.post(
        &path_of(&third.1, "/abort"),
        &json!({"reason": "its tool is gone"}),
    )
    .expect(200);
    settled(&ann, &third.1, "aborted");
    assert_eq!(estate.changes(), 1);
    let stands = ann.get(&second.0).expect(200);
    assert_eq!(stands["outcome"], Value::Null, "{stands:#}");
    server.kill();

    estate.offer(&json!({}));
    let server = estate.home.serve();
    let ann = server.key("ann");
    settled(&ann, &second.1, "completed");
    let log = std::fs::read_to_string(estate.folder.join("log")).unwrap();
    assert_eq!(log, "{'text': 'a'}\n{'text': 'b'}\n");
}

#[test]
fn a_server_that_hangs_dies_or_floods_fails_the_call_and_comes_back() {
    let more = "environment = [\"TESTS_SECRET\"]\ntimeout_ms = 4000";
    let estate = Estate::new().sdk("local", more);
    let (home, server, _) = estate.serve();
    let uma = server.key("uma");
    let comes_back = || {
        eventually("the server", || {
            let run = send(&uma, "mcp.local.read", json!({}));
            eventually("an end", || {
                let shown = uma.get(&path_of(&run, "")).expect(200);
                let status = shown["status"].as_str().unwrap().to_owned();
                ["completed", "failed"]
                    .contains(&status.as_str())
                    .then_some(status == "completed")
            })
            .then_some(())
        });
    };
    let hung = failure(&server, "mcp.local.hang");
    assert_eq!(
        (message(&hung), &hung["kind"], &hung["retryable"]),
        (
            "the tool `mcp.local.hang` failed: the MCP server `local` did not answer within 4000 ms",
            &json!("timeout_error"),
            &json!(false)
        )
    );
    comes_back();
    let died = failure(&server, "mcp.local.die");
    let words = "gave an unusable answer";
    assert!(message(&died).contains(words), "{died:#}");
    comes_back();
    // It writes, and it answered: a person must decide.
    let flooded = doubt(&server, "mcp.local.flood");
    let words = "it sent a message of more than 16777216 bytes";
    assert!(flooded.contains(words), "{flooded}");
    comes_back();
    let log = server.log();
    assert!(
        log.contains("the secret is [redacted:TESTS_SECRET]"),
        "{log}"
    );
    assert!(!log.contains(SECRET), "{log}");
    drop((server, home));
}

/// A server without the SDK, of the previous revision: it works, and its invalid answers are reported.
#[test]
fn a_server_that_answers_garbage_leaves_its_call_in_doubt_and_nothing_else() {
    let script = scripts().join("old_server.py");
    let estate = Estate::new().stdio("old", &script, "timeout_ms = 4000");
    let (_home, server, _) = estate.serve();
    let uma = server.key("uma");
    let digest = "sha256:ae4b3280e56e2faf83f414a6e3dabe9d5fbe18976544c05fed121accb85b53fc";
    let said = json!({"text": "old but well", "mcp_content": [
        {"type": "text", "text": "old but well"},
        {"type": "audio", "mimeType": "a/b", "digest": digest, "bytes": 3},
    ]});
    let run = send(&uma, "mcp.old.read", json!({}));
    settled(&uma, &run, "completed");
    let content = path_of(&run, &format!("/contents/{digest}"));
    let (status, bytes) = uma.raw("GET", &content, &[], Vec::new());
    assert_eq!((status, bytes.as_str()), (200, "\u{0}\u{1}\u{2}"));
    server.key("eve").get(&content).fails(404, "not_found");
    let unknown = content.replace("ae4b", "0000");
    uma.get(&unknown).fails(404, "not_found");
    // A client of the protocol gets the bytes as the server sent them.
    let arguments = json!({"tool_id": "mcp.old.read", "parameters": {}});
    let params = json!({"name": "call", "arguments": arguments});
    let called = uma.mcp(&json!({}), "tools/call", Some("call"), params);
    let audio = json!({"type": "audio", "mimeType": "a/b", "data": "AAEC"});
    assert_eq!(called["result"]["content"][2], audio, "{called:#}");
    for tool in ["garbage", "nonsense", "line"] {
        eventually("an answer", || {
            let run = send(&uma, "mcp.old.read", json!({}));
            let ended = eventually("an end", || {
                let shown = uma.get(&path_of(&run, "")).expect(200);
                ["completed", "failed"]
                    .contains(&shown["status"].as_str().unwrap())
                    .then_some(shown)
            });
            (ended["status"] == "completed").then_some(())
        });
        assert_eq!(output(&uma, "mcp.old.read", json!({})), said);
        let asked = doubt(&server, &format!("mcp.old.{tool}"));
        assert!(asked.contains("the MCP server `old`"), "{asked}");
    }
}

/// An unreachable server is reported and stops nothing; its tools are added when it becomes reachable.
#[test]
fn a_server_that_is_away_at_the_start_comes_later() {
    let estate = Estate::new();
    let script = estate.folder.join("server.py");
    let estate = estate.stdio("late", &script, "").sdk("local", "");
    let (estate, remote) = estate.http("walled", "");
    estate.write();
    let server = estate.home.serve();
    let uma = server.key("uma");
    let of = |name: &str| {
        let here = OFFERED.map(|tool| format!("mcp.{name}.{tool}"));
        here.to_vec()
    };
    assert_eq!(imported(&uma), of("local"));
    let doctor = estate.home.run(&["doctor", "--output", "json"]).json(1);
    let checks = doctor.as_array().unwrap().iter();
    let found: Vec<(&str, &str)> = checks
        .filter(|check| check["check"] == "mcp server")
        .map(|check| {
            (
                check["state"].as_str().unwrap(),
                check["found"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(found.len(), 4, "{found:#?}");
    assert_eq!(found[0].0, "wrong");
    assert!(found[0].1.starts_with("late: "), "{found:?}");
    assert_eq!(found[1], ("ok", "local: 7 of 8 tools imported"));
    let unseen = "local: not imported: unseen: it needs the parameter `a`: its name must have 1 to 200 visible \
                  characters";
    assert_eq!(found[2], ("warning", unseen));
    let wall = "walled: 127.0.0.1 resolves to 127.0.0.1, a private or local address that the configuration \
                does not grant";
    assert_eq!(found[3], ("wrong", wall));
    std::fs::copy(scripts().join("server.py"), &script).unwrap();
    eventually("the late server", || {
        let all = [of("late"), of("local")].concat();
        (imported(&uma) == all).then_some(())
    });
    drop(remote);
}

/// The interpreter is a virtual environment's: the environment and the Python of it are not named. A denied tool is not
/// in the catalogue.
#[test]
fn an_added_program_runs_with_its_environment_and_offers_the_selected_tools() {
    let estate = Estate::new();
    let given = estate.given("local", false);
    let (python, script) = (
        installed().join("venv/bin/python"),
        scripts().join("server.py"),
    );
    let [python, script, folder] =
        [&python, &script, &estate.folder].map(|path| path.to_str().unwrap());
    let home = &estate.home;
    let added = home.run(&[
        "mcp",
        "add",
        "--name",
        "local",
        "--env",
        "MODE=fast",
        "--writable",
        folder,
        "--deny",
        "write",
        "--deny",
        "die",
        "--readonly",
        "read",
        "--",
        python,
        script,
        &given,
    ]);
    assert_eq!(added.code, Some(0), "{added:?}");
    let again = home.run(&["mcp", "add", "--name", "local", "--", python]);
    assert_eq!(again.code, Some(2), "{again:?}");
    let listed = home
        .run(&["--output", "json", "list", "tool", "--query", "mcp.local"])
        .json(0);
    let mut tools = ids(&listed["entries"], "id");
    tools.retain(|id| id.starts_with("mcp."));
    let offered = OFFERED
        .iter()
        .filter(|tool| !["write", "die"].contains(tool));
    let offered: Vec<String> = offered.map(|tool| format!("mcp.local.{tool}")).collect();
    assert_eq!(tools, offered);
    let snapshot = home.run(&["mcp", "snapshot"]).json(0);
    assert_eq!(ids(&snapshot["tools"], "tool_id"), offered);
}

/// An invalid configuration of servers stops the start.
#[test]
fn a_wrong_registration_stops_the_start() {
    let base = Estate::new().config;
    let server = |rest: &str| format!("{base}\n[[mcp.servers]]\n{rest}\n");
    let cases = [
        (
            server("name = \"A.b\"\nurl = \"https://a.example\""),
            "lower-case letters",
        ),
        (server("name = \"a\""), "either `command` or `url`"),
        (
            server("name = \"a\"\ncommand = \"no-such-program-of-the-tests\""),
            "PATH has no program `no-such-program-of-the-tests`",
        ),
        (
            server("name = \"a\"\nurl = \"https://a.example\"\nheaders = {a = \"TESTS_ABSENT\"}"),
            "TESTS_ABSENT",
        ),
    ];
    for (config, said) in cases {
        let estate = Estate::new();
        std::fs::write(estate.home.path("config.toml"), config).unwrap();
        let ran = estate.home.run(&["package", "list"]);
        assert_ne!(ran.code, Some(0), "{ran:?}");
        assert!(ran.err.contains(said), "{ran:?}");
    }
}
