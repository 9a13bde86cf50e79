//! Accepts a candidate: by an operator, after a successful run of exactly this version.

use charter_contract::catalogue::Document;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{DocumentId, RunId};
use charter_contract::route_example::{ExampleSource, RoutedKind};
use charter_contract::scope::Scope;
use charter_contract::text::Text;
use charter_domain::candidate::is_generated;
use charter_domain::run::{Run, RunOutcome};
use serde_json::Map;

use super::{CandidateService, keep};
use crate::registry::route_examples::ConfirmedSentence;
use crate::{Caller, EngineError, RegistrationReport};

impl CandidateService {
    /// Makes a candidate an ordinary document of the tenant, which is routed to from then on.
    ///
    /// # Errors
    /// `permission_denied` below the catalogue role `editor`; `not_found` for a candidate or run that is not the
    /// tenant's; `illegal_transition` if it is no longer a candidate, was not generated, or the run is not a success of
    /// exactly this version.
    pub async fn promote_candidate(
        &self,
        caller: &Caller,
        id: &DocumentId,
        run: &RunId,
    ) -> Result<RegistrationReport, EngineError> {
        caller.must_edit(&Scope::Tenant(caller.tenant.clone()), "packages")?;
        let _one_at_a_time = self.catalogue.registration_turn().await?;
        let view = self.catalogue.live().view(&caller.tenant);
        let mut named = keep::all(&view).filter(|kept| kept.document.id() == id.as_ref());
        let Some(found) = named.next() else {
            let kept: Vec<_> = keep::all(&view).collect();
            let waiting = kept.iter().filter(|kept| kept.document.is_candidate());
            let ids: Vec<String> = waiting
                .map(|kept| kept.document.id().into_owned())
                .collect();
            let absent = EngineError::not_found("candidate", id);
            return Err(absent.or_nearest(id.as_ref(), ids.iter().map(String::as_str)));
        };
        let (kind, package) = (found.document.kind(), &found.origin.package);
        if !found.document.is_candidate() {
            return Err(illegal(format!("the {kind} `{id}` is not a candidate")));
        }
        if !is_generated(package) {
            let message = format!(
                "the {kind} `{id}` belongs to the package `{package}`: remove `is_candidate` there, and register it"
            );
            return Err(illegal(message));
        }
        self.run_views.record(caller, run).await?;
        let run = self.journals.fold(&caller.tenant, run).await?.run;
        let hash = view.tenant.content_hash(kind, id.as_ref());
        let executed = run.pins().iter().any(|pin| {
            pin.kind == kind && pin.id == id.as_ref() && Some(pin.content_hash.as_str()) == hash
        });
        if !executed {
            let message = format!(
                "the run {} did not execute this version of `{id}`",
                run.id()
            );
            return Err(illegal(message));
        }
        succeeded(&run)?;
        let (document, kind, asked) = accepted(found.document)?;
        let registered = self.put_generated(caller, package, document).await?;
        self.suggest_asked(caller, kind, id, asked).await;
        Ok(registered)
    }

    /// Suggests the candidate's request as a route example. The document has it verbatim, with its values.
    async fn suggest_asked(
        &self,
        caller: &Caller,
        kind: RoutedKind,
        document: &DocumentId,
        asked: Option<Text>,
    ) {
        let Some(asked) = asked else {
            return;
        };
        let given = Map::new();
        let sentence = ConfirmedSentence {
            tenant: &caller.tenant,
            kind,
            document,
            text: asked.as_str(),
            given: &given,
            asked_at: self.clock.now(),
            source: ExampleSource::PromotedCandidate,
            request: None,
        };
        if let Err(why) = self.route_examples.suggest_example(sentence).await {
            tracing::debug!(document.id = %document, why = %why, "no route example is suggested for a promoted candidate");
        }
    }
}

/// Turns a candidate into an ordinary document; also returns the request that it was made for.
fn accepted(document: Document) -> Result<(Document, RoutedKind, Option<Text>), EngineError> {
    match document {
        Document::Skill(mut skill) => {
            skill.is_candidate = false;
            let asked = skill.examples.first().cloned();
            Ok((skill.into(), RoutedKind::Skill, asked))
        }
        Document::Playbook(mut playbook) => {
            playbook.is_candidate = false;
            let asked = playbook.examples.first().cloned();
            Ok((playbook.into(), RoutedKind::Playbook, asked))
        }
        other => Err(illegal(format!("a {} cannot be a candidate", other.kind()))),
    }
}

/// Checks that the run succeeded completely. A dry run does not show a change's effects, and missing evidence leaves a
/// run incomplete.
fn succeeded(run: &Run) -> Result<(), EngineError> {
    let complete = match run.outcome() {
        Some(RunOutcome::Completed { missing_evidence }) => missing_evidence.is_empty(),
        Some(
            RunOutcome::Failed { .. }
            | RunOutcome::RolledBack { .. }
            | RunOutcome::RollbackFailed { .. },
        )
        | None => false,
    };
    if run.is_dry_run() {
        let message = format!("the run {} was a dry run, which proves nothing", run.id());
        return Err(illegal(message));
    }
    if !complete {
        let message = format!("the run {} has not succeeded: {}", run.id(), run.status());
        return Err(illegal(message));
    }
    Ok(())
}

fn illegal(message: String) -> EngineError {
    EngineError::new(ErrorCode::IllegalTransition, message)
}
