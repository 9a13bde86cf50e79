//! Changes the catalogue: one package at a time, with one revision per change.
//!
//! Every function here runs inside one transaction, whose first statement locks the catalogue's row; no part of it is
//! visible before the commit.

use std::collections::HashMap;

use charter_store::StoreError;
use charter_store::catalogue::{CatalogueRevision, Change, ContentHash, NewDocument, Registration};
use deadpool_postgres::Transaction;

use crate::column;
use crate::postgres::statement::{execute, params, row, rows};
use crate::postgres::{lens, outbox};
use crate::record::catalogue::{
    self as record, DocumentAddress, Removal, Step, check_registration, hash,
};
use crate::row::field;

const WRITING: &str = "changing the catalogue";

/// Implements `Catalogue::register`.
pub(super) async fn register(
    connection: &Transaction<'_>,
    registration: &Registration,
) -> Result<CatalogueRevision, StoreError> {
    check_registration(registration)?;
    let next = next_revision(connection, registration.expected).await?;
    let step = Step {
        scope: &registration.scope,
        package: &registration.package,
        version: &registration.version,
        content_hash: registration.content_hash,
        change: registration.change,
        documents: registration.documents.len(),
        actor: &registration.actor,
        at: registration.at,
        revision: column::integer("catalogue revision", next.0)?,
    };
    record_change(connection, &step).await?;
    let mut leaving = documents_in_force(connection, &step).await?;
    for document in &registration.documents {
        let place = (document.kind.as_str().to_owned(), document.id.clone());
        match leaving.remove(&place) {
            Some(stored) if stored == document.content_hash => {}
            Some(_) => change_document(connection, &step, document).await?,
            None => add_document(connection, &step, document).await?,
        }
    }
    remove_documents(connection, &step, leaving.into_keys()).await?;
    execute(
        WRITING,
        connection,
        "UPDATE document SET package_version = $3 WHERE scope = $1 AND package = $2",
        params![
            column::scope(step.scope),
            step.package.as_str(),
            step.version,
        ],
    )
    .await?;
    execute(
        WRITING,
        connection,
        "INSERT INTO package (scope, package, revision) VALUES ($1, $2, $3)
         ON CONFLICT (scope, package) DO UPDATE SET revision = excluded.revision",
        params![
            column::scope(step.scope),
            step.package.as_str(),
            step.revision
        ],
    )
    .await?;
    store_files(connection, registration).await?;
    for index in &registration.lenses {
        lens::replace_index(connection, step.scope, index).await?;
    }
    lens::remove_orphans(connection, step.scope).await?;
    Ok(next)
}

/// Implements `Catalogue::unregister`.
pub(super) async fn unregister(
    connection: &Transaction<'_>,
    removal: &Removal,
) -> Result<CatalogueRevision, StoreError> {
    let next = next_revision(connection, removal.expected).await?;
    let (version, content_hash) = row(
        WRITING,
        connection,
        "SELECT version, content_hash
         FROM package JOIN package_change USING (scope, package, revision)
         WHERE scope = $1 AND package = $2",
        params![column::scope(&removal.scope), removal.package.as_str()],
        |row| Ok((field::<String>(row, 0)?, hash(row, 1)?)),
    )
    .await?
    .ok_or_else(|| StoreError::NotFound {
        what: "package",
        id: removal.package.to_string(),
    })?;
    let step = Step {
        scope: &removal.scope,
        package: &removal.package,
        version: &version,
        content_hash,
        change: Change::Unregistered,
        documents: 0,
        actor: &removal.actor,
        at: removal.at,
        revision: column::integer("catalogue revision", next.0)?,
    };
    record_change(connection, &step).await?;
    let leaving = documents_in_force(connection, &step).await?;
    remove_documents(connection, &step, leaving.into_keys()).await?;
    execute(
        WRITING,
        connection,
        "DELETE FROM package WHERE scope = $1 AND package = $2",
        params![column::scope(step.scope), step.package.as_str()],
    )
    .await?;
    lens::remove_orphans(connection, step.scope).await?;
    Ok(next)
}

async fn next_revision(
    connection: &Transaction<'_>,
    expected: CatalogueRevision,
) -> Result<CatalogueRevision, StoreError> {
    // Concurrent changes wait here, and then see another revision.
    let sql = "SELECT revision FROM catalogue FOR UPDATE";
    let found = row(WRITING, connection, sql, params![], record::revision).await?;
    record::next_revision(found.ok_or_else(record::without_revision)?, expected)
}

