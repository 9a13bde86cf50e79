//! A mission's proposals to write back, and their outcomes (B002-13).

use serde_json::{Value, json};

use super::{KIND_FILE, POLICY_FILE, keyed, order, path_of, review, shared, standing};
use crate::home::{Api, Home};
use crate::playbooks::{KEYS, decide};
use crate::service::Service;

/// The mission that waits for a person, and its pending approval.
pub(super) fn waiting(api: &Api, id: &str) -> (Value, Value) {
    api.post("/v1/missions", &order(id)).expect(201);
    let mission = standing(api, id, "awaiting_approval");
    let waits = crate::home::eventually("an approval", || {
        let shown = api.get(&path_of(id, "")).expect(200);
        shown["proposals"][0]["approval_id"]
            .as_str()
            .map(str::to_owned)
    });
    let approval = api.get(&format!("/v1/approvals/{waits}")).expect(200);
    (mission, approval)
}

pub(super) fn proposal(api: &Api, id: &str) -> Value {
    api.get(&path_of(id, "")).expect(200)["proposals"][0].clone()
}

/// B002-13: nothing is written before a person other than the proposer, of the same tenant, approved exactly that call;
/// it is called once; a second decision is a conflict.
#[test]
fn b002_13_a_proposal_is_carried_out_once_it_is_approved() {
    let (_home, server, service) = keyed(review);
    let [uma, ann, bob, eve] = ["uma", "ann", "bob", "eve"].map(|key| server.key(key));
    let (mission, approval) = waiting(&ann, "m-1");
    let shown = &mission["proposals"][0];
    assert_eq!(shown["state"], "proposed", "{mission:#}");
    let of = |field: &str| shown["proposal"][field].clone();
    assert_eq!(
        [
            of("action_type"),
            of("target_entity_id"),
            of("requires_approval")
        ],
        [json!("backup_expiry"), json!("b-1"), json!(true)]
    );
    let call = &approval["call"];
    assert_eq!(
        (&call["tool"], &call["parameters"]),
        (&json!("vault.expire"), &json!({"backup": "b-1"}))
    );
    assert!(!service.was_called());
    decide(&uma, &approval, "approve").fails(403, "permission_denied");
    decide(&ann, &approval, "approve").fails(403, "permission_denied");
    decide(&eve, &approval, "approve").fails(404, "not_found");
    decide(&bob, &approval, "approve").expect(200);
    let called = service.next();
    let key = format!("{}/writeback.wb.1", mission["run_id"].as_str().unwrap());
    assert_eq!(called.idempotency_key, Some(key));
    assert_eq!(proposal(&ann, "m-1")["state"], "approved");
    decide(&bob, &approval, "approve").fails(409, "illegal_transition");
    called.answer_with("{}");
    standing(&ann, "m-1", "completed");
    assert_eq!(proposal(&ann, "m-1")["state"], "executed");
    assert!(!service.was_called());
    let replayed = ann.post(&path_of("m-1", "/replay"), &json!({})).expect(200);
    assert_eq!(replayed["identical"], true, "{replayed:#}");
    assert!(!service.was_called());
}

#[test]
fn b002_13_a_rejected_proposal_is_not_carried_out() {
    let (server, service) = shared(review);
    let [ann, bob] = ["ann", "bob"].map(|key| server.key(key));
    let (_, approval) = waiting(&ann, "m-1");
    decide(&bob, &approval, "reject").expect(200);
    let mission = standing(&ann, "m-1", "completed");
    assert_eq!(mission["proposals"][0]["state"], "rejected");
    assert!(mission["output"]["summary"].is_string());
    decide(&bob, &approval, "approve").fails(409, "illegal_transition");
    assert!(!service.was_called());
}

#[test]
fn b002_13_an_undecided_proposal_expires() {
    let home = Home::with_keys(&KEYS).with("CHARTER_APPROVALS__TTL_S", "2");
    let server = home.serve();
    let service = Service::start();
    let [ann, bob] = ["ann", "bob"].map(|key| server.key(key));
    ann.register(&review(&service));
    let (_, approval) = waiting(&ann, "m-1");
    let mission = standing(&ann, "m-1", "completed");
    assert_eq!(mission["proposals"][0]["state"], "expired", "{mission:#}");
    let late = decide(&bob, &approval, "approve");
    assert_eq!(late.status, 409, "{:#}", late.body);
    assert!(!service.was_called());
}

/// B002-13: a proposal that requires an approval waits for it even if the policy permits it to all, and even without
/// any policy.
#[test]
fn b002_13_no_policy_stands_in_for_a_person() {
    let approved = " && context.run.approved";
    let ungoverned = "governs: [vault.list_backups]";
    for package in [
        (&|service: &Service| review(service).edit(POLICY_FILE, approved, ""))
            as &dyn Fn(&Service) -> crate::packages::Package,
        &|service| {
            let rule = "  @id(\"approved\")\n  permit (principal, action == Action::\"vault.expire\", resource)\n  when { context.run.kind == RunKind::\"mission\" && context.run.approved };\n";
            review(service).edit(POLICY_FILE, rule, "").edit(
                POLICY_FILE,
                "governs: [\"vault.*\"]",
                ungoverned,
            )
        },
    ] {
        let (server, service) = shared(package);
        let ann = server.key("ann");
        let (mission, approval) = waiting(&ann, "m-1");
        assert_eq!(mission["proposals"][0]["state"], "proposed");
        assert_eq!(approval["rules"][0]["kind"], "safety", "{approval:#}");
        assert!(!service.was_called());
    }
}

