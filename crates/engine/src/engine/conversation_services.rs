//! The services of conversations, built from the ground up on those below them.

use std::sync::Arc;

use super::execution_services::{ExecutionParts, ExecutionServices};
use super::services::Services;
use crate::conversation::analysis::{AnalysisParts, AnalysisService};
use crate::conversation::candidates::{CandidateParts, CandidateService};
use crate::conversation::sessions::{SessionService, SessionSettings};

/// The services of conversations.
pub(crate) struct ConversationServices {
    pub(crate) sessions: Arc<SessionService>,
    pub(crate) analyses: Arc<AnalysisService>,
    pub(crate) candidates: Arc<CandidateService>,
}

/// The services of the lower storeys, and the parts of the process.
struct Basis<'b> {
    below: &'b Services,
    execution: &'b ExecutionServices,
    parts: &'b ExecutionParts<'b>,
}

impl ConversationServices {
    /// Builds the services on those of the lower storeys.
    pub(crate) fn new(
        below: &Services,
        execution: &ExecutionServices,
        parts: &ExecutionParts<'_>,
    ) -> Self {
        let basis = Basis {
            below,
            execution,
            parts,
        };
        Self {
            sessions: Arc::new(basis.sessions()),
            analyses: Arc::new(basis.analyses()),
            candidates: Arc::new(basis.candidates()),
        }
    }
}

impl Basis<'_> {
    fn sessions(&self) -> SessionService {
        let settings = SessionSettings {
            ttl: self.parts.settings.session_ttl,
            turns: self.parts.settings.session_turns,
        };
        SessionService::new(self.parts.core(), settings)
    }

    fn analyses(&self) -> AnalysisService {
        let parts = AnalysisParts {
            catalogue: Arc::clone(&self.below.catalogue),
            lenses: Arc::clone(&self.below.lenses),
            findings: Arc::clone(&self.execution.findings),
            journals: Arc::clone(&self.execution.journals),
            pinned_documents: Arc::clone(&self.execution.pinned),
        };
        AnalysisService::new(Arc::clone(&self.parts.ports.models), parts)
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
}
