//! The whole story on the quickstart's estate: a question, a remediation with another person's approval, the question
//! again, a rollback, the question again, and the verification of all evidence. Once over the API and once by the
//! commands. The independent script checks the findings each time.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::home::{Home, Server, request};
use crate::playbooks::{confirm, decide, path_of, settled};
use crate::quickstart::{Compared, Simulator, compared, register};

const REGION: &str = "us-east-1";
const QUESTION: &str = "Which of my security groups are open to the internet?";
const CHANGE: &str = "Remediate the public exposure findings";

/// The requester, the approver, and the person who rolls back.
const ANN: &str = "ann";
const BOB: &str = "bob";
const CID: &str = "cid";
const KEYS: [(&str, &str, &str, &str); 4] = [
    (ANN, "acme", ANN, "operator"),
    (BOB, "acme", BOB, "operator"),
    (CID, "acme", CID, "operator"),
    ("root", "acme", "root", "admin"),
];

/// A client of the server. Methods that return a run wait until it has `status`.
trait RemediationClient {
    fn ask(&self, input: &str) -> Value;
    fn give(&self, run: &Value, parameters: &Value, status: &str) -> Value;
    fn confirm(&self, run: &Value, status: &str) -> Value;
    /// Whether this person may approve.
    fn approve(&self, who: &str, approval: &Value) -> bool;
    /// The preview of an approval; `None` if the client has none.
    fn preview(&self, _who: &str, _approval: &Value) -> Option<Value> {
        None
    }
    fn roll_back(&self, who: &str, run: &Value, status: &str) -> Value;
    fn shown(&self, run: &Value, status: &str) -> Value;
    fn replayed(&self, run: &Value) -> Value;
}

struct OverTheApi<'s>(&'s Server);

impl RemediationClient for OverTheApi<'_> {
    fn ask(&self, input: &str) -> Value {
        self.0.key(ANN).ask(&request(input)).expect(200)
    }

    fn give(&self, run: &Value, parameters: &Value, status: &str) -> Value {
        let body = json!({"parameters": parameters});
        let ann = self.0.key(ANN);
        ann.post(&path_of(run, "/parameters"), &body).expect(200);
        self.shown(run, status)
    }

    fn confirm(&self, run: &Value, status: &str) -> Value {
        confirm(&self.0.key(ANN), run).expect(200);
        self.shown(run, status)
    }

    fn approve(&self, who: &str, approval: &Value) -> bool {
        let decided = decide(&self.0.key(who), approval, "approve");
        match decided.status {
            200 => true,
            _ => {
                decided.fails(403, "permission_denied");
                false
            }
        }
    }

    fn preview(&self, who: &str, approval: &Value) -> Option<Value> {
        let path = format!("/v1/approvals/{}/preview", text(&approval["approval_id"]));
        let shown = self.0.key(who).call("POST", &path, &[], Vec::new());
        Some(shown.expect(200))
    }

    fn roll_back(&self, who: &str, run: &Value, status: &str) -> Value {
        let by = self.0.key(who);
        let started = by.post(&path_of(run, "/rollback"), &json!({})).expect(201);
        self.shown(&started, status)
    }

    fn shown(&self, run: &Value, status: &str) -> Value {
        settled(&self.0.key(ANN), run, status)
    }

    fn replayed(&self, run: &Value) -> Value {
        self.0.key(ANN).get(&path_of(run, "/replay")).expect(200)
    }
}

struct ByCommands {
    ann: Home,
    bob: Home,
    cid: Home,
}

impl ByCommands {
    /// Homes without data, whose commands use the server with their person's key.
    fn to(server: &Server) -> Self {
        let of = |key: &str| {
            Home::new()
                .with("CHARTER_SERVER", &server.api.base)
                .with("CHARTER_API_KEY", key)
        };
        Self {
            ann: of(ANN),
            bob: of(BOB),
            cid: of(CID),
        }
    }

