//! The services of missions, built on those of execution and below.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::Ports;
use super::execution_services::ExecutionServices;
use super::services::Services;
use crate::ground::core_ports::CorePorts;
use crate::ground::questions::QuestionSlots;
use crate::ground::settings::Settings;
use crate::identity::quotas::TenantQuotas;
use crate::missions::{
    MissionParts, MissionService, MissionStageParts, MissionStageService, MissionViewService,
    WriteBackParts, WriteBackService,
};

/// The services of missions.
pub(crate) struct MissionServices {
    pub(crate) missions: Arc<MissionService>,
    pub(crate) views: Arc<MissionViewService>,
    /// Runs have a weak reference to it.
    _stages: Arc<MissionStageService>,
}

/// The parts of a process that missions are built from.
pub(crate) struct MissionServicesParts<'p> {
    pub(crate) ports: &'p Ports,
    pub(crate) settings: &'p Settings,
    pub(crate) shutdown: CancellationToken,
    /// Wakes the readers of events.
    pub(crate) news: Arc<Notify>,
    pub(crate) questions: QuestionSlots,
    pub(crate) quotas: Arc<TenantQuotas>,
}

impl MissionServices {
    /// Builds the services on those of the lower storeys, and has runs use them.
    pub(crate) fn new(
        below: &Services,
        execution: &ExecutionServices,
        parts: &MissionServicesParts<'_>,
    ) -> Self {
        let views = Arc::new(parts.views(execution));
        let stages = Arc::new(parts.stages(below, execution, &views));
        let runners = Arc::downgrade(&stages);
        execution.pinned.set_stages(runners);
        Self {
            missions: Arc::new(parts.missions(below, execution, &views)),
            views,
            _stages: stages,
        }
    }
}

impl MissionServicesParts<'_> {
    fn missions(
        &self,
        below: &Services,
        execution: &ExecutionServices,
        views: &Arc<MissionViewService>,
    ) -> MissionService {
        let ports = CorePorts {
            store: Arc::clone(&self.ports.store),
            clock: Arc::clone(&self.ports.clock),
            ids: Arc::clone(&self.ports.ids),
        };
        let parts = MissionParts {
            models: Arc::clone(&self.ports.models),
            quotas: Arc::clone(&self.quotas),
            catalogue: Arc::clone(&below.catalogue),
            tags: Arc::clone(&execution.tags),
            runs: Arc::clone(&execution.runs),
            management: Arc::clone(&execution.management),
            views: Arc::clone(views),
        };
        MissionService::new(ports, parts)
    }

    fn views(&self, execution: &ExecutionServices) -> MissionViewService {
        MissionViewService::new(
            Arc::clone(&self.ports.store),
            Arc::clone(&execution.journals),
            Arc::clone(&execution.views),
        )
    }

    fn stages(
        &self,
        below: &Services,
        execution: &ExecutionServices,
        views: &Arc<MissionViewService>,
    ) -> MissionStageService {
        let parts = MissionStageParts {
            models: Arc::clone(&self.ports.models),
            pass_ttl: self.settings.pass_ttl,
            questions: self.questions.clone(),
            catalogue: Arc::clone(&below.catalogue),
            lenses: Arc::clone(&below.lenses),
            routing: Arc::clone(&below.routing),
            tool_search: Arc::clone(&below.tool_search),
            findings: Arc::clone(&execution.findings),
            tags: Arc::clone(&execution.tags),
            pinned: Arc::clone(&execution.pinned),
            views: Arc::clone(views),
            write_backs: Arc::new(self.write_backs(execution)),
        };
        MissionStageService::new(Arc::clone(&self.ports.clock), parts)
    }

    fn write_backs(&self, execution: &ExecutionServices) -> WriteBackService {
        let parts = WriteBackParts {
            shutdown: self.shutdown.clone(),
            news: Arc::clone(&self.news),
            webhooks: Arc::clone(&self.ports.webhooks),
            journals: Arc::clone(&execution.journals),
            runs: Arc::clone(&execution.runs),
            starts: Arc::clone(&execution.starts),
        };
        let (store, clock) = (&self.ports.store, &self.ports.clock);
        WriteBackService::new(Arc::clone(store), Arc::clone(clock), parts)
    }
}
