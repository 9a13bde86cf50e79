//! Three replicas over one database, under load, while they and the database are killed, paused and partitioned.
//! Acknowledged work ends, no effect happens twice, and a register is linearizable. Three workers also finish a
//! backlog. Meanwhile schedules fire, and a channel gets messages.
//!
//! The faults last twenty seconds, or as long as `CHARTER_TEST_CHAOS_S` sets.
//!
//! Pauses here are the load: the duration of an effect, the intervals of clients' calls, the timing of faults. To wait
//! for a result, a test polls until a deadline.

mod scheduled;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use charter_testkit::http_stub::{HttpStub, Reply};
use charter_testkit::ports::free_port;
use charter_testkit::postgres_server::{Database, PostgresServer};
use serde_json::{Value, json};
use uuid::Uuid;

use self::scheduled::{
    CHANNEL_SECRET, IntervalSchedules, ReceivedChannel, approval_of, completed, found_in,
    now_micros,
};
use crate::home::{Home, configured_key};
use crate::packages::Package;
use crate::playbooks::{PLAYBOOK, PLAYBOOK_FILE, purge};
use crate::service::{Service, package_calling};

const KEYS: [(&str, &str, &str, &str); 1] = [("ann", "acme", "ann", "operator")];

/// Steps of each run, one after the other.
const STEPS: usize = 4;

/// How long all work has to end after the faults.
const HEALING: Duration = Duration::from_secs(120);

/// Timeout of a client's call.
const PATIENCE: Duration = Duration::from_secs(10);

/// The duration of an effect: long enough that faults fall between an effect and its answer.
const EFFECT: Duration = Duration::from_millis(30);

/// The pause before an ended replica is restarted.
const AWAY: Duration = Duration::from_millis(200);

/// Time between two runs that a client starts, between two that need an approval, and between two uses of the register.
const BETWEEN_RUNS: Duration = Duration::from_millis(50);
const BETWEEN_CHANGES: Duration = Duration::from_millis(300);
const BETWEEN_USES: Duration = Duration::from_millis(20);

/// Time between two faults, in which there is progress for the next one to disturb.
const BETWEEN_FAULTS: Duration = Duration::from_millis(1_500);

/// How long a replica is paused: longer than a lease, so that others take its work before it resumes.
const STOPPED: Duration = Duration::from_millis(2_500);

/// How long the database is down.
const DATABASE_GONE: Duration = Duration::from_millis(500);

/// Time between two tries of calls that must succeed in the end.
const AGAIN: Duration = Duration::from_millis(100);

/// For each idempotency key its token, and the number of calls with the key.
type Done = Arc<Mutex<BTreeMap<String, (String, usize)>>>;

/// A service whose effect must not happen twice. The effect happens once for each idempotency key, and the answer
/// carries the token of that one time, also as the id of a stale backup.
struct Counter {
    stub: HttpStub,
    done: Done,
}

impl Counter {
    fn start() -> Self {
        let done = Done::default();
        let counted = Arc::clone(&done);
        let stub = HttpStub::start(move |request, _| {
            let Some(key) = request.headers.get("idempotency-key") else {
                return Reply::hang_up();
            };
            let token = {
                let mut done = counted.lock().unwrap();
                let fresh = || (Uuid::now_v7().to_string(), 0);
                let entry = done.entry(key.clone()).or_insert_with(fresh);
                entry.1 += 1;
                entry.0.clone()
            };
            std::thread::sleep(EFFECT);
            let backups = json!([{"id": token, "age_days": 40}]);
            Reply::json(200, json!({"backups": backups, "token": token}).to_string())
        });
        let stub = stub.unwrap();
        Self { stub, done }
    }

    fn address(&self) -> String {
        self.stub.address().to_string()
    }
}

/// A replica that is restarted at the same address whenever it ends.
struct Replica {
    base: String,
    child: Arc<Mutex<Option<Child>>>,
    over: Arc<AtomicBool>,
    /// The output of all its processes.
    log: Arc<Mutex<String>>,
}

