//! Conversations over a real store: the question or offer of a turn, and the effect of the next one.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use charter_contract::agentic::request::AgentRequest;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{RequestId, RunId, SessionId};
use charter_contract::package::PackageBundle;
use charter_contract::run_status::RunStatus;
use charter_effects::{NoModels, ToolCall, ToolOutcome, ToolRunner};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{Meaning, meaning_of};
use crate::conversation::requests::offered::Offer;
use crate::engine::tests::{engine, open};
use crate::identity::caller::tests::person;
use crate::{AccessScope, AccessScopes, Caller, Engine, EngineError, Mode, Progress, Settings};

const USAGE: &str = "reliability.usage";
const TEAM_SKILL: &str = "reliability.team";
const RESTART: &str = "reliability.restart";

/// A tool that records its calls.
#[derive(Default)]
struct Echo {
    calls: Mutex<Vec<Map<String, Value>>>,
}

#[async_trait]
impl ToolRunner for Echo {
    async fn run(&self, call: ToolCall, _: CancellationToken) -> ToolOutcome {
        self.calls.lock().unwrap().push(call.parameters);
        ToolOutcome::Succeeded {
            output: json!({"hosts": []}),
            log: String::new(),
            duration_ms: 1,
        }
    }
}

fn tool(name: &str, class: &str, parameters: &str) -> String {
    format!(
        "tool_id: yard.{name}\nname: {name}\nprovider: yard\ntool_class: {class}\ndomain: reliability\n\
         description: The {name} of the yard.\nlanguage: python\nexecution_target: server\n\
         parameters: [{parameters}]\nimplementation: {{type: script, body: \"pass\"}}\n"
    )
}

fn skill(id: &str, tool: &str, about: &str) -> String {
    let name = id.strip_prefix("reliability.").unwrap();
    format!(
        "skill_id: {id}\nname: {name}\ndomain: reliability\ndisplay_name: {about}\ndescription: {about}.\n\
         purpose: {about}\noutput_type: finding\nexecution_plan:\n  steps:\n    \
         - {{step_id: s1, type: read, tool_id: yard.{tool}, cache_ttl_seconds: 0}}\n"
    )
}

fn package() -> PackageBundle {
    const PROFILE: &str =
        "{name: profile, type: string, required: true, description: the profile, example: ops_ro}";
    const REGION: &str = "{name: region, type: string, required: true, description: the region, \
                          pattern: \"^[a-z]{2}(-[a-z]+)+-[0-9]$\"}";
    const TEAM: &str = "{name: team, type: string, required: true, description: the team}";
    const HOST: &str =
        "{name: host, type: string, required: true, description: the host, example: web-07}";
    let restart = format!(
        "playbook_id: {RESTART}\nname: Restart a host\ndomain: reliability\n\
         trigger_conditions: [a host has to be restarted]\nexamples: [restart the host]\n\
         target_language: python\nmandatory_parameters: [{HOST}]\n\
         steps: [{{step_id: s1, type: write, tool_id: yard.restart, on_failure: stop, \
         parameters: {{host: \"${{user.host}}\"}}}}]\n\
         safety: {{safety_class: supervised}}\n"
    );
    let files = json!({"files": {
        "package.yaml": "name: yard\nversion: 1.0.0\ntitle: Yard\nscope: tenant\n",
        "tools/usage.yaml": tool("usage", "readonly", &format!("{PROFILE}, {REGION}")),
        "tools/team.yaml": tool("team", "readonly", TEAM),
        "tools/restart.yaml": tool("restart", "write", HOST),
        "skills/usage.yaml": skill(USAGE, "usage", "Network traffic of machines"),
        "skills/team.yaml": skill(TEAM_SKILL, "team", "Duties of people"),
        "playbooks/restart.yaml": restart,
    }});
    serde_json::from_value(files).unwrap()
}

/// A session with an engine.
struct Talk {
    engine: Arc<Engine>,
    echo: Arc<Echo>,
    session: SessionId,
    ann: Caller,
    _dir: TempDir,
}

/// An answer, with the id of its request.
struct Answered {
    request: RequestId,
    content: String,
    metadata: Map<String, Value>,
}

impl Answered {
    fn run(&self) -> RunId {
        RunId::parse(self.metadata["run_ids"][0].as_str().unwrap()).unwrap()
    }

    #[track_caller]
    fn begins(&self, text: &str) {
        assert!(self.content.starts_with(text), "{}", self.content);
    }
}

