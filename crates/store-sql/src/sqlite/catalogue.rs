//! Packages and documents in SQLite. Registering is in [`change`]; here is the reading.

mod change;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use charter_contract::ids::{PackageName, UserId};
use charter_contract::scope::Scope;
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::catalogue::{
    Catalogue, CatalogueRevision, ContentHash, DocumentKey, DocumentVersion, PackageVersion,
    Registration, StoredDocument,
};
use rusqlite::{Connection, Row, params};

use super::SqliteStore;
use super::failure::during;
use super::statement::{field, row, rows};
use crate::column;

const READING: &str = "reading the catalogue";

fn revision(connection: &Connection) -> Result<CatalogueRevision, StoreError> {
    row(
        READING,
        connection,
        "SELECT revision FROM catalogue",
        [],
        |row| column::parse_integer("catalogue revision", field(row, 0)?),
    )?
    .map(CatalogueRevision)
    .ok_or_else(|| StoreError::Corrupt {
        what: "catalogue",
        id: "revision".to_owned(),
        detail: "the row is missing".to_owned(),
    })
}

fn text<'r>(row: &'r Row<'_>, index: usize) -> Result<&'r str, StoreError> {
    let value = row.get_ref(index).map_err(during(READING))?;
    value.as_str().map_err(|e| during(READING)(e.into()))
}

fn hash(row: &Row<'_>, index: usize) -> Result<ContentHash, StoreError> {
    let value = row.get_ref(index).map_err(during(READING))?;
    let bytes = value.as_blob().map_err(|e| during(READING)(e.into()))?;
    column::parse_hash("content hash", bytes).map(ContentHash)
}

/// The table in its own order, which is the order of the disk; sorting afterwards is cheaper than
/// reading in order through the index.
fn load(connection: &Connection) -> Result<(CatalogueRevision, Vec<StoredDocument>), StoreError> {
    let revision = revision(connection)?;
    let mut documents = rows(
        "loading the catalogue",
        connection,
        "SELECT scope, kind, id, package, package_version, content_hash, created_at, updated_at,
         body FROM document NOT INDEXED",
        [],
        document,
    )?;
    documents.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    Ok((revision, documents))
}

fn document(row: &Row<'_>) -> Result<StoredDocument, StoreError> {
    Ok(StoredDocument {
        key: DocumentKey {
            scope: column::parse_scope(text(row, 0)?)?,
            kind: column::parse("document kind", text(row, 1)?)?,
            id: field(row, 2)?,
        },
        package: column::parse("package name", text(row, 3)?)?,
        package_version: field(row, 4)?,
        content_hash: hash(row, 5)?,
        created_at: column::parse_micros(field(row, 6)?)?,
        updated_at: column::parse_micros(field(row, 7)?)?,
        body: Arc::from(text(row, 8)?),
    })
}

/// Reads `scope, package, version, content_hash, change, revision, documents, actor, at`.
fn package_version(row: &Row<'_>) -> Result<PackageVersion, StoreError> {
    let documents = column::parse_integer("number of documents", field(row, 6)?)?;
    Ok(PackageVersion {
        scope: column::parse_scope(text(row, 0)?)?,
        package: column::parse("package name", text(row, 1)?)?,
        version: field(row, 2)?,
        content_hash: hash(row, 3)?,
        change: column::parse_change(text(row, 4)?)?,
        revision: CatalogueRevision(column::parse_integer("catalogue revision", field(row, 5)?)?),
        documents: usize::try_from(documents).unwrap_or(usize::MAX),
        actor: column::parse("user id", text(row, 7)?)?,
        at: column::parse_micros(field(row, 8)?)?,
    })
}

