//! The mission of the play: a worker that reads, one that continues from its results, and one change.

use charter_contract::ids::MissionId;
use charter_contract::package::PackageBundle;
use charter_domain::run::Run;
use charter_store::mission::ArtifactFilter;
use serde_json::{Value, json};

use super::play::Play;
use super::playbook::Variation;
use super::points::name_of;
use crate::identity::caller::tests::person;

const MISSION: &str = "killed";

/// Time fields of artifacts: a play that was interrupted takes longer.
const TIMES: [&str; 3] = ["created_at", "expires_at", "retrieved_at"];

/// The ledger's tools, a policy that lets missions read, and the mission type.
pub(super) fn package(address: &str) -> PackageBundle {
    let mut files = serde_json::to_value(Variation::Repeatable.package(address)).unwrap();
    let policy = "policy_id: items.missions\ntitle: Missions read\ngoverns: [ledger.read]\n\
                  cedar: |\n  @id(\"reads\")\n  permit (principal, action in Action::\"read\", resource);\n";
    let kind = "mission_type: items.brief\ndomain: reliability\ntitle: Items\ndescription: What moves.\n\
                sensitivity_class: internal\n\
                resource_families:\n  items: {description: Items., tools: [ledger.read]}\n\
                outline:\n\
                \x20 - {task_id: look, role_type: worker, objective: Look at the items, allowed_tools: [ledger.read]}\n\
                \x20 - {task_id: weigh, role_type: worker, objective: Weigh what was seen, depends_on: [look]}\n\
                write_backs:\n\
                \x20 - action_type: move\n    target_entity_type: item\n    description: Moves an item.\n\
                \x20   by: {tool: ledger.write}\n    parameters: {item: \"${target_entity_id}\"}\n\
                \x20   target: {tool: ledger.read}\n";
    files["files"]["policies/missions.yaml"] = json!(policy);
    files["files"]["missions/brief.yaml"] = json!(kind);
    serde_json::from_value(files).unwrap()
}

impl Play {
    pub(super) async fn mission_to_the_end(&self) -> Value {
        let (ann, mission) = (person("ann"), MissionId::parse(MISSION).unwrap());
        loop {
            let runs = self.runs().await;
            let Some(run) = runs.last() else {
                let order = json!({
                    "goal": "Which items move?", "mission_type": "items.brief", "mission_id": MISSION,
                    "context_refs": {"item": "sound"},
                });
                let order = serde_json::from_value(order).unwrap();
                self.engine.missions().start(&ann, &order).await.unwrap();
                continue;
            };
            self.at_rest(&run.run_id).await;
            let shown = self
                .engine
                .run_views()
                .show(&ann, &run.run_id)
                .await
                .unwrap();
            if shown.state.outcome.is_none() {
                self.act(Variation::Repeatable, &run.run_id, &shown).await;
                continue;
            }
            let filter = ArtifactFilter::default();
            let artifacts = self
                .engine
                .mission_views()
                .artifacts(&ann, &mission, filter, 0, 100);
            let entries = artifacts.await.unwrap().entries.into_iter();
            let mut artifacts = Value::from_iter(entries.map(|shown| shown.artifact));
            without_times(&mut artifacts);
            let folded: Run = self
                .engine
                .journals()
                .fold(&run.tenant_id, &run.run_id)
                .await
                .unwrap()
                .run;
            let replayed = self
                .engine
                .mission_views()
                .replay(&ann, &mission)
                .await
                .unwrap();
            let mut shown = json!(
                self.engine
                    .mission_views()
                    .show(&ann, &mission)
                    .await
                    .unwrap()
            );
            without_times(&mut shown);
            // An interrupted play has more of them.
            shown["events"].take();
            let history = self
                .engine
                .journals()
                .history(&run.tenant_id, &run.run_id)
                .await
                .unwrap();
            let events: Vec<String> = history.iter().map(|event| name_of(&json!(event))).collect();
            let states = json!({
                "mission": shown, "artifacts": artifacts, "tokens": folded.tokens(),
                "identical": replayed.identical, "divergence": replayed.divergence,
            });
            return json!({"states": states, "events": events});
        }
    }
}

fn without_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !TIMES.contains(&name.as_str()) && name != "updated_at");
            fields.values_mut().for_each(without_times);
        }
        Value::Array(items) => items.iter_mut().for_each(without_times),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
