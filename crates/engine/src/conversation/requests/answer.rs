//! From a request to its recorded answer.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use charter_contract::agentic::request::AgentRequest;
use charter_contract::agentic::response::AgentResponse;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::RunId;
use charter_contract::json::{decode_stored, to_stored};
use charter_contract::time::Timestamp;
use charter_domain::catalogue::View;
use charter_store::StoreError;
use charter_store::request::RequestRecord;
use tracing::Instrument;

use super::analyse::SkillResult;
use super::change::StartedChange;
use super::classification::Classification;
use super::classify::{domain_of, supported};
use super::course::Course;
use super::explain::Explanation;
use super::guard::AnswerSubject;
use super::offer::Offers;
use super::offered::Offer;
use super::recorded::is_repeat;
use super::run_ids::run_id;
use super::service::RequestService;
use super::words::ReadAnswer;
use super::{
    ActiveRequest, ask_back, change, consult, decline, explain, left_out, offer, propose, recalled,
    respond,
};
use crate::conversation::candidates::CandidateProposal;
use crate::execution::runs::{Progress, ProgressEvent};
use crate::ground::moments;
use crate::ground::telemetry;
use crate::knowledge::memory::RecalledMemory;
use crate::{Caller, EngineError, LensSearchResult};

/// The outcome of a request.
enum RequestOutcome {
    /// Skills that ran to their end, in words, and the playbooks that their findings suggest.
    Read(Box<ReadAnswer>, Offers),
    /// A run that changes something, in its current state.
    Change(Box<StartedChange>),
    /// A run that an earlier request of the session opened, in its current state; the result is that request's.
    Resumed(Box<StartedChange>),
    /// A candidate, which was not run.
    Propose(Box<CandidateProposal>),
    /// Passages of the reference library.
    Consult(LensSearchResult),
    /// The explanation of a rule.
    Explain(Box<Explanation>),
    /// Playbooks that are offered.
    Offer(Vec<Offer>),
    /// A question that is asked back.
    AskBack,
    /// The possible questions.
    Decline,
}

impl RequestOutcome {
    /// Returns whether the answer recalls memories: not if it asks what was meant.
    fn recalls(&self) -> bool {
        match self {
            Self::AskBack | Self::Decline => false,
            Self::Read(..)
            | Self::Change(_)
            | Self::Resumed(_)
            | Self::Propose(_)
            | Self::Consult(_)
            | Self::Explain(_)
            | Self::Offer(_) => true,
        }
    }

    /// Returns the subject of an answer without a call; `None` for work that calls tools, which the gate checks.
    fn about(
        &self,
        view: &View,
        classified: &Classification,
    ) -> Result<Option<AnswerSubject>, EngineError> {
        Ok(match self {
            Self::Read(..)
            | Self::Change(_)
            | Self::Resumed(_)
            | Self::Offer(_)
            | Self::AskBack
            | Self::Decline => None,
            Self::Propose(proposal) => {
                let mut about = subject_of_candidate(view, classified)?;
                about.domains.extend(proposal.domain().cloned());
                Some(about)
            }
            Self::Consult(found) => {
                let passages = found.passages.iter();
                let domains = passages.map(|passage| passage.domain.clone());
                Some(AnswerSubject {
                    flow: classified.flow,
                    domains: domains.collect(),
                    agent: None,
                })
            }
            Self::Explain(explanation) => Some(AnswerSubject {
                flow: classified.flow,
                domains: explanation.domains().clone(),
                agent: None,
            }),
        })
    }
}

/// Returns the subject of a candidate before it is made: the nearest domain and agent.
fn subject_of_candidate(
    view: &View,
    classified: &Classification,
) -> Result<AnswerSubject, EngineError> {
    Ok(AnswerSubject {
        flow: classified.flow,
        domains: BTreeSet::from([domain_of(view, classified)?]),
        agent: classified.agents.first().cloned(),
    })
}

/// Interval after which an open request is resumed: one that waits for a person, or that failed for a transient reason.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// How long a request is resumed after failures of storage. One that lasts longer may come from the request itself.
const RETRIED_FOR: Duration = Duration::from_secs(3_600);

/// The state of a recorded request.
enum RequestClaim {
    /// It has no answer since this time, and this process is to compute it.
    Ours { since: Timestamp },
    /// It was answered.
    Answered(Box<Result<AgentResponse, EngineError>>),
    /// Another process is computing the answer, or has just done so.
    Elsewhere,
}