    fn of(&self, who: &str) -> &Home {
        match who {
            BOB => &self.bob,
            CID => &self.cid,
            _ => &self.ann,
        }
    }

    /// Runs a command of Ann's about a run; returns its JSON output.
    fn run(&self, arguments: &[&str], status: Option<&str>) -> Value {
        self.run_as(ANN, arguments, status)
    }

    fn run_as(&self, who: &str, arguments: &[&str], status: Option<&str>) -> Value {
        let shown = self
            .of(who)
            .run(&[arguments, &["--output", "json"]].concat());
        let shown = match arguments {
            ["runs", "show" | "replay", ..] => shown.json(0),
            _ => shown.done_or_waiting(),
        };
        if let Some(status) = status {
            assert_eq!(shown["status"], status, "{shown:#}");
        }
        shown
    }
}

impl RemediationClient for ByCommands {
    fn ask(&self, input: &str) -> Value {
        self.run(&["ask", input], None)
    }

    fn give(&self, run: &Value, parameters: &Value, status: &str) -> Value {
        let given: Vec<String> = parameters
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| format!("{name}={}", text(value)))
            .collect();
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        let arguments = [&["runs", "set", text(&run["run_id"])], &given[..]].concat();
        self.run(&arguments, Some(status))
    }

    fn confirm(&self, run: &Value, status: &str) -> Value {
        let (id, digest) = (text(&run["run_id"]), text(&run["plan_digest"]));
        self.run(&["runs", "confirm", id, "--digest", digest], Some(status))
    }

    fn approve(&self, who: &str, approval: &Value) -> bool {
        let home = self.of(who);
        let (id, digest) = (text(&approval["approval_id"]), text(&approval["digest"]));
        let ran = home.run(&["approvals", "approve", id, "--digest", digest]);
        match ran.code {
            Some(0) => true,
            _ => {
                assert!(ran.err.contains("permission_denied"), "{ran:?}");
                false
            }
        }
    }

    fn roll_back(&self, who: &str, run: &Value, status: &str) -> Value {
        let arguments = ["runs", "rollback", text(&run["run_id"])];
        self.run_as(who, &arguments, Some(status))
    }

    fn shown(&self, run: &Value, status: &str) -> Value {
        self.run(&["runs", "show", text(&run["run_id"])], Some(status))
    }

    fn replayed(&self, run: &Value) -> Value {
        self.run(&["runs", "replay", text(&run["run_id"])], None)
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value:#}"))
}

/// The calls that an approval is for.
fn calls_of(approval: &Value) -> Vec<Value> {
    match approval["list"].as_array() {
        Some(list) => list.clone(),
        None => vec![approval["call"].clone()],
    }
}

/// The list is complete before the first approval: a call for each lockable group that the read found, with its rules.
#[track_caller]
fn is_complete(waiting: &Value, calls: &[Value]) {
    let mut events = waiting["events"].as_array().unwrap().iter();
    let read = events.find(|event| event["event"] == "step_succeeded");
    let groups = read.unwrap()["output"]["lockable_groups"].as_array();
    let found: Vec<&Value> = groups
        .unwrap()
        .iter()
        .map(|group| &group["rules"])
        .collect();
    let listed = calls.iter().map(|call| &call["parameters"]["rules"]);
    let listed: Vec<&Value> = listed.collect();
    assert!(found.len() > 1);
    assert_eq!(listed, found);
}

/// The preview of each call has the rules of its group before and after: exactly the rules of the call are gone.
#[track_caller]
fn shows_each_effect(preview: &Value, calls: &[Value]) {
    let effects = preview["calls"].as_array().unwrap();
    assert_eq!(effects.len(), calls.len(), "{preview:#}");
    for (effect, call) in effects.iter().zip(calls) {
        assert_eq!(effect["step"], call["step"], "{effect:#}");
        let revoked = call["parameters"]["rules"].as_array().unwrap();
        let group = text(&revoked[0]["group_id"]);
        let before = effect["before"][group].as_array().unwrap();
        let left = before.iter().filter(|rule| !revoked.contains(rule));
        let left: Vec<&Value> = left.collect();
        assert_eq!(before.len(), left.len() + revoked.len(), "{effect:#}");
        assert_eq!(effect["after"][group], json!(left), "{effect:#}");
    }
}