/// Writes the package's history, the catalogue's revision, and the outbox message.
async fn record_change(connection: &Transaction<'_>, step: &Step<'_>) -> Result<(), StoreError> {
    execute(
        WRITING,
        connection,
        "INSERT INTO package_change
         (revision, scope, package, version, content_hash, change, documents, actor, at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        params![
            step.revision,
            column::scope(step.scope),
            step.package.as_str(),
            step.version,
            step.content_hash.0.as_slice(),
            column::change(step.change),
            column::limit(step.documents),
            step.actor.as_str(),
            column::micros(step.at)
        ],
    )
    .await?;
    execute(
        WRITING,
        connection,
        "UPDATE catalogue SET revision = $1",
        params![step.revision],
    )
    .await?;
    outbox::insert(connection, &[step.message()]).await
}

async fn documents_in_force(
    connection: &Transaction<'_>,
    step: &Step<'_>,
) -> Result<HashMap<DocumentAddress, ContentHash>, StoreError> {
    let documents = rows(
        WRITING,
        connection,
        "SELECT kind, id, content_hash FROM document WHERE scope = $1 AND package = $2",
        params![column::scope(step.scope), step.package.as_str()],
        record::in_force,
    )
    .await?;
    Ok(documents.into_iter().collect())
}

async fn add_document(
    connection: &Transaction<'_>,
    step: &Step<'_>,
    document: &NewDocument,
) -> Result<(), StoreError> {
    let added = execute(
        WRITING,
        connection,
        "INSERT INTO document
         (scope, kind, id, package, package_version, content_hash, created_at, updated_at, body)
         VALUES ($1, $2, $3, $4, $5, $6, coalesce(
             (SELECT min(at) FROM document_change WHERE scope = $1 AND kind = $2 AND id = $3), $7
         ), $7, $8) ON CONFLICT DO NOTHING",
        params![
            column::scope(step.scope),
            document.kind.as_str(),
            document.id,
            step.package.as_str(),
            step.version,
            document.content_hash.0.as_slice(),
            column::micros(step.at),
            &*document.body
        ],
    )
    .await?;
    if added == 0 {
        return Err(StoreError::AlreadyExists {
            what: document.kind.as_str(),
            id: document.id.clone(),
        });
    }
    record_document(connection, step, document).await
}

async fn change_document(
    connection: &Transaction<'_>,
    step: &Step<'_>,
    document: &NewDocument,
) -> Result<(), StoreError> {
    execute(
        WRITING,
        connection,
        "UPDATE document SET content_hash = $4, body = $5, updated_at = $6
         WHERE scope = $1 AND kind = $2 AND id = $3",
        params![
            column::scope(step.scope),
            document.kind.as_str(),
            document.id,
            document.content_hash.0.as_slice(),
            &*document.body,
            column::micros(step.at)
        ],
    )
    .await?;
    record_document(connection, step, document).await
}

async fn record_document(
    connection: &Transaction<'_>,
    step: &Step<'_>,
    document: &NewDocument,
) -> Result<(), StoreError> {
    execute(
        WRITING,
        connection,
        "INSERT INTO document_change
         (scope, kind, id, revision, package_version, change, content_hash, at, body)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        params![
            column::scope(step.scope),
            document.kind.as_str(),
            document.id,
            step.revision,
            step.version,
            column::change(step.change),
            document.content_hash.0.as_slice(),
            column::micros(step.at),
            &*document.body
        ],
    )
    .await
    .map(|_| ())
}

async fn remove_documents(
    connection: &Transaction<'_>,
    step: &Step<'_>,
    leaving: impl Iterator<Item = DocumentAddress>,
) -> Result<(), StoreError> {
    let scope = column::scope(step.scope);
    for (kind, id) in leaving {
        execute(
            WRITING,
            connection,
            "INSERT INTO document_change
             (scope, kind, id, revision, package_version, change, content_hash, at, body)
             SELECT scope, kind, id, $4, $5, $6, content_hash, $7, body FROM document
             WHERE scope = $1 AND kind = $2 AND id = $3",
            params![
                scope,
                kind,
                id,
                step.revision,
                step.version,
                column::change(Change::Unregistered),
                column::micros(step.at)
            ],
        )
        .await?;
        execute(
            WRITING,
            connection,
            "DELETE FROM document WHERE scope = $1 AND kind = $2 AND id = $3",
            params![scope, kind, id],
        )
        .await?;
    }
    Ok(())
}

/// Stores the version's files; a file with a known hash is already stored. Others replace the version's earlier files.
async fn store_files(
    connection: &Transaction<'_>,
    registration: &Registration,
) -> Result<(), StoreError> {
    let (scope, package) = (
        column::scope(&registration.scope),
        registration.package.as_str(),
    );
    let version = &registration.version;
    let names = params![scope, package, version];
    let stored = row(
        WRITING,
        connection,
        "SELECT content_hash FROM package_version
         WHERE scope = $1 AND package = $2 AND version = $3",
        names,
        |row| hash(row, 0),
    )
    .await?;
    if stored == Some(registration.content_hash) {
        return Ok(());
    }
    let sql = "DELETE FROM package_version WHERE scope = $1 AND package = $2 AND version = $3";
    execute(WRITING, connection, sql, names).await?;
    execute(
        WRITING,
        connection,
        "INSERT INTO package_version (scope, package, version, content_hash)
         VALUES ($1, $2, $3, $4)",
        params![
            scope,
            package,
            version,
            registration.content_hash.0.as_slice()
        ],
    )
    .await?;
    execute(
        WRITING,
        connection,
        "INSERT INTO package_file (scope, package, version, path, content)
         SELECT $1, $2, $3, path, content FROM unnest($4::text[], $5::text[]) AS new (path, content)",
        params![
            scope,
            package,
            version,
            registration.files.keys().collect::<Vec<_>>(),
            registration.files.values().collect::<Vec<_>>(),
        ],
    )
    .await
    .map(|_| ())
}
