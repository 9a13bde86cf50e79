//! A session's reply: a text that replies to the question or offer of the preceding answer.
//!
//! An answer may ask for missing parameters, for a choice, or for a confirmation of a plan; or it offers changes. A
//! reply fills in the parameters, chooses, agrees or declines. A text with other content is an independent request. A
//! reply never confirms a plan: a person confirms its digest. It shows the plan that waits, or opens the run that an
//! offer describes, which waits for confirmation.

mod last;
mod run;
mod values;

use std::collections::BTreeMap;

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::tags::Flow;
use charter_contract::identity::AccessScope;
use charter_contract::ids::{PlaybookId, RunId};
use charter_contract::intent::Intent;
use charter_domain::assent::{Assent, assent};
use charter_domain::clarification::{OptionNamed, chosen_alone};
use charter_domain::parameters::Collected;
use charter_search::VerdictKind;
use serde_json::Map;

pub(super) use last::LastAnswer;

use super::ActiveRequest;
use super::classification::{Classification, FollowUp, ReplyValues, RunReply, SessionReply};
use super::classify::RequestClassificationService;
use super::course::Course;
use super::offered::Offer;
use crate::EngineError;
use crate::registry::routing::{FollowUpReference, RoutedVerdict};

impl Classification {
    /// Returns the changes that are offered again.
    pub(super) fn offered_again(&self) -> Option<&[Offer]> {
        match self.reply.as_ref()? {
            SessionReply::Offers(offers) => Some(offers),
            SessionReply::Beside(_) | SessionReply::Run { .. } | SessionReply::Closed => None,
        }
    }

    /// Returns the changes that its question requested besides the chosen one.
    pub(super) fn asked_beside(&self) -> &[Offer] {
        match &self.reply {
            Some(SessionReply::Beside(offers)) => offers,
            Some(SessionReply::Offers(_) | SessionReply::Run { .. } | SessionReply::Closed)
            | None => &[],
        }
    }

    /// Returns the run of an earlier request that it fills in, cancels or shows.
    pub(super) fn earlier_run(&self) -> Option<&RunId> {
        match self.reply.as_ref()? {
            SessionReply::Run { run_id, .. } => Some(run_id),
            SessionReply::Offers(_) | SessionReply::Beside(_) | SessionReply::Closed => None,
        }
    }

    /// Returns whether it closes the preceding question or offer.
    pub(super) fn is_closing(&self) -> bool {
        self.reply == Some(SessionReply::Closed)
    }
}

/// The meaning of a text for the preceding answer.
enum Meaning {
    Assents(Assent),
    /// It names one of the changes that were offered.
    Chooses(Offer),
}

impl RequestClassificationService {
    /// Classifies a text that replies to the preceding answer of its session; `None` for an independent request.
    pub(super) async fn reply_to_last(
        &self,
        asked: &ActiveRequest,
        last: &LastAnswer,
    ) -> Result<Option<Classification>, EngineError> {
        if let Some(chosen) = self.chosen_option(asked, last).await? {
            return Ok(Some(chosen));
        }
        if asked.wishes.flow.is_some() {
            return Ok(None);
        }
        if let Some(given) = self.values_given(asked, last).await? {
            return Ok(Some(given));
        }
        let offers = last.offers();
        match meaning_of(asked.request.input.as_str(), &offers) {
            None => Ok(None),
            Some(Meaning::Chooses(offer)) => self.taken_up(asked, last, offer).map(Some),
            Some(Meaning::Assents(Assent::Yes)) => self.agreed(asked, last, offers).await,
            Some(Meaning::Assents(Assent::Perhaps)) => self.acknowledge(asked, last, offers).await,
            Some(Meaning::Assents(Assent::No)) => self.declined(asked, last, &offers).await,
        }
    }

