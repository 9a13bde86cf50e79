//! The work of the process that is killed: the engine over a data directory, and its users. It resumes from the state
//! in the directory.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use charter_contract::catalogue::evidence::{Attachment, EvidenceRecord};
use charter_contract::ids::{EvidenceRunId, PlaybookId, RequestId, RunId, StepId};
use charter_contract::package::PackageBundle;
use charter_domain::approval::ApprovalStatus;
use charter_domain::gate::RuleKind;
use charter_domain::graph::{GraphParts, Retry, Step, StepGraph};
use charter_domain::run::{Run, StepState};
use charter_store::SharedStore;
use charter_store::evidence::EvidenceFilter;
use charter_store::journal::{RunFilter, RunPhase, RunRecord};
use charter_store::page::PageRequest;
use charter_store::request::RequestRecord;
use charter_store_sql::sqlite::SqliteStore;
use charter_testkit::watched_store::{Side, WatchedStore};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::mission;
use super::outside::happened;
use super::playbook::{PLAYBOOK, Variation, approval_of};
use super::points::{Points, WatchedModels, WatchedTools, name_of};
use super::skill;
use crate::engine::tests::{engine, open, sandbox};
use crate::identity::caller::tests::person;
use crate::{
    ApprovalDecision, Confirmation, DryRun, Engine, Mode, Progress, RunView, Settings, ToolGrants,
};

/// How long the process waits for the engine before it gives up.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The request of [`Variation::Requested`] and [`Played::Skill`].
const REQUEST: &str = "req-01930000-0000-7000-8000-000000000031";

/// Delay before the first write is retried: long enough to be observed.
const RETRY_MS: u64 = 30;

/// The kind of play.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Played {
    /// A playbook's run.
    Playbook(Variation),
    /// A mission, with one change that it proposes.
    Mission,
    /// A request that a skill answers.
    Skill,
}

impl Played {
    fn package(self, address: &str) -> PackageBundle {
        match self {
            Self::Playbook(variation) => variation.package(address),
            Self::Mission => mission::package(address),
            Self::Skill => skill::package(address),
        }
    }
}

/// The input of a process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) played: Played,
    /// The data directory.
    pub(super) dir: PathBuf,
    /// The address of the ledgers, and this play's ledger.
    pub(super) address: String,
    pub(super) ledger: String,
    /// The point to die before, or after; none for a play to its end.
    pub(super) die_before: Option<usize>,
    pub(super) die_after: Option<usize>,
}

/// The file of the points that a process passes, one a line.
pub(super) const TRACE: &str = "trace";

/// Prepares a store of this directory with the package in force, as the start of every play.
pub(super) async fn prepare(dir: &Path, played: Played, address: &str) {
    let store = open(dir);
    let sandbox = sandbox(dir).await;
    let shared: SharedStore = Arc::<SqliteStore>::clone(&store);
    let models = Arc::new(charter_effects::NoModels);
    let engine = engine(shared, Arc::new(sandbox), models, Settings::default()).await;
    let (ann, package) = (person("ann"), played.package(address));
    let registered = engine.packages().register(&ann, package, Mode::Apply).await;
    registered.unwrap();
    engine.stop().await;
    drop(engine);
    store.close().await.unwrap();
}

/// One process of a play.
pub(super) struct Play {
    part: Part,
    pub(super) engine: Arc<Engine>,
    points: Arc<Points>,
}

/// Returns the state of a step, without the id of the approval that excluded it.
fn comparable(state: &StepState) -> Value {
    let mut shown = json!(state);
    if let Some(reason) = shown.get_mut("reason").and_then(Value::as_object_mut) {
        reason.remove("approval");
    }
    shown
}