impl Talk {
    async fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let echo = Arc::<Echo>::default();
        let tools = Arc::<Echo>::clone(&echo);
        let models = Arc::new(NoModels);
        let engine = engine(open(dir.path()), tools, models, Settings::default()).await;
        let ann = person("ann");
        let registered = engine.packages().register(&ann, package(), Mode::Apply);
        registered.await.unwrap();
        let session = engine.sessions().open_session(&ann).await.unwrap().session_id;
        Self {
            engine,
            echo,
            session,
            ann,
            _dir: dir,
        }
    }

    async fn try_to_say(&self, text: &str, metadata: Value) -> Result<Answered, EngineError> {
        let request: AgentRequest = serde_json::from_value(json!({
            "id": RequestId::from_uuid(Uuid::now_v7()), "timestamp": self.engine.now(),
            "session_id": self.session, "input": text, "metadata": metadata,
        }))
        .unwrap();
        let id = request.id.clone();
        let answer = self
            .engine
            .requests()
            .handle_request(&self.ann, request, Progress::silent());
        let answer = answer.await?;
        Ok(Answered {
            request: id,
            content: answer.content,
            metadata: answer.metadata.unwrap_or_default().extra,
        })
    }

    async fn say(&self, text: &str) -> Answered {
        let answer = self.try_to_say(text, json!({})).await;
        answer.unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    async fn asks_for_values(&self, text: &str, document: Value) {
        let refused = self.try_to_say(text, document).await.err().unwrap();
        assert_eq!(refused.code, ErrorCode::MissingParameters, "{refused}");
    }

    async fn status(&self, run: &RunId) -> RunStatus {
        let shown = self.engine.run_views().show(&self.ann, run).await.unwrap();
        shown.summary.status
    }

    fn calls(&self) -> Vec<Value> {
        let calls = self.echo.calls.lock().unwrap().clone();
        calls.into_iter().map(Value::Object).collect()
    }
}

/// The sources of parameters by name, e.g. `profile sentence`.
fn sources(answer: &Answered) -> Vec<String> {
    let shown = answer.metadata["parameters"].as_array().unwrap().iter();
    let told = shown.map(|one| {
        let text = |field: &str| one[field].as_str().unwrap();
        format!("{} {}", text("name"), text("from"))
    });
    told.collect()
}

/// B003-11: a turn with only values continues the request that lacked them.
#[tokio::test(flavor = "multi_thread")]
async fn b003_11_a_turn_of_values_gives_the_request_before_it_what_it_lacked() {
    let talk = Talk::new().await;
    let usage = || json!({"skill_id": USAGE});
    talk.asks_for_values("traffic of machines in eu-west-1", usage())
        .await;
    let answer = talk.say("profile prod_infra").await;
    assert_eq!(sources(&answer), ["profile sentence", "region session"]);
    let called = json!({"profile": "prod_infra", "region": "eu-west-1"});
    assert_eq!(talk.calls(), [called]);
    assert!(answer.metadata["verdict"]["follow_up"]["request_id"].is_string());

    // Each reply gives one of two values; the second continues with both.
    talk.asks_for_values("traffic of machines", usage()).await;
    talk.asks_for_values("us-east-1", json!({})).await;
    let answer = talk.say("night_ro").await;
    assert_eq!(sources(&answer), ["profile sentence", "region session"]);
    let called = json!({"profile": "night_ro", "region": "us-east-1"});
    assert_eq!(talk.calls()[1..], [called]);

    // Words that give no value lead to a question, and a request of another kind is independent.
    talk.asks_for_values("traffic of machines with profile prod_infra", usage())
        .await;
    let refused = talk
        .try_to_say("region: mars", json!({}))
        .await
        .err()
        .unwrap();
    assert!(refused.message.contains("`mars`"), "{refused}");
    let answer = talk.say("thanks a lot").await;
    answer.begins("Nothing was looked up or changed: it is a greeting");
    assert_eq!(talk.calls().len(), 2);
}

/// A text without a form of its own is the one missing value, if it is no question or command.
#[tokio::test(flavor = "multi_thread")]
async fn b003_11_a_short_text_is_the_one_value_that_is_missing() {
    let talk = Talk::new().await;
    let team = || json!({"skill_id": TEAM_SKILL});
    talk.asks_for_values("what has everybody to do", team())
        .await;
    let answer = talk.say("night shift").await;
    assert_eq!(sources(&answer), ["team sentence"]);
    assert_eq!(talk.calls(), [json!({"team": "night shift"})]);
}

