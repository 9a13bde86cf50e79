//! A charter installation of its own: data directory, configuration, commands, a server.
//!
//! Every failure that a server answers is checked here to be a valid AgentError that gives away
//! nothing internal (B003-3), so every test of the suite checks it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use charter_contract::schema::SchemaName;
use charter_contract::validate::validate;
use charter_testkit::postgres_server::{Database, PostgresServer};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use uuid::Uuid;

use crate::described;
use crate::watched::Watched;

/// How long anything may take before a test gives up.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// With the value `postgres`, every home stores everything in a database of its own on a real server.
const STORE: &str = "CHARTER_TEST_STORE";

/// What every request of the Model Context Protocol carries.
pub(crate) const MCP_HEADERS: [(&str, &str); 2] = [
    ("accept", "application/json, text/event-stream"),
    ("content-type", "application/json"),
];

const CHARTER: &str = env!("CARGO_BIN_EXE_charter");

/// A server on a free port.
const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

/// The build folder, where the Makefile puts the model and the quickstart's Python.
pub(crate) fn target() -> PathBuf {
    project().join("target")
}

/// The project's root.
pub(crate) fn project() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.unwrap().to_path_buf()
}

/// Asks until there is an answer.
pub(crate) fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(start.elapsed() < DEADLINE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A data directory with a configuration.
pub(crate) struct Home {
    dir: TempDir,
    environment: Vec<(String, String)>,
    /// What it stores everything in, where that is not the data directory; gone with the last home.
    database: Option<Arc<Database>>,
}

impl Home {
    pub(crate) fn new() -> Self {
        let models = target().join("models");
        assert!(
            models.is_dir(),
            "the tests need the embedding model in {}: `make model` fetches it",
            models.display()
        );
        let home = Self {
            dir: TempDir::new().unwrap(),
            environment: Vec::new(),
            database: None,
        };
        let home = home.with("CHARTER_MODEL__CACHE", models.to_str().unwrap());
        // A test that stops a server does not wait for steps that nobody ends.
        let home = home.with("CHARTER_REPLICA__DRAIN_S", "0");
        // The services of tests listen on this machine.
        let home = home.with("CHARTER_TOOLS__EGRESS", "127.0.0.1:*");
        match std::env::var(STORE).as_deref() {
            Ok("postgres") => home.on(&Arc::new(PostgresServer::shared().database())),
            _ => home,
        }
    }

    /// The same over a database that others may share.
    pub(crate) fn on(mut self, database: &Arc<Database>) -> Self {
        self.set("CHARTER_STORE__URL", &database.url());
        self.database = Some(Arc::clone(database));
        self
    }

    /// The same over a file, whatever else the tests run on: they look into it, or it is what they are about.
    pub(crate) fn embedded(mut self) -> Self {
        self.unset("CHARTER_STORE__URL");
        self.database = None;
        self
    }

    /// A home whose server knows one key for each `(key, tenant, user, role)`.
    pub(crate) fn with_keys(keys: &[Key]) -> Self {
        let keys = keys.iter().map(configured_key);
        Self::new().configured(&keys.collect::<String>())
    }

    /// Writes the configuration file.
    pub(crate) fn configured(self, text: &str) -> Self {
        let file = self.dir.path().join("config.toml");
        std::fs::write(&file, text).unwrap();
        self.with("CHARTER_CONFIG", file.to_str().unwrap())
    }

    /// Sets an environment variable for everything started from here.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.set(name, value);
        self
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.unset(name);
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    pub(crate) fn unset(&mut self, name: &str) {
        self.environment.retain(|(known, _)| known != name);
    }

    /// A path beside the data directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path("data")
    }

    fn command(&self) -> Command {
        let mut command = self.bare_command();
        command.arg("--data-dir").arg(self.data());
        command
    }

    /// The binary in an environment of its own, and not told where its data is.
    fn bare_command(&self) -> Command {
        self.program(CHARTER)
    }

    fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", self.dir.path());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command().args(arguments).output().unwrap())
    }

    /// A command in an environment of its own, to be changed before it runs.
    pub(crate) fn bare(&self, arguments: &[&str]) -> Command {
        let mut command = self.bare_command();
        command.args(arguments);
        command
    }

    /// Runs a command in the folder that holds the data directory.
    pub(crate) fn run_in_home(&self, arguments: &[&str]) -> Ran {
        let mut command = self.bare_command();
        command.current_dir(self.dir.path()).args(arguments);
        Ran::of(command.output().unwrap())
    }

    /// Runs a line of shell in the folder that holds the data directory, where `charter` is known.
    pub(crate) fn shell(&self, line: &str) -> Ran {
        let mut path = Path::new(CHARTER).parent().unwrap().as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut command = self.program("bash");
        command.current_dir(self.dir.path()).env("PATH", path);
        Ran::of(command.args(["-c", line]).output().unwrap())
    }

    /// A command and its environment, for a program that starts it itself.
    pub(crate) fn startable(&self, arguments: &[&str]) -> (Vec<String>, BTreeMap<String, String>) {
        let data = self.data();
        let command = [CHARTER, "--data-dir", data.to_str().unwrap()];
        let command = command.iter().chain(arguments).map(ToString::to_string);
        let mut environment = BTreeMap::from_iter(self.environment.clone());
        environment.insert("PATH".to_owned(), std::env::var("PATH").unwrap_or_default());
        environment.insert(
            "HOME".to_owned(),
            self.dir.path().to_str().unwrap().to_owned(),
        );
        (command.collect(), environment)
    }

    /// Starts a command whose output is read line by line as it comes.
    pub(crate) fn watch(&self, arguments: &[&str]) -> Watched {
        let mut command = self.bare_command();
        command.args(arguments);
        Watched::start(command)
    }

    /// Starts a command that goes on, with its standard error to be read.
    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        let mut command = self.command();
        command.current_dir(self.dir.path()).args(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Starts a server on a free port; returns once it listens.
    pub(crate) fn serve(&self) -> Server {
        self.served_by(self.spawn(&SERVE))
    }

    /// Starts a server that lives as long as this process, with its data directory.
    pub(crate) fn serve_to_the_end(self) -> &'static Server {
        // The shell's input ends with this process, however that ends; signals to the whole process group must not
        // end the shell before.
        const HELD: &str = r#"trap '' HUP INT TERM
"$@" < /dev/null &
read -r _
kill -KILL $!
rm -rf "$CHARTER_TEST_HOME""#;
        let mut command = self.program("bash");
        command.env("CHARTER_TEST_HOME", self.dir.path());
        command.args(["-c", HELD, "bash", CHARTER, "--data-dir"]);
        command.arg(self.data()).args(SERVE);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let server = Box::new(self.served_by(command.spawn().unwrap()));
        // The shell ends the server and removes its directory: nothing here may do so before.
        std::mem::forget(self);
        Box::leak(server)
    }

    /// The server that a process runs, once it listens.
    fn served_by(&self, mut child: Child) -> Server {
        let (said, heard) = mpsc::channel();
        let log = Arc::new(Mutex::new(String::new()));
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let address = line.strip_prefix("charter is listening on ");
                if let Some(address) = address.and_then(|rest| rest.split(' ').next()) {
                    // Nobody listens once the server is known to run.
                    drop(said.send(address.to_owned()));
                }
                let mut kept = kept.lock().unwrap();
                kept.push_str(&line);
                kept.push('\n');
            }
        });
        let base = heard.recv_timeout(DEADLINE).unwrap_or_else(|_| {
            drop(child.kill());
            panic!("no server started: {}", log.lock().unwrap())
        });
        let api = Api {
            base,
            key: None,
            private: self.dir.path().to_path_buf(),
        };
        Server { child, api, log }
    }
}

