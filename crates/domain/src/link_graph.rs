//! The skill link graph (seed 001): which skill points at which, who may reach what, what is wrong.
//!
//! One [`LinkGraph`] holds the skills of one scope; a [`SkillsView`] is a tenant's over the global
//! one. Everything is iterative, so depth costs no stack, and every walk visits a skill once, so a
//! cycle that two scopes make together (each alone is free of them) ends it nowhere. Must not know
//! instructions, vectors or callers.

mod lint;
mod view;

use std::collections::{BTreeSet, HashMap};

use charter_contract::ids::SkillId;
use charter_contract::text::Text;
use fixedbitset::FixedBitSet;

pub use lint::{LinkFinding, MAX_FINDINGS};
pub use view::{CyclePath, LayerOf, LinkSteps, Reach, SkillPosition, SkillsView, TooManyLinks};

/// Where a skill stands within its scope's graph; free again once the skill is gone.
pub type Slot = usize;

/// A skill without its instruction and vector: what discovery and navigation show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillNode {
    /// Its id.
    pub id: SkillId,
    /// What it is for, in short.
    pub summary: Text,
    /// Whether it points at other skills.
    pub is_folder: bool,
    /// The skills it points at; some may not exist.
    pub children: Box<[SkillId]>,
}

/// The skills of one scope.
#[derive(Debug, Default, Clone)]
pub struct LinkGraph {
    nodes: Vec<Option<SkillNode>>,
    slots: HashMap<SkillId, Slot>,
    free: Vec<Slot>,
    /// Who points at an id, whether it exists or not.
    parents: HashMap<SkillId, BTreeSet<Slot>>,
    folders: FixedBitSet,
    present: FixedBitSet,
}

impl LinkGraph {
    /// How many skills it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// One more than the highest slot in use.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.nodes.len()
    }

    /// Where a skill stands.
    #[must_use]
    pub fn slot(&self, id: &SkillId) -> Option<Slot> {
        self.slots.get(id).copied()
    }

    /// The skill at a slot.
    #[must_use]
    pub fn node(&self, slot: Slot) -> Option<&SkillNode> {
        self.nodes.get(slot)?.as_ref()
    }

    /// A skill by its id.
    #[must_use]
    pub fn get(&self, id: &SkillId) -> Option<&SkillNode> {
        self.node(self.slot(id)?)
    }

    /// The skills, in no particular order, with their slots.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, &SkillNode)> {
        let nodes = self.nodes.iter().enumerate();
        nodes.filter_map(|(slot, node)| Some((slot, node.as_ref()?)))
    }

    /// Which slots hold folders.
    #[must_use]
    pub fn folders(&self) -> &FixedBitSet {
        &self.folders
    }

    /// Which slots hold skills.
    #[must_use]
    pub fn present(&self) -> &FixedBitSet {
        &self.present
    }

    /// Adds a skill or replaces the one of the same id, and says where it stands.
    pub fn insert_or_replace(&mut self, node: SkillNode) -> Slot {
        let slot = match self.slot(&node.id) {
            Some(slot) => {
                self.unlink(slot);
                slot
            }
            None => self.free_slot(&node.id),
        };
        for child in &node.children {
            self.parents.entry(child.clone()).or_default().insert(slot);
        }
        self.folders.set(slot, node.is_folder);
        self.present.insert(slot);
        self.nodes[slot] = Some(node);
        slot
    }

    /// Takes a skill out; its slot is free from then on. What points at it dangles.
    pub fn remove(&mut self, id: &SkillId) -> Option<Slot> {
        let slot = self.slots.remove(id)?;
        self.unlink(slot);
        self.nodes[slot] = None;
        self.folders.set(slot, false);
        self.present.set(slot, false);
        self.free.push(slot);
        Some(slot)
    }

    /// The skills that point at an id.
    pub fn parents(&self, id: &SkillId) -> impl Iterator<Item = (Slot, &SkillNode)> {
        let slots = self.parents.get(id).into_iter().flatten();
        slots.filter_map(|slot| Some((*slot, self.node(*slot)?)))
    }

    fn free_slot(&mut self, id: &SkillId) -> Slot {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.nodes.push(None);
            self.folders.grow(self.nodes.len());
            self.present.grow(self.nodes.len());
            self.nodes.len() - 1
        });
        self.slots.insert(id.clone(), slot);
        slot
    }

    /// Forgets that the skill at a slot points at anything.
    fn unlink(&mut self, slot: Slot) {
        let Some(node) = self.nodes[slot].as_ref() else {
            return;
        };
        for child in &node.children {
            if let Some(parents) = self.parents.get_mut(child) {
                parents.remove(&slot);
                if parents.is_empty() {
                    self.parents.remove(child);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
