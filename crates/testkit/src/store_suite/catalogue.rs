//! Cases of the catalogue.

use std::collections::BTreeMap;

use charter_contract::catalogue::DocumentKind;
use charter_contract::ids::PackageName;
use charter_contract::scope::Scope;
use charter_store::catalogue::{
    CATALOGUE_CHANGED, CatalogueRevision, Change, DocumentKey, DocumentVersion, PackageVersion,
    Registration, StoredDocument,
};
use charter_store::outbox::{Message, NewMessage};
use charter_store::{Store, StoreError};
use futures_util::future::join_all;

use super::sample::{at, registration, skill, tenant, user};
use super::{Outcome, assert_one_winner};
use crate::assert_refused;

fn key(scope: &Scope, id: &str) -> DocumentKey {
    DocumentKey {
        scope: scope.clone(),
        kind: DocumentKind::Skill,
        id: id.to_owned(),
    }
}

/// Returns the documents that a registration puts in force, created and updated at its time.
fn in_force(of: &Registration) -> Vec<StoredDocument> {
    let stored = of.documents.iter().map(|document| StoredDocument {
        key: DocumentKey {
            scope: of.scope.clone(),
            kind: document.kind,
            id: document.id.clone(),
        },
        package: of.package.clone(),
        package_version: of.version.clone(),
        content_hash: document.content_hash,
        body: document.body.clone(),
        created_at: of.at,
        updated_at: of.at,
    });
    stored.collect()
}

fn history_entry(of: &Registration, revision: u64) -> PackageVersion {
    PackageVersion {
        scope: of.scope.clone(),
        package: of.package.clone(),
        version: of.version.clone(),
        content_hash: of.content_hash,
        change: of.change,
        revision: CatalogueRevision(revision),
        documents: of.documents.len(),
        actor: of.actor.clone(),
        at: of.at,
    }
}

/// Returns all stored facts about one package, with the messages of its changes.
async fn whole(
    store: &dyn Store,
    of: &Registration,
) -> Result<impl PartialEq + std::fmt::Debug + use<>, StoreError> {
    Ok((
        store.load().await?,
        store.packages(&of.scope).await?,
        store.package_history(&of.scope, &of.package).await?,
        store
            .package_files(&of.scope, &of.package, &of.version)
            .await?,
        store.messages(0, 100).await?,
    ))
}

/// Documents, package, files and history all reflect the registration.
///
/// # Errors
/// Any error of the store.
pub async fn register_puts_documents_in_force(store: &dyn Store) -> Outcome {
    assert_eq!(store.load().await?, (CatalogueRevision(0), Vec::new()));
    let first = registration(
        &Scope::Global,
        "aws-security",
        "0.1.0",
        0,
        vec![skill("a", "one"), skill("b", "two")],
    )?;
    let revision = store.register(first.clone()).await?;
    assert_eq!(revision, CatalogueRevision(1));
    assert_eq!(store.revision().await?, revision);
    assert_eq!(store.load().await?, (revision, in_force(&first)));
    let entry = history_entry(&first, 1);
    assert_eq!(store.packages(&first.scope).await?, vec![entry.clone()]);
    let history = store.package_history(&first.scope, &first.package).await?;
    assert_eq!(history, vec![entry]);
    let files = store
        .package_files(&first.scope, &first.package, "0.1.0")
        .await;
    assert_eq!(files?, Some(first.files.clone()));
    let other = store
        .package_files(&first.scope, &first.package, "0.2.0")
        .await;
    assert_eq!(other?, None);
    let history = store.document_history(&key(&first.scope, "a")).await?;
    let told = DocumentVersion {
        package_version: "0.1.0".to_owned(),
        change: Change::Registered,
        content_hash: first.documents[0].content_hash,
        body: first.documents[0].body.clone(),
        revision,
        at: first.at,
    };
    assert_eq!(history, vec![told]);
    let unknown = store.document_history(&key(&first.scope, "c")).await?;
    assert_eq!(unknown, Vec::new());
    Ok(())
}

