//! A night at the simulated account: a schedule fires, its new findings reach a channel and propose the remediation of
//! twelve security groups. One decision locks ten of them although a server is killed meanwhile, and one undoes all.

mod account;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use charter_contract::time::Timestamp;
use charter_testkit::http_stub::{HttpStub, Reply};
use charter_testkit::postgres_server::PostgresServer;
use serde_json::{Value, json};

use crate::crash::scripts_in;
use crate::home::{Answer, Api, Home, Key, Server, configured_key, eventually, ids};
use crate::playbooks::{confirm, decide, path_of, settled};
use crate::quickstart::{Compared, Simulator, register_shipped};
use account::{AccountGateway, KillMoment, open_group};

const REGION: &str = "us-east-1";
const NIGHTLY: &str = "security.nightly_exposure";
const PROPOSAL: &str = "security.propose_remediation";
const CHANNEL_SECRET: &str = "whsec_plJ3nmyCDGBKInavdOK15jsl3jVB2m4jVB2m4jVB2m4=";

/// Security groups with rules that the playbook can revoke, and those that the approver excludes.
const LISTED: usize = 12;
const EXCLUDED: [usize; 2] = [1, 8];

const KEYS: [Key; 4] = [
    ("ann", "acme", "ann", "operator"),
    ("bob", "acme", "bob", "operator"),
    ("cid", "acme", "cid", "operator"),
    ("root", "acme", "root", "admin"),
];

/// The account, the channel, and the servers that use them.
struct Night {
    simulator: Simulator,
    account: AccountGateway,
    channel: HttpStub,
}

/// The schedule of Ann, once, two seconds from now.
fn nightly() -> Value {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let soon = i64::try_from(now.as_micros()).unwrap() + 2_000_000;
    let soon = Timestamp::from_micros(soon).unwrap();
    json!({"schedule": {
        "schedule_id": NIGHTLY, "domain": "security", "title": "Nightly exposure check",
        "when": {"at": soon}, "run": {"skill": "security.detect_public_ingress"},
        "parameters": {"region": REGION, "profile": ""},
    }})
}

/// The trigger of Ann: new open security groups propose the shipped playbook.
fn proposal() -> Value {
    json!({"schedule": {
        "schedule_id": PROPOSAL, "domain": "security", "title": "Propose the remediation",
        "when": {"finding": {"schedule": NIGHTLY, "rule": "open_security_group_ingress"}},
        "run": {"playbook": "security.remediate_public_exposure"}, "parameters": {"profile": ""},
    }})
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value:#}"))
}

fn rules(call: &Value) -> &Vec<Value> {
    call["parameters"]["rules"].as_array().unwrap()
}

fn group(call: &Value) -> &str {
    text(&rules(call)[0]["group_id"])
}

/// The security groups and address ranges of findings.
fn open_rules(findings: impl Iterator<Item = [String; 7]>) -> BTreeSet<[String; 2]> {
    let groups = findings.filter(|finding| finding[1] == "aws.ec2.security_group");
    groups
        .map(|[_, _, group, _, _, range, _]| [group, range])
        .collect()
}

impl Night {
    fn start() -> Self {
        let simulator = Simulator::start();
        open_group(simulator.endpoint());
        let account = AccountGateway::before(simulator.endpoint());
        let channel = HttpStub::start(|_, _| Reply::empty(204)).unwrap();
        Self {
            simulator,
            account,
            channel,
        }
    }

    /// A home with the channel, whose tools reach the account through the gateway.
    fn home(&self) -> Home {
        let keys: String = KEYS.iter().map(configured_key).collect();
        let channel = format!(
            "[notifications.channels.ops]\nkind = \"webhook\"\nurl = \"{}\"\n\
             secrets = [{{ variable = \"CHANNEL_SECRET\" }}]\negress = [\"{}\"]\n\
             [[notifications.rules]]\ntopics = [\"finding.new\", \"approval.requested\"]\nchannels = [\"ops\"]\n",
            self.channel.url("/charter"),
            self.channel.address()
        );
        let home = Home::new().configured(&(keys + &channel));
        self.simulator
            .granted_to(home)
            .with("AWS_ENDPOINT_URL", &self.account.url())
            .with("CHARTER_TOOLS__EGRESS", &self.account.address())
            .with("CHARTER_API_KEY", "root")
            .with("CHANNEL_SECRET", CHANNEL_SECRET)
    }

    /// The findings at the account now, by the independent script.
    fn findings(&self) -> Compared {
        self.simulator.expected(REGION)
    }

    /// The messages of a topic in the channel.
    fn messages(&self, topic: &str) -> Vec<Value> {
        let seen = self.channel.seen().into_iter().map(|seen| seen.body);
        seen.filter(|body| body["type"] == topic).collect()
    }

