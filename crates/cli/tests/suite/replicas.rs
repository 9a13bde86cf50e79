//! Several processes over one PostgreSQL database.

use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use charter_contract::ids::{RunId, TenantId};
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use charter_store::journal::{Append, Claim, Journal, NewEvent, NextPhase, RunWait};
use charter_store::lease::Leases;
use charter_store_sql::postgres::{PostgresOptions, PostgresStore};
use charter_testkit::postgres_server::{Database, PostgresServer};
use serde_json::{Value, json};

use crate::home::{Api, DEADLINE, Home, Server, eventually, ids, request_of};
use crate::packages::{SKILL, backups};
use crate::plans::{PLAN, abort, plan};
use crate::playbooks::{KEYS, confirm, decide, path_of, purge, settled, waiting};
use crate::service::{Call, Service};

/// A home over a shared database, with a lease of one second.
fn home(database: &Arc<Database>, role: &str) -> Home {
    Home::with_keys(&KEYS)
        .on(database)
        .with("CHARTER_REPLICA__LEASE_MS", "1000")
        .with("CHARTER_REPLICA__DRAIN_S", "20")
        .with("CHARTER_REPLICA__ROLE", role)
}

fn database() -> Arc<Database> {
    Arc::new(PostgresServer::shared().database())
}

/// Homes with a server each, by role.
fn replicas<const N: usize>(roles: [&str; N]) -> [(Home, Server); N] {
    let database = database();
    roles.map(|role| {
        let home = home(&database, role);
        let server = home.serve();
        (home, server)
    })
}

/// Registers the package of the calling tool at one replica, and waits until another serves it.
fn register(service: &Service, at: &Server, other: &Server) {
    at.key("ann").register(&service.package());
    served(&other.key("ann"), SKILL);
}

fn served(api: &Api, skill: &str) {
    eventually("the skill at the other replica", || {
        let found = api.get(&format!("/v1/resolve/skill/{skill}"));
        (found.status == 200).then_some(())
    });
}

/// Two replicas, one of which is answering a request and waits for the service.
struct PendingRequest {
    homes: [Home; 2],
    one: Server,
    other: Server,
    service: Service,
    asked: Value,
    connection: TcpStream,
    call: Call,
}

fn asked_of_one() -> PendingRequest {
    let [(a, one), (b, other)] = replicas(["all", "all"]);
    let service = Service::start();
    register(&service, &one, &other);
    let asked = request_of(SKILL, json!({}));
    let connection = one.key("ann").send_and_hold(&asked);
    let call = service.next();
    PendingRequest {
        homes: [a, b],
        one,
        other,
        service,
        asked,
        connection,
        call,
    }
}

/// The other replica's answer to a request, if there is one.
fn answered(api: &Api, asked: &Value) -> Value {
    let path = format!("/v1/requests/{}", asked["id"].as_str().unwrap());
    eventually("the answer", || {
        let answer = api.get(&path).expect(200)["answer"].clone();
        Some(answer).filter(|answer| !answer.is_null())
    })
}

/// The kinds of events in a run's journal.
fn events(api: &Api, run: &str) -> Vec<String> {
    let shown = api.get(&format!("/v1/runs/{run}")).expect(200);
    ids(&shown["events"], "event")
}

fn run_of(answer: &Value) -> String {
    let run = answer["metadata"]["run_ids"][0].as_str();
    run.unwrap_or_else(|| panic!("no run: {answer:#}"))
        .to_owned()
}

/// A registration at one replica is served by all within a second, including earlier registrations.
#[test]
fn a_registration_is_served_by_every_replica_within_a_second() {
    let [(_a, one), (_b, other)] = replicas(["all", "all"]);
    one.key("ann").register(&backups());
    let registered = Instant::now();
    served(&other.key("ann"), SKILL);
    let took = registered.elapsed();
    assert!(took < Duration::from_secs(1), "{took:?}");
    let next = backups().version("1.0.0", "1.1.0");
    other.key("ann").register(&next);
    eventually("the next version at the first", || {
        let packages = one.key("ann").get("/v1/packages").expect(200);
        (packages[0]["version"] == "1.1.0").then_some(())
    });
    let history = one.key("ann").get("/v1/packages").expect(200);
    assert_eq!(history.as_array().unwrap().len(), 1);
    check_that_an_order_at_two_replicas_is_one_run([&one, &other]);
}

