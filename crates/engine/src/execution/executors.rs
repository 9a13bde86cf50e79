//! Calls of client tools (seed 000 §2.4, `execution_target`), leased by executors: processes that run them where the
//! credentials are.
//!
//! [`TargetRouter`] is in front of the tools port: a run's driver calls a tool and waits, wherever it runs. A call is
//! an effect like any other, so the queue need not be durable. If this process ends, the beginning of the effect is in
//! the journal. The next driver repeats it under the same idempotency key, or requests an approval, as for every
//! interrupted effect.
//!
//! A lease has a single-use id. A message under a lapsed id is refused and changes nothing. Must not know HTTP, nor the
//! work of a tool.

mod queue;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::bounds::LARGE_OUTPUT;
use charter_contract::error_code::ErrorCode;
use charter_contract::executor::{ExecutorCall, ExecutorOutcome};
use charter_contract::ids::{Label, LeaseId, ToolId};
use charter_contract::package::PackageBundle;
use charter_effects::{
    ClientGrants, OutputSize, Target, ToolCall, ToolImplementation, ToolOutcome, ToolRunner,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::EngineError;
use crate::ground::ids::IdSource;
use crate::ground::settings::ClientTools;
use crate::identity::caller::{Caller, Role};
pub(crate) use queue::ClientCalls;
use queue::{ExecutorCapabilities, LeaseNotHeld};

/// Longest wait for a call, regardless of the executor's request.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Maximum tools for which an executor may have handlers.
const MAX_HANDLERS: usize = 1_000;

/// Returns whether executors run a call. They never run Charter's own tools, regardless of their documents. They always
/// run tools without an implementation, and a playbook's script in place of one; the setting decides about the others.
pub(crate) fn goes_to_executors(call: &ToolCall, client_tools: ClientTools) -> bool {
    let Target::Client(client) = &call.target else {
        return false;
    };
    match (&call.implementation, &client.grants) {
        (ToolImplementation::Handler, _) => true,
        (ToolImplementation::Builtin(_) | ToolImplementation::Mcp(_), _) => false,
        (ToolImplementation::Script(_) | ToolImplementation::Http(_), ClientGrants::Own) => true,
        (
            ToolImplementation::Script(_) | ToolImplementation::Http(_),
            ClientGrants::Asked { .. },
        ) => client_tools == ClientTools::Executors,
    }
}

/// Runs server tools here, and leaves calls of client tools to executors.
pub(crate) struct TargetRouter {
    here: Arc<dyn ToolRunner>,
    executors: Arc<ClientCalls>,
    client_tools: ClientTools,
}

impl TargetRouter {
    pub(crate) fn new(
        here: Arc<dyn ToolRunner>,
        executors: Arc<ClientCalls>,
        client_tools: ClientTools,
    ) -> Self {
        Self {
            here,
            executors,
            client_tools,
        }
    }
}

#[async_trait]
impl ToolRunner for TargetRouter {
    async fn run(&self, call: ToolCall, cancel: CancellationToken) -> ToolOutcome {
        match &call.target {
            Target::Client(client) if goes_to_executors(&call, self.client_tools) => {
                let client = client.clone();
                self.executors.run(call, client, cancel).await
            }
            Target::Client(_) | Target::Here => self.here.run(call, cancel).await,
        }
    }
}

/// An executor's request for a call.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseRequest {
    /// Its name, for messages.
    pub executor: Label,
    /// How long it waits if there is no call, in milliseconds; at most 30 s.
    #[serde(default)]
    pub wait_ms: u64,
    /// Tools without an implementation for which it has handlers; at most 1000.
    #[serde(default)]
    pub handlers: BTreeSet<ToolId>,
    /// Whether it only accepts calls of its handlers, and no scripts or HTTP exchanges of packages.
    #[serde(default)]
    pub only_handlers: bool,
}

/// A renewed lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "LeaseRenewal")]
pub struct LeaseRenewal {
    /// Remaining term of the lease, in milliseconds.
    pub lease_ms: u64,
}

