//! After a kill at any moment, the store has every write that it acknowledged and no partial write.
//!
//! The test starts itself again as a writer process: the ignored test `writer` writes from several tasks and prints
//! each write after its call has returned. The parent kills it, reopens the directory and compares its content with the
//! printed lines.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use charter_contract::ids::{MissionId, PackageName};
use charter_contract::mission::MissionState;
use charter_contract::mission::envelope::MissionEnvelope;
use charter_contract::run_status::RunStatus;
use charter_contract::scope::Scope;
use charter_contract::validate::parse;
use charter_domain::evidence_log::{Hash, LogEntry, tree};
use charter_store::catalogue::{CATALOGUE_CHANGED, Catalogue, CatalogueRevision};
use charter_store::evidence::{Evidence, EvidenceFilter};
use charter_store::evidence_log::EvidenceLog;
use charter_store::journal::{Append, GENESIS, Journal, NextPhase, verify_chain};
use charter_store::lease::Fence;
use charter_store::mission::{ArtifactFilter, ArtifactRecord, Missions};
use charter_store::outbox::Outbox;
use charter_store::page::PageRequest;
use charter_store::tag::Tags;
use charter_store::{SharedStore, StoreError};
use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
use charter_testkit::store_suite::Outcome;
use charter_testkit::store_suite::sample::{self, Made};

/// The writer's directory; absent in an ordinary run.
const DIRECTORY: &str = "CHARTER_CRASH_TEST_DIR";
/// Kills per test: each a new process on the same directory.
const ROUNDS: u32 = 25;
/// Documents of each registration by the writer.
const DOCUMENTS: usize = 20;
/// Runs that the writer appends to, each in its own task.
const RUNS: u128 = 4;

/// A mission, artifact by artifact.
const EXAMPLE: &str = include_str!("../../../contract/tests/missions/waterfront.jsonl");

fn open(dir: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(dir, &SqliteOptions::default())
}

/// Reports an acknowledged write. One `write` call per line, so that a kill cuts no line in two.
fn acknowledge(line: &str) {
    use std::io::Write;
    std::io::stdout()
        .write_all(format!("\nack {line}\n").as_bytes())
        .unwrap();
}

/// Registers one package repeatedly, each time with all documents under the same new content.
async fn register(store: SharedStore) -> Outcome {
    let name = PackageName::parse("p")?;
    loop {
        let CatalogueRevision(at) = store.revision().await?;
        if at % 5 == 4 {
            let user = sample::user()?;
            store
                .unregister(
                    &Scope::Global,
                    &name,
                    CatalogueRevision(at),
                    &user,
                    sample::at(0)?,
                )
                .await?;
        } else {
            let text = format!("content {at}");
            let documents = (0..DOCUMENTS).map(|n| sample::skill(&format!("skill-{n}"), &text));
            let version = format!("1.{at}");
            let change =
                sample::registration(&Scope::Global, "p", &version, at, documents.collect())?;
            store.register(change).await?;
        }
        acknowledge(&format!("catalogue {}", at + 1));
    }
}

/// Returns an artifact of the `n`th run's mission: a line of the example, under its own id.
fn artifact(n: u128, line: usize, id: u64) -> Made<ArtifactRecord> {
    let text = |line: usize| {
        let text = EXAMPLE.lines().nth(line).unwrap_or_default();
        text.replace("tenant_velocity", "acme")
            .replace(
                "\"mission_id\":\"uuid\"",
                &format!("\"mission_id\":\"m{n}\""),
            )
            .replace("pol_001", &format!("pol_{id}"))
    };
    let envelope: MissionEnvelope =
        parse(text(0).as_bytes()).map_err(|violations| format!("{violations:?}"))?;
    ArtifactRecord::of_payload(text(line), &envelope.mission_root())
        .map_err(|violations| format!("{violations:?}").into())
}

