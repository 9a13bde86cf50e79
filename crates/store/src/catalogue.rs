//! Packages and their active documents, with their history.
//!
//! A document belongs to one package version in one scope. The newest registration of each package determines its
//! active documents; earlier ones stay readable as history.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use charter_contract::catalogue::DocumentKind;
use charter_contract::hex;
use charter_contract::ids::{PackageName, UserId};
use charter_contract::scope::Scope;
use charter_contract::time::Timestamp;

use crate::StoreError;
use crate::lens::NewLensIndex;

/// SHA-256 over the canonical JSON of a document, or over the sorted files of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash(pub [u8; 32]);

impl std::fmt::Display for ContentHash {
    /// Formats it as in seed 000: `sha256:` and 64 hexadecimal digits.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "sha256:{}", hex::encode(&self.0))
    }
}

/// Counts the changes of the whole catalogue; every registration, rollback and removal adds one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct CatalogueRevision(pub u64);

/// Key of a document: scope, kind and id are unique together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocumentKey {
    /// Global, or one tenant.
    pub scope: Scope,
    /// The collection.
    pub kind: DocumentKind,
    /// The id within the collection.
    pub id: String,
}

/// An active document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDocument {
    /// Its key.
    pub key: DocumentKey,
    /// The package that registered it.
    pub package: PackageName,
    /// That package's version.
    pub package_version: String,
    /// Hash of `body`.
    pub content_hash: ContentHash,
    /// Canonical JSON.
    pub body: Arc<str>,
    /// When this id was first registered in this scope.
    pub created_at: Timestamp,
    /// When its content last changed, or it was last activated.
    pub updated_at: Timestamp,
}

/// A document to activate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDocument {
    /// The collection.
    pub kind: DocumentKind,
    /// The id within the collection.
    pub id: String,
    /// Hash of `body`.
    pub content_hash: ContentHash,
    /// Canonical JSON.
    pub body: Arc<str>,
}

/// The kind of a change in the history of a package or a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Activated.
    Registered,
    /// An earlier version was activated again.
    RolledBack,
    /// Deactivated.
    Unregistered,
}

/// One complete change of one package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// The scope of the package's documents.
    pub scope: Scope,
    /// The package.
    pub package: PackageName,
    /// Its version, from its manifest.
    pub version: String,
    /// Hash over all files.
    pub content_hash: ContentHash,
    /// The kind of change.
    pub change: Change,
    /// Every file of the package by its relative path.
    pub files: BTreeMap<String, String>,
    /// All active documents of the package; its earlier documents that are absent here are deactivated.
    pub documents: Vec<NewDocument>,
    /// New indexes of lenses among them; a lens without one here keeps the index it has.
    pub lenses: Vec<NewLensIndex>,
    /// The catalogue's revision that the caller checked against.
    pub expected: CatalogueRevision,
    /// The acting user.
    pub actor: UserId,
    /// Time of the change.
    pub at: Timestamp,
}

/// One entry of a package's history, newest last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageVersion {
    /// The scope.
    pub scope: Scope,
    /// The package.
    pub package: PackageName,
    /// The version.
    pub version: String,
    /// Hash over all files.
    pub content_hash: ContentHash,
    /// The kind of change.
    pub change: Change,
    /// The catalogue's revision after it.
    pub revision: CatalogueRevision,
    /// Number of active documents after it.
    pub documents: usize,
    /// The acting user.
    pub actor: UserId,
    /// Time of the change.
    pub at: Timestamp,
}

/// One earlier or current content of a document, newest last. A registration that does not change a document adds none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentVersion {
    /// The package version that contains it.
    pub package_version: String,
    /// The kind of change.
    pub change: Change,
    /// Hash of `body`.
    pub content_hash: ContentHash,
    /// Canonical JSON; the last content when the document was deactivated.
    pub body: Arc<str>,
    /// The catalogue's revision after the change.
    pub revision: CatalogueRevision,
    /// Time of the change.
    pub at: Timestamp,
}

/// Topic of the outbox message of every catalogue change. Its tenant is the scope's, its payload
/// `{"revision": 7, "scope": "global", "package": "aws-security", "version": "0.1.0", "change":
/// "registered"}` with scope one of `global`, `tenant`, and change one of `registered`, `rolled_back`,
/// `unregistered`.
pub const CATALOGUE_CHANGED: &str = "catalogue.changed";

/// Packages and documents.
#[async_trait]
pub trait Catalogue {
    /// Puts a package's documents in force and takes out those it no longer has, in one
    /// Activates a package's documents and deactivates its earlier ones, in one transaction with the history, the
    /// files, the new revision and a `catalogue.changed` outbox message (see [`CATALOGUE_CHANGED`]). A document with
    /// unchanged content keeps its times. The transaction also stores new indexes of its lenses, and deletes those of
    /// deactivated lenses. Registering a version again replaces its stored files.
    /// # Errors
    /// [`StoreError::VersionConflict`] when the catalogue is no longer at `expected`;
    /// [`StoreError::AlreadyExists`] when another package of the same scope owns one of the ids;
    /// [`StoreError::Refused`] when two of its documents have the same kind and id.
    async fn register(&self, registration: Registration) -> Result<CatalogueRevision, StoreError>;

    /// Deactivates every document of a package, and deletes the indexes of its lenses; the history and files stay.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the package is not active in this scope; [`StoreError::VersionConflict`] as for
    /// [`Catalogue::register`].
    async fn unregister(
        &self,
        scope: &Scope,
        package: &PackageName,
        expected: CatalogueRevision,
        actor: &UserId,
        at: Timestamp,
    ) -> Result<CatalogueRevision, StoreError>;

    /// Returns the current revision.
    async fn revision(&self) -> Result<CatalogueRevision, StoreError>;

    /// Returns every active document, with the revision of that state: one consistent read, ordered by scope, kind and
    /// id.
    async fn load(&self) -> Result<(CatalogueRevision, Vec<StoredDocument>), StoreError>;

    /// Returns the active packages of a scope, by name.
    async fn packages(&self, scope: &Scope) -> Result<Vec<PackageVersion>, StoreError>;

    /// Returns all changes of a package, oldest first.
    async fn package_history(
        &self,
        scope: &Scope,
        package: &PackageName,
    ) -> Result<Vec<PackageVersion>, StoreError>;

    /// Returns the files of one version of a package, if that version was ever registered in this scope.
    async fn package_files(
        &self,
        scope: &Scope,
        package: &PackageName,
        version: &str,
    ) -> Result<Option<BTreeMap<String, String>>, StoreError>;

    /// Returns all changes of a document, oldest first; empty when it never existed.
    async fn document_history(&self, key: &DocumentKey)
    -> Result<Vec<DocumentVersion>, StoreError>;
}
