//! The check before persistence in isolation: the example mission of the contracts, with one fault at a time.
//! `properties` tests all orders of decisions.

mod properties;

use charter_contract::mission::upcast::read_stored;
use serde_json::{Value, json};

use super::*;

const EXAMPLE: &str = include_str!("../../../../contract/tests/missions/waterfront.jsonl");

/// Positions of the example's artifacts.
const PLAN: usize = 1;
const PACKAGE: usize = 5;
const PASS: usize = 7;
const RESEARCH: usize = 8;
const RESULT: usize = 9;
const PACKET: usize = 10;
const REVIEW: usize = 11;
const PROPOSAL: usize = 12;

fn example() -> Vec<&'static str> {
    EXAMPLE.lines().collect()
}

/// Returns the inventory before the artifact at `place`; the calls of its worker are known.
fn before(place: usize) -> Inventory {
    let mut inventory = Inventory::restore(example().into_iter().take(place)).unwrap();
    inventory.know_call("toolcall_001");
    inventory.know_call("toolcall_002");
    inventory
}

/// The artifact at `place` with the values at these pointers replaced.
fn changed(place: usize, changes: &[(&str, Value)]) -> Artifact {
    let mut value: Value = serde_json::from_str(example()[place]).unwrap();
    for (pointer, new) in changes {
        *value.pointer_mut(pointer).unwrap() = new.clone();
    }
    Artifact::from_value(&value).unwrap()
}

fn artifact(place: usize) -> Artifact {
    changed(place, &[])
}

/// Returns the pointer, keyword, message and suggestion of each violation; empty if it is admitted.
fn said(admission: Result<Admission, AdmissionRefusal>) -> Vec<[String; 4]> {
    match admission {
        Ok(Admission::New(_)) => Vec::new(),
        Ok(Admission::Repeat) => panic!("it is no repeat"),
        Err(AdmissionRefusal::Conflict { kind, id }) => panic!("{kind} {id} is a conflict"),
        Err(AdmissionRefusal::Violations(violations)) => {
            assert!(violations.iter().all(|v| v.stage == Stage::Consistency));
            let said = |v: Violation| {
                [
                    v.pointer,
                    v.keyword,
                    v.message,
                    v.suggestion.unwrap_or_default(),
                ]
            };
            violations.into_iter().map(said).collect()
        }
    }
}

/// Returns the violations of the artifact at `place` with these changes.
fn refused(place: usize, changes: &[(&str, Value)]) -> Vec<[String; 4]> {
    said(before(place).admit(changed(place, changes)))
}

fn lines<const N: usize>(lines: [[&str; 4]; N]) -> Vec<[String; 4]> {
    lines.map(|line| line.map(ToOwned::to_owned)).to_vec()
}

#[test]
fn the_example_is_admitted_artifact_by_artifact() {
    let example = example();
    let Artifact::MissionEnvelope(envelope) = artifact(0) else {
        panic!("the first is the envelope");
    };
    let (mut inventory, opening) = Inventory::open(envelope).unwrap();
    assert_eq!(opening.payload(), example[0]);
    inventory.know_call("toolcall_001");
    inventory.know_call("toolcall_002");
    for (place, text) in example.iter().enumerate().skip(1) {
        let admission = inventory.admit(artifact(place)).unwrap();
        let Admission::New(admitted) = admission else {
            panic!("{place} is new");
        };
        assert_eq!(admitted.payload(), *text);
        inventory.hold(admitted.artifact(), admitted.payload());
    }
    assert_eq!(inventory, before(example.len()));
}

