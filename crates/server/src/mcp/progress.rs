//! Progress of a call, told to a client that asked for it.

use charter_contract::ids::MissionId;
use charter_engine::{EngineError, Progress, ProgressEvent};
use futures_util::StreamExt;
use rmcp::model::ProgressNotificationParam;

use super::call::Call;

impl Call {
    /// Runs `work` with progress that goes to the client as notifications, in order, before the answer.
    pub(super) async fn telling<T>(&self, work: impl AsyncFnOnce(Progress) -> T) -> T {
        let Some(token) = self.context.meta.get_progress_token() else {
            return work(Progress::silent()).await;
        };
        let (progress, mut events) = Progress::channel();
        let telling = async {
            let mut count = 0.0;
            while let Some(event) = events.recv().await {
                count += 1.0;
                let told =
                    ProgressNotificationParam::new(token.clone(), count).with_message(said(&event));
                if let Err(error) = self.context.peer.notify_progress(told).await {
                    tracing::debug!(error = %error, "a client was not told of progress");
                }
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
        let states = events.filter(|event| std::future::ready(event.moved));
        let (mut states, mut work) = (std::pin::pin!(states), std::pin::pin!(work));
        let mut count = 0.0;
        loop {
            let state = tokio::select! {
                // What was told goes out before the answer.
                biased;
                Some(event) = states.next() => event.mission_state,
                done = &mut work => return Ok(done),
            };
            count += 1.0;
            let told = ProgressNotificationParam::new(token.clone(), count);
            let told = told.with_message(format!("the mission is {}", state.as_str()));
            if let Err(error) = self.context.peer.notify_progress(told).await {
                tracing::debug!(error = %error, "a client was not told of progress");
            }
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
