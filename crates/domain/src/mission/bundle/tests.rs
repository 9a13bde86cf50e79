//! Bundles of the example mission: written, parsed, and changed in every way.

use charter_contract::catalogue::vocabulary::Role;
use charter_contract::ids::{StepId, UserId};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::*;
use crate::graph::{AfterFailure, GraphParts, Step, StepAction, StepGraph};
use crate::run::chain::GENESIS;
use crate::run::{RunPrerequisites, RunStart};

const EXAMPLE: &str = include_str!("../../../../contract/tests/missions/waterfront.jsonl");

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros((1_776_168_000 + seconds) * 1_000_000).unwrap()
}

/// The journal of a run with one step, which concludes.
fn journal() -> Vec<String> {
    let said = StepAction::Conclude {
        output: json!({ "said": "done" }),
    };
    let step = Step::new(StepId::parse("end").unwrap(), said, AfterFailure::Abort);
    let parts = GraphParts {
        steps: vec![step],
        ..GraphParts::default()
    };
    let started = RunEvent::Started(Box::new(RunStart {
        run_id: RunId::from_uuid(Uuid::from_u128(1)),
        by: UserId::parse("asker").unwrap(),
        owner: None,
        askers: std::collections::BTreeSet::new(),
        role: Role::User,
        graph: StepGraph::new(parts).unwrap(),
        parameters: Map::new(),
        pins: Vec::new(),
        dry_run: false,
        opening: RunPrerequisites::default(),
        tags: None,
    }));
    let mut run = Run::start(started.clone(), at(0)).unwrap();
    let mut events = vec![started];
    while run.outcome().is_none() {
        for event in run.advance() {
            run.apply(event.clone(), at(events.len() as i64)).unwrap();
            events.push(event);
        }
    }
    let texts = events.iter().map(serde_json::to_string);
    texts.collect::<Result<_, _>>().unwrap()
}

fn bundled(payloads: &[&str], events: &[String]) -> Bundle {
    let mut hash = GENESIS;
    let events: Vec<BundledEvent> = (1..)
        .zip(events)
        .map(|(sequence, payload)| {
            hash = hash.chain(sequence, payload);
            BundledEvent {
                at: at(sequence as i64),
                hash,
                payload: payload.clone(),
            }
        })
        .collect();
    let artifacts: Vec<BundledArtifact> = payloads
        .iter()
        .map(|payload| BundledArtifact {
            payload: (*payload).to_owned(),
            event: 1,
        })
        .collect();
    Bundle {
        header: Header {
            artifacts: artifacts.len() as u64,
            events: events.len() as u64,
            format: FORMAT.to_owned(),
            mission_id: MissionId::parse("uuid").unwrap(),
            run_id: RunId::from_uuid(Uuid::from_u128(1)),
            state: MissionState::Completed,
            status: RunStatus::Completed,
            tenant_id: TenantId::parse("tenant_velocity").unwrap(),
            title: "mission oracle_advisory".to_owned(),
        },
        artifacts,
        events,
    }
}

fn whole() -> Bundle {
    bundled(&EXAMPLE.lines().collect::<Vec<_>>(), &journal())
}

/// A bundle with the envelope, a worker result and the whole journal.
fn small() -> Bundle {
    let lines: Vec<&str> = EXAMPLE.lines().collect();
    bundled(&[lines[0], lines[9]], &journal())
}

fn places(result: Result<Bundle, Vec<BundleDefect>>) -> Vec<(usize, String, String)> {
    let faults = result.err().unwrap_or_default();
    let place = |fault: BundleDefect| (fault.line, fault.pointer, fault.problem);
    faults.into_iter().map(place).collect()
}

fn place(line: usize, pointer: &str, problem: &str) -> (usize, String, String) {
    (line, pointer.to_owned(), problem.to_owned())
}

#[test]
fn a_bundle_reads_back_as_what_was_written() {
    for bundle in [whole(), small()] {
        let text = bundle.to_text();
        assert_eq!(verify(text.as_bytes()), Ok(bundle.clone()));
        let last = format!(",\"link\":\"{}\"}}\n", bundle.digest());
        assert!(text.ends_with(&last), "{text}");
        for artifact in &bundle.artifacts {
            assert!(text.contains(&format!("\n{}\n", artifact.payload)));
        }
    }
}

