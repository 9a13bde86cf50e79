//! Calls of client tools (seed 000 §2.4, `execution_target`), leased by executors: processes that
//! run them where the credentials are.
//!
//! [`TargetRouter`] stands in front of the tools port: a run's driver calls a tool and waits, whoever
//! runs it. A call is an effect in flight like any other, so nothing of the queue is durable: when
//! this process ends, the journal says that the effect began, and whoever takes the run up begins
//! it again under the same idempotency key, or asks a person, as for every interrupted effect.
//!
//! A lease is known by an id that is given once. What comes under an id that is not held any more
//! is refused and changes nothing. Must not know HTTP, nor what a tool does.

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

use crate::ground::settings::ClientTools;
use crate::identity::caller::{Caller, Role};
use crate::{Engine, EngineError};
pub(crate) use queue::ClientCalls;
use queue::{ExecutorCapabilities, LeaseNotHeld};

/// Longest wait for a call, whatever an executor asks for.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Most tools that an executor may have handlers for.
const MAX_HANDLERS: usize = 1_000;

/// Whether a call is one that executors run. What Charter carries out itself is part of the server, whatever its document
/// says; what has no implementation is theirs, and so is a playbook's script in its place.
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

/// Runs what belongs here, and leaves the calls of client tools to executors.
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

/// What an executor says when it asks for a call.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseRequest {
    /// Its name, for messages.
    pub executor: Label,
    /// How long it waits when there is no call, in milliseconds; at most 30 s.
    #[serde(default)]
    pub wait_ms: u64,
    /// The tools without an implementation that it has handlers for; at most 1000.
    #[serde(default)]
    pub handlers: BTreeSet<ToolId>,
    /// Whether it takes calls of its handlers alone: it runs no scripts and HTTP exchanges of packages.
    #[serde(default)]
    pub only_handlers: bool,
}

/// A lease that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "LeaseRenewed")]
pub struct LeaseRenewal {
    /// For how long the call is held from now on, in milliseconds.
    pub lease_ms: u64,
}

impl Engine {
    /// The next call of a client tool of the caller's tenant, leased to this executor; nothing when
    /// none comes while it waits, for `longest` at most. Only the first renewal says that the call
    /// is taken up: without one it is offered again, also where it must not be begun twice.
    ///
    /// # Errors
    /// `permission_denied` for callers below operator; `illegal_transition` where this server runs client tools itself, for
    /// an executor without handlers; `invalid_request` for too many of them.
    pub async fn lease_call(
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
            // From here on no call that is put escapes.
            offered.as_mut().enable();
            let id = LeaseId::from_uuid(self.new_uuid());
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
                () = self.shutdown().cancelled() => return Ok(None),
            }
        }
    }

    /// Holds a call for another term; the first time it says that the call is begun.
    ///
    /// # Errors
    /// As [`Engine::lease_call`]; `illegal_transition` for a lease that is not held (any more).
    pub fn renew_call(
        &self,
        caller: &Caller,
        lease: &LeaseId,
    ) -> Result<LeaseRenewal, EngineError> {
        let calls = self.calls_for(caller)?;
        calls
            .renew(&caller.tenant, lease, Instant::now())
            .map_err(|LeaseNotHeld| not_held(lease))?;
        let lease_ms = u64::try_from(calls.lease().as_millis()).unwrap_or(u64::MAX);
        Ok(LeaseRenewal { lease_ms })
    }

    /// The files that a leased script may open or import.
    ///
    /// # Errors
    /// As [`Engine::renew_call`]; `not_found` for a call without files.
    pub fn files_of_call(
        &self,
        caller: &Caller,
        lease: &LeaseId,
    ) -> Result<PackageBundle, EngineError> {
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

    /// Takes what came of a leased call; its run goes on. The lease is over.
    ///
    /// # Errors
    /// As [`Engine::renew_call`]; `too_large` for an output over the call's bound, and `overloaded` where there is no
    /// memory for it, after which the lease is still held.
    pub async fn report_call(
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

    /// The queue, for callers that may take from it: an executor acts with credentials of its own
    /// and its word becomes evidence.
    fn calls_for(&self, caller: &Caller) -> Result<&ClientCalls, EngineError> {
        caller.must_be(Role::Operator, "calls are leased by operators")?;
        Ok(self.executors())
    }

    /// Refuses an executor that would wait for ever.
    fn must_carry_something(&self, asked: &LeaseRequest) -> Result<(), EngineError> {
        let handlers = asked.handlers.len();
        if handlers > MAX_HANDLERS {
            let message = format!("{handlers} handlers; an executor has at most {MAX_HANDLERS}");
            return Err(EngineError::new(ErrorCode::InvalidRequest, message));
        }
        if handlers == 0 && asked.only_handlers {
            let message = "an executor that takes calls of its handlers alone has none: name tools in `handlers`";
            return Err(EngineError::new(ErrorCode::InvalidRequest, message));
        }
        if handlers == 0 && self.settings().client_tools == ClientTools::Here {
            let message = "this server runs client tools itself: it leaves them to executors when \
                           `tools.client_tools` is \"executor\", and tools without an implementation to those that \
                           have handlers for them";
            return Err(EngineError::new(ErrorCode::IllegalTransition, message));
        }
        Ok(())
    }
}

/// One answer for every lease that is not this caller's to use: lapsed, ended, cancelled, unknown,
/// or another tenant's.
fn not_held(lease: &LeaseId) -> EngineError {
    let message = format!(
        "the lease `{lease}` is not held: it lapsed, its call ended or was cancelled, or the server \
         was started anew; nothing was recorded"
    );
    EngineError::new(ErrorCode::IllegalTransition, message)
}