    /// The schedule fires once. Its findings are new, are in the channel, and propose the playbook. Returns the run.
    fn propose(&self, ann: &Api, before: &Compared) -> Value {
        ann.post("/v1/schedules", &proposal()).expect(201);
        ann.post("/v1/schedules", &nightly()).expect(201);
        let occurrences = |schedule: &str| {
            let path = format!("/v1/schedules/{schedule}/occurrences");
            ann.get(&path).expect(200)["entries"].take()
        };
        let run = eventually("a proposed run", || {
            let proposed = occurrences(PROPOSAL);
            proposed[0]["work"]["run"].as_str().map(str::to_owned)
        });
        let path = format!("/v1/schedules/{NIGHTLY}/occurrences/latest");
        let report = eventually("the report of the night", || {
            let report = ann.get(&path).expect(200)["report"].take();
            (!report.is_null()).then_some(report)
        });
        assert_eq!(report["new"], before.len(), "{report:#}");
        for schedule in [NIGHTLY, PROPOSAL] {
            let fired = occurrences(schedule);
            assert_eq!(fired.as_array().map(Vec::len), Some(1), "{fired:#}");
        }
        let message = eventually("the findings in the channel", || {
            self.messages("finding.new").into_iter().next()
        });
        let data = &message["data"];
        assert_eq!(
            (&data["count"], &data["findings"][0]["schedule_id"]),
            (&json!(before.len()), &json!(NIGHTLY)),
            "{message:#}"
        );
        settled(ann, &json!({"run_id": run}), "awaiting_confirmation")
    }

    /// Ann confirms the proposed plan; returns its one approval, of which the channel has a message.
    fn request_decision(&self, ann: &Api, run: &Value) -> Value {
        confirm(ann, run).expect(200);
        let mut waiting = settled(ann, run, "awaiting_approval");
        assert_eq!(waiting["approvals"].as_array().map(Vec::len), Some(1));
        let approval = waiting["approvals"][0].take();
        let id = text(&approval["approval_id"]);
        eventually("the approval in the channel", || {
            let mut messages = self.messages("approval.requested").into_iter();
            messages.find(|message| message.to_string().contains(id))
        });
        let listed = approval["list"].as_array().unwrap();
        let groups: BTreeSet<&str> = listed.iter().map(group).collect();
        assert_eq!((listed.len(), groups.len()), (LISTED, LISTED));
        approval
    }

    /// Bob approves the list without two groups, and the server that makes the calls is killed at one in the middle.
    /// The repeat of that call is decided alone. Returns the ended run, and the approved calls.
    fn lock_groups(
        &self,
        (homes, servers): (&[Home], &mut Vec<Server>),
        run: &Value,
        moment: KillMoment,
    ) -> (Value, Vec<Value>) {
        let bob = servers[0].key("bob");
        let approval = self.request_decision(&servers[0].key("ann"), run);
        let listed = approval["list"].as_array().unwrap();
        let excluded = EXCLUDED.map(|at| &listed[at]["step"]);
        let remaining = listed
            .iter()
            .filter(|call| !excluded.contains(&&call["step"]));
        let remaining: Vec<Value> = remaining.cloned().collect();
        let mut middle = remaining[3..7].iter();
        let middle = middle.find(|call| rules(call).len() == 1).unwrap();
        let held = self.account.hold(group(middle), moment);
        let path = format!("/v1/approvals/{}/approve", text(&approval["approval_id"]));
        let choice = json!({"digest": approval["digest"], "exclude": excluded});
        bob.post(&path, &choice).expect(200);

        held.arrives();
        let works = |home: &Home| scripts_in(home) > 0;
        let at = homes.iter().position(works).unwrap();
        servers.remove(at).kill();
        eventually("the end of the script", || {
            (!works(&homes[at])).then_some(())
        });
        drop(held);
        if servers.is_empty() {
            servers.push(homes[at].serve());
        }

        let bob = servers[0].key("bob");
        let doubted = settled(&bob, run, "awaiting_approval")["approvals"][0].take();
        assert_eq!(doubted["call"], *middle, "{doubted:#}");
        let kinds = ids(&doubted["rules"], "kind");
        assert!(kinds.contains(&"interrupted".to_owned()), "{doubted:#}");
        match moment {
            KillMoment::BeforeChange => decide(&bob, &doubted, "approve").expect(200),
            // A reporter counts as a requester of the rollback, which Bob approves.
            KillMoment::AfterChange => report(&servers[0].key("root"), &doubted).expect(200),
        };
        (settled(&bob, run, "completed"), remaining)
    }

