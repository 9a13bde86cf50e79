//! The overlay of accepted route examples: for each tenant, copies of the routing entries that its examples extend.
//!
//! Examples of missing or inactive documents are ignored.

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::ids::{DocumentId, TenantId};
use charter_contract::route_example::RoutedKind;
use charter_domain::catalogue::Layer;
use charter_search::embed::EmbeddingModel;
use charter_search::{BuildError, RouteIndex, RouteText, embedding_texts};
use charter_store::route_example::RouteExampleRecord;

use super::index::{VectorsByText, action, route_index};
use super::scope_state::ScopeState;
use super::vectors::TextVectors;
use crate::EngineError;

/// Routing entries extended by a tenant's accepted examples, by the scope of their documents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Exemplified {
    /// Entries of the tenant's own documents.
    pub(crate) tenant: Vec<(String, RouteText)>,
    /// Entries of global documents.
    pub(crate) global: Vec<(String, RouteText)>,
}

impl Exemplified {
    fn of(examples: &[&RouteExampleRecord], own: Option<&Layer>, global: Option<&Layer>) -> Self {
        let mut texts: BTreeMap<(RoutedKind, &DocumentId), Vec<String>> = BTreeMap::new();
        for example in examples {
            let of = texts.entry((example.kind, &example.document)).or_default();
            of.push(example.text.clone());
        }
        let extended = |layer: Option<&Layer>| -> Vec<(String, RouteText)> {
            let entries = texts.iter().filter_map(|((kind, document), examples)| {
                let (id, mut text) = action(layer?, *kind, document.as_str())?;
                text.examples.extend(examples.iter().cloned());
                Some((id, text))
            });
            entries.collect()
        };
        Self {
            tenant: extended(own),
            global: extended(global),
        }
    }

    /// Returns all texts that are embedded.
    fn texts(&self) -> Vec<String> {
        let entries = self.tenant.iter().chain(&self.global);
        let texts = entries.flat_map(|(_, text)| embedding_texts(text));
        texts.map(|(_, text)| text).collect()
    }
}

/// The extended entries with their indexes.
#[derive(Debug, Clone)]
pub(crate) struct Overlay {
    /// The source of the indexes, compared to detect changes.
    pub(super) entries: Exemplified,
    pub(super) tenant: Arc<RouteIndex>,
    pub(super) global: Arc<RouteIndex>,
}

impl Overlay {
    fn build(
        entries: Exemplified,
        model: Option<&EmbeddingModel>,
        vectors: &VectorsByText,
    ) -> Result<Self, BuildError> {
        Ok(Self {
            tenant: route_index(entries.tenant.clone(), model, vectors)?,
            global: route_index(entries.global.clone(), model, vectors)?,
            entries,
        })
    }
}

impl TextVectors {
    /// Builds the overlays of all tenants with accepted examples. Unchanged overlays are reused.
    pub(super) async fn overlays(
        &self,
        accepted: &[RouteExampleRecord],
        scopes: &BTreeMap<Option<TenantId>, ScopeState>,
        before: &BTreeMap<TenantId, Overlay>,
    ) -> Result<BTreeMap<TenantId, Overlay>, EngineError> {
        let mut by_tenant: BTreeMap<&TenantId, Vec<&RouteExampleRecord>> = BTreeMap::new();
        for example in accepted {
            let of = by_tenant.entry(&example.tenant_id).or_default();
            of.push(example);
        }
        let layer = |scope: Option<TenantId>| scopes.get(&scope).map(|state| &*state.layer);
        let mut overlays = BTreeMap::new();
        for (tenant, examples) in by_tenant {
            let entries = Exemplified::of(&examples, layer(Some(tenant.clone())), layer(None));
            let overlay = match before.get(tenant).filter(|known| known.entries == entries) {
                Some(known) => known.clone(),
                None => self.overlay(entries).await?,
            };
            overlays.insert(tenant.clone(), overlay);
        }
        Ok(overlays)
    }

    async fn overlay(&self, entries: Exemplified) -> Result<Overlay, EngineError> {
        let vectors = self.vectors_of(entries.texts()).await?;
        let model = self
            .embedder
            .as_ref()
            .map(|embedder| embedder.model().clone());
        let building =
            tokio::task::spawn_blocking(move || Overlay::build(entries, model.as_ref(), &vectors));
        building
            .await
            .map_err(|error| EngineError::internal("indexing route examples", error))?
            .map_err(|error| EngineError::internal("indexing route examples", error))
    }
}
