//! Schedules and triggers on a server: what they find, compared with the occurrence before, what findings and webhooks
//! propose, and the end of a user's key.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use charter_contract::bounds::{TRIGGER_BACKLOG, TRIGGER_PROPOSALS, WEBHOOK_EVENT_BYTES};
use serde_json::{Value, json};

use crate::home::{Answer, Api, Key, eventually};
use crate::notifications::{hmac, now};
use crate::packages::{Package, SCRIPT_FILE, SKILL, SKILL_FILE, backups};
use crate::playbooks::{PLAYBOOK, PLAYBOOK_FILE, purge, purge_of_class, triggered_by_findings};
use crate::service::Service;
use crate::shared::Tenants;

const KEYS: [Key; 3] = [
    ("ann", "acme", "ann", "operator"),
    ("bob", "acme", "bob", "user"),
    ("ada", "acme", "ada", "admin"),
];

/// The backups that the tool lists.
const BACKUPS: &str = r#"[{"id": "b-1", "age_days": 40}, {"id": "b-2", "age_days": 3}]"#;

/// The filter that takes the playbook's parameters out of findings.
const FROM_FINDINGS: &str = "'{vault: .[0].resource_id}'";

/// A trigger by webhooks.
const FULL_VAULTS: &str = "full_vaults";

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

/// The package with other backups and another filter, with the nightly check and the trigger by its findings.
fn proposing(service: &Service, backups: &str, filter: &str) -> Package {
    triggered_by_findings(purge(service))
        .edit(SCRIPT_FILE, BACKUPS, backups)
        .edit(
            SKILL_FILE,
            "age_days: .age_days}",
            "age_days: .age_days, region: .region}",
        )
        .edit(PLAYBOOK_FILE, FROM_FINDINGS, filter)
        .with("schedules/nightly.yaml", &nightly())
        .with("schedules/propose.yaml", &trigger())
}

/// The latest occurrence of a trigger, once it has started several runs.
fn proposals(api: &Api, id: &str) -> Value {
    eventually("several proposals", || {
        let path = format!("/v1/schedules/{id}/occurrences");
        let found = api.get(&path).expect(200);
        let latest = &found["entries"][0];
        latest["work"]["runs"].is_array().then(|| latest.clone())
    })
}

/// The runs that an occurrence proposes.
fn runs_of(api: &Api, occurrence: &Value) -> Vec<Value> {
    let runs = occurrence["work"]["runs"].as_array().unwrap().iter();
    let shown = runs.map(|run| {
        let path = format!("/v1/runs/{}", run.as_str().unwrap());
        api.get(&path).expect(200)
    });
    shown.collect()
}

/// A filter that emits an object for each region proposes the playbook for each.
#[test]
fn findings_in_two_regions_propose_a_playbook_for_each() {
    let service = Service::start();
    let server = Tenants::with_keys(&KEYS);
    let ann = server.key("ann");
    let backups = r#"[{"id": "b-1", "age_days": 40, "region": "eu-west-1"},
    {"id": "b-2", "age_days": 50, "region": "us-east-1"}]"#;
    let filter = "'group_by(.fields.region)[] | {vault: .[0].fields.region}'";
    ann.register(&proposing(&service, backups, filter));
    enable(&ann, "reliability.nightly");
    enable(&ann, "reliability.propose");
    ended(&ann, "reliability.nightly");

    let occurrence = proposals(&ann, "reliability.propose");
    assert_eq!(occurrence.get("note"), None, "{occurrence:#}");
    let runs = runs_of(&ann, &occurrence);
    let shown: Vec<_> = runs
        .iter()
        .map(|run| (&run["status"], &run["parameters"]["vault"]))
        .collect();
    let waits = json!("awaiting_confirmation");
    let [eu, us] = ["eu-west-1", "us-east-1"].map(|region| json!(region));
    assert_eq!(shown, [(&waits, &eu), (&waits, &us)]);
    assert!(!service.was_called());
}

