//! A tenant's skills over the global ones: lookup, reachability, cycles.

use std::collections::{HashMap, HashSet};
use std::fmt;

use charter_contract::bounds::LINK_STEPS;
use charter_contract::ids::SkillId;
use charter_contract::link_graph::SkillGrants;
use fixedbitset::FixedBitSet;

use super::{LinkGraph, SkillNode, Slot};

/// The maximum number of ids that are shown of a cycle; the middle of a longer one is left out.
const NAMED_IN_CYCLE: usize = 20;

/// A layer of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LayerOf {
    /// The tenant's own layer.
    Own,
    /// The global layer.
    Global,
}

/// The position of a skill in a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillPosition {
    /// The layer.
    pub layer: LayerOf,
    /// The slot within the layer's graph.
    pub slot: Slot,
}

/// A tenant's skills over the global ones, or the global ones alone.
#[derive(Debug, Clone, Copy)]
pub struct SkillsView<'g> {
    /// The tenant's skills.
    pub own: Option<&'g LinkGraph>,
    /// The global skills.
    pub global: &'g LinkGraph,
}

/// The reachable slots, by layer, without shadowed skills.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    /// Slots of the tenant's own skills.
    pub own: FixedBitSet,
    /// Slots of the global skills.
    pub global: FixedBitSet,
}

impl Reach {
    /// Returns whether a position is reachable.
    #[must_use]
    pub fn contains(&self, place: SkillPosition) -> bool {
        self.layer(place.layer).contains(place.slot)
    }

    /// Adds a position, and returns whether it is new.
    fn insert(&mut self, place: SkillPosition) -> bool {
        let layer = match place.layer {
            LayerOf::Own => &mut self.own,
            LayerOf::Global => &mut self.global,
        };
        !layer.put(place.slot)
    }

    /// Returns the slots of one layer.
    #[must_use]
    pub fn layer(&self, layer: LayerOf) -> &FixedBitSet {
        match layer {
            LayerOf::Own => &self.own,
            LayerOf::Global => &self.global,
        }
    }

    /// Returns every reachable position.
    pub fn places(&self) -> impl Iterator<Item = SkillPosition> + '_ {
        let of = |layer| {
            let slots = self.layer(layer).ones();
            slots.map(move |slot| SkillPosition { layer, slot })
        };
        of(LayerOf::Own).chain(of(LayerOf::Global))
    }
}

/// A path from a skill back to itself; the first id is also the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CyclePath(pub Vec<SkillId>);

impl fmt::Display for CyclePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids = &self.0;
        let shown = |ids: &[SkillId]| {
            let ids: Vec<&str> = ids.iter().map(SkillId::as_str).collect();
            ids.join(" → ")
        };
        if ids.len() <= NAMED_IN_CYCLE {
            return f.write_str(&shown(ids));
        }
        let (first, rest) = ids.split_at(NAMED_IN_CYCLE / 2);
        let (left_out, last) = rest.split_at(rest.len() - NAMED_IN_CYCLE / 2);
        let (first, last) = (shown(first), shown(last));
        write!(f, "{first} → … {} more … → {last}", left_out.len())
    }
}

/// The remaining links that the writes of one request may follow. A write is cheap in a tree, but may visit all skills
/// in an adversarial graph.
#[derive(Debug)]
pub struct LinkSteps(usize);

/// The links of a write exceed [`LINK_STEPS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the search for cycles follows more than {LINK_STEPS} links (LINK_STEPS)")]
pub struct TooManyLinks;

impl Default for LinkSteps {
    fn default() -> Self {
        Self(LINK_STEPS)
    }
}

impl LinkSteps {
    fn take(&mut self, links: usize) -> Result<(), TooManyLinks> {
        // A skill without links costs one step too.
        self.0 = self.0.checked_sub(links + 1).ok_or(TooManyLinks)?;
        Ok(())
    }
}

