//! Answers requests for a rule, a meaning, a reason or a procedure. Quotes passages of lenses and nodes of the expert
//! graph with their sources; if neither answers, the text of a skill or playbook. Describes a document that a request
//! names. No model writes anything.

mod documents;

use std::collections::BTreeSet;
use std::time::Duration;

use charter_contract::agentic::response::{ActionType, AgentResponse};
use charter_contract::catalogue::graph::NodeType;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{DomainId, ResponseId};
use charter_contract::json::{decode_stored, to_stored};
use charter_domain::catalogue::Direction;
use charter_domain::expert_graph::{Depth, ExpertGraph, Neighbour, text_of};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::ActiveRequest;
use super::classification::Classification;
use super::consult::cited_under;
use super::course::domain_of_candidate;
use super::explanation_service::ExplanationService;
use super::offer::Offers;
use super::offered::Offer;
use super::respond::{ResponseService, verdict};
use crate::EngineError;
use crate::knowledge::look_up::{CitedPassage, CitedSection, Knowledge, MatchedNode};
use documents::DocumentShown;

/// Maximum passages that are quoted.
const QUOTED: usize = 3;
/// Maximum neighbours of a node that an answer lists.
const LISTED: usize = 12;

/// The explanation of a rule.
#[derive(Debug)]
pub(super) struct Explanation {
    known: Knowledge,
    nodes: Vec<NodeShown>,
    document: Option<DocumentShown>,
    offers: Vec<Offer>,
    domains: BTreeSet<DomainId>,
}

/// A node of the expert graph, with its neighbours.
#[derive(Debug, Serialize)]
struct NodeShown {
    node_id: String,
    node_type: NodeType,
    layer: &'static str,
    /// Whether the question names it.
    named: bool,
    similarity: f32,
    text: String,
    near: Vec<NearShown>,
}

#[derive(Debug, Serialize)]
struct NearShown {
    node_id: String,
    node_type: NodeType,
    text: String,
}

impl Explanation {
    /// Returns the domains of all its parts.
    pub(super) fn domains(&self) -> &BTreeSet<DomainId> {
        &self.domains
    }

    fn is_empty(&self) -> bool {
        self.known.passages.is_empty() && self.nodes.is_empty() && self.document.is_none()
    }
}

impl ExplanationService {
    /// Builds the explanation for a routed request.
    ///
    /// # Errors
    /// `unavailable` if the question cannot be embedded; `no_match` if the matching document no longer exists.
    pub(super) async fn explain(
        &self,
        asked: &ActiveRequest,
        classified: &Classification,
    ) -> Result<Explanation, EngineError> {
        let view = self.catalogue.live().view(&asked.caller.tenant);
        let candidates = &classified.verdict.candidates;
        let mut explanation = Explanation {
            known: Knowledge::default(),
            nodes: Vec::new(),
            document: candidates
                .first()
                .and_then(|first| documents::described(&view, &asked.caller, first)),
            offers: self.offers.offers_of_text(asked, classified),
            domains: candidates
                .iter()
                .filter_map(|candidate| domain_of_candidate(&view, candidate))
                .collect(),
        };
        if explanation.document.is_none() {
            let caller = &asked.caller;
            let question = self
                .routing
                .question_in(caller, classified.text(asked))
                .await?;
            let lenses = &asked.wishes.rag_params;
            let known = self
                .routing
                .knowledge_of(&asked.caller, &question, lenses)
                .await?;
            let least = question.cited_from().min(known.likeness());
            explanation.known = known.at_least(least);
            explanation.known.passages.truncate(QUOTED);
            let graph = ExpertGraph::from_view(&view);
            let met = explanation.known.nodes.iter();
            explanation.nodes = met.map(|met| node(&graph, met)).collect();
        }
        match explanation.is_empty() {
            true => {
                let message = "the document that answered this question is no longer registered";
                Err(EngineError::new(ErrorCode::NoMatch, message))
            }
            false => Ok(explanation),
        }
    }
}

fn node(graph: &ExpertGraph<'_>, met: &MatchedNode) -> NodeShown {
    let both = [Direction::Out, Direction::In];
    let near = graph.neighbours(&met.node.id, &both, &[], Depth::ONE);
    NodeShown {
        node_id: met.node.id.to_string(),
        node_type: met.node.node_type,
        layer: match met.layer.is_tenant() {
            true => "tenant",
            false => "global",
        },
        named: met.named,
        similarity: met.likeness,
        text: text_of(&met.node),
        near: near.found.iter().take(LISTED).map(near_shown).collect(),
    }
}

