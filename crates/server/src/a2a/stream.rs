//! The events of a task (sections 3.1.2 and 3.1.6): first the task, then progress and changes, and at the end its
//! artifacts.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use charter_engine::{Caller, Engine, ProgressEvent, Task, TaskKey, TaskState};
use futures_util::{Stream, StreamExt};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::show::{self, Accepts, View};

/// The events of a stream, each a `StreamResponse`.
pub(super) type Events = Pin<Box<dyn Stream<Item = Value> + Send>>;

/// When a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamUntil {
    /// When the task has ended, or waits for the sender of the message.
    Settled,
    /// When the task has ended.
    Ended,
}

impl StreamUntil {
    fn is_over(self, state: TaskState) -> bool {
        match self {
            Self::Settled => state.is_settled(),
            Self::Ended => state.is_final(),
        }
    }
}

/// The state of a stream.
struct TaskStream {
    tasks: Pin<Box<dyn Stream<Item = Task> + Send>>,
    progress: Option<mpsc::Receiver<ProgressEvent>>,
    until: StreamUntil,
    accepts: Accepts,
    /// The task as last reported.
    last: Option<Task>,
    reported: usize,
    waiting: VecDeque<Value>,
    is_over: bool,
}

/// The events of a task from now on.
pub(super) fn events(
    engine: &Arc<Engine>,
    caller: Caller,
    id: TaskKey,
    progress: Option<mpsc::Receiver<ProgressEvent>>,
    (until, accepts): (StreamUntil, Accepts),
) -> Events {
    let stream = TaskStream {
        tasks: Box::pin(engine.agent_tasks().follow_task(caller, id)),
        progress,
        until,
        accepts,
        last: None,
        reported: 0,
        waiting: VecDeque::new(),
        is_over: false,
    };
    Box::pin(futures_util::stream::unfold(
        stream,
        |mut stream| async move { stream.next().await.map(|event| (event, stream)) },
    ))
}

impl TaskStream {
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if self.is_over {
                return None;
            }
            self.wait_for_event().await;
        }
    }

    /// Waits for the next event.
    async fn wait_for_event(&mut self) {
        if self.last.is_none() {
            let first = self.tasks.next().await;
            return self.begin(first);
        }
        let progress = async {
            match &mut self.progress {
                Some(progress) => progress.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            event = progress => match event {
                Some(event) => self.send_event(&event),
                None => self.progress = None,
            },
            task = self.tasks.next() => {
                // Progress before the change is sent before it.
                while let Some(event) = self.progress.as_mut().and_then(|p| p.try_recv().ok()) {
                    self.send_event(&event);
                }
                self.change(task);
            }
        }
    }

    fn send_event(&mut self, event: &ProgressEvent) {
        if let Some(last) = &self.last {
            let event = show::progress(last, self.reported, event);
            self.reported += 1;
            self.waiting.push_back(event);
        }
    }

    fn begin(&mut self, first: Option<Task>) {
        let Some(task) = first else {
            self.is_over = true;
            return;
        };
        let view = View {
            history: usize::MAX,
            artifacts: true,
            accepts: self.accepts,
        };
        let shown = show::task(&task, view);
        self.waiting
            .push_back(show::with_field(json!({}), "task", shown));
        self.is_over = self.until.is_over(task.state);
        self.last = Some(task);
    }

    fn change(&mut self, task: Option<Task>) {
        let Some(task) = task else {
            self.is_over = true;
            return;
        };
        let reported = self.last.as_ref();
        self.waiting
            .extend(show::artifact_updates(reported, &task, self.accepts));
        self.waiting.push_back(show::status_update(&task));
        self.is_over = self.until.is_over(task.state);
        self.last = Some(task);
    }
}
