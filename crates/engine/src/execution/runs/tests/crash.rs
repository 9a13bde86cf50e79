//! A process that plays a playbook's run is killed before and after every write of its store and every effect: every
//! point, enumerated. Restarted on the same directory, the run ends as if it had not been interrupted, and the outside
//! world has each effect exactly once.
//!
//! Each test starts itself again as the process that is killed: the ignored test `process`.

mod mission;
mod outside;
mod play;
mod playbook;
mod points;
mod skill;

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;

use outside::{Ledger, Outside};
use play::{Part, Played, TRACE, play, prepare};
use playbook::Variation;

/// Environment variable with the process's input; absent in an ordinary run.
const PART: &str = "CHARTER_CRASH_TEST_PART";
/// Prefix of the line with a play's end in a process's output.
const ENDED: &str = "ended: ";
/// Plays at the same time.
const AT_ONCE: usize = 2;
const SIGKILL: i32 = 9;

/// The process; does nothing in an ordinary run.
#[tokio::test]
#[ignore = "started by the tests below"]
async fn process() {
    let Some(part) = std::env::var_os(PART) else {
        return;
    };
    let part = serde_json::from_str(part.to_str().unwrap()).unwrap();
    println!("\n{ENDED}{}", play(part).await);
}

/// The side of a point on which a process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Death {
    Before(usize),
    After(usize),
}

/// How a play ended.
#[derive(Debug, PartialEq)]
struct Ended {
    states: Value,
    events: Vec<String>,
    ledger: Ledger,
    /// Every point that its processes passed.
    trace: Vec<String>,
}

/// One variation with the state from which all its plays begin.
struct Stage {
    played: Played,
    outside: Outside,
    template: TempDir,
}

impl Stage {
    fn set(played: Played) -> Self {
        let outside = Outside::start();
        let template = TempDir::new().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(prepare(template.path(), played, &outside.address));
        Self {
            played,
            outside,
            template,
        }
    }

    /// Creates a fresh directory for a play.
    fn directory(&self) -> TempDir {
        let dir = TempDir::new().unwrap();
        for entry in self.template.path().read_dir().unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                std::fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
            }
        }
        dir
    }

    fn start(&self, dir: &Path, ledger: &str, death: Option<Death>) -> Output {
        let part = Part {
            played: self.played,
            dir: dir.to_path_buf(),
            address: self.outside.address.clone(),
            ledger: ledger.to_owned(),
            die_before: death.and_then(Death::before),
            die_after: death.and_then(Death::after),
        };
        let process = format!("{}::process", module_path!().split_once("::").unwrap().1);
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &process, "--ignored", "--nocapture"])
            .env(PART, serde_json::to_string(&part).unwrap())
            .output()
            .unwrap()
    }

    /// Plays to the end on a directory.
    fn to_the_end(&self, dir: &Path, ledger: &str) -> Ended {
        let output = self.start(dir, ledger, None);
        let said = String::from_utf8_lossy(&output.stdout);
        let ended = said.lines().find_map(|line| line.strip_prefix(ENDED));
        let ended = ended.unwrap_or_else(|| panic!("{ledger}: the run does not end: {output:#?}"));
        let mut ended: Value = serde_json::from_str(ended).unwrap();
        Ended {
            states: ended["states"].take(),
            events: serde_json::from_value(ended["events"].take()).unwrap(),
            ledger: self.outside.ledger(ledger),
            trace: trace(dir),
        }
    }

    /// Plays without interruption, and returns the end and the points.
    fn whole(&self) -> (Ended, Vec<String>) {
        let dir = self.directory();
        let ended = self.to_the_end(dir.path(), "whole-play");
        (ended, trace(dir.path()))
    }

    /// Plays until it dies at a point, then resumes to its end.
    fn killed(&self, points: &[String], death: Death) -> Ended {
        let dir = self.directory();
        let ledger = format!("{death:?}").replace(['(', ')'], "-");
        let output = self.start(dir.path(), &ledger, Some(death));
        assert_eq!(
            output.status.signal(),
            Some(SIGKILL),
            "{death:?}: {output:#?}"
        );
        // It passed the same points, so that none is left out.
        assert_eq!(trace(dir.path()), points[..=death.point()], "{death:?}");
        self.to_the_end(dir.path(), &ledger)
    }

    /// Dies at every point, and passes each end to `judge`.
    fn at_every_point(&self, points: &[String], judge: impl Fn(Death, Ended) + Sync) {
        let deaths: Vec<Death> = (0..points.len())
            .flat_map(|point| [Death::Before(point), Death::After(point)])
            .collect();
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    while let Some(death) = deaths.get(next.fetch_add(1, Ordering::SeqCst)) {
                        judge(*death, self.killed(points, *death));
                    }
                });
            }
        });
    }
}

