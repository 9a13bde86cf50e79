//! Previews of single calls and of lists.

use async_trait::async_trait;
use charter_contract::package::PackageBundle;
use charter_contract::page::PageRequest;
use charter_contract::run_status::RunStatus;
use charter_domain::run::{ErrorKind, RunEvent};
use charter_effects::{ToolCall, ToolOutcome, ToolRunner};
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::engine::tests::eventually;
use crate::execution::tests::{rested, rig_with, start};
use crate::identity::caller::tests::person;
use crate::{Mode, RunQuery};

/// Calls end when they are told to.
#[derive(Default)]
struct HangingPreview {
    called: Notify,
    end: Notify,
}

#[async_trait]
impl ToolRunner for HangingPreview {
    async fn run(&self, _: ToolCall, _: CancellationToken) -> ToolOutcome {
        self.called.notify_one();
        self.end.notified().await;
        ToolOutcome::Failed {
            kind: ErrorKind::ExecutionError,
            message: "it was told to end".to_owned(),
            retryable: false,
            stale: false,
            answered: false,
            log: String::new(),
            duration_ms: 1,
        }
    }
}

#[test]
fn a_result_is_divided_into_both_states_or_is_the_state_after() {
    let both = json!({"rules_before": [1], "rules_after": [], "group": "a"});
    assert_eq!(states(Some(both)), (Some(json!([1])), Some(json!([]))));
    let exact = json!({"before": 1, "after": 2, "x_after": 3, "y_after": 4});
    assert_eq!(states(Some(exact)), (Some(json!(1)), Some(json!(2))));
    for whole in [
        json!({"after": 2}),
        json!([1]),
        json!({"a_before": 1, "b_before": 2, "after": 3}),
    ] {
        assert_eq!(states(Some(whole.clone())), (None, Some(whole)));
    }
    assert_eq!(states(None), (None, None));
}

/// Gates: `shut` is previewed by the readonly twin `would_shut`, and `lock` declares no preview.
fn package() -> PackageBundle {
    let tool = |name: &str, class: &str, preview: &str| {
        format!(
            "tool_id: gates.{name}\nname: {name}\nprovider: aws\ntool_class: {class}\ndomain: reliability\n\
             description: Looks after gates.\nlanguage: python\nexecution_target: server\nparameters: []\n\
             evidence: {{type: api_call, system: aws.ec2}}\n{preview}\
             implementation: {{type: script, body: \"pass\"}}\n"
        )
    };
    let preview = "preview: {tool: gates.would_shut}\n";
    let files = json!({"files": {
        "package.yaml": "name: gates\nversion: 1.0.0\ntitle: Gates\nscope: tenant\n",
        "tools/would_shut.yaml": tool("would_shut", "readonly", ""),
        "tools/shut.yaml": tool("shut", "write", preview),
        "tools/lock.yaml": tool("lock", "write", ""),
    }});
    serde_json::from_value(files).unwrap()
}

/// Each call of a list has its preview, and a call without one the reason.
#[tokio::test]
async fn the_calls_of_a_list_are_previewed_one_by_one() {
    let (rig, _store, _dir) = rig_with(|_, _| ()).await;
    let (ann, bob) = (person("ann"), person("bob"));
    let registered = rig.below.packages.register(&ann, package(), Mode::Apply);
    registered.await.unwrap();
    let plan = json!({
        "id": "plan-01930000-0000-7000-8000-000000000001",
        "request_id": "req-01930000-0000-7000-8000-000000000001",
        "steps": [
            {"id": "step-001", "tool": "gates.shut", "parameters": {}},
            {"id": "step-002", "tool": "gates.lock", "parameters": {}},
        ],
        "error_handling": {"on_step_failure": "abort_plan"},
    });
    let sent = SubmittedPlan::ExecutionPlan {
        plan: Box::new(serde_json::from_value(plan).unwrap()),
        fallbacks: Vec::new(),
    };
    let starts = &rig.services.starts;
    let started = starts.start_plan(&ann, &sent, Map::new(), DryRun::No, None);
    let run = started.await.unwrap().run().summary.run_id;
    rested(&rig, &run).await;
    let page = PageRequest::new(None, 10);
    let approvals = &rig.services.approvals;
    let pending = approvals.list(&ann, Some("pending"), Some(&run), &page);
    let pending = pending.await.unwrap().entries.remove(0).approval;
    assert_eq!(pending.list.len(), 2);
    let previews = &rig.services.previews;
    let shown = previews.preview(&bob, &pending.approval_id).await.unwrap();
    assert_eq!(shown.effect, WriteEffect::default());
    let [shut, lock] = shown.calls.as_slice() else {
        panic!("{shown:?}");
    };
    assert_eq!(
        (&shut.step, &lock.step),
        (&pending.list[0].step, &pending.list[1].step)
    );
    assert_eq!(shut.effect.after, Some(json!({"open": true})));
    assert_eq!(shut.effect.run_ids.len(), 1);
    let note = "`gates.lock` declares no preview";
    assert_eq!(lock.effect, unknown(note.to_owned()));
}

/// A request that ends before its preview leaves no run behind.
#[tokio::test]
async fn the_run_of_a_preview_whose_request_ended_is_aborted() {
    let hanging = Arc::new(HangingPreview::default());
    let tools: Arc<dyn ToolRunner> = Arc::<HangingPreview>::clone(&hanging);
    let (rig, _store, _dir) = rig_with(|ports, _| ports.tools = tools).await;
    let (ann, bob) = (person("ann"), person("bob"));
    let registered = rig.below.packages.register(&ann, package(), Mode::Apply);
    registered.await.unwrap();
    let started = start(&rig, "gates.shut").await;
    let run = started.run().summary.run_id;
    rested(&rig, &run).await;
    let page = PageRequest::new(None, 10);
    let approvals = &rig.services.approvals;
    let pending = approvals.list(&ann, Some("pending"), Some(&run), &page);
    let pending = pending.await.unwrap().entries.remove(0).approval;
    let previews = &rig.services.previews;
    tokio::select! {
        shown = previews.preview(&bob, &pending.approval_id) => panic!("{shown:?}"),
        () = hanging.called.notified() => {}
    }
    let views = &rig.services.views;
    let stopping = eventually(async || {
        let listed = views.list(&bob, RunQuery::default(), &page).await.unwrap();
        for run in listed.entries {
            let shown = views.show(&bob, &run.run_id).await.unwrap();
            let mut events = shown.events.iter();
            if events.any(|step| matches!(step.event, RunEvent::Stopping { .. })) {
                return Some(run.run_id);
            }
        }
        None
    });
    // Sooner than the preview gives up by itself.
    let stopping = tokio::time::timeout(PATIENCE / 2, stopping).await.unwrap();
    hanging.end.notify_one();
    let ended = views.wait(&bob, &stopping, PATIENCE).await.unwrap();
    assert_eq!(ended.summary.status, RunStatus::Aborted);
}