/// The state of the story: the estate, the client, and the evidence of answers and runs.
struct Story<'s> {
    simulator: &'s Simulator,
    desk: &'s dyn RemediationClient,
    cited: BTreeSet<String>,
}

impl Story<'_> {
    /// Asks, and checks the findings against the independent script.
    fn found(&mut self) -> Compared {
        let metadata = self.desk.ask(QUESTION)["metadata"].take();
        let found = compared(&metadata["findings"]);
        assert_eq!(found, self.simulator.expected(REGION));
        assert_eq!(metadata["findings"].as_array().unwrap().len(), found.len());
        let cited = metadata["evidence_ids"].as_array().unwrap().iter();
        self.cited.extend(cited.map(|id| text(id).to_owned()));
        found
    }

    /// Bob approves the call that a run waits for, which its requesters may not; the run then completes.
    fn approved(&self, waiting: &Value, tool: &str, askers: &[&str]) -> Value {
        let approval = &waiting["approvals"][0];
        assert_eq!(waiting["approvals"].as_array().map(Vec::len), Some(1));
        for call in calls_of(approval) {
            assert_eq!(call["tool"], tool, "{waiting:#}");
        }
        for asker in askers {
            assert!(!self.desk.approve(asker, approval), "by the asker {asker}");
        }
        assert!(self.desk.approve(BOB, approval));
        self.desk.shown(waiting, "completed")
    }

    /// Checks the evidence of a run's calls, by prefixes of the summaries.
    fn proved(&mut self, run: &Value, summaries: &[&str]) {
        let evidence = run["evidence"].as_array().unwrap();
        assert_eq!(evidence.len(), summaries.len(), "{run:#}");
        for (record, summary) in evidence.iter().zip(summaries) {
            assert!(text(&record["summary"]).starts_with(summary), "{record:#}");
            assert_eq!(record["warning"], Value::Null, "{record:#}");
            let id = text(&record["evidence_id"]).to_owned();
            assert!(self.cited.insert(id), "it is another's");
        }
    }

    /// Requests the change, gives the missing values, confirms; checks that nothing has changed yet.
    fn asked_for(&self, before: &Compared) -> Value {
        let metadata = self.desk.ask(CHANGE)["metadata"].take();
        assert_eq!(
            (&metadata["flow"], &metadata["missing_parameters"]),
            (&json!("write"), &json!(["region", "profile"])),
            "{metadata:#}"
        );
        let run = json!({"run_id": metadata["run_ids"][0]});
        self.desk.shown(&run, "awaiting_parameters");
        let given = json!({"region": REGION, "profile": ""});
        let plan = self.desk.give(&run, &given, "awaiting_confirmation");
        let steps: Vec<Value> = plan["steps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|step| json!([step["step"], step["tool"], step["writes"], step["reverses"]]))
            .collect();
        let shown = [
            json!(["step_1", "aws.describe_public_ingress_surface", false, null]),
            json!(["step_2", "aws.lock_security_group", true, null]),
            json!(["rollback_2", "aws.restore_security_group", true, "step_2"]),
        ];
        assert_eq!(steps, shown);
        let waiting = self.desk.confirm(&plan, "awaiting_approval");
        assert_eq!(self.simulator.expected(REGION), *before);
        waiting
    }

    fn told(&mut self) {
        let before = self.found();
        let waiting = self.asked_for(&before);
        let calls = calls_of(&waiting["approvals"][0]);
        is_complete(&waiting, &calls);
        if let Some(preview) = self.desk.preview(BOB, &waiting["approvals"][0]) {
            shows_each_effect(&preview, &calls);
            assert_eq!(self.simulator.expected(REGION), before);
        }
        let done = self.approved(&waiting, "aws.lock_security_group", &[ANN]);
        let revoked = vec!["Ingress rules revoked"; calls.len()];
        self.proved(
            &done,
            &[&["What the internet reaches"], &revoked[..]].concat(),
        );
        let after = self.found();
        assert!(after.is_subset(&before));
        // Exactly the approved rules are gone, and nothing else of the groups.
        let mut gone: Vec<(&str, &str)> = before
            .difference(&after)
            .filter(|finding| finding[1] == "aws.ec2.security_group")
            .map(|finding| (finding[2].as_str(), finding[5].as_str()))
            .collect();
        let rules = calls.iter().map(|call| &call["parameters"]["rules"]);
        let rules = rules.flat_map(|rules| rules.as_array().unwrap());
        let mut approved: Vec<(&str, &str)> = rules
            .map(|rule| (text(&rule["group_id"]), text(&rule["cidr"])))
            .collect();
        gone.sort_unstable();
        approved.sort_unstable();
        assert!(!gone.is_empty());
        assert_eq!(gone, approved);
        // Ann counts as a requester of the rollback too: its arguments come from her run.
        let undoing = self.desk.roll_back(CID, &done, "awaiting_approval");
        assert_eq!(self.simulator.expected(REGION), after);
        let askers = [CID, ANN];
        let undone = self.approved(&undoing, "aws.restore_security_group", &askers);
        self.proved(&undone, &vec!["Ingress rules put back"; calls.len()]);
        assert_eq!(self.found(), before);
        for run in [&done, &undone] {
            let replayed = self.desk.replayed(run);
            assert_eq!(replayed["divergence"], Value::Null, "{replayed:#}");
            assert_eq!(replayed["status"], "completed");
        }
    }
}

