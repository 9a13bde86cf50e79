//! The brief on the leads of a CRM.

use serde_json::{Value, json};

use super::{
    KEYS, Person, StandIn, claim, difference, goes_elsewhere, is_whole, proposal, search,
    searching, summary,
};
use crate::home::{Home, Server, project};
use crate::packages::Package;

/// The package of leads over a CRM, whose change does not read the lead again first.
fn without_a_second_look() -> Package {
    let mut package = Package::new("crm-leads", "0.3.0", "global");
    let root = project().join("packages/crm-leads");
    for folder in std::fs::read_dir(&root).unwrap() {
        let folder = folder.unwrap().path();
        let files: Vec<_> = match folder.is_dir() {
            true => std::fs::read_dir(&folder)
                .unwrap()
                .map(|file| file.unwrap().path())
                .collect(),
            false => vec![folder],
        };
        for file in files {
            let path = file
                .strip_prefix(&root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            package = package.with(&path, &std::fs::read_to_string(&file).unwrap());
        }
    }
    let look =
        "    target: { tool: crm.get_lead, parameters: { lead_id: \"${target_entity_id}\" } }\n";
    package.edit("missions/sales.lead_intelligence_brief.yaml", look, "")
}

struct LeadSetup {
    crm: StandIn,
    _search: StandIn,
    _home: Home,
    server: Server,
}

impl LeadSetup {
    fn open() -> Self {
        let home = Home::with_keys(&KEYS);
        let database = home.path("crm.db");
        let crm = StandIn::start("crm.py", &["--database", database.to_str().unwrap()]);
        let search = search();
        let home = searching(home, &search)
            .with("CRM_PORT", &crm.port)
            .with("CHARTER_TOOLS__ENVIRONMENT", "CRM_PORT")
            .with("CHARTER_TOOLS__EGRESS", &format!("127.0.0.1:{}", crm.port));
        let server = home.serve();
        Self {
            crm,
            _search: search,
            server,
            _home: home,
        }
    }

    fn lead(&self, id: &str) -> Value {
        self.crm.send(&format!("GET /leads/{id}"), "", "")
    }

    /// Changes a lead in the CRM, outside of Charter.
    fn moved(&self, id: &str, stage: &str) {
        let version = self.lead(id)["version"].as_u64().unwrap();
        let body = json!({"stage": stage}).to_string();
        let headers = format!("If-Match: \"{version}\"\r\n");
        let moved = self
            .crm
            .send(&format!("PATCH /leads/{id}"), &headers, &body);
        assert_eq!(moved["stage"], stage, "{moved}");
    }
}

const LEADS: &str = "sales.lead_intelligence_brief";
const LEADS_GOAL: &str = "Which waterfront leads deserve attention, and what is to be done next?";

/// B002-6, B002-10: the leads in order, each with its support; the differences of sources; and the proposals from the
/// leads' own words.
#[track_caller]
fn says_who_deserves_attention(ann: &Person, brief: &Value) {
    is_whole(ann, brief);
    let lines: Vec<&str> = summary(brief).lines().collect();
    let named: Vec<&str> = lines[2..8]
        .iter()
        .map(|line| line.split(',').next().unwrap())
        .collect();
    assert_eq!(
        (lines[0], named),
        (
            "12 findings on 6 leads: 3 high, 3 medium.",
            vec![
                "1. Marina Holdings (lead_101)",
                "2. Al Noor Family Office (lead_102)",
                "3. Creek Capital (lead_105)",
                "4. Palm Estates (lead_103)",
                "5. Henrik Lund (lead_104)",
                "6. Ivy Chen (lead_106)",
            ]
        )
    );
    assert_eq!(
        brief["output"]["contradictions"],
        json!([
            "Palm Estates (lead_103): the budget in aed is 18000000 by sales.rank_open_leads, and 12000000 by sales.read_conversations."
        ])
    );
    assert_eq!(
        claim(brief, "lead_101").unwrap()["support_refs"],
        json!([
            "wrk.leads",
            "call.leads.1.1",
            "wrk.conversations",
            "call.conversations.1.1"
        ])
    );
    let targets: Vec<Value> = brief["proposals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|shown| {
            let of = &shown["proposal"];
            json!([
                of["target_entity_id"],
                of["payload"]["kanban_status"],
                of["payload"]["version"]
            ])
        })
        .collect();
    assert_eq!(
        targets,
        [
            json!(["lead_101", "Negotiation", 1]),
            json!(["lead_106", "Lost", 1])
        ]
    );
}

