//! One answer from several skills.

use std::collections::BTreeSet;

use charter_contract::ids::RequestId;
use serde_json::{Value, json};

use super::rig::{Answered, BROAD, Rig, drafting, gates, refusing};
use crate::Settings;
use crate::identity::caller::tests::person;

fn two() -> Settings {
    Settings {
        broad_skills: 2,
        ..Settings::default()
    }
}

async fn both(rig: &Rig) -> Answered {
    let asked = rig.request(1, BROAD, json!({"flow": "read_broad"}));
    let answered = asked.await.unwrap();
    assert_eq!(answered.metadata("flow"), "read_broad");
    answered
}

/// A common finding of two skills is one finding, with the evidence of both.
fn assert_one_list(answered: &Answered) {
    assert_eq!(answered.found(), ["gate-7", "gate-9"]);
    for finding in answered.metadata("findings").as_array().unwrap() {
        let evidence = finding["evidence_ids"].as_array().unwrap();
        assert_eq!(evidence.len(), 2, "{finding}");
    }
    let content = answered.content();
    assert_eq!(content.matches("- [high] gate-7").count(), 1, "{content}");
    let (high, low) = (content.find("[high]"), content.find("[low]"));
    assert!(high < low, "{content}");
}

/// The results of several skills are analysed together, in a separate run; every citation is in the answer.
#[tokio::test(flavor = "multi_thread")]
async fn the_results_of_several_skills_are_analysed_together() {
    let drafted = drafting(&[
        ("Gate gate-7 is open.", &["f3"]),
        ("4 findings were made in all.", &["f1", "f2", "f3", "f4"]),
    ]);
    let rig = Rig::with(&drafted, gates(), "soft_warn", two()).await;
    let answered = both(&rig).await;
    assert_one_list(&answered);
    assert_eq!(drafted.calls(), 1);
    let asked = drafted.asked();
    let skills: BTreeSet<&str> = asked[0].context["skills"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|skill| skill["skill"].as_str())
        .collect();
    assert_eq!(
        skills,
        BTreeSet::from(["reliability.fence", "reliability.gates"])
    );
    let listed: Vec<&Value> = answered
        .metadata("findings")
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| &finding["finding_id"])
        .collect();
    let sentences = answered.metadata("sentences").as_array().unwrap();
    assert_eq!(sentences.len(), 2);
    for cited in sentences
        .iter()
        .flat_map(|one| one["finding_ids"].as_array().unwrap())
    {
        assert!(listed.contains(&cited), "{cited}");
    }
    // The skills' runs, and that of the analysis.
    let runs = answered.runs();
    assert_eq!(runs.len(), 3);
    let analysis = answered.metadata("analysis");
    assert_eq!(analysis["run_id"], json!(runs[2]));
    let shown = rig
        .engine
        .run_views()
        .show(&person("ann"), &runs[2])
        .await
        .unwrap();
    assert_eq!(shown.state.steps.len(), 1);
    let request = RequestId::parse("req-01930000-0000-7000-8000-000000000001").unwrap();
    let ann = person("ann");
    let named = rig
        .engine
        .request_views()
        .request_runs(&ann, &request)
        .await;
    assert_eq!(named.unwrap(), runs);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_skills_make_one_answer_where_the_model_fails() {
    let rig = Rig::with(&refusing(), gates(), "soft_warn", two()).await;
    let answered = both(&rig).await;
    assert_one_list(&answered);
    assert_eq!(answered.notices().len(), 1, "{:?}", answered.warnings());
}