/// B002-3 and B002-7: the root supplies missing metadata, and conflicting metadata is rejected.
#[test]
fn b002_3_root_metadata_is_stamped_and_is_the_missions() {
    let mut value: Value = serde_json::from_str(example()[PASS]).unwrap();
    let stated = value.as_object_mut().unwrap();
    drop((stated.remove("tenant_id"), stated.remove("actor_id")));
    let unstamped = Artifact::from_value(&value).unwrap();
    let Ok(Admission::New(admitted)) = before(PASS).admit(unstamped) else {
        panic!("it is admitted");
    };
    assert_eq!(admitted.payload(), example()[PASS]);
    let changes = [
        ("/mission_id", json!("other")),
        ("/tenant_id", json!("rival")),
        ("/actor_id", json!("somebody")),
        ("/created_at", json!("2026-04-14T11:59:59Z")),
        ("/task_id", json!("task_gone")),
    ];
    assert_eq!(
        refused(PASS, &changes),
        lines([
            [
                "/mission_id",
                "root_metadata",
                "`other` differs from the mission's mission_id, `uuid`",
                ""
            ],
            [
                "/tenant_id",
                "root_metadata",
                "`rival` differs from the mission's tenant_id, `tenant_velocity`",
                ""
            ],
            [
                "/actor_id",
                "root_metadata",
                "`somebody` differs from the mission's actor_id, `oracle_operator`",
                ""
            ],
            [
                "/created_at",
                "root_metadata",
                "2026-04-14T11:59:59Z is before the mission's start, 2026-04-14T12:00:00Z",
                ""
            ],
            [
                "/task_id",
                "task",
                "`task_gone` is not a task of the mission",
                ""
            ],
        ])
    );
}

/// B002-7: the time of the mission itself is allowed.
#[test]
fn b002_7_what_was_fetched_before_the_mission_is_not_its_research() {
    let at = |time: &str| refused(RESEARCH, &[("/results/0/retrieved_at", json!(time))]);
    assert_eq!(at("2026-04-14T12:00:00Z"), lines([]));
    assert_eq!(
        at("2026-04-14T11:59:59.999999Z"),
        lines([[
            "/results/0/retrieved_at",
            "order",
            "2026-04-14T11:59:59.999999Z is before the mission's start, 2026-04-14T12:00:00Z",
            "",
        ]])
    );
}

#[test]
fn b002_5_an_artifact_names_a_task_of_its_mission() {
    for place in [PACKAGE, PASS, RESEARCH, RESULT] {
        let found = refused(place, &[("/task_id", json!("task_wroker_01"))]);
        let unknown = [
            "/task_id",
            "task",
            "`task_wroker_01` is not a task of the mission",
            "did you mean `task_worker_01`?",
        ];
        assert_eq!(found, lines([unknown]), "{place}");
    }
}

#[test]
fn b002_5_an_artifact_fits_the_role_of_its_task() {
    let role = |task: &str, is: &str, wanted: &str| {
        let message = format!("the task `{task}` is for a {is}, not for a {wanted}");
        [[
            "/task_id".to_owned(),
            "role".to_owned(),
            message,
            String::new(),
        ]]
        .to_vec()
    };
    let task = |task: &str| [("/task_id", json!(task))];
    assert_eq!(
        refused(RESULT, &task("task_research_01")),
        role("task_research_01", "researcher", "worker")
    );
    assert_eq!(
        refused(RESEARCH, &task("task_worker_01")),
        role("task_worker_01", "worker", "researcher")
    );
    assert_eq!(
        refused(PASS, &task("task_review_01")),
        role("task_review_01", "reviewer", "worker or researcher")
    );
    assert_eq!(refused(PASS, &task("task_research_01")), lines([]));
    assert_eq!(
        refused(PACKAGE, &[("/role_type", json!("reviewer"))]),
        lines([[
            "/role_type",
            "role",
            "the task `task_worker_01` is for a worker, not for a reviewer",
            "write `worker`",
        ]])
    );
}