/// A computed answer.
struct ComputedAnswer {
    response: AgentResponse,
    /// The run whose end is the request's result.
    awaits: Option<RunId>,
}

impl RequestService {
    /// Answers a request. For a repeated id, returns the recorded answer, or the result of a change that has ended.
    ///
    /// The work continues if the caller goes away; a repeat of the request finds it.
    ///
    /// # Errors
    /// The error that prevents an answer, with its public code. `already_exists` if the id was used for another
    /// request; `rate_limited` if the tenant has reached its run quota.
    pub async fn handle_request(
        self: &Arc<Self>,
        caller: &Caller,
        request: AgentRequest,
        progress: Progress,
    ) -> Result<AgentResponse, EngineError> {
        let answered = self.try_answer_request(caller, request, progress).await?;
        answered.ok_or_else(|| {
            let message = "this request is already being answered";
            EngineError::new(ErrorCode::Overloaded, message)
        })
    }

    /// Answers a request as [`RequestService::handle_request`] does; `None` while another task or process answers it.
    ///
    /// # Errors
    /// As for [`RequestService::handle_request`].
    pub async fn try_answer_request(
        self: &Arc<Self>,
        caller: &Caller,
        request: AgentRequest,
        progress: Progress,
    ) -> Result<Option<AgentResponse>, EngineError> {
        let asked = ActiveRequest::new(caller, request)?;
        let requests = Arc::clone(self);
        let answering = self.spawn(
            async move { requests.claim_and_handle(asked, progress).await }.in_current_span(),
        );
        answering
            .await
            .map_err(|error| EngineError::internal("answering a request", error))?
    }

    /// Records a request and answers it in the background: its record has the outcome. A request that is recorded
    /// already with the same content is not processed again.
    ///
    /// # Errors
    /// `already_exists` if the id was used for another request.
    pub(crate) async fn submit(
        self: &Arc<Self>,
        asked: ActiveRequest,
        progress: Progress,
    ) -> Result<(), EngineError> {
        self.check_run_quota(&asked).await?;
        match self.open(&asked).await? {
            RequestClaim::Ours { .. } => {}
            RequestClaim::Answered(_) | RequestClaim::Elsewhere => return Ok(()),
        }
        let requests = Arc::clone(self);
        let answering = async move {
            let id = asked.id().clone();
            if let Err(error) = requests.claim_and_handle(asked, progress).await {
                tracing::debug!(request.id = %id, error = %error, "a submitted request failed");
            }
        };
        self.spawn(answering.in_current_span());
        Ok(())
    }

    /// Records that a request is refused, without starting it.
    ///
    /// # Errors
    /// `already_exists` if the id was used for another request.
    pub(crate) async fn refuse(
        &self,
        asked: &ActiveRequest,
        refusal: EngineError,
    ) -> Result<(), EngineError> {
        match self.open(asked).await? {
            RequestClaim::Ours { since } => self.close(asked, since, &Err(refusal)).await,
            RequestClaim::Answered(_) | RequestClaim::Elsewhere => Ok(()),
        }
    }

    async fn claim_and_handle(
        &self,
        asked: ActiveRequest,
        progress: Progress,
    ) -> Result<Option<AgentResponse>, EngineError> {
        if let Some(session) = &asked.request.session_id {
            self.sessions.session(&asked.caller, session).await?;
        }
        self.check_run_quota(&asked).await?;
        let hold = self.active.take(&asked);
        match (self.open(&asked).await?, hold) {
            (RequestClaim::Answered(recorded), _) => (*recorded).map(Some),
            (RequestClaim::Ours { since }, Some(_hold)) => {
                let answer = self.compute_and_record(&asked, since, progress);
                answer.await.map(Some)
            }
            (RequestClaim::Ours { .. }, None) | (RequestClaim::Elsewhere, _) => Ok(None),
        }
    }

    /// Refuses a new request if the tenant has reached its run quota; recorded requests continue.
    async fn check_run_quota(&self, asked: &ActiveRequest) -> Result<(), EngineError> {
        let tenant = &asked.caller.tenant;
        match self.quotas.check_room_for_run(tenant).await {
            Err(full) if full.code == ErrorCode::RateLimited => {
                match self.store.request(tenant, asked.id()).await? {
                    Some(_) => Ok(()),
                    None => Err(full),
                }
            }
            other => other,
        }
    }

