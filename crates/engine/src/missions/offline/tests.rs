//! The offline provider's answers to contexts.

use serde_json::{Value, json};

use super::{aggregate, review, work};

/// A finding in the form of a worker's context.
fn cited(reference: &str, skill: &str, id: &str, severity: &str, fields: &Value) -> Value {
    let finding = format!("{skill}-{id}-{severity}-{reference}");
    let uuid = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, finding.as_bytes());
    json!({"ref": reference, "finding": {
        "finding_id": format!("fnd_{uuid}"), "rule_id": "open_door", "skill_id": skill,
        "severity": severity, "resource_type": "house.front_door", "resource_id": id, "fields": fields,
        "rendered": {"summary": format!("The door {id} stands open"), "impact": "Anyone walks in.",
                     "recommendation": "Shut it"},
    }})
}

fn worker(findings: &[Value]) -> Value {
    json!({
        "objective": "Which doors stand open?", "findings": findings,
        "skills": [{"skill_id": "house.doors", "name": "Open doors", "purpose": "find open doors"}],
        "tools": [{"tool": "house.list_doors", "parameters": []}],
        "calls": [{"ref": "call.doors.1.1", "tool": "house.list_doors", "output": {"doors": []}}],
    })
}

fn answer(context: &Value) -> Value {
    work::draft(context)["answer"].clone()
}

/// Each subject is one line, the most serious first; its text is the template's, and cited.
#[test]
fn findings_are_grouped_by_subject() {
    let named = json!({"resource_name": "back door"});
    let first = "call.doors.1.1";
    let said = answer(&worker(&[
        cited(first, "house.doors", "d-1", "low", &json!({})),
        cited(first, "house.doors", "d-2", "critical", &named),
        cited("call.doors.1.2", "house.doors", "d-2", "high", &named),
    ]));
    assert_eq!(
        said["output_text"],
        "3 findings on 2 front doors: 1 critical, 1 low (Open doors).\n\
         back door (d-2), critical: Anyone walks in. The door d-2 stands open.\n\
         d-1, low: Anyone walks in. The door d-1 stands open."
    );
    let call = |reference: &str| json!({"kind": "internal", "ref": reference});
    assert_eq!(
        said["citations"],
        json!([call(first), call("call.doors.1.2")])
    );
    assert_eq!(said["confidence"], json!(0.9));
}

/// If rules ran and found nothing, the answer reports that with the inspected calls.
#[test]
fn an_empty_result_is_reported() {
    let mut context = worker(&[]);
    context["calls"][0]["parameters"] = json!({"floor": 1, "wing": "east", "key": ""});
    let said = answer(&context);
    assert_eq!(
        json!([said["output_text"], said["confidence"], said["citations"]]),
        json!([
            "Open doors found nothing in what house.list_doors (floor 1, wing east) answered.",
            0.9,
            [{"kind": "internal", "ref": "call.doors.1.1"}],
        ])
    );
}

/// A failed call is reported as a gap, never as a sound result.
#[test]
fn a_call_that_failed_is_a_gap() {
    let mut context = worker(&[]);
    context["calls"] =
        json!([{"ref": "call.doors.1.1", "tool": "house.list_doors", "failed": "no key"}]);
    let said = answer(&context);
    assert_eq!(
        json!([
            said["output_text"],
            said["confidence"],
            said["structured_output"]["gaps"]
        ]),
        json!([
            "Nothing was found that answers this.\nNot examined: no key",
            0.1,
            ["Not examined: no key"],
        ])
    );
}

/// The reference knowledge is quoted with its passage where it matches the findings.
#[test]
fn the_reference_is_quoted_with_its_passage() {
    let mut context = worker(&[cited("c", "house.doors", "d-1", "high", &json!({}))]);
    context["previews"] = json!([{"ref": "house.rules#3", "label": "Rules", "text":
        "# The door that stands open\nNo door stands open at night. Cats are welcome everywhere here."}]);
    let said = answer(&context);
    let lines: Vec<&str> = said["output_text"].as_str().unwrap().lines().collect();
    assert_eq!(
        lines[2..],
        ["From the reference: No door stands open at night."]
    );
    assert_eq!(said["citations"][1]["ref"], "house.rules#3");
}