/// The same plan of a request, and the same command with a key, arrive at both replicas at once.
#[track_caller]
fn check_that_an_order_at_two_replicas_is_one_run(at: [&Server; 2]) {
    let steps =
        json!([{"id": "step-001", "tool": "vault.list_backups", "parameters": {"vault": "main"}}]);
    let planned = json!({"execution_plan": plan(PLAN, steps, abort()), "parameters": {}});
    let pipeline = json!({
        "id": "pipe-01930000-0000-7000-8000-000000000001", "name": "Look",
        "inputs": [{"name": "vault", "type": "string", "required": true}],
        "stages": [{"id": "look", "tool": "tool-vault-list-backups", "parameters": {"vault": "${user.vault}"}}],
        "error_handling": abort(),
    });
    let keyed = json!({"pipeline": pipeline, "parameters": {"vault": "main"}});
    let plain = ("content-type", "application/json");
    let key = ("idempotency-key", "order-1");
    for (order, headers) in [(planned, vec![plain]), (keyed, vec![plain, key])] {
        let answers = thread::scope(|scope| {
            let sent = at.map(|server| {
                let (ann, body) = (server.key("ann"), order.to_string().into_bytes());
                let headers = &headers;
                scope.spawn(move || ann.call_plainly("POST", "/v1/runs", headers, body))
            });
            sent.map(|sent| sent.join().unwrap())
        });
        let mut statuses = [answers[0].status, answers[1].status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 201], "{answers:?}");
        assert_eq!(answers[0].body["run_id"], answers[1].body["run_id"]);
    }
}

/// Skills of the link graph that are written at one replica are found at another, and can be changed there.
#[test]
fn a_skill_of_the_graph_is_served_by_every_replica() {
    let [(_a, one), (_b, other)] = replicas(["all", "all"]);
    let put = |at: &Server, id: &str| {
        let skill = json!({"skill_id": id, "summary": "keeps vaults tidy", "is_folder": false,
            "sub_skills": [], "instruction": "Tidy the vault."});
        let body = skill.to_string().into_bytes();
        let path = format!("/v1/agent-skills/{id}");
        let written = at.key("ann").call("PUT", &path, &[], body);
        assert!(written.status < 300, "{written:?}");
    };
    put(&one, "tidy.one");
    put(&other, "tidy.two");
    put(&one, "tidy.three");
    for server in [&one, &other] {
        for id in ["tidy.one", "tidy.two", "tidy.three"] {
            eventually("the skill", || {
                let found = server.key("ann").get(&format!("/v1/agent-skills/{id}"));
                (found.status == 200).then_some(())
            });
        }
    }
}

/// A replica that only answers leaves runs to a worker, and returns the answer.
#[test]
fn a_worker_drives_what_an_api_replica_was_asked() {
    let [(_a, api), (_b, worker)] = replicas(["api", "worker"]);
    let service = Service::start();
    api.key("ann").register(&service.package());
    let ann = api.key("ann");
    let asked = request_of(SKILL, json!({}));
    let answering = std::thread::spawn(move || ann.ask(&asked).expect(200));
    service.next().answer();
    let answer = answering.join().unwrap();
    assert_eq!(ids(&answer["metadata"]["findings"], "resource_id"), ["b-1"]);
    assert!(!service.was_called());
    // A worker has no API.
    worker.key("ann").get("/v1/runs").fails(404, "not_found");
    assert_eq!(worker.api.get("/readyz").status, 200);
}

/// Another replica resumes a killed replica's run, under the same idempotency key.
#[test]
fn a_killed_replicas_run_is_taken_up_by_another() {
    let PendingRequest {
        homes: _homes,
        one,
        other,
        service,
        asked,
        connection,
        call: first,
    } = asked_of_one();
    one.kill();
    drop(connection);
    let second = service.next();
    assert_eq!(second.idempotency_key, first.idempotency_key);
    second.answer();
    let answer = answered(&other.key("ann"), &asked);
    assert_eq!(
        events(&other.key("ann"), &run_of(&answer)),
        [
            "started",
            "step_begun",
            "step_begun",
            "step_succeeded",
            "completed"
        ]
    );
    assert!(!service.was_called());
}