/// What a command left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The output as JSON, of a command that ended with `code`.
    pub(crate) fn json(&self, code: i32) -> Value {
        assert_eq!(self.code, Some(code), "{self:?}");
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A running server; killed when it goes out of scope.
pub(crate) struct Server {
    child: Child,
    pub(crate) api: Api,
    log: Arc<Mutex<String>>,
}

impl Server {
    /// The API as whoever has this key sees it.
    pub(crate) fn key(&self, key: &str) -> Api {
        self.api.with_key(key)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it wrote to standard error.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// SIGKILL, without a word.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM, and waits for the exit code.
    pub(crate) fn terminate(mut self) -> Option<i32> {
        let pid = self.pid().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        assert!(sent.success());
        let status = eventually("the server's end", || self.child.try_wait().unwrap());
        status.code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A server that was waited for is gone already.
        drop(self.child.kill());
        drop(self.child.wait());
        if std::thread::panicking() {
            eprintln!("the server said:\n{}", self.log());
        }
    }
}

/// An answer over HTTP.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Answer {
    /// The body of an answer with this status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{:#}", self.body);
        self.body
    }

    /// The message of a failure with this status and code.
    #[track_caller]
    pub(crate) fn fails(self, status: u16, code: &str) -> String {
        let found = (self.status, self.body["error_code"].as_str());
        assert_eq!(found, (status, Some(code)), "{:#}", self.body);
        self.body["user_message"].as_str().unwrap().to_owned()
    }
}

/// A key with its tenant, user and role.
pub(crate) type Key<'a> = (&'a str, &'a str, &'a str, &'a str);

/// A key's part of the configuration.
pub(crate) fn configured_key((key, tenant, user, role): &Key) -> String {
    let digest = Sha256::digest(key.as_bytes());
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "[[auth.keys]]\nsha256 = \"{digest}\"\ntenant = \"{tenant}\"\nuser = \"{user}\"\nrole = \"{role}\"\n"
    )
}