/// Skills' calls come first and once; other tools are called as far as their parameters are known.
#[test]
fn recommended_calls_come_first() {
    let context = json!({
        "objective": "Which doors?", "context_refs": {"house": "h-1"},
        "tools": [
            {"tool": "house.list_doors", "parameters": []},
            {"tool": "house.show", "parameters": [{"name": "house", "required": true}]},
            {"tool": "house.search", "parameters": [{"name": "query", "required": true}]},
            {"tool": "house.open", "parameters": [{"name": "key", "required": true}]},
        ],
        "recommended_calls": [
            {"tool": "house.list_doors", "parameters": {"floor": 1}},
            {"tool": "house.list_doors", "parameters": {"floor": 1}},
            {"tool": "house.burn", "parameters": {}},
        ],
        "calls": [],
    });
    assert_eq!(
        work::draft(&context),
        json!({"calls": [
            {"tool": "house.list_doors", "parameters": {"floor": 1}},
            {"tool": "house.show", "parameters": {"house": "h-1"}},
            {"tool": "house.search", "parameters": {"query": "Which doors?"}},
        ]})
    );
}

/// Results of two workers about the same door, and of a search.
fn results(second: &Value) -> Value {
    let of = |task: &str, found: &[Value]| {
        json!({"task": task, "ref": format!("wrk.{task}"), "text": "", "citations": [{}],
               "structured": {"findings": found}})
    };
    json!({"goal": "Doors", "results": [
        {"task": "advice", "ref": "res.advice", "query": "doors", "results": [
            {"title": "On doors", "url": "https://example.com/doors", "snippet": "Shut them."}]},
        of("doors", &[cited("call.doors.1.1", "house.doors", "d-1", "high", &json!({"width": 80, "note": "so it is"}))]),
        of("keys", &[cited("call.keys.1.1", "house.keys", "d-1", "medium", second)]),
    ]})
}

/// B002-10: two tasks' findings on one thing are one claim that rests on both; an external result is one with its link.
#[test]
fn b002_10_a_claim_rests_on_every_result_that_supports_it() {
    let packet = aggregate::draft(&results(&json!({"width": 80, "note": "it is not so"})));
    assert_eq!(
        packet["evidence_matrix"],
        json!([
            {"claim": "d-1, high: Anyone walks in. The door d-1 stands open.",
             "support_refs": ["wrk.doors", "call.doors.1.1", "wrk.keys", "call.keys.1.1"]},
            {"claim": "On doors: Shut them.", "support_refs": ["res.advice", "https://example.com/doors"]},
        ])
    );
    assert_eq!(
        packet["summary"],
        "2 findings on 1 front door: 1 high.\nMost serious first:\n\
         1. d-1, high: Anyone walks in. The door d-1 stands open.\nAdvised:\n- Shut it. (d-1)\n\
         From outside:\n- On doors (https://example.com/doors): Shut them."
    );
    assert_eq!(
        json!([packet["contradictions"], packet["coverage_gaps"]]),
        json!([[], []])
    );
}

/// B002-10: two skills with different values for one field contradict each other, and the reviewer writes that into the
/// output.
#[test]
fn b002_10_contradictions_and_gaps_are_in_the_output() {
    let mut context = results(&json!({"width": 90, "note": "it is not so"}));
    context["results"][0]["results"] = json!([]);
    let mut packet = aggregate::draft(&context);
    let disputed = "d-1: the width is 80 by house.doors, and 90 by house.keys.";
    let gap = "Nothing was found on the web for: doors";
    let refs = ["wrk.doors", "call.doors.1.1", "wrk.keys", "call.keys.1.1"];
    assert_eq!(
        json!([packet["contradictions"], packet["coverage_gaps"]]),
        json!([
            [{"description": disputed, "refs": refs}],
            [{"description": gap, "refs": ["res.advice"]}],
        ])
    );
    packet["results"] = json!([]);
    let review = review::draft(&packet);
    let summary = review["approved_output"]["summary"].as_str().unwrap();
    assert_eq!(review["review_status"], "approved_with_edits");
    assert!(
        summary.ends_with(&format!(
            "Sources disagree:\n- {disputed}\nNot covered:\n- {gap}"
        )),
        "{summary}"
    );
}