fn files(
    connection: &Connection,
    scope: &Scope,
    package: &PackageName,
    version: &str,
) -> Result<Option<BTreeMap<String, String>>, StoreError> {
    let key: Option<i64> = row(
        READING,
        connection,
        "SELECT version_key FROM package_version
         WHERE scope = ?1 AND package = ?2 AND version = ?3",
        [column::scope(scope), package.as_str(), version],
        |row| field(row, 0),
    )?;
    let Some(key) = key else { return Ok(None) };
    let files = rows(
        "reading the files of a package",
        connection,
        "SELECT path, content FROM package_file WHERE version_key = ?1",
        [key],
        |row| Ok((field(row, 0)?, field(row, 1)?)),
    )?;
    Ok(Some(files.into_iter().collect()))
}

fn document_version(row: &Row<'_>) -> Result<DocumentVersion, StoreError> {
    Ok(DocumentVersion {
        package_version: field(row, 0)?,
        change: column::parse_change(text(row, 1)?)?,
        content_hash: hash(row, 2)?,
        body: Arc::from(text(row, 3)?),
        revision: CatalogueRevision(column::parse_integer("catalogue revision", field(row, 4)?)?),
        at: column::parse_micros(field(row, 5)?)?,
    })
}

#[async_trait]
impl Catalogue for SqliteStore {
    async fn register(&self, registration: Registration) -> Result<CatalogueRevision, StoreError> {
        self.write(move |connection| change::register(connection, &registration))
            .await
    }

    async fn unregister(
        &self,
        scope: &Scope,
        package: &PackageName,
        expected: CatalogueRevision,
        actor: &UserId,
        at: Timestamp,
    ) -> Result<CatalogueRevision, StoreError> {
        let removal = change::Removal {
            scope: scope.clone(),
            package: package.clone(),
            expected,
            actor: actor.clone(),
            at,
        };
        self.write(move |connection| change::unregister(connection, &removal))
            .await
    }

    async fn revision(&self) -> Result<CatalogueRevision, StoreError> {
        self.read(revision).await
    }

    async fn load(&self) -> Result<(CatalogueRevision, Vec<StoredDocument>), StoreError> {
        self.read(load).await
    }

    async fn packages(&self, scope: &Scope) -> Result<Vec<PackageVersion>, StoreError> {
        let scope = scope.clone();
        self.read(move |connection| {
            rows(
                "listing packages",
                connection,
                "SELECT scope, package, version, content_hash, change, revision, documents, actor,
                 at FROM package JOIN package_change USING (scope, package, revision)
                 WHERE scope = ?1 ORDER BY package",
                [column::scope(&scope)],
                package_version,
            )
        })
        .await
    }

    async fn package_history(
        &self,
        scope: &Scope,
        package: &PackageName,
    ) -> Result<Vec<PackageVersion>, StoreError> {
        let (scope, package) = (scope.clone(), package.clone());
        self.read(move |connection| {
            rows(
                "reading the history of a package",
                connection,
                "SELECT scope, package, version, content_hash, change, revision, documents, actor,
                 at FROM package_change WHERE scope = ?1 AND package = ?2 ORDER BY revision",
                [column::scope(&scope), package.as_str()],
                package_version,
            )
        })
        .await
    }

    async fn package_files(
        &self,
        scope: &Scope,
        package: &PackageName,
        version: &str,
    ) -> Result<Option<BTreeMap<String, String>>, StoreError> {
        let (scope, package) = (scope.clone(), package.clone());
        let version = version.to_owned();
        self.read(move |connection| files(connection, &scope, &package, &version))
            .await
    }

    async fn document_history(
        &self,
        key: &DocumentKey,
    ) -> Result<Vec<DocumentVersion>, StoreError> {
        let key = key.clone();
        self.read(move |connection| {
            rows(
                "reading the history of a document",
                connection,
                "SELECT package_version, change, content_hash, body, revision, at
                 FROM document_change WHERE scope = ?1 AND kind = ?2 AND id = ?3
                 ORDER BY revision",
                params![column::scope(&key.scope), key.kind.as_str(), key.id],
                document_version,
            )
        })
        .await
    }
}