    /// A yes opens the run of the only offer, if the offer lacks no value. Otherwise the answer shows the plan or
    /// offers that wait for a person.
    async fn agreed(
        &self,
        asked: &ActiveRequest,
        last: &LastAnswer,
        mut offers: Vec<Offer>,
    ) -> Result<Option<Classification>, EngineError> {
        if let Some(run) = self.open_run(asked, last).await? {
            let because = format!(
                "it agrees to the plan of `{}`, which a person confirms or approves by its digest",
                run.summary.run_id
            );
            let run = run.summary.run_id;
            return Ok(Some(about_run(asked, last, run, RunReply::Show, because)));
        }
        if offers.len() == 1 {
            return offers
                .pop()
                .map(|offer| self.taken_up(asked, last, offer))
                .transpose();
        }
        if !offers.is_empty() {
            let because = "several changes are offered; name one, or its number".to_owned();
            return Ok(Some(offered(asked, last, offers, because)));
        }
        let names = last.missing_names();
        let because = if last.classified.course() == Course::AskBack {
            "it names none of the options".to_owned()
        } else if !names.is_empty() {
            format!("the request still needs {}", names.join(", "))
        } else {
            return Ok(None);
        };
        Ok(Some(closed(asked, last, because)))
    }

    /// An acknowledgement opens nothing: the plan that waits, or the offers, are shown again.
    async fn acknowledge(
        &self,
        asked: &ActiveRequest,
        last: &LastAnswer,
        offers: Vec<Offer>,
    ) -> Result<Option<Classification>, EngineError> {
        if let Some(run) = self.open_run(asked, last).await? {
            let run = run.summary.run_id;
            let because = format!("it acknowledges the plan of `{run}`");
            return Ok(Some(about_run(asked, last, run, RunReply::Show, because)));
        }
        if offers.is_empty() {
            return Ok(None);
        }
        let because = "it does not clearly agree".to_owned();
        Ok(Some(offered(asked, last, offers, because)))
    }

    /// A no cancels the plan that waits, and closes a question or an offer.
    async fn declined(
        &self,
        asked: &ActiveRequest,
        last: &LastAnswer,
        offers: &[Offer],
    ) -> Result<Option<Classification>, EngineError> {
        if let Some(run) = self.open_run(asked, last).await? {
            // Managing a run needs another scope than asking: without it, the run is shown.
            let may_steer = asked.caller.scopes.opens(AccessScope::RunsWrite);
            let waits = run.summary.status.awaits_answer();
            let reply = match waits && may_steer {
                true => RunReply::Cancel,
                false => RunReply::Show,
            };
            let run = run.summary.run_id;
            let because = format!("it declines the plan of `{run}`");
            return Ok(Some(about_run(asked, last, run, reply, because)));
        }
        let because = if !offers.is_empty() {
            "it declines the offer; nothing was started"
        } else if last.classified.course() == Course::AskBack || last.is_lacking() {
            "it declines the question; nothing was started"
        } else {
            return Ok(None);
        };
        Ok(Some(closed(asked, last, because.to_owned())))
    }

    /// Accepts an offer: opens its run, which waits for confirmation. An offer that lacks values is repeated.
    fn taken_up(
        &self,
        asked: &ActiveRequest,
        last: &LastAnswer,
        offer: Offer,
    ) -> Result<Classification, EngineError> {
        if !offer.missing().is_empty() {
            let because = format!("`{}` needs {}", offer.playbook(), offer.missing_names());
            return Ok(offered(asked, last, vec![offer], because));
        }
        let id = offer.playbook().clone();
        let mut classified = self.named_playbook(asked, &id)?;
        classified.dry_run |= last.is_trial();
        let because = format!("it accepts the offer of `{id}` from `{}`", last.request);
        follows(&mut classified, last, because);
        classified.follow_up = Some(FollowUp {
            question: last.question().to_owned(),
            parameters: BTreeMap::from([(id.to_string(), offer.into_parameters())]),
            reply: Some(ReplyValues::default()),
        });
        Ok(classified)
    }

