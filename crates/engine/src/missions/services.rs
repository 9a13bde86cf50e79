//! The services of missions: what each is built from. Their use cases are in the files beside this one.

use std::sync::Arc;
use std::time::Duration;

use charter_domain::clock::Clock;
use charter_effects::Models;
use charter_effects::webhook::Webhooks;
use charter_store::SharedStore;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::AssignmentService;
use crate::catalogue::live::CatalogueService;
use crate::execution::findings::FindingService;
use crate::execution::runs::{
    JournalService, PinnedDocumentService, RunManagementService, RunService, RunViewService,
};
use crate::execution::starts::RunStartService;
use crate::execution::tags::TagService;
use crate::ground::core_ports::CorePorts;
use crate::ground::ids::IdSource;
use crate::ground::questions::QuestionSlots;
use crate::identity::quotas::TenantQuotas;
use crate::knowledge::lenses::LensService;
use crate::knowledge::memory::MemoryService;
use crate::registry::routing::RoutingService;
use crate::registry::tool_search::ToolSearchService;

/// Missions as their readers see them.
pub struct MissionViewService {
    pub(super) store: SharedStore,
    pub(super) journals: Arc<JournalService>,
    pub(super) run_views: Arc<RunViewService>,
}

impl std::fmt::Debug for MissionViewService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MissionViewService").finish_non_exhaustive()
    }
}

impl MissionViewService {
    pub(crate) fn new(
        store: SharedStore,
        journals: Arc<JournalService>,
        run_views: Arc<RunViewService>,
    ) -> Self {
        Self {
            store,
            journals,
            run_views,
        }
    }
}

/// The parts that proposals are carried out with.
pub(crate) struct WriteBackParts {
    pub(crate) shutdown: CancellationToken,
    /// Wakes the readers of events.
    pub(crate) news: Arc<Notify>,
    pub(crate) webhooks: Arc<dyn Webhooks>,
    pub(crate) journals: Arc<JournalService>,
    pub(crate) runs: Arc<RunService>,
    pub(crate) starts: Arc<RunStartService>,
}

/// Carries out proposals without a catalogue tool.
pub(crate) struct WriteBackService {
    pub(super) store: SharedStore,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) shutdown: CancellationToken,
    pub(super) news: Arc<Notify>,
    pub(super) webhooks: Arc<dyn Webhooks>,
    pub(super) journals: Arc<JournalService>,
    pub(super) runs: Arc<RunService>,
    pub(super) starts: Arc<RunStartService>,
}

impl WriteBackService {
    pub(crate) fn new(store: SharedStore, clock: Arc<dyn Clock>, parts: WriteBackParts) -> Self {
        Self {
            store,
            clock,
            shutdown: parts.shutdown,
            news: parts.news,
            webhooks: parts.webhooks,
            journals: parts.journals,
            runs: parts.runs,
            starts: parts.starts,
        }
    }
}

/// The parts that stages are run with.
pub(crate) struct MissionStageParts {
    pub(crate) models: Arc<dyn Models>,
    /// How long a librarian's pass is valid.
    pub(crate) pass_ttl: Duration,
    pub(crate) questions: QuestionSlots,
    pub(crate) catalogue: Arc<CatalogueService>,
    pub(crate) lenses: Arc<LensService>,
    pub(crate) memories: Arc<MemoryService>,
    pub(crate) routing: Arc<RoutingService>,
    pub(crate) tool_search: Arc<ToolSearchService>,
    pub(crate) findings: Arc<FindingService>,
    pub(crate) tags: Arc<TagService>,
    pub(crate) pinned: Arc<PinnedDocumentService>,
    pub(crate) views: Arc<MissionViewService>,
    pub(crate) write_backs: Arc<WriteBackService>,
    pub(crate) assignments: Arc<AssignmentService>,
}

/// Runs the stages of missions.
pub(crate) struct MissionStageService {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) models: Arc<dyn Models>,
    pub(super) pass_ttl: Duration,
    pub(super) questions: QuestionSlots,
    pub(super) catalogue: Arc<CatalogueService>,
    pub(super) lenses: Arc<LensService>,
    pub(super) memories: Arc<MemoryService>,
    pub(super) routing: Arc<RoutingService>,
    pub(super) tool_search: Arc<ToolSearchService>,
    pub(super) findings: Arc<FindingService>,
    pub(super) tags: Arc<TagService>,
    pub(super) pinned: Arc<PinnedDocumentService>,
    pub(super) views: Arc<MissionViewService>,
    pub(super) write_backs: Arc<WriteBackService>,
    pub(super) assignments: Arc<AssignmentService>,
}

impl std::fmt::Debug for MissionStageService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MissionStageService")
            .finish_non_exhaustive()
    }
}

impl MissionStageService {
    pub(crate) fn new(clock: Arc<dyn Clock>, parts: MissionStageParts) -> Self {
        Self {
            clock,
            models: parts.models,
            pass_ttl: parts.pass_ttl,
            questions: parts.questions,
            catalogue: parts.catalogue,
            lenses: parts.lenses,
            memories: parts.memories,
            routing: parts.routing,
            tool_search: parts.tool_search,
            findings: parts.findings,
            tags: parts.tags,
            pinned: parts.pinned,
            views: parts.views,
            write_backs: parts.write_backs,
            assignments: parts.assignments,
        }
    }
}

/// The parts that missions are started and managed with.
pub(crate) struct MissionParts {
    pub(crate) models: Arc<dyn Models>,
    pub(crate) quotas: Arc<TenantQuotas>,
    pub(crate) catalogue: Arc<CatalogueService>,
    pub(crate) tags: Arc<TagService>,
    pub(crate) runs: Arc<RunService>,
    pub(crate) management: Arc<RunManagementService>,
    pub(crate) assignments: Arc<AssignmentService>,
    pub(crate) views: Arc<MissionViewService>,
}

/// Starts, cancels and imports missions.
pub struct MissionService {
    pub(super) store: SharedStore,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdSource>,
    pub(super) models: Arc<dyn Models>,
    pub(super) quotas: Arc<TenantQuotas>,
    pub(super) catalogue: Arc<CatalogueService>,
    pub(super) tags: Arc<TagService>,
    pub(super) runs: Arc<RunService>,
    pub(super) management: Arc<RunManagementService>,
    pub(super) assignments: Arc<AssignmentService>,
    pub(super) views: Arc<MissionViewService>,
}

impl std::fmt::Debug for MissionService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MissionService").finish_non_exhaustive()
    }
}

impl MissionService {
    pub(crate) fn new(ports: CorePorts, parts: MissionParts) -> Self {
        Self {
            store: ports.store,
            clock: ports.clock,
            ids: ports.ids,
            models: parts.models,
            quotas: parts.quotas,
            catalogue: parts.catalogue,
            tags: parts.tags,
            runs: parts.runs,
            management: parts.management,
            assignments: parts.assignments,
            views: parts.views,
        }
    }
}
