//! Routing by intent: the form of a request determines whether skills, playbooks or the reference library are searched;
//! the quality of their matches decides the rest (`charter_domain::intent`).

use charter_contract::catalogue::DocumentKind;

use charter_contract::intent::Intent;
use charter_contract::package::PackageScope;
use charter_domain::catalogue::View;
use charter_domain::identifiers::Identifiers;
use charter_domain::intent::{
    self, AnswerSource, AskedClause, ChangeTiming, Doubt, Evidence, ExampleKind, ExampleMatch,
    IntentDecision, IntentReading, Language, NeededEvidence, Remark, Settled, is_marked, settle,
};
use charter_search::{QueryError, RouteQuery, RouteSettings, Scope, VerdictKind};

use super::RoutingService;
use super::gateway::GatewayResult;
use super::named::named_other;
use super::ranked::{Question, Ranked, WeighedVerdict};
use super::{ComparableQuery, Ranking, RoutedCandidate, RoutedVerdict, reached, weigh};
use crate::catalogue::live::{LiveCatalogue, Stacked, parse_entry_id};
use crate::knowledge::look_up::Knowledge;
use crate::{Caller, EngineError, LensFilter};

/// Number of candidates by which each kind is judged; a verdict may have fewer.
const JUDGED: usize = 10;

/// A client's own hints about its request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hints {
    /// The intent, if the requested flow has one.
    pub(crate) intent: Option<Intent>,
    /// The lenses that may answer.
    pub(crate) lenses: LensFilter,
}

/// The target of a request, and its grounds.
#[derive(Debug, Clone)]
pub(crate) struct RoutingResult {
    pub(crate) verdict: RoutedVerdict,
    /// Candidates below the floor, best first.
    pub(crate) dropped: Vec<RoutedCandidate>,
    pub(crate) source: AnswerSource,
    /// The permitted start, if a change is requested.
    pub(crate) start: ChangeTiming,
    /// Why nothing is requested, if so.
    pub(crate) remark: Option<Remark>,
    /// Number of requested things.
    pub(crate) parts: usize,
    /// Questions of another kind than the answered one.
    pub(crate) left_out: Vec<AskedClause>,
    /// The language in which it was read.
    pub(crate) language: Language,
}

/// Maximum playbooks whose texts are compared with a request for several changes.
const COMPARED: usize = 5;

impl Ranked {
    /// Ranks each kind separately, so that neither influences the other.
    fn rank(
        question: &Question,
        stacked: &Stacked,
        settings: &RouteSettings,
        top_k: usize,
    ) -> Result<Self, EngineError> {
        let weighed = |ranking: Ranking| {
            let Question { text, compared, .. } = question;
            let found = weigh(
                stacked,
                settings,
                ranking,
                text,
                compared,
                top_k.max(JUDGED),
            );
            found.map(|(mut verdict, dropped)| {
                verdict.candidates.truncate(top_k);
                WeighedVerdict { verdict, dropped }
            })
        };
        Ok(Self {
            skills: weighed(Ranking::Skills)?,
            playbooks: weighed(Ranking::Playbooks)?,
            other: None,
        })
    }

    fn evidence(
        &self,
        question: &Question,
        stacked: &Stacked,
        view: &View,
        settings: &RouteSettings,
    ) -> Evidence {
        Evidence {
            skill: self.skills.fit(),
            playbook: self.playbooks.fit(),
            passage: None,
            agent: None,
            example: exemplified(stacked, &question.text),
            named: self.named(question, stacked),
            other_action: self.does_something_else(&question.reading, view),
            everyday: question.query().everyday(),
            floor: settings.thresholds.floor,
            narrow: settings.thresholds.narrow,
        }
    }

    /// Returns whether the best playbook's texts have a verb that differs from the request's: the request reverses or
    /// excludes what the playbook does. If several changes are requested, each may be another playbook's.
    fn does_something_else(&self, reading: &IntentReading, view: &View) -> bool {
        let compared = if reading.actions.len() > 1 {
            COMPARED
        } else {
            1
        };
        let candidates = self.playbooks.verdict.candidates.iter().take(compared);
        let playbooks: Vec<_> = candidates
            .filter_map(|candidate| view.playbook(&candidate.id))
            .collect();
        let mut texts: Vec<&str> = Vec::new();
        for found in &playbooks {
            let playbook = found.document();
            texts.extend([playbook.playbook_id.as_ref(), playbook.name.as_str()]);
            let stated = playbook.trigger_conditions.iter().chain(&playbook.examples);
            texts.extend(stated.map(|text| text.as_str()));
        }
        !playbooks.is_empty() && !reading.is_done_by(&texts)
    }

