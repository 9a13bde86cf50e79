//! Access of a local server of the Model Context Protocol, with a real process.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use charter_contract::ids::Label;
use charter_effects::{
    McpServerOptions, McpServers, McpTool, McpTransport, Repeat, ServerHome, ToolImplementation,
    ToolRunner, ToolSelection, TraceContext,
};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{Fixture, call, is_alive, output, sandbox};

/// A server of the revision 2025-11-25 whose one tool reports the access of its process.
const SERVER: &str = r#"
import json, os, socket, subprocess, sys

def can(what):
    try:
        what()
        return True
    except OSError:
        return False

def tried(given):
    folder = os.environ["HOME"]
    kept = os.path.join(folder, "kept")
    before = os.path.exists(kept)
    open(kept, "w").close()
    child = subprocess.Popen(["sleep", "1000"])
    return {
        "reads": [can(lambda: open(path).close()) for path in given["reads"]],
        "writes": [can(lambda: open(os.path.join(path, "new"), "w").close()) for path in given["writes"]],
        "connects": can(lambda: socket.create_connection(("127.0.0.1", given["port"]), 5).close()),
        "kept": before,
        "starts_in": os.getcwd() == folder,
        "processes": [os.getpid(), child.pid],
    }

TOOL = {"name": "try", "inputSchema": {"type": "object", "properties": {"given": {"type": "object"}}}}
# More than a pipe holds: it is read, or nothing would ever be answered.
sys.stderr.write("x" * 1000000)
for line in sys.stdin:
    request = json.loads(line)
    method, result = request.get("method"), None
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [TOOL]}
    elif method == "tools/call":
        result = {"content": [], "structuredContent": tried(request["params"]["arguments"]["given"])}
    if "id" in request:
        answer = {"result": result} if result else {"error": {"code": -32601, "message": "unknown"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
"#;

/// Returns the interpreter, and the folder of its libraries.
fn python() -> (PathBuf, PathBuf) {
    let probe = std::process::Command::new("python3")
        .args([
            "-c",
            "import sys; print(sys.executable); print(sys.base_prefix)",
        ])
        .output()
        .unwrap();
    let said = String::from_utf8(probe.stdout).unwrap();
    let (program, libraries) = said.trim().split_once('\n').unwrap();
    (PathBuf::from(program), PathBuf::from(libraries))
}

async fn tried(fixture: Fixture, given: &Value) -> (Fixture, Value) {
    let folder = fixture.directory.path();
    std::fs::write(folder.join("open/server.py"), SERVER).unwrap();
    let (python, libraries) = python();
    let name = Label::parse("tries").unwrap();
    let options = McpServerOptions {
        name: name.clone(),
        transport: McpTransport::Stdio {
            home: ServerHome::Kept,
            command: python,
            arguments: vec![folder.join("open/server.py").display().to_string()],
            environment: Vec::new(),
            settings: Vec::new(),
            runtime: Vec::new(),
            search_path: Vec::new(),
            readable: vec![folder.join("open"), libraries],
            writable: vec![folder.join("shared")],
            egress: Vec::new(),
            daemon: None,
        },
        selection: ToolSelection::default(),
        readonly: BTreeSet::new(),
        start_timeout: Duration::from_secs(60),
        timeout: Duration::from_secs(20),
        refresh: Duration::from_secs(300),
        trace: TraceContext::default(),
        credential: None,
        listing: None,
        asks: false,
        offers: false,
    };
    let Fixture { sandbox, directory } = fixture;
    let sandbox = Arc::new(sandbox);
    let servers = McpServers::start(Arc::clone(&sandbox), vec![options]);
    servers.settled(Duration::from_secs(60)).await;
    let imports = servers.imports().borrow().clone();
    let imported = imports
        .tools()
        .next()
        .unwrap_or_else(|| panic!("{imports:?}"));
    let definition = json!(imported.document)["implementation"]["definition"].clone();
    let mut call = call(ToolImplementation::Mcp(McpTool {
        server: name,
        name: "try".to_owned(),
        definition: definition.as_str().unwrap().to_owned(),
        wire_names: BTreeMap::new(),
        repeat: Repeat::Unsafe,
        link: None,
    }));
    call.parameters = Map::from_iter([("given".to_owned(), given.clone())]);
    let said = output(servers.run(call, CancellationToken::new()).await);
    drop(servers);
    // The keeper releases it with the connections.
    let deadline = Instant::now() + Duration::from_secs(20);
    while Arc::strong_count(&sandbox) > 1 {
        assert!(Instant::now() < deadline, "the connection goes on");
        tokio::task::yield_now().await;
    }
    let sandbox = Arc::into_inner(sandbox).unwrap();
    (Fixture { sandbox, directory }, said)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_uses_only_its_grants_and_ends_with_its_connections() {
    let fixture = sandbox().await;
    let folder = fixture.directory.path().to_owned();
    for name in ["open", "shared", "closed"] {
        std::fs::create_dir(folder.join(name)).unwrap();
    }
    for file in ["open/file", "closed/file"] {
        std::fs::write(folder.join(file), "").unwrap();
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let given = json!({
        "reads": [folder.join("open/file"), folder.join("closed/file"), folder.join("sandbox/calls"), "/proc/1/environ"],
        "writes": [folder.join("shared"), folder.join("open"), folder.join("closed")],
        "port": listener.local_addr().unwrap().port(),
    });
    let mut fixture = fixture;
    for kept in [false, true] {
        let said;
        (fixture, said) = tried(fixture, &given).await;
        let expected = json!({
            "reads": [true, false, false, false],
            "writes": [true, false, false],
            "connects": false,
            "kept": kept,
            "starts_in": true,
            "processes": said["processes"],
        });
        assert_eq!(said, expected);
        let processes = said["processes"].as_array().unwrap().iter();
        let deadline = Instant::now() + Duration::from_secs(20);
        for process in processes.map(|id| id.as_i64().unwrap()) {
            while is_alive(process) {
                assert!(Instant::now() < deadline, "{process} goes on");
                tokio::task::yield_now().await;
            }
        }
    }
}
