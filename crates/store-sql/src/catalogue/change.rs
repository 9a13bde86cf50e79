//! Changes the catalogue: one package at a time, with one revision per change.
//!
//! A change is one transaction that first locks the catalogue's row.

use std::collections::{HashMap, HashSet};

use charter_contract::ids::{PackageName, UserId};
use charter_contract::scope::Scope;
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::catalogue::{
    CATALOGUE_CHANGED, CatalogueRevision, Change, ContentHash, NewDocument, Registration,
};
use charter_store::outbox::NewMessage;
use serde_json::json;

use super::{current_revision, hash};
use crate::row::field;
use crate::tx::{Tx, execute, execute_many, params, row, rows};
use crate::{column, lens, outbox};

const WRITING: &str = "changing the catalogue";

/// The fields that all rows of one change share.
struct Step<'a> {
    scope: &'a Scope,
    package: &'a PackageName,
    version: &'a str,
    content_hash: ContentHash,
    change: Change,
    documents: usize,
    actor: &'a UserId,
    at: Timestamp,
    /// As a column value.
    revision: i64,
}

/// The hash of each document, by kind and id.
type Documents = HashMap<(String, String), ContentHash>;

/// Implements `Catalogue::register`.
pub(super) async fn register(
    tx: &mut Tx<'_>,
    registration: &Registration,
) -> Result<CatalogueRevision, StoreError> {
    check_registration(registration)?;
    let next = next_revision(tx, registration.expected).await?;
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
    let (scope, package) = (column::scope(step.scope), step.package.as_str());
    record_change(tx, &step).await?;
    let mut leaving = documents_in_force(tx, &step).await?;
    for document in &registration.documents {
        let address = (document.kind.as_str().to_owned(), document.id.clone());
        if leaving.remove(&address) != Some(document.content_hash) {
            put_document(tx, &step, document).await?;
        }
    }
    remove_documents(tx, &step, &leaving).await?;
    execute(
        WRITING,
        tx,
        "UPDATE document SET package_version = $3 WHERE scope = $1 AND package = $2",
        params![scope, package, step.version],
    )
    .await?;
    execute(
        WRITING,
        tx,
        "INSERT INTO package (scope, package, revision) VALUES ($1, $2, $3)
         ON CONFLICT (scope, package) DO UPDATE SET revision = excluded.revision",
        params![scope, package, step.revision],
    )
    .await?;
    store_files(tx, registration).await?;
    for index in &registration.lenses {
        lens::replace_index(tx, step.scope, index).await?;
    }
    lens::remove_orphans(tx, step.scope).await?;
    Ok(next)
}

/// Implements `Catalogue::unregister`.
pub(super) async fn unregister(
    tx: &mut Tx<'_>,
    scope: &Scope,
    package: &PackageName,
    expected: CatalogueRevision,
    actor: &UserId,
    at: Timestamp,
) -> Result<CatalogueRevision, StoreError> {
    let next = next_revision(tx, expected).await?;
    let key = params![column::scope(scope), package.as_str()];
    let (version, content_hash) = row(
        WRITING,
        tx,
        "SELECT version, content_hash
         FROM package JOIN package_change USING (scope, package, revision)
         WHERE scope = $1 AND package = $2",
        key,
        |row| Ok((field::<String>(row, 0)?, hash(row, 1)?)),
    )
    .await?
    .ok_or_else(|| StoreError::NotFound {
        what: "package",
        id: package.to_string(),
    })?;
    let step = Step {
        scope,
        package,
        version: &version,
        content_hash,
        change: Change::Unregistered,
        documents: 0,
        actor,
        at,
        revision: column::integer("catalogue revision", next.0)?,
    };
    record_change(tx, &step).await?;
    let leaving = documents_in_force(tx, &step).await?;
    remove_documents(tx, &step, &leaving).await?;
    let sql = "DELETE FROM package WHERE scope = $1 AND package = $2";
    execute(WRITING, tx, sql, key).await?;
    lens::remove_orphans(tx, scope).await?;
    Ok(next)
}