    /// Builds the verdict of a decision.
    fn routed(
        self,
        question: &Question,
        decision: IntentDecision,
        known: &Knowledge,
    ) -> RoutingResult {
        let IntentReading {
            remark,
            parts,
            language,
            ..
        } = question.reading;
        let reason = decision.reason.clone();
        let (verdict, dropped) = match decision.source {
            AnswerSource::Skills => (self.skills.verdict, self.skills.dropped),
            AnswerSource::Playbooks => (self.playbooks.verdict, self.playbooks.dropped),
            AnswerSource::Passages => (
                known_by(self.skills.verdict, candidates_of(known), reason),
                Vec::new(),
            ),
            AnswerSource::SkillText => {
                let text = self.skills.best().cloned();
                (
                    known_by(self.skills.verdict, text.into_iter().collect(), reason),
                    Vec::new(),
                )
            }
            AnswerSource::PlaybookText => {
                let text = self.playbooks.best().cloned();
                (
                    known_by(self.playbooks.verdict, text.into_iter().collect(), reason),
                    Vec::new(),
                )
            }
            AnswerSource::Description => (
                known_by(
                    self.skills.verdict,
                    self.other.into_iter().collect(),
                    reason,
                ),
                Vec::new(),
            ),
            AnswerSource::Agents | AnswerSource::NoMatch | AnswerSource::Nothing => {
                let weighed = match decision.intent {
                    Intent::Change => self.playbooks,
                    Intent::Read | Intent::Knowledge | Intent::None => self.skills,
                };
                (missed(weighed.verdict, reason), weighed.dropped)
            }
        };
        let asked = verdict.clauses.len();
        let left_out = left_out(&question.reading, &decision);
        let subject = (question.subject != question.text.trim()).then(|| question.subject.clone());
        RoutingResult {
            verdict: RoutedVerdict {
                intent: Some(decision.intent),
                intent_reason: Some(decision.reason),
                subject,
                ..verdict
            },
            dropped,
            source: decision.source,
            start: decision.start,
            remark,
            parts: parts.max(asked),
            left_out,
            language,
        }
    }
}

/// Returns the questions that a decision leaves out; a decision without an answer leaves none out.
fn left_out(reading: &IntentReading, decision: &IntentDecision) -> Vec<AskedClause> {
    match decision.source {
        AnswerSource::Skills
        | AnswerSource::Playbooks
        | AnswerSource::Passages
        | AnswerSource::SkillText
        | AnswerSource::PlaybookText => reading.left_out_of(decision.intent, decision.start),
        AnswerSource::Description
        | AnswerSource::Agents
        | AnswerSource::NoMatch
        | AnswerSource::Nothing => Vec::new(),
    }
}

/// Builds a verdict that the knowledge answers.
fn known_by(
    verdict: RoutedVerdict,
    candidates: Vec<RoutedCandidate>,
    reason: String,
) -> RoutedVerdict {
    RoutedVerdict {
        kind: VerdictKind::Narrow,
        candidates,
        reason,
        ..verdict
    }
}

/// Builds a miss. If the ranking itself missed, its reason stays.
fn missed(verdict: RoutedVerdict, reason: String) -> RoutedVerdict {
    if verdict.kind == VerdictKind::Miss {
        return verdict;
    }
    RoutedVerdict {
        kind: VerdictKind::Miss,
        candidates: Vec::new(),
        reason,
        ..verdict
    }
}

impl RoutingService {
    /// Routes a request by its intent, over the caller's visible documents.
    ///
    /// # Errors
    /// `invalid_request` for an empty request or zero candidates (B000-2); `unavailable` if it cannot be embedded.
    pub(crate) async fn route_by_intent(
        &self,
        caller: &Caller,
        text: &str,
        hints: &Hints,
        top_k: usize,
    ) -> Result<RoutingResult, EngineError> {
        let live = self.catalogue.live();
        let settings = live.settings;
        self.route_over_all(caller, &live, &settings, text, hints, top_k)
            .await
    }