/// The record of the occurrence has the number of the proposals that were left out, also when the others have ended.
#[test]
fn an_event_starts_a_bounded_number_of_proposals() {
    let service = Service::start();
    let server = Tenants::with_keys(&KEYS);
    let ann = server.key("ann");
    let most = TRIGGER_PROPOSALS;
    let backups = format!(
        r#"[{{"id": f"b-{{n}}", "age_days": 40}} for n in range({})]"#,
        most + 2
    );
    let filter = "'.[] | {vault: .resource_id}'";
    ann.register(&proposing(&service, &backups, filter));
    enable(&ann, "reliability.nightly");
    enable(&ann, "reliability.propose");
    ended(&ann, "reliability.nightly");

    let occurrence = proposals(&ann, "reliability.propose");
    let runs = runs_of(&ann, &occurrence);
    assert_eq!(runs.len(), most);
    let left_out = "2 more proposals were left out";
    let note = occurrence["note"].as_str().unwrap();
    assert!(note.starts_with(left_out), "{note}");
    for run in &runs {
        let path = format!("/v1/runs/{}/abort", run["run_id"].as_str().unwrap());
        ann.post(&path, &json!({"reason": "no"})).expect(200);
    }
    let ended = eventually("the end of the proposals", || {
        let path = "/v1/schedules/reliability.propose/occurrences";
        let found = ann.get(path).expect(200);
        let latest = &found["entries"][0];
        (latest["state"] != "started").then(|| latest.clone())
    });
    let note = ended["note"].as_str().unwrap();
    assert!(
        note.starts_with(&format!("{most} aborted; {left_out}")),
        "{note}"
    );
}

/// A sender of webhooks to a trigger.
struct WebhookSender {
    /// Without a key: the signature is the credential.
    api: Api,
    path: String,
    secret: Vec<u8>,
}

impl WebhookSender {
    /// Enables the trigger as a caller. It proposes the playbook for the vault that an event names.
    fn enabled_by(api: &Api) -> Self {
        let order = json!({"schedule": {
            "schedule_id": FULL_VAULTS, "title": "Purge full vaults", "overlap": "queue",
            "when": {"webhook": {"types": ["vault.full"]}}, "run": {"playbook": PLAYBOOK},
            "parameters_from": {"vault": "/data/vault"},
        }});
        let made = api.post("/v1/schedules", &order).expect(201);
        let secret = made["secret"].as_str().unwrap();
        let secret = secret.strip_prefix("whsec_").unwrap();
        let mut unauthenticated = api.clone();
        unauthenticated.key = None;
        Self {
            api: unauthenticated,
            path: made["hook_path"].as_str().unwrap().to_owned(),
            secret: STANDARD.decode(secret).unwrap(),
        }
    }

    fn send(&self, id: &str, body: &str) -> Answer {
        let timestamp = now();
        let signed = hmac(&self.secret, &format!("{id}.{timestamp}.{body}"));
        self.send_signed((id, &timestamp), &signed, body)
    }

    fn send_signed(&self, (id, timestamp): (&str, &str), signed: &[u8], body: &str) -> Answer {
        let signature = format!("v1,{}", STANDARD.encode(signed));
        let headers = [
            ("content-type", "application/json"),
            ("webhook-id", id),
            ("webhook-timestamp", timestamp),
            ("webhook-signature", signature.as_str()),
        ];
        let body = body.as_bytes().to_vec();
        self.api.call("POST", &self.path, &headers, body)
    }

    /// Sends an event about the main vault, which is received.
    fn receive(&self, id: &str) -> Value {
        self.send(id, &full_vault()).expect(202)["status"].clone()
    }
}

fn full_vault() -> String {
    json!({"type": "vault.full", "data": {"vault": "main"}}).to_string()
}

/// A playbook that a caller could start without a confirmation waits for one.
#[test]
fn a_webhook_only_proposes_a_playbook() {
    let service = Service::start();
    let server = Tenants::with_keys(&KEYS);
    let ann = server.key("ann");
    ann.register(&purge_of_class(&service, "automated"));
    let sender = WebhookSender::enabled_by(&ann);
    assert_eq!(sender.receive("msg_1"), "accepted");
    let run = eventually("a proposed run", || {
        let path = format!("/v1/schedules/{FULL_VAULTS}/occurrences");
        let found = ann.get(&path).expect(200);
        let run = found["entries"][0]["work"]["run"].as_str();
        run.map(str::to_owned)
    });
    let run = ann.get(&format!("/v1/runs/{run}")).expect(200);
    assert_eq!(run["status"], "awaiting_confirmation");
    assert_eq!(run["parameters"]["vault"], "main");
    assert!(!service.was_called());
}

