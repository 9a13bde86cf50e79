//! Exports that Charter imports or verifies, from any sender: evidence, and mission bundles.

use std::str::from_utf8;

use charter_contract::ids::{MissionId, RunId, TenantId};
use charter_contract::json::{Profile, extent};
use charter_contract::mission::MissionState;
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use charter_domain::evidence_log::{Coverage, Verifier};
use charter_domain::mission::bundle::{
    Bundle, BundledArtifact, BundledEvent, FORMAT, Header, verify,
};
use charter_domain::run::chain::GENESIS;

use super::Verdict;

pub(super) const WORDS: &[&str] = &[
    "\n",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\\"",
    "\"index\":",
    "\"leaf\":",
    "\"proof\":[",
    "\"record\":",
    "\"payload\":",
    "\"salt\":",
    "\"event\":",
    "\"artifacts\":",
    "\"events\":",
    "\"link\":",
    "\"sha256\":",
    "18446744073709551615",
    "null",
    "{\"kind\":\"record\"",
    "{\"event\":\"started\"",
];

/// Verifies an evidence export, line by line.
pub(super) fn evidence(input: &[u8]) -> Verdict {
    let Ok(text) = from_utf8(input) else {
        return Verdict::Refused;
    };
    let mut lines = text.split_inclusive('\n');
    let header = lines.next().unwrap_or_default();
    let Ok(mut verifier) = Verifier::open(header, None, None, Coverage::Complete) else {
        return Verdict::Refused;
    };
    for (number, line) in (2..).zip(lines) {
        verifier.line(number, line);
    }
    drop(verifier.finish());
    Verdict::Accepted
}

/// Verifies a bundle as it is. Its lines are then verified and replayed in a bundle with correct digests: lines that
/// begin with `{"event":` as events, the others as artifacts.
pub(super) fn mission_bundle(input: &[u8]) -> Verdict {
    if extent(input, Profile::BUNDLE).is_err() {
        return Verdict::Refused;
    }
    let verdict = Verdict::from_result(&verify(input));
    if let Ok(text) = from_utf8(input) {
        let linked = linked(text);
        if let Ok(bundle) = verify(linked.to_text().as_bytes()) {
            assert_eq!(bundle, linked, "what was verified is not what was written");
        }
        drop(linked.replay());
    }
    verdict
}

fn linked(text: &str) -> Bundle {
    let at = Timestamp::from_micros(1_776_168_000_000_000).expect("a time");
    let (events, artifacts): (Vec<&str>, Vec<&str>) = text
        .lines()
        .partition(|line| line.starts_with("{\"event\":"));
    let mut hash = GENESIS;
    let events = (1..).zip(events).map(|(sequence, payload)| {
        hash = hash.chain(sequence, payload);
        BundledEvent {
            at,
            hash,
            payload: payload.to_owned(),
        }
    });
    let events: Vec<BundledEvent> = events.collect();
    let artifacts = artifacts.into_iter().map(|payload| BundledArtifact {
        payload: payload.to_owned(),
        event: 1,
    });
    let artifacts: Vec<BundledArtifact> = artifacts.collect();
    Bundle {
        header: Header {
            artifacts: artifacts.len() as u64,
            events: events.len() as u64,
            format: FORMAT.to_owned(),
            mission_id: MissionId::parse("uuid").expect("an id"),
            run_id: RunId::parse("run-01930000-0000-7000-8000-000000000001").expect("an id"),
            state: MissionState::Completed,
            status: RunStatus::Completed,
            tenant_id: TenantId::parse("tenant_velocity").expect("an id"),
            title: "mission oracle_advisory".to_owned(),
        },
        artifacts,
        events,
    }
}
