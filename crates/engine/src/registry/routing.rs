//! Routing: the registered document for a request, with the grounds (B000-1 to B000-5).
//!
//! The intent of a request is read first; then skills are ranked for a question (phase 2C) and playbooks for a change
//! (phase 2W), each kind separately ([`by_intent`]).

mod by_intent;
mod everyday;
mod gateway;
mod left_out;
mod named;
mod ranked;

use std::sync::Arc;

use charter_contract::catalogue::DocumentKind;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::RequestId;
use charter_contract::intent::Intent;
use charter_contract::shorten;
use charter_domain::intent::{self, Language};
use charter_domain::profile;
use charter_effects::Models;
use charter_search::embed::{Vector, is_for_english};
use charter_search::{
    Allowed, Candidate, ClauseResult, Correction, EmbeddedQuery, Layers, NameMatch, RouteQuery,
    RouteSettings, Scope, Thresholds, Verdict, VerdictKind, decide_found, find,
};
use charter_store::SharedStore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use crate::catalogue::live::{
    CatalogueService, LiveCatalogue, Stacked, TextVectors, entry_id, parse_entry_id,
};
use crate::ground::ids::IdSource;
use crate::knowledge::look_up::LookUpService;
pub(crate) use by_intent::{Hints, RoutingResult};
pub use gateway::GatewayResult;

use crate::{Caller, EngineError};

/// The kind of routing target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Determined by the intent: skills for a question, playbooks for a change.
    #[serde(alias = "actions")]
    Request,
    /// Only skills (phase 2C).
    Skills,
    /// Only playbooks (phase 2W).
    Playbooks,
    /// Agents, for grounding after a miss.
    Agents,
}

/// A kind of document that is ranked separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ranking {
    /// Phase 2C.
    Skills,
    /// Phase 2W.
    Playbooks,
    /// After a miss.
    Agents,
}

impl Ranking {
    /// Returns the layers to rank.
    fn layers(self, stacked: &Stacked) -> &Layers {
        match self {
            Self::Skills | Self::Playbooks => &stacked.actions,
            Self::Agents => &stacked.agents,
        }
    }
}

impl Purpose {
    /// Returns the single ranking; `None` if the intent determines it.
    fn ranking(self) -> Option<Ranking> {
        match self {
            Self::Request => None,
            Self::Skills => Some(Ranking::Skills),
            Self::Playbooks => Some(Ranking::Playbooks),
            Self::Agents => Some(Ranking::Agents),
        }
    }
}

/// One candidate, with the parts of its score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoutedCandidate {
    /// Its kind.
    pub kind: DocumentKind,
    /// Its id.
    pub id: String,
    /// The layer it came from.
    pub scope: Scope,
    /// Probability that it is right, 0 to 1; thresholds refer to it.
    pub score: f32,
    /// The ranking score within this query.
    pub fused: f32,
    /// Words in common, weighted.
    pub lexical: f32,
    /// The lexical score as a share of the maximum for the query, 0 to 1; absent in older verdicts.
    #[serde(default)]
    pub coverage: Option<f32>,
    /// Similarity of meaning; absent if only words were compared.
    pub cosine: Option<f32>,
    /// How the query names it, if it does; named documents come first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_match: Option<NameMatch>,
}

/// One clause of a request that asks for several things.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoutedClause {
    /// Its words.
    pub text: String,
    /// Its candidates, best first.
    pub candidates: Vec<RoutedCandidate>,
}

/// Which turn of the session a verdict rests on, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FollowUpReference")]
pub struct FollowUpReference {
    /// The request of that turn.
    pub request_id: RequestId,
    /// The verdict of the text alone.
    pub standalone_verdict: VerdictKind,
    /// Why it is treated as a follow-up.
    pub reason: String,
}