impl Death {
    fn point(self) -> usize {
        match self {
            Self::Before(point) | Self::After(point) => point,
        }
    }

    fn before(self) -> Option<usize> {
        match self {
            Self::Before(point) => Some(point),
            Self::After(_) => None,
        }
    }

    fn after(self) -> Option<usize> {
        match self {
            Self::After(point) => Some(point),
            Self::Before(_) => None,
        }
    }
}

fn trace(dir: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(dir.join(TRACE)).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// The points cover the play: every event of the journal, and every call and decision.
fn check_points(points: &[String], whole: &Ended) {
    let appends = points.iter().filter_map(|point| point.split_once(", "));
    let appended: Vec<&str> = appends.flat_map(|(_, events)| events.split(", ")).collect();
    assert_eq!(appended, whole.events);
    let effects = points
        .iter()
        .filter_map(|point| point.strip_prefix("effect "));
    let steps = whole
        .ledger
        .calls
        .iter()
        .filter_map(|call| call.split(' ').nth(1));
    assert!(effects.eq(steps), "{points:#?} {:#?}", whole.ledger);
    // Evidence is stored before the journal records the end of a run.
    let ends = ["append, completed", "append, rolled_back"];
    let proved = points.iter().zip(&points[1..]);
    let proved =
        proved.filter(|(before, end)| ends.contains(&end.as_str()) && *before == "put_evidence");
    let over = |event: &&String| matches!(event.as_str(), "completed" | "rolled_back");
    assert_eq!(
        proved.count(),
        whole.events.iter().filter(over).count(),
        "{points:#?}"
    );
    // One write requests one approval, for all of its calls.
    let asked = |point: &&String| point.contains("approval_requested");
    let decided = points.iter().filter(|point| *point == "decide_approval");
    assert_eq!(decided.count(), points.iter().filter(asked).count());
}

/// The first events of every uninterrupted play, up to the end of the first write.
const FIRST: [&str; 13] = [
    "started",
    "parameters_given",
    "confirmed",
    "step_begun s1",
    "step_succeeded s1",
    "approval_requested s2",
    "approval_requested s3",
    "approval_granted s2",
    "approval_granted s3",
    "step_begun s2",
    "retry_scheduled s2",
    "step_begun s2",
    "step_succeeded s2",
];

/// Checks that every end equals the uninterrupted one, and returns that.
fn ends_as_if_uninterrupted(variation: Variation, events: &[&str], done: &[&str]) -> Ended {
    let stage = Stage::set(Played::Playbook(variation));
    let (whole, points) = stage.whole();
    assert_eq!(whole.events, events);
    assert_eq!(whole.ledger.done, done);
    check_points(&points, &whole);
    stage.at_every_point(&points, |death, ended| {
        let met = &ended.events;
        assert_eq!(ended.states, whole.states, "{death:?}: {met:#?}");
        assert_eq!(ended.ledger.done, whole.ledger.done, "{death:?}: {met:#?}");
    });
    whole
}

/// How a run ends when a person refused to repeat a step that did happen.
struct Refused {
    step: &'static str,
    status: &'static str,
    /// Writes that the run may have left behind, as it reports them.
    left: Value,
    done: &'static [&'static str],
}

