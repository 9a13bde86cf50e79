//! The example packages' missions from their goal to the change, on a simulated AWS account and a small CRM that really
//! run: their results, their approvers, the changes, the next brief, and that each can be replayed, exported and
//! compared.

mod account;
mod leads;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::home::{Home, Server, ids};
use crate::quickstart::StandIn;

const KEYS: [(&str, &str, &str, &str); 3] = [
    ("ann", "acme", "ann", "operator"),
    ("bob", "acme", "bob", "operator"),
    ("root", "acme", "root", "admin"),
];

/// The kinds of artifacts: a brief leaves one of each.
const KINDS: [&str; 10] = [
    "aggregation_packet",
    "librarian_pass",
    "mission_envelope",
    "mission_task_graph",
    "policy_decision",
    "prompt_package",
    "research_artifact",
    "review_packet",
    "worker_result",
    "writeback_proposal",
];

/// The search engine of the missions.
fn search() -> StandIn {
    StandIn::start("web.py", &[])
}

fn searching(home: Home, search: &StandIn) -> Home {
    home.with("CHARTER_SEARCH__PROVIDER", "searxng")
        .with(
            "CHARTER_SEARCH__URL",
            &format!("http://127.0.0.1:{}/", search.port),
        )
        .with("CHARTER_SEARCH__PLAIN_HTTP", "loopback")
}

/// A person's commands, which send requests to the server.
struct Person(Home);

impl Person {
    fn of(server: &Server, key: &str) -> Self {
        let home = Home::new()
            .with("CHARTER_SERVER", &server.api.base)
            .with("CHARTER_API_KEY", key);
        Self(home)
    }

    fn says(&self, arguments: &[&str]) -> Value {
        let all = [&["mission"], arguments, &["--output", "json"]].concat();
        self.0.run(&all).json(0)
    }

    /// Starts a brief and waits until it needs a person.
    fn brief(&self, kind: &str, goal: &str, id: &str) -> Value {
        let of = ["--type", kind, "--model", "offline", "--id", id, "--wait"];
        self.says(&[&["start", goal], &of[..]].concat())
    }

    /// The output that an approver of a proposal sees.
    fn approve(&self, mission: &str, proposal: &str) -> (Value, String) {
        let ran = self
            .0
            .run(&["mission", "approve", mission, proposal, "--output", "json"]);
        let shown = ran.json(0);
        (shown, ran.err)
    }
}

fn proposal<'m>(mission: &'m Value, id: &str) -> &'m Value {
    let mut proposals = mission["proposals"].as_array().unwrap().iter();
    let found = proposals.find(|shown| shown["proposal"]["proposal_id"] == id);
    found.unwrap_or_else(|| panic!("no {id}: {mission:#}"))
}

fn summary(mission: &Value) -> &str {
    mission["output"]["summary"].as_str().unwrap()
}

/// A brief's claim about one entity.
fn claim<'m>(mission: &'m Value, id: &str) -> Option<&'m Value> {
    let mut claims = mission["output"]["claims"].as_array().unwrap().iter();
    claims.find(|claim| claim["claim"].as_str().unwrap().contains(id))
}

/// B002-3, B002-10: there is an artifact of every kind; each shows that no model was used; and the sources of every
/// claim exist.
#[track_caller]
fn is_whole(person: &Person, mission: &Value) {
    let id = mission["mission_id"].as_str().unwrap();
    let listed = person.says(&["artifacts", id]);
    let kinds: BTreeSet<String> = ids(&listed["entries"], "kind").into_iter().collect();
    assert_eq!(kinds, KINDS.map(str::to_owned).into());
    let entries = listed["entries"].as_array().unwrap();
    let drafted = [
        "mission_task_graph",
        "worker_result",
        "aggregation_packet",
        "review_packet",
    ];
    let drafted = entries
        .iter()
        .filter(|entry| drafted.contains(&entry["kind"].as_str().unwrap()));
    for entry in drafted {
        let producer = entry["artifact"]["producer"].as_str().unwrap();
        assert!(producer.ends_with("_agent.offline"), "{entry:#}");
    }
    let results: BTreeSet<String> = ids(&listed["entries"], "artifact_id").into_iter().collect();
    for claim in mission["output"]["claims"].as_array().unwrap() {
        let first = claim["support_refs"][0].as_str().unwrap();
        assert!(results.contains(first), "{claim:#}");
    }
}

/// B002-14: an ended mission replays identically, verifies without a server, and can be imported into an empty
/// installation.
#[track_caller]
fn goes_elsewhere(person: &Person, id: &str) {
    assert_eq!(person.says(&["replay", id])["identical"], true);
    let file = person.0.path("brief.bundle");
    let file = file.to_str().unwrap();
    let exported = person.0.run(&["mission", "export", id, "--out", file]);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    let there = Home::with_keys(&KEYS);
    let verified = there.run_in_home(&["mission", "verify", file, "--output", "json"]);
    assert_eq!(verified.json(0)["good"], true);
    let elsewhere = there.serve();
    let ann = Person::of(&elsewhere, "ann");
    let imported = ann.says(&["import", file]);
    let here = person.says(&["show", id]);
    assert_eq!(
        [&imported["output"], &imported["state"]],
        [&here["output"], &here["state"]]
    );
    assert_eq!(ann.says(&["replay", id])["identical"], true);
}

/// The differences of two missions as text.
fn difference(person: &Person, left: &str, right: &str) -> String {
    let ran = person.0.run(&["mission", "diff", left, right]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    ran.out
}
