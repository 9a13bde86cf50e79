//! An isolated charter installation: data directory, configuration, commands, a server.

mod api;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use charter_testkit::postgres_server::{Database, PostgresServer};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::watched::Watched;

pub(crate) use api::{Answer, Api, MCP_HEADERS, ids, request, request_of, status_on};

/// The longest wait of a test for anything.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// With the value `postgres`, every home uses a new database on a real server.
const STORE: &str = "CHARTER_TEST_STORE";

/// The binary of this build.
pub(crate) const CHARTER: &str = env!("CARGO_BIN_EXE_charter");

/// A server on a free port.
const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

/// The build folder, in which the Makefile puts the model and the quickstart's Python.
pub(crate) fn target() -> PathBuf {
    project().join("target")
}

/// The project's root.
pub(crate) fn project() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.unwrap().to_path_buf()
}

/// Polls until there is a value.
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
    /// The database in place of a file; dropped with the last home.
    database: Option<Arc<Database>>,
    /// The binary that commands and servers run.
    binary: String,
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
            binary: CHARTER.to_owned(),
        };
        let home = home.with("CHARTER_MODEL__CACHE", models.to_str().unwrap());
        // A test that stops a server does not wait for steps that never end.
        let home = home.with("CHARTER_REPLICA__DRAIN_S", "0");
        // The services of tests listen on this machine.
        let home = home.with("CHARTER_TOOLS__EGRESS", "127.0.0.1:*");
        match std::env::var(STORE).as_deref() {
            Ok("postgres") => home.on(&Arc::new(PostgresServer::shared().database())),
            _ => home,
        }
    }

    /// Uses a database that other homes may share.
    pub(crate) fn on(mut self, database: &Arc<Database>) -> Self {
        self.set("CHARTER_STORE__URL", &database.url());
        self.database = Some(Arc::clone(database));
        self
    }

    /// Uses a file regardless of `CHARTER_TEST_STORE`, for tests that read it or are about it.
    pub(crate) fn embedded(mut self) -> Self {
        self.unset("CHARTER_STORE__URL");
        self.database = None;
        self
    }

    /// A home whose server has one key for each `(key, tenant, user, role)`.
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

    /// Sets an environment variable for all processes of this home.
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

    /// Runs the binary of another build from now on.
    pub(crate) fn use_binary(&mut self, binary: &str) {
        self.binary = binary.to_owned();
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

    /// The binary in an isolated environment, without its data directory.
    fn bare_command(&self) -> Command {
        self.program(&self.binary)
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

    /// A command in an isolated environment, which can be changed before it runs.
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

    /// Runs a line of shell in the folder that holds the data directory, with `charter` in the path.
    pub(crate) fn shell(&self, line: &str) -> Ran {
        let mut path = Path::new(CHARTER).parent().unwrap().as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut command = self.program("bash");
        command.current_dir(self.dir.path()).env("PATH", path);
        Ran::of(command.args(["-c", line]).output().unwrap())
    }

    /// A command and its environment, for a program that starts it.
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

    /// Starts a command whose output is read line by line as it arrives.
    pub(crate) fn watch(&self, arguments: &[&str]) -> Watched {
        let mut command = self.bare_command();
        command.args(arguments);
        Watched::start(command)
    }

    /// Starts a command in the background, with its standard error to be read.
    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        let mut command = self.command();
        command.current_dir(self.dir.path()).args(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Starts a server on a free port; returns as soon as it listens.
    pub(crate) fn serve(&self) -> Server {
        self.served_by(self.spawn(&SERVE))
    }

    /// Starts a server that lives as long as this process, with its data directory.
    pub(crate) fn serve_to_the_end(self) -> &'static Server {
        // The shell's input ends with this process, in every case; signals to the whole process group must not end the
        // shell before.
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

    /// The server of a process, as soon as it listens.
    fn served_by(&self, mut child: Child) -> Server {
        let (said, heard) = mpsc::channel();
        let log = Arc::new(Mutex::new(String::new()));
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let address = line.strip_prefix("charter is listening on ");
                if let Some(address) = address.and_then(|rest| rest.split(' ').next()) {
                    // The receiver is gone as soon as the server runs.
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
        let api = Api::at(base, self.dir.path());
        Server { child, api, log }
    }
}

/// The result of a command.
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

    /// Parses the output as JSON, of a command that is done (0), or whose run waits for a person (3).
    pub(crate) fn done_or_waiting(&self) -> Value {
        let awaits = |status: &Value| {
            let status = status.as_str().unwrap_or_default();
            status.starts_with("awaiting_")
        };
        let waiting = self.json(self.code.unwrap_or_default());
        let waits = awaits(&waiting["status"]) || awaits(&waiting["metadata"]["status"]);
        assert_eq!(self.code, Some(if waits { 3 } else { 0 }), "{self:?}");
        waiting
    }

    /// Parses the output as JSON, of a command that ended with `code`.
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
    /// The API with this key.
    pub(crate) fn key(&self, key: &str) -> Api {
        self.api.with_key(key)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its standard error.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Sends SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM, and waits for the exit code.
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
        // A server that was waited for has already ended.
        drop(self.child.kill());
        drop(self.child.wait());
        if std::thread::panicking() {
            eprintln!("the server said:\n{}", self.log());
        }
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