/// The API with one caller's credential.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) base: String,
    pub(crate) key: Option<String>,
    /// A path that no failure may name.
    private: PathBuf,
}

impl Api {
    /// The API with another credential.
    pub(crate) fn with_key(&self, key: &str) -> Self {
        Self {
            key: Some(key.to_owned()),
            ..self.clone()
        }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.call("GET", path, &[], Vec::new())
    }

    /// What a path holds, byte for byte.
    #[track_caller]
    pub(crate) fn bytes(&self, path: &str) -> Vec<u8> {
        let (status, mut reader) = self.send("GET", path, &[], Vec::new());
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        assert_eq!(status, 200, "{path}");
        bytes
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_bytes(path, body.to_string().into_bytes())
    }

    pub(crate) fn post_bytes(&self, path: &str, body: Vec<u8>) -> Answer {
        self.call("POST", path, &[], body)
    }

    pub(crate) fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Answer {
        let (status, mut reader) = self.send(method, path, headers, body);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        let body = match text.as_str() {
            "" => Value::Null,
            text => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        };
        if status >= 400 {
            self.check_failure(&body);
            described::check_failure(method, path, status, &body);
        } else if let Some(text) = body.as_str() {
            // A stream of events, or a file.
            described::check_stream(method, path, text);
        } else {
            described::check(method, path, status, &body);
        }
        Answer { status, body }
    }

