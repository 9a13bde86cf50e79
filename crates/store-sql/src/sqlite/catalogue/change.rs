//! Changes the catalogue: one package at a time, with one revision per change.
//!
//! Every function here runs inside one transaction of the write thread; no part of it is visible before the commit.

use std::collections::HashMap;

use charter_store::StoreError;
use charter_store::catalogue::{CatalogueRevision, Change, ContentHash, NewDocument, Registration};
use rusqlite::{Connection, params};

use super::revision;
use crate::column;
use crate::record::catalogue::{
    self as record, DocumentAddress, Removal, Step, check_registration, hash,
};
use crate::row::field;
use crate::sqlite::statement::{execute, insert, row, rows};
use crate::sqlite::{lens, outbox};

const WRITING: &str = "changing the catalogue";

/// Implements `Catalogue::register`.
pub(super) fn register(
    connection: &Connection,
    registration: &Registration,
) -> Result<CatalogueRevision, StoreError> {
    check_registration(registration)?;
    let next = next_revision(connection, registration.expected)?;
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
    record_change(connection, &step)?;
    let mut leaving = documents_in_force(connection, &step)?;
    for document in &registration.documents {
        let place = (document.kind.as_str().to_owned(), document.id.clone());
        match leaving.remove(&place) {
            Some(stored) if stored == document.content_hash => {}
            Some(_) => change_document(connection, &step, document)?,
            None => add_document(connection, &step, document)?,
        }
    }
    remove_documents(connection, &step, leaving.into_keys())?;
    execute(
        WRITING,
        connection,
        "UPDATE document SET package_version = ?3 WHERE scope = ?1 AND package = ?2",
        [
            column::scope(step.scope),
            step.package.as_str(),
            step.version,
        ],
    )?;
    execute(
        WRITING,
        connection,
        "INSERT INTO package (scope, package, revision) VALUES (?1, ?2, ?3)
         ON CONFLICT (scope, package) DO UPDATE SET revision = excluded.revision",
        params![
            column::scope(step.scope),
            step.package.as_str(),
            step.revision
        ],
    )?;
    store_files(connection, registration)?;
    for index in &registration.lenses {
        lens::replace_index(connection, step.scope, index)?;
    }
    lens::remove_orphans(connection, step.scope)?;
    Ok(next)
}

/// Implements `Catalogue::unregister`.
pub(super) fn unregister(
    connection: &Connection,
    removal: &Removal,
) -> Result<CatalogueRevision, StoreError> {
    let next = next_revision(connection, removal.expected)?;
    let (version, content_hash) = row(
        WRITING,
        connection,
        "SELECT version, content_hash
         FROM package JOIN package_change USING (scope, package, revision)
         WHERE scope = ?1 AND package = ?2",
        [column::scope(&removal.scope), removal.package.as_str()],
        |row| Ok((field::<String>(row, 0)?, hash(row, 1)?)),
    )?
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
    record_change(connection, &step)?;
    let leaving = documents_in_force(connection, &step)?;
    remove_documents(connection, &step, leaving.into_keys())?;
    execute(
        WRITING,
        connection,
        "DELETE FROM package WHERE scope = ?1 AND package = ?2",
        [column::scope(step.scope), step.package.as_str()],
    )?;
    lens::remove_orphans(connection, step.scope)?;
    Ok(next)
}

fn next_revision(
    connection: &Connection,
    expected: CatalogueRevision,
) -> Result<CatalogueRevision, StoreError> {
    record::next_revision(revision(connection)?, expected)
}

/// Writes the package's history, the catalogue's revision, and the outbox message.
fn record_change(connection: &Connection, step: &Step<'_>) -> Result<(), StoreError> {
    execute(
        WRITING,
        connection,
        "INSERT INTO package_change
         (revision, scope, package, version, content_hash, change, documents, actor, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            step.revision,
            column::scope(step.scope),
            step.package.as_str(),
            step.version,
            step.content_hash.0,
            column::change(step.change),
            column::limit(step.documents),
            step.actor.as_str(),
            column::micros(step.at)
        ],
    )?;
    execute(
        WRITING,
        connection,
        "UPDATE catalogue SET revision = ?1",
        [step.revision],
    )?;
    outbox::insert(connection, &[step.message()])
}

