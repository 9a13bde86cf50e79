//! The services of conversations without missions.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::agentic::request::AgentRequest;
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::tags::Flow;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{DocumentId, RequestId, RunId, SessionId};
use charter_contract::package::PackageBundle;
use charter_contract::route_example::RoutedKind;
use charter_effects::{ToolCall, ToolOutcome, ToolRunner};
use charter_store::SharedStore;
use charter_store::page::PageRequest;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::conversation::candidates::Miss;
use crate::engine::tests::{ConversationRig, conversation, open, ports};
use crate::identity::caller::tests::person;
use crate::{
    Course, EngineError, Mode, Progress, Settings, TaskFilter, TaskKey, TaskMessage, TaskState,
};

const TIMEOUT: Duration = Duration::from_secs(60);

const LOOK: &str = "reliability.look";
const SHUT: &str = "reliability.shut";

/// Answers every call.
struct Answering;

#[async_trait]
impl ToolRunner for Answering {
    async fn run(&self, _call: ToolCall, _cancel: CancellationToken) -> ToolOutcome {
        ToolOutcome::Succeeded {
            output: json!({"doors": []}),
            log: String::new(),
            duration_ms: 1,
        }
    }
}

fn package() -> PackageBundle {
    const DOOR: &str = "{name: door, type: string, required: true, description: the door}";
    let tool = |name: &str, class: &str, parameters: &str| {
        format!(
            "tool_id: doors.{name}\nname: {name}\nprovider: doors\ntool_class: {class}\ndomain: reliability\n\
             description: Looks after doors.\nlanguage: python\nexecution_target: server\n\
             parameters: [{parameters}]\nimplementation: {{type: script, body: \"pass\"}}\n"
        )
    };
    let skill = format!(
        "skill_id: {LOOK}\nname: look\ndomain: reliability\ndisplay_name: Doors\n\
         description: Lists the doors.\npurpose: Lists the doors.\noutput_type: finding\nexecution_plan:\n  \
         steps:\n    - {{step_id: s1, type: read, tool_id: doors.look}}\n"
    );
    let playbook = format!(
        "playbook_id: {SHUT}\nname: Shut a door\ndomain: reliability\n\
         trigger_conditions: [a door has to be shut]\nexamples: [shut the door]\n\
         target_language: python\nmandatory_parameters: [{DOOR}]\n\
         steps: [{{step_id: s1, type: write, tool_id: doors.shut, on_failure: stop, \
         parameters: {{door: \"${{user.door}}\"}}}}]\n\
         safety: {{safety_class: supervised}}\n"
    );
    let files = json!({"files": {
        "package.yaml": "name: doors\nversion: 1.0.0\ntitle: Doors\nscope: tenant\n",
        "tools/look.yaml": tool("look", "readonly", ""),
        "tools/shut.yaml": tool("shut", "write", DOOR),
        "skills/look.yaml": skill,
        "playbooks/shut.yaml": playbook,
    }});
    serde_json::from_value(files).unwrap()
}

async fn rig() -> (ConversationRig, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let store: SharedStore = open(dir.path());
    let ports = ports(store, Arc::new(Answering));
    let rig = conversation(&ports, &Settings::default()).await;
    let ann = person("ann");
    let registered = rig
        .execution
        .below
        .packages
        .register(&ann, package(), Mode::Apply);
    registered.await.unwrap();
    (rig, dir)
}

fn request_with(metadata: &Value) -> AgentRequest {
    let request = json!({
        "id": RequestId::from_uuid(Uuid::now_v7()), "timestamp": "2026-04-14T12:00:00Z",
        "input": "Look after the doors.", "metadata": metadata,
    });
    serde_json::from_value(request).unwrap()
}

/// A request for the change, which waits for its confirmation.
fn change() -> Value {
    json!({"playbook_id": SHUT, "parameters": {"door": "front"}, "confirm": true})
}