/// A run that waits for parameters gets them. The plan that waits is shown and never confirmed by a word, and a no
/// cancels it.
#[tokio::test(flavor = "multi_thread")]
async fn b003_11_a_plan_that_waits_is_filled_in_shown_and_cancelled() {
    let talk = Talk::new().await;
    let restart = json!({"playbook_id": RESTART});
    let asked = talk.try_to_say("restart the host", restart).await.unwrap();
    assert_eq!(asked.metadata["status"], "awaiting_parameters");
    let run = asked.run();
    let filled = talk.say("web-01").await;
    assert_eq!(
        (&filled.metadata["status"], filled.run()),
        (&json!("awaiting_confirmation"), run.clone())
    );
    assert_eq!(sources(&filled), ["host sentence"]);
    for agreement in ["yes", "confirm", "do it", "ok"] {
        let shown = talk.say(agreement).await;
        assert_eq!(shown.run(), run, "{agreement}");
        let how = format!("Confirm exactly this plan: charter runs confirm {run} --digest ");
        assert!(shown.content.contains(&how), "{}", shown.content);
        assert_eq!(talk.status(&run).await, RunStatus::AwaitingConfirmation);
    }
    let cancelled = talk.say("never mind").await;
    assert_eq!(cancelled.run(), run);
    assert_eq!(talk.status(&run).await, RunStatus::Aborted);
    // Nothing is waiting now.
    let nothing = talk.say("yes").await;
    nothing.begins("Nothing was looked up or changed: it refers to an earlier message.");
    assert!(talk.calls().is_empty());
}

/// A key that may ask but not manage runs sees the plan, and cannot change it.
#[tokio::test(flavor = "multi_thread")]
async fn b003_11_a_reply_steers_a_run_only_with_the_scope_for_it() {
    let mut talk = Talk::new().await;
    let restart = json!({"playbook_id": RESTART});
    let text = "restart the host web-01";
    let run = talk.try_to_say(text, restart).await.unwrap().run();
    talk.ann.scopes = AccessScopes::Only([AccessScope::RequestsWrite].into());
    let shown = talk.say("cancel").await;
    assert_eq!(shown.run(), run);
    assert_eq!(talk.status(&run).await, RunStatus::AwaitingConfirmation);
}

/// A yes to the only complete offer shows its plan, which waits for confirmation.
#[tokio::test(flavor = "multi_thread")]
async fn b003_11_an_offer_is_taken_up_filled_in_or_declined() {
    let talk = Talk::new().await;
    let whole = "restart the host web-01 next week";
    let offered = talk.say(whole).await;
    offered.begins("Nothing was started: it is for later.");
    assert_eq!(
        offered.metadata["offers"][0]["parameters"],
        json!({"host": "web-01"})
    );
    let noted = talk.say("ok").await;
    noted.begins("Nothing was started: it does not clearly agree.");
    let plan = talk.say("yes").await;
    assert_eq!(plan.metadata["status"], "awaiting_confirmation");
    assert_eq!(sources(&plan), ["host session"]);

    // An offer that lacks a value is repeated until it has it.
    talk.say("restart the host next week").await;
    let again = talk.say("go ahead").await;
    again.begins(&format!("Nothing was started: `{RESTART}` needs host."));
    let filled = talk.say("web-03").await;
    assert_eq!(
        filled.metadata["offers"],
        json!([{"playbook_id": RESTART, "title": "Restart a host", "parameters": {"host": "web-03"}, "missing": []}])
    );
    let plan = talk.say("the first one").await;
    assert_eq!(plan.metadata["status"], "awaiting_confirmation");
    assert_ne!(plan.request, filled.request);

    talk.say(whole).await;
    let declined = talk.say("no thanks").await;
    declined.begins("Nothing was looked up or changed: it declines the offer");
    assert!(!declined.content.contains("You can ask"));
    let nothing = talk.say("yes").await;
    assert_eq!(nothing.metadata.get("run_ids"), None);
    assert!(talk.calls().is_empty());
}

/// A text chooses one of several offers by its number or its name alone.
#[test]
fn a_text_agrees_or_names_one_of_several_offers() {
    let offer = |id: &str, title: &str| -> Offer {
        serde_json::from_value(json!({
            "playbook_id": id, "title": title, "parameters": {}, "missing": [],
        }))
        .unwrap()
    };
    let offers = [
        offer("ops.restart", "Restart a host"),
        offer("ops.drain", "Drain a host"),
    ];
    for (text, says) in [
        ("the second one", "ops.drain"),
        ("1", "ops.restart"),
        ("drain it", "ops.drain"),
        ("ops.restart please", "ops.restart"),
        ("yes", "assents"),
        ("don't", "assents"),
        ("restart a host next week", "nothing"),
        ("which hosts are down", "nothing"),
    ] {
        let found = match meaning_of(text, &offers) {
            Some(Meaning::Chooses(offer)) => offer.playbook().to_string(),
            Some(Meaning::Assents(_)) => "assents".to_owned(),
            None => "nothing".to_owned(),
        };
        assert_eq!(found, says, "{text}");
    }
}
