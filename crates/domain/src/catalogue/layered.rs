//! One document in both layers, and which of them counts.

use std::sync::Arc;

use charter_contract::catalogue::{Document, DocumentKind};

use super::{Layer, Origin, View};

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
    /// The documents of this kind and id, the tenant's own first.
    #[must_use]
    pub fn layered(&self, kind: DocumentKind, id: &str) -> Vec<Layered> {
        let in_layer = |layer: &Arc<Layer>| {
            let document = layer.document(kind, id)?;
            Some((document, Arc::clone(layer.origin(kind, id)?)))
        };
        let found = [&self.tenant, &self.global]
            .into_iter()
            .filter_map(in_layer);
        let layered = found.enumerate().map(|(at, (document, origin))| Layered {
            document,
            origin,
            in_force: at == 0 || stands_beside(kind),
        });
        layered.collect()
    }
}
