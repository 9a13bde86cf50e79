//! Packages and the documents that they put in force, with their history.
//!
//! A document belongs to one package version in one scope. What is in force is what the newest
//! registration of each package says; everything before it stays readable as history.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use charter_contract::catalogue::DocumentKind;
use charter_contract::ids::{PackageName, UserId};
use charter_contract::scope::Scope;
use charter_contract::time::Timestamp;

use crate::StoreError;
use crate::lens::NewLensIndex;

/// SHA-256 over the canonical JSON of a document, or over the sorted files of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash(pub [u8; 32]);

impl std::fmt::Display for ContentHash {
    /// The form of seed 000: `sha256:` and 64 hexadecimal digits.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Counts the changes of the whole catalogue; every registration, rollback and removal adds one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct CatalogueRevision(pub u64);

/// Where a document stands: scope, kind and id name it uniquely.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocumentKey {
    /// Global, or one tenant.
    pub scope: Scope,
    /// Which collection.
    pub kind: DocumentKind,
    /// The id within the collection.
    pub id: String,
}

/// A document in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDocument {
    /// Where it stands.
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
    /// When its content last changed, or it last came into force.
    pub updated_at: Timestamp,
}

/// A document to be put in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDocument {
    /// Which collection.
    pub kind: DocumentKind,
    /// The id within the collection.
    pub id: String,
    /// Hash of `body`.
    pub content_hash: ContentHash,
    /// Canonical JSON.
    pub body: Arc<str>,
}

/// What happened to a package or a document at one point of its history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Put in force.
    Registered,
    /// An earlier version was put in force again.
    RolledBack,
    /// Taken out of force.
    Unregistered,
}

/// One complete change of one package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// Where the package's documents go.
    pub scope: Scope,
    /// The package.
    pub package: PackageName,
    /// Its version, as its manifest says.
    pub version: String,
    /// Hash over all files.
    pub content_hash: ContentHash,
    /// Why this happens.
    pub change: Change,
    /// Every file of the package by its relative path.
    pub files: BTreeMap<String, String>,
    /// Everything the package puts in force; what it had before and is not here goes out of force.
    pub documents: Vec<NewDocument>,
    /// New indexes of lenses among them; a lens without one here keeps the index it has.
    pub lenses: Vec<NewLensIndex>,
    /// The catalogue that the caller checked against.
    pub expected: CatalogueRevision,
    /// Who does it.
    pub actor: UserId,
    /// When.
    pub at: Timestamp,
}

/// One entry of a package's history, newest last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageVersion {
    /// Where.
    pub scope: Scope,
    /// The package.
    pub package: PackageName,
    /// The version concerned.
    pub version: String,
    /// Hash over all files.
    pub content_hash: ContentHash,
    /// What happened.
    pub change: Change,
    /// The catalogue's revision after it.
    pub revision: CatalogueRevision,
    /// Number of documents in force after it.
    pub documents: usize,
    /// Who did it.
    pub actor: UserId,
    /// When.
    pub at: Timestamp,
}

/// One earlier or present content of a document, newest last. A registration that leaves a document
/// as it was adds none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentVersion {
    /// The package version that said so.
    pub package_version: String,
    /// What happened.
    pub change: Change,
    /// Hash of `body`.
    pub content_hash: ContentHash,
    /// Canonical JSON; the last content when it went out of force.
    pub body: Arc<str>,
    /// The catalogue's revision at which it happened.
    pub revision: CatalogueRevision,
    /// When.
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
    /// transaction together with the history, the files, the new revision and a
    /// `catalogue.changed` outbox message (see [`CATALOGUE_CHANGED`]). A document whose content
    /// stays keeps its times. New indexes of its lenses are stored in the same transaction, and those
    /// of lenses that go out of force are removed. Registering a version again replaces its stored files.
    ///
    /// # Errors
    /// [`StoreError::VersionConflict`] when the catalogue is no longer at `expected`;
    /// [`StoreError::AlreadyExists`] when another package of the same scope owns one of the ids;
    /// [`StoreError::Refused`] when two of its documents have the same kind and id.
    async fn register(&self, registration: Registration) -> Result<CatalogueRevision, StoreError>;

    /// Takes every document of a package out of force, with the indexes of its lenses; the history
    /// and files stay.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the package is not in force in this scope;
    /// [`StoreError::VersionConflict`] as for [`Catalogue::register`].
    async fn unregister(
        &self,
        scope: &Scope,
        package: &PackageName,
        expected: CatalogueRevision,
        actor: &UserId,
        at: Timestamp,
    ) -> Result<CatalogueRevision, StoreError>;

    /// The present revision.
    async fn revision(&self) -> Result<CatalogueRevision, StoreError>;

    /// Every document in force together with the revision at which this was so: one consistent
    /// read, ordered by scope, kind and id.
    async fn load(&self) -> Result<(CatalogueRevision, Vec<StoredDocument>), StoreError>;

    /// The packages in force in a scope, by name.
    async fn packages(&self, scope: &Scope) -> Result<Vec<PackageVersion>, StoreError>;

    /// Everything that happened to a package, oldest first.
    async fn package_history(
        &self,
        scope: &Scope,
        package: &PackageName,
    ) -> Result<Vec<PackageVersion>, StoreError>;

    /// The files of one version of a package, if that version was ever registered in this scope.
    async fn package_files(
        &self,
        scope: &Scope,
        package: &PackageName,
        version: &str,
    ) -> Result<Option<BTreeMap<String, String>>, StoreError>;

    /// Everything that happened to a document, oldest first; empty when it never existed.
    async fn document_history(&self, key: &DocumentKey)
    -> Result<Vec<DocumentVersion>, StoreError>;
}
