//! Packages and documents: rows, and checks before writing.

use std::collections::HashSet;
use std::sync::Arc;

use charter_contract::ids::{PackageName, UserId};
use charter_contract::scope::Scope;
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::catalogue::{
    CATALOGUE_CHANGED, CatalogueRevision, Change, ContentHash, DocumentKey, DocumentVersion,
    PackageVersion, Registration, StoredDocument,
};
use charter_store::outbox::NewMessage;
use serde_json::json;

use crate::column;
use crate::row::{Columns, field};

pub(crate) fn hash(row: &dyn Columns, index: usize) -> Result<ContentHash, StoreError> {
    column::parse_hash("content hash", field(row, index)?).map(ContentHash)
}

pub(crate) fn revision(row: &dyn Columns) -> Result<CatalogueRevision, StoreError> {
    column::parse_integer("catalogue revision", field(row, 0)?).map(CatalogueRevision)
}

/// Returns the error for the missing row of the catalogue.
pub(crate) fn without_revision() -> StoreError {
    StoreError::Corrupt {
        what: "catalogue",
        id: "revision".to_owned(),
        detail: "the row is missing".to_owned(),
    }
}

/// Returns the revision after `found`, if the caller expected `found`.
pub(crate) fn next_revision(
    found: CatalogueRevision,
    expected: CatalogueRevision,
) -> Result<CatalogueRevision, StoreError> {
    if found != expected {
        return Err(StoreError::VersionConflict {
            what: "catalogue",
            id: "revision".to_owned(),
            expected: expected.0,
            found: found.0,
        });
    }
    Ok(CatalogueRevision(found.0 + 1))
}

/// The columns of [`document`].
pub(crate) const DOCUMENT: &str =
    "scope, kind, id, package, package_version, content_hash, created_at, updated_at, body";

pub(crate) fn document(row: &dyn Columns) -> Result<StoredDocument, StoreError> {
    Ok(StoredDocument {
        key: DocumentKey {
            scope: column::parse_scope(field(row, 0)?)?,
            kind: column::parse("document kind", field(row, 1)?)?,
            id: field(row, 2)?,
        },
        package: column::parse("package name", field(row, 3)?)?,
        package_version: field(row, 4)?,
        content_hash: hash(row, 5)?,
        created_at: column::parse_micros(field(row, 6)?)?,
        updated_at: column::parse_micros(field(row, 7)?)?,
        body: Arc::from(field::<&str>(row, 8)?),
    })
}

/// The columns of [`package_version`].
pub(crate) const PACKAGE_VERSION: &str =
    "scope, package, version, content_hash, change, revision, documents, actor, at";

pub(crate) fn package_version(row: &dyn Columns) -> Result<PackageVersion, StoreError> {
    let documents = column::parse_integer("number of documents", field(row, 6)?)?;
    Ok(PackageVersion {
        scope: column::parse_scope(field(row, 0)?)?,
        package: column::parse("package name", field(row, 1)?)?,
        version: field(row, 2)?,
        content_hash: hash(row, 3)?,
        change: column::parse_change(field(row, 4)?)?,
        revision: CatalogueRevision(column::parse_integer("catalogue revision", field(row, 5)?)?),
        documents: usize::try_from(documents).unwrap_or(usize::MAX),
        actor: column::parse("user id", field(row, 7)?)?,
        at: column::parse_micros(field(row, 8)?)?,
    })
}

/// The columns of [`document_version`].
pub(crate) const DOCUMENT_VERSION: &str =
    "package_version, change, content_hash, body, revision, at";

pub(crate) fn document_version(row: &dyn Columns) -> Result<DocumentVersion, StoreError> {
    Ok(DocumentVersion {
        package_version: field(row, 0)?,
        change: column::parse_change(field(row, 1)?)?,
        content_hash: hash(row, 2)?,
        body: Arc::from(field::<&str>(row, 3)?),
        revision: CatalogueRevision(column::parse_integer("catalogue revision", field(row, 4)?)?),
        at: column::parse_micros(field(row, 5)?)?,
    })
}

/// A package to unregister.
pub(crate) struct Removal {
    pub(crate) scope: Scope,
    pub(crate) package: PackageName,
    pub(crate) expected: CatalogueRevision,
    pub(crate) actor: UserId,
    pub(crate) at: Timestamp,
}

/// The fields that all rows of one change share.
pub(crate) struct Step<'a> {
    pub(crate) scope: &'a Scope,
    pub(crate) package: &'a PackageName,
    pub(crate) version: &'a str,
    pub(crate) content_hash: ContentHash,
    pub(crate) change: Change,
    pub(crate) documents: usize,
    pub(crate) actor: &'a UserId,
    pub(crate) at: Timestamp,
    /// As a column value.
    pub(crate) revision: i64,
}

impl Step<'_> {
    /// Returns the outbox message of the change.
    pub(crate) fn message(&self) -> NewMessage {
        let payload = json!({
            "revision": self.revision,
            "scope": self.scope.tenant().map_or("global", |_| "tenant"),
            "package": self.package.as_str(),
            "version": self.version,
            "change": column::change(self.change),
        });
        NewMessage {
            topic: CATALOGUE_CHANGED.to_owned(),
            tenant: self.scope.tenant().map(ToString::to_string),
            user_id: None,
            payload: payload.to_string(),
            at: self.at,
        }
    }
}

/// A document's kind and id within a scope.
pub(crate) type DocumentAddress = (String, String);

/// Reads `kind, id, content_hash`.
pub(crate) fn in_force(row: &dyn Columns) -> Result<(DocumentAddress, ContentHash), StoreError> {
    Ok(((field(row, 0)?, field(row, 1)?), hash(row, 2)?))
}

pub(crate) fn check_registration(registration: &Registration) -> Result<(), StoreError> {
    let refused = |detail: String| StoreError::Refused {
        what: "package",
        id: registration.package.to_string(),
        detail,
    };
    match registration.change {
        Change::Registered | Change::RolledBack => {}
        Change::Unregistered => {
            return Err(refused("a registration cannot remove it from force".into()));
        }
    }
    let mut places = HashSet::with_capacity(registration.documents.len());
    let twice = registration
        .documents
        .iter()
        .find(|document| !places.insert((document.kind, document.id.as_str())));
    twice.map_or(Ok(()), |document| {
        let (kind, id) = (document.kind.as_str(), &document.id);
        Err(refused(format!(
            "it has a duplicate of the document `{kind}/{id}`"
        )))
    })
}