    /// Routes a request with these settings.
    pub(super) async fn route_over_all(
        &self,
        caller: &Caller,
        live: &LiveCatalogue,
        settings: &RouteSettings,
        text: &str,
        hints: &Hints,
        top_k: usize,
    ) -> Result<RoutingResult, EngineError> {
        if top_k == 0 {
            return Err(QueryError::NoCandidates.into());
        }
        let identifiers = live.identifiers(&caller.tenant);
        let stacked = reached(live, caller);
        let mut question = self.question(&identifiers, &stacked, text).await?;
        let tenant = &caller.tenant;
        let translated = self.translated(tenant, &identifiers, &stacked, &mut question);
        let translated = translated.await?;
        if let Some(intent) = hints.intent {
            question.reading = question.reading.overruled(intent);
        }
        let mut ranked = Ranked::rank(&question, &stacked, settings, top_k)?;
        ranked.other = named_other(live, caller, &question.text)?;
        let view = live.view(tenant);
        let asked = self.gateway_reading(tenant, &view, &mut question, &ranked, translated);
        let gateway = asked.await;
        let mut evidence = ranked.evidence(&question, &stacked, &view, settings);
        if let Some(intent) = hints.intent {
            evidence = evidence.for_stated(intent);
        }
        let mut known = Knowledge::default();
        let mut decision = loop {
            match settle(&question.reading, &evidence) {
                Settled::Decided(decision) => break decision,
                Settled::Look(NeededEvidence::Passages) => {
                    known = self.knowledge_of(caller, &question, &hints.lenses).await?;
                    evidence.passage = Some(known.likeness());
                }
                Settled::Look(NeededEvidence::Agents) => {
                    evidence.agent = Some(an_agent_is_near(&question, &stacked, settings)?);
                }
            }
        };
        if let (Some(said), Intent::None) = (hints.intent, decision.intent) {
            decision.intent = said;
        }
        let mut routed = ranked.routed(&question, decision, &known);
        if let Some(reading) = &gateway {
            reading.reorder(&mut routed.verdict);
        }
        routed.verdict.gateway = gateway;
        self.list_left_out(&identifiers, &stacked, settings, &mut routed)
            .await?;
        Ok(routed)
    }

    /// Routes a request over given indexes, without lenses and models: for the routing tests of a package, whose lenses
    /// are not indexed yet.
    pub(crate) async fn route_as_registered(
        &self,
        (view, identifiers): (&View, &Identifiers),
        stacked: &Stacked,
        settings: &RouteSettings,
        text: &str,
        top_k: usize,
    ) -> Result<RoutingResult, EngineError> {
        let question = self.question(identifiers, stacked, text).await?;
        let ranked = Ranked::rank(&question, stacked, settings, top_k)?;
        let mut evidence = ranked.evidence(&question, stacked, view, settings);
        evidence.passage = Some(0.0);
        evidence.agent = Some(an_agent_is_near(&question, stacked, settings)?);
        let decision = match settle(&question.reading, &evidence) {
            Settled::Decided(decision) => decision,
            Settled::Look(look) => {
                let cause = format!("{look:?} was looked at");
                return Err(EngineError::internal("settling an intent", cause));
            }
        };
        Ok(ranked.routed(&question, decision, &Knowledge::default()))
    }

    /// Reads and embeds a text.
    pub(crate) async fn question(
        &self,
        identifiers: &Identifiers,
        stacked: &Stacked,
        text: &str,
    ) -> Result<Question, EngineError> {
        RouteQuery::parse(text).map_err(EngineError::from)?;
        self.question_of(identifiers, stacked, text, intent::read(text))
            .await
    }

    /// Embeds a text that was already read.
    pub(super) async fn question_of(
        &self,
        identifiers: &Identifiers,
        stacked: &Stacked,
        text: &str,
        reading: IntentReading,
    ) -> Result<Question, EngineError> {
        let subject = identifiers.replaced(&reading.subject);
        let compared = self.compared(&subject, &stacked.actions).await?;
        let reading = match compared.has_strange_words {
            true => not_now(reading),
            false => reading,
        };
        // The subject is without them already.
        let whole = RouteQuery::parse(text).map_err(EngineError::from)?;
        let compared = compared.setting_aside(&whole);
        let topics = self.everyday_topics().await?;
        let query = compared.query.naming(whole.own()).against_topics(topics);
        Ok(Question {
            text: text.to_owned(),
            reading,
            subject,
            compared: ComparableQuery { query, ..compared },
        })
    }

    /// Returns the reference library's matches for a question.
    pub(crate) async fn knowledge_of(
        &self,
        caller: &Caller,
        question: &Question,
        lenses: &LensFilter,
    ) -> Result<Knowledge, EngineError> {
        let (subject, query) = (&question.subject, question.query());
        self.look_up.look_up(caller, subject, query, lenses).await
    }