/// A result without findings contributes its text; one without a source is a gap.
#[test]
fn results_in_words_are_claims() {
    let packet = aggregate::draft(&json!({"results": [
        {"task": "a", "ref": "wrk.a", "text": "All doors are shut.\nNot examined: the cellar",
         "structured": {"gaps": ["Not examined: the cellar"]}, "citations": [{}]},
        {"task": "b", "ref": "wrk.b", "text": "Who knows.", "structured": {}, "citations": []},
    ]}));
    assert_eq!(
        json!([
            packet["summary"],
            packet["evidence_matrix"],
            packet["coverage_gaps"]
        ]),
        json!([
            "All doors are shut.\nWho knows.",
            [{"claim": "All doors are shut.", "support_refs": ["wrk.a"]},
             {"claim": "Who knows.", "support_refs": ["wrk.b"]}],
            [{"description": "Not examined: the cellar", "refs": ["wrk.a"]},
             {"description": "The task `b` found nothing that it could cite.", "refs": ["wrk.b"]}],
        ])
    );
}

/// Which doors get proposals: the schema of the payload decides, the most serious come first, and harmless findings get
/// none.
#[test]
fn proposals_are_made_for_what_fills_the_payload() {
    let door =
        |id: &str, severity: &str, fields: Value| cited("c", "house.doors", id, severity, &fields);
    let mut ninth = door("d-8", "low", json!({"floor": 9}));
    ninth["finding"]["rendered"] = json!({"summary": "It is on the ninth floor"});
    let findings = [
        door("d-1", "high", json!({"floor": 1, "score": 5})),
        door("d-2", "high", json!({"floor": 1, "score": 9})),
        door("d-3", "critical", json!({"floor": 7})),
        door("d-4", "critical", json!({})),
        door("d-5", "info", json!({"floor": 5})),
        door("d-6", "medium", json!({"floor": 2})),
        door("d-7", "low", json!({"floor": 2})),
        door("d-8", "high", json!({})),
        ninth,
    ];
    let proposed = |kind: &str, schema: Value| {
        let context = json!({
            "summary": "s", "context_refs": {"door_ids": ["d-9"], "keeper": "ann"},
            "results": [{"structured": {"findings": findings}}],
            "write_backs": [{"action_type": "shut", "target_entity_type": kind, "payload_schema": schema}],
        });
        let review = review::draft(&context);
        let proposals = review["proposals"].as_array().unwrap().iter();
        let shown = proposals.map(|of| json!([of["target_entity_id"], of["payload"]]));
        json!(shown.collect::<Vec<_>>())
    };
    let schema = json!({"type": "object", "required": ["floor", "keeper", "to"], "properties": {
        "floor": {"enum": [1, 2]}, "keeper": {"type": "string"}, "to": {"const": "shut"},
        "severity": {"enum": ["critical", "high", "medium", "low"]}}});
    let payload = |floor: u8, severity: &str| json!({"floor": floor, "keeper": "ann", "to": "shut", "severity": severity});
    // The reason is the finding with the other values, even if another is worse.
    let reason = json!({"type": "object", "required": ["floor", "reason"], "properties": {
        "floor": {"enum": [9]}, "reason": {"type": "string"}}});
    assert_eq!(
        proposed("front_door", reason),
        json!([["d-8", {"floor": 9, "reason": "It is on the ninth floor."}]])
    );
    let harmless =
        json!({"type": "object", "properties": {"floor": {"enum": [5]}}, "required": ["floor"]});
    assert_eq!(proposed("front_door", harmless), json!([]));
    assert_eq!(
        proposed("front_door", schema),
        json!([
            ["d-2", payload(1, "high")],
            ["d-1", payload(1, "high")],
            ["d-6", payload(2, "medium")]
        ])
    );
    // Without findings, the target is the entity that the mission refers to, if it is named.
    assert_eq!(proposed("door", json!({})), json!([["d-9", {}]]));
    assert_eq!(proposed("window", json!({})), json!([]));
}