/// Waits until a run has ended.
async fn ended(rig: &ConversationRig, run: &RunId) {
    let (ann, views) = (person("ann"), &rig.execution.services.views);
    let ended = async {
        loop {
            let shown = views.wait(&ann, run, TIMEOUT).await.unwrap();
            if shown.state.outcome.is_some() {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, ended).await.unwrap();
}

/// A session is found by its id, and only by its user.
#[tokio::test]
async fn a_session_is_opened_once_for_its_user() {
    let (rig, _dir) = rig().await;
    let sessions = &rig.services.sessions;
    let (ann, bob) = (person("ann"), person("bob"));
    let id = SessionId::from_uuid(Uuid::from_u128(1));
    for _ in 0..2 {
        sessions.open_or_find(&ann, &id).await.unwrap();
    }
    let shown = sessions.show_session(&ann, &id).await.unwrap();
    assert_eq!((shown.session_id, shown.turns), (id.clone(), Vec::new()));
    let refused = sessions.open_or_find(&bob, &id).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::SessionNotFound);
    let opened = sessions.open_session(&ann).await.unwrap();
    assert_ne!(opened.session_id, id);
}

/// A request is answered by its skill; a repeat gets the recorded answer.
#[tokio::test]
async fn a_request_is_answered_once() {
    let (rig, _dir) = rig().await;
    let (ann, requests) = (person("ann"), &rig.services.requests);
    let request = request_with(&json!({"skill_id": LOOK}));
    let id = request.id.clone();
    let mut answers = Vec::new();
    for _ in 0..2 {
        let answered = requests.handle_request(&ann, request.clone(), Progress::silent());
        let answer = answered.await.unwrap();
        answers.push((answer.id, answer.content));
    }
    assert_eq!(answers[0], answers[1]);
    assert!(!requests.has_active_requests());
    let views = &rig.services.request_views;
    assert_eq!(views.request_runs(&ann, &id).await.unwrap().len(), 1);
    let recorded = views.request(&ann, &id).await.unwrap();
    let verdict = recorded.verdict.unwrap();
    assert_eq!(verdict["skills"], json!([LOOK]));
    let absent = RequestId::from_uuid(Uuid::from_u128(1));
    let refused = views.request(&ann, &absent).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotFound);
}

/// The document that answered a request is confirmed.
#[tokio::test]
async fn an_answer_is_confirmed() {
    let (rig, _dir) = rig().await;
    let ann = person("ann");
    let request = request_with(&json!({"skill_id": LOOK}));
    let id = request.id.clone();
    let confirmations = &rig.services.route_confirmations;
    let open = confirmations.confirm_request(&ann, &id, None).await;
    assert_eq!(open.unwrap_err().code, ErrorCode::NotFound);
    let requests = &rig.services.requests;
    let answered = requests.handle_request(&ann, request, Progress::silent());
    answered.await.unwrap();
    let confirmed = confirmations.confirm_request(&ann, &id, None).await;
    let confirmed = confirmed.unwrap();
    assert_eq!(confirmed.kind, RoutedKind::Skill);
    assert_eq!(confirmed.document, DocumentId::parse(LOOK).unwrap());
}

/// A text that asks for nothing is classified without being recorded.
#[tokio::test]
async fn a_request_is_foreseen() {
    let (rig, _dir) = rig().await;
    let ann = person("ann");
    let foreseen = rig.services.classifications.foresee(&ann, "hello");
    let foreseen = foreseen.await.unwrap();
    assert_eq!(foreseen.course, Course::Decline);
    assert_eq!(foreseen.documents, Vec::<String>::new());
}

/// A change is cancelled before it is confirmed; its request then has a result.
#[tokio::test]
async fn a_cancelled_change_has_a_result() {
    let (rig, _dir) = rig().await;
    let (ann, services) = (person("ann"), &rig.services);
    let request = request_with(&change());
    let id = request.id.clone();
    let answered = services
        .requests
        .handle_request(&ann, request, Progress::silent());
    answered.await.unwrap();
    let views = &services.request_views;
    let waiting = views.request(&ann, &id).await.unwrap();
    assert_eq!(waiting.result, None);
    let management = &services.request_management;
    let cancelled = management.cancel_request(&ann, &id, "not needed");
    cancelled.await.unwrap();
    ended(&rig, &waiting.run_id.unwrap()).await;
    services.request_results.record_results().await.unwrap();
    let shown = views.request(&ann, &id).await.unwrap();
    assert_eq!(shown.result.unwrap()["request_id"], json!(id));
}