/// Each change publishes one message, with the payload that the trait documents.
///
/// # Errors
/// Any error of the store.
pub async fn register_publishes_to_the_outbox(store: &dyn Store) -> Outcome {
    let acme = Scope::Tenant(tenant("acme")?);
    let change = registration(&acme, "p", "1", 0, vec![skill("a", "one")])?;
    store.register(change.clone()).await?;
    let messages = store.messages(0, 10).await?;
    let [Message { message, .. }] = messages.as_slice() else {
        return Err(format!("not one message: {messages:?}").into());
    };
    let payload: serde_json::Value = serde_json::from_str(&message.payload)?;
    let expected = serde_json::json!({
        "revision": 1, "scope": "tenant", "package": "p", "version": "1", "change": "registered"
    });
    assert_eq!(payload, expected);
    let envelope = NewMessage {
        topic: CATALOGUE_CHANGED.to_owned(),
        tenant: Some("acme".to_owned()),
        user_id: None,
        payload: message.payload.clone(),
        at: change.at,
    };
    assert_eq!(*message, envelope);
    Ok(())
}

/// Documents absent from the new version are no longer in force; the history lists each change, and only changes.
///
/// # Errors
/// Any error of the store.
pub async fn register_replaces_the_documents_of_the_package(store: &dyn Store) -> Outcome {
    let scope = Scope::Global;
    let documents = ["stays", "changes", "goes"].map(|id| skill(id, "one"));
    let first = registration(&scope, "p", "1", 0, documents.to_vec())?;
    store.register(first.clone()).await?;
    let documents = vec![
        skill("changes", "two"),
        skill("comes", "one"),
        skill("stays", "one"),
    ];
    let second = registration(&scope, "p", "2", 1, documents)?;
    store.register(second.clone()).await?;
    let mut expected = in_force(&second);
    expected[0].created_at = first.at;
    expected[2].created_at = first.at;
    expected[2].updated_at = first.at;
    assert_eq!(store.load().await?, (CatalogueRevision(2), expected));
    let expected = [
        ("stays", vec![("1", Change::Registered)]),
        (
            "changes",
            vec![("1", Change::Registered), ("2", Change::Registered)],
        ),
        (
            "goes",
            vec![("1", Change::Registered), ("2", Change::Unregistered)],
        ),
        ("comes", vec![("2", Change::Registered)]),
    ];
    for (id, expected) in expected {
        let history = store.document_history(&key(&scope, id)).await?;
        let told: Vec<_> = history
            .iter()
            .map(|entry| (entry.package_version.as_str(), entry.change))
            .collect();
        assert_eq!(told, expected, "{id}");
    }
    let gone = store.document_history(&key(&scope, "goes")).await?;
    assert_eq!(gone[1].body, first.documents[2].body);
    assert_eq!(gone[1].content_hash, first.documents[2].content_hash);
    let history = store.package_history(&scope, &first.package).await?;
    assert_eq!(
        history,
        vec![history_entry(&first, 1), history_entry(&second, 2)]
    );
    Ok(())
}

/// B000-9 depends on this: an unchanged document shows no change.
///
/// # Errors
/// Any error of the store.
pub async fn register_keeps_the_times_of_unchanged_documents(store: &dyn Store) -> Outcome {
    let scope = Scope::Global;
    let first = registration(&scope, "p", "1", 0, vec![skill("a", "one")])?;
    store.register(first.clone()).await?;
    let second = registration(&scope, "p", "2", 1, vec![skill("a", "one")])?;
    store.register(second).await?;
    let mut expected = in_force(&first);
    "2".clone_into(&mut expected[0].package_version);
    assert_eq!(store.load().await?, (CatalogueRevision(2), expected));
    Ok(())
}