impl Replica {
    fn start(home: Home) -> Self {
        let address = format!("127.0.0.1:{}", free_port());
        let (child, over) = (Arc::new(Mutex::new(None)), Arc::new(AtomicBool::new(false)));
        let (kept, ended) = (Arc::clone(&child), Arc::clone(&over));
        let log = Arc::new(Mutex::new(String::new()));
        let told = Arc::clone(&log);
        let base = format!("http://{address}");
        std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                let mut started = home.spawn(&["serve", "--listen", &address]);
                let said = started.stderr.take().unwrap();
                let pid = started.id();
                *kept.lock().unwrap() = Some(started);
                // Ends with the process.
                for line in BufReader::new(said).lines().map_while(Result::ok) {
                    let line = format!("{pid} {line}\n");
                    told.lock().unwrap().push_str(&line);
                }
                if let Some(mut gone) = kept.lock().unwrap().take() {
                    drop(gone.wait());
                }
                std::thread::sleep(AWAY);
            }
        });
        Self {
            base,
            child,
            over,
            log,
        }
    }

    fn signal(&self, signal: &str) {
        if let Some(child) = &*self.child.lock().unwrap() {
            let pid = child.id().to_string();
            drop(Command::new("kill").args([signal, &pid]).status());
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.signal("-CONT");
        self.signal("-KILL");
        if std::thread::panicking() {
            eprintln!("{} said:\n{}", self.base, self.log.lock().unwrap());
        }
    }
}

/// A client whose calls may stay unanswered.
#[derive(Clone)]
struct Client {
    bases: Vec<String>,
    next: Arc<AtomicUsize>,
}

impl Client {
    fn of(replicas: &[Replica]) -> Self {
        Self {
            bases: replicas.iter().map(|one| one.base.clone()).collect(),
            next: Arc::default(),
        }
    }

    /// The answer of one of the replicas; `None` if the outcome is unknown.
    fn call(&self, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
        let at = self.next.fetch_add(1, Ordering::Relaxed) % self.bases.len();
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .proxy(None)
            .build()
            .into();
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.bases[at]))
            .header("authorization", "Bearer ann");
        let body = match method {
            "GET" => Vec::new(),
            _ => body.to_string().into_bytes(),
        };
        let mut answer = agent.run(request.body(body).ok()?).ok()?;
        let status = answer.status().as_u16();
        let body = answer.body_mut().read_to_string().ok()?;
        (status < 500).then_some((status, serde_json::from_str(&body).ok()?))
    }

    /// Repeats the call until a replica answers.
    fn insist(&self, method: &str, path: &str, body: &Value, until: Instant) -> (u16, Value) {
        loop {
            if let Some(answer) = self.call(method, path, body) {
                return answer;
            }
            assert!(Instant::now() < until, "nobody answers {method} {path}");
            std::thread::sleep(AGAIN);
        }
    }
}

fn plan() -> Value {
    let steps: Vec<Value> = (1..=STEPS)
        .map(|n| {
            let after: Vec<String> = (n > 1)
                .then(|| format!("step-{:03}", n - 1))
                .into_iter()
                .collect();
            json!({"id": format!("step-{n:03}"), "tool": "vault.list_backups",
                "parameters": {"vault": "main"}, "dependencies": after})
        })
        .collect();
    json!({"execution_plan": {
        "id": format!("plan-{}", Uuid::now_v7()), "request_id": format!("req-{}", Uuid::now_v7()),
        "steps": steps, "error_handling": {"on_step_failure": "abort_plan"},
    }})
}

/// One operation on the register, from the time it was sent to the time of its answer.
#[derive(Debug, Clone)]
struct Operation {
    from: Instant,
    to: Instant,
    version: u64,
    value: String,
    writes: bool,
}

/// Whether a history of a versioned register is linearizable: each version has one value, which only its writer wrote,
/// and an operation that began after another had ended saw at least its version.
fn linearizable(history: &[Operation]) -> Result<(), String> {
    let mut values: BTreeMap<u64, &str> = BTreeMap::new();
    let mut writers: BTreeMap<u64, &Operation> = BTreeMap::new();
    for operation in history {
        let known = values.entry(operation.version).or_insert(&operation.value);
        if *known != operation.value {
            return Err(format!(
                "version {} is {known} and {operation:?}",
                operation.version
            ));
        }
        if operation.writes && writers.insert(operation.version, operation).is_some() {
            return Err(format!("two wrote version {}", operation.version));
        }
    }
    // The newest version that was known before a time.
    let mut by_end: Vec<&Operation> = history.iter().collect();
    by_end.sort_by_key(|operation| operation.to);
    let mut by_start = by_end.clone();
    by_start.sort_by_key(|operation| operation.from);
    let (mut ended, mut newest) = (by_end.into_iter().peekable(), 0);
    for operation in by_start {
        while let Some(before) = ended.next_if(|before| before.to < operation.from) {
            newest = newest.max(before.version);
        }
        let least = newest + u64::from(operation.writes);
        if operation.version < least {
            return Err(format!("{operation:?} after version {newest} was known"));
        }
    }
    Ok(())
}