/// Lets the engine work between two checks.
async fn until_the_next_look() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Plays to the end, or to the point of death. The returned value is compared across plays.
///
/// It leaves out times, digests and approval ids, and replaces the run's id, which every play draws anew, by `RUN`. It
/// also leaves out how often a step was attempted and how many people were asked, because a crash may change that. The
/// journal's events are returned beside it.
pub(super) async fn play(part: Part) -> Value {
    let death = part.die_before.map(|point| (point, Side::Before));
    let death = death.or(part.die_after.map(|point| (point, Side::After)));
    let trace = OpenOptions::new()
        .create(true)
        .append(true)
        .open(part.dir.join(TRACE));
    let points = Arc::new(Points::new(trace.unwrap(), death));
    let store = open(&part.dir);
    let watched = WatchedStore::new(store, Arc::<Points>::clone(&points));
    let tools = WatchedTools {
        inner: Arc::new(sandbox(&part.dir).await),
        points: Arc::clone(&points),
    };
    let settings = Settings {
        four_eyes: Some(true),
        grants: ToolGrants {
            environment: [("LEDGER".to_owned(), part.ledger.clone())].into(),
            egress: vec!["127.0.0.1:*".to_owned()],
            ..ToolGrants::default()
        },
        ..Settings::default()
    };
    let models = Arc::new(WatchedModels(Arc::clone(&points)));
    let engine = engine(Arc::new(watched), Arc::new(tools), models, settings).await;
    points.arm();
    engine.maintenance().recover().await.unwrap();
    let play = Play {
        part,
        engine,
        points,
    };
    let ended = tokio::time::timeout(TIMEOUT, play.to_the_end()).await;
    ended.unwrap_or_else(|_| panic!("the play stands still after {:?}", play.points.last()))
}

impl Play {
    async fn to_the_end(&self) -> Value {
        let variation = match self.part.played {
            Played::Playbook(variation) => variation,
            Played::Mission => return self.mission_to_the_end().await,
            Played::Skill => return self.skill_to_the_end().await,
        };
        if variation == Variation::Requested {
            let metadata = json!({"playbook_id": PLAYBOOK});
            self.ask("move the items", &metadata).await;
        }
        loop {
            let runs = self.runs().await;
            let Some(newest) = runs.last() else {
                self.start(variation).await;
                continue;
            };
            self.at_rest(&newest.run_id).await;
            let shown = self
                .engine
                .run_views()
                .show(&person("ann"), &newest.run_id)
                .await;
            let shown = shown.unwrap();
            if shown.state.outcome.is_none() {
                self.act(variation, &newest.run_id, &shown).await;
            } else if variation.is_undone() && runs.len() == 1 {
                let ann = person("ann");
                let undoing = self
                    .engine
                    .run_management()
                    .roll_back(&ann, &newest.run_id)
                    .await;
                undoing.unwrap();
            } else {
                return self.ended(variation).await;
            }
        }
    }

    /// Sends the request, unless that was done: an earlier process's open request is answered without being sent again.
    pub(super) async fn ask(&self, input: &str, metadata: &Value) {
        let ann = person("ann");
        loop {
            match self.asked().await {
                None => {
                    let request = json!({
                        "id": REQUEST, "timestamp": "2026-04-14T12:00:00Z", "input": input,
                        "metadata": metadata,
                    });
                    let request = serde_json::from_value(request).unwrap();
                    let answered =
                        self.engine
                            .requests()
                            .handle_request(&ann, request, Progress::silent());
                    answered.await.unwrap();
                }
                Some(record) if record.answer.is_some() => return,
                Some(_) => until_the_next_look().await,
            }
        }
    }

    /// Returns the recorded request.
    pub(super) async fn asked(&self) -> Option<RequestRecord> {
        let (id, ann) = (RequestId::parse(REQUEST).unwrap(), person("ann"));
        let found = self.engine.store().request(&ann.tenant, &id);
        found.await.unwrap()
    }