/// Each refusal has its reason, and starts nothing.
#[test]
fn a_webhook_is_received_once_and_refused_with_its_reason() {
    let service = Service::start();
    let server = Tenants::with_keys(&KEYS);
    let ann = server.key("ann");
    ann.register(&purge(&service));
    let sender = WebhookSender::enabled_by(&ann);
    assert_eq!(sender.receive("msg_1"), "accepted");
    assert_eq!(sender.receive("msg_1"), "repeated");
    let other = json!({"type": "vault.empty"}).to_string();
    let ignored = sender.send("msg_2", &other).expect(202);
    assert_eq!(ignored["status"], "ignored");

    let body = full_vault();
    let timestamp = now();
    let signed = hmac(b"another secret", &format!("msg_3.{timestamp}.{body}"));
    let forged = sender.send_signed(("msg_3", &timestamp), &signed, &body);
    let message = forged.fails(401, "unauthenticated");
    let elsewhere = WebhookSender {
        api: sender.api.clone(),
        path: "/v1/hooks/hook-01930000-0000-7000-8000-000000000001".to_owned(),
        secret: sender.secret.clone(),
    };
    // The answer does not reveal which addresses exist.
    let unknown = elsewhere.send("msg_3", &body).fails(401, "unauthenticated");
    assert_eq!(unknown, message);
    sender.send("msg_3", "[]").fails(400, "invalid_request");
    let large = " ".repeat(WEBHOOK_EVENT_BYTES + 1);
    sender.send("msg_3", &large).fails(413, "too_large");
    let pause = format!("/v1/schedules/{FULL_VAULTS}/pause");
    ann.call("POST", &pause, &[], Vec::new()).expect(200);
    let paused = sender.send("msg_3", &body).fails(409, "illegal_transition");
    assert!(paused.contains("is paused"), "{paused}");

    let path = format!("/v1/schedules/{FULL_VAULTS}/occurrences");
    let found = ann.get(&path).expect(200);
    assert_eq!(found["entries"].as_array().unwrap().len(), 1, "{found:#}");
}

/// The proposal of the first event waits for a person, and the other events wait for it.
#[test]
fn a_trigger_with_a_full_backlog_refuses_a_webhook() {
    let service = Service::start();
    let server = Tenants::with_keys(&KEYS);
    let ann = server.key("ann");
    ann.register(&purge(&service));
    let sender = WebhookSender::enabled_by(&ann);
    for n in 0..TRIGGER_BACKLOG {
        assert_eq!(sender.receive(&format!("msg_{n}")), "accepted");
    }
    let refused = sender.send("msg_last", &full_vault());
    let refused = refused.fails(429, "rate_limited");
    assert!(refused.contains("unfinished occurrences"), "{refused}");
    assert_eq!(sender.receive("msg_0"), "repeated");
}

/// The record of the occurrence has the reason, and its work does not start.
#[test]
fn an_occurrence_fails_after_the_key_of_its_user_was_revoked() {
    let server = Tenants::with_keys(&KEYS);
    let [ann, ada] = ["ann", "ada"].map(|key| server.key(key));
    ann.register(&backups().with("schedules/nightly.yaml", &nightly()));
    enable(&ann, "reliability.nightly");
    let first = ended(&ada, "reliability.nightly");
    assert_eq!(first["state"], "ended", "{first:#}");
    let keys = ada.get("/v1/keys").expect(200);
    let mut keys = keys["entries"].as_array().unwrap().iter();
    let key = keys.find(|key| key["user"] == "ann").unwrap();
    let key = key["key_id"].as_str().unwrap();
    let path = format!("/v1/keys/{key}/revoke");
    ada.post(&path, &json!({})).expect(200);

    let failed = ended(&ada, "reliability.nightly");
    assert_eq!(failed["state"], "failed", "{failed:#}");
    assert_eq!(failed.get("work"), None);
    let note = failed["note"].as_str().unwrap();
    let reason = format!("the key `{key}` with which `ann` enabled the schedule has ended");
    assert!(note.starts_with(&reason), "{note}");
}
