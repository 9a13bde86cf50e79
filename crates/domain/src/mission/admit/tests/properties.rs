//! Properties for all decisions in any order.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// Tools of the example; the worker may use the first three.
const TOOLS: [&str; 5] = [
    "crm_search",
    "local_property_rag",
    "external_search",
    "shell",
    "mail",
];

fn decisions() -> impl Strategy<Value = Vec<(usize, bool, bool)>> {
    let decision = (0..TOOLS.len(), any::<bool>(), prop::bool::weighted(0.8));
    prop::collection::vec(decision, 0..12)
}

fn decide(n: usize, tool: usize, allow: bool, scope: bool) -> Artifact {
    let word = if allow { "allow" } else { "deny" };
    let decision_type = if scope { "tool_scope" } else { "writeback" };
    let changes = [
        ("/decision_id", json!(format!("pol_{n}"))),
        ("/decision_type", json!(decision_type)),
        ("/subject", json!(TOOLS[tool])),
        ("/decision", json!(word)),
    ];
    changed(PLAN + 1, &changes)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// B002-5: exactly the tools that the task has and that the latest decision allows.
    #[test]
    fn b002_5_a_scope_holds_what_is_allowed_and_nothing_else(
        decided in decisions(),
        scope in prop::collection::vec(0..TOOLS.len(), 0..6),
    ) {
        let mut inventory = before(PLAN + 1);
        let mut allowed = BTreeSet::new();
        for (n, (tool, allow, of_tools)) in decided.into_iter().enumerate() {
            inventory.hold(&decide(n, tool, allow, of_tools), "{}");
            match (of_tools, allow) {
                (true, true) => drop(allowed.insert(tool)),
                (true, false) => drop(allowed.remove(&tool)),
                (false, _) => {}
            }
        }
        let names: Vec<&str> = scope.iter().map(|tool| TOOLS[*tool]).collect();
        let package = changed(PACKAGE, &[("/tool_scope", json!(names))]);
        let refused: BTreeSet<String> =
            said(inventory.admit(package)).into_iter().map(|[pointer, ..]| pointer).collect();
        let expected: BTreeSet<String> = scope
            .iter()
            .enumerate()
            .filter(|(_, tool)| **tool > 2 || !allowed.contains(*tool))
            .map(|(at, _)| format!("/tool_scope/{at}"))
            .collect();
        prop_assert_eq!(refused, expected);
    }

    /// B002-6, B002-10: an admitted reference is one of the existing ids and links.
    #[test]
    fn b002_10_no_made_up_support_is_admitted(
        support in prop::collection::vec("(wrk_00[1-3]|lead_12[0-9]|res_00[12]|[a-z]{1,6})", 0..5),
    ) {
        let there = ["wrk_001", "lead_123", "res_001"];
        let claims = json!([{ "claim": "c", "support_refs": support }]);
        let found = refused(PACKET, &[("/evidence_matrix", claims)]);
        let holds = !support.is_empty() && support.iter().all(|text| there.contains(&text.as_str()));
        prop_assert_eq!(found.is_empty(), holds, "{:?}", found);
    }

    /// B002-15: the check changes nothing, so it can be repeated; an artifact in the inventory is a repeat.
    #[test]
    fn b002_15_admitting_is_repeatable(place in 1..13usize) {
        let mut inventory = before(place);
        let first = inventory.admit(artifact(place));
        prop_assert_eq!(&first, &inventory.admit(artifact(place)));
        if let Ok(Admission::New(admitted)) = first {
            inventory.hold(admitted.artifact(), admitted.payload());
        }
        prop_assert_eq!(inventory.admit(artifact(place)), Ok(Admission::Repeat));
    }
}
