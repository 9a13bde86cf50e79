//! The services of conversations, built from the ground up on those below them.

use std::sync::Arc;

use super::execution_services::{ExecutionServices, ProcessParts};
use super::mission_services::MissionServices;
use super::services::Services;
use crate::conversation::analysis::{AnalysisParts, AnalysisService};
use crate::conversation::candidates::{CandidateParts, CandidateService};
use crate::conversation::requests::{
    AnswerGuardService, ClassificationParts, ClassificationSettings, ExplanationService,
    OfferService, ParameterService, RequestClassificationService, RequestManagementService,
    RequestParts, RequestPorts, RequestResultParts, RequestResultService, RequestRunParts,
    RequestRunService, RequestService, RequestViewService, ResponseService,
    RouteConfirmationService,
};
use crate::conversation::sessions::{SessionService, SessionSettings};
use crate::conversation::tasks::{TaskParts, TaskService};
use crate::conversation::tool_invocations::{ToolInvocationParts, ToolInvocationService};

/// The services of conversations.
pub(crate) struct ConversationServices {
    pub(crate) sessions: Arc<SessionService>,
    pub(crate) analyses: Arc<AnalysisService>,
    pub(crate) candidates: Arc<CandidateService>,
    pub(crate) requests: Arc<RequestService>,
    pub(crate) request_views: Arc<RequestViewService>,
    pub(crate) request_results: Arc<RequestResultService>,
    pub(crate) request_management: Arc<RequestManagementService>,
    pub(crate) classifications: Arc<RequestClassificationService>,
    pub(crate) responses: Arc<ResponseService>,
    pub(crate) route_confirmations: Arc<RouteConfirmationService>,
    pub(crate) tasks: Arc<TaskService>,
    pub(crate) tool_invocations: Arc<ToolInvocationService>,
}

/// The services of the lower storeys, and the parts of the process.
struct ConversationBasis<'b> {
    below: &'b Services,
    execution: &'b ExecutionServices,
    parts: &'b ProcessParts<'b>,
}

/// The services that requests are answered with.
struct AnswerServices {
    analyses: Arc<AnalysisService>,
    answer_guard: Arc<AnswerGuardService>,
    offers: Arc<OfferService>,
    explanations: Arc<ExplanationService>,
    request_runs: Arc<RequestRunService>,
}

impl ConversationServices {
    /// Builds the services on those of the lower storeys.
    pub(crate) fn new(
        below: &Services,
        execution: &ExecutionServices,
        missions: &MissionServices,
        parts: &ProcessParts<'_>,
    ) -> Self {
        let basis = ConversationBasis {
            below,
            execution,
            parts,
        };
        let answering = basis.answering();
        let sessions = Arc::new(basis.sessions());
        let candidates = Arc::new(basis.candidates());
        let request_results = Arc::new(basis.request_results(&sessions));
        let request_views = Arc::new(basis.request_views(&request_results));
        let route_confirmations = Arc::new(basis.route_confirmations(&request_views));
        let classifications = Arc::new(basis.classifications());
        let responses = Arc::new(basis.responses());
        let requests = RequestParts {
            catalogue: Arc::clone(&below.catalogue),
            run_recovery: Arc::clone(&execution.recovery),
            memories: Arc::clone(&below.memories),
            sessions: Arc::clone(&sessions),
            candidates: Arc::clone(&candidates),
            classifications: Arc::clone(&classifications),
            answer_guard: answering.answer_guard,
            offers: answering.offers,
            explanations: answering.explanations,
            request_runs: answering.request_runs,
            request_results: Arc::clone(&request_results),
            responses: Arc::clone(&responses),
            route_confirmations: Arc::clone(&route_confirmations),
        };
        let requests = Arc::new(basis.requests(requests));
        let request_management = Arc::new(basis.request_management(&request_views));
        let tool_invocations = ToolInvocationService::new(ToolInvocationParts {
            tool_search: Arc::clone(&below.tool_search),
            run_starts: Arc::clone(&execution.starts),
            run_views: Arc::clone(&execution.views),
            sessions: Arc::clone(&sessions),
            request_views: Arc::clone(&request_views),
        });
        let tasks = TaskParts {
            credentials: Arc::clone(&below.credentials),
            sessions: Arc::clone(&sessions),
            requests: Arc::clone(&requests),
            request_results: Arc::clone(&request_results),
            request_management: Arc::clone(&request_management),
            run_starts: Arc::clone(&execution.starts),
            run_views: Arc::clone(&execution.views),
            run_management: Arc::clone(&execution.management),
            missions: Arc::clone(&missions.missions),
            mission_views: Arc::clone(&missions.views),
        };
        Self {
            tasks: Arc::new(basis.tasks(tasks)),
            tool_invocations: Arc::new(tool_invocations),
            requests,
            request_management,
            analyses: answering.analyses,
            sessions,
            candidates,
            request_results,
            request_views,
            route_confirmations,
            classifications,
            responses,
        }
    }
}