/// B002-13: nothing is written before another person approves; then exactly the proposal is.
#[track_caller]
fn is_moved_once_somebody_agrees(desk: &LeadSetup, ann: &Person, bob: &Person, brief: &Value) {
    let own = ann.0.run(&["mission", "approve", "brief-1", "wb.1"]);
    assert!(own.err.contains("error[permission_denied]"), "{own:?}");
    assert_eq!(desk.lead("lead_101")["stage"], "Qualified");
    let (shown, seen) = bob.approve("brief-1", "wb.1");
    assert!(
        seen.contains("crm.update_lead_stage") && seen.contains("want to sign"),
        "{seen}"
    );
    assert_eq!(proposal(&shown, "wb.1")["state"], "executed", "{shown:#}");
    let lead = desk.lead("lead_101");
    let reason = &proposal(brief, "wb.1")["proposal"]["payload"]["reason"];
    assert_eq!(
        json!([lead["stage"], lead["version"], &lead["note"]]),
        json!(["Negotiation", 2, reason])
    );
}

/// B002-6, B002-10, B002-12, B002-13, B002-14: a brief on leads names them in order with the reason, shows the
/// differences between the CRM and a lead's own words, changes a lead after another person's approval, and leaves alone
/// one that changed meanwhile.
#[test]
fn b002_13_leads_are_briefed_on_and_moved() {
    let desk = LeadSetup::open();
    let [root, ann, bob] = ["root", "ann", "bob"].map(|key| Person::of(&desk.server, key));
    let folder = project().join("packages/crm-leads");
    let registered = root
        .0
        .run(&["package", "register", folder.to_str().unwrap()]);
    assert_eq!(registered.code, Some(0), "{registered:?}");

    let brief = ann.brief(LEADS, LEADS_GOAL, "brief-1");
    says_who_deserves_attention(&ann, &brief);
    is_moved_once_somebody_agrees(&desk, &ann, &bob, &brief);

    // The other lead changes meanwhile.
    desk.moved("lead_106", "Qualified");
    let (done, _) = bob.approve("brief-1", "wb.2");
    let conflict = proposal(&done, "wb.2");
    assert_eq!(
        json!([
            done["state"],
            conflict["state"],
            desk.lead("lead_106")["stage"]
        ]),
        json!(["completed", "conflict", "Qualified"]),
        "{conflict:#}"
    );
    goes_elsewhere(&ann, "brief-1");

    // The next brief sees the lead's new stage, and proposes nothing for it.
    let next = ann.brief(LEADS, LEADS_GOAL, "brief-2");
    let said = claim(&next, "lead_101").unwrap()["claim"].as_str().unwrap();
    assert!(
        said.contains("At Negotiation") && !said.contains("the CRM says"),
        "{said}"
    );
    let targets = next["proposals"].as_array().unwrap().iter();
    let targets: Vec<&Value> = targets
        .map(|of| &of["proposal"]["target_entity_id"])
        .collect();
    assert_eq!(targets, ["lead_106"]);
    let differs = difference(&ann, "brief-1", "brief-2");
    assert!(differs.contains("writeback_proposal"), "{differs}");
}

/// B002-13: without a second read of the target, the CRM itself refuses (409) a change for an old version, which is a
/// conflict and not a failure.
#[test]
fn b002_13_a_lead_that_changed_meanwhile_is_a_conflict_by_the_crms_word() {
    let desk = LeadSetup::open();
    let [ann, bob] = ["ann", "bob"].map(|key| Person::of(&desk.server, key));
    desk.server.key("root").register(&without_a_second_look());
    ann.brief(LEADS, LEADS_GOAL, "brief-1");
    desk.moved("lead_101", "Contacted");
    let (shown, _) = bob.approve("brief-1", "wb.1");
    let conflict = proposal(&shown, "wb.1");
    let reason = conflict["reason"].as_str().unwrap_or_default();
    assert_eq!(conflict["state"], "conflict", "{conflict:#}");
    assert!(
        reason.contains("lead_101 is at version 2, not 1"),
        "{reason}"
    );
    assert_eq!(desk.lead("lead_101")["stage"], "Contacted");
    let done = bob.says(&["reject", "brief-1", "--all"]);
    assert_eq!(done["state"], "completed");
    assert_eq!(ann.says(&["replay", "brief-1"])["identical"], true);
}
