//! Previews a request without recording, calling or starting anything: for measurements.

use charter_contract::intent::Intent;
use serde_json::Map;

use super::classify::RequestClassificationService;
use super::course::Course;
use crate::registry::routing::Hints;
use crate::{Caller, EngineError};

/// A preview of a request with this text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPreview {
    /// Its recognised intent.
    pub intent: Intent,
    /// The reason, as text.
    pub reason: String,
    /// The course.
    pub course: Course,
    /// Whether the change would be a dry run.
    pub dry_run: bool,
    /// The documents that would answer it, act for it or be offered, best first.
    pub documents: Vec<String>,
}

impl RequestClassificationService {
    /// Previews a request with this text, outside of any session.
    ///
    /// # Errors
    /// As for [`crate::RoutingService::route`].
    pub async fn foresee(
        &self,
        caller: &Caller,
        text: &str,
    ) -> Result<RequestPreview, EngineError> {
        let candidates = self.settings.candidates;
        let routed = self
            .routing
            .route_by_intent(caller, text, &Hints::default(), candidates)
            .await?;
        let mut classified = self.by_itself(caller, routed);
        self.offer_where_left_out(caller, &Map::new(), text, self.clock.now(), &mut classified);
        let verdict = &classified.verdict;
        let candidates = verdict.candidates.iter().map(|found| found.id.clone());
        let documents = match classified.course() {
            Course::Run => classified.skills.iter().map(ToString::to_string).collect(),
            Course::Open => classified
                .playbook
                .iter()
                .map(ToString::to_string)
                .collect(),
            Course::Offer | Course::AskBack | Course::Explain => candidates.collect(),
            Course::Resume | Course::Quote | Course::Decline | Course::Generate => Vec::new(),
        };
        Ok(RequestPreview {
            intent: verdict.intent.unwrap_or(Intent::None),
            reason: verdict.intent_reason.clone().unwrap_or_default(),
            course: classified.course(),
            dry_run: classified.dry_run,
            documents,
        })
    }
}