fn documents_in_force(
    connection: &Connection,
    step: &Step<'_>,
) -> Result<HashMap<DocumentAddress, ContentHash>, StoreError> {
    let documents = rows(
        WRITING,
        connection,
        "SELECT kind, id, content_hash FROM document WHERE scope = ?1 AND package = ?2",
        [column::scope(step.scope), step.package.as_str()],
        record::in_force,
    )?;
    Ok(documents.into_iter().collect())
}

fn add_document(
    connection: &Connection,
    step: &Step<'_>,
    document: &NewDocument,
) -> Result<(), StoreError> {
    insert(
        WRITING,
        connection,
        "INSERT INTO document
         (scope, kind, id, package, package_version, content_hash, created_at, updated_at, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, coalesce(
             (SELECT min(at) FROM document_change WHERE scope = ?1 AND kind = ?2 AND id = ?3), ?7
         ), ?7, ?8) ON CONFLICT DO NOTHING",
        params![
            column::scope(step.scope),
            document.kind.as_str(),
            document.id,
            step.package.as_str(),
            step.version,
            document.content_hash.0,
            column::micros(step.at),
            document.body
        ],
    )?
    .ok_or_else(|| StoreError::AlreadyExists {
        what: document.kind.as_str(),
        id: document.id.clone(),
    })?;
    record_document(connection, step, document)
}

fn change_document(
    connection: &Connection,
    step: &Step<'_>,
    document: &NewDocument,
) -> Result<(), StoreError> {
    execute(
        WRITING,
        connection,
        "UPDATE document SET content_hash = ?4, body = ?5, updated_at = ?6
         WHERE scope = ?1 AND kind = ?2 AND id = ?3",
        params![
            column::scope(step.scope),
            document.kind.as_str(),
            document.id,
            document.content_hash.0,
            document.body,
            column::micros(step.at)
        ],
    )?;
    record_document(connection, step, document)
}

fn record_document(
    connection: &Connection,
    step: &Step<'_>,
    document: &NewDocument,
) -> Result<(), StoreError> {
    execute(
        WRITING,
        connection,
        "INSERT INTO document_change
         (scope, kind, id, revision, package_version, change, content_hash, at, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            column::scope(step.scope),
            document.kind.as_str(),
            document.id,
            step.revision,
            step.version,
            column::change(step.change),
            document.content_hash.0,
            column::micros(step.at),
            document.body
        ],
    )
    .map(|_| ())
}

fn remove_documents(
    connection: &Connection,
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
             SELECT scope, kind, id, ?4, ?5, ?6, content_hash, ?7, body FROM document
             WHERE scope = ?1 AND kind = ?2 AND id = ?3",
            params![
                scope,
                kind,
                id,
                step.revision,
                step.version,
                column::change(Change::Unregistered),
                column::micros(step.at)
            ],
        )?;
        execute(
            WRITING,
            connection,
            "DELETE FROM document WHERE scope = ?1 AND kind = ?2 AND id = ?3",
            params![scope, kind, id],
        )?;
    }
    Ok(())
}

/// Stores the version's files; a file with a known hash is already stored. Others replace the version's earlier files.
fn store_files(connection: &Connection, registration: &Registration) -> Result<(), StoreError> {
    let names = [
        column::scope(&registration.scope),
        registration.package.as_str(),
        registration.version.as_str(),
    ];
    let stored = row(
        WRITING,
        connection,
        "SELECT content_hash FROM package_version
         WHERE scope = ?1 AND package = ?2 AND version = ?3",
        names,
        |row| hash(row, 0),
    )?;
    if stored == Some(registration.content_hash) {
        return Ok(());
    }
    execute(
        WRITING,
        connection,
        "DELETE FROM package_version WHERE scope = ?1 AND package = ?2 AND version = ?3",
        names,
    )?;
    let [scope, package, version] = names;
    let key = insert(
        WRITING,
        connection,
        "INSERT INTO package_version (scope, package, version, content_hash)
         VALUES (?1, ?2, ?3, ?4)",
        params![scope, package, version, registration.content_hash.0],
    )?;
    for (path, content) in &registration.files {
        execute(
            WRITING,
            connection,
            "INSERT INTO package_file (version_key, path, content) VALUES (?1, ?2, ?3)",
            params![key, path, content],
        )?;
    }
    Ok(())
}