/// Appends two events at a time to the `n`th run, and with them a policy decision to its mission.
async fn append(store: SharedStore, n: u128) -> Outcome {
    let (acme, run) = (sample::tenant("acme")?, sample::run(n));
    if store.run(&acme, &run).await?.is_none() {
        let (record, first) = sample::new_run("acme", n, 0)?;
        let envelope = vec![artifact(n, 0, 0)?];
        store.create_run(&record, first, envelope, vec![]).await?;
    }
    let journal = store.events(&acme, &run, 0, usize::MAX).await?;
    let mut last = verify_chain(GENESIS, 1, &journal).map_err(|at| format!("broken at {at}"))?;
    let mut version = journal.len() as u64;
    loop {
        let events = sample::events(last, version, &[r#"{"half":1}"#, r#"{"half":2}"#])?;
        last = events[1].hash;
        let append = Append {
            tenant_id: acme.clone(),
            run_id: run.clone(),
            expected: version,
            fence: Fence(0),
            events,
            then: NextPhase::Runs,
            status: RunStatus::Working,
            approvals: vec![],
            artifacts: vec![artifact(n, 2, version)?],
            mission_state: Some(MissionState::Running),
            release: false,
            messages: vec![sample::message("run.appended", 0)?],
        };
        version = store.append(append).await?;
        acknowledge(&format!("run {n} {version}"));
    }
}

/// Writes evidence in pairs and tags, from `start` on.
async fn record(store: SharedStore, start: u32) -> Outcome {
    let acme = sample::tenant("acme")?;
    for n in start.. {
        let pair = [
            sample::evidence("acme", 2 * n, sample::at(0)?)?,
            sample::evidence("acme", 2 * n + 1, sample::at(0)?)?,
        ];
        store.put_evidence(&acme, &pair).await?;
        acknowledge(&format!("evidence {n}"));
        let tags = sample::tags("acme", n, sample::at(9)?)?;
        store.put_tags(&tags).await?;
        acknowledge(&format!("tags {n}"));
    }
    Ok(())
}

/// The writer process; without its variable it does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "started by the test below"]
async fn writer() {
    let Some(dir) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let store: SharedStore = Arc::new(open(Path::new(&dir)).unwrap());
    let start: u32 = std::env::var("CHARTER_CRASH_TEST_START")
        .unwrap()
        .parse()
        .unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(failing(register(Arc::clone(&store))));
    tasks.spawn(failing(record(Arc::clone(&store), start)));
    for n in 0..RUNS {
        tasks.spawn(failing(append(Arc::clone(&store), n)));
    }
    // None of the tasks ends by itself.
    let ended = tasks.join_next().await;
    acknowledge(&format!("failed {ended:?}"));
}

/// A task's error as text, so that it can cross threads.
async fn failing(task: impl Future<Output = Outcome> + Send + 'static) -> String {
    let error = task.await.err();
    error.map_or_else(String::new, |error| error.to_string())
}

fn start_writer(dir: &Path, round: u32) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "crash::writer",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(DIRECTORY, dir)
        .env("CHARTER_CRASH_TEST_START", (round * 1_000_000).to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// The writes that a writer acknowledged.
#[derive(Debug, Default)]
struct Acknowledged {
    revision: u64,
    versions: [u64; RUNS as usize],
    evidence: BTreeSet<u32>,
    tags: BTreeSet<u32>,
}

impl Acknowledged {
    fn hear(&mut self, line: &str) {
        let Some(line) = line.strip_prefix("ack ") else {
            return;
        };
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["catalogue", revision] => self.revision = revision.parse().unwrap(),
            ["run", n, version] => {
                let n: usize = n.parse().unwrap();
                self.versions[n] = version.parse().unwrap();
            }
            ["evidence", n] => assert!(self.evidence.insert(n.parse().unwrap())),
            ["tags", n] => assert!(self.tags.insert(n.parse().unwrap())),
            _ => panic!("the writer says: {line}"),
        }
    }

    fn total(&self) -> u64 {
        let records = self.evidence.len() + self.tags.len();
        self.revision + self.versions.iter().sum::<u64>() + records as u64
    }
}

/// Lets a writer run for `acknowledgements` writes and kills it without warning.
fn run_and_kill(dir: &Path, round: u32, acknowledgements: u32, seen: &mut Acknowledged) {
    let mut writer = start_writer(dir, round);
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let mut heard = 0;
    for line in &mut lines {
        let line = line.unwrap();
        seen.hear(&line);
        heard += u32::from(line.starts_with("ack "));
        if heard == acknowledgements {
            break;
        }
    }
    writer.kill().unwrap();
    // Acknowledged before the kill, but not read yet.
    for line in lines {
        seen.hear(&line.unwrap());
    }
    assert!(!writer.wait().unwrap().success());
    assert!(heard >= acknowledgements, "the writer ended by itself");
}

/// Asserts all documents of one registration or none, and one message for each revision.
async fn check_catalogue(store: &SqliteStore, seen: &Acknowledged) -> Outcome {
    let (CatalogueRevision(revision), documents) = store.load().await?;
    assert!(revision >= seen.revision, "{revision} {seen:?}");
    let history = store
        .package_history(&Scope::Global, &PackageName::parse("p")?)
        .await?;
    let revisions: Vec<u64> = history.iter().map(|entry| entry.revision.0).collect();
    assert_eq!(revisions, (1..=revision).collect::<Vec<_>>());
    let expected = history.last().map_or(0, |entry| entry.documents);
    assert_eq!(documents.len(), expected);
    if let Some(newest) = history.last().filter(|entry| entry.documents > 0) {
        let text = format!("content {}", newest.revision.0 - 1);
        for document in &documents {
            assert_eq!(document.body, sample::skill(&document.key.id, &text).body);
            assert_eq!(document.package_version, newest.version);
        }
        let files = store.package_files(&newest.scope, &newest.package, &newest.version);
        assert_eq!(files.await?.map(|files| files.len()), Some(1));
    }
    let mut messages = 0;
    let mut after = 0;
    loop {
        let batch = store.messages(after, 10_000).await?;
        let Some(last) = batch.last() else { break };
        after = last.id;
        messages += batch
            .iter()
            .filter(|message| message.message.topic == CATALOGUE_CHANGED)
            .count() as u64;
    }
    assert_eq!(messages, revision);
    Ok(())
}

/// Asserts that journals have no gap, are chained, contain no partial append, and no acknowledged event is missing.
async fn check_journals(store: &SqliteStore, seen: &Acknowledged) -> Outcome {
    for n in 0..RUNS {
        let (acme, id) = (sample::tenant("acme")?, sample::run(n));
        let run = store.run(&acme, &id).await?;
        let journal = store.events(&acme, &id, 0, usize::MAX).await?;
        assert!(verify_chain(GENESIS, 1, &journal).is_ok());
        let version = run.map_or(0, |run| run.version);
        assert_eq!(journal.len() as u64, version);
        assert!(
            version == 0 || version % 2 == 1,
            "half an append: {version}"
        );
        let acknowledged = seen.versions[usize::try_from(n)?];
        assert!(
            version >= acknowledged,
            "run {n}: {version} < {acknowledged}"
        );
        check_mission(store, n, version).await?;
    }
    Ok(())
}

/// Asserts one artifact for each append, and a matching state and count of the mission.
async fn check_mission(store: &SqliteStore, n: u128, version: u64) -> Outcome {
    let (acme, mission) = (sample::tenant("acme")?, MissionId::parse(&format!("m{n}"))?);
    let filter = ArtifactFilter::default();
    let artifacts = store
        .artifacts(&acme, &mission, filter, 0, usize::MAX)
        .await?;
    let events: Vec<u64> = artifacts.iter().map(|artifact| artifact.event).collect();
    // The envelope with the first event, then one with every second.
    let expected: Vec<u64> = (1..=version).step_by(2).collect();
    assert_eq!(events, expected);
    let found = store.mission(&acme, &mission).await?;
    let found = found.map(|mission| (mission.artifacts, mission.state));
    let state = match version {
        1 => MissionState::Created,
        _ => MissionState::Running,
    };
    let expected = (version > 0).then_some((events.len() as u64, state));
    assert_eq!(found, expected);
    Ok(())
}

/// Asserts every acknowledged record, and no half pairs.
async fn check_records(store: &SqliteStore, seen: &Acknowledged) -> Outcome {
    let acme = sample::tenant("acme")?;
    for n in &seen.evidence {
        for id in [2 * n, 2 * n + 1] {
            let record = sample::evidence("acme", id, sample::at(0)?)?;
            assert_eq!(store.evidence(&acme, &record.id).await?, Some(record));
        }
    }
    for n in &seen.tags {
        let tags = sample::tags("acme", *n, sample::at(9)?)?;
        let read = store.tags(&acme, &tags.request_id, sample::at(0)?).await?;
        assert_eq!(read, Some(tags));
    }
    if let Some(newest) = seen.evidence.last() {
        let pair = [2 * (newest + 1), 2 * (newest + 1) + 1];
        let mut there = Vec::new();
        for id in pair {
            let id = sample::evidence("acme", id, sample::at(0)?)?.id;
            there.push(store.evidence(&acme, &id).await?.is_some());
        }
        assert_eq!(there[0], there[1], "half a pair of evidence");
    }
    Ok(())
}

/// B000-19: every stored record has its leaf, every leaf its record, and the stored tree matches the leaves.
async fn check_log(store: &SqliteStore) -> Outcome {
    let acme = sample::tenant("acme")?;
    let (mut nodes, mut logged) = (BTreeMap::new(), BTreeSet::new());
    loop {
        let leaves = store.log_leaves(&acme, logged.len() as u64, 1_000).await?;
        if leaves.is_empty() {
            break;
        }
        for leaf in leaves {
            assert_eq!(leaf.index, logged.len() as u64);
            let hash = Hash::leaf(leaf.leaf.as_bytes());
            let made = tree::append(leaf.index, hash, |id| {
                nodes.get(&id).copied().ok_or("a gap")
            })?;
            nodes.extend(made);
            logged.insert(LogEntry::from_leaf(&leaf.leaf)?.evidence_id().clone());
        }
    }
    let plan = tree::head(logged.len() as u64);
    let stored = store.log_nodes(&acme, plan.nodes()).await?;
    assert_eq!(plan.fold(&stored)?, plan.fold(&nodes)?);
    let mut after = None;
    let mut records = BTreeSet::new();
    loop {
        let page = PageRequest::new(after, 1_000);
        let found = store
            .find_evidence(&acme, &EvidenceFilter::default(), &page)
            .await?;
        records.extend(found.entries.into_iter().map(|record| record.id));
        after = found.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(records, logged);
    Ok(())
}

#[tokio::test]
async fn killed_at_any_moment_nothing_acknowledged_is_lost_and_nothing_is_half_written() -> Outcome
{
    let dir = tempfile::tempdir()?;
    let started = Instant::now();
    let mut seen = Acknowledged::default();
    for round in 0..ROUNDS {
        let before = seen.total();
        // From the very first write to a few hundred, with every remainder of the batch size.
        run_and_kill(dir.path(), round, 1 + round * 13 % 211, &mut seen);
        let store = open(dir.path())?;
        check_catalogue(&store, &seen).await?;
        check_journals(&store, &seen).await?;
        check_records(&store, &seen).await?;
        check_log(&store).await?;
        assert_eq!(store.check_integrity().await?, Vec::<String>::new());
        store.close().await?;
        assert!(seen.total() > before);
    }
    let (writes, took) = (seen.total(), started.elapsed());
    println!("{ROUNDS} kills in {took:?}, {writes} writes acknowledged");
    Ok(())
}