/// Repeatedly reads the register and writes the next version; ignores unanswered operations.
fn use_register(client: &Client, path: &str, name: usize, over: &AtomicBool) -> Vec<Operation> {
    let mut history = Vec::new();
    let mut written = 0;
    while !over.load(Ordering::Relaxed) {
        let from = Instant::now();
        let Some((200, read)) = client.call("GET", path, &Value::Null) else {
            continue;
        };
        let version = read["version"].as_u64().unwrap();
        let value = read["memory"]["content"].as_str().unwrap().to_owned();
        let to = Instant::now();
        history.push(Operation {
            from,
            to,
            version,
            value,
            writes: false,
        });
        written += 1;
        let value = format!("value {written} of client {name}");
        let next = json!({"expected_version": version, "memory": memory(&value)});
        let from = Instant::now();
        let answer = client.call("POST", &format!("{path}/versions"), &next);
        if let Some((status, said)) = answer
            && status < 300
        {
            let version = said["version"].as_u64().unwrap();
            let to = Instant::now();
            history.push(Operation {
                from,
                to,
                version,
                value,
                writes: true,
            });
        }
        std::thread::sleep(BETWEEN_USES);
    }
    history
}

fn memory(content: &str) -> Value {
    json!({"title": "register", "content": content, "tags": ["register"],
        "metadata": {"source": "user_statement", "importance": 5}})
}

/// Starts runs by a path until the end, with a pause after each; returns the acknowledged ones.
fn start_runs(
    client: &Client,
    (path, body): (&str, fn() -> Value),
    pause: Duration,
    over: &AtomicBool,
) -> Vec<String> {
    let mut acknowledged = Vec::new();
    while !over.load(Ordering::Relaxed) {
        if let Some((status, run)) = client.call("POST", path, &body())
            && status < 300
        {
            acknowledged.push(run["run_id"].as_str().unwrap().to_owned());
        }
        std::thread::sleep(pause);
    }
    acknowledged
}

/// Parameters of the playbook with a vault of their own, because runs on one vault wait for one another.
fn change() -> Value {
    json!({"parameters": {"vault": format!("vault-{}", Uuid::now_v7())}})
}

/// The work of clients during the faults.
struct FaultyLoad {
    /// Acknowledged runs of the plan.
    runs: Vec<String>,
    /// Acknowledged runs of the playbook, whose write waits for an approval.
    changes: Vec<String>,
    /// Operations on the register.
    history: Vec<Operation>,
    faults: BTreeMap<&'static str, usize>,
}

/// Starts runs and uses the register until the faults are over.
fn load_during(
    client: &Client,
    register: &str,
    do_harm: impl FnOnce() -> BTreeMap<&'static str, usize>,
) -> FaultyLoad {
    let playbook = format!("/v1/playbooks/{PLAYBOOK}/runs");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let starting: Vec<_> = (0..2)
            .map(|_| scope.spawn(|| start_runs(client, ("/v1/runs", plan), BETWEEN_RUNS, &over)))
            .collect();
        let changing =
            scope.spawn(|| start_runs(client, (playbook.as_str(), change), BETWEEN_CHANGES, &over));
        let using: Vec<_> = (0..3)
            .map(|name| {
                scope.spawn({
                    let over = &over;
                    move || use_register(client, register, name, over)
                })
            })
            .collect();
        let faults = do_harm();
        over.store(true, Ordering::Relaxed);
        FaultyLoad {
            runs: starting
                .into_iter()
                .flat_map(|runs| runs.join().unwrap())
                .collect(),
            changes: changing.join().unwrap(),
            history: using
                .into_iter()
                .flat_map(|one| one.join().unwrap())
                .collect(),
            faults,
        }
    })
}

/// Injects one fault after the other, each kind at least once.
fn do_harm(
    database: &PostgresServer,
    replicas: &[Replica],
    seconds: u64,
) -> BTreeMap<&'static str, usize> {
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut done: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut round = 0_usize;
    while Instant::now() < until || done.len() < 4 {
        std::thread::sleep(BETWEEN_FAULTS);
        // Each kind of fault hits each replica in turn.
        let replica = &replicas[(round / 4 + round) % replicas.len()];
        let kind = match round % 4 {
            0 => {
                replica.signal("-KILL");
                "replica killed"
            }
            1 => {
                replica.signal("-STOP");
                std::thread::sleep(STOPPED);
                replica.signal("-CONT");
                "replica stopped for longer than a lease"
            }
            2 => {
                database.cut_connections();
                "connections cut"
            }
            _ => {
                database.kill();
                std::thread::sleep(DATABASE_GONE);
                database.restart();
                "database killed"
            }
        };
        *done.entry(kind).or_default() += 1;
        round += 1;
    }
    done
}

