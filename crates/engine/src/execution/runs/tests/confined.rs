//! Computation in packages: the number of processes at once, and the outcomes of templates.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::agentic::error::ErrorType;
use charter_contract::error_code::ErrorCode;
use charter_effects::{Language, ToolCall, ToolImplementation, ToolOutcome, ToolRunner};
use charter_testkit::store_suite::sample;
use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::ground::confined::{self, Computations};

/// Counts the running calls.
#[derive(Default)]
struct Counting {
    now: AtomicUsize,
    most: AtomicUsize,
}

#[async_trait]
impl ToolRunner for Counting {
    async fn run(&self, _call: ToolCall, _cancel: CancellationToken) -> ToolOutcome {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(2)).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        ToolOutcome::Succeeded {
            output: json!([true]),
            log: String::new(),
            duration_ms: 2,
        }
    }
}

/// Filters are processes that compute. However many runs leave evidence at once, at most one process runs for each
/// processor, so that the server keeps some of these, and each run has its turn.
#[tokio::test]
async fn filters_run_one_for_each_processor() {
    let tools = Arc::new(Counting::default());
    let runner = Arc::<Counting>::clone(&tools);
    let computations = Computations::new(runner, CancellationToken::new());
    let tenants = [
        sample::tenant("acme").unwrap(),
        sample::tenant("umbra").unwrap(),
    ];
    let many = 10 * confined::at_once();
    let asked =
        (0..many).map(|n| computations.filter(&tenants[n % 2], "a test", ".", || Value::Null, 1));
    for given in join_all(asked).await {
        assert_eq!(given.unwrap(), [json!(true)]);
    }
    assert_eq!(tools.most.load(Ordering::SeqCst), confined::at_once());
}

/// Returns the given outcome, and records the calls.
struct Answering {
    outcome: ToolOutcome,
    asked: Mutex<Vec<ToolCall>>,
}

#[async_trait]
impl ToolRunner for Answering {
    async fn run(&self, call: ToolCall, _cancel: CancellationToken) -> ToolOutcome {
        self.asked.lock().unwrap().push(call);
        self.outcome.clone()
    }
}

/// Returns computations that get this outcome until `stop` is cancelled, and their tools.
fn answering(outcome: ToolOutcome, stop: CancellationToken) -> (Computations, Arc<Answering>) {
    let asked = Mutex::default();
    let tools = Arc::new(Answering { outcome, asked });
    let runner = Arc::<Answering>::clone(&tools);
    (Computations::new(runner, stop), tools)
}

fn names(names: &[&str]) -> Vec<Map<String, Value>> {
    let named = |name: &&str| Map::from_iter([("name".to_owned(), json!(name))]);
    names.iter().map(named).collect()
}

/// However many findings there are, one process evaluates their template, and each has its own outcome.
#[tokio::test]
async fn a_template_with_expressions_takes_one_process_for_all_values() {
    let outcome = ToolOutcome::Succeeded {
        output: json!([{"value": {"title": "A"}}, {"fault": "no"}]),
        log: String::new(),
        duration_ms: 2,
    };
    let (computations, tools) = answering(outcome, CancellationToken::new());
    let tenant = sample::tenant("acme").unwrap();
    let structure = json!({"title": "{{ name | upper }}"});
    let rendered =
        computations.evaluate(&tenant, "the template `t`", &structure, names(&["a", "b"]));
    assert_eq!(
        rendered.await.unwrap(),
        [
            Ok(json!({"title": "A"})),
            Err("the template `t`: no".to_owned())
        ]
    );
    let asked = tools.asked.lock().unwrap();
    let [call] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    assert_eq!(
        Value::Object(call.parameters.clone()),
        json!({"values": [{"name": "a"}, {"name": "b"}]})
    );
    let ToolImplementation::Script(script) = &call.implementation else {
        panic!("{call:?}");
    };
    assert_eq!(script.language, Language::Template);
    let program: Value = serde_json::from_str(script.files.get(&script.entry).unwrap()).unwrap();
    assert_eq!(program, structure);
}

/// A template whose process is killed at its limits becomes a warning of the response; the engine's own shutdown does
/// not.
#[tokio::test]
async fn a_template_that_is_ended_at_its_limits_fails_alone() {
    let outcome = ToolOutcome::Failed {
        kind: ErrorType::ResourceError,
        message: "the kernel killed the script".to_owned(),
        retryable: false,
        stale: false,
        answered: false,
        log: String::new(),
        duration_ms: 2,
    };
    let stop = CancellationToken::new();
    let (computations, _) = answering(outcome, stop.clone());
    let tenant = sample::tenant("acme").unwrap();
    let structure = json!("{{ name | upper }}");
    let evaluated = computations.evaluate(&tenant, "the summary", &structure, names(&["a", "b"]));
    let message = "the summary: the kernel killed the script (a template has 10000 ms and 536870912 bytes of memory)";
    let fault = || Err(message.to_owned());
    assert_eq!(evaluated.await.unwrap(), [fault(), fault()]);
    stop.cancel();
    let evaluated = computations.evaluate(&tenant, "the summary", &structure, names(&["a"]));
    let error = evaluated.await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable);
}

#[tokio::test]
async fn a_template_without_expressions_takes_no_process() {
    let outcome = ToolOutcome::Succeeded {
        output: json!([]),
        log: String::new(),
        duration_ms: 2,
    };
    let (computations, tools) = answering(outcome, CancellationToken::new());
    let tenant = sample::tenant("acme").unwrap();
    let (greeting, name) = (json!("Hello {{name}}."), json!("{{name}}"));
    let filled = computations.fill_in(&tenant, "the summary", &greeting, names(&["a"]).remove(0));
    assert_eq!(filled.await.unwrap(), Ok(json!("Hello a.")));
    let lacking = computations.fill_in(&tenant, "the summary", &name, Map::new());
    let fault = "the summary: the template has no value for: name";
    assert_eq!(lacking.await.unwrap(), Err(fault.to_owned()));
    assert_eq!(tools.asked.lock().unwrap().len(), 0);
}
