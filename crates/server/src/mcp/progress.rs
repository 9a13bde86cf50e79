//! Progress notifications of a call, for a client that requests them.

use charter_contract::ids::MissionId;
use charter_engine::{EngineError, MissionEvent, Progress, ProgressEvent};
use futures_util::StreamExt;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};

use super::call::Call;

/// Events of a mission that are read at once.
const PAGE: usize = 500;

impl Call {
    /// Runs `work` and sends its progress to the client as notifications, in order, before the answer.
    pub(super) async fn with_progress<T>(&self, work: impl AsyncFnOnce(Progress) -> T) -> T {
        let Some(mut reporter) = ProgressReporter::for_client(&self.context, self.progress_sent)
        else {
            return work(Progress::silent()).await;
        };
        let (progress, mut events) = Progress::channel();
        let telling = async {
            while let Some(event) = events.recv().await {
                reporter.report(progress_text(&event)).await;
            }
        };
        // The channel closes with the work, so all progress is sent before the answer.
        let (done, ()) = futures_util::future::join(work(progress), telling).await;
        done
    }
}

impl Call {
    /// Does `work` on a mission, and reports each new state of the mission to the client.
    pub(super) async fn reporter_for<T>(
        &self,
        mission: &MissionId,
        work: impl Future<Output = T>,
    ) -> Result<T, EngineError> {
        let Some(mut reporter) = ProgressReporter::for_client(&self.context, self.progress_sent)
        else {
            return Ok(work.await);
        };
        let events = self
            .engine()
            .mission_views()
            .follow(&self.caller, mission, 0)
            .await?;
        let (mut events, mut work) = (std::pin::pin!(events), std::pin::pin!(work));
        let mut seen = 0;
        let done = loop {
            tokio::select! {
                biased;
                Some(event) = events.next() => {
                    seen = event.entry.sequence;
                    reporter.report_state(&event).await;
                }
                done = &mut work => break done,
            }
        };
        if let Err(error) = reporter.report_rest(self, mission, seen).await {
            tracing::debug!(error = %error, "not all progress notifications were sent to a client");
        }
        Ok(done)
    }
}

/// Sends the progress of one call.
pub(super) struct ProgressReporter {
    token: ProgressToken,
    peer: Peer<RoleServer>,
    count: f64,
}

impl ProgressReporter {
    /// A reporter for a client that requests progress and has received `count` notifications. Each has a higher number
    /// than the one before.
    pub(super) fn for_client(context: &RequestContext<RoleServer>, count: f64) -> Option<Self> {
        Some(Self {
            token: context.meta.get_progress_token()?,
            peer: context.peer.clone(),
            count,
        })
    }

    /// The number of notifications that the client has received.
    pub(super) fn count(&self) -> f64 {
        self.count
    }

    /// Reports a mission's state, if it has changed.
    async fn report_state(&mut self, event: &MissionEvent) {
        if event.moved {
            let state = event.mission_state.as_str();
            self.report(format!("the mission is {state}")).await;
        }
    }

    /// Reports the events after `seen`, so that none follows the answer.
    async fn report_rest(
        &mut self,
        call: &Call,
        mission: &MissionId,
        mut seen: u64,
    ) -> Result<(), EngineError> {
        loop {
            let page = call
                .engine()
                .mission_views()
                .events(&call.caller, mission, seen, PAGE)
                .await?;
            for event in &page.entries {
                self.report_state(event).await;
            }
            match page.next {
                Some(next) => seen = next,
                None => return Ok(()),
            }
        }
    }

    pub(super) async fn report(&mut self, message: String) {
        self.count += 1.0;
        let progress = ProgressNotificationParam::new(self.token.clone(), self.count);
        let progress = progress.with_message(message);
        if let Err(error) = self.peer.notify_progress(progress).await {
            tracing::debug!(error = %error, "a progress notification was not sent to a client");
        }
    }
}

fn progress_text(event: &ProgressEvent) -> String {
    match event {
        ProgressEvent::Routed {
            verdict, skills, ..
        } => {
            format!("routed ({verdict}): {}", skills.join(", "))
        }
        ProgressEvent::SkillStarted { skill, run_id } => format!("{skill} started as {run_id}"),
        ProgressEvent::StepStarted { step, tool } => format!("{step}: calling {tool}"),
        ProgressEvent::StepWaiting {
            step,
            tool,
            wait_ms,
        } => format!("{step}: waiting {wait_ms} ms for the rate limit of {tool}"),
        ProgressEvent::StepFinished {
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
        ProgressEvent::Sentence { text, .. } => text.clone(),
    }
}