/// The executors' side of the calls of client tools.
pub struct ExecutorService {
    ids: Arc<dyn IdSource>,
    shutdown: CancellationToken,
    calls: Arc<ClientCalls>,
    client_tools: ClientTools,
}

impl std::fmt::Debug for ExecutorService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecutorService").finish_non_exhaustive()
    }
}

impl ExecutorService {
    pub(crate) fn new(
        ids: Arc<dyn IdSource>,
        shutdown: CancellationToken,
        calls: Arc<ClientCalls>,
        client_tools: ClientTools,
    ) -> Self {
        Self {
            ids,
            shutdown,
            calls,
            client_tools,
        }
    }

    /// Leases the next client tool call of the caller's tenant to this executor; `None` if there is none during its
    /// wait, at most `longest`. Only the first renewal marks the call as begun: without one it is offered again, even
    /// if it must not begin twice.
    ///
    /// # Errors
    /// `permission_denied` for callers below operator; `illegal_transition` if this server runs client tools itself,
    /// for an executor without handlers; `invalid_request` for too many handlers.
    pub async fn lease(
        &self,
        caller: &Caller,
        asked: LeaseRequest,
        longest: Duration,
    ) -> Result<Option<ExecutorCall>, EngineError> {
        let calls = self.calls_for(caller)?;
        self.must_carry_something(&asked)?;
        let carries = ExecutorCapabilities {
            handlers: asked.handlers,
            programs: !asked.only_handlers,
        };
        let wait = Duration::from_millis(asked.wait_ms)
            .min(MAX_WAIT)
            .min(longest);
        let until = Instant::now() + wait;
        loop {
            let mut offered = std::pin::pin!(calls.offered());
            // From here on, no new call is missed.
            offered.as_mut().enable();
            let id = LeaseId::from_uuid(self.ids.uuid());
            let (tenant, now) = (&caller.tenant, Instant::now());
            if let Some(taken) = calls.take(tenant, &asked.executor, &carries, id, now) {
                return wire::call(&taken, calls.lease())
                    .map(Some)
                    .map_err(|error| {
                        EngineError::internal("writing a call for an executor", error)
                    });
            }
            tokio::select! {
                () = offered => {}
                () = tokio::time::sleep_until(until) => return Ok(None),
                () = self.shutdown.cancelled() => return Ok(None),
            }
        }
    }

    /// Renews a lease for another term; the first renewal marks the call as begun.
    ///
    /// # Errors
    /// As [`ExecutorService::lease`]; `illegal_transition` for a lease that is not held (any more).
    pub fn renew(&self, caller: &Caller, lease: &LeaseId) -> Result<LeaseRenewal, EngineError> {
        let calls = self.calls_for(caller)?;
        calls
            .renew(&caller.tenant, lease, Instant::now())
            .map_err(|LeaseNotHeld| not_held(lease))?;
        let lease_ms = u64::try_from(calls.lease().as_millis()).unwrap_or(u64::MAX);
        Ok(LeaseRenewal { lease_ms })
    }

    /// Returns the files that a leased script may open or import.
    ///
    /// # Errors
    /// As [`ExecutorService::renew`]; `not_found` for a call without files.
    pub fn files(&self, caller: &Caller, lease: &LeaseId) -> Result<PackageBundle, EngineError> {
        let held = self
            .calls_for(caller)?
            .held(&caller.tenant, lease, Instant::now());
        let call = held.map_err(|LeaseNotHeld| not_held(lease))?;
        match &call.implementation {
            ToolImplementation::Script(script) => Ok(PackageBundle {
                files: BTreeMap::clone(script.files.files()),
            }),
            ToolImplementation::Http(_)
            | ToolImplementation::Builtin(_)
            | ToolImplementation::Mcp(_)
            | ToolImplementation::Handler => Err(EngineError::not_found("file of the call", lease)),
        }
    }

