//! The services of missions, built on those of execution and below.

use std::sync::Arc;

use super::execution_services::{ExecutionServices, ProcessParts};
use super::services::Services;
use crate::missions::{
    AssignmentService, MissionParts, MissionService, MissionStageParts, MissionStageService,
    MissionViewService, WriteBackParts, WriteBackService,
};

/// The services of missions.
pub(crate) struct MissionServices {
    pub(crate) missions: Arc<MissionService>,
    pub(crate) views: Arc<MissionViewService>,
    pub(crate) assignments: Arc<AssignmentService>,
    /// Runs have a weak reference to it.
    _stages: Arc<MissionStageService>,
}

/// The services of the lower storeys, and the parts of the process.
struct MissionBasis<'b> {
    below: &'b Services,
    execution: &'b ExecutionServices,
    parts: &'b ProcessParts<'b>,
}

impl MissionServices {
    /// Builds the services on those of the lower storeys, and has runs use them.
    pub(crate) fn new(
        below: &Services,
        execution: &ExecutionServices,
        parts: &ProcessParts<'_>,
    ) -> Self {
        let basis = MissionBasis {
            below,
            execution,
            parts,
        };
        let views = Arc::new(basis.views());
        let assignments = Arc::new(basis.assignments());
        let stages = Arc::new(basis.stages(&views, &assignments));
        let runners = Arc::downgrade(&stages);
        execution.pinned.set_stages(runners);
        Self {
            missions: Arc::new(basis.missions(&views, &assignments)),
            views,
            assignments,
            _stages: stages,
        }
    }
}

impl MissionBasis<'_> {
    fn missions(
        &self,
        views: &Arc<MissionViewService>,
        assignments: &Arc<AssignmentService>,
    ) -> MissionService {
        let parts = MissionParts {
            models: Arc::clone(&self.parts.ports.models),
            quotas: Arc::clone(&self.parts.quotas),
            catalogue: Arc::clone(&self.below.catalogue),
            tags: Arc::clone(&self.execution.tags),
            runs: Arc::clone(&self.execution.runs),
            management: Arc::clone(&self.execution.management),
            assignments: Arc::clone(assignments),
            views: Arc::clone(views),
        };
        MissionService::new(self.parts.core(), parts)
    }

    fn views(&self) -> MissionViewService {
        MissionViewService::new(
            Arc::clone(&self.parts.ports.store),
            Arc::clone(&self.execution.journals),
            Arc::clone(&self.execution.views),
        )
    }

    fn assignments(&self) -> AssignmentService {
        AssignmentService::new(
            self.parts.core(),
            Arc::clone(&self.parts.news),
            self.parts.background.shutdown.clone(),
        )
    }

    fn stages(
        &self,
        views: &Arc<MissionViewService>,
        assignments: &Arc<AssignmentService>,
    ) -> MissionStageService {
        let parts = MissionStageParts {
            models: Arc::clone(&self.parts.ports.models),
            pass_ttl: self.parts.settings.pass_ttl,
            questions: self.parts.questions.clone(),
            catalogue: Arc::clone(&self.below.catalogue),
            lenses: Arc::clone(&self.below.lenses),
            memories: Arc::clone(&self.below.memories),
            routing: Arc::clone(&self.below.routing),
            tool_search: Arc::clone(&self.below.tool_search),
            findings: Arc::clone(&self.execution.findings),
            tags: Arc::clone(&self.execution.tags),
            pinned: Arc::clone(&self.execution.pinned),
            views: Arc::clone(views),
            write_backs: Arc::new(self.write_backs()),
            assignments: Arc::clone(assignments),
        };
        MissionStageService::new(Arc::clone(&self.parts.ports.clock), parts)
    }

    fn write_backs(&self) -> WriteBackService {
        let parts = WriteBackParts {
            shutdown: self.parts.background.shutdown.clone(),
            news: Arc::clone(&self.parts.news),
            webhooks: Arc::clone(&self.parts.ports.webhooks),
            journals: Arc::clone(&self.execution.journals),
            runs: Arc::clone(&self.execution.runs),
            starts: Arc::clone(&self.execution.starts),
        };
        let (store, clock) = (&self.parts.ports.store, &self.parts.ports.clock);
        WriteBackService::new(Arc::clone(store), Arc::clone(clock), parts)
    }
}
