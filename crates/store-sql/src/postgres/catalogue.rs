//! Reads packages and documents in PostgreSQL. [`change`] registers them.

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
use deadpool_postgres::{GenericClient, Transaction};

use super::PostgresStore;
use super::connection::{RowScope, in_snapshot, in_transaction};
use super::statement::{params, row, rows};
use crate::column;
use crate::record::catalogue::{
    self as record, DOCUMENT, DOCUMENT_VERSION, PACKAGE_VERSION, Removal, document,
    document_version, package_version,
};
use crate::row::field;

const READING: &str = "reading the catalogue";

async fn revision(connection: &impl GenericClient) -> Result<CatalogueRevision, StoreError> {
    let sql = "SELECT revision FROM catalogue";
    let found = row(READING, connection, sql, params![], record::revision).await?;
    found.ok_or_else(record::without_revision)
}

async fn load(
    connection: &Transaction<'_>,
) -> Result<(CatalogueRevision, Vec<StoredDocument>), StoreError> {
    let revision = revision(connection).await?;
    let sql = format!("SELECT {DOCUMENT} FROM document");
    let doing = "loading the catalogue";
    let mut documents = rows(doing, connection, &sql, params![], document).await?;
    documents.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    Ok((revision, documents))
}

async fn files(
    connection: &Transaction<'_>,
    scope: &Scope,
    package: &PackageName,
    version: &str,
) -> Result<Option<BTreeMap<String, String>>, StoreError> {
    let names = params![column::scope(scope), package.as_str(), version];
    let known = row(
        READING,
        connection,
        "SELECT FROM package_version WHERE scope = $1 AND package = $2 AND version = $3",
        names,
        |_| Ok(()),
    )
    .await?;
    if known.is_none() {
        return Ok(None);
    }
    let files = rows(
        "reading the files of a package",
        connection,
        "SELECT path, content FROM package_file
         WHERE scope = $1 AND package = $2 AND version = $3",
        names,
        |row| Ok((field(row, 0)?, field(row, 1)?)),
    )
    .await?;
    Ok(Some(files.into_iter().collect()))
}

#[async_trait]
impl Catalogue for PostgresStore {
    async fn register(&self, registration: Registration) -> Result<CatalogueRevision, StoreError> {
        let revision = in_transaction!(self, RowScope::of(&registration.scope), tx => change::register(&tx, &registration))?;
        self.announce(1);
        Ok(revision)
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
        let revision = in_transaction!(self, RowScope::of(&removal.scope), tx => change::unregister(&tx, &removal))?;
        self.announce(1);
        Ok(revision)
    }

    async fn revision(&self) -> Result<CatalogueRevision, StoreError> {
        let client = self.client(RowScope::Everyone).await?;
        revision(&client).await
    }

    async fn load(&self) -> Result<(CatalogueRevision, Vec<StoredDocument>), StoreError> {
        in_snapshot!(self, RowScope::Everyone, tx => load(&tx))
    }

    async fn packages(&self, scope: &Scope) -> Result<Vec<PackageVersion>, StoreError> {
        let client = self.client(RowScope::of(scope)).await?;
        rows(
            "listing packages",
            &client,
            &format!(
                "SELECT {PACKAGE_VERSION}
                 FROM package JOIN package_change USING (scope, package, revision)
                 WHERE scope = $1 ORDER BY package"
            ),
            params![column::scope(scope)],
            package_version,
        )
        .await
    }

    async fn package_history(
        &self,
        scope: &Scope,
        package: &PackageName,
    ) -> Result<Vec<PackageVersion>, StoreError> {
        let client = self.client(RowScope::of(scope)).await?;
        rows(
            "reading the history of a package",
            &client,
            &format!(
                "SELECT {PACKAGE_VERSION} FROM package_change
                 WHERE scope = $1 AND package = $2 ORDER BY revision"
            ),
            params![column::scope(scope), package.as_str()],
            package_version,
        )
        .await
    }

    async fn package_files(
        &self,
        scope: &Scope,
        package: &PackageName,
        version: &str,
    ) -> Result<Option<BTreeMap<String, String>>, StoreError> {
        in_snapshot!(self, RowScope::of(scope), tx => files(&tx, scope, package, version))
    }

    async fn document_history(
        &self,
        key: &DocumentKey,
    ) -> Result<Vec<DocumentVersion>, StoreError> {
        let client = self.client(RowScope::of(&key.scope)).await?;
        rows(
            "reading the history of a document",
            &client,
            &format!(
                "SELECT {DOCUMENT_VERSION} FROM document_change
                 WHERE scope = $1 AND kind = $2 AND id = $3 ORDER BY revision"
            ),
            params![column::scope(&key.scope), key.kind.as_str(), key.id],
            document_version,
        )
        .await
    }
}