/// B002-13: with `requires_approval: false`, a policy that permits the call replaces the approval; else an approval is
/// required.
#[test]
fn b002_13_what_needs_no_person_needs_a_policy() {
    let no_person = |service: &Service| {
        let by = "by: {tool: vault.expire}";
        review(service).edit(
            KIND_FILE,
            by,
            &format!("{by}\n    requires_approval: false"),
        )
    };
    let (server, service) = shared(no_person);
    let ann = server.key("ann");
    let (mission, _) = waiting(&ann, "m-1");
    let shown = &mission["proposals"][0];
    assert_eq!(
        (&shown["state"], &shown["proposal"]["requires_approval"]),
        (&json!("proposed"), &json!(true))
    );
    assert!(!service.was_called());
    let (server, service) =
        shared(|service| no_person(service).edit(POLICY_FILE, " && context.run.approved", ""));
    let ann = server.key("ann");
    ann.post("/v1/missions", &order("m-1")).expect(201);
    service.next().answer_with("{}");
    let mission = standing(&ann, "m-1", "completed");
    assert_eq!(mission["proposals"][0]["state"], "executed", "{mission:#}");
}

/// B002-13: the target is read when the change is proposed, and again before the write: a change in between is a
/// conflict, and is not overwritten.
#[test]
fn b002_13_a_target_that_changed_is_a_conflict() {
    let (server, service) = shared(|service| {
        let address = service.address();
        let look = format!(
            "tool_id: vault.get\nname: get\nprovider: aws\ntool_class: readonly\ndomain: reliability\n\
             description: Shows a backup.\nlanguage: http\nexecution_target: server\n\
             parameters: [{{name: backup, type: string, required: true, description: the backup}}]\n\
             implementation: {{type: http, method: POST, url: \"http://{address}/get\", body: {{backup: \"${{backup}}\"}}}}\n\
             egress: [\"{address}\"]\n"
        );
        let by = "by: {tool: vault.expire}";
        let target = "target: {tool: vault.get, parameters: {backup: \"${target_entity_id}\"}}";
        review(service).with("tools/get.yaml", &look).edit(
            KIND_FILE,
            by,
            &format!("{by}\n    {target}"),
        )
    });
    let [ann, bob] = ["ann", "bob"].map(|key| server.key(key));
    for (id, later, wanted) in [
        ("m-1", r#"{"age_days": 0}"#, "conflict"),
        ("m-2", r#"{"age_days": 40}"#, "executed"),
    ] {
        ann.post("/v1/missions", &order(id)).expect(201);
        service.next().answer_with(r#"{"age_days": 40}"#);
        let approval = crate::home::eventually("an approval", || {
            let shown = proposal(&ann, id);
            shown["approval_id"].as_str().map(str::to_owned)
        });
        let approval = ann.get(&format!("/v1/approvals/{approval}")).expect(200);
        decide(&bob, &approval, "approve").expect(200);
        service.next().answer_with(later);
        if wanted == "executed" {
            service.next().answer_with("{}");
        }
        let mission = standing(&ann, id, "completed");
        assert_eq!(mission["proposals"][0]["state"], wanted, "{mission:#}");
        assert!(!service.was_called());
    }
}

/// By commands: the call is shown before its approval, and only the selected proposal is decided on.
#[test]
fn proposals_are_decided_on_by_commands() {
    let (_home, server, service) = keyed(review);
    let of = |key: &str| {
        Home::new()
            .with("CHARTER_SERVER", &server.api.base)
            .with("CHARTER_API_KEY", key)
    };
    let (ann, bob) = (of("ann"), of("bob"));
    let start = |id: &str| {
        let ran = ann.run(&[
            "mission",
            "start",
            super::GOAL,
            "--type",
            super::KIND,
            "--model",
            "offline",
            "--wait",
            "--id",
            id,
            "--output",
            "json",
        ]);
        assert_eq!(ran.json(0)["state"], "awaiting_approval");
    };
    start("m-1");
    let none = bob.run(&["mission", "approve", "m-1", "wb.7"]);
    assert_eq!(none.code, Some(2), "{none:?}");
    let other = bob.run(&[
        "mission",
        "approve",
        "m-1",
        "wb.1",
        "--digest",
        "sha256:other",
    ]);
    assert_eq!(other.code, Some(2), "{other:?}");
    let own = ann.run(&["mission", "approve", "m-1", "wb.1"]);
    assert!(own.err.contains("error[permission_denied]"), "{own:?}");
    assert!(!service.was_called());
    let approved = std::thread::scope(|scope| {
        let approving = scope.spawn(|| {
            bob.run(&[
                "mission", "approve", "m-1", "--all", "--reason", "seen", "--output", "json",
            ])
        });
        service.next().answer_with("{}");
        approving.join().unwrap()
    });
    for shown in ["vault.expire", r#"{"backup":"b-1"}"#, "sha256:"] {
        assert!(approved.err.contains(shown), "{approved:?}");
    }
    let mission = approved.json(0);
    assert_eq!(
        (&mission["state"], &mission["proposals"][0]["state"]),
        (&json!("completed"), &json!("executed"))
    );
    let again = bob.run(&["mission", "approve", "m-1", "wb.1"]);
    assert!(
        again
            .err
            .contains("does not wait for a decision: it is executed"),
        "{again:?}"
    );
    start("m-2");
    let rejected = bob
        .run(&["mission", "reject", "m-2", "wb.1", "--output", "json"])
        .json(0);
    assert_eq!(rejected["proposals"][0]["state"], "rejected");
    assert!(!service.was_called());
}