    /// Answers a request that an earlier attempt left open. `None` if it is in progress, or was answered meanwhile.
    pub(crate) async fn resume_request(
        &self,
        asked: &ActiveRequest,
    ) -> Option<Result<AgentResponse, EngineError>> {
        let _hold = self.active.take(asked)?;
        match self.open(asked).await {
            Ok(RequestClaim::Ours { since }) => {
                let answer = self.compute_and_record(asked, since, Progress::silent());
                Some(answer.await)
            }
            Ok(RequestClaim::Answered(_) | RequestClaim::Elsewhere) => None,
            Err(error) => Some(Err(error)),
        }
    }

    /// Resumes an open request in the background. Does nothing while it is being answered.
    pub(crate) fn resume_in_background(self: &Arc<Self>, asked: ActiveRequest) {
        let requests = Arc::clone(self);
        self.spawn(async move {
            if let Some(Err(error)) = requests.resume_request(&asked).await {
                tracing::debug!(request.id = %asked.id(), error = %error, "a request failed");
            }
        });
    }

    /// Answers a request that is recorded since a time, and has no answer yet.
    async fn compute_and_record(
        &self,
        asked: &ActiveRequest,
        since: Timestamp,
        progress: Progress,
    ) -> Result<AgentResponse, EngineError> {
        let span = telemetry::answer(asked.id(), &asked.caller.tenant);
        let answer = self
            .compute_answer(asked, &progress)
            .instrument(span.clone());
        let answer = answer.await;
        if let Err(error) = &answer {
            telemetry::failed(&span, error);
        }
        self.close(asked, since, &answer).await?;
        let ComputedAnswer { response, awaits } = answer?;
        match awaits {
            Some(_) => self.latest_answer(asked, response).await,
            None => Ok(response),
        }
    }

    /// Returns the result of a change if it has ended, else its answer.
    async fn latest_answer(
        &self,
        asked: &ActiveRequest,
        answer: AgentResponse,
    ) -> Result<AgentResponse, EngineError> {
        let found = self.store.request(&asked.caller.tenant, asked.id());
        let Some(record) = found.await? else {
            return Ok(answer);
        };
        match self.request_results.with_result(record).await.result {
            Some(result) => respond::recorded(&result),
            None => Ok(answer),
        }
    }

    async fn compute_answer(
        &self,
        asked: &ActiveRequest,
        progress: &Progress,
    ) -> Result<ComputedAnswer, EngineError> {
        let started = Instant::now();
        let (classified, work) = self.execute(asked, progress).await?;
        let view = self.catalogue.live().view(&asked.caller.tenant);
        let about = work.about(&view, &classified)?;
        let memories = match work.recalls() {
            true => self.recalled(asked).await,
            false => Vec::new(),
        };
        let responses = &self.responses;
        let mut awaits = None;
        let response = match work {
            RequestOutcome::Read(reading, offers) => {
                let answer =
                    respond::response(responses, asked, &classified, *reading, started.elapsed());
                answer.map(|mut answer| {
                    offers.add_to(&mut answer);
                    answer
                })
            }
            RequestOutcome::Change(begun) => {
                awaits = Some(begun.run.summary.run_id.clone());
                change::response(responses, asked, &classified, &begun, started.elapsed())
            }
            RequestOutcome::Resumed(run) => {
                change::response(responses, asked, &classified, &run, started.elapsed())
            }
            RequestOutcome::Propose(proposal) => {
                propose::response(responses, asked, &classified, &proposal, started.elapsed())
            }
            RequestOutcome::Consult(found) => {
                consult::response(responses, asked, &classified, &found, started.elapsed())
            }
            RequestOutcome::Explain(explanation) => explain::response(
                responses,
                asked,
                &classified,
                &explanation,
                started.elapsed(),
            ),
            RequestOutcome::Offer(offers) => {
                offer::response(responses, asked, &classified, offers, started.elapsed())
            }
            RequestOutcome::AskBack => {
                ask_back::response(responses, asked, &classified, started.elapsed())
            }
            RequestOutcome::Decline => {
                decline::response(responses, asked, &classified, started.elapsed())
            }
        };
        let mut response = response.map_err(|error| classified.note_in_error(error))?;
        left_out::add_to(&mut response, &classified.left_out);
        // Before the guardrails check the answer.
        recalled::add_to(&mut response, &memories);
        let mut response = match about {
            Some(about) => self.answer_guard.shaped(asked, &about, response).await?,
            None => response,
        };
        classified.note_in_answer(&mut response);
        Ok(ComputedAnswer { response, awaits })
    }

