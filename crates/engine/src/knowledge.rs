//! What answers a question for a rule: passages of lenses by their best sentence, and nodes of the expert graph.
//!
//! Below the advanced tier there is none of it, and nothing is said about that: the caller asked for an answer, not for
//! a lens.

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::graph::GraphNode;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::LensId;
use charter_contract::package::PackageScope;
use charter_domain::catalogue::{ResolvedDocument, WinningLayer};
use charter_domain::expert_graph::{ExpertGraph, is_named, text_of};
use charter_domain::sentences::{Sentence, sentences};
use charter_search::{EmbeddedQuery, Scope};

use crate::routing::RoutedCandidate;
use crate::{Caller, Engine, EngineError, LensFilter, PassageView, Tier};

/// Passages whose sentences are compared with the question.
const PASSAGES: usize = 4;
/// Sentences of one passage that are compared.
const SENTENCES: usize = 60;
/// Nodes of the expert graph that are compared by what they say; in a larger graph a node has to be named.
const NODES: usize = 256;
/// Likeness of a node that the question names.
const NAMED: f32 = 1.0;
/// How likely a passage has to be, by its words alone, to be as good as a likeness of one.
const BY_WORDS: f32 = 0.6;

/// A passage with the sentence of it that comes closest to the question.
#[derive(Debug, Clone)]
pub(crate) struct CitedPassage {
    pub(crate) passage: PassageView,
    /// The sentence; `None` where only words were compared.
    pub(crate) sentence: Option<String>,
    /// 0 to 1, comparable over questions.
    pub(crate) likeness: f32,
}

/// A node of the expert graph that a question is about.
#[derive(Debug, Clone)]
pub(crate) struct MatchedNode {
    pub(crate) node: GraphNode,
    pub(crate) layer: WinningLayer,
    /// Whether the question names it.
    pub(crate) named: bool,
    pub(crate) likeness: f32,
}

/// What was found, best first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Knowledge {
    pub(crate) passages: Vec<CitedPassage>,
    pub(crate) nodes: Vec<MatchedNode>,
    /// The lenses that were searched.
    pub(crate) searched: Vec<LensId>,
}

impl Knowledge {
    /// The likeness of the best of it.
    pub(crate) fn likeness(&self) -> f32 {
        let passages = self.passages.iter().map(|cited| cited.likeness);
        let nodes = self.nodes.iter().map(|met| met.likeness);
        passages.chain(nodes).fold(0.0, f32::max)
    }

    /// Without what comes less close than `least`.
    pub(crate) fn at_least(mut self, least: f32) -> Self {
        self.passages.retain(|cited| cited.likeness >= least);
        self.nodes.retain(|met| met.likeness >= least);
        self
    }

    /// The lenses and nodes, as candidates of a verdict: lenses first, for they say what nodes only name.
    pub(crate) fn candidates(&self) -> Vec<RoutedCandidate> {
        let mut found: Vec<RoutedCandidate> = Vec::new();
        let lenses = self.passages.iter().map(|cited| {
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
        let nodes = self.nodes.iter().map(|met| {
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
                .any(|known| known.kind == kind && known.id == id)
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
                    named: None,
                });
            }
        }
        found
    }
}

/// A client's filter as lenses are searched with it.
pub(crate) fn as_searched(filter: &LensFilter) -> LensFilter {
    LensFilter {
        top_k: Some(filter.top_k.unwrap_or(PASSAGES)),
        ..filter.clone()
    }
}

impl Engine {
    /// What lenses and the expert graph have to do with a question; nothing below the advanced tier.
    ///
    /// # Errors
    /// `unavailable` when sentences cannot be embedded.
    pub(crate) async fn look_up(
        &self,
        caller: &Caller,
        question: &str,
        query: &EmbeddedQuery,
        filter: &LensFilter,
    ) -> Result<Knowledge, EngineError> {
        if caller.tier < Tier::Advanced {
            return Ok(Knowledge::default());
        }
        let filter = as_searched(filter);
        let answer = match self.ask_lenses(caller, question, &filter).await {
            Ok(answer) => answer,
            // A lens that is being indexed keeps no question from being answered otherwise.
            Err(error) if error.code == ErrorCode::Unavailable => {
                tracing::warn!(error = %error, "lenses are left out of an answer");
                return Ok(Knowledge::default());
            }
            Err(error) => return Err(error),
        };
        Ok(Knowledge {
            passages: self.cited(query, answer.passages).await?,
            nodes: self.nodes_met(caller, question, query).await?,
            searched: answer.lenses,
        })
    }

    /// Passages by their best sentence, best first.
    async fn cited(
        &self,
        query: &EmbeddedQuery,
        passages: Vec<PassageView>,
    ) -> Result<Vec<CitedPassage>, EngineError> {
        let cut = |passage: &PassageView| {
            let heading = passage.position.headings.last().map_or("", String::as_str);
            sentences(&passage.text, heading, SENTENCES)
        };
        let cut: Vec<Vec<Sentence>> = passages.iter().map(cut).collect();
        let texts: Vec<String> = cut.iter().flatten().map(Sentence::compared).collect();
        let Some(likeness) = self.likeness_of(query, &texts).await? else {
            let by_words = passages.into_iter().map(|passage| CitedPassage {
                likeness: BY_WORDS * passage.score,
                sentence: None,
                passage,
            });
            return Ok(by_words.collect());
        };
        let mut likeness = likeness.into_iter();
        let mut cited: Vec<CitedPassage> = passages
            .into_iter()
            .zip(cut)
            .map(|(passage, sentences)| {
                let own = sentences.into_iter().zip(likeness.by_ref());
                let best = own.max_by(|(_, a), (_, b)| a.total_cmp(b));
                CitedPassage {
                    passage,
                    likeness: best.as_ref().map_or(0.0, |(_, likeness)| *likeness),
                    sentence: best.map(|(sentence, _)| sentence.text),
                }
            })
            .collect();
        cited.sort_by(|a, b| b.likeness.total_cmp(&a.likeness));
        Ok(cited)
    }

    /// The nodes that a question names, else the nearest one.
    async fn nodes_met(
        &self,
        caller: &Caller,
        question: &str,
        query: &EmbeddedQuery,
    ) -> Result<Vec<MatchedNode>, EngineError> {
        let view = self.live().view(&caller.tenant);
        let nodes: Vec<ResolvedDocument<GraphNode>> = ExpertGraph::from_view(&view).nodes();
        let met = |found: &ResolvedDocument<GraphNode>, named: bool, likeness: f32| MatchedNode {
            node: found.document().clone(),
            layer: found.won,
            named,
            likeness,
        };
        let named = nodes
            .iter()
            .filter(|found| is_named(found.document(), question));
        let named: Vec<MatchedNode> = named.map(|found| met(found, true, NAMED)).collect();
        if !named.is_empty() || nodes.len() > NODES {
            return Ok(named);
        }
        let texts: Vec<String> = nodes
            .iter()
            .map(|found| text_of(found.document()))
            .collect();
        let Some(likeness) = self.likeness_of(query, &texts).await? else {
            return Ok(Vec::new());
        };
        let nearest = nodes
            .iter()
            .zip(likeness)
            .max_by(|(_, a), (_, b)| a.total_cmp(b));
        Ok(nearest
            .map(|(found, likeness)| met(found, false, likeness))
            .into_iter()
            .collect())
    }
}