/// B002-5: each tool in the scope must be both one of the task's tools and allowed by policy.
#[test]
fn b002_5_a_tool_needs_its_task_and_a_policy_decision() {
    let scope = |tools: Value| [("/tool_scope", tools)];
    assert_eq!(
        refused(
            PACKAGE,
            &scope(json!(["crm_search", "crm_serach", "shell"]))
        ),
        lines([
            [
                "/tool_scope/1",
                "tool_scope",
                "the task `task_worker_01` may not use `crm_serach`",
                "did you mean `crm_search`?"
            ],
            [
                "/tool_scope/1",
                "tool_scope",
                "no policy decision allows `crm_serach`, so it is denied",
                ""
            ],
            [
                "/tool_scope/2",
                "tool_scope",
                "the task `task_worker_01` may not use `shell`",
                ""
            ],
            [
                "/tool_scope/2",
                "tool_scope",
                "no policy decision allows `shell`, so it is denied",
                ""
            ],
        ])
    );
    // Without a decision, every tool is denied.
    let found = said(before(PLAN + 1).admit(changed(PACKAGE, &scope(json!(["crm_search"])))));
    let denied = "no policy decision allows `crm_search`, so it is denied";
    assert_eq!(found, lines([["/tool_scope/0", "tool_scope", denied, ""]]));
    // A decision of another type allows no tool.
    let other = [
        ("/decision_type", json!("writeback")),
        ("/subject", json!("crm_search")),
    ];
    let mut inventory = before(PLAN + 1);
    inventory.hold(&changed(PLAN + 1, &other), "{}");
    let found = said(inventory.admit(changed(PACKAGE, &scope(json!(["crm_search"])))));
    assert_eq!(found, lines([["/tool_scope/0", "tool_scope", denied, ""]]));
}

#[test]
fn b002_5_the_latest_decision_wins() {
    let mut inventory = before(PACKAGE);
    let decide = |id: &str, word: &str| {
        let changes = [("/decision_id", json!(id)), ("/decision", json!(word))];
        changed(PLAN + 1, &changes)
    };
    inventory.hold(&decide("pol_009", "deny"), "{}");
    assert_eq!(
        said(inventory.admit(artifact(PACKAGE))),
        lines([[
            "/tool_scope/2",
            "tool_scope",
            "the latest policy decision denies `external_search`",
            "",
        ]])
    );
    inventory.hold(&decide("pol_010", "allow"), "{}");
    assert_eq!(said(inventory.admit(artifact(PACKAGE))), lines([]));
}

#[test]
fn b002_6_sources_are_cited_where_a_package_says_so_or_there_is_none() {
    let uncited = [("/citations", json!([]))];
    let must = lines([[
        "/citations",
        "must_cite_sources",
        "the task `task_worker_01` must cite its sources",
        "cite a result, a source or an entity",
    ]]);
    assert_eq!(refused(RESULT, &uncited), must);
    // Without a package, the requirement is the default.
    let mut inventory = before(PACKAGE);
    inventory.know_call("toolcall_001");
    assert_eq!(said(inventory.admit(changed(RESULT, &uncited))), must);
    // A package that requires no sources; a second one that does.
    let lax = [("/constraints/must_cite_sources", json!(false))];
    inventory.hold(&changed(PACKAGE, &lax), "{}");
    assert_eq!(said(inventory.admit(changed(RESULT, &uncited))), lines([]));
    inventory.hold(&artifact(PACKAGE), "{}");
    assert_eq!(said(inventory.admit(changed(RESULT, &uncited))), must);
}

/// B002-6: the possible targets of each reference, and their sides.
#[test]
fn b002_6_each_reference_names_something_on_its_side() {
    let evidence = "ev_01HX0000000000000000000001";
    let cite = |kind: &str, reference: &str| {
        let citation = json!([{ "kind": kind, "ref": reference }]);
        changed(
            RESULT,
            &[("/citations", citation), ("/result_id", json!("wrk_002"))],
        )
    };
    // A second result, which may cite the first one.
    let mut inventory = before(RESULT + 1);
    let gone = said(inventory.admit(cite("internal", evidence)));
    inventory.know_evidence(&EvidenceId::parse(evidence).unwrap());
    assert_eq!(
        evidence_named(&cite("internal", evidence)),
        [EvidenceId::parse(evidence).unwrap()]
    );
    let unnamed = format!("`{evidence}` does not exist in the mission");
    assert_eq!(
        gone,
        lines([["/citations/0/ref", "reference", &unnamed, ""]])
    );
    for (reference, inside, outside) in [
        ("lead_123", true, false),
        ("wrk_001", true, false),
        (evidence, true, false),
        ("toolcall_001", true, false),
        ("res_001", true, true),
        ("https://example.com/report", false, true),
    ] {
        for (kind, fits, other) in [
            ("internal", inside, "external"),
            ("external", outside, "internal"),
        ] {
            let message = format!("`{reference}` is not {kind}");
            let advice = format!("it is `{other}`");
            let expected = match fits {
                true => Vec::new(),
                false => lines([["/citations/0/kind", "citation_kind", &message, &advice]]),
            };
            assert_eq!(said(inventory.admit(cite(kind, reference))), expected);
        }
    }
    // Targets of the wrong kind are rejected: a package, a packet, a task, the result itself.
    for reference in [
        "pkg_001",
        "task_worker_01",
        "wrk_002",
        "uuid",
        "https://example.com/",
    ] {
        let found = said(inventory.admit(cite("internal", reference)));
        assert_eq!(
            (found.len(), found[0][1].as_str()),
            (1, "reference"),
            "{reference}"
        );
    }
}