/// A failure is shown to a client by its public code.
#[tokio::test]
async fn a_failure_is_shown_by_its_code() {
    let (rig, _dir) = rig().await;
    let id = RequestId::from_uuid(Uuid::from_u128(1));
    let failure = EngineError::new(ErrorCode::NoMatch, "nothing matches");
    let shown = rig.services.responses.agent_error(&id, &failure);
    assert_eq!(shown.request_id, id);
    assert_eq!(shown.error_code.as_deref(), Some("no_match"));
    assert_eq!(shown.user_message, "nothing matches");
}

/// Without an agent near a request there is no candidate.
#[tokio::test]
async fn a_candidate_needs_an_agent() {
    let (rig, _dir) = rig().await;
    let ann = person("ann");
    let miss = Miss {
        caller: &ann,
        text: "which windows are open",
        flow: Flow::CodeGenRead,
        agents: &[],
    };
    let refused = rig.services.candidates.propose(miss).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NoMatch);
    let (absent, run) = (
        DocumentId::parse("reliability.windows").unwrap(),
        RunId::from_uuid(Uuid::from_u128(1)),
    );
    let candidates = &rig.services.candidates;
    let refused = candidates.promote_candidate(&ann, &absent, &run).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::NotFound);
}

/// A skill is analysed only where the tenant has the route of its model.
#[tokio::test]
async fn an_analysis_needs_the_route_of_its_model() {
    let (rig, _dir) = rig().await;
    let skill = include_str!("../../../contract/tests/examples/skill.json");
    let skill: Skill = serde_json::from_str(skill).unwrap();
    let ann = person("ann");
    let model = rig.services.analyses.analysis_model(&ann.tenant, &skill);
    assert!(model.is_none(), "{model:?}");
}

/// A message starts a task once; the task is listed with its answer.
#[tokio::test]
async fn a_task_is_started_once_and_answered() {
    let (rig, _dir) = rig().await;
    let (ann, tasks) = (person("ann"), &rig.services.tasks);
    let message = TaskMessage {
        message_id: "message-1".to_owned(),
        text: "Look after the doors.".to_owned(),
        wishes: json!({"skill_id": LOOK}).as_object().unwrap().clone(),
        ..TaskMessage::default()
    };
    let mut begun = Vec::new();
    for _ in 0..2 {
        let begins = tasks.begin_task(&ann, &message, Progress::silent());
        begun.push(begins.await.unwrap());
    }
    assert_eq!(begun[0], begun[1]);
    let settled = tasks.settled_task(&ann, &begun[0], TIMEOUT).await.unwrap();
    assert_eq!(settled.state, TaskState::Completed, "{settled:#?}");
    let page = PageRequest::new(None, 10);
    let listed = tasks.tasks_of(&ann, &TaskFilter::default(), &page).await;
    let listed = listed.unwrap().entries;
    let ids: Vec<&TaskKey> = listed.iter().map(|task| &task.id).collect();
    assert_eq!(ids, [&begun[0]]);
}

/// A task that waits for a confirmation is cancelled with its run.
#[tokio::test]
async fn a_waiting_task_is_cancelled() {
    let (rig, _dir) = rig().await;
    let (ann, tasks) = (person("ann"), &rig.services.tasks);
    let message = TaskMessage {
        message_id: "message-1".to_owned(),
        text: "Shut the front door.".to_owned(),
        wishes: change().as_object().unwrap().clone(),
        ..TaskMessage::default()
    };
    let begun = tasks.begin_task(&ann, &message, Progress::silent());
    let id = begun.await.unwrap();
    let settled = tasks.settled_task(&ann, &id, TIMEOUT).await.unwrap();
    assert_eq!(settled.state, TaskState::InputRequired, "{settled:#?}");
    let cancelled = tasks.cancel_task(&ann, &id).await.unwrap();
    assert_eq!(cancelled.state, TaskState::Canceled, "{cancelled:#?}");
}