    /// Waits for the request's recorded result, and returns it with the number of its announcements.
    async fn result(&self) -> Value {
        let result = loop {
            match self.asked().await.unwrap().result {
                Some(result) => break result,
                None => until_the_next_look().await,
            }
        };
        // The point of a durable write has been passed, too.
        while self.points.last().is_none() {
            until_the_next_look().await;
        }
        let mut result: Value = serde_json::from_str(&result).unwrap();
        for change in result["metadata"]["changes"].as_array_mut().unwrap() {
            // Their ids follow from the run's, which every play draws anew.
            change["evidence_ids"] = json!(change["evidence_ids"].as_array().unwrap().len());
        }
        let messages = self.engine.store().messages(0, 1_000).await.unwrap();
        let announced = messages.iter().map(|message| &message.message.topic);
        let metadata = &result["metadata"];
        json!({
            "id": result["id"], "status": metadata["status"], "changes": metadata["changes"],
            "undone": metadata["undone"], "missing_evidence": metadata["missing_evidence"],
            "announced": announced.filter(|topic| *topic == "request.result").count(),
        })
    }

    /// Returns the runs, oldest first.
    pub(super) async fn runs(&self) -> Vec<RunRecord> {
        let page = PageRequest::new(None, 10);
        let (tenant, all) = (person("ann").tenant, RunFilter::default());
        let found = self.engine.store().runs(&tenant, &all, &page).await;
        let mut runs = found.unwrap().entries;
        runs.reverse();
        runs
    }

    /// Starts a run as `RunStartService::start_playbook` does, but with retries, which no playbook can declare.
    async fn start(&self, variation: Variation) {
        let ann = person("ann");
        let playbook = PlaybookId::parse(PLAYBOOK).unwrap();
        let run = RunId::from_uuid(Uuid::now_v7());
        let new =
            self.engine
                .run_starts()
                .playbook_run(&ann, &playbook, &Map::new(), DryRun::No, run);
        let mut new = new.unwrap();
        let mut parts = GraphParts::from(new.graph);
        parts.steps[1].retry = Retry {
            retries: u32::from(variation.is_sequence()),
            delay_ms: RETRY_MS,
        };
        new.graph = StepGraph::new(parts).unwrap();
        self.engine.runs().start(new).await.unwrap();
    }

    /// Waits until the engine is idle, so that the points of two plays are the same: nothing is running when a person
    /// acts.
    pub(super) async fn at_rest(&self, run: &RunId) {
        loop {
            let found = self.engine.store().run(&person("ann").tenant, run).await;
            let phase = found.unwrap().unwrap().phase;
            let given_back = |last: String| match phase {
                // A run that requested approvals releases its calls after its end.
                RunPhase::Finished => {
                    matches!(last.as_str(), "" | "release_calls" | "record_result")
                }
                RunPhase::Runnable | RunPhase::Waiting => {
                    last.is_empty()
                        || last == "park"
                        || last.starts_with("append")
                        || last.starts_with("create_held_run")
                        || last == "close_request"
                        || last == "record_result"
                }
            };
            let given_back = self.points.last().is_some_and(given_back);
            if given_back && phase != RunPhase::Runnable {
                return;
            }
            until_the_next_look().await;
        }
    }

    /// Does the action of a person for a run that waits for one.
    pub(super) async fn act(&self, variation: Variation, run: &RunId, shown: &RunView) {
        let (ann, bob) = (person("ann"), person("bob"));
        if !shown.state.missing.is_empty() {
            let given = Map::from_iter([("first".to_owned(), json!(variation.first_item()))]);
            let given = self
                .engine
                .run_management()
                .give_parameters(&ann, run, &given)
                .await;
            given.unwrap();
        } else if shown.state.confirm {
            let confirmation = Confirmation {
                digest: shown.state.plan_digest.to_string(),
                typed: None,
            };
            let confirmed = self
                .engine
                .run_management()
                .confirm(&ann, run, confirmation)
                .await;
            confirmed.unwrap();
        } else {
            let mut approvals = shown.approvals.iter();
            let asked = approvals.find(|asked| asked.state == ApprovalStatus::Pending);
            let asked = asked.unwrap_or_else(|| panic!("nothing to do about {shown:#?}"));
            let may_have_happened = asked
                .rules
                .iter()
                .any(|rule| rule.kind == RuleKind::Interrupted);
            let key = format!("{run}/{}", asked.call.step);
            let may_repeat =
                !may_have_happened || !happened(&self.part.address, &self.part.ledger, &key);
            let say = ApprovalDecision {
                // Repeated only if it did not happen, according to the ledger.
                answer: if may_repeat {
                    approval_of(asked)
                } else {
                    variation.of_what_happened(&asked.call)
                },
                digest: asked.digest.to_string(),
                reason: None,
            };
            let decided = self
                .engine
                .approvals()
                .decide(&bob, &asked.approval_id, say)
                .await;
            decided.unwrap();
        }
    }

