//! Comparisons of the example mission with itself under other ids, and with changes.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const EXAMPLE: &str = include_str!("../../../../contract/tests/missions/waterfront.jsonl");

const USED: Used = Used {
    time_ms: 12_000,
    tokens: Some(800),
};

fn read(texts: &[String]) -> Vec<Artifact> {
    let texts = texts.iter();
    texts
        .map(|text| Artifact::parse(text.as_bytes()).unwrap())
        .collect()
}

fn example() -> Vec<String> {
    EXAMPLE.lines().map(ToOwned::to_owned).collect()
}

fn side(artifacts: &[Artifact]) -> Side<'_> {
    Side {
        artifacts,
        state: MissionState::Completed,
        used: USED,
    }
}

/// The example as another mission: every id and every time differs, and the contents are equal.
fn renamed() -> Vec<String> {
    let ids = [
        ("\"uuid\"", "\"another\""),
        ("pkg_00", "package-"),
        ("pass_00", "pass-"),
        ("res_00", "research-"),
        ("wrk_00", "result-"),
        ("agg_00", "packet-"),
        ("rev_00", "review-"),
        ("pol_00", "decision-"),
        ("wb_00", "proposal-"),
        ("task_worker_01", "t-3"),
        ("task_review_01", "t-5"),
        ("task_research_01", "t-2"),
        ("2026-04-14T1", "2027-05-15T1"),
    ];
    let renamed = |text: String| {
        ids.iter()
            .fold(text, |text, (from, to)| text.replace(from, to))
    };
    example().into_iter().map(renamed).collect()
}

#[test]
fn a_mission_is_the_same_under_other_ids_and_times() {
    let (left, right) = (read(&example()), read(&renamed()));
    assert_ne!(left, right);
    let found = diff(&side(&left), &side(&right));
    assert!(found.is_same(), "{found}");
    assert_eq!(found.tasks.len(), 5);
    assert_eq!(found.artifacts.len(), 11);
    let worker = &found.tasks[2];
    let ids = [&worker.ids.left, &worker.ids.right].map(|id| id.as_deref());
    assert_eq!(ids, [Some("task_worker_01"), Some("t-3")]);
}