/// A stopping replica lets the running step end; another replica executes the next.
#[test]
fn a_draining_replica_gives_its_runs_back_between_two_steps() {
    let PendingRequest {
        homes: _homes,
        one,
        other,
        service,
        asked,
        connection,
        call,
    } = asked_of_one();
    let base = one.api.clone();
    let stopping = std::thread::spawn(move || one.terminate());
    eventually("the probe that says so", || {
        let probe = std::panic::catch_unwind(|| base.get("/readyz").status);
        (!matches!(probe, Ok(200))).then_some(())
    });
    call.answer();
    assert_eq!(stopping.join().unwrap(), Some(0));
    drop(connection);
    let answer = answered(&other.key("ann"), &asked);
    assert_eq!(
        events(&other.key("ann"), &run_of(&answer)),
        ["started", "step_begun", "step_succeeded", "completed"]
    );
    assert!(!service.was_called());
}

/// One request that is sent to two replicas at once is answered once.
#[test]
fn a_request_is_answered_by_one_replica() {
    let PendingRequest {
        homes: _homes,
        one: _one,
        other,
        service,
        asked,
        connection,
        call,
    } = asked_of_one();
    other.key("ann").ask(&asked).fails(503, "overloaded");
    call.answer();
    let answer = eventually("the answer at the other replica", || {
        let answer = other.key("ann").ask(&asked);
        (answer.status == 200).then(|| answer.expect(200))
    });
    assert_eq!(ids(&answer["metadata"]["findings"], "resource_id"), ["b-1"]);
    assert!(!service.was_called());
    drop(connection);
}

/// A command at one replica reaches the replica that drives the run.
#[test]
fn an_order_reaches_the_replica_that_drives_the_run() {
    let PendingRequest {
        homes: _homes,
        one: _one,
        other,
        service: _service,
        asked: _,
        connection,
        call,
    } = asked_of_one();
    let ann = other.key("ann");
    let run = eventually("the run", || {
        let runs = ann.get("/v1/runs").expect(200);
        runs["entries"].get(0).cloned()
    });
    let reason = json!({"reason": "enough"});
    ann.post(&path_of(&run, "/pause"), &json!({})).expect(200);
    ann.post(&path_of(&run, "/abort"), &reason).expect(200);
    call.answer();
    settled(&ann, &run, "aborted");
    ann.post(&path_of(&run, "/pause"), &json!({}))
        .fails(409, "illegal_transition");
    drop(connection);
}

/// A decision at one replica wakes a run that another one started; the write happens once.
#[test]
fn a_decision_at_any_replica_wakes_the_run() {
    let [(_a, one), (_b, other)] = replicas(["all", "all"]);
    let service = Service::start();
    one.key("ann").register(&purge(&service));
    let run = waiting(&one);
    let bob = other.key("bob");
    let approvals = bob.get("/v1/approvals").expect(200);
    decide(&bob, &approvals["entries"][0], "approve").expect(200);
    service.next().answer();
    settled(&bob, &run, "completed");
    assert!(!service.was_called());
    let again = one.key("ann").post(
        &format!("/v1/playbooks/{}/runs", crate::playbooks::PLAYBOOK),
        &json!({"parameters": {}}),
    );
    let again = again.expect(201);
    let given = json!({"parameters": {"vault": "main"}});
    let again = other
        .key("ann")
        .post(&path_of(&again, "/parameters"), &given);
    let again = again.expect(200);
    confirm(&other.key("ann"), &again).expect(200);
    settled(&one.key("ann"), &again, "awaiting_approval");
}