    /// The account has exactly the approved changes, each made by one call, and each with its evidence.
    fn check_exact(&self, api: &Api, run: &Value, calls: &[Value], action: &str) {
        let changes = self.account.changes(action);
        let once: BTreeSet<&String> = changes.iter().collect();
        assert_eq!(once.len(), changes.len(), "repeated: {changes:#?}");
        let approved = calls.iter().map(|call| rules(call).len());
        assert_eq!(changes.len(), approved.sum::<usize>(), "{changes:#?}");
        for call in calls {
            let group = format!("GroupId={}", group(call));
            let is_of_group = |change: &&String| change.split('&').any(|field| field == group);
            let made = changes.iter().filter(is_of_group);
            assert_eq!(made.count(), rules(call).len(), "{changes:#?}");
        }
        let evidence = ids(&run["evidence"], "evidence_id").into_iter();
        let proved = evidence.map(|id| {
            let record = api.get(&format!("/v1/evidence/{id}")).expect(200);
            text(&record["payload"]["run"]["step"]).to_owned()
        });
        let proved: BTreeSet<String> = proved.collect();
        for call in calls {
            assert!(proved.contains(text(&call["step"])), "{proved:?}");
        }
    }

    /// Cid undoes the whole run, with one decision of Bob's.
    fn undo(&self, server: &Server, run: &Value) {
        let (bob, cid) = (server.key("bob"), server.key("cid"));
        let started = cid.post(&path_of(run, "/rollback"), &json!({})).expect(201);
        let waiting = settled(&bob, &started, "awaiting_approval");
        let [approval] = &waiting["approvals"].as_array().unwrap()[..] else {
            panic!("{waiting:#}");
        };
        let calls = approval["list"].as_array().unwrap();
        assert_eq!(calls.len(), LISTED - EXCLUDED.len(), "{approval:#}");
        decide(&bob, approval, "approve").expect(200);
        let undone = settled(&bob, &started, "completed");
        self.check_exact(&bob, &undone, calls, "AuthorizeSecurityGroupIngress");
    }
}

/// An admin looked at the account, and reports what the killed call has done.
fn report(root: &Api, doubted: &Value) -> Answer {
    let revoked = &doubted["call"]["parameters"]["rules"];
    let output = json!({
        "region": REGION, "account_id": "123456789012", "dry_run": false, "planned": revoked,
        "revoked": revoked, "already_absent": [], "security_group_state_before": {},
        "security_group_state_after": {}, "api_calls_made": [],
    });
    let path = format!("/v1/approvals/{}/report", text(&doubted["approval_id"]));
    let report = json!({"digest": doubted["digest"], "reason": "seen", "output": output});
    root.post(&path, &report)
}

/// Plays the night on servers of these homes. The server that makes the calls is killed; another one, or the next of
/// its home, continues.
fn play(night: &Night, homes: &[Home], moment: KillMoment) {
    let mut servers = Vec::new();
    for home in homes {
        servers.push(home.serve());
    }
    register_shipped(&homes[0], "aws-security");
    for server in &servers {
        let path = "/v1/resolve/playbook/security.remediate_public_exposure";
        eventually("the playbook at each replica", || {
            (server.key("ann").get(path).status == 200).then_some(())
        });
    }
    let before = night.findings();
    let run = night.propose(&servers[0].key("ann"), &before);
    assert_eq!(night.findings(), before);

    let (done, locked) = night.lock_groups((homes, &mut servers), &run, moment);
    assert_eq!(locked.len(), LISTED - EXCLUDED.len());
    let bob = servers[0].key("bob");
    night.check_exact(&bob, &done, &locked, "RevokeSecurityGroupIngress");
    let after = night.findings();
    assert!(after.is_subset(&before));
    let approved = locked.iter().flat_map(rules);
    let approved: BTreeSet<[String; 2]> = approved
        .map(|rule| [&rule["group_id"], &rule["cidr"]].map(|field| text(field).to_owned()))
        .collect();
    assert_eq!(open_rules(before.difference(&after).cloned()), approved);

    night.undo(&servers[0], &done);
    assert_eq!(night.findings(), before);
    assert_eq!(night.messages("finding.new").len(), 1);
}

/// The process dies before its call reaches the account: the repeat is approved, and made once.
#[test]
fn b000_18_a_night_is_exact_after_a_kill_on_sqlite() {
    let night = Night::start();
    let homes = [night.home().embedded()];
    play(&night, &homes, KillMoment::BeforeChange);
}

/// One of two replicas dies after its call changed the account: the change is reported, and not repeated.
#[test]
fn b000_18_a_night_is_exact_after_a_kill_of_one_of_two_replicas() {
    let night = Night::start();
    let database = Arc::new(PostgresServer::shared().database());
    let homes = [(); 2].map(|()| {
        let home = night.home().on(&database);
        home.with("CHARTER_REPLICA__LEASE_MS", "1000")
    });
    play(&night, &homes, KillMoment::AfterChange);
}
