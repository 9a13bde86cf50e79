//! The routing entries of a layer, their texts, and its indexes.

use std::collections::HashMap;
use std::sync::Arc;

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::agent::AgentManifest;
use charter_contract::catalogue::playbook::Playbook;
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::parameter::Parameter;
use charter_contract::route_example::RoutedKind;
use charter_contract::text::Text;
use charter_domain::catalogue::{Layer, View};
use charter_search::embed::{EmbeddingModel, Vector};
use charter_search::{
    BuildError, IndexSettings, RouteEntry, RouteIndex, RouteText, VectorRole, embedding_texts,
    trigger_phrases,
};
use charter_store::vector::TextHash;
use sha2::{Digest, Sha256};

/// The indexes of one layer.
#[derive(Debug, Clone)]
pub(crate) struct IndexSet {
    /// Skills and playbooks together: the targets of routing.
    pub(crate) actions: Arc<RouteIndex>,
    /// Agents, searched on a miss only.
    pub(crate) agents: Arc<RouteIndex>,
    /// Entries that the layer has and does not offer: they hide the same ids in the layers below (B000-1).
    pub(crate) withdrawn: Arc<[String]>,
}

/// Vectors by the hash of their text.
pub(crate) type VectorsByText = HashMap<TextHash, Vector>;

/// Returns the hash under which a text's vector is stored.
pub(crate) fn text_hash(text: &str) -> TextHash {
    TextHash(Sha256::digest(text).into())
}

/// Returns an entry's id within an index: kind and id, so that a skill and a playbook may share a name.
pub(crate) fn entry_id(kind: DocumentKind, id: &str) -> String {
    format!("{kind} {id}")
}

/// Splits an index entry into kind and id.
pub(crate) fn parse_entry_id(entry: &str) -> Option<(DocumentKind, &str)> {
    let (kind, id) = entry.split_once(' ')?;
    Some((kind.parse().ok()?, id))
}

/// Returns every text of a layer that has a vector.
pub(crate) fn texts_of(layer: &Layer) -> Vec<String> {
    let entries = actions(layer).into_iter().chain(agents(layer));
    entries
        .flat_map(|(_, text)| embedding_texts(&text))
        .map(|(_, text)| text)
        .collect()
}

impl IndexSet {
    /// Builds the indexes of a layer from stored vectors.
    ///
    /// # Errors
    /// [`BuildError`], e.g. if a vector has other dimensions than the model.
    pub(crate) fn build(
        layer: &Layer,
        model: Option<&EmbeddingModel>,
        vectors: &VectorsByText,
    ) -> Result<Self, BuildError> {
        Ok(Self {
            actions: route_index(actions(layer), model, vectors)?,
            agents: route_index(agents(layer), model, vectors)?,
            withdrawn: withdrawn(layer).into(),
        })
    }
}

/// Builds the index of some entries.
pub(super) fn route_index(
    texts: Vec<(String, RouteText)>,
    model: Option<&EmbeddingModel>,
    vectors: &VectorsByText,
) -> Result<Arc<RouteIndex>, BuildError> {
    let entries = texts
        .into_iter()
        .map(|(id, text)| entry(id, text, vectors))
        .collect();
    RouteIndex::build(entries, model.cloned(), &IndexSettings::default()).map(Arc::new)
}

fn entry(id: String, text: RouteText, vectors: &VectorsByText) -> RouteEntry {
    let known =
        |(role, text): (VectorRole, String)| Some((role, vectors.get(&text_hash(&text))?.clone()));
    RouteEntry {
        id,
        vectors: embedding_texts(&text)
            .into_iter()
            .filter_map(known)
            .collect(),
        text,
    }
}

/// Returns active skills and playbooks. Inactive documents are left out of every search (B000-2), and so is a candidate
/// until it is accepted (B000-4).
pub(crate) fn actions(layer: &Layer) -> Vec<(String, RouteText)> {
    let skills = layer.skills.values().map(|entry| &entry.document);
    let playbooks = layer.playbooks.values().map(|entry| &entry.document);
    let skills = skills.filter_map(skill_action);
    skills
        .chain(playbooks.filter_map(playbook_action))
        .collect()
}

/// Returns the routing entry of one skill or playbook of a layer, if it is active.
pub(super) fn action(layer: &Layer, kind: RoutedKind, id: &str) -> Option<(String, RouteText)> {
    match kind {
        RoutedKind::Skill => skill_action(&layer.skills.get(id)?.document),
        RoutedKind::Playbook => playbook_action(&layer.playbooks.get(id)?.document),
    }
}

/// Returns the routing entry of the skill or playbook that a tenant sees under an id, if it is active.
pub(crate) fn offered(view: &View, kind: RoutedKind, id: &str) -> Option<(String, RouteText)> {
    match kind {
        RoutedKind::Skill => skill_action(view.skill(id)?.document()),
        RoutedKind::Playbook => playbook_action(view.playbook(id)?.document()),
    }
}

fn skill_action(skill: &Skill) -> Option<(String, RouteText)> {
    let offered = skill.status == Status::Active && !skill.is_candidate;
    let id = || entry_id(DocumentKind::Skill, skill.skill_id.as_ref());
    offered.then(|| (id(), skill_text(skill)))
}

fn playbook_action(playbook: &Playbook) -> Option<(String, RouteText)> {
    let offered = playbook.status == Status::Active && !playbook.is_candidate;
    let id = || entry_id(DocumentKind::Playbook, playbook.playbook_id.as_ref());
    offered.then(|| (id(), playbook_text(playbook)))
}

