//! One document in both layers, and which of them counts.

use std::sync::Arc;

use charter_contract::catalogue::{Document, DocumentKind};

use super::{Origin, View};

/// A document as one layer has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Layered {
    /// The document.
    pub document: Document,
    /// Who put it there.
    pub origin: Arc<Origin>,
    /// Whether it counts, or is shadowed.
    pub in_force: bool,
}

/// Whether a tenant's documents of a kind stand beside the global ones of the same id: it adds to what
/// binds everybody, and replaces none of it (ruling 5).
const fn stands_beside(kind: DocumentKind) -> bool {
    matches!(kind, DocumentKind::Guardrail | DocumentKind::Policy)
}

impl View {
    /// Whether the tenant's document of this kind and id takes the place of a global one.
    #[must_use]
    pub fn shadows(&self, kind: DocumentKind, id: &str) -> bool {
        !stands_beside(kind) && self.tenant.status(kind, id).is_some()
    }

    /// The documents of this kind and id, the tenant's own first.
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
