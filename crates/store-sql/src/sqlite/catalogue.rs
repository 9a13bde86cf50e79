//! Reads packages and documents in SQLite. [`change`] registers them.

mod change;

use std::collections::BTreeMap;

use async_trait::async_trait;
use charter_contract::ids::{PackageName, UserId};
use charter_contract::scope::Scope;
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::catalogue::{
    Catalogue, CatalogueRevision, DocumentKey, DocumentVersion, PackageVersion, Registration,
    StoredDocument,
};
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::statement::{row, rows};
use crate::column;
use crate::record::catalogue::{
    self as record, DOCUMENT, DOCUMENT_VERSION, PACKAGE_VERSION, Removal, document,
    document_version, package_version,
};
use crate::row::field;

const READING: &str = "reading the catalogue";

fn revision(connection: &Connection) -> Result<CatalogueRevision, StoreError> {
    row(
        READING,
        connection,
        "SELECT revision FROM catalogue",
        [],
        record::revision,
    )?
    .ok_or_else(record::without_revision)
}

/// Reads the table in its own order, which is the order on disk; sorting afterwards is cheaper than reading in order
/// through the index.
fn load(connection: &Connection) -> Result<(CatalogueRevision, Vec<StoredDocument>), StoreError> {
    let revision = revision(connection)?;
    let mut documents = rows(
        "loading the catalogue",
        connection,
        &format!("SELECT {DOCUMENT} FROM document NOT INDEXED"),
        [],
        document,
    )?;
    documents.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    Ok((revision, documents))
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
        let removal = Removal {
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
                &format!("SELECT {PACKAGE_VERSION} FROM package JOIN package_change USING (scope, package, revision)
                 WHERE scope = ?1 ORDER BY package"),
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
                &format!("SELECT {PACKAGE_VERSION} FROM package_change WHERE scope = ?1 AND package = ?2 ORDER BY revision"),
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
                &format!(
                    "SELECT {DOCUMENT_VERSION}
                 FROM document_change WHERE scope = ?1 AND kind = ?2 AND id = ?3
                 ORDER BY revision"
                ),
                params![column::scope(&key.scope), key.kind.as_str(), key.id],
                document_version,
            )
        })
        .await
    }
}
