//! How many filters a process runs at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use charter_effects::{ToolCall, ToolOutcome, ToolRunner};
use charter_testkit::store_suite::sample;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::crash::play::{engine, open};
use crate::{Settings, filters};

/// Counts the calls that are under way.
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

/// Filters are processes that compute. However many runs leave evidence at once, there are no more of them than
/// processors, so that the server has some of these left, and each has its turn.
#[tokio::test]
async fn filters_run_one_for_each_processor() {
    let dir = tempfile::tempdir().unwrap();
    let tools = Arc::new(Counting::default());
    let runner = Arc::<Counting>::clone(&tools);
    let models = Arc::new(charter_effects::NoModels);
    let engine = engine(open(dir.path()), runner, models, Settings::default()).await;
    let tenants = [
        sample::tenant("acme").unwrap(),
        sample::tenant("umbra").unwrap(),
    ];
    let many = 10 * filters::at_once();
    let asked = (0..many).map(|n| engine.filter(&tenants[n % 2], "a test", ".", &Value::Null, 1));
    for given in join_all(asked).await {
        assert_eq!(given.unwrap(), [json!(true)]);
    }
    assert_eq!(tools.most.load(Ordering::SeqCst), filters::at_once());
}
