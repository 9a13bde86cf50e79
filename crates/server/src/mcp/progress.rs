//! Progress of a call, told to a client that asked for it.

use charter_contract::ids::MissionId;
use charter_engine::{EngineError, MissionEvent, Progress, ProgressEvent};
use futures_util::StreamExt;
use rmcp::model::{ProgressNotificationParam, ProgressToken};

use super::call::Call;

/// Events of a mission that are read at once.
const PAGE: usize = 500;

impl Call {
    /// Runs `work` with progress that goes to the client as notifications, in order, before the answer.
    pub(super) async fn telling<T>(&self, work: impl AsyncFnOnce(Progress) -> T) -> T {
        let Some(token) = self.context.meta.get_progress_token() else {
            return work(Progress::silent()).await;
        };
        let (progress, mut events) = Progress::channel();
        let telling = async {
            let mut told = Told { token, count: 0.0 };
            while let Some(event) = events.recv().await {
                told.say(self, said(&event)).await;
            }
        };
        // The channel closes with the work, so what was told goes out before the answer.
        let (done, ()) = futures_util::future::join(work(progress), telling).await;
        done
    }
}

impl Call {
    /// Does `work` on a mission while each state that the mission comes to goes to the client.
    pub(super) async fn telling_of<T>(
        &self,
        mission: &MissionId,
        work: impl Future<Output = T>,
    ) -> Result<T, EngineError> {
        let Some(token) = self.context.meta.get_progress_token() else {
            return Ok(work.await);
        };
        let events = self
            .engine()
            .follow_mission(&self.caller, mission, 0)
            .await?;
        let (mut events, mut work) = (std::pin::pin!(events), std::pin::pin!(work));
        let mut told = Told { token, count: 0.0 };
        let mut seen = 0;
        let done = loop {
            tokio::select! {
                biased;
                Some(event) = events.next() => {
                    seen = event.entry.sequence;
                    told.state(self, &event).await;
                }
                done = &mut work => break done,
            }
        };
        if let Err(error) = told.rest(self, mission, seen).await {
            tracing::debug!(error = %error, "a client was not told of all progress");
        }
        Ok(done)
    }
}

/// Progress of one call, so far.
struct Told {
    token: ProgressToken,
    count: f64,
}

impl Told {
    /// Tells where a mission has come to, if it has moved.
    async fn state(&mut self, call: &Call, event: &MissionEvent) {
        if event.moved {
            let state = event.mission_state.as_str();
            self.say(call, format!("the mission is {state}")).await;
        }
    }

    /// Tells what happened after the event `seen`, so that nothing of it comes after the answer.
    async fn rest(
        &mut self,
        call: &Call,
        mission: &MissionId,
        mut seen: u64,
    ) -> Result<(), EngineError> {
        loop {
            let page = call
                .engine()
                .mission_events(&call.caller, mission, seen, PAGE)
                .await?;
            for event in &page.entries {
                self.state(call, event).await;
            }
            match page.next {
                Some(next) => seen = next,
                None => return Ok(()),
            }
        }
    }

    async fn say(&mut self, call: &Call, message: String) {
        self.count += 1.0;
        let progress = ProgressNotificationParam::new(self.token.clone(), self.count);
        let progress = progress.with_message(message);
        if let Err(error) = call.context.peer.notify_progress(progress).await {
            tracing::debug!(error = %error, "a client was not told of progress");
        }
    }
}

fn said(event: &ProgressEvent) -> String {
    match event {
        ProgressEvent::Routed {
            verdict, skills, ..
        } => {
            format!("routed ({verdict}): {}", skills.join(", "))
        }
        ProgressEvent::SkillStarted { skill, run_id } => format!("{skill} started as {run_id}"),
        ProgressEvent::StepStarted { step, tool } => format!("{step}: calling {tool}"),
        ProgressEvent::StepEnded {
            step,
            outcome,
            message,
        } => match message {
            Some(message) => format!("{step} {outcome}: {message}"),
            None => format!("{step} {outcome}"),
        },
        ProgressEvent::Analysed {
            skill,
            findings,
            evidence,
        } => {
            format!("{skill}: {findings} findings, {evidence} evidence records")
        }
    }
}