    /// The status and text of an answer of another protocol.
    pub(crate) fn raw(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> (u16, String) {
        let (status, mut reader) = self.send(method, path, headers, body);
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        (status, String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The same of an interface whose failures have a form of their own.
    pub(crate) fn call_plainly(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Answer {
        let (status, text) = self.raw(method, path, headers, body);
        let body = serde_json::from_str(&text).unwrap_or_else(|_| json!(text));
        Answer { status, body }
    }

    /// A header of the answer to a look at a path.
    pub(crate) fn header_of(&self, path: &str, name: &str) -> Option<String> {
        let response = self.respond("GET", path, &[], Vec::new());
        let value = response.headers().get(name)?;
        Some(value.to_str().unwrap().to_owned())
    }

    /// What a request without a body is refused with: status, the methods of the header `Allow`, and body.
    pub(crate) fn refusal(&self, method: &str, path: &str) -> (u16, String, Value) {
        let response = self.respond(method, path, &[], Vec::new());
        let allowed = response.headers().get("allow");
        let allowed = allowed.map_or("", |value| value.to_str().unwrap());
        let (status, allowed) = (response.status().as_u16(), allowed.to_owned());
        let mut text = String::new();
        let mut body = response.into_body().into_reader();
        body.read_to_string(&mut text).unwrap();
        (
            status,
            allowed,
            serde_json::from_str(&text).unwrap_or_default(),
        )
    }

    /// The status of an answer whose body is nobody's business.
    pub(crate) fn status_of(&self, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> u16 {
        self.send("POST", path, headers, body).0
    }

    /// Opens a session of the Model Context Protocol: its id.
    pub(crate) fn open_mcp_session(&self) -> String {
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"},
        }});
        let response = self.respond("POST", "/mcp", &MCP_HEADERS, body.to_string().into_bytes());
        let session = response.headers()["mcp-session-id"]
            .to_str()
            .unwrap()
            .to_owned();
        let mut headers = MCP_HEADERS.to_vec();
        headers.push(("mcp-session-id", &session));
        let ready = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_vec();
        assert_eq!(self.status_of("/mcp", &headers, ready), 202);
        session
    }

    /// A request of the Model Context Protocol in its revision without sessions, and the whole answer.
    pub(crate) fn mcp(
        &self,
        capabilities: &Value,
        method: &str,
        name: Option<&str>,
        mut params: Value,
    ) -> Value {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut headers = MCP_HEADERS.to_vec();
        headers.extend([
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
        ]);
        headers.extend(name.map(|name| ("mcp-name", name)));
        let (_, answer) = self.send("POST", "/mcp", &headers, body.to_string().into_bytes());
        let answer: Value = serde_json::from_reader(answer).unwrap();
        let result = &answer["result"];
        // Clients check structured content against a schema that has no place for errors.
        assert!(
            result["isError"] != true || result["structuredContent"].is_null(),
            "{answer:#}"
        );
        answer
    }

    /// Sends a request and does not read its answer, for as long as the connection is held.
    pub(crate) fn send_and_hold(&self, request: &Value) -> TcpStream {
        let body = request.to_string();
        let length = format!("content-length: {}\r\n", body.len());
        self.begin("POST /v1/requests", &length, &body)
    }

    /// Sends a request, or the beginning of one, on a connection of its own: method and path, lines of headers, body.
    pub(crate) fn begin(&self, line: &str, headers: &str, body: &str) -> TcpStream {
        let host = self.base.strip_prefix("http://").unwrap();
        let mut connection = TcpStream::connect(host).unwrap();
        connection.set_read_timeout(Some(DEADLINE)).unwrap();
        let key = self.key.iter();
        let key: String = key
            .map(|key| format!("authorization: Bearer {key}\r\n"))
            .collect();
        write!(
            connection,
            "{line} HTTP/1.1\r\nhost: {host}\r\n{key}{headers}\r\n{body}"
        )
        .unwrap();
        connection
    }

    /// Asks for a stream of events: the name and data of each.
    pub(crate) fn stream(&self, request: &Value) -> Vec<(String, Value)> {
        let headers = [("accept", "text/event-stream")];
        let body = request.to_string().into_bytes();
        let (status, mut reader) = self.send("POST", "/v1/requests", &headers, body);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(status, 200, "{text}");
        let events = text.split("\n\n").filter_map(|event| {
            let field = |name| event.lines().find_map(|line| line.strip_prefix(name));
            let data = serde_json::from_str(field("data: ")?).unwrap();
            Some((field("event: ")?.to_owned(), data))
        });
        events.collect()
    }

    /// Opens a stream of events by GET: its lines as they arrive, until the server closes it.
    #[track_caller]
    pub(crate) fn follow(&self, path: &str) -> impl Iterator<Item = String> + use<> {
        let headers = [("accept", "text/event-stream")];
        let (status, reader) = self.send("GET", path, &headers, Vec::new());
        assert_eq!(status, 200, "{path}");
        BufReader::new(reader).lines().map(Result::unwrap)
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> (u16, impl Read + use<>) {
        let response = self.respond(method, path, headers, body);
        (
            response.status().as_u16(),
            response.into_body().into_reader(),
        )
    }

    fn respond(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> ureq::http::Response<ureq::Body> {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(DEADLINE))
            .proxy(None)
            .build()
            .into();
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base));
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        agent.run(request.body(body).unwrap()).unwrap()
    }

    /// B003-3: one of the six types, and neither a path nor a source file in what the user reads.
    fn check_failure(&self, body: &Value) {
        assert_eq!(validate(SchemaName::AgentError, body), [], "{body:#}");
        let message = body["user_message"].as_str().unwrap();
        for internal in [self.private.to_str().unwrap(), ".rs", "/crates/", "sqlite"] {
            assert!(!message.contains(internal), "{message}");
        }
    }

    /// Puts a package in force.
    #[track_caller]
    pub(crate) fn register(&self, package: &crate::packages::Package) -> Value {
        self.post("/v1/packages", &package.bundle()).expect(201)
    }

    /// The ids of a kind that packages brought: the built-in ones, always there, are left out.
    #[track_caller]
    pub(crate) fn brought(&self, kind: &str) -> Vec<String> {
        let listed = self.get(&format!("/v1/list/{kind}")).expect(200);
        let entries = listed["entries"].as_array().unwrap().iter();
        let brought = entries.filter(|entry| entry["package"] != "charter");
        ids(&brought.cloned().collect(), "id")
    }

    /// Sends a request.
    pub(crate) fn ask(&self, request: &Value) -> Answer {
        self.post("/v1/requests", request)
    }

    /// The ids that a query is routed to, best first.
    #[track_caller]
    pub(crate) fn routed(&self, query: &str) -> Vec<String> {
        let path = format!("/v1/route?top_k=20&query={}", query.replace(' ', "+"));
        ids(&self.get(&path).expect(200)["candidates"], "id")
    }
}

/// The status of the answer that comes on a connection.
pub(crate) fn status_on(connection: &TcpStream) -> u16 {
    let mut line = String::new();
    BufReader::new(connection).read_line(&mut line).unwrap();
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

/// One field of every item.
pub(crate) fn ids(items: &Value, field: &str) -> Vec<String> {
    let items = items.as_array().unwrap_or_else(|| panic!("{items:#}"));
    let text = |item: &Value| {
        let pointer = format!("/{}", field.replace('.', "/"));
        let found = item.pointer(&pointer).and_then(Value::as_str);
        found.unwrap_or_else(|| panic!("{item:#}")).to_owned()
    };
    items.iter().map(text).collect()
}

/// A new request.
pub(crate) fn request(input: &str) -> Value {
    json!({
        "id": format!("req-{}", Uuid::now_v7()), "timestamp": "2026-04-14T12:00:00Z", "input": input,
    })
}

/// A new request that names its skill and gives parameters.
pub(crate) fn request_of(skill: &str, parameters: Value) -> Value {
    let mut request = request("do it");
    request["metadata"] = json!({"skill_id": skill, "parameters": parameters});
    request
}
