//! Driving one run: decide, append, act, append, until nothing is left.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{RunId, StepId};
use charter_domain::run::{Command, Next, Run};
use charter_store::journal::{Append, RunPhase};
use charter_store::lease::Lease;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio_util::sync::CancellationToken;

use super::effect::{StepEnd, Workspace};
use super::journal::{Folded, chain};
use crate::requests::Progress;
use crate::{Engine, EngineError};

/// A run that this worker holds.
struct Drive<'e> {
    engine: &'e Arc<Engine>,
    folded: Folded,
    lease: Lease,
    workspace: Workspace,
    progress: Progress,
    cancel: CancellationToken,
}

impl Engine {
    /// Drives a run to its end, wherever its journal says that it stands.
    ///
    /// # Errors
    /// `overloaded` while another worker holds the run; `unavailable` when the engine stops first;
    /// what storage says otherwise. Failures of steps are no errors: they are in the run's outcome.
    pub(crate) async fn drive(
        self: &Arc<Self>,
        run_id: &RunId,
        workspace: Workspace,
        progress: Progress,
    ) -> Result<Run, EngineError> {
        let now = self.now();
        let lease = self
            .store()
            .acquire(
                run_id.as_ref(),
                self.holder(),
                now,
                self.after(now, self.settings().lease),
            )
            .await?
            .ok_or_else(|| {
                EngineError::new(ErrorCode::Overloaded, "another worker holds the run")
            })?;
        let mut drive = Drive {
            engine: self,
            folded: self.fold(run_id).await?,
            lease,
            workspace,
            progress,
            cancel: self.shutdown().child_token(),
        };
        let ended = drive.run_to_end().await;
        drive.cancel.cancel();
        self.store().release(&drive.lease).await?;
        ended.map(|()| drive.folded.run)
    }
}

fn interrupted() -> EngineError {
    let message = "the server is stopping; this goes on when it is back";
    EngineError::new(ErrorCode::Unavailable, message)
}

impl Drive<'_> {
    async fn run_to_end(&mut self) -> Result<(), EngineError> {
        let mut in_flight = FuturesUnordered::new();
        let mut in_hand: BTreeSet<StepId> = BTreeSet::new();
        let beat = self.engine.settings().lease / 3;
        loop {
            match self.folded.run.next(&in_hand) {
                Next::Ended => return Ok(()),
                // Effects under way are dropped, which ends them: the journal says that they began,
                // and whoever takes the run up begins them again under the same key.
                Next::Start(_) | Next::Wait if self.cancel.is_cancelled() => {
                    return Err(interrupted());
                }
                Next::Start(steps) => {
                    for step in steps {
                        // A step that may not start can end the run or skip the steps after it.
                        let Some(effect) = self.begin(&step).await? else {
                            break;
                        };
                        in_hand.insert(step);
                        in_flight.push(effect);
                    }
                }
                Next::Wait if in_flight.is_empty() => {
                    let cause = "the run waits for a step that nobody runs";
                    return Err(EngineError::internal("driving a run", cause));
                }
                Next::Wait => {
                    let waited = tokio::select! {
                        biased;
                        () = self.cancel.cancelled() => continue,
                        waited = tokio::time::timeout(beat, in_flight.next()) => waited,
                    };
                    match waited {
                        Ok(Some(end)) => self.end(end).await?,
                        Ok(None) => {}
                        Err(_) => self.renew(self.engine.settings().lease).await?,
                    }
                }
            }
        }
    }

    /// Journals that a step starts and hands out its effect; a step that may not start is
    /// journaled as failed and has none.
    async fn begin(
        &mut self,
        step: &StepId,
    ) -> Result<Option<impl Future<Output = StepEnd> + use<>>, EngineError> {
        let call = match self.workspace.prepare(&self.folded.run, step) {
            Ok(call) => call,
            Err(failure) => {
                self.append(Command::Fail {
                    step: step.clone(),
                    failure,
                })
                .await?;
                return Ok(None);
            }
        };
        self.append(Command::Begin {
            step: step.clone(),
            parameters: call.parameters().clone(),
            judgement: call.judgement().clone(),
        })
        .await?;
        self.progress.step_started(step, call.tool());
        let engine = Arc::clone(self.engine);
        let key = format!("{}/{step}", self.folded.run.id());
        let cancel = self.cancel.child_token();
        Ok(Some(
            async move { call.perform(&engine, key, cancel).await },
        ))
    }

    async fn end(&mut self, end: StepEnd) -> Result<(), EngineError> {
        // A step that was cut off because the server stops has not failed: it is taken up again.
        if matches!(end, StepEnd::Failed { .. }) && self.cancel.is_cancelled() {
            return Err(interrupted());
        }
        self.progress.step_ended(&end);
        let command = match end {
            StepEnd::Succeeded {
                step,
                output,
                source,
                duration_ms,
            } => Command::Succeed {
                step,
                output,
                source,
                duration_ms,
            },
            StepEnd::Failed { step, failure } => Command::Fail { step, failure },
        };
        self.append(command).await
    }

    async fn append(&mut self, command: Command) -> Result<(), EngineError> {
        let events = self
            .folded
            .run
            .decide(command)
            .map_err(|error| EngineError::internal("deciding on a run", error))?;
        let at = self.engine.now();
        let chained = chain(self.folded.head, self.folded.version, &events, at)?;
        let head = chained.last().map_or(self.folded.head, |event| event.hash);
        for event in events {
            self.folded
                .run
                .apply(event)
                .map_err(|error| EngineError::internal("folding an event", error))?;
        }
        let phase = match self.folded.run.outcome() {
            Some(_) => RunPhase::Finished,
            None => RunPhase::Runnable,
        };
        let append = Append {
            run_id: self.folded.run.id().clone(),
            expected: self.folded.version,
            fence: self.lease.fence,
            events: chained,
            phase,
            messages: Vec::new(),
        };
        self.folded.version = self.engine.store().append(append).await?;
        self.folded.head = head;
        Ok(())
    }

    async fn renew(&mut self, lease: Duration) -> Result<(), EngineError> {
        let expires_at = self.engine.after(self.engine.now(), lease);
        self.lease = self.engine.store().renew(&self.lease, expires_at).await?;
        Ok(())
    }
}
