//! The admission of outputs. Wherever a tool ran, its output is measured before it becomes part of a run, of evidence
//! or of an answer, all of which nest it deeper. Large outputs get their memory here. Must not know how a tool is run,
//! nor its declaration.

mod room;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::bounds::{LARGE_OUTPUT, RUNS_MEMORY, VALUES_MEMORY, VALUES_WAIT_MS};
use charter_contract::ids::TenantId;
use charter_contract::json::{Extent, JsonLimitExceeded, Profile, extent_of};
use charter_domain::run::ErrorKind;
use charter_effects::{
    OutputBudget, OutputBudgetExhausted, OutputSize, ToolCall, ToolOutcome, ToolRunner,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::EngineError;
use crate::identity::shares::{Share, Shares};

pub(crate) use room::{RunMemory, RunMemoryShare};

/// How long an output, a journal or a run waits for memory.
pub(crate) const VALUES_TIMEOUT: Duration = Duration::from_millis(VALUES_WAIT_MS as u64);

/// The memory for large outputs and journals.
fn values() -> Shares {
    Shares::new(
        "bytes in outputs and journals",
        "VALUES_MEMORY",
        VALUES_MEMORY,
        || {},
    )
}

/// The memory for the values of driven runs.
fn run_values() -> Shares {
    Shares::new("bytes in runs", "RUNS_MEMORY", RUNS_MEMORY, || {})
}

/// The memory of a large output.
#[derive(Debug)]
pub(crate) struct OutputMemory {
    /// Held until the output is written.
    pub(crate) written: Share,
    /// Held while its run is driven; none if the run may not keep the output.
    pub(crate) kept: Option<RunMemoryShare>,
}

/// Memory for the output of one call.
#[derive(Debug)]
pub(crate) struct OutputAllocation {
    shares: Shares,
    run: Arc<RunMemory>,
    taken: Mutex<Option<Box<OutputMemory>>>,
}

impl OutputAllocation {
    fn taken(&self) -> MutexGuard<'_, Option<Box<OutputMemory>>> {
        // Every change is one step.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the reserved memory to the output's next owner.
    pub(crate) fn take(&self) -> Option<Box<OutputMemory>> {
        self.taken().take()
    }
}

#[async_trait]
impl OutputBudget for OutputAllocation {
    async fn set_aside(&self, size: OutputSize) -> Result<(), OutputBudgetExhausted> {
        if self.taken().is_some() {
            return Ok(());
        }
        // The long-held memory is acquired first, while nothing is held that others wait for.
        let kept = self.run.take(size.memory, VALUES_TIMEOUT).await;
        let kept = kept.map_err(|error| OutputBudgetExhausted(error.message))?;
        // The parsed output, and its written form: the event and its text.
        let bytes = size.bytes.saturating_add(size.memory).saturating_mul(2);
        let waited = self
            .shares
            .wait_for_tenant(self.run.tenant(), bytes, VALUES_TIMEOUT);
        let written = waited
            .await
            .map_err(|error| OutputBudgetExhausted(error.message))?;
        *self.taken() = Some(Box::new(OutputMemory { written, kept }));
        Ok(())
    }
}

/// The memory of this process for large values. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct ValueMemory {
    /// For large outputs and journals.
    values: Shares,
    /// For the values of driven runs.
    runs: Shares,
}

impl Default for ValueMemory {
    fn default() -> Self {
        Self {
            values: values(),
            runs: run_values(),
        }
    }
}

impl ValueMemory {
    /// Creates the memory budget for the output of a run's call.
    pub(crate) fn for_output(&self, run: &Arc<RunMemory>) -> Arc<OutputAllocation> {
        Arc::new(OutputAllocation {
            shares: self.values.clone(),
            run: Arc::clone(run),
            taken: Mutex::default(),
        })
    }

    /// Creates the memory budget for the values of a tenant's run.
    pub(crate) fn for_run(&self, tenant: &TenantId) -> Arc<RunMemory> {
        RunMemory::new(&self.runs, tenant)
    }

    /// Reserves memory for this many bytes of values that are processed for a tenant; none for small values.
    ///
    /// # Errors
    /// `overloaded` if memory does not become available in time.
    pub(crate) async fn reserve(
        &self,
        tenant: &TenantId,
        bytes: usize,
    ) -> Result<Option<Share>, EngineError> {
        if bytes <= LARGE_OUTPUT {
            return Ok(None);
        }
        let waited = self.values.wait_for_tenant(tenant, bytes, VALUES_TIMEOUT);
        waited.await.map(Some)
    }
}

/// Runs tools and admits their outputs.
pub(crate) struct OutputBudgetRunner(pub(crate) Arc<dyn ToolRunner>);

