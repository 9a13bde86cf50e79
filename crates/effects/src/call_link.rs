//! The link between a running call and the client that waits for it: progress and log messages, questions and their
//! answers, and the whole result. Process-local; a call without a link, or whose client has gone, has the same outcome.
//!
//! Values are JSON of the Model Context Protocol. Must not know how a call is made, or how a client is reached.

mod memory;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use charter_contract::bounds::LINKED_EVENTS;
use serde_json::{Map, Value};
use tokio::sync::watch;

use memory::Kept;

pub use memory::LinkMemory;

/// The client that waits for a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallClient {
    /// Its capabilities, by the protocol's names: `elicitation`, `sampling`, `roots`, `extensions`.
    pub capabilities: Map<String, Value>,
    /// The least severe log messages that it wants; none when absent.
    pub log_level: Option<String>,
}

/// A message of a running call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallEvent {
    /// Progress.
    Progress {
        /// The progress thus far.
        progress: f64,
        /// The value at the end, if known.
        total: Option<f64>,
        /// A description of the state.
        message: Option<String>,
    },
    /// A log message: `level`, `logger` and `data`.
    Log(Map<String, Value>),
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallEnd {
    /// The result of the tool, whole; it may be a failure (`isError`).
    Result(Map<String, Value>),
    /// An error of the protocol: `code`, `message` and `data`.
    Error(Map<String, Value>),
}

/// Why a question has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// The client cannot answer it.
    #[error("the client cannot answer it")]
    Refused,
    /// The call has ended.
    #[error("the call has ended")]
    Ended,
}

/// Both ends of the link of one call. Clones are the same link.
#[derive(Clone)]
pub struct CallLink(Arc<SharedLink>);

struct SharedLink {
    client: CallClient,
    memory: LinkMemory,
    state: Mutex<LinkState>,
    /// Counts the changes, and wakes both ends.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct LinkState {
    events: VecDeque<Kept<CallEvent>>,
    /// Open questions: requests of the protocol, by the server's keys.
    questions: Map<String, Value>,
    /// Given answers that the call has not taken.
    answers: Map<String, Value>,
    refused: bool,
    is_task: bool,
    is_cancelled: bool,
    has_ended: bool,
    end: Option<Kept<CallEnd>>,
}

impl fmt::Debug for CallLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallLink").finish_non_exhaustive()
    }
}

impl PartialEq for CallLink {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for CallLink {}

impl CallLink {
    /// Creates the link of a call that has not started.
    #[must_use]
    pub fn new(client: CallClient, memory: LinkMemory) -> Self {
        Self(Arc::new(SharedLink {
            client,
            memory,
            state: Mutex::default(),
            changes: watch::Sender::new(0),
        }))
    }

    /// Returns the client of the call.
    #[must_use]
    pub fn client(&self) -> &CallClient {
        &self.0.client
    }

    /// Returns a receiver that is notified after each change.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// Whether neither a call nor a client uses it, only its owner.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    fn state(&self) -> MutexGuard<'_, LinkState> {
        // Every change is one step, so a panic of a holder leaves the state whole.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut LinkState) -> T) -> T {
        let changed = change(&mut self.state());
        self.0.changes.send_modify(|count| *count += 1);
        changed
    }
}

/// The client's end.
impl CallLink {
    /// Takes the messages that have arrived, oldest first.
    #[must_use]
    pub fn take_events(&self) -> Vec<CallEvent> {
        let mut state = self.state();
        let events = state.events.drain(..);
        events.map(|kept| kept.value).collect()
    }

    /// Returns the open questions, by key.
    #[must_use]
    pub fn questions(&self) -> Map<String, Value> {
        self.state().questions.clone()
    }

    /// Gives answers to open questions; ignores all others. Returns whether a question was answered.
    pub fn answer(&self, given: &Map<String, Value>) -> bool {
        self.change(|state| {
            let mut answered = false;
            for (key, answer) in given {
                if state.questions.remove(key).is_some() {
                    state.answers.insert(key.clone(), answer.clone());
                    answered = true;
                }
            }
            answered
        })
    }

    /// Ends the wait for answers, because the client cannot give them.
    pub fn refuse(&self) {
        self.change(|state| {
            state.questions.clear();
            state.refused = true;
        });
    }

    /// Cancels the call, and its work on the tool's server. The result may come first.
    pub fn cancel(&self) {
        self.change(|state| {
            state.questions.clear();
            state.is_cancelled = true;
        });
    }

    /// Whether the tool's server carries the call out as a task, which clients had better follow instead of waiting.
    #[must_use]
    pub fn is_task(&self) -> bool {
        self.state().is_task
    }

    /// Returns the end of the call; `None` while it runs, for a call that ended without an answer of its server, and if
    /// there was no memory for the answer.
    #[must_use]
    pub fn end(&self) -> Option<CallEnd> {
        let state = self.state();
        state.end.as_ref().map(|kept| kept.value.clone())
    }
}

