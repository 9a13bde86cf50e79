//! The calls of tools by this process: the tools, their slots, and the results that are reused.

use std::sync::Arc;

use charter_contract::ids::TenantId;
use charter_domain::clock::Clock;
use charter_effects::{ToolCall, ToolImplementation, ToolRunner};

use super::drivers::Drivers;
use crate::execution::call_links::CallLinks;
use crate::execution::executors;
use crate::execution::outputs::ValueMemory;
use crate::execution::tool_contents::ToolContentService;
use crate::execution::tool_results::ToolResults;
use crate::ground::fair_slots::{FairSlots, Slot};
use crate::ground::grants::TenantGrants;
use crate::ground::settings::ClientTools;
use crate::identity::credentials::CredentialService;

/// The ports of a tool call.
pub(crate) struct ToolCallPorts {
    pub(crate) clock: Arc<dyn Clock>,
    /// The port for tools, behind the router to executors and the check of outputs.
    pub(crate) tools: Arc<dyn ToolRunner>,
    /// The operator's grants.
    pub(crate) grants: TenantGrants,
    pub(crate) credentials: Arc<CredentialService>,
    pub(crate) client_tools: ClientTools,
    pub(crate) memory: ValueMemory,
    pub(crate) results: Arc<ToolResults>,
    pub(crate) contents: ToolContentService,
    pub(crate) drivers: Drivers,
    /// The links of calls to the clients that wait for them.
    pub(crate) linked: Arc<CallLinks>,
}

/// The calls of tools.
pub(crate) struct ToolCallService {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) tools: Arc<dyn ToolRunner>,
    pub(super) grants: TenantGrants,
    pub(super) credentials: Arc<CredentialService>,
    client_tools: ClientTools,
    pub(super) memory: ValueMemory,
    pub(super) results: Arc<ToolResults>,
    pub(super) contents: ToolContentService,
    pub(super) drivers: Drivers,
    pub(super) linked: Arc<CallLinks>,
    slots: FairSlots,
}

impl ToolCallService {
    /// Creates the service; at most `at_once` calls run in this process.
    pub(crate) fn new(ports: ToolCallPorts, at_once: usize) -> Self {
        Self {
            clock: ports.clock,
            tools: ports.tools,
            grants: ports.grants,
            credentials: ports.credentials,
            client_tools: ports.client_tools,
            memory: ports.memory,
            results: ports.results,
            contents: ports.contents,
            drivers: ports.drivers,
            linked: ports.linked,
            slots: FairSlots::new(at_once),
        }
    }

    /// Waits for a slot for a tool call of this process, shared fairly between tenants. A call for an executor needs
    /// none: one tenant without an executor must not block the others. Neither does a call whose client takes part: it
    /// may wait for a person, and the number of such calls has its own limit.
    pub(super) async fn slot(&self, tenant: &TenantId, call: &ToolCall) -> Option<Slot> {
        let is_linked =
            matches!(&call.implementation, ToolImplementation::Mcp(tool) if tool.link.is_some());
        if is_linked || executors::goes_to_executors(call, self.client_tools) {
            return None;
        }
        Some(self.slots.take(tenant).await)
    }

    /// Returns the number of calls that wait for a slot, over all tenants.
    pub(crate) fn queued(&self) -> usize {
        self.slots.queued()
    }
}