/// A verdict with everything that it depends on, so that it can be shown and replayed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoutedVerdict {
    /// The query.
    pub query: String,
    /// Narrow, broad or miss.
    pub kind: VerdictKind,
    /// Best first.
    pub candidates: Vec<RoutedCandidate>,
    /// The thresholds that decided.
    pub thresholds: Thresholds,
    /// The embedding model; absent if only words were compared.
    pub model: Option<String>,
    /// The reason, as text.
    pub reason: String,
    /// The turn of the session that the text refers to, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow_up: Option<FollowUpReference>,
    /// The intent, decided before ranking; absent for a bare ranking, and in older verdicts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// The reason for the intent, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent_reason: Option<String>,
    /// The compared words, if they differ from the query: without greetings, and with identifiers replaced by nouns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The reading of the `gateway` route's model, if it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<GatewayResult>,
    /// Mistyped words and their corrections.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub corrections: Vec<Correction>,
    /// Pieces with a low weight, shortened: pasted logs, code and records, the frame of a mail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<String>,
    /// Its clauses, if it asks for several things.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clauses: Vec<RoutedClause>,
}

impl RoutedVerdict {
    /// Builds the verdict of a request that names its skill or playbook.
    pub(crate) fn named(query: &str, intent: Intent, document: &str) -> Self {
        Self::unrouted(query, intent, &format!("the request names `{document}`"))
    }

    /// Builds the verdict of a request that states its own target.
    pub(crate) fn unrouted(query: &str, intent: Intent, reason: &str) -> Self {
        Self {
            query: query.to_owned(),
            kind: VerdictKind::Narrow,
            candidates: Vec::new(),
            thresholds: Thresholds::default(),
            model: None,
            reason: reason.to_owned(),
            follow_up: None,
            intent: Some(intent),
            intent_reason: Some(reason.to_owned()),
            subject: None,
            gateway: None,
            corrections: Vec::new(),
            set_aside: Vec::new(),
            clauses: Vec::new(),
        }
    }

    /// `narrow`, `broad` or `miss`.
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            VerdictKind::Narrow => "narrow",
            VerdictKind::Broad => "broad",
            VerdictKind::Miss => "miss",
        }
    }

    /// Returns the candidates to use: the first of a narrow verdict. Of a broad one, the best of each clause if its
    /// clauses ask for different things, or else the first few.
    #[must_use]
    pub fn chosen(&self, few: usize) -> Vec<&RoutedCandidate> {
        let count = match self.kind {
            VerdictKind::Narrow => 1,
            VerdictKind::Broad => few,
            VerdictKind::Miss => 0,
        };
        if self.kind == VerdictKind::Broad {
            let best = |candidate: &&RoutedCandidate| self.is_best_of_clause(candidate);
            let of_clauses: Vec<_> = self.candidates.iter().filter(best).collect();
            if of_clauses.len() > 1 {
                return of_clauses;
            }
        }
        self.candidates.iter().take(count).collect()
    }

    /// Returns whether a candidate is the best of one of the clauses.
    pub(crate) fn is_best_of_clause(&self, candidate: &RoutedCandidate) -> bool {
        let mut best = self
            .clauses
            .iter()
            .filter_map(|clause| clause.candidates.first());
        best.any(|best| (best.kind, &best.id) == (candidate.kind, &candidate.id))
    }
}

/// Thresholds to try instead of those in force. Absent ones stay.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ThresholdOverrides {
    /// Candidates with a lower score are dropped.
    pub floor: Option<f32>,
    /// Minimum score of the best candidate for a narrow verdict.
    pub narrow: Option<f32>,
    /// Minimum lead of its fused score for that.
    pub margin: Option<f32>,
}