/// Checks that a write with a lost result is not repeated, and that every other end equals the uninterrupted one.
fn ends_as_people_decide(
    variation: Variation,
    events: &[&str],
    done: &[&str],
    refused: &[Refused],
) {
    let stage = Stage::set(Played::Playbook(variation));
    let (whole, points) = stage.whole();
    assert_eq!(whole.events, events);
    assert_eq!(whole.ledger.done, done);
    check_points(&points, &whole);
    stage.at_every_point(&points, |death, ended| {
        let met = &ended.events;
        let unheard = unheard_of(&points, death);
        let Some(refused) = refused.iter().find(|refused| unheard == Some(refused.step)) else {
            assert_eq!(ended.states, whole.states, "{death:?}: {met:#?}");
            assert_eq!(ended.ledger.done, whole.ledger.done, "{death:?}: {met:#?}");
            return;
        };
        let state = &ended.states[0];
        assert!(
            met.contains(&format!("approval_denied {}", refused.step)),
            "{death:?}: {met:#?}"
        );
        assert_eq!(ended.ledger.done, refused.done, "{death:?}: {met:#?}");
        assert_eq!(state["status"], refused.status, "{death:?}: {met:#?}");
        assert_eq!(
            state["outcome"]["left"], refused.left,
            "{death:?}: {met:#?}"
        );
        assert_eq!(state["diverges"], Value::Null, "{death:?}");
    });
}

/// Returns the step whose effect happened without a recorded end, for a process that died at this point.
fn unheard_of(points: &[String], death: Death) -> Option<&str> {
    let begun = match death {
        Death::Before(point) => points[..point].last()?,
        Death::After(point) => &points[point],
    };
    let step = begun.strip_prefix("effect ")?;
    // The next append holds its result.
    let end = match death {
        Death::Before(point) => &points[point],
        Death::After(point) => points.get(point + 1)?,
    };
    end.contains(&format!("step_succeeded {step}"))
        .then_some(step)
}

/// The first write, interrupted and not repeated: nothing reverses it.
fn first_refused() -> Refused {
    Refused {
        step: "s2",
        status: "rollback_failed",
        left: json!(["s2"]),
        done: &["write s2"],
    }
}

const COMPLETED: [&str; 3] = ["step_begun s3", "step_succeeded s3", "completed"];

const ROLLED_BACK: [&str; 5] = [
    "step_begun s3",
    "step_failed s3",
    "step_begun undo_2",
    "step_succeeded undo_2",
    "rolled_back",
];

const UNDONE: [&str; 10] = [
    "started",
    "approval_requested undo_3",
    "approval_requested undo_2",
    "approval_granted undo_3",
    "approval_granted undo_2",
    "step_begun undo_3",
    "step_succeeded undo_3",
    "step_begun undo_2",
    "step_succeeded undo_2",
    "completed",
];

#[test]
fn b000_18_killed_at_any_point_a_run_ends_as_if_it_had_not_been() {
    let events = [&FIRST[..], &COMPLETED].concat();
    let done = ["write s2", "write s3"];
    ends_as_if_uninterrupted(Variation::Repeatable, &events, &done);
}

#[test]
fn b000_18_killed_at_any_point_a_rollback_reverses_each_write_once() {
    let events = [&FIRST[..], &ROLLED_BACK].concat();
    let done = ["write s2", "undo undo_2"];
    ends_as_if_uninterrupted(Variation::RolledBack, &events, &done);
}

#[test]
fn b000_18_killed_at_any_point_a_run_that_undoes_another_reverses_each_write_once() {
    let events = [&FIRST[..], &COMPLETED, &UNDONE].concat();
    let done = ["write s2", "write s3", "undo undo_3", "undo undo_2"];
    ends_as_if_uninterrupted(Variation::Undone, &events, &done);
}