/// The form for third parties, to the byte. The file was made by another program, from the
/// description in `docs/reference/artifacts.md`.
#[test]
fn the_form_is_what_the_documentation_says() {
    let envelope = EXAMPLE.lines().next().unwrap();
    let text = bundled(&[envelope], &["{}".to_owned()]).to_text();
    let expected = include_str!("tests/form.jsonl");
    assert_eq!(text, expected);
}

/// B002-14: a flipped bit anywhere is found, and its line is named. A removed or added line end is found too; the fault
/// is then a wrong number or form of lines.
#[test]
fn b002_14_every_flipped_bit_is_found_in_its_line() {
    let bundle = small();
    let text = bundle.to_text().into_bytes();
    let mut line = 1;
    for at in 0..text.len() {
        let is_end = text[at] == b'\n';
        for bit in 0..8 {
            let mut changed = text.clone();
            changed[at] ^= 1 << bit;
            let Err(faults) = verify(&changed) else {
                panic!("bit {bit} of byte {at}, in line {line}, is not missed");
            };
            let named = faults.iter().any(|fault| fault.line == line);
            let moved = is_end || changed[at] == b'\n';
            assert!(
                named || moved,
                "bit {bit} of byte {at} in line {line}: {faults:?}"
            );
        }
        line += usize::from(is_end);
    }
}

#[test]
fn b002_14_a_changed_line_is_reported() {
    let bundle = small();
    let lines: Vec<String> = bundle.lines().collect();
    let with = |at: usize, from: &str, to: &str| {
        let mut lines = lines.clone();
        assert!(lines[at].contains(from), "{}", lines[at]);
        lines[at] = lines[at].replacen(from, to, 1);
        places(verify(lines.concat().as_bytes()))
    };
    assert_eq!(
        with(0, "oracle_advisory", "other"),
        [place(1, "/header", "the header was changed")]
    );
    assert_eq!(
        with(0, "\"artifacts\":2", "\"artifacts\":3"),
        [place(
            1,
            "/header",
            "the header counts 3 artifacts and 3 events, which does not match 12 lines"
        )]
    );
    assert_eq!(
        with(0, ":2,", ": 2,"),
        [place(
            1,
            "/header",
            "the header is not in its canonical form"
        )]
    );
    assert_eq!(
        with(2, "0.79", "0.97"),
        [place(3, "/artifacts/1", "artifact 2 was changed")]
    );
    assert_eq!(
        with(2, ",", ", "),
        [place(3, "/artifacts/1", "artifact 2 was changed")]
    );
    assert_eq!(
        with(4, "done", "gone"),
        [place(5, "/events/1", "event 2 was changed")]
    );
    let manifest = "this line of the manifest was changed";
    assert_eq!(
        with(8, "\"event\":1", "\"event\":2"),
        [place(9, "/manifest/2", manifest)]
    );
    assert_eq!(
        with(10, "12:00:02", "12:00:03"),
        [place(11, "/manifest/4", manifest)]
    );
}

#[test]
fn b002_14_lines_that_are_missing_doubled_or_moved_are_found() {
    let lines: Vec<String> = whole().lines().collect();
    for at in 0..lines.len() {
        let mut without = lines.clone();
        without.remove(at);
        assert!(
            verify(without.concat().as_bytes()).is_err(),
            "without line {at}"
        );
        let mut twice = lines.clone();
        twice.insert(at, lines[at].clone());
        assert!(
            verify(twice.concat().as_bytes()).is_err(),
            "line {at} twice"
        );
        if at > 0 {
            let mut swapped = lines.clone();
            swapped.swap(at - 1, at);
            assert!(
                verify(swapped.concat().as_bytes()).is_err(),
                "line {at} before its time"
            );
        }
    }
    for text in ["", "\n", "{}\n", "{}"] {
        assert!(verify(text.as_bytes()).is_err(), "{text:?}");
    }
    assert!(verify((lines.concat() + "\n").as_bytes()).is_err());
    let whole = lines.concat();
    assert_eq!(
        places(verify(whole.trim_end().as_bytes())),
        [place(lines.len(), "", "the last line has no line end")]
    );
}

