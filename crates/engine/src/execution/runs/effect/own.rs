//! Steps that this server performs itself, in place of a tool: stages of missions, and the analysis of results. The
//! gate and the journal treat them like any other call.

use std::collections::BTreeSet;
use std::sync::Arc;

use charter_contract::catalogue::policy::RunKind;
use charter_contract::catalogue::stage::Stage;
use charter_contract::catalogue::tool::{Implementation, Tool};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::UserId;
use charter_domain::approval::ExactCall;
use charter_domain::graph::{GraphAdditions, Step};
use charter_domain::run::{
    DocumentPin, ErrorKind, ResultSource, Run, StepFailure, StepYield, TokenUsage,
};
use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::analysis::AnalysisWork;
use super::stages::{StageFailure, StageWork};
use super::{PinnedTool, Prepared, StepEnd, Workspace, failure, refused, still_approved, timeout};
use crate::execution::outputs::{RunMemory, admit};
use crate::execution::runs::RunClients;
use crate::execution::runs::progress::Progress;
use crate::execution::runs::tool_calls::ToolCallService;
use crate::ground::moments;

/// Work that this server performs itself.
#[derive(Debug)]
pub(super) enum InternalEffect {
    /// A stage of a mission.
    Stage(Box<dyn StageWork>),
    /// The analysis of results.
    Analysis(Box<AnalysisWork>),
}

impl InternalEffect {
    pub(super) fn tell(&mut self, progress: &Progress) {
        match self {
            Self::Stage(_) => {}
            Self::Analysis(work) => work.report_progress_to(progress),
        }
    }
}

/// The result of internal work.
struct InternalResult {
    output: Value,
    growth: GraphAdditions,
    /// Tools that the new steps call, in the versions that are pinned for them.
    tools: Vec<(DocumentPin, PinnedTool)>,
    tokens: TokenUsage,
    /// The users whose agents made it.
    contributors: BTreeSet<UserId>,
}

/// Returns the stage of a mission that a tool performs.
fn stage_of(tool: &Tool) -> Option<Stage> {
    match &tool.implementation {
        Some(Implementation::Stage { stage }) => Some(*stage),
        Some(
            Implementation::Script { .. }
            | Implementation::Http { .. }
            | Implementation::Builtin { .. }
            | Implementation::Analysis {}
            | Implementation::Mcp { .. },
        )
        | None => None,
    }
}

fn analyses(tool: &Tool) -> bool {
    matches!(tool.implementation, Some(Implementation::Analysis {}))
}

impl Workspace {
    /// Returns whether the results of a run of this kind may be analysed.
    fn is_analysed(&self) -> bool {
        matches!(self.kind, RunKind::Skill | RunKind::Analysis)
    }

    /// Returns whether the server itself performs a tool's work in a run of this kind. Such a tool is internal, and
    /// allowed here.
    pub(in crate::execution::runs) fn carries_out(&self, tool: &Tool) -> bool {
        (self.desk.is_some() && stage_of(tool).is_some()) || (self.is_analysed() && analyses(tool))
    }

    /// Builds the internal work of a step that this server performs itself.
    pub(super) fn own_work(
        &self,
        run: &Run,
        step: &Step,
        tool: &Tool,
        call: &ExactCall,
    ) -> Result<Option<InternalEffect>, StepFailure> {
        if let (Some(desk), Some(stage)) = (&self.desk, stage_of(tool)) {
            let key = run.idempotency_key(&step.id);
            let work = Arc::clone(desk).prepare(run, stage, &call.parameters, key)?;
            return Ok(Some(InternalEffect::Stage(work)));
        }
        if self.is_analysed() && analyses(tool) {
            let work = AnalysisWork::new(self, run, call, timeout(step, tool))?;
            return Ok(Some(InternalEffect::Analysis(Box::new(work))));
        }
        Ok(None)
    }
}

impl Prepared {
    /// Performs the internal work of a step.
    pub(super) async fn run_internal(
        mut self,
        own: InternalEffect,
        calls: &ToolCallService,
        clients: &dyn RunClients,
        room: &Arc<RunMemory>,
        cancel: CancellationToken,
    ) -> StepEnd {
        let step = self.call.step.clone();
        let began = calls.clock.now();
        let approved_until = self.approved_until;
        let may_begin = self.has_changed(calls, room, &cancel).await;
        let may_begin = may_begin.and_then(|()| still_approved(approved_until, calls.clock.now()));
        let done = match may_begin {
            Ok(()) => {
                let _resting = calls.drivers.mark_idle(&self.call.run_id);
                own.done(clients, &cancel).await
            }
            Err(failure) => Err(failure.into()),
        };
        match done.and_then(admitted) {
            Ok(done) => {
                let (pins, tools) = done.tools.into_iter().unzip();
                StepEnd::Succeeded {
                    step,
                    output: done.output,
                    source: ResultSource::Fresh,
                    duration_ms: moments::milliseconds(began, calls.clock.now()),
                    brings: Box::new(StepYield {
                        tokens: done.tokens,
                        growth: done.growth,
                        pins,
                        contributors: done.contributors,
                    }),
                    tools,
                    memory: None,
                }
            }
            Err(StageFailure { failure, tokens }) => StepEnd::Failed {
                step,
                failure,
                tokens,
            },
        }
    }
}

impl InternalEffect {
    async fn done(
        self,
        clients: &dyn RunClients,
        cancel: &CancellationToken,
    ) -> Result<InternalResult, StageFailure> {
        match self {
            Self::Stage(work) => {
                let done = work.run(cancel).await?;
                Ok(InternalResult {
                    output: written(&done.output)?,
                    growth: done.growth,
                    tools: done.tools,
                    tokens: done.tokens,
                    contributors: done.contributors,
                })
            }
            Self::Analysis(work) => {
                let done = clients.run_analysis(*work, cancel).await?;
                Ok(InternalResult {
                    output: written(&done.result)?,
                    growth: GraphAdditions::default(),
                    tools: Vec::new(),
                    tokens: done.tokens,
                    contributors: BTreeSet::new(),
                })
            }
        }
    }
}

fn written(output: &impl Serialize) -> Result<Value, StageFailure> {
    serde_json::to_value(output).map_err(|error| {
        let code = ErrorCode::Internal;
        StageFailure::from(failure(ErrorKind::SystemError, code, error.to_string()))
    })
}

/// Checks that the result may enter the journal. Steps that a stage adds to the plan are part of the same event.
fn admitted(done: InternalResult) -> Result<InternalResult, StageFailure> {
    let admitted = admit(&done.output).and_then(|_| admit(&json!(done.growth)));
    match admitted {
        Ok(_) => Ok(done),
        Err(much) => Err(StageFailure {
            failure: refused(format!("the output of the stage {much}")),
            tokens: done.tokens,
        }),
    }
}
