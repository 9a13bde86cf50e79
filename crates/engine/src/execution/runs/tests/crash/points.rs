//! The points at which a process can die: before and after every write of the store and every effect.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use charter_contract::ids::{Label, TenantId};
use charter_effects::{
    ModelAnswer, ModelFailure, ModelRequest, ModelRoute, Models, SetBy, ToolCall, ToolOutcome,
    ToolRunner,
};
use charter_testkit::watched_store::{Side, Watcher, Write};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Counts the points of this process, records each, and kills the process at one of them.
pub(super) struct Points {
    trace: Mutex<File>,
    /// The last point that was passed; `None` while passing one.
    last: Mutex<Option<String>>,
    reached: AtomicUsize,
    armed: AtomicBool,
    death: Option<(usize, Side)>,
}

impl Points {
    pub(super) fn new(trace: File, death: Option<(usize, Side)>) -> Self {
        Self {
            trace: Mutex::new(trace),
            last: Mutex::new(Some(String::new())),
            reached: AtomicUsize::new(0),
            armed: AtomicBool::new(false),
            death,
        }
    }

    /// Starts counting: earlier writes belong to no run.
    pub(super) fn arm(&self) {
        self.armed.store(true, Ordering::SeqCst);
    }

    /// Returns the last point that was passed, empty if there was none; `None` while passing one.
    pub(super) fn last(&self) -> Option<String> {
        self.last.lock().unwrap().clone()
    }

    fn pass(&self, side: Side, what: &str) {
        if !self.armed.load(Ordering::SeqCst) {
            return;
        }
        if side == Side::Before {
            let mut trace = self.trace.lock().unwrap();
            trace.write_all(format!("{what}\n").as_bytes()).unwrap();
            let before = self.last.lock().unwrap().take();
            assert!(before.is_some(), "`{what}` begins during another point");
        }
        if self.death == Some((self.reached.load(Ordering::SeqCst), side)) {
            die();
        }
        if side == Side::After {
            self.reached.fetch_add(1, Ordering::SeqCst);
            *self.last.lock().unwrap() = Some(what.to_owned());
        }
    }
}

/// SIGKILL: nothing is flushed, dropped, or notified.
fn die() -> ! {
    let own = rustix::process::getpid();
    rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
    loop {
        std::thread::park();
    }
}

impl Watcher for Points {
    fn at(&self, side: Side, write: Write<'_>) {
        match write {
            Write::Other(method) => self.pass(side, method),
            Write::Events { method, events } => {
                let mut what = method.to_owned();
                for event in events {
                    let event = serde_json::from_str(&event.payload).unwrap();
                    what = format!("{what}, {}", name_of(&event));
                }
                self.pass(side, &what);
            }
        }
    }
}

/// Returns an event's name, and its step.
pub(super) fn name_of(event: &Value) -> String {
    let text = |field: &str| event[field].as_str().unwrap_or_default();
    format!("{} {}", text("event"), text("step"))
        .trim_end()
        .to_owned()
}

/// The tools, with a point before and after each effect.
pub(super) struct WatchedTools {
    pub(super) inner: Arc<dyn ToolRunner>,
    pub(super) points: Arc<Points>,
}

#[async_trait]
impl ToolRunner for WatchedTools {
    async fn run(&self, call: ToolCall, cancel: CancellationToken) -> ToolOutcome {
        let step = call.idempotency_key.rsplit('/').next().unwrap_or_default();
        let what = format!("effect {step}");
        self.points.pass(Side::Before, &what);
        let outcome = self.inner.run(call, cancel).await;
        self.points.pass(Side::After, &what);
        outcome
    }
}

/// The offline provider behind the port for models, with a point before and after each model call.
pub(super) struct WatchedModels(pub(super) Arc<Points>);

#[async_trait]
impl Models for WatchedModels {
    async fn complete(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
    ) -> Result<ModelAnswer, ModelFailure> {
        let step = request
            .idempotency_key
            .rsplit('/')
            .next()
            .unwrap_or_default();
        let what = format!("model {step}");
        self.0.pass(Side::Before, &what);
        let answer = crate::Offline.complete(request, cancel).await;
        self.0.pass(Side::After, &what);
        answer
    }

    fn routes(&self, _: &TenantId) -> BTreeMap<Label, ModelRoute> {
        let route = ModelRoute {
            target: "offline/extractive".parse().unwrap(),
            set_by: SetBy::Server,
            key: None,
            key_of: SetBy::Server,
        };
        [(Label::parse("tier_high_reasoning").unwrap(), route)].into()
    }
}