/// A registration based on an older revision is refused.
///
/// # Errors
/// Any error of the store.
pub async fn register_on_a_stale_revision_writes_nothing(store: &dyn Store) -> Outcome {
    let scope = Scope::Global;
    store
        .register(registration(&scope, "p", "1", 0, vec![skill("a", "one")])?)
        .await?;
    let stale = registration(&scope, "q", "1", 0, vec![skill("b", "one")])?;
    let before = whole(store, &stale).await?;
    assert_refused!(
        store.register(stale.clone()).await,
        StoreError::VersionConflict {
            expected: 0,
            found: 1,
            ..
        }
    );
    assert_eq!(whole(store, &stale).await?, before);
    let refused = store
        .unregister(
            &scope,
            &PackageName::parse("p")?,
            CatalogueRevision(0),
            &user()?,
            at(9)?,
        )
        .await;
    assert_refused!(
        refused,
        StoreError::VersionConflict {
            expected: 0,
            found: 1,
            ..
        }
    );
    assert_eq!(whole(store, &stale).await?, before);
    Ok(())
}

/// The document of another package comes last, so that all previous writes must be rolled back (B000-7).
///
/// # Errors
/// Any error of the store.
pub async fn register_of_a_foreign_document_writes_nothing(store: &dyn Store) -> Outcome {
    let scope = Scope::Global;
    let own = registration(&scope, "p", "1", 0, vec![skill("own", "one")])?;
    store.register(own).await?;
    let documents = vec![skill("new", "one"), skill("own", "two")];
    let thief = registration(&scope, "q", "1", 1, documents)?;
    let before = whole(store, &thief).await?;
    assert_refused!(
        store.register(thief.clone()).await,
        StoreError::AlreadyExists { id, .. } if id == "own"
    );
    assert_eq!(whole(store, &thief).await?, before);
    let history = store.document_history(&key(&scope, "new")).await?;
    assert_eq!(history, Vec::new());
    Ok(())
}

/// Two documents with equal kind and id have no order.
///
/// # Errors
/// Any error of the store.
pub async fn register_refuses_a_document_twice(store: &dyn Store) -> Outcome {
    let documents = vec![skill("a", "one"), skill("a", "two")];
    let twice = registration(&Scope::Global, "p", "1", 0, documents)?;
    assert_refused!(store.register(twice).await, StoreError::Refused { .. });
    assert_eq!(store.load().await?, (CatalogueRevision(0), Vec::new()));
    Ok(())
}

/// Unregistering is a separate call.
///
/// # Errors
/// Any error of the store.
pub async fn register_refuses_to_unregister(store: &dyn Store) -> Outcome {
    let mut wrong = registration(&Scope::Global, "p", "1", 0, vec![])?;
    wrong.change = Change::Unregistered;
    assert_refused!(store.register(wrong).await, StoreError::Refused { .. });
    assert_eq!(store.revision().await?, CatalogueRevision(0));
    Ok(())
}

/// All callers read revision 0; one of them may write.
///
/// # Errors
/// Any error of the store.
pub async fn register_at_the_same_time_has_one_winner(store: &dyn Store) -> Outcome {
    let mut calls = Vec::new();
    for n in 0..8 {
        let documents = vec![skill(&format!("skill-{n}"), "one")];
        let change = registration(&Scope::Global, &format!("p{n}"), "1", 0, documents)?;
        calls.push(store.register(change));
    }
    assert_one_winner(&join_all(calls).await);
    let (revision, documents) = store.load().await?;
    assert_eq!((revision, documents.len()), (CatalogueRevision(1), 1));
    Ok(())
}

/// The stored files are those of the last registration of a version.
///
/// # Errors
/// Any error of the store.
pub async fn register_again_replaces_the_files_of_the_version(store: &dyn Store) -> Outcome {
    let scope = Scope::Global;
    let first = registration(&scope, "p", "1", 0, vec![])?;
    store.register(first.clone()).await?;
    let mut second = registration(&scope, "p", "1", 1, vec![])?;
    second.content_hash.0[0] ^= 1;
    second.files = BTreeMap::from([("other.yaml".to_owned(), "a: 1\n".to_owned())]);
    store.register(second.clone()).await?;
    let files = store.package_files(&scope, &first.package, "1").await?;
    assert_eq!(files, Some(second.files));
    Ok(())
}