#[test]
fn b002_6_a_call_that_the_journal_does_not_tell_of_is_no_trace() {
    let found = refused(RESULT, &[("/tool_trace_refs/1", json!("toolcall_003"))]);
    assert_eq!(
        (found.len(), found[0][0].as_str()),
        (1, "/tool_trace_refs/1")
    );
    assert_eq!(
        found[0][1..3],
        ["reference", "`toolcall_003` does not exist in the mission"]
    );
}

/// Entities in the envelope resolve before any pass shows them.
#[test]
fn b002_6_the_entities_of_the_envelope_resolve() {
    let context =
        json!({ "lead_ids": ["lead_1", "lead_2"], "page_id": "page_1", "none": null, "n": 7 });
    let Artifact::MissionEnvelope(envelope) = changed(0, &[("/context_refs", context)]) else {
        panic!("the first is the envelope");
    };
    let (inventory, _) = Inventory::open(envelope).unwrap();
    let known: Vec<bool> = ["lead_1", "lead_2", "page_1", "lead_ids", "7"]
        .map(|reference| inventory.sides(reference).is_some())
        .to_vec();
    assert_eq!(known, [true, true, true, false, false]);
}

#[test]
fn b002_10_each_claim_has_support_that_resolves() {
    let matrix = json!([
        { "claim": "Lead 123 is high priority", "support_refs": ["wrk_001", "lead_123"] },
        { "claim": "Demand grows", "support_refs": ["https://example.com/report"] },
        { "claim": "Prices fall", "support_refs": [] },
        { "claim": "Lead 124 is lost", "support_refs": ["lead_123", "lead_124"] },
    ]);
    assert_eq!(
        refused(PACKET, &[("/evidence_matrix", matrix)]),
        lines([
            [
                "/evidence_matrix/2/support_refs",
                "support",
                "nothing supports the claim `Prices fall`",
                ""
            ],
            [
                "/evidence_matrix/3/support_refs/1",
                "reference",
                "`lead_124` does not exist in the mission",
                "did you mean `lead_123`?",
            ],
        ])
    );
}

#[test]
fn b002_11_a_mission_is_reviewed_once() {
    let inventory = before(REVIEW + 1);
    let second = changed(REVIEW, &[("/packet_id", json!("rev_002"))]);
    let again = "the mission was already reviewed; a mission has one review";
    assert_eq!(
        said(inventory.admit(second)),
        lines([["", "one_review", again, ""]])
    );
    assert_eq!(inventory.admit(artifact(REVIEW)), Ok(Admission::Repeat));
}

#[test]
fn b002_6_a_proposal_follows_a_review_that_approved() {
    let early = "a proposal needs a review first";
    assert_eq!(
        said(before(REVIEW).admit(artifact(PROPOSAL))),
        lines([["", "review", early, ""]])
    );
    let mut inventory = before(REVIEW);
    let mut value: Value = serde_json::from_str(example()[REVIEW]).unwrap();
    value["review_status"] = json!("rejected");
    drop(value.as_object_mut().unwrap().remove("approved_output"));
    inventory.hold(&Artifact::from_value(&value).unwrap(), "{}");
    let refused = "the review rejected the mission's output";
    assert_eq!(
        said(inventory.admit(artifact(PROPOSAL))),
        lines([["", "review", refused, ""]])
    );
    assert_eq!(said(before(PROPOSAL).admit(artifact(PROPOSAL))), lines([]));
}