    /// Prepares a caller's request for further steps after its verdict.
    pub(crate) async fn question_in(
        &self,
        caller: &Caller,
        text: &str,
    ) -> Result<Question, EngineError> {
        let live = self.catalogue.live();
        let identifiers = live.identifiers(&caller.tenant);
        let stacked = reached(&live, caller);
        self.question(&identifiers, &stacked, text).await
    }
}

/// Restricts a reading to start no change, because of words that may be in another language.
fn not_now(reading: IntentReading) -> IntentReading {
    let start = match reading.start {
        ChangeTiming::Now => ChangeTiming::Offer(Doubt::Language),
        start @ (ChangeTiming::DryRun | ChangeTiming::Offer(_)) => start,
    };
    IntentReading { start, ..reading }
}

/// Returns the kind of documents with the text as an example, if all are of one kind.
fn exemplified(stacked: &Stacked, text: &str) -> Option<ExampleMatch> {
    let entries = stacked.actions.exemplified_by(text);
    let kinds = entries.filter_map(|entry| Some(parse_entry_id(entry)?.0));
    let mut kinds = kinds.map(|kind| {
        if kind == DocumentKind::Playbook {
            ExampleKind::Playbook
        } else {
            ExampleKind::Skill
        }
    });
    let kind = kinds.next()?;
    kinds.all(|other| other == kind).then(|| ExampleMatch {
        kind,
        marked: is_marked(text),
    })
}

/// Returns whether an agent's capabilities are near.
fn an_agent_is_near(
    question: &Question,
    stacked: &Stacked,
    settings: &RouteSettings,
) -> Result<bool, EngineError> {
    let Question { text, compared, .. } = question;
    let (verdict, _) = weigh(stacked, settings, Ranking::Agents, text, compared, JUDGED)?;
    Ok(verdict.kind != VerdictKind::Miss)
}

/// The lenses and nodes, as candidates of a verdict: lenses first, because passages explain terms that nodes only name.
fn candidates_of(known: &Knowledge) -> Vec<RoutedCandidate> {
    let mut found: Vec<RoutedCandidate> = Vec::new();
    let lenses = known.passages.iter().map(|cited| {
        let scope = match cited.passage.scope {
            PackageScope::Global => Scope::Global,
            PackageScope::Tenant => Scope::Tenant,
        };
        (
            DocumentKind::DomainLens,
            cited.passage.lens_id.to_string(),
            scope,
            cited.likeness,
        )
    });
    let nodes = known.nodes.iter().map(|met| {
        let scope = match met.layer.is_tenant() {
            true => Scope::Tenant,
            false => Scope::Global,
        };
        (
            DocumentKind::GraphNode,
            met.node.id.to_string(),
            scope,
            met.likeness,
        )
    });
    for (kind, id, scope, likeness) in lenses.chain(nodes) {
        if !found
            .iter()
            .any(|other| other.kind == kind && other.id == id)
        {
            found.push(RoutedCandidate {
                kind,
                id,
                scope,
                score: likeness,
                fused: likeness,
                lexical: 0.0,
                coverage: None,
                cosine: Some(likeness),
                name_match: None,
            });
        }
    }
    found
}

/// Returns whether a candidate's kind matches requests by its own words.
fn is_document(candidate: &RoutedCandidate) -> bool {
    matches!(candidate.kind, DocumentKind::Skill | DocumentKind::Playbook)
}

impl GatewayResult {
    /// Puts the candidates of a broad verdict into the model's order. Adds none, and the verdict stays broad.
    fn reorder(&self, verdict: &mut RoutedVerdict) {
        if verdict.kind != VerdictKind::Broad || !verdict.candidates.iter().all(is_document) {
            return;
        }
        let place = |candidate: &RoutedCandidate| {
            let place = self.order.iter().position(|id| *id == candidate.id);
            place.unwrap_or(self.order.len())
        };
        // Stable: candidates that the model does not name keep their order behind the others.
        verdict.candidates.sort_by_key(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b000_20_a_change_in_strange_words_is_only_offered() {
        let order = intent::read("restart the host vm-31");
        assert_eq!(order.start, ChangeTiming::Now);
        let offered = not_now(order.clone());
        assert_eq!(offered.start, ChangeTiming::Offer(Doubt::Language));
        assert_eq!(
            IntentReading {
                start: ChangeTiming::Now,
                ..offered
            },
            order
        );
        let later = intent::read("restart the host vm-31 tomorrow");
        assert_eq!(not_now(later.clone()), later);
    }
}
