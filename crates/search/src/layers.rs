//! The scopes that one caller searches: its tenant's entries, which shadow the global ones of the same id.
//!
//! Must not know scores. It determines the visible entries: an id in an earlier layer hides the same id in later ones,
//! and entries that the caller may not use are absent.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::index::RouteIndex;

/// The scope of an entry.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[schemars(rename = "LayerScope")]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The caller's own tenant.
    Tenant,
    /// Shared by all tenants.
    Global,
}

/// One scope's index.
#[derive(Debug, Clone)]
pub struct Layer {
    /// The scope of its entries.
    pub scope: Scope,
    /// The entries.
    pub index: Arc<RouteIndex>,
}

/// Which entries a caller may use.
#[derive(Clone, Copy)]
pub enum Allowed<'a> {
    /// All of them.
    Everything,
    /// Those for which the function returns true, given the scope and the id. It is called once for each entry of a
    /// search, so it must be cheap.
    Where(&'a dyn Fn(Scope, &str) -> bool),
}

/// Layers in order of precedence. Creating it costs one look-up for each entry of the smaller of two layers: keep it
/// beside the snapshot rather than creating it for each query.
#[derive(Debug, Clone)]
pub struct Layers {
    layers: Vec<Layer>,
    /// Whether an earlier layer hides an entry, by layer and entry.
    hidden: Vec<Vec<bool>>,
}

impl Layers {
    /// Stacks `layers`, highest precedence first.
    pub fn new(layers: Vec<Layer>) -> Self {
        let hidden = layers
            .iter()
            .enumerate()
            .map(|(at, layer)| hidden_entries(&layer.index, &layers[..at]))
            .collect();
        Layers { layers, hidden }
    }

    /// Returns the ids of the visible entries with this text as an example, ignoring case and marks.
    pub fn exemplified_by<'l>(&'l self, text: &'l str) -> impl Iterator<Item = &'l str> {
        let layers = self.layers.iter().zip(&self.hidden);
        layers.flat_map(move |(layer, hidden)| {
            let entries = layer.index.exemplified_by(text);
            let seen = entries.filter(|entry| !hidden[*entry]);
            seen.filter_map(|entry| layer.index.id(entry))
        })
    }

    /// Returns the ids of the visible entries whose id or name is the whole text, ignoring case and separators.
    pub fn named_by<'l>(&'l self, text: &'l str) -> impl Iterator<Item = &'l str> {
        let layers = self.layers.iter().zip(&self.hidden);
        layers.flat_map(move |(layer, hidden)| {
            let entries = layer.index.named_by_all_of(text);
            let seen = entries.filter(|entry| !hidden[*entry]);
            seen.filter_map(|entry| layer.index.id(entry))
        })
    }

    /// Hides entries in every layer, e.g. those that the first layer has withdrawn. Ids that no layer has are ignored.
    #[must_use]
    pub fn hiding<'i>(mut self, ids: impl IntoIterator<Item = &'i str>) -> Self {
        for id in ids {
            for (layer, hidden) in self.layers.iter().zip(&mut self.hidden) {
                if let Some(entry) = layer.index.position(id) {
                    hidden[entry] = true;
                }
            }
        }
        self
    }

    /// Returns the layers, highest precedence first.
    pub fn as_slice(&self) -> &[Layer] {
        &self.layers
    }

    /// Returns whether an entry may be scored and counted for this caller, by layer and entry.
    pub(crate) fn visible(&self, allowed: Allowed<'_>) -> Vec<Vec<bool>> {
        self.layers
            .iter()
            .zip(&self.hidden)
            .map(|(layer, hidden)| match allowed {
                Allowed::Everything => hidden.iter().map(|hidden| !hidden).collect(),
                Allowed::Where(allows) => {
                    let ids = layer.index.ids().iter().zip(hidden);
                    ids.map(|(id, hidden)| !hidden && allows(layer.scope, id))
                        .collect()
                }
            })
            .collect()
    }
}

fn hidden_entries(index: &RouteIndex, stronger: &[Layer]) -> Vec<bool> {
    let mut hidden = vec![false; index.len()];
    for layer in stronger {
        if layer.index.len() < index.len() {
            for id in layer.index.ids() {
                if let Some(entry) = index.position(id) {
                    hidden[entry] = true;
                }
            }
        } else {
            for (hidden, id) in hidden.iter_mut().zip(index.ids()) {
                *hidden |= layer.index.position(id).is_some();
            }
        }
    }
    hidden
}