/// A byte order mark before the first line is not part of the bundle; one elsewhere is.
#[test]
fn a_byte_order_mark_is_no_part_of_the_bundle() {
    let whole: String = small().lines().collect();
    let marked = verify(format!("\u{feff}{whole}").as_bytes()).unwrap();
    assert_eq!(marked, verify(whole.as_bytes()).unwrap());
    assert!(verify(format!("\u{feff}\u{feff}{whole}").as_bytes()).is_err());
    let within = whole.replacen('\n', "\n\u{feff}", 1);
    assert!(verify(within.as_bytes()).is_err());
}

/// Two lines that were joined are reported, in addition to the mismatch with the header.
#[test]
fn b002_14_a_line_that_is_none_is_named() {
    let mut lines: Vec<String> = small().lines().collect();
    lines[2] = lines[2].replace('\n', " ");
    let header = "the header counts 2 artifacts and 3 events, which does not match 11 lines";
    let expected = [
        place(1, "/header", header),
        place(3, "", "this line is not JSON"),
    ];
    assert_eq!(places(verify(lines.concat().as_bytes())), expected);
}

/// A manifest with valid links, but for other lines than those of the bundle.
#[test]
fn b002_14_a_manifest_is_about_the_lines_in_their_order() {
    let bundle = small();
    let header = header_line(&bundle.header);
    let mut about: Vec<_> = entries(&header, &bundle.artifacts, &bundle.events).collect();
    about.swap(0, 3);
    about.swap(1, 2);
    about.swap(4, 5);
    let mut link = Link::START;
    let manifest = about.iter().map(|entry| link.line(entry) + "\n");
    let content = bundle.lines().take(6);
    let text: String = content.chain(manifest).collect();
    let expected = [
        place(7, "/manifest/0", "it is not about the header"),
        place(8, "/manifest/1", "it is not about artifact 1"),
        place(9, "/manifest/2", "it is not about artifact 2"),
        place(10, "/manifest/3", "it is not about event 1"),
        place(11, "/manifest/4", "it is not about event 2"),
        place(12, "/manifest/5", "it is not about event 3"),
    ];
    assert_eq!(places(verify(text.as_bytes())), expected);
}

/// The report is bounded for any number of faults.
#[test]
fn faults_are_bounded() {
    let lines: Vec<&str> = EXAMPLE.lines().collect();
    let text = bundled(&vec![lines[9]; 1_100], &[]).to_text();
    let changed = text.replace("0.79", "0.97");
    assert_eq!(places(verify(changed.as_bytes())).len(), 1_000);
}

/// A bundle with recomputed links after a change must still satisfy the rules of a mission, and has another digest.
#[test]
fn b002_14_a_bundle_linked_anew_has_another_digest_and_keeps_the_rules() {
    let edit = |at: usize, from: &str, to: &str| {
        let mut bundle = small();
        let payload = &mut bundle.artifacts[at].payload;
        assert!(payload.contains(from), "{payload}");
        *payload = payload.replacen(from, to, 1);
        assert_ne!(bundle.digest(), small().digest());
        places(verify(bundle.to_text().as_bytes()))
    };
    assert_eq!(edit(1, "0.79", "0.97"), []);
    assert_eq!(
        edit(1, "0.79", "7.9"),
        [place(3, "/artifacts/1/confidence", "7.9 is greater than 1")]
    );
    assert_eq!(
        edit(1, "\"v1\"", "\"v9\""),
        [place(
            3,
            "/artifacts/1/schema_version",
            "the version `v9` is not supported; known: `v1`"
        )]
    );
    assert_eq!(
        edit(1, "tenant_velocity", "rival"),
        [place(
            3,
            "/artifacts/1/tenant_id",
            "`rival` differs from the mission's tenant_id, `tenant_velocity`"
        )]
    );
    // A number that round-trips only if all its digits are read.
    assert_eq!(edit(1, "0.79", "0.3124527019143944"), []);
    for (from, to) in [
        (",\"confidence\"", ", \"confidence\""),
        ("0.79", "0.790"),
        ("{\"act", "{ \"act"),
    ] {
        let said = place(3, "/artifacts/1", "it is not in its canonical form");
        assert_eq!(edit(1, from, to), [said]);
    }
    let mut journal = small();
    journal.events[1].payload = journal.events[1].payload.replace("done", "gone");
    let found = places(verify(journal.to_text().as_bytes()));
    assert_eq!(found, [place(5, "/events/1", "event 2 was changed")]);
}