fn check_registration(registration: &Registration) -> Result<(), StoreError> {
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

/// Returns the next revision, if the current one is the expected one. Concurrent changes wait here, and then see
/// another revision.
async fn next_revision(
    tx: &mut Tx<'_>,
    expected: CatalogueRevision,
) -> Result<CatalogueRevision, StoreError> {
    let lock = tx.dialect().for_update();
    let found = current_revision(tx, lock).await?;
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

/// Writes the package's history, the catalogue's revision, and the outbox message.
async fn record_change(tx: &mut Tx<'_>, step: &Step<'_>) -> Result<(), StoreError> {
    execute(
        WRITING,
        tx,
        "INSERT INTO package_change
         (scope, revision, package, version, content_hash, change, documents, actor, at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        params![
            column::scope(step.scope),
            step.revision,
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
    let sql = "UPDATE catalogue SET revision = $1";
    execute(WRITING, tx, sql, params![step.revision]).await?;
    let payload = json!({
        "revision": step.revision,
        "scope": step.scope.tenant().map_or("global", |_| "tenant"),
        "package": step.package.as_str(),
        "version": step.version,
        "change": column::change(step.change),
    });
    let message = NewMessage {
        topic: CATALOGUE_CHANGED.to_owned(),
        tenant: step.scope.tenant().map(ToString::to_string),
        user_id: None,
        payload: payload.to_string(),
        at: step.at,
    };
    outbox::insert(tx, &[message]).await
}

async fn documents_in_force(tx: &mut Tx<'_>, step: &Step<'_>) -> Result<Documents, StoreError> {
    let documents = rows(
        WRITING,
        tx,
        "SELECT kind, id, content_hash FROM document WHERE scope = $1 AND package = $2",
        params![column::scope(step.scope), step.package.as_str()],
        |row| Ok(((field(row, 0)?, field(row, 1)?), hash(row, 2)?)),
    )
    .await?;
    Ok(documents.into_iter().collect())
}

/// Inserts a document or changes its content.
async fn put_document(
    tx: &mut Tx<'_>,
    step: &Step<'_>,
    document: &NewDocument,
) -> Result<(), StoreError> {
    let (scope, kind) = (column::scope(step.scope), document.kind.as_str());
    let (hash, at) = (document.content_hash.0.as_slice(), column::micros(step.at));
    let put = execute(
        WRITING,
        tx,
        "INSERT INTO document
         (scope, kind, id, package, package_version, content_hash, created_at, updated_at, body)
         VALUES ($1, $2, $3, $4, $5, $6, coalesce(
             (SELECT min(at) FROM document_change WHERE scope = $1 AND kind = $2 AND id = $3), $7
         ), $7, $8)
         ON CONFLICT (scope, kind, id) DO UPDATE SET content_hash = excluded.content_hash,
         updated_at = excluded.updated_at, body = excluded.body
         WHERE document.package = excluded.package",
        params![
            scope,
            kind,
            &document.id,
            step.package.as_str(),
            step.version,
            hash,
            at,
            &*document.body
        ],
    )
    .await?;
    if put == 0 {
        return Err(StoreError::AlreadyExists {
            what: kind,
            id: document.id.clone(),
        });
    }
    execute(
        WRITING,
        tx,
        "INSERT INTO document_change
         (scope, kind, id, revision, package_version, change, content_hash, at, body)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        params![
            scope,
            kind,
            &document.id,
            step.revision,
            step.version,
            column::change(step.change),
            hash,
            at,
            &*document.body
        ],
    )
    .await
    .map(|_| ())
}

async fn remove_documents(
    tx: &mut Tx<'_>,
    step: &Step<'_>,
    leaving: &Documents,
) -> Result<(), StoreError> {
    let (scope, at) = (column::scope(step.scope), column::micros(step.at));
    let change = column::change(Change::Unregistered);
    let changes = leaving.keys().map(|(kind, id)| {
        params![scope, kind, id, step.revision, step.version, change, at].to_vec()
    });
    execute_many(
        WRITING,
        tx,
        "INSERT INTO document_change
         (scope, kind, id, revision, package_version, change, content_hash, at, body)
         SELECT scope, kind, id, $4, $5, $6, content_hash, $7, body FROM document
         WHERE scope = $1 AND kind = $2 AND id = $3",
        &changes.collect::<Vec<_>>(),
    )
    .await?;
    let keys = leaving.keys();
    let keys: Vec<_> = keys
        .map(|(kind, id)| params![scope, kind, id].to_vec())
        .collect();
    let sql = "DELETE FROM document WHERE scope = $1 AND kind = $2 AND id = $3";
    execute_many(WRITING, tx, sql, &keys).await.map(|_| ())
}

/// Stores the version's files; a file with a known hash is already stored. Others replace the version's earlier files.
async fn store_files(tx: &mut Tx<'_>, registration: &Registration) -> Result<(), StoreError> {
    let (scope, version) = (column::scope(&registration.scope), &registration.version);
    let package = registration.package.as_str();
    let key = params![scope, package, version];
    let stored = row(
        WRITING,
        tx,
        "SELECT content_hash FROM package_version
         WHERE scope = $1 AND package = $2 AND version = $3",
        key,
        |row| hash(row, 0),
    )
    .await?;
    if stored == Some(registration.content_hash) {
        return Ok(());
    }
    let sql = "DELETE FROM package_version WHERE scope = $1 AND package = $2 AND version = $3";
    execute(WRITING, tx, sql, key).await?;
    let hash = registration.content_hash.0.as_slice();
    execute(
        WRITING,
        tx,
        "INSERT INTO package_version (scope, package, version, content_hash)
         VALUES ($1, $2, $3, $4)",
        params![scope, package, version, hash],
    )
    .await?;
    let files = registration.files.iter();
    let files =
        files.map(|(path, content)| params![scope, package, version, path, content].to_vec());
    execute_many(
        WRITING,
        tx,
        "INSERT INTO package_file (scope, package, version, path, content)
         VALUES ($1, $2, $3, $4, $5)",
        &files.collect::<Vec<_>>(),
    )
    .await
    .map(|_| ())
}
