//! The service of answers that quote: its methods are in the files of explanations and of the reference library.

use std::sync::Arc;

use super::offer::OfferService;
use crate::catalogue::live::CatalogueService;
use crate::knowledge::lenses::LensService;
use crate::registry::routing::RoutingService;

/// Explains rules, and quotes the reference library.
pub(crate) struct ExplanationService {
    pub(super) catalogue: Arc<CatalogueService>,
    pub(super) routing: Arc<RoutingService>,
    pub(super) lenses: Arc<LensService>,
    pub(super) offers: Arc<OfferService>,
}

impl ExplanationService {
    pub(crate) fn new(
        catalogue: Arc<CatalogueService>,
        routing: Arc<RoutingService>,
        lenses: Arc<LensService>,
        offers: Arc<OfferService>,
    ) -> Self {
        Self {
            catalogue,
            routing,
            lenses,
            offers,
        }
    }
}
