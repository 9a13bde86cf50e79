//! Answers to a question for a rule: passages of lenses by their best sentence, and nodes of the expert graph.
//!
//! Below the advanced tier it returns nothing, and no error: the caller asked for an answer, not for a lens.

use std::sync::Arc;

use charter_contract::catalogue::graph::GraphNode;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::LensId;
use charter_domain::catalogue::{ResolvedDocument, WinningLayer};
use charter_domain::expert_graph::{ExpertGraph, is_named, text_of};
use charter_domain::sentences::{SectionStart, Sentence, sentences};
use charter_search::EmbeddedQuery;
use serde::Serialize;

use crate::catalogue::live::CatalogueService;
use crate::knowledge::lenses::LensService;
use crate::{Caller, EngineError, LensFilter, PassageView, Tier};

/// Passages whose sentences are compared with the question.
const PASSAGES: usize = 4;
/// Sentences of one passage that are compared.
const SENTENCES: usize = 60;
/// Nodes of the expert graph that are compared by their texts; in a larger graph a node has to be named.
const NODES: usize = 256;
/// Likeness of a node that the question names.
const NAMED: f32 = 1.0;
/// Weight of the share of the question's words that a sentence has, beside its likeness.
const WORDS: f32 = 0.2;
/// How likely a passage has to be, by its words alone, to be as good as a likeness of one.
const BY_WORDS: f32 = 0.6;

/// A passage with the sentence of it that answers the question best.
#[derive(Debug, Clone)]
pub(crate) struct CitedPassage {
    pub(crate) passage: PassageView,
    /// The sentence; `None` where no sentence has anything to do with the question.
    pub(crate) sentence: Option<String>,
    /// The section of the sentence; of the beginning of the passage where there is no sentence.
    pub(crate) section: CitedSection,
    /// 0 to 1, comparable over questions.
    pub(crate) likeness: f32,
}

/// The part of a passage that one section has of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CitedSection {
    /// Its headings, the highest first.
    pub(crate) headings: Vec<String>,
    /// The page of the sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) page: Option<u32>,
    /// The part.
    pub(crate) text: String,
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

/// The results, best first.
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
}

/// A client's filter as lenses are searched with it.
pub(crate) fn as_searched(filter: &LensFilter) -> LensFilter {
    LensFilter {
        top_k: Some(filter.top_k.unwrap_or(PASSAGES)),
        ..filter.clone()
    }
}

/// Looks up the answers to a question in lenses and in the expert graph.
pub(crate) struct LookUpService {
    catalogue: Arc<CatalogueService>,
    lenses: Arc<LensService>,
}

impl LookUpService {
    pub(crate) fn new(catalogue: Arc<CatalogueService>, lenses: Arc<LensService>) -> Self {
        Self { catalogue, lenses }
    }