/// One change of each kind, as the complete text for people.
#[test]
fn a_comparison_reads_as_text() {
    let left = example();
    let mut right = renamed();
    right[0] = right[0].replace("\"medium\"", "\"high\"");
    // One task removed, one added, and one with fewer tools.
    right[1] = right[1]
        .replace("\"t-2\",\"task_plan_01\"", "\"task_plan_01\"")
        .replace(r#""local_property_rag","#, "")
        .replace("Review the brief.", "Look at the brief twice.")
        .replace(
            "\"role_type\":\"researcher\"",
            "\"role_type\":\"librarian\"",
        );
    right[9] = right[9].replace("0.79", "0.81");
    right[10] = right[10].replace("result-1", "lead_124");
    right.remove(12);
    right.remove(8);
    right.remove(6);
    let (left, right) = (read(&left), read(&right));
    let second = Side {
        state: MissionState::Rejected,
        used: Used {
            time_ms: 9_000,
            tokens: None,
        },
        ..side(&right)
    };
    let found = diff(&side(&left), &second);
    assert!(!found.is_same());
    assert_eq!(found.to_string(), include_str!("tests/shown.txt"));
}

/// Tasks as role, id and objective.
fn planned(tasks: &[(&str, &str, &str)]) -> Vec<Artifact> {
    let tasks: Vec<Value> = tasks
        .iter()
        .map(|(role, id, objective)| {
            json!({ "role_type": role, "task_id": id, "objective": objective })
        })
        .collect();
    let mut graph: Value = serde_json::from_str(&example()[1]).unwrap();
    graph["tasks"] = tasks.into();
    vec![Artifact::from_value(&graph).unwrap()]
}

/// By role and id, then by role and objective, then the only remaining ones of a role.
#[test]
fn tasks_are_matched_by_id_then_objective_then_role() {
    let (w, r) = ("worker", "reviewer");
    for (left, right, expected) in [
        // The id takes precedence over the objective, and the role over both.
        (
            vec![(w, "a", "x"), (w, "b", "y")],
            vec![(w, "a", "y"), (w, "b", "x")],
            "a=a b=b",
        ),
        (
            vec![(w, "a", "x"), (w, "b", "y")],
            vec![(w, "c", "y"), (w, "d", "x")],
            "a=d b=c",
        ),
        (vec![(w, "a", "x")], vec![(r, "a", "x")], "a= =a"),
        // The only ones of their role, regardless of the other fields.
        (
            vec![(w, "a", "x"), (r, "b", "y")],
            vec![(w, "c", "p"), (r, "d", "q")],
            "a=c b=d",
        ),
        (
            vec![(w, "a", "x"), (w, "b", "y")],
            vec![(w, "a", "x"), (w, "c", "z")],
            "a=a b=c",
        ),
        // If several remain on one side, the match is ambiguous.
        (
            vec![(w, "a", "x"), (w, "b", "y")],
            vec![(w, "c", "z")],
            "a= b= =c",
        ),
        (
            vec![(w, "a", "x")],
            vec![(w, "b", "y"), (w, "c", "z")],
            "a= =b =c",
        ),
    ] {
        let (left, right) = (planned(&left), planned(&right));
        let found = diff(&side(&left), &side(&right));
        let pairs = found.tasks.iter().map(|task| {
            let id = |id: &Option<String>| id.clone().unwrap_or_default();
            format!("{}={}", id(&task.ids.left), id(&task.ids.right))
        });
        assert_eq!(pairs.collect::<Vec<_>>().join(" "), expected);
    }
}

/// Two missions with different outcomes differ.
#[test]
fn missions_that_ended_otherwise_are_not_the_same() {
    let artifacts = read(&example());
    let rejected = Side {
        state: MissionState::Rejected,
        ..side(&artifacts)
    };
    assert!(diff(&side(&artifacts), &side(&artifacts)).is_same());
    assert!(!diff(&side(&artifacts), &rejected).is_same());
}

#[test]
fn a_long_list_of_changes_is_bounded() {
    let many = |count: usize, n: usize| {
        let output: serde_json::Map<String, Value> = (0..count)
            .map(|at| (format!("f{at}"), json!(at + n)))
            .collect();
        let mut value: Value = serde_json::from_str(&example()[9]).unwrap();
        value["structured_output"] = output.into();
        vec![
            example()[0].clone(),
            example()[1].clone(),
            value.to_string(),
        ]
    };
    for (count, last) in [(100, "/structured_output/f99"), (101, ""), (200, "")] {
        let (left, right) = (read(&many(count, 0)), read(&many(count, 1)));
        let found = diff(&side(&left), &side(&right));
        let PartChange::Changed(fields) = &found.artifacts[0].change else {
            panic!("{found}");
        };
        assert_eq!((fields.len(), fields[99].pointer.as_str()), (100, last));
    }
}

/// The JSON form in the API.
#[test]
fn a_comparison_reads_as_json() {
    let mut right = example();
    right[9] = right[9].replace("0.79", "0.81");
    let (left, right) = (read(&example()), read(&right));
    let found = serde_json::to_value(diff(&side(&left), &side(&right))).unwrap();
    let result = json!({
        "key": {
            "kind": "worker_result",
            "role": "worker",
            "task": "task_worker_01",
            "subject": null,
            "number": 1,
        },
        "ids": { "left": "wrk_001", "right": "wrk_001" },
        "change": "changed",
        "fields": [{ "pointer": "/confidence", "left": 0.79, "right": 0.81 }],
    });
    assert!(
        found["artifacts"].as_array().unwrap().contains(&result),
        "{found}"
    );
    assert_eq!(found["goal"], json!({ "change": "same" }));
    assert_eq!(
        found["outcome"],
        json!({ "left": "completed", "right": "completed" })
    );
    assert_eq!(
        found["tokens"]["left"],
        json!({ "used": 800, "budget": 180_000 })
    );
}

#[test]
fn a_mission_that_has_not_begun_is_compared_too() {
    let (left, right) = (read(&example()[..1]), read(&example()));
    let found = diff(&side(&left), &side(&right));
    assert!(
        found
            .tasks
            .iter()
            .all(|task| task.change == PartChange::Added)
    );
    assert!(
        found
            .artifacts
            .iter()
            .all(|artifact| artifact.change == PartChange::Added)
    );
    let nothing = diff(&side(&[]), &side(&[]));
    assert!(nothing.is_same());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// For any missing parts of either mission: each artifact and task of both sides is reported once, and the reverse
    /// comparison reports the opposite.
    #[test]
    fn a_comparison_is_whole_and_mirrors(
        left in prop::collection::vec(any::<bool>(), 13),
        right in prop::collection::vec(any::<bool>(), 13),
    ) {
        let kept = |texts: Vec<String>, keep: &[bool]| {
            let texts = texts.into_iter().zip(keep).filter(|(_, keep)| **keep);
            read(&texts.map(|(text, _)| text).collect::<Vec<_>>())
        };
        let (left, right) = (kept(example(), &left), kept(renamed(), &right));
        let there = diff(&side(&left), &side(&right));
        let back = diff(&side(&right), &side(&left));
        let ids = |found: &MissionDiff, first: bool| {
            let ids = found.artifacts.iter().filter_map(|artifact| {
                let Pair { left, right } = &artifact.ids;
                if first { left.clone() } else { right.clone() }
            });
            let mut ids: Vec<String> = ids.collect();
            ids.sort();
            ids
        };
        let expected = |artifacts: &[Artifact]| {
            let compared = artifacts.iter().filter(|artifact| {
                !["mission_envelope", "mission_task_graph"].contains(&artifact.kind().as_str())
            });
            let mut ids: Vec<String> = compared.map(|artifact| artifact.id().to_owned()).collect();
            ids.sort();
            ids
        };
        prop_assert_eq!(ids(&there, true), expected(&left));
        prop_assert_eq!(ids(&there, false), expected(&right));
        prop_assert_eq!(ids(&back, true), expected(&right));
        prop_assert_eq!(there.is_same(), back.is_same());
        let count = |found: &MissionDiff, change: &PartChange| {
            found.tasks.iter().filter(|task| task.change == *change).count()
        };
        prop_assert_eq!(count(&there, &PartChange::Added), count(&back, &PartChange::Removed));
        prop_assert_eq!(count(&there, &PartChange::Same), count(&back, &PartChange::Same));
    }
}