/// The events of a play with a list, up to the end of its first write.
const LISTED: [&str; 14] = [
    "started",
    "parameters_given",
    "confirmed",
    "step_begun s1",
    "step_succeeded s1",
    "step_expanded s2",
    "approval_requested s2.1",
    "approval_requested s2.2",
    "approval_requested s2.3",
    "approval_granted s2.1",
    "step_skipped s2.2",
    "approval_granted s2.3",
    "step_begun s2.1",
    "step_succeeded s2.1",
];

/// A list of three writes, of which the approver excluded one: each of the others happens once. So does each reversal,
/// when a separate run undoes the list.
#[test]
fn b000_18_killed_at_any_point_each_remaining_write_of_a_list_happens_once() {
    let rest = [
        "step_begun s2.3",
        "step_succeeded s2.3",
        "step_succeeded s2",
        "completed",
        "started",
        "approval_requested undo_2.3",
        "approval_requested undo_2.1",
        "approval_granted undo_2.3",
        "approval_granted undo_2.1",
        "step_begun undo_2.3",
        "step_succeeded undo_2.3",
        "step_begun undo_2.1",
        "step_succeeded undo_2.1",
        "completed",
    ];
    let events = [&LISTED[..], &rest].concat();
    let done = ["write s2.1", "write s2.3", "undo undo_2.3", "undo undo_2.1"];
    ends_as_if_uninterrupted(Variation::ListUndone, &events, &done);
}

/// The last write of the list fails: the first is reversed once, and the excluded one neither happens nor is reversed.
#[test]
fn b000_18_killed_at_any_point_the_rollback_of_a_list_reverses_each_write_once() {
    let rest = [
        "step_begun s2.3",
        "step_failed s2.3",
        "step_begun undo_2.1",
        "step_succeeded undo_2.1",
        "rolled_back",
    ];
    let events = [&LISTED[..], &rest].concat();
    let done = ["write s2.1", "undo undo_2.1"];
    ends_as_if_uninterrupted(Variation::ListRolledBack, &events, &done);
}

/// A request whose change has ended has a result, recorded and announced once. If the process dies after the last
/// write, the next process makes the result from the journal and the evidence.
#[test]
fn b000_18_killed_at_any_point_a_request_gets_its_result_once() {
    let events = FIRST.iter().filter(|event| !event.starts_with("retry"));
    let mut events: Vec<&str> = events.copied().collect();
    // The first write begins once.
    events.dedup();
    events.extend(COMPLETED);
    let done = ["write s2", "write s3"];
    let whole = ends_as_if_uninterrupted(Variation::Requested, &events, &done);
    let result = &whole.states[1];
    assert_eq!(
        (&result["status"], &result["undone"], &result["announced"]),
        (&json!("completed"), &json!([]), &json!(1)),
        "{result:#}"
    );
    let changed: Vec<Value> = result["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| {
            json!([
                change["step_id"],
                change["after"]["entry"],
                change["evidence_ids"]
            ])
        })
        .collect();
    assert_eq!(
        changed,
        [json!(["s2", "write s2", 1]), json!(["s3", "write s3", 1])]
    );
    assert_eq!(
        whole.trace.last().map(String::as_str),
        Some("record_result")
    );
}

/// A write that cannot be repeated is repeated only after a person has checked and approved it.
#[test]
fn b000_18_killed_at_any_point_no_write_happens_twice_unasked() {
    let events = [&FIRST[..], &COMPLETED].concat();
    let refused = [
        first_refused(),
        Refused {
            step: "s3",
            status: "rollback_failed",
            left: json!(["s3"]),
            done: &["write s2", "write s3", "undo undo_2"],
        },
    ];
    let done = ["write s2", "write s3"];
    ends_as_people_decide(Variation::Unrepeatable, &events, &done, &refused);
}