/// The journal of an acknowledged run, which ends before `until`, once.
fn ended(client: &Client, run: &str, until: Instant) -> Vec<Value> {
    let path = format!("/v1/runs/{run}");
    let shown = loop {
        let (status, shown) = client.insist("GET", &path, &Value::Null, until);
        assert_eq!(status, 200, "an acknowledged run is lost: {shown}");
        if shown["status"] == "completed" {
            break shown;
        }
        assert_eq!(shown["status"], "working", "{shown:#}");
        assert!(
            Instant::now() < until,
            "an acknowledged run does not end: {shown:#}"
        );
        std::thread::sleep(AGAIN);
    };
    let events = shown["events"].as_array().unwrap();
    let ends = events.iter().filter(|event| event["event"] == "completed");
    assert_eq!(ends.count(), 1, "{shown:#}");
    events.clone()
}

/// Each step succeeded once, with the counter's answer for its key.
fn each_step_once(run: &str, events: &[Value], counter: &Counter) {
    let done = counter.done.lock().unwrap();
    for n in 1..=STEPS {
        let step = format!("step-{n:03}");
        let succeeded = events
            .iter()
            .filter(|event| event["event"] == "step_succeeded" && event["step"] == step.as_str());
        let [one] = succeeded.collect::<Vec<_>>()[..] else {
            panic!("{step} of {run} did not succeed once: {events:#?}");
        };
        let (token, _) = &done[&format!("{run}/{step}")];
        assert_eq!(one["output"]["token"], json!(token), "{events:#?}");
    }
}

/// Runs one of these tests at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A replica's home with these settings, and with leases that the faults outlast.
fn home(database: &Arc<Database>, settings: &str) -> Home {
    let keys: String = KEYS.iter().map(configured_key).collect();
    let home = Home::new().configured(&(keys + settings)).on(database);
    let (secret, value) = CHANNEL_SECRET;
    home.with(secret, value)
        .with("CHARTER_REPLICA__LEASE_MS", "1000")
}

/// The package whose skill calls the counter, with a playbook whose write calls the service.
fn package(counter: &Counter, service: &Service) -> Package {
    const PURGE_FILE: &str = "tools/purge.yaml";
    let purge = purge(service);
    package_calling(&counter.address())
        .with(PURGE_FILE, purge.text(PURGE_FILE))
        .with(PLAYBOOK_FILE, purge.text(PLAYBOOK_FILE))
}

/// Registers a package, and a memory as the register; returns its path.
fn prepared(client: &Client, package: &Package) -> String {
    let soon = Instant::now() + HEALING;
    let registered = client.insist("POST", "/v1/packages", &package.bundle(), soon);
    assert_eq!(registered.0, 201, "{registered:?}");
    let register = json!({"memory": memory("value 0"), "visibility": "private"});
    let (status, register) = client.insist("POST", "/v1/memories", &register, soon);
    assert_eq!(status, 201, "{register}");
    format!("/v1/memories/{}", register["memory_id"].as_str().unwrap())
}