    /// Returns the run's evidence: each step that succeeded, once, with its output.
    async fn proved(&self, record: &RunRecord, run: &Run) -> BTreeMap<String, Value> {
        let attached_to = Attachment {
            run_id: EvidenceRunId::parse(record.run_id.as_ref()).ok(),
            ..Attachment::default()
        };
        let filter = EvidenceFilter {
            attached_to: Some(attached_to),
            ..EvidenceFilter::default()
        };
        let page = PageRequest::new(None, 100);
        let store = self.engine.store();
        let found = store.find_evidence(&record.tenant_id, &filter, &page).await;
        let records = found.unwrap().entries;
        let shows = |record: &EvidenceRecord| {
            let step = record.payload["run"]["step"].as_str().unwrap();
            (step.to_owned(), record.payload["output"].clone())
        };
        let proved: BTreeMap<String, Value> = records.iter().map(shows).collect();
        assert_eq!(proved.len(), records.len(), "a step is proved twice");
        // The outputs of the items of a list are proved, and not their collection.
        let repeats = |step: &StepId| run.graph().step(step).is_some_and(Step::repeats);
        let succeeded = run.outputs().iter().filter(|(step, _)| !repeats(step));
        let outputs = succeeded.map(|(step, output)| (step.to_string(), output.clone()));
        assert_eq!(proved, outputs.collect(), "{:?}", run.outcome());
        proved
    }

    async fn ended(&self, variation: Variation) -> Value {
        let (mut states, mut events) = (Vec::new(), Vec::new());
        let runs = self.runs().await;
        for record in &runs {
            let run = self
                .engine
                .journals()
                .fold(&record.tenant_id, &record.run_id)
                .await
                .unwrap()
                .run;
            let states_of_steps: Map<String, Value> = run
                .steps()
                .states()
                .map(|(step, state)| (step.to_string(), comparable(state)))
                .collect();
            let written: Vec<String> = run
                .steps()
                .written()
                .map(|step| step.id.to_string())
                .collect();
            let ann = person("ann");
            let shown = self.engine.run_views().show(&ann, &record.run_id);
            let replayed = self
                .engine
                .run_views()
                .replay(&ann, &record.run_id)
                .await
                .unwrap();
            states.push(json!({
                "status": run.status(), "recorded": record.status, "outcome": run.outcome(),
                "steps": states_of_steps, "parameters": run.parameters(),
                "outputs": run.outputs(), "written": written,
                "open": shown.await.unwrap().approvals, "diverges": replayed.divergence,
                "proved": self.proved(record, &run).await,
            }));
            let history = self
                .engine
                .journals()
                .history(&record.tenant_id, &record.run_id)
                .await
                .unwrap();
            events.extend(history.iter().map(|event| name_of(&json!(event))));
        }
        if variation == Variation::Requested {
            states.push(self.result().await);
        }
        let text = json!(states)
            .to_string()
            .replace(runs[0].run_id.as_ref(), "RUN");
        let states: Value = serde_json::from_str(&text).unwrap();
        json!({"states": states, "events": events})
    }
}
