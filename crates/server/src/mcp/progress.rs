//! Progress of a call, told to a client that asked for it.

use charter_engine::{Progress, ProgressEvent};
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