    /// Accepts the outcome of a leased call; its run continues. The lease ends.
    ///
    /// # Errors
    /// As [`ExecutorService::renew`]; `too_large` for an output over the call's limit, and `overloaded` if there is no
    /// memory for it, after which the lease is still held.
    pub async fn report(
        &self,
        caller: &Caller,
        lease: &LeaseId,
        outcome: ExecutorOutcome,
    ) -> Result<(), EngineError> {
        let calls = self.calls_for(caller)?;
        let held = calls.held(&caller.tenant, lease, Instant::now());
        let held = held.map_err(|LeaseNotHeld| not_held(lease))?;
        let limit = held.limits.output_bytes;
        let OutputSize { bytes, memory } = wire::output_size(&outcome);
        if bytes > limit {
            let message = format!("the output has {bytes} bytes; the limit is {limit}");
            return Err(EngineError::new(ErrorCode::TooLarge, message)
                .with_details(json!({"limit_bytes": limit})));
        }
        if memory > LARGE_OUTPUT {
            // The run takes it over with its memory.
            let set_aside = held.room.set_aside(OutputSize { bytes: 0, memory });
            set_aside
                .await
                .map_err(|none| EngineError::new(ErrorCode::Overloaded, none.to_string()))?;
        }
        calls
            .report(
                &caller.tenant,
                lease,
                wire::outcome(outcome),
                Instant::now(),
            )
            .map_err(|LeaseNotHeld| not_held(lease))
    }

    /// Returns the queue, for callers that may lease from it: an executor uses its own credentials, and its results
    /// become evidence.
    fn calls_for(&self, caller: &Caller) -> Result<&ClientCalls, EngineError> {
        caller.must_be(Role::Operator, "only operators can lease calls")?;
        Ok(&self.calls)
    }

    /// Refuses an executor that would wait forever.
    fn must_carry_something(&self, asked: &LeaseRequest) -> Result<(), EngineError> {
        let handlers = asked.handlers.len();
        if handlers > MAX_HANDLERS {
            let message = format!("`handlers` names {handlers} tools; the limit is {MAX_HANDLERS}");
            return Err(EngineError::new(ErrorCode::InvalidRequest, message));
        }
        if handlers == 0 && asked.only_handlers {
            let message =
                "`only_handlers` is set, but `handlers` is empty: name tools in `handlers`";
            return Err(EngineError::new(ErrorCode::InvalidRequest, message));
        }
        if handlers == 0 && self.client_tools == ClientTools::Here {
            let message = "this server runs client tools itself: it leaves them to executors when \
                           `tools.client_tools` is \"executor\", and tools without an implementation to those that \
                           have handlers for them";
            return Err(EngineError::new(ErrorCode::IllegalTransition, message));
        }
        Ok(())
    }
}

/// The same error for every lease that the caller cannot use: lapsed, ended, cancelled, unknown, or another tenant's.
fn not_held(lease: &LeaseId) -> EngineError {
    let message = format!(
        "the lease `{lease}` is not held: it expired, its call ended or was cancelled, or the server was restarted; \
         nothing was recorded"
    );
    EngineError::new(ErrorCode::IllegalTransition, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RandomIds;

    /// Without a call an executor waits as long as it may; one that could never run a call is refused.
    #[tokio::test]
    async fn an_executor_leases_nothing_where_there_is_no_call() {
        let calls = Arc::new(ClientCalls::new(Duration::from_secs(15)));
        let service = |client_tools| {
            let (ids, shutdown) = (Arc::new(RandomIds), CancellationToken::new());
            ExecutorService::new(ids, shutdown, Arc::clone(&calls), client_tools)
        };
        let caller = Caller::local().unwrap();
        let asked = LeaseRequest {
            executor: Label::parse("laptop").unwrap(),
            wait_ms: 1,
            handlers: BTreeSet::new(),
            only_handlers: false,
        };
        let executors = service(ClientTools::Executors);
        let leased = executors.lease(&caller, asked.clone(), MAX_WAIT).await;
        assert!(leased.unwrap().is_none());
        let id = LeaseId::from_uuid(RandomIds.uuid());
        let refused = executors.renew(&caller, &id).unwrap_err();
        assert_eq!(refused.code, ErrorCode::IllegalTransition);
        let here = service(ClientTools::Here);
        let refused = here.lease(&caller, asked, MAX_WAIT).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::IllegalTransition);
    }
}