impl ThresholdOverrides {
    /// Applies the overrides to the thresholds in force.
    fn over(self, in_force: Thresholds) -> Result<Thresholds, EngineError> {
        let tried = |name: &str, tried: Option<f32>, in_force: f32| match tried {
            None => Ok(in_force),
            Some(tried) if (0.0..=1.0).contains(&tried) => Ok(tried),
            Some(tried) => {
                let message = format!("`{name}` is {tried}; it must be 0 to 1");
                Err(EngineError::new(ErrorCode::InvalidRequest, message))
            }
        };
        Ok(Thresholds {
            floor: tried("floor", self.floor, in_force.floor)?,
            narrow: tried("narrow", self.narrow, in_force.narrow)?,
            margin: tried("margin", self.margin, in_force.margin)?,
        })
    }
}

/// A verdict with further details for diagnosis.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Verdict")]
pub struct VerdictView {
    /// The verdict.
    #[serde(flatten)]
    pub verdict: RoutedVerdict,
    /// The thresholds in force, even if others decided.
    pub in_force: Thresholds,
    /// Candidates below the floor, best first.
    pub dropped: Vec<RoutedCandidate>,
}

/// Routes requests to the documents of the catalogue.
pub struct RoutingService {
    store: SharedStore,
    ids: Arc<dyn IdSource>,
    catalogue: Arc<CatalogueService>,
    vectors: Arc<TextVectors>,
    models: Arc<dyn Models>,
    look_up: Arc<LookUpService>,
    /// Vectors of everyday topics, made at first use.
    topics: OnceCell<Vec<Vector>>,
}

impl std::fmt::Debug for RoutingService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RoutingService").finish_non_exhaustive()
    }
}

impl RoutingService {
    pub(crate) fn new(
        store: SharedStore,
        ids: Arc<dyn IdSource>,
        catalogue: Arc<CatalogueService>,
        vectors: Arc<TextVectors>,
        models: Arc<dyn Models>,
        look_up: Arc<LookUpService>,
    ) -> Self {
        Self {
            store,
            ids,
            catalogue,
            vectors,
            models,
            look_up,
            topics: OnceCell::new(),
        }
    }

    /// Routes a request over the caller's visible documents, with details for diagnosis, and optionally with other
    /// thresholds. Stores nothing.
    ///
    /// # Errors
    /// As for [`RoutingService::route`]; `invalid_request` for a threshold that is not 0 to 1.
    pub async fn try_route(
        &self,
        caller: &Caller,
        purpose: Purpose,
        text: &str,
        top_k: usize,
        tried: ThresholdOverrides,
    ) -> Result<VerdictView, EngineError> {
        let live = self.catalogue.live();
        let in_force = live.settings.thresholds;
        let settings = RouteSettings {
            thresholds: tried.over(in_force)?,
            ..live.settings
        };
        let (verdict, dropped) = match purpose.ranking() {
            None => {
                let hints = Hints::default();
                let routed = self.route_over_all(caller, &live, &settings, text, &hints, top_k);
                let routed = routed.await?;
                (routed.verdict, routed.dropped)
            }
            Some(ranking) => {
                let stacked = reached(&live, caller);
                let query = self.compared(text, ranking.layers(&stacked)).await?;
                weigh(&stacked, &settings, ranking, text, &query, top_k)?
            }
        };
        Ok(VerdictView {
            verdict,
            in_force,
            dropped,
        })
    }

    /// Routes a request over the caller's visible documents.
    ///
    /// # Errors
    /// `invalid_request` for an empty query or zero candidates (B000-2).
    pub async fn route(
        &self,
        caller: &Caller,
        purpose: Purpose,
        text: &str,
        top_k: usize,
    ) -> Result<RoutedVerdict, EngineError> {
        let Some(ranking) = purpose.ranking() else {
            let hints = Hints::default();
            let routed = self.route_by_intent(caller, text, &hints, top_k);
            return Ok(routed.await?.verdict);
        };
        let live = self.catalogue.live();
        let stacked = reached(&live, caller);
        let query = self.compared(text, ranking.layers(&stacked)).await?;
        let weighed = weigh(&stacked, &live.settings, ranking, text, &query, top_k);
        weighed.map(|(verdict, _)| verdict)
    }

