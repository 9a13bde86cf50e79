//! The previews of a pass: passages of lenses, known entities, and memories. They are data for the worker, never
//! instructions. A pass can be read by operators, so it has no content of private memories.

use std::collections::BTreeSet;

use charter_contract::catalogue::graph::GraphNode;
use charter_contract::ids::{GraphNodeId, Label, LensId};
use charter_contract::mission::librarian_pass::CachedPreview;
use charter_contract::mission::task_graph::Task;
use charter_contract::text::{ShortText, Text};
use charter_domain::expert_graph::{ExpertGraph, is_named, text_of};
use serde_json::Value;

use super::MissionStageService;
use super::desk::MissionContext;
use super::stage::StageExecution;
use crate::EngineError;
use crate::identity::caller::Tier;
use crate::knowledge::lenses::LensFilter;
use crate::knowledge::memory::{RecalledMemory, RecalledNote};

/// Maximum passages of lenses in a pass.
const PASSAGES: usize = 6;
/// Maximum entities in a pass: of the expert graph, and of the mission's references.
const ENTITIES: usize = 8;

impl MissionStageService {
    /// Returns what is known about the task's subject, each entity once.
    pub(super) async fn previews(
        &self,
        work: &StageExecution,
        task: &Task,
    ) -> Result<Vec<CachedPreview>, EngineError> {
        let mut previews = self.passages(work, task).await?;
        previews.extend(self.graph_entities(work, task));
        previews.extend(self.remembered_entities(work).await);
        let objective = task.objective.as_str();
        let memories = self.memories.recall_if_possible(&work.caller, objective);
        previews.extend(memories.await.iter().filter_map(memory));
        let mut seen = BTreeSet::new();
        previews.retain(|preview| seen.insert(preview.entity_id.clone()));
        Ok(previews)
    }

    /// Returns passages on the task's subject, from the lenses of its families.
    async fn passages(
        &self,
        work: &StageExecution,
        task: &Task,
    ) -> Result<Vec<CachedPreview>, EngineError> {
        let lenses = lenses_of(&work.desk, task);
        if lenses.is_empty() || work.caller.tier < Tier::Advanced {
            return Ok(Vec::new());
        }
        let filter = LensFilter {
            lens_ids: lenses.into_iter().collect(),
            top_k: Some(PASSAGES),
            ..LensFilter::default()
        };
        let objective = task.objective.as_str();
        let answer = self
            .lenses
            .ask_lenses(&work.caller, objective, &filter)
            .await?;
        let previews = answer.passages.into_iter().filter_map(|passage| {
            let place = format!("{}#{}", passage.lens_id, passage.position.start);
            Some(CachedPreview {
                label: Text::parse(&passage.title).ok()?,
                entity_type: Label::parse("lens_passage").ok()?,
                entity_id: ShortText::parse(&place).ok()?,
                preview: Text::parse(&passage.text).ok()?,
            })
        });
        Ok(previews.collect())
    }

    /// Returns the nodes of the expert graph that the mission refers to or the objective names.
    fn graph_entities(&self, work: &StageExecution, task: &Task) -> Vec<CachedPreview> {
        if work.caller.tier < Tier::Advanced {
            return Vec::new();
        }
        let view = self.catalogue.live().view(&work.caller.tenant);
        let graph = ExpertGraph::from_view(&view);
        let referred = references(&work.desk).filter_map(|(_, id)| {
            let found = graph.node(&GraphNodeId::parse(id).ok()?)?;
            node(found.document())
        });
        let nodes = graph.nodes();
        let named = nodes.iter().map(|found| found.document());
        let named = named.filter(|node| is_named(node, task.objective.as_str()));
        let entities = referred.chain(named.filter_map(node));
        entities.take(ENTITIES).collect()
    }

    /// Returns the entities of the mission's references that a memory mentions, with the memory's content.
    async fn remembered_entities(&self, work: &StageExecution) -> Vec<CachedPreview> {
        let mut entities = Vec::new();
        let references: Vec<(&str, &str)> = references(&work.desk).take(ENTITIES).collect();
        for (reference, id) in references {
            let memories = self.memories.recall_if_possible(&work.caller, id).await;
            let notes = memories.into_iter().filter_map(|memory| memory.note);
            let mut known = notes.filter_map(|note| entity((reference, id), &note));
            entities.extend(known.next());
        }
        entities
    }
}

/// Returns the entities of the mission's references, each with the name of its reference.
fn references(desk: &MissionContext) -> impl Iterator<Item = (&str, &str)> {
    let references = desk.envelope.context_refs.iter();
    references.flat_map(|(name, value)| {
        let several = value.as_array().into_iter().flatten();
        let ids = several.chain(Some(value)).filter_map(Value::as_str);
        ids.map(move |id| (name.as_str(), id))
    })
}

/// Returns the preview of an entity from a memory that mentions it.
fn entity((reference, id): (&str, &str), note: &RecalledNote) -> Option<CachedPreview> {
    if !note.title.contains(id) && !note.content.contains(id) {
        return None;
    }
    Some(CachedPreview {
        label: Text::parse(&note.title).ok()?,
        entity_type: entity_type(reference)?,
        entity_id: ShortText::parse(id).ok()?,
        preview: Text::parse(&note.content).ok()?,
    })
}

/// Returns the type of a reference's entities: `lead` of `lead_ids`.
fn entity_type(reference: &str) -> Option<Label> {
    let singular = reference
        .strip_suffix("_ids")
        .or_else(|| reference.strip_suffix("_id"));
    Label::parse(singular.unwrap_or(reference)).ok()
}

fn node(node: &GraphNode) -> Option<CachedPreview> {
    Some(CachedPreview {
        label: Text::parse(node.id.as_ref()).ok()?,
        entity_type: Label::parse(node.node_type.as_str()).ok()?,
        entity_id: ShortText::parse(node.id.as_ref()).ok()?,
        preview: Text::parse(&text_of(node)).ok()?,
    })
}

fn memory(memory: &RecalledMemory) -> Option<CachedPreview> {
    let (label, preview) = match &memory.note {
        Some(note) => (note.title.as_str(), note.content.as_str()),
        None => (
            "Private memory",
            "Its content is shown to its owner only: the owner can recall it by its id.",
        ),
    };
    Some(CachedPreview {
        label: Text::parse(label).ok()?,
        entity_type: Label::parse("memory").ok()?,
        entity_id: ShortText::parse(memory.memory_id.as_ref()).ok()?,
        preview: Text::parse(preview).ok()?,
    })
}

/// Returns the lenses of the families that the task may read.
fn lenses_of(desk: &MissionContext, task: &Task) -> BTreeSet<LensId> {
    let scopes = task.required_data_scopes.iter();
    let families = scopes.filter_map(|scope| desk.kind.resource_families.get(scope));
    families
        .flat_map(|family| family.lenses.iter().cloned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entity_has_the_type_of_its_reference() {
        for (reference, expected) in [
            ("lead_ids", "lead"),
            ("page_id", "page"),
            ("campaign", "campaign"),
        ] {
            let found = entity_type(reference).unwrap();
            assert_eq!(found.as_str(), expected);
        }
    }
}