    async fn recalled(&self, asked: &ActiveRequest) -> Vec<RecalledMemory> {
        let text = asked.request.input.as_str();
        self.memories.recall_if_possible(&asked.caller, text).await
    }

    /// Records the request, or finds an earlier one with the same id and content.
    async fn open(&self, asked: &ActiveRequest) -> Result<RequestClaim, EngineError> {
        let at = self.clock.now();
        let record = RequestRecord {
            request_id: asked.id().clone(),
            tenant_id: asked.caller.tenant.clone(),
            user_id: asked.caller.user.clone(),
            asked: asked.to_json()?,
            verdict: None,
            answer: None,
            run_id: None,
            result: None,
            created_at: at,
            updated_at: at,
        };
        match self
            .store
            .open_request(&record, &self.run_recovery.request_lease())
            .await
        {
            Ok(()) => return Ok(RequestClaim::Ours { since: at }),
            Err(StoreError::AlreadyExists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let earlier = self.store.request(&asked.caller.tenant, asked.id()).await?;
        match earlier {
            Some(earlier) if is_repeat(&earlier.asked, &record.asked) => {
                let since = earlier.created_at;
                let earlier = self.request_results.with_result(earlier).await;
                if let Some(newest) = earlier.result.as_ref().or(earlier.answer.as_ref()) {
                    return Ok(RequestClaim::Answered(Box::new(respond::recorded(newest))));
                }
                let (tenant, hold) = (&asked.caller.tenant, self.run_recovery.request_lease());
                let held = self.store.hold_request(tenant, asked.id(), at, &hold);
                Ok(match held.await? {
                    true => RequestClaim::Ours { since },
                    false => RequestClaim::Elsewhere,
                })
            }
            Some(_) | None => {
                let message = format!(
                    "the request id `{}` was used for another request",
                    asked.id()
                );
                Err(EngineError::new(ErrorCode::AlreadyExists, message))
            }
        }
    }

    /// Records the answer. A transient failure leaves the request open, to be resumed.
    async fn close(
        &self,
        asked: &ActiveRequest,
        since: Timestamp,
        answer: &Result<ComputedAnswer, EngineError>,
    ) -> Result<(), EngineError> {
        let now = self.clock.now();
        let text = match answer {
            Ok(answer) => respond::write(&answer.response)?,
            Err(error) if leaves_open(error, now < moments::after(since, RETRIED_FOR)) => {
                let tenant = &asked.caller.tenant;
                let again_at = match self.draining.is_cancelled() {
                    true => now,
                    false => moments::after(now, RETRY_INTERVAL),
                };
                let (store, id) = (&self.store, asked.id());
                let released = store.release_request(tenant, id, &self.holder, again_at);
                return Ok(released.await?);
            }
            Err(error) => respond::write_error(asked, error, &self.responses)?,
        };
        let (tenant, at) = (&asked.caller.tenant, self.clock.now());
        let answer = answer.as_ref().ok();
        let awaits = answer.and_then(|answer| answer.awaits.as_ref());
        self.store
            .close_request(tenant, asked.id(), &text, awaits, at)
            .await?;
        self.news.notify_waiters();
        let output = answer.map(|answer| answer.response.content.as_str());
        self.sessions
            .record_turn(tenant, &asked.request, output, at)
            .await
    }

    async fn execute(
        &self,
        asked: &ActiveRequest,
        progress: &Progress,
    ) -> Result<(Classification, RequestOutcome), EngineError> {
        let classified = self.classified(asked).await?;
        telemetry::routed(classified.verdict.kind_name(), &classified.chosen());
        progress.send(ProgressEvent::Routed {
            verdict: classified.verdict.kind_name().to_owned(),
            skills: classified.skills.iter().map(ToString::to_string).collect(),
            reason: classified.verdict.reason.clone(),
        });
        supported(&classified)?;
        let work = self.carry_out(asked, &classified, progress).await;
        let work = work.map_err(|error| classified.note_in_error(error))?;
        Ok((classified, work))
    }

    /// Carries out the course of a classified request.
    async fn carry_out(
        &self,
        asked: &ActiveRequest,
        classified: &Classification,
        progress: &Progress,
    ) -> Result<RequestOutcome, EngineError> {
        Ok(match classified.course() {
            Course::Quote => RequestOutcome::Consult(self.explanations.consult(asked).await?),
            Course::Explain => {
                let explanation = self.explanations.explain(asked, classified).await?;
                RequestOutcome::Explain(Box::new(explanation))
            }
            Course::Offer => RequestOutcome::Offer(self.offers.offers_of_text(asked, classified)),
            Course::AskBack => RequestOutcome::AskBack,
            Course::Decline => RequestOutcome::Decline,
            Course::Generate => {
                let view = self.catalogue.live().view(&asked.caller.tenant);
                // Checked before anything is made, because a candidate persists.
                let about = subject_of_candidate(&view, classified)?;
                self.answer_guard.must_answer(asked, &about).await?;
                let miss = propose::miss(asked, classified);
                RequestOutcome::Propose(Box::new(self.candidates.propose(miss).await?))
            }
            Course::Open => {
                let playbook = classified.playbook.as_ref().ok_or_else(|| {
                    EngineError::internal("opening a change", "no playbook was chosen")
                })?;
                let begun = self
                    .request_runs
                    .run_playbook(asked, classified, playbook, progress);
                RequestOutcome::Change(Box::new(begun.await?))
            }
            Course::Resume => {
                let run = self
                    .request_runs
                    .reply_to_open_run(asked, classified)
                    .await?;
                let foreseen = Vec::new();
                RequestOutcome::Resumed(Box::new(StartedChange { run, foreseen }))
            }
            Course::Run => {
                let results = self.run_skills(asked, classified, progress).await;
                let offers = self.offers.offers_of_findings(asked, &results).await?;
                let reading = self
                    .request_runs
                    .put_into_words(asked, results, progress)
                    .await?;
                RequestOutcome::Read(Box::new(reading), offers)
            }
        })
    }

    /// Runs the skills of a request concurrently.
    async fn run_skills(
        &self,
        asked: &ActiveRequest,
        classified: &Classification,
        progress: &Progress,
    ) -> Vec<SkillResult> {
        let running = classified.skills.iter().map(|skill| async move {
            let run_id = run_id(asked, skill.as_ref());
            let outcome = self
                .request_runs
                .run_skill(asked, classified, skill, &run_id, progress);
            SkillResult {
                skill: skill.clone(),
                outcome: outcome.await,
                run_id,
            }
        });
        futures_util::future::join_all(running).await
    }

    /// Returns the recorded classification, or a new one: tags first, then the verdict.
    async fn classified(&self, asked: &ActiveRequest) -> Result<Classification, EngineError> {
        let earlier = self.store.request(&asked.caller.tenant, asked.id()).await?;
        if let Some(verdict) = earlier.and_then(|record| record.verdict) {
            return decode_stored(&verdict)
                .map_err(|error| EngineError::internal("reading a recorded verdict", error));
        }
        let classified = self.classifications.classify(asked).await?;
        let tags = self.classifications.tags_of(asked, &classified)?;
        match self.store.put_tags(&tags).await {
            Ok(()) | Err(StoreError::AlreadyExists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let text = to_stored(&classified)
            .map_err(|error| EngineError::internal("recording a verdict", error))?;
        let at = self.clock.now();
        self.store
            .record_verdict(&asked.caller.tenant, asked.id(), &text, at)
            .await?;
        self.route_confirmations
            .suggest_chosen(asked, &classified)
            .await;
        Ok(classified)
    }
}

/// Returns whether an error leaves the request open: failures of this process rather than of the request, those of storage
/// while the request is young, and pending approvals, after which the request is answered. A tool's timeout does not: it
/// ended the run.
fn leaves_open(error: &EngineError, is_young: bool) -> bool {
    let passes = matches!(
        error.code,
        ErrorCode::StorageFull
            | ErrorCode::Overloaded
            | ErrorCode::Unavailable
            | ErrorCode::ApprovalRequired
    );
    passes || is_young && error.is_transient()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_storage_leaves_a_young_request_open() {
        let storage = || StoreError::Engine {
            doing: "reading a run",
            source: "the connection is lost".into(),
        };
        assert!(leaves_open(&EngineError::from(storage()), true));
        assert!(!leaves_open(&EngineError::from(storage()), false));
        let refused = EngineError::new(ErrorCode::InvalidParameters, "no such region");
        assert!(!leaves_open(&refused, true));
        let busy = EngineError::new(ErrorCode::Overloaded, "try again");
        assert!(leaves_open(&busy, false));
    }
}