    /// A query ready to be searched, with spelling corrected by the words of `layers`, and cut into clauses.
    async fn compared(&self, text: &str, layers: &Layers) -> Result<ComparableQuery, EngineError> {
        let mut query = RouteQuery::parse(text)
            .map_err(EngineError::from)?
            .in_clauses();
        let mut unknown_language = None;
        if let Some(embedder) = self.vectors.embedder() {
            query = query.corrected(layers, Allowed::Everything, embedder.as_ref());
            if let Language::Other(name) = intent::language_of(text)
                && is_for_english(embedder.as_ref())
            {
                unknown_language = Some(name);
            }
        }
        let compared = ComparableQuery {
            query: EmbeddedQuery::default(),
            corrections: query.corrections().to_vec(),
            set_aside: Vec::new(),
            unknown_language,
            has_strange_words: !query.strange_words().is_empty(),
        };
        let compared = compared.setting_aside(&query);
        Ok(ComparableQuery {
            query: self.vectors.embedded_query(query).await?,
            ..compared
        })
    }
}

/// An embedded query, with the changes to its text.
#[derive(Debug, Clone)]
pub(crate) struct ComparableQuery {
    pub(crate) query: EmbeddedQuery,
    corrections: Vec<Correction>,
    /// Shortened.
    set_aside: Vec<String>,
    /// The language of the text, if the embedding model does not support it.
    unknown_language: Option<&'static str>,
    /// Whether words of the text suggest a language that neither the model nor the catalogue supports.
    has_strange_words: bool,
}

impl ComparableQuery {
    /// Records the shortened pieces that a query sets aside; unchanged if there are none.
    fn setting_aside(mut self, query: &RouteQuery) -> Self {
        let pieces = query.set_aside().iter().take(SHOWN_ASIDE);
        let pieces: Vec<String> = pieces.map(|piece| shortened(piece)).collect();
        if !pieces.is_empty() {
            self.set_aside = pieces;
        }
        self
    }
}

/// Weighted share of a query's words in a document from which the catalogue counts as written in the query's language.
const KNOWN_WORDS: f32 = 0.5;

/// Makes a narrow verdict broad if neither model nor catalogue supports the language of the text: the model gives such
/// texts similar vectors.
fn not_narrow_in_unknown_language(verdict: Verdict, language: Option<&str>) -> Verdict {
    let known = |best: &Candidate| best.name_match.is_some() || best.coverage >= KNOWN_WORDS;
    match language {
        Some(name)
            if verdict.kind == VerdictKind::Narrow
                && !verdict.candidates.first().is_some_and(known) =>
        {
            Verdict {
                kind: VerdictKind::Broad,
                reason: format!(
                    "{}; but it is written in {name}, which neither the model nor the catalogue knows",
                    verdict.reason
                ),
                ..verdict
            }
        }
        Some(_) | None => verdict,
    }
}

/// Maximum set-aside pieces that a verdict lists.
const SHOWN_ASIDE: usize = 8;
/// Maximum characters of each.
const SHOWN_OF_PIECE: usize = 80;

/// Returns the beginning of a piece, in one line.
fn shortened(piece: &str) -> String {
    let words = piece.split_whitespace().collect::<Vec<_>>().join(" ");
    shorten::to_chars(&words, SHOWN_OF_PIECE).into_owned()
}

/// Returns the entries for a caller's requests: those within its tier and its profile.
fn reached(live: &LiveCatalogue, caller: &Caller) -> Arc<Stacked> {
    let stacked = live.stacked(&caller.tenant, caller.tier);
    let Some(profile) = &caller.profile else {
        return stacked;
    };
    let outside = profile::outside(&live.view(&caller.tenant), profile);
    if outside.is_empty() {
        return stacked;
    }
    let hidden: Vec<String> = outside
        .iter()
        .map(|(kind, id)| entry_id(*kind, id))
        .collect();
    Arc::new(stacked.without(&hidden))
}