/// The same for a reversal: a rollback needs no approval, unless it would undo something twice.
#[test]
fn b000_18_killed_at_any_point_no_reversal_happens_twice_unasked() {
    let events = [&FIRST[..], &ROLLED_BACK].concat();
    let refused = [
        first_refused(),
        Refused {
            step: "undo_2",
            status: "rollback_failed",
            left: json!(["s2"]),
            done: &["write s2", "undo undo_2"],
        },
    ];
    let done = ["write s2", "undo undo_2"];
    ends_as_people_decide(Variation::RolledBackUnrepeatable, &events, &done, &refused);
}

/// If a person reports that the write did happen, nothing is lost or done twice: the run continues as if its worker had
/// received the result.
#[test]
fn b000_18_killed_at_any_point_a_write_that_people_report_is_not_lost() {
    let events = [&FIRST[..], &COMPLETED].concat();
    let done = ["write s2", "write s3"];
    ends_as_if_uninterrupted(Variation::Reported, &events, &done);
}

/// The same for a reversal that a person reports.
#[test]
fn b000_18_killed_at_any_point_a_reversal_that_people_report_is_not_lost() {
    let events = [&FIRST[..], &ROLLED_BACK].concat();
    let done = ["write s2", "undo undo_2"];
    ends_as_if_uninterrupted(Variation::RolledBackReported, &events, &done);
}

/// A skill's evidence is durable before the journal records the end of its run. If the process dies in between, the
/// next one ends the run and adds no record.
#[test]
fn evidence_of_a_skill_is_recorded_before_its_run_ends() {
    let stage = Stage::set(Played::Skill);
    let (whole, points) = stage.whole();
    let events = ["started", "step_begun s1", "step_succeeded s1", "completed"];
    assert_eq!(whole.events, events);
    let is_proof = |point: &usize| points[*point] == "put_evidence";
    let proofs: Vec<usize> = (0..points.len()).filter(is_proof).collect();
    let [proof] = proofs[..] else {
        panic!("{points:#?}");
    };
    assert_eq!(points[proof + 1], "append, completed", "{points:#?}");
    let records = whole.states["evidence"].as_array().unwrap();
    assert_eq!(records.len(), 1, "{:#}", whole.states);
    assert_eq!(whole.states["cited"], whole.states["evidence"]);
    for death in [Death::After(proof), Death::Before(proof + 1)] {
        let ended = stage.killed(&points, death);
        assert_eq!(ended.events, whole.events, "{death:?}");
        assert_eq!(ended.states, whole.states, "{death:?}");
        assert_eq!(ended.ledger, whole.ledger, "{death:?}");
    }
}

/// The points of a mission's process are appends, tool calls, and model calls. Wherever it dies, its journal and
/// artifacts are the same, no change happens twice, and no model is asked again for an answer in the journal (B002-14).
#[test]
fn b002_14_killed_at_any_point_a_mission_comes_to_the_same() {
    let stage = Stage::set(Played::Mission);
    let (whole, points) = stage.whole();
    assert_eq!(
        whole.states["mission"]["state"], "completed",
        "{:#}",
        whole.states
    );
    assert_eq!(whole.ledger.done, ["write writeback.wb.1"]);
    let asked = points.iter().filter(|point| point.starts_with("model "));
    assert_eq!(asked.count(), 6, "{points:#?}");
    stage.at_every_point(&points, |death, ended| {
        let met = &ended.events;
        assert_eq!(ended.states, whole.states, "{death:?}: {met:#?}");
        assert_eq!(ended.ledger.done, whole.ledger.done, "{death:?}: {met:#?}");
        asked_once(&points, death, &ended.trace);
    });
}

/// After a death, no model is asked for a step whose end was durable before.
fn asked_once(points: &[String], death: Death, trace: &[String]) {
    let durable = match death {
        Death::Before(point) => &points[..point],
        Death::After(point) => &points[..=point],
    };
    for asked in trace[durable.len()..]
        .iter()
        .filter_map(|point| point.strip_prefix("model "))
    {
        let end = format!("step_succeeded {asked}");
        let mut appended = durable.iter().flat_map(|point| point.split(", "));
        assert!(
            !appended.any(|event| event == end),
            "{death:?}: `{asked}` is asked again"
        );
    }
}