    /// Passages and nodes that fit a question; nothing below the advanced tier.
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
        let answer = match self.lenses.ask_lenses(caller, question, &filter).await {
            Ok(answer) => answer,
            // A lens that is being indexed keeps no question from being answered otherwise.
            Err(error) if error.code == ErrorCode::Unavailable => {
                tracing::warn!(error = %error, "an answer is given without lenses");
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
        let cut: Vec<Vec<Sentence>> = passages.iter().map(sentences_of).collect();
        let texts: Vec<String> = cut.iter().flatten().map(Sentence::compared).collect();
        let likeness = self.lenses.likeness_of(query, &texts).await?;
        let mut all = likeness.as_deref();
        let cited = passages.into_iter().zip(cut).map(|(passage, sentences)| {
            let own = all.map(|known| known.split_at(sentences.len().min(known.len())));
            all = own.map(|(_, rest)| rest);
            cite(query, passage, &sentences, own.map(|(own, _)| own))
        });
        let mut cited: Vec<CitedPassage> = cited.collect();
        if likeness.is_some() {
            cited.sort_by(|a, b| b.likeness.total_cmp(&a.likeness));
        }
        Ok(cited)
    }

    /// The nodes that a question names, else the nearest one.
    async fn nodes_met(
        &self,
        caller: &Caller,
        question: &str,
        query: &EmbeddedQuery,
    ) -> Result<Vec<MatchedNode>, EngineError> {
        let view = self.catalogue.live().view(&caller.tenant);
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
        let Some(likeness) = self.lenses.likeness_of(query, &texts).await? else {
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

fn sentences_of(passage: &PassageView) -> Vec<Sentence> {
    let sections = passage.position.sections();
    let starts = sections.iter().map(|(at, headings, _)| SectionStart {
        at: *at,
        heading: headings.last().map_or("", String::as_str),
    });
    let starts: Vec<SectionStart<'_>> = starts.collect();
    sentences(&passage.text, &starts, SENTENCES)
}

/// A passage with its best sentence, by how like the question each sentence is. Without likeness words decide.
fn cite(
    query: &EmbeddedQuery,
    passage: PassageView,
    sentences: &[Sentence],
    likeness: Option<&[f32]>,
) -> CitedPassage {
    let best = best(query, &passage, sentences, likeness);
    CitedPassage {
        likeness: match likeness {
            Some(likeness) => likeness.iter().copied().fold(0.0, f32::max),
            None => BY_WORDS * passage.score,
        },
        section: section_of(&passage, best.map(|sentence| sentence.section)),
        sentence: best.map(|sentence| sentence.text.clone()),
        passage,
    }
}

/// The sentence that answers a question best, by likeness and words. A heading leads to the best sentence below it: it
/// names what is answered, and answers nothing.
fn best<'s>(
    query: &EmbeddedQuery,
    passage: &PassageView,
    sentences: &'s [Sentence],
    likeness: Option<&[f32]>,
) -> Option<&'s Sentence> {
    let score = |at: usize, sentence: &Sentence| {
        let near = likeness.and_then(|likeness| likeness.get(at));
        near.copied().unwrap_or(0.0) + WORDS * query.share_of(&sentence.text)
    };
    let scored: Vec<(f32, &Sentence)> = sentences
        .iter()
        .enumerate()
        .map(|(at, sentence)| (score(at, sentence), sentence))
        .collect();
    // Of equals the first.
    let best_of = |wanted: &dyn Fn(&Sentence) -> bool| {
        let fitting = scored.iter().rev().filter(|(_, one)| wanted(one));
        fitting.max_by(|(a, _), (b, _)| a.total_cmp(b)).copied()
    };
    let (score, found) = best_of(&|_| true)?;
    if score <= 0.0 {
        return None;
    }
    if !found.is_heading {
        return Some(found);
    }
    let sections = passage.position.sections();
    let path = |sentence: &Sentence| {
        let section = sections.get(sentence.section);
        section.map_or(&[][..], |(_, headings, _)| *headings)
    };
    let own = |one: &Sentence| !one.is_heading && one.heading == found.heading;
    let below = |one: &Sentence| !one.is_heading && path(one).starts_with(path(found));
    let sentence = best_of(&own).or_else(|| best_of(&below));
    Some(sentence.map_or(found, |(_, sentence)| sentence))
}

/// The part of a passage that a section has of it; the whole passage under its first headings where no section is meant.
fn section_of(passage: &PassageView, section: Option<usize>) -> CitedSection {
    let sections = passage.position.sections();
    let found = section.and_then(|at| Some((at, *sections.get(at)?)));
    let Some((at, (_, headings, page))) = found else {
        return CitedSection {
            headings: passage.position.headings.clone(),
            page: passage.position.page,
            text: passage.text.clone(),
        };
    };
    // A page that begins inside of a section does not end it.
    let differs = |(_, other, _): &&(usize, &[String], Option<u32>)| *other != headings;
    let (before, after) = sections.split_at(at);
    let same_before = before.iter().rev().take_while(|one| !differs(one));
    let first = same_before.last().or_else(|| sections.get(at));
    let start = first.map_or(0, |(start, ..)| *start);
    let end = after.iter().find(differs);
    let end = end.map_or(passage.text.len(), |(end, ..)| *end);
    let text = passage.text.get(start..end).unwrap_or(&passage.text);
    CitedSection {
        headings: headings.to_vec(),
        page,
        text: text.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests;