impl ConversationBasis<'_> {
    fn sessions(&self) -> SessionService {
        let settings = SessionSettings {
            ttl: self.parts.settings.session_ttl,
            turns: self.parts.settings.session_turns,
        };
        SessionService::new(self.parts.core(), settings)
    }

    fn candidates(&self) -> CandidateService {
        let ports = self.parts.ports;
        let parts = CandidateParts {
            generator: Arc::clone(&ports.generator),
            catalogue: Arc::clone(&self.below.catalogue),
            packages: Arc::clone(&self.below.packages),
            route_examples: Arc::clone(&self.below.route_examples),
            journals: Arc::clone(&self.execution.journals),
            run_views: Arc::clone(&self.execution.views),
        };
        CandidateService::new(Arc::clone(&ports.store), Arc::clone(&ports.clock), parts)
    }

    fn answering(&self) -> AnswerServices {
        let analyses = Arc::new(self.analyses());
        let answer_guard = Arc::new(self.answer_guard());
        let offers = Arc::new(OfferService::new(
            Arc::clone(&self.below.catalogue),
            Arc::clone(&self.execution.starts),
            Arc::clone(&self.parts.computations),
        ));
        let explanations = ExplanationService::new(
            Arc::clone(&self.below.catalogue),
            Arc::clone(&self.below.routing),
            Arc::clone(&self.below.lenses),
            Arc::clone(&offers),
        );
        let request_runs = self.request_runs(&analyses, &answer_guard);
        AnswerServices {
            analyses,
            answer_guard,
            offers,
            explanations: Arc::new(explanations),
            request_runs: Arc::new(request_runs),
        }
    }

    fn analyses(&self) -> AnalysisService {
        let parts = AnalysisParts {
            catalogue: Arc::clone(&self.below.catalogue),
            lenses: Arc::clone(&self.below.lenses),
            memories: Arc::clone(&self.below.memories),
            findings: Arc::clone(&self.execution.findings),
            journals: Arc::clone(&self.execution.journals),
            pinned_documents: Arc::clone(&self.execution.pinned),
            run_evidence: Arc::clone(&self.execution.run_evidence),
        };
        AnalysisService::new(Arc::clone(&self.parts.ports.models), parts)
    }

    fn answer_guard(&self) -> AnswerGuardService {
        AnswerGuardService::new(
            Arc::clone(&self.below.catalogue),
            Arc::clone(&self.execution.tags),
            self.parts.questions.clone(),
            Arc::clone(&self.parts.computations),
        )
    }

    fn request_runs(
        &self,
        analyses: &Arc<AnalysisService>,
        answer_guard: &Arc<AnswerGuardService>,
    ) -> RequestRunService {
        let parameters = ParameterService::new(
            Arc::clone(&self.below.memories),
            Arc::clone(&self.parts.ports.models),
        );
        let parts = RequestRunParts {
            catalogue: Arc::clone(&self.below.catalogue),
            findings: Arc::clone(&self.execution.findings),
            journals: Arc::clone(&self.execution.journals),
            run_evidence: Arc::clone(&self.execution.run_evidence),
            runs: Arc::clone(&self.execution.runs),
            run_starts: Arc::clone(&self.execution.starts),
            run_views: Arc::clone(&self.execution.views),
            run_management: Arc::clone(&self.execution.management),
            analyses: Arc::clone(analyses),
            answer_guard: Arc::clone(answer_guard),
            parameters: Arc::new(parameters),
        };
        RequestRunService::new(Arc::clone(&self.parts.ports.store), parts)
    }

    fn request_results(&self, sessions: &Arc<SessionService>) -> RequestResultService {
        let parts = RequestResultParts {
            sessions: Arc::clone(sessions),
            journals: Arc::clone(&self.execution.journals),
            run_views: Arc::clone(&self.execution.views),
        };
        RequestResultService::new(
            Arc::clone(&self.parts.ports.store),
            Arc::clone(&self.parts.ports.clock),
            Arc::clone(&self.parts.news),
            parts,
        )
    }

    fn request_views(&self, results: &Arc<RequestResultService>) -> RequestViewService {
        RequestViewService::new(
            Arc::clone(&self.parts.ports.store),
            Arc::clone(&self.parts.news),
            self.parts.background.shutdown.clone(),
            Arc::clone(results),
        )
    }

    fn request_management(&self, views: &Arc<RequestViewService>) -> RequestManagementService {
        RequestManagementService::new(
            Arc::clone(&self.parts.ports.store),
            Arc::clone(views),
            Arc::clone(&self.execution.management),
        )
    }

    fn route_confirmations(&self, views: &Arc<RequestViewService>) -> RouteConfirmationService {
        RouteConfirmationService::new(
            Arc::clone(&self.parts.ports.store),
            Arc::clone(views),
            Arc::clone(&self.below.route_examples),
        )
    }

    fn classifications(&self) -> RequestClassificationService {
        let parts = ClassificationParts {
            catalogue: Arc::clone(&self.below.catalogue),
            routing: Arc::clone(&self.below.routing),
            tags: Arc::clone(&self.execution.tags),
            journals: Arc::clone(&self.execution.journals),
            run_starts: Arc::clone(&self.execution.starts),
            run_views: Arc::clone(&self.execution.views),
            run_management: Arc::clone(&self.execution.management),
        };
        let settings = ClassificationSettings {
            candidates: self.parts.settings.candidates,
            broad_skills: self.parts.settings.broad_skills,
            tags_ttl: self.parts.settings.tags_ttl,
        };
        let ports = self.parts.ports;
        RequestClassificationService::new(
            Arc::clone(&ports.store),
            Arc::clone(&ports.clock),
            parts,
            settings,
        )
    }

    fn responses(&self) -> ResponseService {
        ResponseService::new(
            Arc::clone(&self.parts.ports.clock),
            Arc::clone(&self.parts.ports.ids),
            Arc::clone(&self.below.catalogue),
            Arc::clone(&self.execution.findings),
        )
    }

    fn requests(&self, parts: RequestParts) -> RequestService {
        let ports = RequestPorts {
            store: Arc::clone(&self.parts.ports.store),
            clock: Arc::clone(&self.parts.ports.clock),
            tasks: self.parts.background.tasks.clone(),
            draining: self.parts.draining.clone(),
            news: Arc::clone(&self.parts.news),
            holder: self.parts.holder.clone(),
            quotas: Arc::clone(&self.parts.quotas),
            clients: self.parts.clients.clone(),
        };
        RequestService::new(ports, parts)
    }

    fn tasks(&self, parts: TaskParts) -> TaskService {
        TaskService::new(
            Arc::clone(&self.parts.ports.store),
            Arc::clone(&self.parts.ports.clock),
            Arc::clone(&self.parts.news),
            self.parts.background.shutdown.clone(),
            parts,
        )
    }
}
