//! A document's versions in both layers, and which of them apply.

use std::sync::Arc;

use charter_contract::catalogue::{Document, DocumentKind};

use super::{Origin, View};

/// A document in one layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Layered {
    /// The document.
    pub document: Document,
    /// The package version that put the document in force.
    pub origin: Arc<Origin>,
    /// Whether the document applies, or is shadowed.
    pub in_force: bool,
}

/// Returns whether a tenant's documents of a kind apply together with global ones of the same id. A tenant adds to
/// these kinds and replaces none of them (ruling 5).
const fn stands_beside(kind: DocumentKind) -> bool {
    matches!(kind, DocumentKind::Guardrail | DocumentKind::Policy)
}

impl View {
    /// Returns whether the tenant's document of this kind and id replaces a global one.
    #[must_use]
    pub fn shadows(&self, kind: DocumentKind, id: &str) -> bool {
        !stands_beside(kind) && self.tenant.status(kind, id).is_some()
    }

    /// Returns the documents of this kind and id, the tenant's first.
    #[must_use]
    pub fn layered(&self, kind: DocumentKind, id: &str) -> Vec<Layered> {
        let shadowed = self.shadows(kind, id);
        let layers = [(&self.tenant, true), (&self.global, !shadowed)];
        let layered = layers.into_iter().filter_map(|(layer, in_force)| {
            Some(Layered {
                document: layer.document(kind, id)?,
                origin: Arc::clone(layer.origin(kind, id)?),
                in_force,
            })
        });
        layered.collect()
    }
}
