//! The contract suite of skill search, on the index of a process without a search node: exact, in memory.

#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::collections::BTreeMap;
use std::sync::RwLock;

use charter_contract::scope::Scope;
use charter_search::embed::{EmbeddingModel, Quantisation, Vector};
use charter_search::{EmbeddedQuery, RouteSettings, SlotIndex, SlotLayer, discover};
use charter_store::skill_index::{
    IndexChange, IndexedSkill, NearSkill, NearestSkills, SkillVisibility,
};
use charter_testkit::search_suite::{DIMS, Failed, Searched};
use fixedbitset::FixedBitSet;

/// One scope's entries, each in a slot of its own.
struct Layer {
    slots: SlotIndex,
    entries: Vec<Option<IndexedSkill>>,
}

/// Scopes in memory.
struct InMemory {
    model: EmbeddingModel,
    layers: RwLock<BTreeMap<Scope, Layer>>,
}

impl InMemory {
    fn layer(&self) -> Layer {
        Layer {
            slots: SlotIndex::new(Some(self.model.clone())),
            entries: Vec::new(),
        }
    }
}

impl Layer {
    fn remove(&mut self, id: &str) {
        let known = |entry: &Option<IndexedSkill>| {
            entry.as_ref().is_some_and(|entry| entry.id.as_str() == id)
        };
        if let Some(slot) = self.entries.iter().position(known) {
            self.entries[slot] = None;
            self.slots.clear(slot);
        }
    }

    fn visible(&self, sight: &SkillVisibility, is_folder: Option<bool>) -> FixedBitSet {
        let slots = self.entries.iter().enumerate();
        let visible = slots.filter(|(_, entry)| {
            let Some(entry) = entry else { return false };
            let seen = match sight {
                SkillVisibility::Nothing => false,
                SkillVisibility::All => true,
                SkillVisibility::Only(ids) => ids.contains(&entry.id),
                SkillVisibility::AllBut(ids) => !ids.contains(&entry.id),
            };
            // An entry without a vector is found by words, of which the suite has none.
            seen && entry.vector.is_some() && is_folder.is_none_or(|is| is == entry.is_folder)
        });
        visible.map(|(slot, _)| slot).collect()
    }
}

#[async_trait::async_trait]
impl Searched for InMemory {
    async fn change(&self, changes: Vec<IndexChange>) -> Result<(), Failed> {
        let mut layers = self.layers.write().unwrap();
        for change in changes {
            let (scope, id) = change.key();
            let layer = layers.entry(scope.clone()).or_insert_with(|| self.layer());
            layer.remove(id.as_str());
            if let IndexChange::Put(skill) = change {
                let vector = skill.vector.clone().map(Vector::new).transpose()?;
                let slot = layer.entries.len();
                layer.slots.upsert(slot, &skill.summary, vector.as_ref())?;
                layer.entries.push(Some(*skill));
            }
        }
        Ok(())
    }

    async fn nearest(&self, question: &NearestSkills) -> Result<Vec<NearSkill>, Failed> {
        let layers = self.layers.read().unwrap();
        let own = Scope::Tenant(question.tenant.clone());
        let of = [(own, &question.own), (Scope::Global, &question.global)];
        let found = of.into_iter().filter_map(|(scope, sight)| {
            let layer = layers.get(&scope)?;
            Some((scope, layer, layer.visible(sight, question.is_folder)))
        });
        let found: Vec<(Scope, &Layer, FixedBitSet)> = found.collect();
        let searched: Vec<SlotLayer<'_>> = found
            .iter()
            .map(|(_, layer, visible)| SlotLayer {
                index: &layer.slots,
                visible,
            })
            .collect();
        let vector = Vector::new(question.vector.clone())?;
        let query = EmbeddedQuery::of_vector(&self.model, &vector)?;
        let hits = discover(&searched, &query, &RouteSettings::default(), question.most)?;
        let mut near: Vec<NearSkill> = hits
            .into_iter()
            .map(|hit| {
                let (scope, layer, _) = &found[hit.layer];
                NearSkill {
                    scope: scope.clone(),
                    id: layer.entries[hit.slot].as_ref().unwrap().id.clone(),
                    cosine: hit.cosine.unwrap(),
                }
            })
            .collect();
        near.sort_by(|a, b| {
            let nearer = b.cosine.total_cmp(&a.cosine);
            nearer.then_with(|| (&a.scope, &a.id).cmp(&(&b.scope, &b.id)))
        });
        Ok(near)
    }
}

mod in_process {
    use super::*;

    async fn fresh() -> Box<dyn Searched> {
        Box::new(InMemory {
            model: EmbeddingModel {
                name: "test".to_owned(),
                dims: DIMS,
                quantisation: Quantisation::F32,
            },
            layers: RwLock::default(),
        })
    }

    charter_testkit::search_suite!(fresh);
}