/// B000-1: equal ids in another scope are different documents and packages.
///
/// # Errors
/// Any error of the store.
pub async fn scopes_are_separate(store: &dyn Store) -> Outcome {
    let acme = Scope::Tenant(tenant("acme")?);
    let other = Scope::Tenant(tenant("other")?);
    let global = registration(&Scope::Global, "p", "1", 0, vec![skill("a", "global")])?;
    let own = registration(&acme, "p", "1", 1, vec![skill("a", "acme")])?;
    store.register(global.clone()).await?;
    store.register(own.clone()).await?;
    let expected = [in_force(&global), in_force(&own)].concat();
    assert_eq!(store.load().await?, (CatalogueRevision(2), expected));
    assert_eq!(store.packages(&acme).await?, vec![history_entry(&own, 2)]);
    assert_eq!(store.packages(&other).await?, Vec::new());
    assert_eq!(
        store.package_history(&other, &own.package).await?,
        Vec::new()
    );
    assert_eq!(store.package_files(&other, &own.package, "1").await?, None);
    assert_eq!(store.document_history(&key(&other, "a")).await?, Vec::new());
    store
        .unregister(&acme, &own.package, CatalogueRevision(2), &user()?, at(9)?)
        .await?;
    assert_eq!(
        store.load().await?,
        (CatalogueRevision(3), in_force(&global))
    );
    Ok(())
}

/// Unregistered documents are not in force, but still readable.
///
/// # Errors
/// Any error of the store.
pub async fn unregister_removes_documents_and_keeps_history(store: &dyn Store) -> Outcome {
    let scope = Scope::Global;
    let documents = vec![skill("a", "one"), skill("b", "one")];
    let first = registration(&scope, "p", "1", 0, documents)?;
    store.register(first.clone()).await?;
    let revision = store
        .unregister(
            &scope,
            &first.package,
            CatalogueRevision(1),
            &user()?,
            at(5)?,
        )
        .await?;
    assert_eq!(revision, CatalogueRevision(2));
    assert_eq!(store.load().await?, (revision, Vec::new()));
    assert_eq!(store.packages(&scope).await?, Vec::new());
    let mut removal = history_entry(&first, 2);
    removal.change = Change::Unregistered;
    removal.documents = 0;
    removal.at = at(5)?;
    let history = store.package_history(&scope, &first.package).await?;
    assert_eq!(history, vec![history_entry(&first, 1), removal]);
    let files = store.package_files(&scope, &first.package, "1").await?;
    assert_eq!(files, Some(first.files));
    let told = store.document_history(&key(&scope, "a")).await?;
    let told: Vec<_> = told.iter().map(|entry| (entry.change, entry.at)).collect();
    let expected = vec![
        (Change::Registered, first.at),
        (Change::Unregistered, at(5)?),
    ];
    assert_eq!(told, expected);
    assert_eq!(store.messages(0, 10).await?.len(), 2);
    Ok(())
}

/// Never registered, registered in another scope, or no longer in force.
///
/// # Errors
/// Any error of the store.
pub async fn unregister_of_a_package_not_in_force_is_refused(store: &dyn Store) -> Outcome {
    let scope = Scope::Global;
    let acme = Scope::Tenant(tenant("acme")?);
    let first = registration(&scope, "p", "1", 0, vec![])?;
    store.register(first.clone()).await?;
    let at_1 = CatalogueRevision(1);
    let elsewhere = store
        .unregister(&acme, &first.package, at_1, &user()?, at(5)?)
        .await;
    assert_refused!(elsewhere, StoreError::NotFound { .. });
    store
        .unregister(&scope, &first.package, at_1, &user()?, at(5)?)
        .await?;
    let at_2 = CatalogueRevision(2);
    let again = store
        .unregister(&scope, &first.package, at_2, &user()?, at(6)?)
        .await;
    assert_refused!(again, StoreError::NotFound { .. });
    assert_eq!(store.revision().await?, at_2);
    Ok(())
}