#[test]
fn b002_13_a_write_back_without_a_person_needs_a_policy_decision() {
    let alone = [("/requires_approval", json!(false))];
    let expected = lines([[
        "/requires_approval",
        "policy_decision",
        "no policy decision allows `lead_stage_update` without an approval",
        "require an approval",
    ]]);
    let mut inventory = before(PROPOSAL);
    let decide = |id: &str, decision_type: &str, word: &str| {
        let changes = [
            ("/decision_id", json!(id)),
            ("/decision_type", json!(decision_type)),
            ("/subject", json!("lead_stage_update")),
            ("/decision", json!(word)),
        ];
        changed(PLAN + 1, &changes)
    };
    for (id, decision_type, word, allowed) in [
        ("pol_010", "tool_scope", "allow", false),
        ("pol_011", "writeback", "deny", false),
        ("pol_012", "writeback", "allow", true),
        ("pol_013", "writeback", "deny", false),
    ] {
        inventory.hold(&decide(id, decision_type, word), "{}");
        let found = said(inventory.admit(changed(PROPOSAL, &alone)));
        assert_eq!(
            found,
            if allowed {
                Vec::new()
            } else {
                expected.clone()
            },
            "{id}"
        );
        assert_eq!(said(inventory.admit(artifact(PROPOSAL))), lines([]));
    }
}

/// B002-15: for every kind, and even if the rules would now reject the artifact.
#[test]
fn b002_15_an_id_is_taken_once_and_a_repeat_is_no_conflict() {
    let mut inventory = before(example().len());
    let deny = [
        ("/decision_id", json!("pol_009")),
        ("/decision", json!("deny")),
    ];
    inventory.hold(&changed(PLAN + 1, &deny), "{}");
    for place in 0..example().len() {
        assert_eq!(
            inventory.admit(artifact(place)),
            Ok(Admission::Repeat),
            "{place}"
        );
        let other = changed(place, &[("/producer", json!("somebody_else"))]);
        let (kind, id) = (other.kind(), other.id().to_owned());
        assert_eq!(
            inventory.admit(other),
            Err(AdmissionRefusal::Conflict { kind, id }),
            "{place}"
        );
    }
    // Ids are unique per kind: a review may have the id of a packet.
    let twin = changed(REVIEW, &[("/packet_id", json!("agg_001"))]);
    assert_eq!(said(before(REVIEW).admit(twin)), lines([]));
}

#[test]
fn what_cannot_be_read_is_named_by_its_place() {
    let example = example();
    let broken = example[3].replace("\"v1\"", "\"v9\"");
    let found = Inventory::restore([example[0], example[1], &broken]).unwrap_err();
    assert_eq!(
        (found.place, found.violations[0].keyword.as_str()),
        (3, "unsupported_version")
    );
    assert_eq!(Inventory::restore([]).unwrap_err().place, 1);
    assert_eq!(Inventory::restore([example[1]]).unwrap_err().place, 1);
}

/// An older artifact is converted to the current form, and keeps the digest of its stored bytes.
#[test]
fn b002_1_an_older_artifact_is_part_of_the_inventory() {
    let old = include_str!("../../../../contract/tests/versions/worker_result.v0.json");
    let root = before(1).root().clone();
    let held = Inventory::restore(example().into_iter().take(RESULT).chain([old])).unwrap();
    assert!(held.sides("wrk_001").is_some());
    let again = read_stored(old, &root).unwrap().into_inner();
    assert!(matches!(
        held.admit(again),
        Err(AdmissionRefusal::Conflict { .. })
    ));
}

#[test]
fn a_refusal_says_the_first_violation_and_how_many_there_are() {
    let scope = [("/tool_scope", json!(["a", "b"]))];
    let refused = before(PACKAGE).admit(changed(PACKAGE, &scope)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the artifact contradicts its mission: /tool_scope/0: the task `task_worker_01` may not use `a` and 3 more"
    );
}
