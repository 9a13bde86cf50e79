//! Cases of indexes of lenses.

use charter_contract::catalogue::DocumentKind;
use charter_contract::ids::{LensId, PackageName};
use charter_contract::scope::Scope;
use charter_store::catalogue::{CatalogueRevision, NewDocument};
use charter_store::lens::{LensChunk, LensGeneration, LensRecord, NewLensIndex};
use charter_store::{Store, StoreError};

use super::{Outcome, sample};
use crate::assert_refused;

const LENS: &str = "security.baseline";

fn document(body: &str) -> NewDocument {
    NewDocument {
        kind: DocumentKind::DomainLens,
        ..sample::skill(LENS, body)
    }
}

fn chunk(text: &str) -> LensChunk {
    LensChunk {
        text: text.to_owned(),
        place: format!("{{\"start\":0,\"end\":{}}}", text.len()),
        vectors: vec![1, 2, 3, 4],
    }
}

fn index(
    body: &str,
    texts: &[&str],
) -> Result<NewLensIndex, Box<dyn std::error::Error + Send + Sync>> {
    Ok(NewLensIndex {
        lens_id: LensId::parse(LENS)?,
        body: body.to_owned(),
        chunks: texts.iter().map(|text| chunk(text)).collect(),
    })
}

/// Registers the lens with an index; the catalogue is at `expected` before.
async fn register(
    store: &dyn Store,
    expected: u64,
    documents: Vec<NewDocument>,
    lenses: Vec<NewLensIndex>,
) -> Result<CatalogueRevision, Box<dyn std::error::Error + Send + Sync>> {
    let mut registration =
        sample::registration(&Scope::Global, "lenses", "0.1.0", expected, documents)?;
    registration.lenses = lenses;
    Ok(store.register(registration).await?)
}

async fn only(store: &dyn Store) -> Result<LensRecord, Box<dyn std::error::Error + Send + Sync>> {
    let mut found = store.lens_indexes().await?;
    assert_eq!(found.len(), 1);
    found.pop().ok_or_else(|| "no index".into())
}

/// B000-16: document and index come into force in one transaction.
///
/// # Errors
/// As the store's.
pub async fn b000_16_an_index_comes_with_its_lens(store: &dyn Store) -> Outcome {
    register(
        store,
        0,
        vec![document("a")],
        vec![index("{}", &["one", "two"])?],
    )
    .await?;
    let found = only(store).await?;
    assert_eq!((found.scope, found.body.as_str()), (Scope::Global, "{}"));
    let chunks = store.lens_chunks(found.generation).await?;
    assert_eq!(chunks, [chunk("one"), chunk("two")]);
    Ok(())
}

/// B000-16: a registration that is refused leaves no index.
///
/// # Errors
/// As the store's.
pub async fn b000_16_a_refused_registration_leaves_the_index(store: &dyn Store) -> Outcome {
    register(store, 0, vec![document("a")], vec![index("{}", &["one"])?]).await?;
    let before = only(store).await?;
    let stale = register(store, 0, vec![document("b")], vec![index("{}", &["two"])?]).await;
    assert!(stale.is_err());
    assert_eq!(only(store).await?, before);
    Ok(())
}

/// An index is replaced whole, and the one before is gone.
///
/// # Errors
/// As the store's.
pub async fn b000_16_an_index_is_replaced_whole(store: &dyn Store) -> Outcome {
    register(
        store,
        0,
        vec![document("a")],
        vec![index("{}", &["one", "two"])?],
    )
    .await?;
    let before = only(store).await?;
    let second = index("{\"n\":2}", &["three"])?;
    let expected = Some(before.generation);
    let after = store
        .replace_lens_index(&Scope::Global, second, expected)
        .await?;
    assert!(after > before.generation);
    assert_eq!(store.lens_chunks(after).await?, [chunk("three")]);
    assert_refused!(
        store.lens_chunks(before.generation).await,
        StoreError::NotFound { .. }
    );
    Ok(())
}

/// Of two that replace the same index, one is refused.
///
/// # Errors
/// As the store's.
pub async fn replacing_another_index_is_refused(store: &dyn Store) -> Outcome {
    register(store, 0, vec![document("a")], vec![index("{}", &["one"])?]).await?;
    let before = only(store).await?;
    for expected in [None, Some(LensGeneration(before.generation.0 + 7))] {
        let other = index("{}", &["two"])?;
        assert_refused!(
            store
                .replace_lens_index(&Scope::Global, other, expected)
                .await,
            StoreError::VersionConflict { .. }
        );
    }
    assert_eq!(only(store).await?, before);
    Ok(())
}

/// An index needs a lens in force in its scope.
///
/// # Errors
/// As the store's.
pub async fn an_index_without_a_lens_is_refused(store: &dyn Store) -> Outcome {
    register(store, 0, vec![document("a")], Vec::new()).await?;
    let tenant = Scope::Tenant(sample::tenant("acme")?);
    assert_refused!(
        store
            .replace_lens_index(&tenant, index("{}", &["one"])?, None)
            .await,
        StoreError::NotFound { .. }
    );
    let first = index("{}", &["one"])?;
    store
        .replace_lens_index(&Scope::Global, first, None)
        .await?;
    Ok(())
}

/// B000-16: what leaves the catalogue leaves the library, and other packages change nothing.
///
/// # Errors
/// As the store's.
pub async fn b000_16_an_index_goes_with_its_lens(store: &dyn Store) -> Outcome {
    register(store, 0, vec![document("a")], vec![index("{}", &["one"])?]).await?;
    let other = sample::registration(&Scope::Global, "other", "0.1.0", 1, Vec::new())?;
    store.register(other).await?;
    let kept = only(store).await?;
    register(store, 2, Vec::new(), Vec::new()).await?;
    assert_eq!(store.lens_indexes().await?, Vec::new());
    assert_refused!(
        store.lens_chunks(kept.generation).await,
        StoreError::NotFound { .. }
    );
    register(store, 3, vec![document("a")], vec![index("{}", &["one"])?]).await?;
    let package = PackageName::parse("lenses")?;
    let (user, at) = (sample::user()?, sample::at(9)?);
    store
        .unregister(&Scope::Global, &package, CatalogueRevision(4), &user, at)
        .await?;
    assert_eq!(store.lens_indexes().await?, Vec::new());
    Ok(())
}

/// What is noted of a source changes nothing else.
///
/// # Errors
/// As the store's.
pub async fn a_note_leaves_the_chunks(store: &dyn Store) -> Outcome {
    register(store, 0, vec![document("a")], vec![index("{}", &["one"])?]).await?;
    let before = only(store).await?;
    store
        .note_lens_source(before.generation, "{\"seen\":1}")
        .await?;
    let after = only(store).await?;
    assert_eq!(
        (after.generation, after.body.as_str()),
        (before.generation, "{\"seen\":1}")
    );
    assert_eq!(store.lens_chunks(after.generation).await?, [chunk("one")]);
    assert_refused!(
        store.note_lens_source(LensGeneration(99), "{}").await,
        StoreError::NotFound { .. }
    );
    Ok(())
}
