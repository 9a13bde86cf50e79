//! Compares two stored versions of a package, document by document.

use std::sync::Arc;

use charter_contract::catalogue::{Document, DocumentKind};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::PackageName;
use charter_contract::package::{PackageBundle, PackageScope};
use charter_domain::cancellation::Cancellation;
use charter_domain::catalogue::{Layer, Origin};
use charter_domain::package::read;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::PackageService;
use super::admit::stored_form;
use super::{DocumentChange, compare};
use crate::ground::checks::WaitingCaller;
use crate::{Caller, EngineError};

/// The versions to compare.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VersionRange {
    /// The earlier one; when absent, the last one before `to` with another number.
    pub from: Option<String>,
    /// The later one; when absent, the last one.
    pub to: Option<String>,
    /// Cursor: start after this change; `next` of the previous page.
    pub after: Option<String>,
    /// Maximum changes.
    pub limit: usize,
}

/// A page of the changes between two versions.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PackageVersionDiff {
    /// The package.
    pub package: PackageName,
    /// The earlier version; null if there is none, so that everything is new.
    pub from: Option<String>,
    /// The later version.
    pub to: String,
    /// The changed documents, by kind and id.
    pub changes: Vec<DocumentVersionChange>,
    /// Cursor to the next page.
    pub next: Option<String>,
}

/// One changed document, before and after.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DocumentVersionChange {
    /// The change.
    #[serde(flatten)]
    pub change: DocumentChange,
    /// The document in the earlier version; null if absent there.
    #[schemars(with = "Option<Map<String, Value>>")]
    pub before: Option<Document>,
    /// The document in the later version; null if absent there.
    #[schemars(with = "Option<Map<String, Value>>")]
    pub after: Option<Document>,
}

impl PackageService {
    /// Compares two versions of a package as registered, whether they are in force or not.
    ///
    /// # Errors
    /// `not_found` for a package or version that never existed in that scope; `invalid_request` for an invalid cursor;
    /// `invalid_document` for a version that is too old to read.
    pub async fn diff_versions(
        &self,
        caller: &Caller,
        scope: PackageScope,
        package: &PackageName,
        wanted: VersionRange,
    ) -> Result<PackageVersionDiff, EngineError> {
        let history = self.history(caller, scope, package).await?;
        let versions: Vec<&str> = history.iter().map(|entry| entry.version.as_str()).collect();
        let last = versions.last().copied().unwrap_or_default();
        let to = wanted.to.unwrap_or_else(|| last.to_owned());
        let from = wanted.from.or_else(|| before(&versions, &to));
        let origin = |version: &str| {
            Arc::new(Origin {
                scope: caller.scope_of(scope),
                package: package.clone(),
                version: version.to_owned(),
            })
        };
        let waiting = WaitingCaller::default();
        let cancel = waiting.cancellation();
        let new = self.stored_layer(caller, origin(&to), cancel).await?;
        let old = match &from {
            Some(from) => self.stored_layer(caller, origin(from), cancel).await?,
            None => Layer::default(),
        };
        let mut changes = compare::changes(&old, &new, package);
        if let Some(after) = wanted.after {
            let after = place(&after)?;
            changes.retain(|change| (change.kind, &change.id) > (after.0, &after.1));
        }
        let more = changes.len() > wanted.limit;
        changes.truncate(wanted.limit);
        let next = changes.last().filter(|_| more);
        Ok(PackageVersionDiff {
            package: package.clone(),
            next: next.map(|last| format!("{} {}", last.kind, last.id)),
            from,
            to,
            changes: changes
                .into_iter()
                .map(|change| DocumentVersionChange {
                    before: old.document(change.kind, &change.id),
                    after: new.document(change.kind, &change.id),
                    change,
                })
                .collect(),
        })
    }

    /// Returns the documents of a stored version, from its files.
    async fn stored_layer(
        &self,
        caller: &Caller,
        origin: Arc<Origin>,
        cancel: &Cancellation,
    ) -> Result<Layer, EngineError> {
        let Origin {
            scope,
            package,
            version,
        } = origin.as_ref();
        // First the slot, then the files: waiting callers hold no files in memory.
        let place = self.checks.take(&caller.tenant).await;
        let files = self.store.package_files(scope, package, version).await?;
        let Some(files) = files else {
            return Err(self.no_version(scope, package, version).await?);
        };
        let read = move |cancel: &Cancellation| layer_of(files, &origin, cancel);
        place.run("reading a stored package", cancel, read).await?
    }
}

/// Returns the last version before one that has another number.
fn before(versions: &[&str], to: &str) -> Option<String> {
    let at = versions.iter().rposition(|version| *version == to)?;
    let earlier = versions[..at].iter().rev();
    let earlier = earlier.filter(|version| **version != to);
    earlier.map(ToString::to_string).next()
}

fn layer_of(
    files: std::collections::BTreeMap<String, String>,
    origin: &Arc<Origin>,
    cancel: &Cancellation,
) -> Result<Layer, EngineError> {
    let reading = read(PackageBundle { files }, cancel);
    let Some(mut package) = reading.package else {
        let Origin {
            package, version, ..
        } = origin.as_ref();
        let message =
            format!("version {version} of `{package}` violates rules that are newer than it");
        let details = json!({"problems": reading.problems});
        return Err(EngineError::new(ErrorCode::InvalidDocument, message).with_details(details));
    };
    // The tenant in a document's source makes no difference.
    for document in &mut package.documents {
        document.value.set_tenant_id(None);
    }
    let stored = stored_form(&package)?;
    let mut layer = Layer::default();
    for (document, stored) in package.documents.into_iter().zip(stored) {
        let hash = stored.content_hash.to_string();
        layer.insert(document.value, Arc::clone(origin), hash);
    }
    Ok(layer)
}

/// Parses a cursor: a document by kind and id.
fn place(after: &str) -> Result<(DocumentKind, String), EngineError> {
    let read = || {
        let (kind, id) = after.split_once(' ')?;
        Some((kind.parse().ok()?, id.to_owned()))
    };
    read().ok_or_else(|| {
        let message = format!("invalid cursor `{after}`: pass `next` from the previous page");
        EngineError::new(ErrorCode::InvalidRequest, message)
    })
}
