//! The services of execution, built from the ground up on those below them.

use std::sync::Arc;

use tokio::sync::Notify;

use super::Ports;
use super::services::Services;
use crate::execution::events::EventService;
use crate::execution::evidence::EvidenceService;
use crate::execution::evidence_log::EvidenceLogService;
use crate::execution::executors::{ClientCalls, ExecutorService};
use crate::execution::findings::FindingService;
use crate::execution::outputs::ValueMemory;
use crate::execution::tags::TagService;
use crate::ground::confined::Computations;
use crate::ground::core_ports::{BackgroundTasks, CorePorts};
use crate::ground::settings::Settings;

/// The services of execution.
pub(crate) struct ExecutionServices {
    pub(crate) memory: ValueMemory,
    pub(crate) events: Arc<EventService>,
    pub(crate) evidence: Arc<EvidenceService>,
    pub(crate) evidence_log: Arc<EvidenceLogService>,
    pub(crate) executors: Arc<ExecutorService>,
    pub(crate) findings: Arc<FindingService>,
    pub(crate) tags: Arc<TagService>,
}

/// The parts of a process that execution is built from.
pub(crate) struct ExecutionParts<'p> {
    pub(crate) ports: &'p Ports,
    pub(crate) settings: &'p Settings,
    pub(crate) background: BackgroundTasks,
    pub(crate) news: Arc<Notify>,
    pub(crate) calls: Arc<ClientCalls>,
    pub(crate) computations: Arc<Computations>,
}

impl ExecutionServices {
    pub(crate) fn new(below: &Services, parts: &ExecutionParts<'_>) -> Self {
        let evidence = Arc::new(parts.evidence());
        Self {
            memory: ValueMemory::default(),
            events: Arc::new(parts.events()),
            evidence_log: Arc::new(parts.evidence_log(Arc::clone(&evidence))),
            executors: Arc::new(parts.executors()),
            findings: Arc::new(parts.findings(below, Arc::clone(&evidence))),
            tags: Arc::new(parts.tags()),
            evidence,
        }
    }
}

impl ExecutionParts<'_> {
    fn core(&self) -> CorePorts {
        CorePorts {
            store: Arc::clone(&self.ports.store),
            clock: Arc::clone(&self.ports.clock),
            ids: Arc::clone(&self.ports.ids),
        }
    }

    fn events(&self) -> EventService {
        EventService::new(
            Arc::clone(&self.ports.store),
            Arc::clone(&self.news),
            self.background.shutdown.clone(),
        )
    }

    fn evidence(&self) -> EvidenceService {
        EvidenceService::new(
            self.core(),
            Arc::clone(&self.computations),
            self.settings.public_url.clone(),
        )
    }

    fn evidence_log(&self, evidence: Arc<EvidenceService>) -> EvidenceLogService {
        EvidenceLogService::new(
            self.core(),
            self.background.shutdown.clone(),
            evidence,
            self.ports.evidence_key.clone(),
            self.settings.evidence_retention,
        )
    }

    fn executors(&self) -> ExecutorService {
        ExecutorService::new(
            Arc::clone(&self.ports.ids),
            self.background.shutdown.clone(),
            Arc::clone(&self.calls),
            self.settings.client_tools,
        )
    }

    fn findings(&self, below: &Services, evidence: Arc<EvidenceService>) -> FindingService {
        FindingService::new(
            Arc::clone(&self.ports.clock),
            Arc::clone(&below.catalogue),
            Arc::clone(&below.expert_graph),
            evidence,
            Arc::clone(&self.computations),
        )
    }

    fn tags(&self) -> TagService {
        TagService::new(
            self.core(),
            self.settings.persona.clone(),
            self.settings.tags_ttl,
        )
    }
}