/// Without a shared database there is only one process.
#[test]
fn a_part_of_the_work_needs_a_shared_database() {
    let home = Home::new()
        .embedded()
        .with("CHARTER_REPLICA__ROLE", "worker");
    let refused = home.run(&["config", "show"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

/// Continues a run as a newer version would: with an event that this one does not know.
async fn carried_on_by_a_newer_version(database: &Database, run: &RunId) {
    let store = store_of(database).await;
    let now = Timestamp::from_micros(now_micros()).unwrap();
    let soon = Timestamp::from_micros(now_micros() + 1_000_000).unwrap();
    let held = store.acquire(run.as_str(), "newer", now, soon).await;
    let acme = TenantId::parse("acme").unwrap();
    let journal = store.events(&acme, run, 0, 1_000).await.unwrap();
    let last = journal.last().unwrap();
    let payload = json!({"event": "levitated", "by": "ann"}).to_string();
    let events = vec![NewEvent {
        hash: last.hash.chain(last.sequence + 1, &payload),
        payload,
        at: now,
    }];
    let append = Append {
        tenant_id: acme,
        run_id: run.clone(),
        expected: last.sequence,
        fence: held.unwrap().unwrap().fence,
        events,
        then: NextPhase::Runs,
        status: RunStatus::Working,
        approvals: vec![],
        artifacts: vec![],
        mission_state: None,
        release: true,
        messages: vec![],
    };
    store.append(append).await.unwrap();
    store.close();
}

pub(crate) async fn store_of(database: &Database) -> PostgresStore {
    let options = PostgresOptions::new(database.url());
    PostgresStore::connect(&options).await.unwrap()
}

fn now_micros() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_micros()).unwrap()
}

/// The runs that a worker of the newer version claims.
async fn claimed_by_a_newer_version(database: &Database) -> Vec<RunId> {
    let store = store_of(database).await;
    let claim = Claim {
        holder: "newer".to_owned(),
        now: Timestamp::from_micros(now_micros()).unwrap(),
        until: Timestamp::from_micros(now_micros() + 1_000_000).unwrap(),
        limit: 10,
        except: vec![],
    };
    let claimed = store.claim_runs(&claim).await.unwrap();
    store.close();
    claimed.into_iter().map(|one| one.run.run_id).collect()
}

/// The time `ms` milliseconds from now.
fn in_ms(ms: i64) -> Timestamp {
    Timestamp::from_micros(now_micros() + ms * 1_000).unwrap()
}

/// Parks a waiting run until `due`. Returns after the server has claimed the run because it was due, and has parked it
/// again. A claim of the server takes all runs that are due and free.
async fn claimed_when_due(database: &Database, run: &RunId, due: Timestamp) {
    let store = store_of(database).await;
    let acme = TenantId::parse("acme").unwrap();
    let claimed = async {
        loop {
            let lease = store.acquire(run.as_str(), "parking", in_ms(0), in_ms(1_000));
            if let Some(lease) = lease.await.unwrap() {
                let wait = RunWait {
                    until: Some(due),
                    approvals: vec![],
                };
                let status = RunStatus::AwaitingApproval;
                let parked = store.park(&acme, run, lease.fence, status, wait, vec![]);
                parked.await.unwrap();
                while wake_at(&store, &acme, run).await == Some(due) {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                // A change before `due` came from a driver that was still ending, not from a claim: try again.
                if due <= in_ms(0) {
                    return;
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(DEADLINE, claimed).await.unwrap();
    store.close();
}

async fn wake_at(store: &PostgresStore, tenant: &TenantId, run: &RunId) -> Option<Timestamp> {
    let record = store.run(tenant, run).await.unwrap();
    record.unwrap().wake_at
}

/// While versions are mixed, a run whose journal only the newer version can read is free for that version: the older
/// one releases it permanently, logs that, and continues everything else.
#[test]
fn a_run_that_a_newer_version_carries_on_is_left_to_it() {
    let database = database();
    let home = self::home(&database, "all");
    let server = home.serve();
    let service = Service::start();
    let ann = server.key("ann");
    ann.register(&purge(&service));
    let run = waiting(&server);
    let id = RunId::parse(run["run_id"].as_str().unwrap()).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(carried_on_by_a_newer_version(&database, &id));
    eventually("the run is given up", || {
        let given_up = "leaving a run to the newer version that wrote its journal";
        server.log().contains(given_up).then_some(())
    });
    // Another run comes due after the lease of the first has ended, and then once more. Each time the server claims all
    // free runs, so it would also claim the first run if it had not left that to the newer version.
    let other = waiting(&server);
    let other = RunId::parse(other["run_id"].as_str().unwrap()).unwrap();
    for ms in [1_200, 0] {
        runtime.block_on(claimed_when_due(&database, &other, in_ms(ms)));
    }
    assert_eq!(
        server.log().matches("leaving a run to the newer").count(),
        1
    );
    let said = ann.get(&path_of(&run, "")).fails(503, "unavailable");
    assert!(said.contains("`levitated`"), "{said}");
    assert_eq!(
        runtime.block_on(claimed_by_a_newer_version(&database)),
        [id]
    );
    waiting(&server);
}