#[test]
fn a_bundle_is_one_mission_and_its_run() {
    let mut foreign = small();
    foreign.header.tenant_id = TenantId::parse("rival").unwrap();
    let said = "the header names mission `uuid` of `rival`, the envelope names `uuid` of `tenant_velocity`";
    assert_eq!(
        places(verify(foreign.to_text().as_bytes())),
        [place(1, "/header", said)]
    );

    let mut twice = small();
    twice.artifacts.push(twice.artifacts[1].clone());
    twice.header.artifacts = 3;
    let said = "an earlier worker_result has the id `wrk_001`";
    assert_eq!(
        places(verify(twice.to_text().as_bytes())),
        [place(4, "/artifacts/2", said)]
    );

    let mut early = small();
    early.artifacts[0].event = 2;
    let said = "no event 1 can accompany it";
    assert_eq!(
        places(verify(early.to_text().as_bytes())),
        [place(9, "/manifest/2", said)]
    );

    // The last event can have an artifact; there is no later event.
    early.artifacts[0].event = 1;
    early.artifacts[1].event = 3;
    assert_eq!(verify(early.to_text().as_bytes()), Ok(early.clone()));
    early.artifacts[1].event = 4;
    let said = "no event 4 can accompany it";
    let late = places(verify(early.to_text().as_bytes()));
    assert_eq!(late, [place(9, "/manifest/2", said)]);

    let lines: Vec<&str> = EXAMPLE.lines().collect();
    let headless = bundled(&lines[9..10], &journal());
    assert!(
        places(verify(headless.to_text().as_bytes()))[0]
            .1
            .starts_with("/artifacts/0")
    );
    assert_eq!(
        places(verify(bundled(&[], &journal()).to_text().as_bytes())).len(),
        1
    );

    let newer = small()
        .to_text()
        .replace("charter-mission/1", "charter-mission/2");
    let said = "the format is `charter-mission/2`; this version reads `charter-mission/1`";
    assert_eq!(
        places(verify(newer.as_bytes())),
        [place(1, "/header", said)]
    );
}

/// B002-1: a bundle keeps the bytes of an older version, and they are converted to the current one.
#[test]
fn b002_1_a_bundle_may_hold_older_versions() {
    let old = include_str!("../../../../contract/tests/versions/review_packet.v0.json");
    let old: Value = serde_json::from_str(old).unwrap();
    let old = charter_contract::canonical::text(old);
    let lines: Vec<&str> = EXAMPLE.lines().collect();
    let bundle = bundled(&[lines[0], &old], &journal());
    assert_eq!(verify(bundle.to_text().as_bytes()), Ok(bundle));
}

#[test]
fn b002_14_replay_rebuilds_the_run_and_stops_where_an_event_does_not_follow() {
    let bundle = whole();
    let run = bundle.replay().unwrap();
    assert_eq!(run.status().as_str(), "completed");

    let with = |at: usize, payload: &str| {
        let mut events = journal();
        events[at] = payload.to_owned();
        bundled(&[], &events).replay().unwrap_err()
    };
    let unknown = with(1, r#"{"dreamed":{}}"#);
    assert_eq!(unknown.sequence, 2);
    assert!(
        unknown.detail.starts_with("it is not a known event: "),
        "{unknown}"
    );
    assert_eq!(with(0, r#"{"dreamed":{}}"#).sequence, 1);
    let second = journal()[1].replace("done", "gone");
    assert_eq!(with(1, &second).sequence, 2);
    let skipped = journal()[2].clone();
    assert_eq!(with(1, &skipped).sequence, 2);

    let mut other = whole();
    other.header.run_id = RunId::from_uuid(Uuid::from_u128(2));
    assert_eq!(other.replay().unwrap_err().sequence, 1);
    assert_eq!(bundled(&[], &[]).replay().unwrap_err().sequence, 1);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// B002-14: any byte of a whole mission replaced by any other one.
    #[test]
    fn b002_14_no_other_byte_passes(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let text = whole().to_text().into_bytes();
        let at = at.index(text.len());
        prop_assume!(text[at] != byte);
        let mut changed = text;
        changed[at] = byte;
        prop_assert!(verify(&changed).is_err());
    }
}