/// `created_at` is the time of the very first registration.
///
/// # Errors
/// Any error of the store.
pub async fn a_returning_document_keeps_its_first_time(store: &dyn Store) -> Outcome {
    let scope = Scope::Global;
    let first = registration(&scope, "p", "1", 0, vec![skill("a", "one")])?;
    store.register(first.clone()).await?;
    let at_1 = CatalogueRevision(1);
    store
        .unregister(&scope, &first.package, at_1, &user()?, at(1)?)
        .await?;
    let back = registration(&scope, "q", "1", 2, vec![skill("a", "one")])?;
    store.register(back.clone()).await?;
    let mut expected = in_force(&back);
    expected[0].created_at = first.at;
    assert_eq!(store.load().await?, (CatalogueRevision(3), expected));
    Ok(())
}

/// A rollback registers earlier content, under its own kind of change.
///
/// # Errors
/// Any error of the store.
pub async fn rollback_is_recorded_in_the_history(store: &dyn Store) -> Outcome {
    let scope = Scope::Global;
    let first = registration(&scope, "p", "1", 0, vec![skill("a", "one")])?;
    store.register(first.clone()).await?;
    let second = registration(&scope, "p", "2", 1, vec![skill("a", "two")])?;
    store.register(second.clone()).await?;
    let mut back = registration(&scope, "p", "1", 2, vec![skill("a", "one")])?;
    back.change = Change::RolledBack;
    store.register(back.clone()).await?;
    let history = store.package_history(&scope, &first.package).await?;
    let expected = [
        history_entry(&first, 1),
        history_entry(&second, 2),
        history_entry(&back, 3),
    ];
    assert_eq!(history, expected.to_vec());
    let told = store.document_history(&key(&scope, "a")).await?;
    let told: Vec<_> = told
        .iter()
        .map(|entry| (entry.package_version.as_str(), entry.change))
        .collect();
    let expected = vec![
        ("1", Change::Registered),
        ("2", Change::Registered),
        ("1", Change::RolledBack),
    ];
    assert_eq!(told, expected);
    let mut expected = in_force(&back);
    expected[0].created_at = first.at;
    assert_eq!(store.load().await?.1, expected);
    Ok(())
}

/// Documents are ordered by scope, kind and id, in any order of registration.
///
/// # Errors
/// Any error of the store.
pub async fn load_is_ordered(store: &dyn Store) -> Outcome {
    let acme = Scope::Tenant(tenant("acme")?);
    let mut documents = vec![skill("b", "one"), skill("a", "one"), skill("c", "one")];
    documents[0].kind = DocumentKind::Tool;
    let own = registration(&acme, "p", "1", 0, documents.clone())?;
    let global = registration(&Scope::Global, "p", "1", 1, documents)?;
    store.register(own).await?;
    store.register(global).await?;
    let (_, loaded) = store.load().await?;
    let keys: Vec<_> = loaded.into_iter().map(|document| document.key).collect();
    let mut sorted = keys.clone();
    sorted.sort();
    assert_eq!(keys, sorted);
    assert_eq!(keys.len(), 6);
    Ok(())
}

/// Packages are ordered by name, in any order of registration.
///
/// # Errors
/// Any error of the store.
pub async fn packages_are_ordered_by_name(store: &dyn Store) -> Outcome {
    let b = registration(&Scope::Global, "b", "1", 0, vec![])?;
    let a = registration(&Scope::Global, "a", "1", 1, vec![])?;
    store.register(b.clone()).await?;
    store.register(a.clone()).await?;
    let packages = store.packages(&Scope::Global).await?;
    assert_eq!(packages, vec![history_entry(&a, 2), history_entry(&b, 1)]);
    Ok(())
}