impl<'g> SkillsView<'g> {
    /// Returns a skill in force and its position: the tenant's own before the global one.
    #[must_use]
    pub fn find(&self, id: &SkillId) -> Option<(SkillPosition, &'g SkillNode)> {
        let of = |layer, graph: &'g LinkGraph| {
            let slot = graph.slot(id)?;
            Some((SkillPosition { layer, slot }, graph.node(slot)?))
        };
        let own = self.own.and_then(|own| of(LayerOf::Own, own));
        own.or_else(|| of(LayerOf::Global, self.global))
    }

    /// Returns the skill at a position.
    #[must_use]
    pub fn node(&self, place: SkillPosition) -> Option<&'g SkillNode> {
        match place.layer {
            LayerOf::Own => self.own?.node(place.slot),
            LayerOf::Global => self.global.node(place.slot),
        }
    }

    /// Returns the skills in force that link to an id.
    pub fn parents(&self, id: &SkillId) -> impl Iterator<Item = (SkillPosition, &'g SkillNode)> {
        let at = |layer| move |(slot, node)| (SkillPosition { layer, slot }, node);
        let own = self.own.into_iter().flat_map(|own| own.parents(id));
        let global = self.global.parents(id);
        let global = global.filter(|(_, node)| !self.is_shadowed(&node.id));
        own.map(at(LayerOf::Own))
            .chain(global.map(at(LayerOf::Global)))
    }

    fn is_shadowed(&self, id: &SkillId) -> bool {
        self.own.is_some_and(|own| own.slot(id).is_some())
    }

    /// Returns the positions that the grants open: each granted skill and all its descendants (B001-6).
    #[must_use]
    pub fn reach(&self, grants: &SkillGrants) -> Reach {
        let mut reach = Reach {
            own: FixedBitSet::with_capacity(self.own.map_or(0, LinkGraph::capacity)),
            global: FixedBitSet::with_capacity(self.global.capacity()),
        };
        match grants {
            SkillGrants::All => {
                if let Some(own) = self.own {
                    reach.own.union_with(own.present());
                }
                reach.global.union_with(self.global.present());
                for (_, node) in self.own.into_iter().flat_map(LinkGraph::iter) {
                    if let Some(slot) = self.global.slot(&node.id) {
                        reach.global.set(slot, false);
                    }
                }
            }
            SkillGrants::Only(granted) => {
                let mut waiting: Vec<&SkillId> = granted.iter().collect();
                while let Some(id) = waiting.pop() {
                    if let Some((place, node)) = self.find(id)
                        && reach.insert(place)
                    {
                        waiting.extend(&node.children);
                    }
                }
            }
        }
        reach
    }

    /// Returns the cycle that would exist if the skill `id` linked to `children` (B001-4).
    ///
    /// Searches from the children downwards and from the skill upwards in turn, and stops when either side is
    /// exhausted. Writing a chain link by link, from either end, therefore costs one step each.
    ///
    /// # Errors
    /// [`TooManyLinks`] when no steps remain.
    pub fn cycle(
        &self,
        id: &SkillId,
        children: &[SkillId],
        steps: &mut LinkSteps,
    ) -> Result<Option<CyclePath>, TooManyLinks> {
        let mut down = Walk::from(children);
        let mut up = Walk::from(std::slice::from_ref(id));
        let is_cycle = loop {
            let Some(below) = down.waiting.pop() else {
                break down.seen.contains(id);
            };
            let links: &[SkillId] = self.find(&below).map_or(&[], |(_, node)| &*node.children);
            steps.take(links.len())?;
            down.extend(links);
            let Some(above) = up.waiting.pop() else {
                break children.iter().any(|child| up.seen.contains(child));
            };
            let parents = self.parents(&above).map(|(_, node)| node.id.clone());
            let parents: Vec<SkillId> = parents.collect();
            steps.take(parents.len())?;
            up.extend(&parents);
        };
        if is_cycle {
            return Ok(Some(self.path(id, children, steps)?));
        }
        Ok(None)
    }

    /// Returns the path from `id` through one of `children` back to `id`, which must exist.
    fn path(
        &self,
        id: &SkillId,
        children: &[SkillId],
        steps: &mut LinkSteps,
    ) -> Result<CyclePath, TooManyLinks> {
        let mut came_from: HashMap<&SkillId, &SkillId> = HashMap::new();
        let mut waiting: Vec<&SkillId> = Vec::new();
        for child in children {
            came_from.insert(child, id);
            waiting.push(child);
        }
        while let Some(at) = waiting.pop() {
            if at == id {
                break;
            }
            let below: &[SkillId] = self.find(at).map_or(&[], |(_, node)| &*node.children);
            steps.take(below.len())?;
            for next in below {
                if !came_from.contains_key(next) {
                    came_from.insert(next, at);
                    waiting.push(next);
                }
            }
        }
        let mut path = vec![id.clone()];
        let mut at = came_from.get(id).copied();
        while let Some(before) = at.filter(|before| *before != id) {
            path.push(before.clone());
            at = came_from.get(before).copied();
        }
        path.push(id.clone());
        path.reverse();
        Ok(CyclePath(path))
    }
}

/// A walk that visits each id once.
struct Walk {
    seen: HashSet<SkillId>,
    waiting: Vec<SkillId>,
}

impl Walk {
    fn from(ids: &[SkillId]) -> Self {
        Self {
            seen: ids.iter().cloned().collect(),
            waiting: ids.to_vec(),
        }
    }

    fn extend(&mut self, ids: &[SkillId]) {
        for id in ids {
            if self.seen.insert(id.clone()) {
                self.waiting.push(id.clone());
            }
        }
    }
}