/// Returns the verdict, and the candidates below the floor.
fn weigh(
    stacked: &Stacked,
    settings: &RouteSettings,
    ranking: Ranking,
    text: &str,
    compared: &ComparableQuery,
    top_k: usize,
) -> Result<(RoutedVerdict, Vec<RoutedCandidate>), EngineError> {
    let ComparableQuery {
        query,
        corrections,
        set_aside,
        unknown_language,
        has_strange_words: _,
    } = compared;
    let of_kind = |kind: DocumentKind| {
        move |_: Scope, id: &str| id.split_once(' ').is_some_and(|(k, _)| k == kind.as_str())
    };
    let (skills, playbooks) = (
        of_kind(DocumentKind::Skill),
        of_kind(DocumentKind::Playbook),
    );
    let allowed = match ranking {
        Ranking::Skills => Allowed::Where(&skills),
        Ranking::Playbooks => Allowed::Where(&playbooks),
        Ranking::Agents => Allowed::Everything,
    };
    let layers = ranking.layers(stacked);
    let found = find(layers, query, allowed, settings, top_k).map_err(EngineError::from)?;
    let clauses = found.clauses.iter().map(routed_clause).collect();
    let model = query.model().map(ToString::to_string);
    let verdict = decide_found(found, &settings.thresholds, model);
    let verdict = not_narrow_in_unknown_language(verdict, *unknown_language);
    let dropped = verdict.dropped.iter().filter_map(candidate).collect();
    let verdict = RoutedVerdict {
        query: text.to_owned(),
        kind: verdict.kind,
        candidates: verdict.candidates.iter().filter_map(candidate).collect(),
        thresholds: verdict.thresholds,
        model: verdict.model,
        reason: verdict.reason,
        follow_up: None,
        intent: None,
        intent_reason: None,
        subject: None,
        gateway: None,
        corrections: corrections.clone(),
        set_aside: set_aside.clone(),
        clauses,
    };
    Ok((verdict, dropped))
}

/// Maximum candidates of a clause that a verdict lists.
const SHOWN_OF_CLAUSE: usize = 3;

fn routed_clause(found: &ClauseResult) -> RoutedClause {
    let best = found.candidates.iter().take(SHOWN_OF_CLAUSE);
    RoutedClause {
        text: found.text.clone(),
        candidates: best.filter_map(candidate).collect(),
    }
}

fn candidate(found: &Candidate) -> Option<RoutedCandidate> {
    let (kind, id) = parse_entry_id(&found.id)?;
    Some(RoutedCandidate {
        kind,
        id: id.to_owned(),
        scope: found.scope,
        score: found.score,
        fused: found.fused,
        lexical: found.lexical,
        coverage: Some(found.coverage),
        cosine: found.cosine,
        name_match: found.name_match,
    })
}

#[cfg(test)]
mod tests {
    use charter_search::decide;

    use super::*;

    fn kind(language: Option<&str>, coverage: f32, named: Option<NameMatch>) -> VerdictKind {
        let candidate = Candidate {
            id: "skill ops.list_hosts".to_owned(),
            scope: Scope::Global,
            score: 0.9,
            scope_score: 0.9,
            fused: 0.9,
            lexical: 1.0,
            coverage,
            cosine: Some(0.6),
            name_match: named,
        };
        let verdict = decide(vec![candidate], &RouteSettings::default().thresholds, None);
        not_narrow_in_unknown_language(verdict, language).kind
    }

    #[test]
    fn b000_3_no_verdict_is_narrow_in_an_unknown_language() {
        assert_eq!(kind(Some("German"), 0.1, None), VerdictKind::Broad);
        assert_eq!(kind(None, 0.1, None), VerdictKind::Narrow);
        // The catalogue has words of that language.
        assert_eq!(kind(Some("German"), 0.7, None), VerdictKind::Narrow);
        assert_eq!(
            kind(Some("German"), 0.1, Some(NameMatch::Exact)),
            VerdictKind::Narrow
        );
    }
}
