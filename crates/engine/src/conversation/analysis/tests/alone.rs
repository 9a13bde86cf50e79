//! Answers without a model: unchanged outputs, evidence of tools that declare none, and hints of playbooks.

use charter_contract::ids::EvidenceId;
use charter_contract::text::HttpsUrl;
use serde_json::json;

use super::rig::{Rig, gates, refusing};
use crate::Settings;
use crate::identity::caller::tests::person;

/// A skill without rules and without a model shows its outputs: their parts, their sizes, and a table.
#[tokio::test(flavor = "multi_thread")]
async fn a_skill_without_rules_shows_what_its_tools_answered() {
    let rig = Rig::new(&refusing()).await;
    let answered = rig.ask("plain").await;
    let content = answered.content();
    assert!(content.contains("The gates of the yard:"), "{content}");
    assert!(content.contains("gates: 3 items."), "{content}");
    assert!(content.contains("| gate-7 | street | open |"), "{content}");
    assert!(!content.contains("tool call"), "{content}");
    assert_eq!(answered.metadata("findings"), &json!([]));
}

/// A tool that declares no evidence leaves the record of an API call in the console of its service.
#[tokio::test(flavor = "multi_thread")]
async fn b000_22_a_tool_without_an_evidence_block_leaves_evidence() {
    let rig = Rig::new(&refusing()).await;
    let answered = rig.ask("plain").await;
    let ids = answered.metadata("evidence_ids");
    let id = EvidenceId::parse(ids[0].as_str().unwrap()).unwrap();
    let record = rig
        .engine
        .evidence()
        .get(&person("ann"), &id)
        .await
        .unwrap();
    let record = serde_json::to_value(record).unwrap();
    assert_eq!(record["type"], "api_call");
    assert_eq!(record["source"]["system"], "aws.ec2");
    let href = record["console_links"][0]["href"].as_str().unwrap();
    assert!(href.contains("console.aws.amazon.com"), "{href}");
}

/// B000-22: if no page shows the original there is no record, and the answer warns of findings without proof. With an
/// https address of this server, the run's own page counts.
#[tokio::test(flavor = "multi_thread")]
async fn b000_22_findings_without_evidence_are_reported() {
    let rig = Rig::new(&refusing()).await;
    let answered = rig.ask("own").await;
    assert_eq!(answered.metadata("evidence_ids"), &json!([]));
    let warnings = answered.warnings();
    let has = |text: &str| warnings.iter().any(|warning| warning.contains(text));
    assert!(has("`yard.look` left no evidence"), "{warnings:?}");
    assert!(
        has("2 finding(s) without evidence: gate gate-7, gate gate-9"),
        "{warnings:?}"
    );
    let run = rig
        .engine
        .run_views()
        .show(&person("ann"), &answered.runs()[0])
        .await;
    assert_eq!(json!(run.unwrap().unproven), json!(["yard.look"]));

    let settings = Settings {
        public_url: Some(HttpsUrl::parse("https://charter.example/").unwrap()),
        ..Settings::default()
    };
    let rig = Rig::with(&refusing(), gates(), "soft_warn", settings).await;
    let answered = rig.ask("own").await;
    assert_eq!(answered.warnings(), [""; 0]);
    let ids = answered.metadata("evidence_ids");
    let id = EvidenceId::parse(ids[0].as_str().unwrap()).unwrap();
    let record = rig
        .engine
        .evidence()
        .get(&person("ann"), &id)
        .await
        .unwrap();
    let page = format!(
        "https://charter.example/console/runs/{}",
        answered.runs()[0]
    );
    assert_eq!(record.console_links[0].href.as_str(), page);
    assert_eq!(record.source.system.as_str(), "yard.gates");
}

/// The hints of a playbook are shown with its plan, for the person who confirms it.
#[tokio::test(flavor = "multi_thread")]
async fn the_hints_of_a_playbook_stand_with_its_plan() {
    let rig = Rig::new(&refusing()).await;
    let asked = rig.request(1, "Lock it.", json!({"playbook_id": "reliability.lock"}));
    let answered = asked.await.unwrap();
    let hints = json!(["Lock the street side first."]);
    assert_eq!(answered.metadata("approach_hints"), &hints);
    assert!(
        answered
            .content()
            .contains("\nHint: Lock the street side first."),
        "{}",
        answered.content()
    );
    let run = &answered.runs()[0];
    let shown = rig
        .engine
        .run_views()
        .show(&person("ann"), run)
        .await
        .unwrap();
    assert_eq!(json!(shown.approach_hints), hints);
}