/// All evidence of the answers and runs is in the export, which verifies without a server.
fn evidence_verifies(ann: &Home, server: &Server, cited: &BTreeSet<String>) {
    let file = ann.path("export.jsonl");
    let file = file.to_str().unwrap();
    let key = server.key(ANN).get("/v1/evidence/log/key").expect(200);
    let exported = ann.run(&["evidence", "export", file, "--output", "json"]);
    assert_eq!(exported.json(0)["good"], json!(true));
    let lines = std::fs::read_to_string(file).unwrap();
    for id in cited {
        assert!(lines.contains(id.as_str()), "{id} is not exported");
    }
    let elsewhere = Home::new();
    let verify = [
        "evidence",
        "verify",
        file,
        "--key",
        text(&key["key"]),
        "--output",
        "json",
    ];
    let verdict = elsewhere.run_in_home(&verify).json(0);
    assert_eq!(verdict["good"], json!(true), "{verdict:#}");
    assert_eq!(verdict["records"], json!(cited.len()), "{verdict:#}");
}

fn tell(desk: impl Fn(&Server) -> Box<dyn RemediationClient + '_>) {
    let simulator = Simulator::start();
    let home = simulator
        .granted_to(Home::with_keys(&KEYS))
        .with("CHARTER_API_KEY", "root");
    let server = home.serve();
    register(&home);
    let desk = desk(&server);
    let mut story = Story {
        simulator: &simulator,
        desk: desk.as_ref(),
        cited: BTreeSet::new(),
    };
    story.told();
    evidence_verifies(&ByCommands::to(&server).ann, &server, &story.cited);
}

#[test]
fn b000_18_an_estate_is_remediated_and_put_back_over_the_api() {
    tell(|server| Box::new(OverTheApi(server)));
}

#[test]
fn b000_18_an_estate_is_remediated_and_put_back_by_commands() {
    tell(|server| Box::new(ByCommands::to(server)));
}
