//! Schedules and triggers on a server: what they find, compared with the occurrence before, and what findings propose.

use serde_json::{Value, json};

use crate::home::{Api, Key, eventually};
use crate::packages::SKILL;
use crate::playbooks::{PLAYBOOK, purge, triggered_by_findings};
use crate::service::Service;
use crate::shared::Tenants;

const KEYS: [Key; 2] = [
    ("ann", "acme", "ann", "operator"),
    ("bob", "acme", "bob", "user"),
];

/// A schedule of the package: the check of the backups.
const NIGHTLY: &str = "schedule_id: reliability.nightly\ndomain: reliability\ntitle: Nightly backups\n\
                       when: {cron: {expression: \"0 2 * * *\", time_zone: Europe/Paris}}\n";

fn nightly() -> String {
    format!("{NIGHTLY}run: {{skill: {SKILL}}}\nparameters: {{vault: main}}\n")
}

/// A trigger of the package: new findings propose the playbook.
fn trigger() -> String {
    format!(
        "schedule_id: reliability.propose\ndomain: reliability\ntitle: Propose a purge\n\
         when: {{finding: {{min_severity: high}}}}\nrun: {{playbook: {PLAYBOOK}}}\noverlap: queue\n"
    )
}

fn enable(api: &Api, id: &str) -> Value {
    let order = json!({"schedule_id": id});
    api.post("/v1/schedules", &order).expect(201)
}

/// Starts an occurrence, and waits for its end.
fn ended(api: &Api, id: &str) -> Value {
    let path = format!("/v1/schedules/{id}/start");
    let started = api.call("POST", &path, &[], Vec::new()).expect(202);
    let key = started["occurrence"].as_str().unwrap().replace('/', "%2F");
    let path = format!("/v1/schedules/{id}/occurrences/{key}");
    eventually("the end of the occurrence", || {
        let found = api.get(&path).expect(200);
        let is_open = ["waiting", "started"].contains(&found["state"].as_str().unwrap());
        (!is_open).then_some(found)
    })
}

fn numbers(occurrence: &Value) -> [&Value; 3] {
    ["new", "unchanged", "resolved"].map(|count| &occurrence["report"][count])
}

/// Findings are new once. New ones propose the playbook, whose run waits for a person; unchanged ones propose nothing.
#[test]
fn findings_are_new_once_and_propose_a_playbook() {
    let service = Service::start();
    let server = Tenants::with_keys(&KEYS);
    let [ann, bob] = ["ann", "bob"].map(|key| server.key(key));
    let package = triggered_by_findings(purge(&service))
        .with("schedules/nightly.yaml", &nightly())
        .with("schedules/propose.yaml", &trigger());
    ann.register(&package);
    enable(&ann, "reliability.nightly");
    enable(&ann, "reliability.propose");

    let first = ended(&ann, "reliability.nightly");
    assert_eq!(first["state"], "ended", "{first:#}");
    assert!(first["report"]["new"].as_u64().unwrap() > 0, "{first:#}");
    let item = &first["report"]["items"][0];
    assert!(item["report_item_id"].as_str().unwrap().starts_with("ri_"));
    let evidence = item["evidence_ids"][0].as_str().unwrap();
    let record = ann.get(&format!("/v1/evidence/{evidence}")).expect(200);
    let attached = record["attached_to"].as_array().unwrap();
    let attachment = json!({"report_item_id": item["report_item_id"]});
    assert!(attached.contains(&attachment), "{record:#}");

    let run = eventually("a proposed run", || {
        let path = "/v1/schedules/reliability.propose/occurrences";
        let found = ann.get(path).expect(200);
        found["entries"][0]["work"]["run"]
            .as_str()
            .map(str::to_owned)
    });
    let run = ann.get(&format!("/v1/runs/{run}")).expect(200);
    assert_eq!(run["status"], "awaiting_confirmation");
    assert!(!service.was_called());

    let second = ended(&ann, "reliability.nightly");
    let [new, unchanged, resolved] = numbers(&second);
    assert_eq!([new, resolved], [0, 0]);
    assert_eq!(unchanged, numbers(&first)[0]);
    let path = "/v1/schedules/reliability.propose/occurrences";
    let proposed = ann.get(path).expect(200);
    assert_eq!(proposed["entries"].as_array().unwrap().len(), 1);

    bob.get("/v1/schedules/reliability.nightly").expect(404);
}
