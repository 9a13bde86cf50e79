//! Compares packages: the changes of a registration, and the losses of other packages.

use std::collections::BTreeSet;
use std::sync::Arc;

use charter_contract::catalogue::DocumentKind;
use charter_contract::ids::PackageName;
use charter_contract::scope::Scope;
use charter_domain::catalogue::{Layer, Origin, View};
use charter_domain::package::needs;
use schemars::JsonSchema;
use serde::Serialize;

use super::admit::AdmittedPackage;
use crate::catalogue::documents::differing_fields;
use crate::catalogue::live::LiveCatalogue;

/// The change of one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// It is new.
    Added,
    /// Its content differs.
    Changed,
    /// It is removed.
    Removed,
}

/// One changed document.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DocumentChange {
    /// The document's kind.
    pub kind: DocumentKind,
    /// The document.
    pub id: String,
    /// The kind of change.
    pub difference: Difference,
    /// JSON pointers of the parts that differ, for a changed document.
    pub fields: Vec<String>,
}

/// The changes of a registration.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PackageDiff {
    /// The package.
    pub package: PackageName,
    /// The version in force, if any.
    pub from: Option<String>,
    /// The version compared.
    pub to: String,
    /// The changed documents, by kind and id.
    pub changes: Vec<DocumentChange>,
}

impl PackageDiff {
    /// Returns whether nothing would change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

pub(super) fn diff(admitted: &AdmittedPackage) -> PackageDiff {
    let origin = &admitted.origin;
    let (before, after) = match origin.scope {
        Scope::Global => (&admitted.before.global, &admitted.after.global),
        Scope::Tenant(_) => (&admitted.before.tenant, &admitted.after.tenant),
    };
    PackageDiff {
        package: origin.package.clone(),
        from: version_in_force(before, &origin.package),
        to: origin.version.clone(),
        changes: changes(before, after, &origin.package),
    }
}

/// Returns the changes of a package's documents between two layers, by kind and id.
pub(super) fn changes(before: &Layer, after: &Layer, package: &PackageName) -> Vec<DocumentChange> {
    let mut changes = Vec::new();
    for kind in DocumentKind::ALL {
        let mut ids = owned(before, *kind, package);
        ids.extend(owned(after, *kind, package));
        let ids = ids.into_iter();
        changes.extend(ids.filter_map(|id| change(before, after, *kind, id)));
    }
    changes
}

fn owned<'l>(layer: &'l Layer, kind: DocumentKind, package: &PackageName) -> BTreeSet<&'l str> {
    let belongs = |id: &&str| {
        layer
            .origin(kind, id)
            .is_some_and(|origin| origin.package == *package)
    };
    layer.ids(kind).into_iter().filter(belongs).collect()
}

fn change(before: &Layer, after: &Layer, kind: DocumentKind, id: &str) -> Option<DocumentChange> {
    let (difference, fields) = match (before.content_hash(kind, id), after.content_hash(kind, id)) {
        (Some(old), Some(new)) if old == new => return None,
        (Some(_), Some(_)) => {
            let json = |layer: &Layer| {
                let document = layer.document(kind, id)?;
                serde_json::to_value(document).ok()
            };
            let fields = differing_fields(&json(before)?, &json(after)?);
            (Difference::Changed, fields)
        }
        (None, _) => (Difference::Added, Vec::new()),
        (Some(_), None) => (Difference::Removed, Vec::new()),
    };
    Some(DocumentChange {
        kind,
        id: id.to_owned(),
        difference,
        fields,
    })
}

fn version_in_force(layer: &Layer, package: &PackageName) -> Option<String> {
    let mut origins = layer.documents().map(|(origin, _)| origin);
    let origin = origins.find(|origin| origin.package == *package)?;
    Some(origin.version.clone())
}

/// Describes the references of other packages' documents that would break without this package.
pub(super) fn losses(live: &LiveCatalogue, scope: &Scope, package: &PackageName) -> Vec<String> {
    let views: Vec<View> = match scope {
        Scope::Tenant(tenant) => vec![live.view(tenant)],
        Scope::Global => {
            let tenants = live.snapshot.tenants.keys().map(|tenant| live.view(tenant));
            tenants.chain([live.snapshot.global_view()]).collect()
        }
    };
    let mut losses: Vec<String> = views
        .iter()
        .flat_map(|view| losses_in(view, scope, package))
        .collect();
    losses.sort();
    losses.dedup();
    losses
}

fn losses_in(view: &View, scope: &Scope, package: &PackageName) -> Vec<String> {
    let origin = Arc::new(Origin {
        scope: scope.clone(),
        package: package.clone(),
        version: String::new(),
    });
    let after = view.with_package(&origin, []);
    let mut losses = Vec::new();
    for (owner, document) in after.tenant.documents().chain(after.global.documents()) {
        // An unaccepted candidate does not prevent a removal.
        if document.is_candidate() {
            continue;
        }
        for need in needs(&document) {
            let had = view.status(need.kind, &need.id).is_some();
            if had && after.status(need.kind, &need.id).is_none() {
                losses.push(format!(
                    "the {} `{}` of `{}` needs the {} `{}`",
                    document.kind(),
                    document.id(),
                    owner.package,
                    need.kind,
                    need.id
                ));
            }
        }
    }
    losses
}