/// Every acknowledged run ends, no effect happens twice, journals are whole, the register is linearizable. Each
/// occurrence of a schedule starts one run, and each event reaches the channel under one id.
#[test]
#[ignore = "started by `make test` after all others: it needs the machine for itself"]
fn acknowledged_writes_survive_kills_pauses_and_partitions() {
    let seconds = std::env::var("CHARTER_TEST_CHAOS_S").ok();
    let seconds: u64 = seconds.map_or(20, |text| text.parse().unwrap());
    let _alone = alone();
    let server = PostgresServer::mortal();
    let database = Arc::new(server.database());
    let (counter, service) = (Counter::start(), Service::start());
    let channel = ReceivedChannel::start();
    let replica = |_| Replica::start(home(&database, &channel.settings()));
    let replicas: Vec<Replica> = (0..3).map(replica).collect();
    let client = Client::of(&replicas);
    let register = prepared(&client, &package(&counter, &service));
    let soon = Instant::now() + HEALING;
    let schedules = IntervalSchedules::enable(&client, &database, seconds, soon);

    let load = load_during(&client, &register, || do_harm(server, &replicas, seconds));

    let (ended_at, until) = (now_micros(), Instant::now() + HEALING);
    let occurrences = schedules.occurrences(&client, &database, &counter, (ended_at, until));
    for run in &load.runs {
        let events = ended(&client, run, until);
        each_step_once(run, &events, &counter);
        let path = format!("/v1/runs/{run}/replay");
        let (_, replayed) = client.insist("GET", &path, &Value::Null, until);
        assert_eq!(replayed["divergence"], Value::Null, "{replayed:#}");
    }
    linearizable(&load.history).unwrap_or_else(|wrong| panic!("{wrong}"));
    let approvals = load.changes.iter();
    let approvals = approvals.map(|run| approval_of(&client, run, until));
    let mut expected: BTreeSet<_> = approvals.collect();
    expected.extend(completed(&load.runs).chain(found_in(&occurrences)));
    let repeats = channel.has_each(&database, &expected);
    assert!(!service.was_called(), "a write needs its approval");

    let (runs, changes) = (load.runs.len(), load.changes.len());
    let done = counter.done.lock().unwrap();
    let calls: usize = done.values().map(|(_, calls)| calls).sum();
    let writes = load.history.iter().filter(|operation| operation.writes);
    let writes = writes.count();
    eprintln!(
        "{runs} runs, {} occurrences and {changes} approvals, {} effects by {calls} calls, {} messages of which \
         {repeats} were repeated, {} reads and {writes} writes of the register, {:?}",
        occurrences.len(),
        done.len(),
        expected.len(),
        load.history.len() - writes,
        load.faults,
    );
    let least = [runs, changes, occurrences.len(), writes].into_iter().min();
    assert!(least > Some(5), "too little happened to prove anything");
}

/// Workers that find more runs than they can drive within their short leases finish all of them, and do not just take
/// them from each other.
#[test]
#[ignore = "started by `make test` after all others: it needs the machine for itself"]
fn a_backlog_that_workers_find_is_driven_to_its_end() {
    const RUNS: usize = 120;
    let _alone = alone();
    let database = Arc::new(PostgresServer::mortal().database());
    let counter = Counter::start();
    let of_role = |role| {
        let home = home(&database, "");
        Replica::start(home.with("CHARTER_REPLICA__ROLE", role))
    };
    let api = [of_role("api")];
    let client = Client::of(&api);
    prepared(&client, &package_calling(&counter.address()));
    let soon = Instant::now() + HEALING;
    let start = |_| {
        let (status, run) = client.insist("POST", "/v1/runs", &plan(), soon);
        // 200 if an answer was lost: the same plan returns its existing run.
        assert!(matches!(status, 200 | 201), "{status} {run}");
        run["run_id"].as_str().unwrap().to_owned()
    };
    let runs: Vec<String> = (0..RUNS).map(start).collect();
    let began = Instant::now();
    let workers = ["worker"; 3].map(of_role);
    let until = Instant::now() + HEALING;
    for run in &runs {
        let events = ended(&client, run, until);
        each_step_once(run, &events, &counter);
    }
    let taken_over = |worker: &Replica| {
        let log = worker.log.lock().unwrap();
        log.matches("has taken over the run").count()
    };
    eprintln!(
        "{RUNS} runs in {:?}, taken over {:?}",
        began.elapsed(),
        workers.each_ref().map(taken_over)
    );
}

/// The checker detects a violation.
#[test]
fn a_history_that_is_not_linearizable_is_found() {
    let start = Instant::now();
    let operation = |from: u64, to: u64, version, value: &str, writes| Operation {
        from: start + Duration::from_millis(from),
        to: start + Duration::from_millis(to),
        version,
        value: value.to_owned(),
        writes,
    };
    let sound = [
        operation(0, 10, 2, "a", true),
        operation(5, 20, 1, "x", false),
        operation(11, 12, 2, "a", false),
        operation(8, 30, 3, "b", true),
    ];
    assert_eq!(linearizable(&sound), Ok(()));
    let stale = operation(13, 14, 1, "x", false);
    let torn = operation(13, 14, 2, "b", false);
    let twice = operation(13, 31, 3, "b", true);
    let again = operation(31, 32, 2, "a", true);
    for wrong in [stale, torn, twice, again] {
        let history = [&sound[..], &[wrong]].concat();
        assert!(linearizable(&history).is_err());
    }
}