/// The call's end.
impl CallLink {
    /// Passes a message on. Drops it if too many wait for a slow client, and without memory.
    pub fn report(&self, event: CallEvent) {
        let bytes = event.memory();
        let Some(kept) = self.0.memory.keep(event, bytes) else {
            return;
        };
        self.change(|state| {
            if state.events.len() < LINKED_EVENTS {
                state.events.push_back(kept);
            }
        });
    }

    /// Replaces the open questions; one whose answer has arrived is not asked again.
    pub fn ask(&self, mut questions: Map<String, Value>) {
        questions.retain(|key, _| !self.state().answers.contains_key(key));
        if self.state().questions != questions {
            self.change(|state| state.questions = questions);
        }
    }

    /// Waits for answers, and takes those that are there.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub async fn answers(&self) -> Result<Map<String, Value>, Unanswered> {
        let mut changes = self.changes();
        loop {
            {
                let mut state = self.state();
                if state.refused {
                    state.refused = false;
                    return Err(Unanswered::Refused);
                }
                if !state.answers.is_empty() {
                    return Ok(std::mem::take(&mut state.answers));
                }
                if state.has_ended {
                    return Err(Unanswered::Ended);
                }
            }
            // This link holds the other end.
            if changes.changed().await.is_err() {
                return Err(Unanswered::Ended);
            }
        }
    }

    /// Waits until the client cancels the call.
    pub async fn cancelled(&self) {
        let mut changes = self.changes();
        while !self.state().is_cancelled {
            // This link holds the other end.
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Records that the tool's server carries the call out as a task.
    pub fn follow_as_task(&self) {
        self.change(|state| state.is_task = true);
    }

    /// Records the end of the call, and closes its questions. Without memory for the server's answer, the client has to
    /// do with the recorded output.
    pub fn finish(&self, end: CallEnd) {
        let bytes = end.memory();
        let kept = self.0.memory.keep(end, bytes);
        self.change(|state| {
            state.questions.clear();
            state.has_ended = true;
            state.end = kept;
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    fn link() -> CallLink {
        CallLink::new(CallClient::default(), LinkMemory::default())
    }

    #[tokio::test]
    async fn only_answers_to_open_questions_reach_the_call() {
        let link = link();
        link.ask(object(&json!({"name": {"method": "elicitation/create"}})));
        assert!(!link.answer(&object(&json!({"colour": 1}))));
        assert!(link.answer(&object(&json!({"name": {"action": "accept"}, "colour": 1}))));
        assert_eq!(link.questions(), Map::new());
        let taken = link.answers().await;
        assert_eq!(taken, Ok(object(&json!({"name": {"action": "accept"}}))));
    }

    #[tokio::test]
    async fn an_answered_question_is_no_longer_open_and_the_others_are() {
        let link = link();
        link.ask(object(&json!({"a": {}, "b": {}})));
        assert!(link.answer(&object(&json!({"a": 1}))));
        assert_eq!(link.questions(), object(&json!({"b": {}})));
        assert_eq!(link.answers().await, Ok(object(&json!({"a": 1}))));
    }

    #[tokio::test]
    async fn a_client_that_cannot_answer_ends_the_wait() {
        let link = link();
        link.ask(object(&json!({"a": {}})));
        let waiting = tokio::spawn({
            let link = link.clone();
            async move { link.answers().await }
        });
        link.refuse();
        assert_eq!(waiting.await.unwrap(), Err(Unanswered::Refused));
    }

    #[tokio::test]
    async fn a_cancelled_call_ends_its_wait() {
        let link = link();
        let waiting = tokio::spawn({
            let link = link.clone();
            async move { link.cancelled().await }
        });
        link.cancel();
        waiting.await.unwrap();
    }

    #[test]
    fn messages_for_a_slow_client_are_bounded() {
        let link = link();
        for number in 0..=LINKED_EVENTS {
            link.report(CallEvent::Log(object(&json!({"data": number}))));
        }
        assert_eq!(link.take_events().len(), LINKED_EVENTS);
        assert_eq!(link.take_events(), Vec::new());
    }

    #[tokio::test]
    async fn all_links_share_one_memory_and_a_result_without_room_is_not_kept() {
        let memory = LinkMemory::new(40 << 10);
        let link = || CallLink::new(CallClient::default(), memory.clone());
        let result = || CallEnd::Result(object(&json!({"text": "x".repeat(30 << 10)})));
        let (first, second) = (link(), link());
        first.finish(result());
        second.finish(result());
        assert_eq!((first.end(), second.end()), (Some(result()), None));
        assert_eq!(second.answers().await, Err(Unanswered::Ended));
        drop(first);
        second.report(CallEvent::Log(object(
            &json!({"data": "x".repeat(30 << 10)}),
        )));
        let third = link();
        third.finish(result());
        assert_eq!(third.end(), None);
        assert_eq!(second.take_events().len(), 1);
        third.finish(result());
        assert_eq!(third.end(), Some(result()));
    }

    #[test]
    fn the_end_closes_the_questions() {
        let link = link();
        link.ask(object(&json!({"a": {}})));
        let end = CallEnd::Result(object(&json!({"content": []})));
        link.finish(end.clone());
        assert_eq!((link.questions(), link.end()), (Map::new(), Some(end)));
    }
}