    /// Returns the changes that a question requested besides the chosen one: the best of each other clause, with the
    /// values that the question states.
    pub(super) fn asked_for_beside(
        &self,
        asked: &ActiveRequest,
        question: &LastAnswer,
        chosen: &str,
    ) -> Vec<Offer> {
        let clauses = &question.classified.verdict.clauses;
        let best = clauses
            .iter()
            .filter_map(|clause| Some((clause, clause.candidates.first()?)));
        let best: Vec<_> = best
            .filter(|(_, best)| best.kind == DocumentKind::Playbook)
            .collect();
        if !best.iter().any(|(_, best)| best.id == chosen) {
            return Vec::new();
        }
        let mut offers: Vec<Offer> = Vec::new();
        for (_, best) in best.into_iter().filter(|(_, best)| best.id != chosen) {
            let Ok(id) = PlaybookId::parse(&best.id) else {
                continue;
            };
            let is_known = offers.iter().any(|offer| *offer.playbook() == id);
            let Ok(found) = self.run_starts.runnable_playbook(&asked.caller, &id) else {
                continue;
            };
            if is_known {
                continue;
            }
            let playbook = found.document();
            let declared = playbook.declared_parameters();
            let request = &question.asked.request;
            // A clause has nouns in place of identifiers.
            let stated = Collected::given(&declared, &Map::new());
            let stated = stated.read(request.input.as_str(), request.timestamp);
            offers.push(Offer::with_fitting(playbook, stated.values().clone()));
        }
        offers
    }
}

/// Returns the meaning of a text for offers; `None` for a text with other content.
fn meaning_of(text: &str, offers: &[Offer]) -> Option<Meaning> {
    if let Some(assent) = assent(text) {
        return Some(Meaning::Assents(assent));
    }
    let named: Vec<OptionNamed<'_>> = offers
        .iter()
        .map(|offer| OptionNamed {
            id: offer.playbook().as_ref(),
            title: offer.title(),
        })
        .collect();
    let chosen = offers.get(chosen_alone(text, &named)?)?;
    Some(Meaning::Chooses(chosen.clone()))
}

/// Records the answer to which a classification replies, and the reason.
pub(super) fn follows(classified: &mut Classification, last: &LastAnswer, because: String) {
    let verdict = &mut classified.verdict;
    verdict.reason.clone_from(&because);
    verdict.intent_reason = Some(because.clone());
    verdict.follow_up = Some(FollowUpReference {
        request_id: last.request.clone(),
        standalone_verdict: VerdictKind::Miss,
        reason: because,
    });
}

/// Builds the classification of a reply that runs nothing new.
fn replying(
    asked: &ActiveRequest,
    last: &LastAnswer,
    (flow, course, intent): (Flow, Course, Intent),
    because: String,
    reply: SessionReply,
) -> Classification {
    let verdict = RoutedVerdict::unrouted(asked.request.input.as_str(), intent, &because);
    let mut classified = Classification::new(flow, course, verdict);
    follows(&mut classified, last, because);
    classified.reply = Some(reply);
    classified
}

fn offered(
    asked: &ActiveRequest,
    last: &LastAnswer,
    offers: Vec<Offer>,
    because: String,
) -> Classification {
    let playbook = offers.first().map(|offer| offer.playbook().clone());
    let way = (Flow::Write, Course::Offer, Intent::Change);
    let reply = SessionReply::Offers(offers);
    let mut classified = replying(asked, last, way, because.clone(), reply);
    classified.playbook = playbook;
    classified.because = Some(because);
    classified
}

fn closed(asked: &ActiveRequest, last: &LastAnswer, because: String) -> Classification {
    let way = (Flow::Knowledge, Course::Decline, Intent::None);
    let mut classified = replying(asked, last, way, because.clone(), SessionReply::Closed);
    classified.because = Some(because);
    classified
}

fn about_run(
    asked: &ActiveRequest,
    last: &LastAnswer,
    run_id: RunId,
    reply: RunReply,
    because: String,
) -> Classification {
    let way = (Flow::Write, Course::Resume, Intent::Change);
    let reply = SessionReply::Run { run_id, reply };
    let mut classified = replying(asked, last, way, because, reply);
    classified.playbook.clone_from(&last.classified.playbook);
    classified
}
