//! Packages and documents. [`change`] registers them.

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

use crate::column;
use crate::row::{Columns, field};
use crate::store::{Access, RowScope, SqlEngine, SqlStore};
use crate::tx::{Tx, params, row, rows};

const READING: &str = "reading the catalogue";

fn hash(row: &dyn Columns, index: usize) -> Result<ContentHash, StoreError> {
    column::parse_hash("content hash", field(row, index)?).map(ContentHash)
}

fn revision(row: &dyn Columns, index: usize) -> Result<CatalogueRevision, StoreError> {
    column::parse_integer("catalogue revision", field(row, index)?).map(CatalogueRevision)
}

/// Reads `scope, kind, id, package, package_version, content_hash, created_at, updated_at, body`.
fn document(row: &dyn Columns) -> Result<StoredDocument, StoreError> {
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
const PACKAGE_VERSION: &str =
    "scope, package, version, content_hash, change, revision, documents, actor, at";

fn package_version(row: &dyn Columns) -> Result<PackageVersion, StoreError> {
    let documents = column::parse_integer("number of documents", field(row, 6)?)?;
    Ok(PackageVersion {
        scope: column::parse_scope(field(row, 0)?)?,
        package: column::parse("package name", field(row, 1)?)?,
        version: field(row, 2)?,
        content_hash: hash(row, 3)?,
        change: column::parse_change(field(row, 4)?)?,
        revision: revision(row, 5)?,
        documents: usize::try_from(documents).unwrap_or(usize::MAX),
        actor: column::parse("user id", field(row, 7)?)?,
        at: column::parse_micros(field(row, 8)?)?,
    })
}

/// Reads `package_version, change, content_hash, body, revision, at`.
fn document_version(row: &dyn Columns) -> Result<DocumentVersion, StoreError> {
    Ok(DocumentVersion {
        package_version: field(row, 0)?,
        change: column::parse_change(field(row, 1)?)?,
        content_hash: hash(row, 2)?,
        body: Arc::from(field::<&str>(row, 3)?),
        revision: revision(row, 4)?,
        at: column::parse_micros(field(row, 5)?)?,
    })
}

/// Returns the current revision; `lock` is the end of the statement.
async fn current_revision(tx: &mut Tx<'_>, lock: &str) -> Result<CatalogueRevision, StoreError> {
    let sql = format!("SELECT revision FROM catalogue{lock}");
    let found = row(READING, tx, &sql, params![], |row| revision(row, 0)).await?;
    found.ok_or_else(|| StoreError::Corrupt {
        what: "catalogue",
        id: "revision".to_owned(),
        detail: "the row is missing".to_owned(),
    })
}

async fn load(tx: &mut Tx<'_>) -> Result<(CatalogueRevision, Vec<StoredDocument>), StoreError> {
    let revision = current_revision(tx, "").await?;
    // Without ORDER BY, SQLite reads the table as it is on the disk. Sorting afterwards is cheaper than the index.
    let mut documents = rows(
        "loading the catalogue",
        tx,
        "SELECT scope, kind, id, package, package_version, content_hash, created_at, updated_at, body
         FROM document",
        params![],
        document,
    )
    .await?;
    documents.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    Ok((revision, documents))
}

async fn files(
    tx: &mut Tx<'_>,
    scope: &Scope,
    package: &PackageName,
    version: &str,
) -> Result<Option<BTreeMap<String, String>>, StoreError> {
    // A version without files has one row, without path and content.
    let found: Vec<Option<(String, String)>> = rows(
        "reading the files of a package",
        tx,
        "SELECT path, content
         FROM package_version LEFT JOIN package_file USING (scope, package, version)
         WHERE scope = $1 AND package = $2 AND version = $3",
        params![column::scope(scope), package.as_str(), version],
        |row| Ok(field::<Option<_>>(row, 0)?.zip(field(row, 1)?)),
    )
    .await?;
    Ok((!found.is_empty()).then(|| found.into_iter().flatten().collect()))
}

#[async_trait]
impl<E: SqlEngine> Catalogue for SqlStore<E> {
    async fn register(&self, registration: Registration) -> Result<CatalogueRevision, StoreError> {
        let scope = registration.scope.clone();
        let changed = self.engine.run(
            Access::Write,
            RowScope::of(&scope),
            registration,
            |tx, registration| Box::pin(change::register(tx, registration)),
        );
        let revision = changed.await?;
        self.engine.announce(1);
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
        let values = (scope.clone(), package.clone(), actor.clone());
        let changed = self.engine.run(
            Access::Write,
            RowScope::of(scope),
            values,
            move |tx, (scope, package, actor)| {
                Box::pin(change::unregister(tx, scope, package, expected, actor, at))
            },
        );
        let revision = changed.await?;
        self.engine.announce(1);
        Ok(revision)
    }

    async fn revision(&self) -> Result<CatalogueRevision, StoreError> {
        self.engine
            .run(Access::Read, RowScope::Everyone, (), |tx, ()| {
                Box::pin(current_revision(tx, ""))
            })
            .await
    }

    async fn load(&self) -> Result<(CatalogueRevision, Vec<StoredDocument>), StoreError> {
        self.engine
            .run(Access::Snapshot, RowScope::Everyone, (), |tx, ()| {
                Box::pin(load(tx))
            })
            .await
    }

    async fn packages(&self, scope: &Scope) -> Result<Vec<PackageVersion>, StoreError> {
        let reach = RowScope::of(scope);
        self.engine
            .run(Access::Read, reach, scope.clone(), |tx, scope| {
                Box::pin(async move {
                    // An inner join would let SQLite begin with the whole history.
                    let sql = format!(
                        "SELECT {PACKAGE_VERSION}
                         FROM package LEFT JOIN package_change USING (scope, package, revision)
                         WHERE scope = $1 ORDER BY package"
                    );
                    let values = params![column::scope(scope)];
                    rows("listing packages", tx, &sql, values, package_version).await
                })
            })
            .await
    }

    async fn package_history(
        &self,
        scope: &Scope,
        package: &PackageName,
    ) -> Result<Vec<PackageVersion>, StoreError> {
        const DOING: &str = "reading the history of a package";
        let reach = RowScope::of(scope);
        let values = (scope.clone(), package.clone());
        self.engine
            .run(Access::Read, reach, values, |tx, (scope, package)| {
                Box::pin(async move {
                    let sql = format!(
                        "SELECT {PACKAGE_VERSION} FROM package_change
                         WHERE scope = $1 AND package = $2 ORDER BY revision"
                    );
                    let values = params![column::scope(scope), package.as_str()];
                    rows(DOING, tx, &sql, values, package_version).await
                })
            })
            .await
    }

    async fn package_files(
        &self,
        scope: &Scope,
        package: &PackageName,
        version: &str,
    ) -> Result<Option<BTreeMap<String, String>>, StoreError> {
        let reach = RowScope::of(scope);
        let values = (scope.clone(), package.clone(), version.to_owned());
        self.engine
            .run(
                Access::Read,
                reach,
                values,
                |tx, (scope, package, version)| Box::pin(files(tx, scope, package, version)),
            )
            .await
    }

    async fn document_history(
        &self,
        key: &DocumentKey,
    ) -> Result<Vec<DocumentVersion>, StoreError> {
        let reach = RowScope::of(&key.scope);
        self.engine
            .run(Access::Read, reach, key.clone(), |tx, key| {
                Box::pin(async move {
                    rows(
                        "reading the history of a document",
                        tx,
                        "SELECT package_version, change, content_hash, body, revision, at
                         FROM document_change
                         WHERE scope = $1 AND kind = $2 AND id = $3 ORDER BY revision",
                        params![column::scope(&key.scope), key.kind.as_str(), &key.id],
                        document_version,
                    )
                    .await
                })
            })
            .await
    }
}
