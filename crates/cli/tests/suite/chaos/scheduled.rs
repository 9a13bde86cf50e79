//! Schedules by interval, and messages to a channel, while replicas and database are killed: each occurrence starts one
//! run, and each event reaches the channel under one id.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant, SystemTime};

use charter_contract::time::Timestamp;
use charter_testkit::http_stub::{HttpStub, Reply};
use charter_testkit::postgres_server::Database;
use serde_json::{Value, json};

use super::{Client, Counter};
use crate::home::eventually;
use crate::packages::SKILL;

/// The variable with the channel's secret, and its value.
pub(super) const CHANNEL_SECRET: (&str, &str) = (
    "BELL_SECRET",
    "whsec_plJ3nmyCDGBKInavdOK15jsl3jVB2m4jVB2m4jVB2m4=",
);

/// The schedules, each of which fires half a second after the one before.
const SCHEDULES: usize = 4;
const SPREAD_MICROS: i64 = 500_000;

/// The shortest interval of a schedule here.
const LEAST_INTERVAL_S: u64 = 2;

/// The occurrences of a schedule under faults, if the faults are long: fewer than it catches up after an outage.
const OCCURRENCES: u64 = 8;

const SECOND_MICROS: i64 = 1_000_000;

/// Lets the leases and claims of killed processes expire.
const EXPIRE_CLAIMS: [&str; 3] = [
    "UPDATE lease SET expires_at = 0 WHERE resource LIKE 'schedule/%'",
    "UPDATE request SET held_until = 0 WHERE answer IS NULL AND holder IS NULL",
    "UPDATE notification SET due_at = created_at WHERE state = 'pending'",
];

/// Time between two such statements.
const EXPIRE_EVERY: Duration = Duration::from_secs(5);

/// The topic of a message, and the id of its subject.
pub(super) type MessageSubject = (String, String);

/// The ids of the messages about each subject, each with the number of its deliveries.
type Deliveries = BTreeMap<MessageSubject, BTreeMap<String, usize>>;

/// The current time in microseconds.
pub(super) fn now_micros() -> i64 {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap();
    i64::try_from(since.as_micros()).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value:#}"))
}

fn micros(time: &Value) -> i64 {
    Timestamp::parse(text(time)).unwrap().as_micros()
}

/// Polls after the faults until there is a value. Claims and leases of killed processes last for minutes, which no test
/// waits for: here they expire every five seconds.
fn after_faults<T>(what: &str, database: &Database, mut ask: impl FnMut() -> Option<T>) -> T {
    let mut expire_at = Instant::now();
    eventually(what, || {
        if Instant::now() >= expire_at {
            for sql in EXPIRE_CLAIMS {
                database.query(sql);
            }
            expire_at = Instant::now() + EXPIRE_EVERY;
        }
        ask()
    })
}

/// A channel that all replicas have, and its receiver.
pub(super) struct ReceivedChannel(HttpStub);

impl ReceivedChannel {
    pub(super) fn start() -> Self {
        Self(HttpStub::start(|_, _| Reply::empty(204)).unwrap())
    }

    /// The channel and its rule as configuration.
    pub(super) fn settings(&self) -> String {
        format!(
            "[notifications.channels.bell]\nkind = \"webhook\"\nurl = \"{}\"\nper_minute = 1000000\n\
             secrets = [{{ variable = \"{}\" }}]\negress = [\"{}\"]\n\
             [[notifications.rules]]\ntopics = [\"approval.requested\", \"finding.new\", \"run.completed\"]\n\
             channels = [\"bell\"]\n",
            self.0.url("/bell"),
            CHANNEL_SECRET.0,
            self.0.address()
        )
    }

    fn deliveries(&self) -> Deliveries {
        let mut all = Deliveries::new();
        for message in self.0.seen() {
            let messages = all.entry(subject_of(&message.body)).or_default();
            let id = message.headers["webhook-id"].clone();
            *messages.entry(id).or_default() += 1;
        }
        all
    }

    /// Waits for a message about each of these subjects. The messages about a subject have one id, by which a receiver
    /// recognises repeats, and no other subject has it. Returns the number of repeats.
    pub(super) fn has_each(
        &self,
        database: &Database,
        expected: &BTreeSet<MessageSubject>,
    ) -> usize {
        let all = after_faults("a message about each event", database, || {
            let all = self.deliveries();
            let has_each = expected.iter().all(|subject| all.contains_key(subject));
            has_each.then_some(all)
        });
        let mut known = BTreeSet::new();
        for (subject, messages) in &all {
            assert_eq!(messages.len(), 1, "{subject:?} has several ids");
            let is_new = messages.keys().all(|id| known.insert(id));
            assert!(is_new, "{subject:?} has the id of another subject");
        }
        let counts = all.values().flat_map(BTreeMap::values);
        counts.map(|count| count - 1).sum()
    }
}

fn subject_of(message: &Value) -> MessageSubject {
    let (topic, data) = (text(&message["type"]), &message["data"]);
    let subject = match topic {
        "run.completed" => text(&data["run_id"]).to_owned(),
        "approval.requested" => text(&data["approval_id"]).to_owned(),
        _ => subject_of_finding(&data["findings"][0]),
    };
    (topic.to_owned(), subject)
}

/// The id of an occurrence with new findings, as the message about them and the occurrence itself have it.
fn subject_of_finding(occurrence: &Value) -> String {
    let schedule = text(&occurrence["schedule_id"]);
    format!("{schedule} {}", text(&occurrence["occurrence"]))
}

