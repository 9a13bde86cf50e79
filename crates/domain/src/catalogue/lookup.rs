//! What every request asks a layer, answered without reading all of it: which guardrails may bear on
//! an id, and which agents list a skill.

use std::collections::HashMap;
use std::sync::Arc;

use charter_contract::catalogue::guardrail::{Guardrail, GuardrailScope};
use charter_contract::catalogue::vocabulary::Status;

use super::{Entry, Layer};
use crate::glob;

/// Indexes over one layer's documents.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    guardrails: HashMap<GuardrailScope, ByStem>,
    owners: HashMap<String, Vec<String>>,
}

/// Active guardrails by the stems of their globs, in order of their ids.
type ByStem = HashMap<String, Vec<Arc<Entry<Guardrail>>>>;

impl Lookup {
    pub(super) fn of(layer: &Layer) -> Self {
        let mut lookup = Self::default();
        for entry in layer.guardrails.values() {
            let guardrail = &entry.document;
            if guardrail.status != Status::Active {
                continue;
            }
            let by_stem = lookup.guardrails.entry(guardrail.scope).or_default();
            for applies_to in &guardrail.applies_to {
                let stem = glob::stem(applies_to.as_ref()).to_owned();
                let near = by_stem.entry(stem).or_default();
                if near.last().is_none_or(|last| !Arc::ptr_eq(last, entry)) {
                    near.push(Arc::clone(entry));
                }
            }
        }
        for (id, agent) in &layer.agents {
            for skill in &agent.document.skill_refs {
                let owners = lookup.owners.entry(skill.to_string()).or_default();
                if owners.last() != Some(id) {
                    owners.push(id.clone());
                }
            }
        }
        lookup
    }

    /// Every active guardrail on a level of scope with a glob that may cover `target`, each once.
    pub(super) fn guardrails_near(
        &self,
        scope: GuardrailScope,
        target: &str,
    ) -> impl Iterator<Item = &Arc<Entry<Guardrail>>> {
        let by_stem = self.guardrails.get(&scope);
        let mut near: Vec<&Arc<Entry<Guardrail>>> = by_stem
            .into_iter()
            .flat_map(|by_stem| glob::stems_over(target).filter_map(|stem| by_stem.get(stem)))
            .flatten()
            .collect();
        // One with several globs may stand under several stems.
        near.sort_by(|a, b| a.document.guardrail_id.cmp(&b.document.guardrail_id));
        near.dedup_by(|a, b| Arc::ptr_eq(a, b));
        near.into_iter()
    }

    /// The ids of the agents that list a skill.
    pub(super) fn owners_of(&self, skill: &str) -> impl Iterator<Item = &str> {
        let owners = self.owners.get(skill);
        owners.into_iter().flatten().map(String::as_str)
    }
}