#[async_trait]
impl ToolRunner for OutputBudgetRunner {
    async fn run(&self, call: ToolCall, cancel: CancellationToken) -> ToolOutcome {
        let room = Arc::clone(&call.room);
        match self.0.run(call, cancel).await {
            ToolOutcome::Succeeded {
                output,
                log,
                duration_ms,
            } => match admitted(&output, room.as_ref()).await {
                Ok(()) => ToolOutcome::Succeeded {
                    output,
                    log,
                    duration_ms,
                },
                Err((kind, message)) => ToolOutcome::Failed {
                    kind,
                    message,
                    retryable: kind == ErrorKind::ResourceError,
                    stale: false,
                    answered: true,
                    log,
                    duration_ms,
                },
            },
            failed @ ToolOutcome::Failed { .. } => failed,
        }
    }
}

/// Admits a value as an output and reserves its memory; the error has the kind of failure, and the reason.
async fn admitted(output: &Value, room: &dyn OutputBudget) -> Result<(), (ErrorKind, String)> {
    let extent = admit(output).map_err(|much| {
        let message = format!("its output {much}");
        (ErrorKind::ExecutionError, message)
    })?;
    if extent.memory <= LARGE_OUTPUT {
        return Ok(());
    }
    let size = OutputSize {
        bytes: 0,
        memory: extent.memory,
    };
    let set_aside = room.set_aside(size).await;
    set_aside.map_err(|none| (ErrorKind::ResourceError, none.to_string()))
}

/// Checks whether a value may be an output.
///
/// # Errors
/// [`JsonLimitExceeded`].
pub(crate) fn admit(output: &Value) -> Result<Extent, JsonLimitExceeded> {
    extent_of(output, Profile::OUTPUT)
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Waker};

    use super::*;

    fn room(shares: &Shares) -> OutputAllocation {
        let acme = TenantId::parse("acme").unwrap();
        OutputAllocation {
            shares: shares.clone(),
            run: RunMemory::new(&run_values(), &acme),
            taken: Mutex::default(),
        }
    }

    fn waits(future: Pin<&mut (impl Future + ?Sized)>) -> bool {
        let polled = future.poll(&mut Context::from_waker(Waker::noop()));
        polled.is_pending()
    }

    const LARGE: OutputSize = OutputSize {
        bytes: 16 << 20,
        memory: 16 << 20,
    };

    /// Six times 16 MiB: each gets its memory once the one before is written, after one request.
    #[tokio::test]
    async fn outputs_of_a_tenant_wait_for_the_one_before() {
        let shares = values();
        let (first, second) = (room(&shares), room(&shares));
        first.set_aside(LARGE).await.unwrap();
        first.set_aside(LARGE).await.unwrap();
        let mut waiting = second.set_aside(LARGE);
        assert!(waits(waiting.as_mut()));
        let written = first.take();
        assert!(written.is_some() && first.take().is_none());
        // The run's own memory for an output does not delay other writes.
        let kept = written.and_then(|memory| memory.kept);
        assert!(kept.is_some());
        waiting.await.unwrap();
        assert!(second.take().is_some());
    }

    /// Outputs that were not measured before are measured here: those of tools in another process, or of internal
    /// tools.
    #[tokio::test]
    async fn a_large_value_has_its_memory_when_it_is_admitted() {
        let shares = values();
        let room = room(&shares);
        admitted(&Value::from("small"), &room).await.unwrap();
        assert!(room.take().is_none());
        admitted(&Value::from("x".repeat(2 << 20)), &room)
            .await
            .unwrap();
        assert!(room.take().is_some());
        let deep = (0..70).fold(Value::Null, |inside, _| Value::Array(vec![inside]));
        let (kind, _) = admitted(&deep, &room).await.unwrap_err();
        assert_eq!(kind, ErrorKind::ExecutionError);
    }

    /// Values of one tenant wait for each other, outputs and journals alike; small values wait for nothing.
    #[tokio::test]
    async fn large_values_of_a_tenant_share_the_memory() {
        let memory = ValueMemory::default();
        let acme = TenantId::parse("acme").unwrap();
        let held = memory.reserve(&acme, VALUES_MEMORY).await.unwrap();
        assert!(held.is_some());
        assert!(memory.reserve(&acme, LARGE_OUTPUT).await.unwrap().is_none());
        let output = memory.for_output(&memory.for_run(&acme));
        let mut waiting = output.set_aside(LARGE);
        assert!(waits(waiting.as_mut()));
        drop(held);
        waiting.await.unwrap();
        assert!(output.take().is_some());
    }
}