/// The subjects of the messages about runs that completed.
pub(super) fn completed(runs: &[String]) -> impl Iterator<Item = MessageSubject> {
    runs.iter()
        .map(|run| ("run.completed".to_owned(), run.clone()))
}

/// The subjects of the messages about occurrences, each of which has a finding of its own.
pub(super) fn found_in(occurrences: &[Value]) -> impl Iterator<Item = MessageSubject> {
    occurrences
        .iter()
        .map(|one| ("finding.new".to_owned(), subject_of_finding(one)))
}

/// The subject of the message about the approval that a run waits for.
pub(super) fn approval_of(client: &Client, run: &str, until: Instant) -> MessageSubject {
    let path = format!("/v1/runs/{run}");
    let approval = eventually("a run that waits for its approval", || {
        let (status, shown) = client.insist("GET", &path, &Value::Null, until);
        assert_eq!(status, 200, "an acknowledged run is lost: {shown}");
        let approval = &shown["approvals"][0]["approval_id"];
        approval.as_str().map(str::to_owned)
    });
    ("approval.requested".to_owned(), approval)
}

/// Enabled schedules that run the skill at an interval.
pub(super) struct IntervalSchedules {
    every_s: u64,
}

impl IntervalSchedules {
    /// Enables them for so many seconds of faults. Returns once events are collected for the channel.
    pub(super) fn enable(
        client: &Client,
        database: &Database,
        seconds: u64,
        until: Instant,
    ) -> Self {
        for id in ids() {
            let order = json!({"schedule": {
                "schedule_id": id, "domain": "reliability", "title": "Check of the backups",
                "when": {"every_s": 60}, "run": {"skill": SKILL}, "parameters": {"vault": "main"},
                "missed": "run_all", "overlap": "allow",
            }});
            let (status, made) = client.insist("POST", "/v1/schedules", &order, until);
            assert_eq!(status, 201, "{made:#}");
        }
        // The interface has no interval below a minute, in which the faults are over.
        let every_s = (seconds / OCCURRENCES).max(LEAST_INTERVAL_S);
        let later = format!("{SPREAD_MICROS} * right(schedule_id, 1)::bigint");
        let shortened = database.query(&format!(
            "UPDATE schedule SET
                 definition = replace(definition, '\"every_s\":60}}', '\"every_s\":{every_s}}}'),
                 enabled_at = enabled_at + {later},
                 next_at = enabled_at + {later} + {every_s} * {SECOND_MICROS}
             RETURNING definition"
        ));
        let each = format!("\"every_s\":{every_s}}}");
        assert_eq!(shortened.matches(&each).count(), SCHEDULES, "{shortened}");
        // Events before the first look of a process are left out.
        eventually("the position of notifications", || {
            let count = database.query("SELECT count(*) FROM notification_position");
            (count.trim() == "1").then_some(())
        });
        Self { every_s }
    }

    /// Waits until all that was due at the end of the faults has run; returns every occurrence. None was lost, and each
    /// started one run.
    pub(super) fn occurrences(
        &self,
        client: &Client,
        database: &Database,
        counter: &Counter,
        (ended_at, until): (i64, Instant),
    ) -> Vec<Value> {
        let get = |path: &str| {
            let (status, found) = client.insist("GET", path, &Value::Null, until);
            assert_eq!(status, 200, "{found:#}");
            found
        };
        let enabled = |id: String| get(&format!("/v1/schedules/{id}"));
        after_faults("the schedules to fire after the faults", database, || {
            let mut next = ids().map(|id| micros(&enabled(id)["next_at"]));
            next.all(|next| next > ended_at).then_some(())
        });
        // Nothing further becomes due. The version refuses a replica that is about to record the next occurrence.
        database.query("UPDATE schedule SET next_at = NULL, version = version + 1");
        let all = after_faults("the end of all occurrences", database, || {
            let listed = ids().map(|id| get(&format!("/v1/schedules/{id}/occurrences?limit=100")));
            let listed = listed.map(|page| page["entries"].as_array().unwrap().clone());
            let all: Vec<Value> = listed.flatten().collect();
            all.iter().all(has_ended).then_some(all)
        });
        let every = i64::try_from(self.every_s).unwrap() * SECOND_MICROS;
        for id in ids() {
            let own = all.iter().filter(|one| one["schedule_id"] == id.as_str());
            let mut due: Vec<i64> = own.map(|one| micros(&one["due_at"])).collect();
            due.sort_unstable();
            let first = micros(&enabled(id)["enabled_at"]) + every;
            let expected = (0..).map(|n| first + n * every);
            let expected: Vec<i64> = expected.take(due.len()).collect();
            assert_eq!(due, expected, "an occurrence was lost or doubled");
            assert!(due.last().is_some_and(|last| last + every > ended_at));
        }
        let works: BTreeSet<&str> = all
            .iter()
            .map(|one| text(&one["work"]["request"]))
            .collect();
        assert_eq!(works.len(), all.len(), "{all:#?}");
        let done = counter.done.lock().unwrap();
        let calls = done.keys().filter(|key| key.ends_with("/step_1"));
        assert_eq!(calls.count(), all.len(), "the skill ran once for each");
        all
    }
}

/// The ids of the schedules. Each ends with its number, by which the database spreads their times.
fn ids() -> impl Iterator<Item = String> {
    (0..SCHEDULES).map(|n| format!("check_{n}"))
}

/// Whether an occurrence has ended. None is skipped, missed or failed.
fn has_ended(occurrence: &Value) -> bool {
    let state = text(&occurrence["state"]);
    let is_sound = ["waiting", "started", "ended"].contains(&state);
    assert!(is_sound, "{occurrence:#}");
    state == "ended"
}