fn near_shown(neighbour: &Neighbour) -> NearShown {
    NearShown {
        node_id: neighbour.node.id.to_string(),
        node_type: neighbour.node.node_type,
        text: text_of(&neighbour.node),
    }
}

/// Builds the response that explains.
pub(super) fn response(
    responses: &ResponseService,
    asked: &ActiveRequest,
    classified: &Classification,
    explanation: &Explanation,
    elapsed: Duration,
) -> Result<AgentResponse, EngineError> {
    let at = responses.clock.now();
    let known = &explanation.known;
    let mut searched = Map::new();
    searched.insert("lens_ids".to_owned(), json!(known.searched));
    searched.insert("passages".to_owned(), json!(known.passages.len()));
    searched.insert("nodes".to_owned(), json!(explanation.nodes.len()));
    let mut response = AgentResponse::builder(
        ResponseId::from_uuid(responses.ids.uuid()),
        asked.id().clone(),
        at,
        content(explanation),
    )
    .execution_time_ms(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
    .action(ActionType::Search, at, searched)
    .metadata("flow", json!(classified.flow))
    .metadata("verdict", verdict(&classified.verdict)?)
    .metadata("extractive", json!(true))
    .metadata("passages", as_written(&passages(known))?)
    .metadata("nodes", as_written(&explanation.nodes)?)
    .metadata(
        "documents",
        json!(explanation.document.iter().collect::<Vec<_>>()),
    )
    .build();
    Offers::new(explanation.offers.clone()).add_to(&mut response);
    Ok(response)
}

/// A passage with its best answering sentence, and the section of that sentence.
#[derive(Debug, Serialize)]
struct PassageCited<'k> {
    #[serde(flatten)]
    passage: &'k crate::PassageView,
    #[serde(skip_serializing_if = "Option::is_none")]
    sentence: Option<&'k str>,
    section: &'k CitedSection,
    similarity: f32,
}

fn passages(known: &Knowledge) -> Vec<PassageCited<'_>> {
    let cited = known.passages.iter().map(|cited| PassageCited {
        passage: &cited.passage,
        sentence: cited.sentence.as_deref(),
        section: &cited.section,
        similarity: cited.likeness,
    });
    cited.collect()
}

/// Converts a value through its JSON text: widening single precision would add meaningless digits.
fn as_written<T: Serialize>(value: &T) -> Result<Value, EngineError> {
    to_stored(value)
        .and_then(|text| decode_stored(&text))
        .map_err(|error| EngineError::internal("writing what explains a rule", error))
}

/// Formats the answer as text: each passage under its source, each node under its id.
fn content(explanation: &Explanation) -> String {
    let mut parts: Vec<String> = Vec::new();
    let quoted = explanation.known.passages.iter().enumerate();
    parts.extend(quoted.map(|(at, cited)| passage_text(at + 1, cited)));
    parts.extend(explanation.nodes.iter().map(node_text));
    parts.extend(explanation.document.iter().map(DocumentShown::words));
    format!("Quoted:\n\n{}", parts.join("\n\n"))
}

/// Formats the answering section, under its own headings, after its best answering sentence.
fn passage_text(number: usize, cited: &CitedPassage) -> String {
    let CitedSection {
        headings,
        page,
        text,
    } = &cited.section;
    let source = cited_under(&cited.passage, headings, *page);
    match &cited.sentence {
        Some(sentence) if sentence != text => {
            format!("[{number}] {source}\n“{sentence}”\n\n{text}")
        }
        Some(_) | None => format!("[{number}] {source}\n{text}"),
    }
}

fn node_text(node: &NodeShown) -> String {
    let NodeShown {
        node_id,
        node_type,
        text,
        ..
    } = node;
    let mut lines = vec![format!("`{node_id}` ({node_type}): {text}")];
    let near = node.near.iter();
    lines
        .extend(near.map(|near| format!("- {} `{}`: {}", near.node_type, near.node_id, near.text)));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_quoted_under_its_id_with_what_is_next_to_it() {
        let node = NodeShown {
            node_id: "iso.a9".to_owned(),
            node_type: NodeType::Control,
            layer: "global",
            named: true,
            similarity: 1.0,
            text: "Access control".to_owned(),
            near: vec![NearShown {
                node_id: "locks".to_owned(),
                node_type: NodeType::Requirement,
                text: "Doors are locked".to_owned(),
            }],
        };
        assert_eq!(
            node_text(&node),
            "`iso.a9` (Control): Access control\n- Requirement `locks`: Doors are locked"
        );
    }
}
