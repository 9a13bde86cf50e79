//! The brief on a simulated AWS account, judged by an independent script.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    KEYS, Person, claim, difference, goes_elsewhere, is_whole, proposal, search, searching, summary,
};
use crate::home::{Home, ids, project};
use crate::quickstart::{Compared, Simulator};

const KIND: &str = "security.account_brief";
const GOAL: &str = "What does the internet reach in our account in us-east-1?";
const REGION: &str = "us-east-1";

/// B002-10, B002-12: the brief names everything that the independent script finds, the worst first, with the web
/// search's results; and it can be watched until it waits.
#[track_caller]
fn says_what_is_open(ann: &Person, brief: &Value, before: &Compared) {
    assert_eq!(brief["state"], "awaiting_approval", "{brief:#}");
    is_whole(ann, brief);
    for [_, _, resource, ..] in before {
        assert!(claim(brief, resource).is_some(), "{resource}");
    }
    let lines: Vec<&str> = summary(brief).lines().collect();
    assert!(lines[2].starts_with("1. demo-bastion ("), "{lines:#?}");
    assert!(
        lines[2].contains("critical, score 100: Anyone can try to log in"),
        "{lines:#?}"
    );
    assert!(
        summary(brief).contains("https://docs.aws.amazon.com/"),
        "{lines:#?}"
    );
    assert_eq!(
        json!([brief["output"]["gaps"], brief["output"]["contradictions"]]),
        json!([[], []])
    );
    let watched = ann
        .0
        .run(&["mission", "watch", "brief-1", "--output", "json"]);
    assert_eq!(watched.code, Some(0), "{watched:?}");
    let last: Value = serde_json::from_str(watched.out.lines().last().unwrap()).unwrap();
    assert_eq!(last["mission_state"], "awaiting_approval");
}

/// B002-13: the proposer cannot approve; the approver sees the playbook, and then its exact rules.
#[track_caller]
fn is_locked_by_two_words(simulator: &Simulator, ann: &Person, bob: &Person, group: &str) {
    let before = simulator.expected(REGION);
    let own = ann.0.run(&["mission", "approve", "brief-1", "wb.1"]);
    assert!(own.err.contains("error[permission_denied]"), "{own:?}");
    let (shown, seen) = bob.approve("brief-1", "wb.1");
    assert!(
        seen.contains("security.remediate_public_exposure") && seen.contains(group),
        "{seen}"
    );
    assert_eq!(proposal(&shown, "wb.1")["state"], "approved", "{shown:#}");
    assert!(proposal(&shown, "wb.1")["run_id"].is_string(), "{shown:#}");
    assert_eq!(simulator.expected(REGION), before);
    let (shown, seen) = bob.approve("brief-1", "wb.1");
    assert!(
        seen.contains("aws.lock_security_group") && seen.contains("0.0.0.0/0"),
        "{seen}"
    );
    assert_eq!(proposal(&shown, "wb.1")["state"], "executed", "{shown:#}");
}

/// B002-6, B002-10, B002-12, B002-13, B002-14: an account's brief names the findings of an independent script, locks a
/// group with the playbook after another person approved the proposal and the exact rules, and the next brief no longer
/// names that group.
#[test]
fn b002_13_an_account_is_briefed_on_and_an_exposure_closed() {
    let (simulator, search) = (Simulator::start(), search());
    let home = simulator.granted_to(searching(Home::with_keys(&KEYS), &search));
    let server = home.serve();
    let [root, ann, bob] = ["root", "ann", "bob"].map(|key| Person::of(&server, key));
    let folder = project().join("packages/aws-security");
    let registered = root
        .0
        .run(&["package", "register", folder.to_str().unwrap()]);
    assert_eq!(registered.code, Some(0), "{registered:?}");

    let before = simulator.expected(REGION);
    let brief = ann.brief(KIND, GOAL, "brief-1");
    says_what_is_open(&ann, &brief, &before);
    let group = &proposal(&brief, "wb.1")["proposal"]["target_entity_id"];
    let group = group.as_str().unwrap();
    is_locked_by_two_words(&simulator, &ann, &bob, group);
    let done = bob.says(&["reject", "brief-1", "--all"]);
    let states = ids(&done["proposals"], "state");
    assert_eq!(
        (&done["state"], states),
        (
            &json!("completed"),
            vec![
                "executed".to_owned(),
                "rejected".to_owned(),
                "rejected".to_owned()
            ]
        )
    );
    let after = simulator.expected(REGION);
    let gone: BTreeSet<&str> = before
        .difference(&after)
        .map(|found| found[2].as_str())
        .collect();
    assert_eq!(gone, BTreeSet::from([group]));
    goes_elsewhere(&ann, "brief-1");

    let next = ann.brief(KIND, GOAL, "brief-2");
    assert!(
        claim(&brief, group).is_some() && claim(&next, group).is_none(),
        "{next:#}"
    );
    assert!(
        !summary(&next).contains("demo-bastion"),
        "{}",
        summary(&next)
    );
    let differs = difference(&ann, "brief-1", "brief-2");
    assert!(differs.contains("aggregation_packet"), "{differs}");
}