/// Returns the entries of candidates, and of inactive skills, playbooks and agents.
fn withdrawn(layer: &Layer) -> Vec<String> {
    let skills = layer.skills.iter();
    let skills = skills.map(|(id, entry)| {
        let skill = &entry.document;
        let offered = skill.status == Status::Active && !skill.is_candidate;
        (DocumentKind::Skill, id, offered)
    });
    let playbooks = layer.playbooks.iter();
    let playbooks = playbooks.map(|(id, entry)| {
        let playbook = &entry.document;
        let offered = playbook.status == Status::Active && !playbook.is_candidate;
        (DocumentKind::Playbook, id, offered)
    });
    let agents = layer.agents.iter();
    let agents = agents.map(|(id, entry)| {
        let offered = entry.document.status == Status::Active;
        (DocumentKind::Agent, id, offered)
    });
    skills
        .chain(playbooks)
        .chain(agents)
        .filter(|(.., offered)| !offered)
        .map(|(kind, id, _)| entry_id(kind, id))
        .collect()
}

fn agents(layer: &Layer) -> Vec<(String, RouteText)> {
    let agents = layer.agents.values().map(|entry| &entry.document);
    agents
        .filter(|agent| agent.status == Status::Active)
        .map(|agent| {
            (
                entry_id(DocumentKind::Agent, agent.agent_id.as_ref()),
                agent_text(agent),
            )
        })
        .collect()
}

/// Returns a skill's words, its utterances, and a vector of the six fields of seed 000 §2.2 in their order (ruling 2).
fn skill_text(skill: &Skill) -> RouteText {
    let own = |texts: &[Text]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
    let capability = skill.capability_id.iter().map(ToString::to_string);
    let said = [skill.purpose.to_string(), skill.description.to_string()];
    let capabilities = own(&skill.capabilities);
    let contexts = own(&skill.context.context_descriptions);
    let after_name = capability.clone().chain(capabilities).chain(contexts);
    let name = [skill.display_name.to_string()];
    RouteText {
        name: skill.display_name.to_string(),
        short_name: Some(skill.name.to_string()),
        description: sentences(said.clone().into_iter().chain(after_name.clone())),
        parameters: skill.parameters.iter().map(parameter_text).collect(),
        examples: own(&skill.examples)
            .into_iter()
            .chain(trigger_phrases(skill.description.as_str()))
            .collect(),
        embedded: Some(sentences(said.into_iter().chain(name).chain(after_name))),
        ..RouteText::default()
    }
}

/// Returns a playbook's words, its utterances, and a vector of trigger conditions, name and domain (seed 000 §2.8,
/// ruling 3).
fn playbook_text(playbook: &Playbook) -> RouteText {
    let triggers = playbook.trigger_conditions.iter();
    let triggers: Vec<String> = triggers.map(|t| t.as_str().replace('_', " ")).collect();
    let named = [playbook.name.to_string(), playbook.domain.to_string()];
    let last_part = playbook.playbook_id.as_ref().rsplit('.').next();
    RouteText {
        name: playbook.name.to_string(),
        short_name: last_part.map(str::to_owned),
        group: playbook.domain.to_string(),
        description: sentences(triggers.clone().into_iter()),
        examples: playbook.examples.iter().map(ToString::to_string).collect(),
        embedded: Some(sentences(triggers.into_iter().chain(named))),
        ..RouteText::default()
    }
}

/// Returns an agent's capabilities (seed 000 §2.11).
fn agent_text(agent: &AgentManifest) -> RouteText {
    RouteText {
        name: agent.display_name.to_string(),
        description: sentences(agent.capabilities.iter().map(ToString::to_string)),
        ..RouteText::default()
    }
}

fn parameter_text(parameter: &Parameter) -> String {
    if parameter.description.is_empty() {
        parameter.name.to_string()
    } else {
        format!("{}: {}", parameter.name, parameter.description)
    }
}

fn sentences(parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<String> = parts
        .map(|part| part.trim_end_matches('.').to_owned())
        .collect();
    parts.join(". ")
}

#[cfg(test)]
mod tests {
    use charter_contract::catalogue::Document;
    use charter_contract::ids::PackageName;
    use charter_domain::catalogue::Origin;
    use charter_search::{Layers, Scope};
    use serde_json::json;

    use super::*;

    fn layer(description: &str) -> Layer {
        let origin = Arc::new(Origin {
            scope: charter_contract::scope::Scope::Global,
            package: PackageName::parse("p").unwrap(),
            version: "1".to_owned(),
        });
        let skill = json!({
            "skill_id": "cost.ship", "name": "n", "domain": "cost", "display_name": "N",
            "description": description, "purpose": "p", "output_type": "finding",
            "examples": ["ship the shop"],
            "execution_plan": {"steps": [{"step_id": "a", "type": "readonly", "tool_id": "t"}]},
        });
        let (skill, _) = Document::from_value(DocumentKind::Skill, &skill).unwrap();
        let mut layer = Layer::default();
        layer.insert(skill, origin, String::new());
        layer
    }

    #[test]
    fn phrases_that_a_skill_quotes_are_examples_in_the_index_and_have_vectors() {
        let layer = layer(
            r#"Ships apps. Use it for "push it live" or 'roll it out'. Not for "take it down"."#,
        );
        let texts = texts_of(&layer);
        let indexes = IndexSet::build(&layer, None, &VectorsByText::new()).unwrap();
        let actions = Layers::new(vec![charter_search::Layer {
            scope: Scope::Global,
            index: Arc::clone(&indexes.actions),
        }]);
        for phrase in ["ship the shop", "push it live", "roll it out"] {
            assert!(texts.iter().any(|text| text == phrase), "{phrase}");
            let found: Vec<&str> = actions.exemplified_by(phrase).collect();
            assert_eq!(found, ["skill cost.ship"], "{phrase}");
        }
        assert!(!texts.iter().any(|text| text == "take it down"));
        assert_eq!(actions.exemplified_by("take it down").count(), 0);
    }
}
