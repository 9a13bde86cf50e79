//! Results that no page shows leave no evidence. A model still puts them into words.

use serde_json::json;

use super::rig::{Rig, drafting, models};

/// An output is data with its own id, which sentences, findings and totals may cite.
#[tokio::test(flavor = "multi_thread")]
async fn results_without_evidence_are_put_into_words() {
    let drafted = drafting(&[
        ("3 gates were looked at.", &["o1"]),
        ("Gate gate-7 is open.", &["f1"]),
        ("2 findings were made.", &["t1"]),
    ]);
    let rig = Rig::new(&drafted).await;
    let answered = rig.ask("ours").await;
    assert_eq!(answered.metadata("evidence_ids"), &json!([]));
    let said = "3 gates were looked at. [1] Gate gate-7 is open. [2] 2 findings were made. [1]";
    let content = answered.content();
    assert!(content.starts_with(said), "{content}");
    let run = &answered.runs()[0];
    assert!(
        content.contains(&format!("[1] output of s1 ({run})")),
        "{content}"
    );
    for sentence in answered.metadata("sentences").as_array().unwrap() {
        assert_eq!(sentence["outputs"], json!([format!("{run}/s1")]));
        assert_eq!(sentence["evidence_ids"], json!(null));
    }
    let context = &drafted.asked()[0].context;
    let shown = &context["evidence"][0];
    assert_eq!(shown["id"], "o1", "{context:#}");
    assert_eq!(shown["output"]["gates"][0]["id"], "gate-9");
    assert_eq!(shown["findings"], json!(["f1", "f2"]));
}

/// A finding that a model states from such a result is about an existing resource, and the answer warns that it has no
/// proof.
#[tokio::test(flavor = "multi_thread")]
async fn a_finding_that_is_stated_without_evidence_is_warned_about() {
    let drafted = models(|_, _| {
        let stated = |resource: &str| {
            json!({
                "severity": "high", "resource_type": "gate", "resource_id": resource, "values": {},
                "cites": ["o1"],
            })
        };
        Ok(json!({"sentences": [], "findings": [stated("gate-7"), stated("gate-77")]}))
    });
    let rig = Rig::new(&drafted).await;
    let answered = rig.ask("seen").await;
    assert_eq!(answered.found(), ["gate-7"]);
    let warnings = answered.warnings();
    let warning = "1 finding(s) without evidence: gate gate-7";
    assert!(warnings.contains(&warning), "{warnings:?}");
}
