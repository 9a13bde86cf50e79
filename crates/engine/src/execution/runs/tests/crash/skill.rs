//! The skill of the play: one read, whose result leaves evidence.

use charter_contract::package::PackageBundle;
use charter_store::evidence::EvidenceFilter;
use charter_store::page::PageRequest;
use serde_json::{Value, json};

use super::play::Play;
use super::playbook::Variation;
use super::points::name_of;
use crate::identity::caller::tests::person;

const SKILL: &str = "reliability.count_items";

/// The ledger's tools, and a skill without rules.
pub(super) fn package(address: &str) -> PackageBundle {
    let mut files = serde_json::to_value(Variation::Repeatable.package(address)).unwrap();
    let skill = format!(
        "skill_id: {SKILL}\nname: count_items\ndomain: reliability\ndisplay_name: Count items\n\
         description: Counts the items.\npurpose: count the items\noutput_type: finding\n\
         examples: [count the items]\nexecution_plan:\n  steps:\n    \
         - {{step_id: s1, type: read, tool_id: ledger.read, description: The items, parameters: {{}}}}\n\
         analysis: {{findings: []}}\n"
    );
    files["files"]["skills/count.yaml"] = json!(skill);
    serde_json::from_value(files).unwrap()
}

impl Play {
    pub(super) async fn skill_to_the_end(&self) -> Value {
        let metadata = json!({"skill_id": SKILL});
        self.ask("count the items", &metadata).await;
        let (ann, asked) = (person("ann"), self.asked().await.unwrap());
        let answer: Value = serde_json::from_str(&asked.answer.unwrap()).unwrap();
        let runs = self.runs().await;
        let [record] = &runs[..] else {
            panic!("{runs:#?}");
        };
        let (journals, views) = (self.engine.journals(), self.engine.run_views());
        let history = journals.history(&ann.tenant, &record.run_id).await.unwrap();
        let events: Vec<String> = history.iter().map(|event| name_of(&json!(event))).collect();
        let replayed = views.replay(&ann, &record.run_id).await.unwrap();
        let (all, page) = (EvidenceFilter::default(), PageRequest::new(None, 10));
        let store = self.engine.store();
        let found = store.find_evidence(&ann.tenant, &all, &page).await.unwrap();
        let evidence = Value::from_iter(found.entries.iter().map(|record| record.id.as_str()));
        let states = json!({
            "status": record.status, "diverges": replayed.divergence, "evidence": evidence,
            "cited": answer["metadata"]["evidence_ids"],
        });
        json!({"states": states, "events": events})
    }
}
