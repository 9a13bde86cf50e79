//! Listing documents by kind and id, and counting them.

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::heading::Heading;
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::ids::DomainId;
use charter_domain::catalogue::{Layer, Origin, View};
use schemars::JsonSchema;
use serde::Serialize;

use super::DocumentService;
use crate::{Caller, EngineError};

/// Longest summary in a listing, in characters.
const MAX_SUMMARY: usize = 200;

/// A filter for documents. Absent fields do not restrict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentFilter {
    /// Text within the id or the title, ignoring case.
    pub query: Option<String>,
    /// The domain.
    pub domain: Option<String>,
    /// Whether it is offered.
    pub status: Option<Status>,
    /// The package.
    pub package: Option<String>,
}

/// A document in a listing.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "DocumentSummary")]
pub struct DocumentSummary {
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: DocumentKind,
    /// Its readable title, if it has one.
    pub title: Option<String>,
    /// Its purpose, if it has one; at most 200 characters.
    pub summary: Option<String>,
    /// Its domain, if it has one.
    pub domain: Option<DomainId>,
    /// Whether it is offered.
    pub status: Status,
    /// Whether it was generated and is not accepted yet.
    pub is_candidate: bool,
    /// Whether it is the tenant's own.
    pub tenant: bool,
    /// The package that registered it.
    pub package: String,
    /// That package's version.
    pub package_version: String,
}

/// The number of documents of each kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Catalogue")]
pub struct CatalogueView {
    /// Every kind, including those without a document.
    pub kinds: Vec<CatalogueKind>,
}

/// The number of documents of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CatalogueKind")]
pub struct CatalogueKind {
    /// The kind.
    pub kind: DocumentKind,
    /// Number of documents in a listing of it.
    pub documents: usize,
    /// Number of them that are the tenant's own.
    pub tenant_documents: usize,
}

impl DocumentService {
    /// Lists the documents of one kind that are visible to the caller, by id, at most `limit` after `after`.
    #[must_use]
    pub fn list_documents(
        &self,
        caller: &Caller,
        kind: DocumentKind,
        filter: &DocumentFilter,
        after: &str,
        limit: usize,
    ) -> Vec<DocumentSummary> {
        let view = self.catalogue.live().view(&caller.tenant);
        let query = filter.query.as_deref().map(str::to_lowercase);
        let ids = view.ids(kind).into_iter().filter(|id| *id > after);
        let found = ids.filter_map(|id| SummarySource::of(&view, kind, id));
        let found = found.filter(|seen| seen.passes(filter, query.as_deref()));
        let found = found.filter(|seen| self.is_reached(caller, kind, seen.id));
        found.take(limit).map(SummarySource::listed).collect()
    }

    /// Counts the documents of each kind that are visible to the caller.
    #[must_use]
    pub fn show_catalogue(&self, caller: &Caller) -> CatalogueView {
        let view = self.catalogue.live().view(&caller.tenant);
        let kinds = DocumentKind::ALL
            .iter()
            .filter(|kind| kind.is_registrable());
        let count = |kind: &DocumentKind| {
            let ids = view.ids(*kind).into_iter();
            let seen: Vec<SummarySource<'_>> = ids
                .filter_map(|id| SummarySource::of(&view, *kind, id))
                .filter(|seen| self.is_reached(caller, *kind, seen.id))
                .collect();
            CatalogueKind {
                kind: *kind,
                documents: seen.len(),
                tenant_documents: seen.iter().filter(|seen| seen.is_tenants()).count(),
            }
        };
        CatalogueView {
            kinds: kinds.map(count).collect(),
        }
    }
}

impl DocumentSummary {
    /// Returns a document as listed; `None` if it is not visible to the caller.
    pub(super) fn of(view: &View, kind: DocumentKind, id: &str) -> Option<Self> {
        SummarySource::of(view, kind, id).map(SummarySource::listed)
    }
}

/// The error for a document of this kind and id that is not visible, with the nearest visible ones.
pub(crate) fn unseen(view: &View, kind: DocumentKind, id: &str) -> EngineError {
    missing(view, kind, id, "", |_| true)
}

/// The same error for a document that must be active.
pub(crate) fn unseen_active(view: &View, kind: DocumentKind, id: &str) -> EngineError {
    let is_active = |seen: &SummarySource<'_>| seen.heading.status == Status::Active;
    missing(view, kind, id, "active ", is_active)
}

fn missing(
    view: &View,
    kind: DocumentKind,
    id: &str,
    which: &str,
    fits: impl Fn(&SummarySource<'_>) -> bool,
) -> EngineError {
    let what = format!("{which}{}", kind.as_str().replace('_', " "));
    let ids = view.ids(kind).into_iter();
    let seen = ids.filter(|id| SummarySource::of(view, kind, id).is_some_and(|seen| fits(&seen)));
    EngineError::not_found(&what, id).or_nearest(id, seen)
}

/// The parts of a document that are read before anything is copied.
struct SummarySource<'v> {
    kind: DocumentKind,
    id: &'v str,
    heading: Heading<'v>,
    origin: &'v Origin,
}

impl<'v> SummarySource<'v> {
    /// Looks in the tenant's layer before the global one; internal tools are not visible to any caller (B000-10).
    fn of(view: &'v View, kind: DocumentKind, id: &'v str) -> Option<Self> {
        let in_layer = |layer: &'v Layer| Some((layer.heading(kind, id)?, layer.origin(kind, id)?));
        let (heading, origin) = in_layer(&view.tenant).or_else(|| in_layer(&view.global))?;
        (!heading.is_internal).then_some(Self {
            kind,
            id,
            heading,
            origin,
        })
    }

    fn is_tenants(&self) -> bool {
        self.origin.scope.tenant().is_some()
    }

    /// Returns whether the filter matches, with its query in lower case.
    fn passes(&self, filter: &DocumentFilter, query: Option<&str>) -> bool {
        let title = self.heading.title.unwrap_or_default();
        let says = |query: &str| {
            self.id.to_lowercase().contains(query) || title.to_lowercase().contains(query)
        };
        let of_domain = |domain: &String| {
            self.heading
                .domain
                .is_some_and(|own| own.as_ref() == domain)
        };
        query.is_none_or(says)
            && filter.domain.as_ref().is_none_or(of_domain)
            && filter
                .status
                .is_none_or(|status| self.heading.status == status)
            && filter
                .package
                .as_ref()
                .is_none_or(|package| self.origin.package.as_ref() == package)
    }

    fn listed(self) -> DocumentSummary {
        DocumentSummary {
            tenant: self.is_tenants(),
            id: self.id.to_owned(),
            kind: self.kind,
            title: self.heading.title.map(str::to_owned),
            summary: self.heading.summary.map(opening),
            domain: self.heading.domain.cloned(),
            status: self.heading.status,
            is_candidate: self.heading.is_candidate,
            package: self.origin.package.to_string(),
            package_version: self.origin.version.clone(),
        }
    }
}

/// Returns the beginning of a text.
fn opening(text: &str) -> String {
    match text.char_indices().nth(MAX_SUMMARY) {
        None => text.to_owned(),
        Some(_) => text.chars().take(MAX_SUMMARY - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_summary_is_cut_between_characters() {
        let exact = "ä".repeat(MAX_SUMMARY);
        assert_eq!(opening(&exact), exact);
        let cut = opening(&"ä".repeat(MAX_SUMMARY + 1));
        assert_eq!(cut, "ä".repeat(MAX_SUMMARY - 1) + "…");
    }
}
