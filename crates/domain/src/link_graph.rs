//! The skill link graph (seed 001): links between skills, reachability under grants, and problems.
//!
//! One [`LinkGraph`] holds the skills of one scope; a [`SkillsView`] layers a tenant's graph over the global one.
//! Algorithms are iterative, so that depth needs no stack. Every walk visits a skill once, so that a cycle across two
//! scopes (each alone is acyclic) cannot trap it. Must not know instructions, vectors or callers.

mod lint;
mod view;

use std::collections::{BTreeSet, HashMap};

use charter_contract::ids::SkillId;
use charter_contract::text::Text;
use fixedbitset::FixedBitSet;

pub use lint::{LinkFinding, MAX_FINDINGS};
pub use view::{CyclePath, LayerOf, LinkSteps, Reach, SkillPosition, SkillsView, TooManyLinks};

/// The index of a skill in its scope's graph; reused once the skill is removed.
pub type Slot = usize;

/// A skill without its instruction and vector, for discovery and navigation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillNode {
    /// Its id.
    pub id: SkillId,
    /// A short description of its purpose.
    pub summary: Text,
    /// Whether it has links to other skills.
    pub is_folder: bool,
    /// The skills that it links to; some may not exist.
    pub children: Box<[SkillId]>,
}

/// The skills of one scope.
#[derive(Debug, Default, Clone)]
pub struct LinkGraph {
    nodes: Vec<Option<SkillNode>>,
    slots: HashMap<SkillId, Slot>,
    free: Vec<Slot>,
    /// The skills that link to an id, whether the id exists or not.
    parents: HashMap<SkillId, BTreeSet<Slot>>,
    folders: FixedBitSet,
    present: FixedBitSet,
}

impl LinkGraph {
    /// Returns the number of skills.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns whether there are no skills.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Returns one more than the highest slot in use.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the slot of a skill.
    #[must_use]
    pub fn slot(&self, id: &SkillId) -> Option<Slot> {
        self.slots.get(id).copied()
    }

    /// Returns the skill at a slot.
    #[must_use]
    pub fn node(&self, slot: Slot) -> Option<&SkillNode> {
        self.nodes.get(slot)?.as_ref()
    }

    /// Returns the skill with this id.
    #[must_use]
    pub fn get(&self, id: &SkillId) -> Option<&SkillNode> {
        self.node(self.slot(id)?)
    }

    /// Returns the skills with their slots, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, &SkillNode)> {
        let nodes = self.nodes.iter().enumerate();
        nodes.filter_map(|(slot, node)| Some((slot, node.as_ref()?)))
    }

    /// Returns the slots of folders.
    #[must_use]
    pub fn folders(&self) -> &FixedBitSet {
        &self.folders
    }

    /// Returns the slots of skills.
    #[must_use]
    pub fn present(&self) -> &FixedBitSet {
        &self.present
    }

    /// Adds a skill or replaces the one with the same id, and returns its slot.
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

    /// Removes a skill and frees its slot. Links to it become dangling.
    pub fn remove(&mut self, id: &SkillId) -> Option<Slot> {
        let slot = self.slots.remove(id)?;
        self.unlink(slot);
        self.nodes[slot] = None;
        self.folders.set(slot, false);
        self.present.set(slot, false);
        self.free.push(slot);
        Some(slot)
    }

    /// Returns the skills that link to an id.
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

    /// Removes the links of the skill at a slot.
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
